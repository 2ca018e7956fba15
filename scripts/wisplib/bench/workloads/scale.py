"""Cost as work grows: tasks, carriers, pauses with many parked threads, pending timers."""

import re
import tempfile
from pathlib import Path

from wisplib import jvm, stats, table
from wisplib.bench import native, plots
from wisplib.bench.workload import Plot, Published, Series, Table, Note, Workload, beside, by_kind

# JDK 13 and newer: "Reaching safepoint: 1 ns, … At safepoint: 1 ns, … Total: 1 ns"
SAFEPOINT = re.compile(r'Safepoint "(\w+)".*?Reaching safepoint: +(\d+) ns.*?Total: +(\d+) ns')

NATIVE = "wisp_queue_bench"


class Scale(Workload):
    name, order, title = "scale", 7, "Cost as work grows"
    text = ("Tasks: N threads in 4 rings, one token per ring is handed on by park and unpark (java/bench/.../Rings.java); the "
            "time of one hand-over, until the caches no longer hold all stacks. Carriers: 64 threads in 32 pairs, 1 to all "
            "carriers and more than there are cores; hand-overs per second; in proportion up to the number of cores is the "
            "best possible, beyond it a fall would be contention. For virtual threads the carriers are their parallelism, "
            "plain threads are pinned to as many cores. Pauses: N threads parked 20 frames deep, G1; safepoints of young "
            "collections by -Xlog:safepoint (JDK 13 and newer), full collections by System.gc(). "
            "Plain threads and Wisp only as many as the notes say. Timers and run queue: the runtime's own structures, natively.")
    units = {"ns_per_hop": "ns", "cpu_ns_per_hop": "ns", "hops_per_s": "1/s", "start_us_per_thread": "us",
             "kb_per_thread": "kB", "full_gc_ms": "ms", "reach_us": "us", "pause_us": "us", "worst_pause_us": "us", "ns": "ns"}
    published = (Published("more than 16 cores", "–", "", "Dragonwell wiki, Wisp2: 'waste' is admitted, without a figure",
                           jvm.NAMES[jvm.WISP], {"n": "more than 16"}),)
    budget, weight = 1500, 180

    def prepare(self, context):
        reason = native.missing(NATIVE)
        self.left_out = [f"timers and run queue: {reason}"] if reason else []
        jvm.build_bench()

    def series(self, context):
        every = (10, 100, 1_000, 3_000, 10_000, 30_000, 100_000)
        tasks = context.size((10, 1_000, 10_000), every, every)
        mine, limit = "more kernel threads in one process this benchmark does not ask of a machine", context.size(3_000, 10_000, 10_000)
        self.most = {jvm.PLAIN: most([(limit, mine)], MAPPINGS, *KERNEL_THREADS), jvm.WISP: most([], MAPPINGS)}
        tops = {kind: self.most.get(kind, (10**9, ""))[0] for kind in jvm.NAMES}
        cores = jvm.processors()
        carriers = [c for c in (1, 2, 4, 8, 16, 32, 64) if c <= max(4, cores * context.size(2, 8, 8))]
        parked = context.size((100, 3_000), (0, 100, 1_000, 3_000, 10_000, 30_000), (0, 100, 1_000, 3_000, 10_000, 30_000))
        hops = context.size(300_000, 1_000_000, 2_000_000)
        for jdk in context.newest():
            for kind in jvm.kinds_for(jdk):
                few = hops // 10 if kind == jvm.PLAIN else hops
                for n in tasks:
                    if n <= tops[kind]:
                        yield self.java(jdk, kind, jvm.ALL_CORES, "Rings", ["--threads", n, "--hops", max(few, n)],
                                        part="tasks", n=n)
                for c in carriers:
                    if kind != jvm.PLAIN or c <= cores:
                        yield self.java(jdk, kind, c, "Rings", ["--threads", 64, "--rings", 32, "--hops", few],
                                        part="carriers", n=c)
                for n in parked:
                    if n <= tops[kind]:
                        yield Series(lambda jdk=jdk, kind=kind, n=n: pauses(context, jdk, kind, n),
                                     jdk=jdk.label, part="pauses", n=n, kind=kind)
        if not self.left_out:
            yield Series(lambda: {k: f["ns"] for k, f in native.figures(NATIVE, ".*", 0.2).items()},
                         part="queues", kind=jvm.WISP)

    @staticmethod
    def java(jdk, kind, cores, program, arguments, **key):
        return Series(lambda: jvm.run(jdk, kind, cores, program, arguments), jdk=jdk.label, **key, kind=kind)

    def parts(self, context, results):
        def part(name):
            found = type(results)(s for s in results.series if s.key["part"] == name)
            return found

        def curve(name, metric, scale=1.0):
            curves = {}
            for one in part(name).series:
                values = [v * scale for v in one.values(metric)]
                if values:
                    curves.setdefault(one.key["kind"], []).append(
                        (max(1, int(one.key["n"])), stats.median_mad(values)[0], min(values), max(values)))
            return curves

        yield by_kind("Tasks: ns per hand-over, 4 tokens", part("tasks"), "ns_per_hop", ["n"])
        for kind, (top, why) in self.most.items():
            if top < 100_000:
                yield Note(f"{jvm.NAMES[kind]}: sizes above {top:,} are left out: {why}.")
        yield by_kind("Tasks: start of a thread, us", part("tasks"), "start_us_per_thread", ["n"])
        yield by_kind("Tasks: resident memory of a parked thread, kB", part("tasks"), "kb_per_thread", ["n"])
        yield beside(by_kind("Carriers: millions of hand-overs per second, 32 pairs", part("carriers"), "hops_per_s", ["n"], 1e-6, True),
                     self.published)
        mine = [(x, y) for x, y, *_ in curve("carriers", "hops_per_s").get(jvm.WISP, [])]
        cut = stats.bend(mine)
        cores = jvm.processors()
        if mine:
            yield Note(f"This machine has {cores} cores. Wisp's curve " + (
                f"bends at {cut} carriers: the next step brings less than half of what growth in proportion would."
                if cut else "does not bend within what was measured."))
        yield by_kind("Pauses: a young collection's safepoint, us (median)", part("pauses"), "pause_us", ["n"])
        yield by_kind("Pauses: of it until all threads stand, us (median)", part("pauses"), "reach_us", ["n"])
        yield by_kind("Pauses: System.gc(), ms", part("pauses"), "full_gc_ms", ["n"])
        rows = []
        for one in part("queues").series:
            for metric in one.metrics() if not one.failure else ():
                rows.append([metric.replace("/", ", at "), table.spread(one.values(metric))])
        yield Table("Timers and run queue: ns per operation, by what is pending", ["operation", "ns"], rows)
        growth = [("Hand-over", "threads", "ns", curve("tasks", "ns_per_hop")),
                  ("Hand-overs per second", "carriers", "millions", curve("carriers", "hops_per_s", 1e-6))]
        pause = [("Young collection", "parked threads", "us", curve("pauses", "pause_us")),
                 ("System.gc()", "parked threads", "ms", curve("pauses", "full_gc_ms"))]
        for name, caption, panels in (("growth", "Cost of a hand-over by the number of threads; throughput by carriers", growth),
                                      ("pauses", "Pauses of the JVM while threads are parked", pause)):
            panels = [p for p in panels if p[3]]
            if panels:
                yield Plot(name, caption, lambda panels=panels: plots.lines(panels))


# Files that say how many threads a machine bears, what a thread takes of it, its name. Two mappings of memory: the stack and
# the JVM's guard pages in it; with 65,530 of them a Wisp process ended at 32,648 threads.
MAPPINGS = ("/proc/sys/vm/max_map_count", 2, "vm.max_map_count")
KERNEL_THREADS = (("/proc/sys/kernel/threads-max", 1, "kernel.threads-max"), ("/proc/sys/kernel/pid_max", 1, "kernel.pid_max"),
                  ("/sys/fs/cgroup/pids.max", 1, "the cgroup's pids.max"))


def most(limits, *files):
    """(how many threads are asked for, why not more): the least of what the limits and these files allow."""
    found = list(limits)
    for file, part, name in files:
        try:
            value = int(Path(file).read_text())
            # A tenth is for the rest of the JVM, and of the machine.
            found.append((value // part * 9 // 10, f"{name} is {value:,}, and each takes {part} of them"))
        except (OSError, ValueError):  # not there, or "max"
            pass
    return min(found, key=lambda one: one[0], default=(10**9, ""))


def pauses(context, jdk, kind, n):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "safepoints.log"
        options = ["-XX:+UseG1GC", "-Xms512m", "-Xmx1g"]
        if jdk.major >= 13:
            options.append(f"-Xlog:safepoint:file={log}")
        megabytes = context.size(4_000, 4_000, 20_000)
        values = jvm.run(jdk, kind, jvm.ALL_CORES, "ParkedPauses", ["--threads", n, "--megabytes", megabytes], options)
        found = [(name, int(reach) / 1e3, int(total) / 1e3)
                 for name, reach, total in SAFEPOINT.findall(log.read_text() if log.exists() else "")]
    young = [(reach, total) for name, reach, total in found if name.startswith("G1CollectForAllocation")
             or name.startswith("G1TryInitiate")]
    if young:
        values.update(reach_us=stats.median_mad([r for r, _ in young])[0], pause_us=stats.median_mad([t for _, t in young])[0],
                      worst_pause_us=max(t for _, t in young), collections=len(young))
    return values


WORKLOADS = [Scale()]
