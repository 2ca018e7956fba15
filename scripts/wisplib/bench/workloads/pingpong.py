"""The Wisp wiki's experiment and that of the 2021 study: a byte to and fro over two queues."""

from wisplib import jvm, table
from wisplib.bench import plots
from wisplib.bench.workload import Note, Plot, Published, Series, Workload, beside, by_kind

TRIPS = 1_000_000
WIKI = "Dragonwell wiki, Wisp"
STUDY = "study of 2021: Dragonwell 8.7.7 / Liberica 8u292"
PLAIN, WISP = jvm.NAMES[jvm.PLAIN], jvm.NAMES[jvm.WISP]


class PingPong(Workload):
    name, order, title = "pingpong", 1, "1,000,000 round trips over two LinkedBlockingQueues"
    text = ("Two pool threads pass a byte to and fro, java/bench/.../PingPong.java. Milliseconds for 1,000,000 round "
            "trips: less is better. cores is -XX:ActiveProcessorCount (for virtual threads also their parallelism; "
            "where a JDK lacks the flag, Wisp's carrierEngines). With 1, plain threads are also pinned to one core, "
            "the fastest for them; with more they cross cores and pay two kernel wake-ups per round trip. A new JVM per "
            "run, its compilation is part of the time, as in the published figures.")
    units = {"ms": "ms", "tail_ns": "ns"}
    budget, weight = 1800, 130
    published = (
        Published("threads", "13,212", "ms", WIKI, PLAIN),
        Published("Wisp", "882", "ms", WIKI, WISP),
        Published("Wisp off, 1 core", "108,259 / 116,458", "ms", STUDY, PLAIN, {"cores": "1"}),
        Published("Wisp on, 1 core (Dragonwell)", "1,054", "ms", STUDY, WISP, {"cores": "1"}),
        Published("Wisp off, 4 cores", "80,423 / 70,476", "ms", STUDY, PLAIN, {"cores": "4"}),
        Published("Wisp on, 4 cores (Dragonwell)", "45,305", "ms", STUDY, WISP, {"cores": "4"}),
    )

    def prepare(self, context):
        jvm.build_bench()

    def trips(self, context, kind, cores):
        """Plain threads on several cores take a minute for all; a quick run is short everywhere."""
        if kind == jvm.PLAIN and cores != 1:
            return context.size(20_000, 50_000, 200_000)
        return context.size(300_000, TRIPS, TRIPS)

    def series(self, context):
        self.short = self.trips(context, jvm.PLAIN, jvm.ALL_CORES)
        self.long = self.trips(context, jvm.WISP, 1)
        for jdk in context.jdks:
            for cores in (1, 4, jvm.ALL_CORES):
                for kind in jvm.kinds_for(jdk):
                    yield Series(lambda jdk=jdk, kind=kind, cores=cores:
                                 self.measure(jdk, kind, cores, self.trips(context, kind, cores)),
                                 jdk=jdk.label, cores=cores or f"all ({jvm.processors()})", kind=kind)

    @staticmethod
    def measure(jdk, kind, cores, trips):
        values = jvm.run(jdk, kind, cores, "PingPong", ["--trips", trips])
        ms, tail = float(values["ms"]), float(values["tail_ns"])
        return {"ms": ms + (TRIPS - trips) * tail / 1e6, "tail_ns": tail}

    def parts(self, context, results):
        yield beside(by_kind("Milliseconds: mean of the runs (least … most), as the study's are means", results, "ms",
                             ["jdk", "cores"], figure=table.mean_range), self.published)
        if context.runs > 1:
            yield by_kind("The same runs: median ± the median deviation from it", results, "ms", ["jdk", "cores"])
        others = f"all others {TRIPS:,}" if self.long == TRIPS else f"the others {self.long:,}"
        yield Note(f"Plain threads on several cores make {self.short:,} round trips, {others}; shorter runs are continued "
                   "to 1,000,000 at the pace of their second half.")
        groups = []
        for jdk in results.distinct("jdk"):
            for cores in results.distinct("cores"):
                values = {kind: results.values("ms", jdk=jdk, cores=cores, kind=kind) for kind in jvm.NAMES}
                groups.append((f"JDK {jdk}, cores: {cores}", {k: v for k, v in values.items() if v}))
        yield Plot("times", "1,000,000 round trips; logarithmic, shorter is better; the line spans all runs",
                   lambda: plots.bars("1,000,000 round trips between two Java threads", "ms, logarithmic",
                                      [g for g in groups if g[1]], log=True))


WORKLOADS = [PingPong()]
