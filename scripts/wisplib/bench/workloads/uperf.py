"""JGroups' own benchmark on a cluster of eight nodes."""

import time

from wisplib import jvm
from wisplib.bench import cluster, plots
from wisplib.bench.workload import Note, Plot, Published, Series, Unavailable, Workload, beside, by_kind

NODES, THREADS = 8, 25
VERSIONS = ", ".join(f"{r.version} from JDK {r.least_jdk} on" for r in reversed(cluster.RELEASES))
BLOG = "belaban.blogspot.com, July 2020"
PLAIN, VIRTUAL = jvm.NAMES[jvm.PLAIN], jvm.NAMES[jvm.VIRTUAL]


class UPerf(Workload):
    name, order, title = "uperf", 4, "JGroups UPerf, 8 nodes on loopback"
    text = (f"{NODES} JVMs form a JGroups cluster on loopback, in a network namespace of their own (needs root), of the newest "
            f"release that the JDK runs: {VERSIONS}; rows of different releases are different programs. "
            f"{THREADS} threads in each send synchronous requests of 1 kB to the others, four reads to one write. Requests per "
            f"second and node, of the last of {cluster.TESTS} tests (quick: 2) in the same cluster (the others warm up); more is better. "
            "'virtual threads' are JGroups' own two switches, UPerf's -use_virtual_threads for the senders and use_vthreads for "
            "the pool that handles what is received; the latter is on by default in JGroups 5.5 and is off for the other kinds. All nodes share this machine's cores, the "
            "published ones had a machine each. The figure is the mean of what the nodes say, each of which must have read "
            "and written; where UPerf's own total holds all nodes it must agree within 15 %. It is a plain mean of "
            "counts: what a node gets as an answer UPerf does not look at. JGroups 4.2 is told, by its menu, to send as the newer ones "
            "do by default: not out of band, and reads of the own node like all others. JGroups chooses how answers are handled by "
            "the JDK: from 5.4 on by the common pool, on JDK 21 and newer by the receiving thread.")
    units = {"per_node": "requests/s", "slowest_node": "requests/s"}
    warms_itself = True
    budget, weight = 1800, 210
    published = (
        Published("UDP, JDK 11, native threads", "44,691", "requests/s/node", BLOG, PLAIN, {"jdk": "11", "stack": "UDP"}),
        Published("UDP, JDK 16-ea5, native threads", "81,402", "requests/s/node", BLOG, PLAIN, {"jdk": "16-ea5", "stack": "UDP"}),
        Published("UDP, JDK 16-loom+2-14, virtual threads", "88,252", "requests/s/node", BLOG, VIRTUAL,
                  {"jdk": "16-loom+2-14", "stack": "UDP"}),
        Published("TCP", "equal within 3 %", "", BLOG, PLAIN, {"stack": "TCP"}),
    )

    # Seconds until all nodes have started and found each other, and what ends later than it should: on a quiet machine.
    besides = 8

    def prepare(self, context):
        with cluster.Namespace():
            pass
        self.jdks, self.left_out = [], []
        for jdk in context.jdks:
            try:
                cluster.jgroups(cluster.release_for(jdk).version)
                self.jdks.append(jdk)
            except jvm.Failure as failure:
                self.left_out.append(f"JDK {jdk.label}: {failure}")
        if not self.jdks:
            raise Unavailable("; ".join(self.left_out))

    def series(self, context):
        for jdk in self.jdks[-1:] if context.quick else self.jdks:
            for stack in context.size(("UDP",), ("UDP", "TCP"), ("UDP", "TCP")):
                for kind in jvm.kinds_for(jdk):
                    yield Series(lambda jdk=jdk, stack=stack, kind=kind: self.measure(context, jdk, kind, stack),
                                 jdk=jdk.label, jgroups=cluster.release_for(jdk).version, stack=stack, kind=kind)

    def measure(self, context, jdk, kind, stack):
        tests = context.size(2, cluster.TESTS, cluster.TESTS)
        seconds = 15 if context.full else int(min(10, max(1, (context.share() - self.besides) / (tests + 0.5))))
        release = cluster.release_for(jdk)
        self.folder = context.out.resolve() / "uperf"
        folder = self.folder / f"{stack}-jdk{jdk.label}-{kind}"
        begun = time.monotonic()
        found = cluster.uperf(release, jdk, kind, stack, NODES, folder, {"seconds": seconds, "threads": THREADS}, tests)
        self.besides = max(self.besides, time.monotonic() - begun - seconds * tests)
        return found

    def parts(self, context, results):
        yield beside(by_kind("Requests per second and node", results, "per_node", ["jdk", "jgroups", "stack"], more_is_better=True), self.published)
        yield Note(f"Each cluster can be run alone, outside this command: {self.folder}/*/run.sh starts its nodes with these "
                   "configurations and options, and its menu a test.")
        groups = [(f"{stack}, JDK {jdk}", {k: results.values("per_node", jdk=jdk, stack=stack, kind=k) for k in jvm.NAMES
                                           if results.values("per_node", jdk=jdk, stack=stack, kind=k)})
                  for jdk in results.distinct("jdk") for stack in results.distinct("stack")]
        yield Plot("rates", "Requests per second and node; longer is better; the line spans all runs",
                   lambda: plots.bars(f"UPerf, {NODES} nodes", "requests per second and node", [g for g in groups if g[1]]))


WORKLOADS = [UPerf()]
