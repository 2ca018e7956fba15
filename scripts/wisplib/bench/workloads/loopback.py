"""Blocking requests and replies over loopback, TCP and UDP, client and server in one process."""

from wisplib import jvm
from wisplib.bench.workload import Note, Results, Series, Workload, by_kind

PERCENTILES = (("p50_us", "median"), ("p99_us", "99 %"), ("p99_9_us", "99.9 %"))


class Loopback(Workload):
    """A program of java/bench whose clients each wait for a reply; `sizes` are the numbers of clients."""
    units = {"round_trips_per_s": "1/s", "cpu_us_per_trip": "us", "cpu_ms": "ms", "longest_us": "us",
             **{name: "us" for name, _ in PERCENTILES}}
    latency_text = "HdrHistogram holds how long each round trip took, a recorder for each client. "

    def prepare(self, context):
        jvm.build_bench()
        self.classpath, self.left_out = (), []
        try:
            self.classpath = jvm.build_histogram()
        except jvm.Failure as why:
            self.left_out = [f"latencies: {why}"]

    def series(self, context):
        for jdk in context.newest() if context.quick else context.reference():
            for count in context.size(self.sizes[:1], self.sizes, self.sizes):
                yield from self.of_each_kind(context, jdk, count)

    def of_each_kind(self, context, jdk, count, options=(), **key):
        seconds = context.size(1, 2, 3)
        arguments = [self.option, count, "--seconds", seconds, "--warmup", seconds, *options]
        for kind in jvm.kinds_for(jdk):
            yield Series(lambda kind=kind: jvm.run(jdk, kind, jvm.ALL_CORES, self.program, arguments, classpath=self.classpath),
                         jdk=jdk.label, clients=count, **key, kind=kind)

    def parts(self, context, results, dimensions=("jdk", "clients")):
        dimensions = list(dimensions)
        yield by_kind("Round trips per second", results, "round_trips_per_s", dimensions, more_is_better=True)
        for metric, name in PERCENTILES if self.classpath else ():
            yield by_kind(f"Time of a round trip, {name}, us", results, metric, dimensions)
        alone = Results(s for s in results.series if s.key.get("burners", "0") == "0")
        yield by_kind("CPU time per round trip, us", alone, "cpu_us_per_trip", ["jdk", "clients"])


class Echo(Loopback):
    name, order, title = "echo", 9, "Echo over TCP, a thread per connection"
    text = ("64 bytes to and fro over blocking sockets, a thread per connection on both sides, all in one process; "
            "java/bench/.../EchoBench.java. Each client compares what comes back. " + Loopback.latency_text +
            "CPU time is the process' own, both sides. Except in a quick run also beside burners: threads of the same kind "
            "that compute and never block, one and four for each core; the connections' figures and the burners' own "
            "progress belong together, since one is had at the other's cost.")
    units, budget = dict(Loopback.units, burner_units_per_s="1/s"), 1200
    program, option, sizes = "EchoBench", "--connections", (100, 1_000)

    def of_each_kind(self, context, jdk, count, options=(), **key):
        several = count == self.sizes[0] and not context.quick
        for burners in (0, jvm.processors(), 4 * jvm.processors()) if several else (0,):
            yield from super().of_each_kind(context, jdk, count, ["--burners", burners], burners=burners)

    def parts(self, context, results, dimensions=("jdk", "clients", "burners")):
        yield from super().parts(context, results, dimensions)
        beside = Results(s for s in results.series if s.key["burners"] != "0")
        if beside.series:
            yield by_kind("Units of work per second of all burners", beside, "burner_units_per_s", list(dimensions),
                          more_is_better=True)
            yield Note("The trip that each client waits for when the time is over counts with the time it takes: a connection that "
                       "burners keep from running all the time has one that lasts longer than the measurement.")


class Udp(Loopback):
    name, order, title = "udp", 10, "Request and reply over UDP"
    text = ("64 bytes to one of 10 server sockets and back, with a time limit of 1 s per answer, all in one process; "
            "java/bench/.../UdpBench.java. A lost datagram is asked for again and counted as lost; an answer meant for another "
            "client fails the run. " + Loopback.latency_text + "That of a lost datagram lasts until it is answered.")
    units, weight = dict(Loopback.units, lost="1"), 40
    program, option, sizes = "UdpBench", "--clients", (100,)

    def parts(self, context, results):
        yield from super().parts(context, results)
        yield by_kind("Datagrams lost and asked for again", results, "lost", ["jdk", "clients"])


WORKLOADS = [Echo(), Udp()]
