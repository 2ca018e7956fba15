"""TechEmpower's kinds of request on Tomcat with JDBC and PostgreSQL, and hello on Netty, under wrk."""

from wisplib import jvm, stats
from wisplib.bench import plots
from wisplib.bench.servers import CONNECTIONS, Load, Servers
from wisplib.bench.workload import Note, Plot, Published, Table, beside, by_kind

ALL, NO_VIRTUAL = (jvm.PLAIN, jvm.WISP, jvm.VIRTUAL), (jvm.PLAIN, jvm.WISP)
HELLO = "Hello, World!"
LATENCIES = (("p50_ms", "median"), ("p99_ms", "99 %"), ("p99_9_ms", "99.9 %"))


class Http(Servers):
    name, order, title = "http", 5, "HTTP servers under load, TechEmpower's kinds of request"
    quick = ("plaintext", "query")
    text = (f"wrk, one thread, {CONNECTIONS} connections, asks Tomcat 9 (NIO connector, 200 threads; JDBC by HikariCP with 32 "
            "connections to a PostgreSQL of its own) and Netty 4.1; java/bench-servers. A server per kind of thread; all run "
            "at once and get the load in turns. Requests, latency, and the server's CPU time per request; the last table "
            "adds the CPU of PostgreSQL or the back end and of wrk: what one request costs the machine. All of them share its "
            "processors. Each servlet checks what it got, any status but 200 and any lost connection fails the run, and "
            "the bytes of 20 answers are compared before and after each load. TechEmpower's update is here one row, read and "
            "changed. Netty's event loops cannot be virtual threads. --full: of the chosen JDKs 17 and 25, "
            "else the newest. A quick run's servers are 3 s warm, so the compiler is still at work in its figures.")
    units = {"per_s": "1/s", "cpu_us": "us", "beside_cpu_us": "us", "wrk_cpu_us": "us", "all_cpu_us": "us",
             **{k: "ms" for k, _ in LATENCIES}, "max_ms": "ms", "requests": "1"}
    budget, weight = 1800, 320
    published = (Published("Wisp: throughput by plain threads'", "+10 … +30 %", "", "as this project's task names it, no machine given",
                           f"Wisp : {jvm.PLAIN}", {"what": "HTTP servers"}),)

    def loads(self):
        tomcat = ("ServletServer", ())
        yield Load("plaintext", "Tomcat, plaintext", *tomcat, (), "/hello", HELLO, ALL, None)
        yield Load("json", "Tomcat, JSON", *tomcat, (), "/json", '{"message":"Hello, World!"}', ALL, None)
        yield Load("query", "Tomcat, one query", *tomcat, ("database",), "/query", "1 rows", ALL, 1.15)
        yield Load("queries", "Tomcat, 20 queries", *tomcat, ("database",), "/queries", "20 rows", ALL, 1.15)
        yield Load("updates", "Tomcat, query and update", *tomcat, ("database",), "/update", "1 row", ALL, 1.15)
        yield Load("fortunes", "Tomcat, fortunes", *tomcat, ("database",), "/fortunes", None, ALL, 1.15)
        yield Load("backend", "Tomcat, 5 round trips to a back end", *tomcat, ("backend",), "/backend", "5 calls", ALL, 1.45)
        for transport in ("nio", "epoll"):
            yield Load(f"netty-{transport}", f"Netty {transport}, plaintext", "NettyServer", ("--transport", transport), (),
                       "/hello", HELLO, NO_VIRTUAL, 1.0)

    def parts(self, context, results):
        key = ["what", "jdk"]
        yield beside(by_kind("Requests per second", results, "per_s", key, more_is_better=True), self.published)
        for metric, name in LATENCIES:
            yield by_kind(f"Latency, {name}, ms", results, metric, key)
        yield by_kind("CPU time of the server per request, us", results, "cpu_us", key)
        yield by_kind("CPU time of server, what it calls and load per request, us", results, "all_cpu_us", key)
        if not context.quick:  # a quick run's servers are hardly warm: no verdict from them
            yield Table("Against the goals: capacity of Wisp by that of plain threads, by the table above",
                        ["what", "jdk", "Wisp : plain", "goal"], list(self.goals(results)))
        yield Note("Capacity is what a machine without idle time could serve; it is computed from CPU time, not measured. On a "
                   "processor that others use too the kernel divides it among threads, and Wisp has few: requests per second "
                   "mislead there.")
        for jdk in results.distinct("jdk"):
            groups = [(what, {k: v for k in jvm.NAMES if (v := results.values("per_s", jdk=jdk, what=what, kind=k))})
                      for what in results.distinct("what")]
            if any(g for _, g in groups):
                yield Plot(f"rates-{jdk}", f"Requests per second, JDK {jdk}; longer is better; the line spans all runs",
                           lambda groups=groups: plots.bars("HTTP servers", "requests per second", [g for g in groups if g[1]]))

    def goals(self, results):
        for jdk in results.distinct("jdk"):
            for load in self.chosen:
                found = stats.median_ratio(*(results.values("all_cpu_us", jdk=jdk, what=load.text, kind=k) for k in NO_VIRTUAL))
                if load.goal is not None and found:
                    verdict = "" if found[0] >= load.goal else ", MISSED"
                    yield [load.text, jdk, f"{found[0]:.2f}× ± {found[1]:.2f}", f"≥ {load.goal:g}×{verdict}"]


WORKLOADS = [Http()]
