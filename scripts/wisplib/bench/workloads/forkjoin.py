"""Shipilev's wake-up study of 2012: an idle pool gets one small divisible task."""

from wisplib import jvm, stats, table
from wisplib.bench import plots
from wisplib.bench.workload import Beside, Note, Plot, Published, Series, Table, Workload, beside

PHASES = ("first_handoff_us", "ramp_up_us", "full_parallelism_us", "catch_up_us", "result_handoff_us")
STUDY = "A. Shipilev, fork/join wake-ups, 2012"
# Of all workers in one operation, by Flight Recorder.
PARKS = ("asleep_at_submit", "unparks_until_result", "parks_until_result", "parks_per_op")
DRAWN = (4, 1_000)  # pool and pause of the timeline
BREAKDOWNS = (("vanilla", (60, 240, 20, 15, 10)), ("busy loop", (5, 10, 55, 10, 10)))  # his, in the order of PHASES

NOT_ASKED = "not asked for"  # as in PoolParks.java


class ForkJoin(Workload):
    name, order, title = "forkjoin", 3, "Fork/join: how fast an idle pool gets to work"
    text = ("Every pause microseconds a thread outside submits a task that splits into 64 pieces, 150 us of work in all, to "
            "an idle ForkJoinPool and waits for the result; java/bench/.../ForkJoinRampUp.java. Microseconds per operation: "
            "median of the operations of a run, then median of the runs ± its spread; less is better. CPU is what the "
            "process used per operation, the pauses included: a busy loop would be fast at the price of CPU. The phases come "
            "from a trace that the program takes of itself (each worker notes task begin and end, fork, join, leaf, the "
            "submitter submit, park, unpark; Flight Recorder notes when the pool's own code parks a worker), in operations after "
            "the measured ones; their means over the middle half of the operations add up to the total. First handoff: submit to the root task's begin; ramp-up: until the last "
            "participating worker's first task; full parallelism: until the earliest worker's last task ends; catch-up: "
            "until the root is complete; result handoff: until the submitter runs again. A worker that has nothing to do "
            "scans the pool's queues, then parks. A pool's workers cannot be "
            "virtual threads, so there is no such column.")
    units = {"us_per_op": "us", "cpu_us_per_op": "us", "kernel_sleeps_per_op": "1", **{p: "us" for p in PHASES},
             **{p: "1" for p in PARKS}, "park_error_us": "us", "park_error_worst_us": "us"}
    budget, weight = 1500, 160
    published = (
        Published("vanilla (60+240+20+15+10)", "429 ± 22", "us/op", STUDY, "plain us", {"jdk": "vanilla"}),
        Published("three wake-ups", "415 ± 15", "us/op", STUDY, "plain us", {"jdk": "three wake-ups"}),
        Published("four wake-ups", "390 ± 18", "us/op", STUDY, "plain us", {"jdk": "four wake-ups"}),
        Published("busy-looping scan (5+10+55+10+10)", "150 ± 15", "us/op", STUDY, "plain us", {"jdk": "busy-looping scan"}),
    )

    def prepare(self, context):
        jvm.build_bench()

    def series(self, context):
        wanted = [(size, 1_000) for size in context.size((2, 4, 32), (2, 4, 8, 16, 32), (2, 4, 8, 16, 32))]
        wanted += [(4, pause) for pause in context.size((10_000,), (100, 10_000, 50_000), (100, 10_000, 50_000))]
        for jdk in context.newest() if context.quick else context.jdks:
            for size, pause in wanted:
                for kind in (jvm.PLAIN, jvm.WISP):
                    yield Series(self.runner(context, jdk, kind, size, pause), jdk=jdk.label, pool=size,
                                 pause_us=f"{pause:,}", kind=kind)

    @staticmethod
    def runner(context, jdk, kind, size, pause):
        seconds = context.size(0.6, 2, 6)
        ops = max(40, int(seconds * 1e6 / (pause + 400)))
        # The recorder's start and end take as long as a quick run's operations.
        parks = "yes" if not context.quick or (size, pause) == DRAWN else "no"
        arguments = ["--parallelism", size, "--pause", pause, "--ops", ops, "--traced", ops // 4, "--parks", parks]
        return lambda: adding_up(jvm.run(jdk, kind, jvm.ALL_CORES, "ForkJoinRampUp", arguments))

    def parts(self, context, results):
        keys = list(dict.fromkeys((s.key["jdk"], s.key["pool"], s.key["pause_us"]) for s in results.series))
        figures, phases, stacks = [], [], []
        for jdk, pool, pause in keys:
            key = dict(jdk=jdk, pool=pool, pause_us=pause)
            row = [jdk, pool, pause]
            for kind in (jvm.PLAIN, jvm.WISP):
                row += [results.cell(m, **key, kind=kind) for m in ("us_per_op", "cpu_us_per_op", "kernel_sleeps_per_op")]
                means = [results.median(p, **key, kind=kind) for p in PHASES]
                if None not in means:
                    phases.append([jvm.NAMES[kind], jdk, pool, pause, *map(table.number, means), table.number(sum(means)),
                                   results.cell("participants", **key, kind=kind)])
                    if jdk == keys[-1][0]:
                        stacks.append((f"{jvm.NAMES[kind]}, pool {pool}, pause {pause} us", means))
            found = stats.median_ratio(results.values("us_per_op", **key, kind=jvm.PLAIN),
                                       results.values("us_per_op", **key, kind=jvm.WISP))
            figures.append(row + [f"{table.number(found[0])}×" if found else "–"])
        yield beside(Table("Per operation", ["jdk", "pool", "pause us", "plain us", "CPU us", "kernel sleeps", "Wisp us", "CPU us",
                                             "kernel sleeps", "Wisp faster"], figures), self.published)
        breakdowns = [Beside([f"published: {name}", "", "", "", *means, sum(means), ""], STUDY, ()) for name, means in BREAKDOWNS]
        stacks += [(f"published: {name}", means) for name, means in BREAKDOWNS]
        yield Table("Phases of one operation, us", ["kind", "jdk", "pool", "pause us", "first handoff", "ramp-up",
                                                    "full parallelism", "catch-up", "result handoff", "sum", "workers"], phases, breakdowns)
        yield Table("Parks of the pool's workers in one operation", ["kind", "jdk", "pool", "pause us", "parked at the submission",
                    "unparks until the result", "parks until the result", "parks until the next submission", "error of a time, us"],
                    list(self.parks(results)))
        for why, jdks in self.without_parks(results).items():
            yield Note(f"When the workers parked is not known on {', '.join(jdks)}: {why}.")
        yield Note("Where one worker did all, its work counts as full parallelism. The traced operations are slower than the measured ones by what the trace costs. The published phases do "
                   "not add up to the published totals.")
        yield Plot("phases", f"Where the time of one operation goes, JDK {keys[-1][0]}",
                   lambda: plots.stacked("Phases of one operation", "us", stacks))
        panels = [panel for kind in (jvm.PLAIN, jvm.WISP) for panel in self.timelines(results, kind)]
        if panels:
            yield Plot("timeline", "One operation, the one of median length: what each worker of the pool does. Triangles: it runs "
                       "again after a park; ticks: it forks. Where a lane is empty the pool's code scans, or the thread waits for a "
                       "processor; where no parks are known, it may be parked.",
                       lambda: plots.timeline(panels))

    @staticmethod
    def parks(results):
        for one in results.series:
            if one.values(PARKS[0]):
                cells = [results.cell(metric, **one.key) for metric in (*PARKS, "park_error_us")]
                yield [jvm.NAMES[one.key["kind"]], one.key["jdk"], one.key["pool"], one.key["pause_us"], *cells]

    @staticmethod
    def without_parks(results):
        """why -> JDKs"""
        found = {}
        for one in results.series:
            why = one.texts.get("no_parks", NOT_ASKED)
            label = f"JDK {one.key['jdk']}"
            if not one.failure and why != NOT_ASKED and label not in found.setdefault(why, []):
                found[why].append(label)
        return found

    @staticmethod
    def timelines(results, kind):
        """On the newest JDK that has it."""
        pool, pause = DRAWN
        drawn = [one for one in results.find(pool=pool, pause_us=f"{pause:,}", kind=kind) if one.samples and not one.failure]
        for one in drawn[-1:]:
            lanes, bounds = read_timeline(one.texts["timeline"])
            yield f"{jvm.NAMES[kind]}, JDK {one.key['jdk']}, pool of {pool}, pause {pause:,} us", lanes, bounds


def adding_up(values):
    """The values, when the phases are what the submitter measured around them: two readings of the clock may lie between."""
    phases, total = sum(float(values[p]) for p in PHASES), float(values["traced_total_us"])
    if abs(total - phases) > 0.02 * total + 3:
        raise jvm.Failure(f"the phases add up to {phases:.1f} us, the submitter measured {total:.1f}")
    return values


def read_timeline(text):
    """'submitter SUBMIT@0 …|worker PARK@-950 UNPARK@3012 BEGIN@4021 …' -> lanes [(name, [(state, from, to)])], bounds of the five
    phases. A worker that only was parked, or woken in vain, comes last."""
    lanes, workers, result = [], [], 0.0
    for part in text.split("|"):
        name, *events = part.split(" ")
        events = [(kind, int(at) / 1e3) for kind, at in (e.split("@") for e in events)]
        if name == "submitter":
            at = dict(events)
            result = at["UNPARK"]
            lanes.append((name, [("submitter waits", at["PARK"], result)]))
        else:
            workers.append(events)
    workers.sort(key=lambda events: min((at for kind, at in events if kind == "BEGIN"), default=result))
    for number, events in enumerate(workers, 1):
        spans, open_leaf, depth, begin, joins, parked = [], 0.0, 0, 0.0, [], 0.0
        for kind, at in events:
            if kind == "BEGIN":
                begin, depth = (at, 1) if depth == 0 else (begin, depth + 1)
            elif kind == "END":
                depth -= 1
                if depth == 0:
                    spans.append(("divides or looks for work", begin, at))
            elif kind == "LEAF":
                open_leaf = at
            elif kind == "LEAF_END":
                spans.append(("computes", open_leaf, at))
            elif kind == "JOIN":
                joins.append(at)
            elif kind == "JOINED":
                spans.append(("waits in a join", joins.pop(), at))
            elif kind == "FORK":
                spans.append(("fork", at, at))
            elif kind == "PARK":
                parked = max(at, 0.0)
            elif kind == "UNPARK":
                spans.append(("parked", parked, min(at, result)))
                spans += [("unpark", at, at)] if at <= result else []
        lanes.append((f"worker {number}", spans))
    begins = [[at for kind, at in events if kind == "BEGIN"] for events in workers]
    first = [at[0] for at in begins if at]
    last = [max(at for kind, at in events if kind == "END") for events, begun in zip(workers, begins) if begun]
    full = max(min(last), max(first))
    return lanes, [0, min(first), max(first), full, max(last), result]


WORKLOADS = [ForkJoin()]
