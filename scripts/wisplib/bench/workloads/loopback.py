"""Blocking requests and replies over loopback, TCP and UDP, client and server in one process."""

from wisplib import jvm
from wisplib.bench.workload import Series, Workload, by_kind


class Loopback(Workload):
    """A program of java/bench whose clients each wait for a reply; `sizes` are the numbers of clients."""
    units = {"round_trips_per_s": "1/s", "cpu_us_per_trip": "us", "cpu_ms": "ms"}

    def prepare(self, context):
        jvm.build_bench()

    def series(self, context):
        seconds = context.size(1, 2, 3)
        seconds = ["--seconds", seconds, "--warmup", seconds]
        for jdk in context.newest() if context.quick else context.reference():
            for count in context.size(self.sizes[:1], self.sizes, self.sizes):
                for kind in jvm.kinds_for(jdk):
                    yield Series(lambda jdk=jdk, kind=kind, count=count: jvm.run(
                        jdk, kind, jvm.ALL_CORES, self.program, [self.option, count, *seconds]), jdk=jdk.label, clients=count, kind=kind)

    def parts(self, context, results):
        yield by_kind("Round trips per second", results, "round_trips_per_s", ["jdk", "clients"], more_is_better=True)
        yield by_kind("CPU time per round trip, us", results, "cpu_us_per_trip", ["jdk", "clients"])


class Echo(Loopback):
    name, order, title = "echo", 9, "Echo over TCP, a thread per connection"
    text = ("64 bytes to and fro over blocking sockets, a thread per connection on both sides, all in one process; "
            "java/bench/.../EchoBench.java. Each client compares what comes back. CPU time is the process' own, both sides.")
    program, option, sizes = "EchoBench", "--connections", (100, 1_000)


class Udp(Loopback):
    name, order, title = "udp", 10, "Request and reply over UDP"
    text = ("64 bytes to one of 10 server sockets and back, with a time limit of 1 s per answer, all in one process; "
            "java/bench/.../UdpBench.java. A lost datagram is asked for again and counted as lost; an answer meant for another "
            "client fails the run.")
    units, weight = dict(Loopback.units, lost="1"), 40
    program, option, sizes = "UdpBench", "--clients", (100,)

    def parts(self, context, results):
        yield from super().parts(context, results)
        yield by_kind("Datagrams lost and asked for again", results, "lost", ["jdk", "clients"])


WORKLOADS = [Echo(), Udp()]
