"""Switches per second: the native one, Thread.yield, park/unpark, monitor hand-over."""

from wisplib import jvm
from wisplib.bench import native, plots
from wisplib.bench.workload import Note, Plot, Published, Series, Workload, beside, by_kind

# what the program does, its option for how often, (plain, Wisp and virtual) times in a quick run
PROGRAMS = {
    "Thread.yield": ("YieldBench", "--yields", (1_000_000, 3_000_000)),
    "park/unpark": ("ParkUnpark", "--handovers", (50_000, 400_000)),
    "wait/notify": ("MonitorHandover", "--handovers", (50_000, 400_000)),
}
NATIVE = "wisp_switch_bench"


class Switch(Workload):
    name, order, title = "switch", 2, "Task switches per second and carrier"
    text = ("Two threads take turns; each hand-over is one switch. Millions per second and per carrier (core): more is "
            "better. 'native' is the bare switch of runtime/coroutine with its write of the fs base, and Boost.Context's "
            "jump with the same write; then Thread.yield, LockSupport.park/unpark pairs and Object.wait/notify. On all "
            "cores two threads that take turns still keep only one busy, so those rows are per hand-over chain; "
            "Thread.yield there runs one thread per core beside another one. Plain threads on 1 core are pinned to it.")
    units = {"m_per_s": "M/s"}
    published = (Published("coroutine switches, 2.5 GHz", "14", "M/s", "Dragonwell wiki, Wisp", jvm.NAMES[jvm.WISP],
                           {"what": "switches, 2.5 GHz"}),)
    weight = 110

    def prepare(self, context):
        reason = native.missing(NATIVE)
        self.left_out = [f"native: {reason}"] if reason else []
        jvm.build_bench()

    def series(self, context):
        for name, label in (("wisp_switch_with_fs", jvm.WISP), ("boost_jump_with_fs", "boost")) if not self.left_out else ():
            yield Series(lambda name=name: self.measure_native(name), jdk="–", what="native", cores=1, kind=label)
        for jdk in context.newest() if context.quick else context.jdks:
            for what in PROGRAMS:
                for cores in (1, jvm.ALL_CORES):
                    for kind in jvm.kinds_for(jdk):
                        yield Series(lambda what=what, jdk=jdk, kind=kind, cores=cores:
                                     self.measure(context, what, jdk, kind, cores),
                                     jdk=jdk.label, what=what, cores=cores or f"all ({jvm.processors()})", kind=kind)

    @staticmethod
    def measure_native(name):
        return {"m_per_s": 1e3 / native.nanoseconds(NATIVE, name)[name]}

    @staticmethod
    def measure(context, what, jdk, kind, cores):
        program, option, times = PROGRAMS[what]
        count = times[kind != jvm.PLAIN] * context.size(1, 1, 3)
        threads = 2 * (cores or jvm.processors()) if program == "YieldBench" else 2
        arguments = ["--threads", threads] if program == "YieldBench" else []
        values = jvm.run(jdk, kind, cores, program, [option, count, *arguments])
        if program == "YieldBench":
            return {"m_per_s": float(values["yields_per_s"]) / 1e6 / (cores or jvm.processors())}
        return {"m_per_s": 1e3 / float(values["ns_per_handover"])}

    def parts(self, context, results):
        yield beside(by_kind("Millions per second and carrier", results, "m_per_s", ["jdk", "what", "cores"], more_is_better=True),
                     self.published)
        boost = results.cell("m_per_s", kind="boost")
        if boost != "–":
            yield Note(f"Boost.Context's jump with a write of the fs base, in the same rounds: {boost} M/s.")
        groups = []
        for jdk in results.distinct("jdk"):
            for what in results.distinct("what"):
                for cores in results.distinct("cores"):
                    found = {k: results.values("m_per_s", jdk=jdk, what=what, cores=cores, kind=k) for k in jvm.NAMES}
                    if any(found.values()):
                        groups.append((what if jdk == "–" else f"{what}, JDK {jdk}, cores: {cores}",
                                       {k: v for k, v in found.items() if v}))
        yield Plot("rates", "Switches per second and carrier; logarithmic, longer is better",
                   lambda: plots.bars("Switches per second and carrier", "millions per second, logarithmic", groups, log=True))


WORKLOADS = [Switch()]
