"""Threads that read and write one file, from the page cache and from the disk."""

from wisplib import jvm
from wisplib.bench.workload import Note, Series, Workload, by_kind


class File(Workload):
    name, order, title = "file", 11, "Reads and writes of one file"
    text = ("4 threads read blocks of 4 KiB at random places of a file of 64 MiB (cold: 32 threads, 256 MiB); mix writes every "
            "tenth; cold puts the file out of the page cache first and takes no block twice; java/bench/.../FileBench.java. It "
            "checks that only whole blocks came. A ticker beside them, a thread of the same kind, sleeps 1 ms at a time: its "
            "longest delay says whether file calls keep other threads from running. The file lies in the folder of the reports.")
    units = {"operations_per_s": "1/s", "worst_tick_ms": "ms", "cpu_ns_per_operation": "ns", "from_disk_percent": "%"}
    weight = 60

    def prepare(self, context):
        jvm.build_bench()

    def series(self, context):
        wanted = [("read", "hot", 4, 64)]
        if not context.quick:
            wanted += [("mix", "hot", 4, 64), ("read", "cold", 32, 256), ("mix", "cold", 32, 256)]
        seconds = context.size(1, 1, 2)
        for jdk in context.newest() if context.quick else context.reference():
            for work, cache, threads, megabytes in wanted:
                arguments = ["--file", context.out / "filebench.data", "--threads", threads, "--seconds", seconds,
                             "--rounds", 1, "--cache", cache, "--work", work, "--megabytes", megabytes]
                for kind in jvm.kinds_for(jdk):
                    yield Series(lambda jdk=jdk, kind=kind, arguments=arguments: self.measure(jdk, kind, arguments),
                                 jdk=jdk.label, what=f"{work}, {cache}", kind=kind)

    def measure(self, jdk, kind, arguments):
        try:
            values = jvm.run(jdk, kind, jvm.ALL_CORES, "FileBench", arguments)
        finally:
            arguments[1].unlink(missing_ok=True)  # of a run that failed
        return {name: values[name] for name in self.units}

    def parts(self, context, results):
        yield by_kind("Operations per second", results, "operations_per_s", ["what", "jdk"], more_is_better=True)
        yield by_kind("CPU time per operation, ns", results, "cpu_ns_per_operation", ["what", "jdk"])
        yield by_kind("Longest delay of a thread that sleeps 1 ms, ms", results, "worst_tick_ms", ["what", "jdk"])
        yield by_kind("Read from the disk, % of all bytes to and fro", results, "from_disk_percent", ["what", "jdk"])
        yield Note("A run is one process: a round to compile, and one that counts.")


WORKLOADS = [File()]
