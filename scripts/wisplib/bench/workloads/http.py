"""TechEmpower's kinds of request on Tomcat with JDBC and PostgreSQL, those without a database on Netty too, under load."""

from wisplib import jvm, stats
from wisplib.bench import plots
from wisplib.bench.servers import CONNECTIONS, TOMCAT_THREADS, Load, Servers
from wisplib.bench.workload import Note, Plot, Published, Table, beside, by_kind

ALL, NO_VIRTUAL = (jvm.PLAIN, jvm.WISP, jvm.VIRTUAL), (jvm.PLAIN, jvm.WISP)
HELLO, JSON = "Hello, World!", '{"message":"Hello, World!"}'
MIX = ((70, "query"), (10, "queries"), (20, "update"))
KEY = ["what", "jdk", "connections"]
LATENCIES = (("p50_ms", "median"), ("p99_ms", "99 %"), ("p99_9_ms", "99.9 %"))


def mixed():
    """MIX in words."""
    return ", ".join(f"{share} % of row {name}" for share, name in MIX)


class Http(Servers):
    name, order, title = "http", 5, "HTTP servers under load, TechEmpower's kinds of request"
    quick = ("plaintext", "query")
    full_connections = {"query": (CONNECTIONS, 256)}
    text = (f"wrk (or h2load: --generator), one thread for each four processors, asks Tomcat 9 (NIO connector, {TOMCAT_THREADS} threads or as many as connections; JDBC by HikariCP "
            "with 32 connections to a PostgreSQL of its own) and Netty 4.1; java/bench-servers. It has as many connections as "
            f"--connections says, else {CONNECTIONS} (--full: one query also 256). A server per kind of thread and number of "
            "connections; all run at once and get the load in turns. Requests, latency, and the server's CPU time per request; "
            "the last table adds the CPU of PostgreSQL or the back end and of wrk: what one request costs the machine. All of "
            "them share its processors. Each servlet checks what it got, any status but 200 and any lost connection fails the "
            "run, and the bytes of 20 answers are compared before and after each load. '20 queries and updates' is "
            "TechEmpower's: 20 rows read one by one, changed, and written in one batch, in the order of their ids; 'query and "
            f"update' is one row, read and changed. The mix of requests, as pgbench mixes scripts, is {mixed()}, in a random "
            "order that is the same for all. Netty's event loops cannot be virtual threads. --full: of the chosen JDKs 17 and "
            "25, else the newest. A quick run's servers are 3 s warm, so the compiler is still at work in its figures.")
    units = {"per_s": "1/s", "cpu_us": "us", "beside_cpu_us": "us", "load_cpu_us": "us", "all_cpu_us": "us",
             **{k: "ms" for k, _ in LATENCIES}, "max_ms": "ms", "requests": "1"}
    budget, weight = 1800, 320
    published = (Published("Wisp: throughput by plain threads'", "+10 … +30 %", "", "as reported for Wisp, no machine given",
                           f"Wisp : {jvm.PLAIN}", {"what": "HTTP servers"}),)

    def loads(self):
        tomcat = ("ServletServer", ())
        yield Load("plaintext", "Tomcat, plaintext", *tomcat, (), "/hello", HELLO, ALL, None)
        yield Load("json", "Tomcat, JSON", *tomcat, (), "/json", JSON, ALL, None)
        jdbc = {}
        for name, text, answer, goal in (("query", "one query", "1 rows", 1.15), ("queries", "20 queries", "20 rows", 1.15),
                                         ("update", "query and update", "1 row", 1.15),
                                         ("updates", "20 queries and updates", "20 rows", None),
                                         ("fortunes", "fortunes", None, 1.15)):
            jdbc[name] = Load(name, f"Tomcat, {text}", *tomcat, ("database",), f"/{name}", answer, ALL, goal)
        yield from jdbc.values()
        yield Load("mix", "Tomcat, mix of JDBC", *tomcat, ("database",), None, None, ALL, 1.15,
                   tuple((share, jdbc[name]) for share, name in MIX))
        yield Load("backend", "Tomcat, 5 round trips to a back end", *tomcat, ("backend",), "/backend", "5 calls", ALL, 1.45)
        for transport in ("nio", "epoll"):
            netty = ("NettyServer", ("--transport", transport), ())
            yield Load(f"netty-{transport}", f"Netty {transport}, plaintext", *netty, "/hello", HELLO, NO_VIRTUAL, 1.0)
            yield Load(f"netty-{transport}-json", f"Netty {transport}, JSON", *netty, "/json", JSON, NO_VIRTUAL, 1.0)

    def parts(self, context, results):
        yield beside(by_kind("Requests per second", results, "per_s", KEY, more_is_better=True), self.published)
        for metric, name in LATENCIES:
            yield by_kind(f"Latency, {name}, ms", results, metric, KEY)
        yield by_kind("CPU time of the server per request, us", results, "cpu_us", KEY)
        yield by_kind("CPU time of server, what it calls and load per request, us", results, "all_cpu_us", KEY)
        if not context.quick:  # a quick run's servers are hardly warm: no verdict from them
            yield Table("Against the goals: capacity of Wisp by that of plain threads, by the table above",
                        [*KEY, "Wisp : plain", "goal"], list(self.goals(results)))
        yield Note("Capacity is what a machine without idle time could serve; it is computed from CPU time, not measured. On a "
                   "processor that others use too the kernel divides it among threads, and Wisp has few: requests per second "
                   "mislead there.")
        for jdk in results.distinct("jdk"):
            groups = [(named(one), {k: v for k in jvm.NAMES if (v := results.values("per_s", **dict(one, kind=k)))})
                      for one in loads_of(results, jdk)]
            if any(g for _, g in groups):
                yield Plot(f"rates-{jdk}", f"Requests per second, JDK {jdk}; longer is better; the line spans all runs",
                           lambda groups=groups: plots.bars("HTTP servers", "requests per second", [g for g in groups if g[1]]))

    def goals(self, results):
        goals = {load.text: load.goal for load in self.chosen if load.goal is not None}
        for one in (one for jdk in results.distinct("jdk") for one in loads_of(results, jdk) if one["what"] in goals):
            found = stats.median_ratio(*(results.values("all_cpu_us", **dict(one, kind=k)) for k in NO_VIRTUAL))
            if found:
                goal = goals[one["what"]]
                verdict = "" if found[0] >= goal else ", MISSED"
                yield [*one.values(), f"{found[0]:.2f}× ± {found[1]:.2f}", f"≥ {goal:g}×{verdict}"]


def loads_of(results, jdk):
    """What was asked of servers on that JDK, and over how many connections: parts of series' keys, each once."""
    parts = (tuple(one.key[k] for k in KEY) for one in results.find(jdk=jdk))
    return [dict(zip(KEY, values)) for values in dict.fromkeys(parts)]


def named(one):
    return one["what"] if one["connections"] == str(CONNECTIONS) else f"{one['what']}, {one['connections']} connections"


WORKLOADS = [Http()]
