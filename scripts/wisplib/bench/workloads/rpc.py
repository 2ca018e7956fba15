"""A service that makes 10 blocking calls to a second JVM for each request: the case that Wisp is made for."""

from concurrent.futures import ThreadPoolExecutor

from wisplib import jvm
from wisplib.bench import profile
from wisplib.bench.servers import CONNECTIONS, Load, Servers
from wisplib.bench.workload import Note, Published, Table, beside, by_kind


class Rpc(Servers):
    name, order, title = "rpc", 6, "10 blocking RPCs per request to a second JVM"
    quick = ("rpc",)
    text = (f"wrk (or h2load: --generator), {CONNECTIONS} connections if --connections does not say otherwise, asks a servlet in Tomcat 9 that makes 10 calls, one after the other, over a pooled "
            "connection to a second JVM of the same kind, a thread per connection there; java/bench-servers. Requests per "
            "second and core: by the CPU time that both JVMs used, so one second of one processor's work; more is better. Every "
            "reply is compared with what was asked. Scheduling: shares of perf's samples (cpu-clock) of both JVMs, in a load of "
            "its own after the measured one: functions of the kernel's scheduler, wake-ups and futexes, and all of libwisp.so, "
            "whose code is switching and scheduling but also the file and socket calls it takes over. What the JVM does for "
            "scheduling is in neither; that of virtual threads is Java code, which perf cannot name.")
    units = {"per_s": "1/s", "per_core": "1/s", "cpu_us": "us", "beside_cpu_us": "us", "load_cpu_us": "us", "all_cpu_us": "us",
             "kernel_sched_pct": "%", "libwisp_pct": "%", "p50_ms": "ms", "p99_ms": "ms", "p99_9_ms": "ms"}
    weight = 90
    published = (Published("10 RPCs per request", "–", "", "an estimate in the Dragonwell wiki, not a measurement", jvm.NAMES[jvm.WISP]),)

    def loads(self):
        yield Load("rpc", "10 RPCs", "ServletServer", (), ("rpc",), "/rpc", "10 calls", (jvm.PLAIN, jvm.WISP, jvm.VIRTUAL), None)

    def row_names(self):
        return []  # there is one

    def pick(self, patterns):
        return ["rpc"]

    def prepare(self, context):
        super().prepare(context)
        self.no_profile = profile.why_not()

    def measure(self, context, server, load):
        values = super().measure(context, server, load)
        values["per_core"] = per_core(values["cpu_us"], values["beside_cpu_us"])
        if not self.no_profile:
            seconds = context.size(1, 3, 4)
            with ThreadPoolExecutor(1) as pool:
                loaded = pool.submit(server.press, load, seconds + 1)
                values.update(profile.of(server.pids(), seconds))
                loaded.result()  # raises what went wrong there
        return values

    def parts(self, context, results):
        key = ["jdk", "connections"]
        yield beside(by_kind("Requests per second and core", results, "per_core", key, more_is_better=True), self.published)
        yield by_kind("Requests per second", results, "per_s", key, more_is_better=True)
        for metric, name in (("p50_ms", "median"), ("p99_ms", "99 %"), ("p99_9_ms", "99.9 %")):
            yield by_kind(f"Latency, {name}, ms", results, metric, key)
        rows = [[jvm.NAMES[one.key["kind"]], *(one.key[k] for k in key), *(
            results.cell(m, **one.key) if one.values(m) else "–" for m in ("kernel_sched_pct", "libwisp_pct", "samples"))]
            for one in results.series]
        if any(one.values("samples") for one in results.series):
            yield Table("Share of both JVMs' CPU time, %", ["kind", *key, "kernel's scheduler", "libwisp", "samples"], rows)
        else:
            yield Note(f"The share of CPU time in scheduling was not measured: {self.no_profile or 'perf gave no samples'}.")


def per_core(server_us, service_us):
    """Requests in one second of CPU time of both JVMs."""
    return 1e6 / (server_us + service_us)


WORKLOADS = [Rpc()]
