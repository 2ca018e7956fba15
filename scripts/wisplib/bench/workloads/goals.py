"""The table of goals: every figure that Wisp set itself a target for, against its peer."""

from collections import namedtuple

from wisplib import jvm, stats, table
from wisplib.bench import native
from wisplib.bench.workload import Note, Series, Table, Unavailable, Workload
from wisplib.jvm import ALL_CORES, PLAIN, VIRTUAL, WISP

# A setting is (kind of thread, processors). peer None: the figure itself has the target.
# rule: "faster" = peer / Wisp, at least the target; "part" = Wisp / peer, at most; "most" and "least" = the figure.
Row = namedtuple("Row", "name text program arguments metric unit wisp peer rule reach stretch")

SWITCH = Row("switch", "raw task switch vs Boost.Context's jump + wrfsbase", "wisp_switch_bench", (), "ns", "ns",
             (WISP, 1), ("boost", 1), "part", 1.3, 1.1)
NATIVE = {SWITCH.wisp: "wisp_switch_with_fs", SWITCH.peer: "boost_jump_with_fs"}


def rows():
    yield SWITCH
    one, two, every = (WISP, 1), (WISP, 2), (WISP, ALL_CORES)
    plain = (PLAIN, ALL_CORES)
    ping = ("PingPong", (), "ms", "ms")
    yield Row("pingpong-1", "ping-pong, 1 carrier, vs plain on one core", *ping, one, (PLAIN, 1), "faster", 12, 20)
    yield Row("pingpong-all", "ping-pong, all carriers vs 1 carrier", *ping, every, one, "part", 1.15, 1.0)
    yield Row("pingpong-virtual-1", "ping-pong vs virtual threads, parallelism 1", *ping, one, (VIRTUAL, 1), "part", 0.9, 0.6)
    yield Row("pingpong-virtual-all", "ping-pong vs virtual threads, all cores", *ping, every, (VIRTUAL, ALL_CORES), "part", 0.4, 0.3)
    for size in (2, 4):
        yield Row(f"rampup-{size}", f"fork/join ramp-up, 2 carriers, pool of {size}", "ForkJoinRampUp",
                  ("--parallelism", size), "us_per_op", "µs", two, (PLAIN, 2), "part", 0.5, 0.35)
    yield Row("yield", "Thread.yield between tasks, 1 carrier", "YieldBench", (), "yields_per_s", "/s", one, None, "least", 25e6, 40e6)
    yield Row("monitor", "monitor wait/notify hand-over, 1 carrier", "MonitorHandover", (), "ns_per_handover", "ns", one, None, "most", 150, 100)
    yield Row("monitor-all", "monitor wait/notify hand-over, all carriers", "MonitorHandover", (), "ns_per_handover", "ns", every, None, "most", 150, 100)
    yield Row("park", "park/unpark hand-over, all carriers", "ParkUnpark", (), "ns_per_handover", "ns", every, plain, "faster", None, None)
    for lock in ("monitor", "reentrant", "readers"):
        yield Row(f"lock-{lock}", f"8 threads that compute and share a lock: {lock}", "ContendedLock", ("--lock", lock), "ms_per_round", "ms",
                  every, plain, "part", 1.0, None)
    yield Row("start", "start + join of a thread", "ThreadStart", (), "us_per_thread", "µs", every, plain, "part", 0.5, 0.2)
    yield Row("memory", "RSS of 10,000 threads parked for 3 s", "ManyParked", (), "rss_parked_kb", "kB", every, plain, "part", 1.0, 0.6)
    connections = ("BlockedConnections", ())
    yield Row("connections", "10,000 blocked connections: RSS", *connections, "rss_blocked_kb", "kB", every, plain, "part", 0.8, 0.5)
    yield Row("connections-threads", "10,000 blocked connections: kernel threads", *connections, "kernel_threads", "", every, plain, "part", None, None)
    for kernel in ("sort", "compress", "parse", "gc"):
        yield Row(f"cpu-{kernel}", f"CPU-bound: {kernel}", "CpuBound", (), f"{kernel}_ms", "ms", every, plain, "part", 1.01, 1.0)
    for load in ("idle", "light"):
        yield Row(f"idle-{load}", {"idle": "CPU of an idle process", "light": "CPU at 1 % load"}[load], "IdleCpu",
                  ("--load", load), "cpu_ms_per_s", "ms/s", every, plain, "part", 1.0, None)


# What fits a quick run: no plain thread pool of 10,000, no full ping-pong on plain threads.
QUICK = ("switch", "pingpong-virtual-1", "yield", "monitor", "park", "start")


class Goals(Workload):
    name, order, title = "goals", 8, "The table of goals"
    text = ("What Wisp set itself as targets. '>= N×': times as fast as the peer; '<= N×': part of the peer's time, "
            "memory or CPU. A ratio is the median of the ratios of the rounds. A missed goal is called so. "
            "A quick run takes a few rows only; --rows chooses others.")
    budget, weight = 1800, 190

    def row_names(self):
        return [row.name for row in rows()]

    def prepare(self, context):
        names = self.pick(context.rows or context.size(",".join(QUICK), "*", "*"))
        self.chosen = [row for row in rows() if row.name in names]
        reason = native.missing(SWITCH.program) if SWITCH in self.chosen else None
        self.left_out = [f"{SWITCH.name}: {reason}"] if reason else []
        if reason:
            self.chosen.remove(SWITCH)
        if not self.chosen:
            raise Unavailable(self.left_out[0])
        jvm.build_bench()

    def series(self, context):
        for setting in NATIVE if SWITCH in self.chosen else ():
            yield Series(lambda setting=setting: {"ns": native.nanoseconds(SWITCH.program, NATIVE[setting])[NATIVE[setting]]},
                         **self.key("native", SWITCH, setting))
        for jdk in context.newest() if context.quick else context.reference():
            settings = {}
            for row in self.chosen:
                if row is SWITCH or (row.peer and row.peer[0] not in jvm.kinds_for(jdk)):
                    continue
                for setting in filter(None, (row.wisp, row.peer)):
                    settings[(row.program, row.arguments, *setting)] = self.key(jdk.label, row, setting)
            for (program, arguments, kind, cores), key in settings.items():
                yield Series(lambda jdk=jdk, kind=kind, cores=cores, program=program, arguments=arguments:
                             jvm.run(jdk, kind, cores, program, arguments), **key)

    @staticmethod
    def key(label, row, setting):
        return dict(jdk=label, program=row.program, arguments=" ".join(map(str, row.arguments)), kind=setting[0],
                    cores=setting[1] or "all")

    def parts(self, context, results):
        body = []
        for row in self.chosen:
            for label in ["native"] if row is SWITCH else [j for j in results.distinct("jdk") if j != "native"]:
                mine = results.find(**self.key(label, row, row.wisp))
                peer = results.find(**self.key(label, row, row.peer)) if row.peer else []
                if not mine or (row.peer and not peer):
                    continue  # virtual threads on a JDK without them
                reached, verdict = judge(row, mine[0].values(row.metric), peer[0].values(row.metric) if peer else [])
                body.append([row.text, label, results.cell(row.metric, **mine[0].key),
                             results.cell(row.metric, **peer[0].key) if peer else "", row.unit, reached,
                             target(row, row.reach), target(row, row.stretch), verdict])
        yield Table("", ["what", "JDK", "Wisp", "peer", "unit", "result", "reach", "stretch", ""], body)
        yield Note("Plain threads on one core are pinned to it.")


def judge(row, mine, peer):
    """(what was reached, verdict)"""
    if not mine or (row.peer and not peer):
        return "–", "failed"
    if row.peer is None:
        value = stats.median_mad(mine)[0]
        text = f"{value / 1e6:.1f} M/s" if row.unit == "/s" else f"{table.number(value)} {row.unit}"
    else:
        found = stats.median_ratio(peer, mine) if row.rule == "faster" else stats.median_ratio(mine, peer)
        if found is None:
            return "–", "no figure"
        value = found[0]
        text = f"{value:.2f}× ± {found[1]:.2f}"
    if row.reach is None:
        return text, ""
    at_least = row.rule in ("faster", "least")

    def reached(goal):
        return goal is not None and (value >= goal if at_least else value <= goal)
    return text, "stretch" if reached(row.stretch) else "reach" if reached(row.reach) else "MISSED"


def target(row, value):
    if value is None:
        return ""
    if row.rule in ("faster", "least"):
        return f"≥ {value / 1e6:g} M/s" if row.unit == "/s" else f"≥ {value:g}×"
    return f"≤ {value:g} {row.unit}" if row.peer is None else f"≤ {value:g}×"


WORKLOADS = [Goals()]
