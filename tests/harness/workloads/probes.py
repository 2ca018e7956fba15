"""Workloads for the harness's own test: one that works, one that computes wrongly, one that cannot run.
Loaded through $WISP_BENCH_PATH, as a user's own would be."""

from pathlib import Path

from wisplib import jvm
from wisplib.bench import plots
from wisplib.bench.workload import Note, Plot, Published, Series, Unavailable, Workload, beside, by_kind

HERE = Path(__file__).parent


class Tiny(Workload):
    name, order, title = "tiny", 90, "A ping-pong of 2,000 round trips"
    text = "For the test of the harness."
    units = {"ms": "ms"}
    published = (Published("nowhere <&>", "1", "ms", "invented for this test"),
                 Published("in our table", "0.5 <&>", "ms", "invented as well", jvm.NAMES[jvm.WISP], {"jdk": "1.0"}))

    def series(self, context):
        for jdk in context.jdks:
            for kind in (jvm.PLAIN, jvm.WISP):
                yield Series(lambda jdk=jdk, kind=kind: jvm.run(jdk, kind, 1, "PingPong", ["--trips", 2000]),
                             jdk=jdk.label, kind=kind)

    def parts(self, context, results):
        yield beside(by_kind("Milliseconds", results, "ms", ["jdk"]), self.published)
        yield Plot("bars", "bars", lambda: plots.bars("t", "ms", [("x", {jvm.WISP: results.values("ms", kind=jvm.WISP)})]))
        yield Plot("broken", "not to be drawn", lambda: 1 / 0)


class Wrong(Workload):
    name, order, title = "wrong", 91, "Wrong answers"

    def prepare(self, context):
        self.classes = context.out / "classes"
        jvm.compile_java([HERE / "WrongSum.java", HERE / "NoCheck.java"], self.classes, [jvm.build_bench()])

    def series(self, context):
        for program in ("WrongSum", "NoCheck"):
            yield Series(lambda program=program: jvm.run(context.jdks[0], jvm.PLAIN, 1, program, classpath=[self.classes]),
                         program=program, kind=jvm.PLAIN)

    def parts(self, context, results):
        yield by_kind("Milliseconds", results, "ms", ["program"])


class Sometimes(Wrong):
    name, order, title = "sometimes", 92, "Right first, wrong later"

    def series(self, context):
        programs = iter(["PingPong"])  # the first run; then the wrong one

        def run():
            program = next(programs, "WrongSum")
            return jvm.run(context.jdks[0], jvm.PLAIN, 1, program, ["--trips", 2000] if program == "PingPong" else [],
                           classpath=[self.classes])
        yield Series(run, program="mixed", kind=jvm.PLAIN)


class Nowhere(Workload):
    name, order, title = "nowhere", 93, "Needs what no machine has"

    def prepare(self, context):
        raise Unavailable("no quantum processor here; install one")


class Parked(Workload):
    name, order, title = "parked", 94, "Parks of a pool's workers"

    def prepare(self, context):
        jvm.build_bench()

    def series(self, context):
        for kind in (jvm.PLAIN, jvm.WISP):
            yield Series(lambda kind=kind: jvm.run(context.jdks[0], kind, jvm.ALL_CORES, "ForkJoinRampUp",
                                                   ["--parallelism", 4, "--ops", 10, "--traced", 40]), kind=kind)

    def parts(self, context, results):
        for one in results.series:
            yield Note(f"{one.key['kind']}: {one.texts.get('no_parks')}; {one.texts.get('timeline')}")


WORKLOADS = [Tiny(), Wrong(), Sometimes(), Nowhere(), Parked()]
