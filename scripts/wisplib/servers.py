"""Servers under load: starts the programs of java/bench-servers, plain, under Wisp or on virtual
threads, all kinds at once, and gives the load to one after the other, round by round, so that what
else the machine does hits all alike. wrk makes the load, in its own process. CPU time is the
server's own, from /proc/PID/stat."""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import namedtuple
from pathlib import Path

from . import jdks, jvm
from .jvm import Failure, PLAIN, VIRTUAL, WISP

MODULE = jvm.ROOT / "java" / "bench-servers"
CLASSES = MODULE / "target" / "classes"
LIBRARIES = MODULE / "target" / "lib"
BACKEND = jvm.ROOT / "build" / "bin" / "bench_backend"
CLUSTER = jvm.ROOT / "java" / "software-tests" / "postgres-cluster"
TICK = os.sysconf("SC_CLK_TCK")

# needs: what the server is given besides; path: what is asked for; answer: what must come back (None: any 200).
Load = namedtuple("Load", "name text program arguments needs path answer connections kinds reach")
ALL, NO_VIRTUAL = (PLAIN, WISP, VIRTUAL), (PLAIN, WISP)


def loads():
    tomcat = ("ServletServer", ())
    hello = "Hello, World!"
    yield Load("hello", "Tomcat, hello", *tomcat, (), "/hello", hello, 64, ALL, None)
    yield Load("json", "Tomcat, JSON", *tomcat, (), "/json", '{"message":"Hello, World!"}', 64, ALL, None)
    yield Load("backend", "Tomcat, 5 round trips to a back end", *tomcat, ("backend",), "/backend", "5 calls", 64, ALL, 1.45)
    yield Load("rpc", "Tomcat, 10 RPCs to a second JVM", *tomcat, ("rpc",), "/rpc", "10 calls", 64, ALL, None)
    yield Load("query", "Tomcat + JDBC, one query", *tomcat, ("database",), "/query", "1 rows", 64, ALL, 1.15)
    yield Load("queries", "Tomcat + JDBC, 20 queries", *tomcat, ("database",), "/queries", "20 rows", 64, ALL, 1.15)
    yield Load("update", "Tomcat + JDBC, query and update", *tomcat, ("database",), "/update", "1 row", 64, ALL, 1.15)
    yield Load("fortunes", "Tomcat + JDBC, fortunes", *tomcat, ("database",), "/fortunes", None, 64, ALL, 1.15)
    for transport in ("nio", "epoll"):
        yield Load(f"netty-{transport}", f"Netty {transport}, hello", "NettyServer", ("--transport", transport), (),
                   "/hello", hello, 64, NO_VIRTUAL, 1.0)


def build():
    """The module's classes and libraries, by Maven when a source is newer than them."""
    sources = [MODULE / "pom.xml", *(MODULE / "src").rglob("*.java")]
    stamp = MODULE / "target" / ".built"
    if not stamp.exists() or any(s.stat().st_mtime > stamp.stat().st_mtime for s in sources):
        done = subprocess.run(["mvn", "-B", "-q", "-f", str(jvm.ROOT / "java" / "pom.xml"), "-Pservers",
                               "-pl", "bench-servers,bench", "-DskipTests", "process-classes"],
                              env=jdks.plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Failure("java/bench-servers does not build:\n" + done.stdout[-3000:])
        stamp.touch()
    if not BACKEND.is_file():
        raise Failure(f"{BACKEND} is not there: build it first (make)")


def cpu_of(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # ended meanwhile: its parent has it
        return 0.0
    return sum(map(int, fields[11:15])) / TICK + sum(map(cpu_of, children))


class Child:
    """A process that says "port=N" (or "ready") on its first line and ends when its standard input does."""

    def __init__(self, command, environment=None):
        self.shown = " ".join(map(str, command))
        self.process = subprocess.Popen(list(map(str, command)), env=environment or jdks.plain_environment(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = []
        self._reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self._reader.start()
        watchdog = threading.Timer(120, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline().strip()
        watchdog.cancel()
        if not line:
            self.process.wait()
            raise Failure(f"did not start: {self.said()}\n  {self.shown}")
        self.port = int(line.split("=")[1]) if "=" in line else None
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def said(self):
        return "".join(self.errors)[-1500:].strip()

    def cpu(self):
        """User and system time so far, in seconds, of the process and of all that it started."""
        return cpu_of(self.process.pid)

    def stop(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            raise Failure(f"did not end: {self.said()}\n  {self.shown}")
        finally:
            self._reader.join(5)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def java(jdk, kind, program, arguments):
    """A server in a JVM of that kind."""
    environment = jdks.plain_environment()
    if kind == WISP:
        environment.update(LD_PRELOAD=str(jvm.require_library()), WISP="1", WISP_STATS="1")
        environment.update({k: v for k, v in os.environ.items() if k in ("WISP_OPTIONS", "WISP_TICK_US")})
    if kind == VIRTUAL:
        arguments = [*arguments, "--kind", "virtual"]
    path = f"{CLASSES}:{jvm.ROOT}/java/bench/target/classes:{LIBRARIES}/*"
    return Child([f"{jdk.home}/bin/java", "-Xms512m", "-Xmx512m", "-cp", path, f"wisp.bench.{program}", *arguments],
                 environment)


class Server:
    """One server of one kind, with what it calls."""

    def __init__(self, jdk, kind, program, arguments=(), needs=()):
        self.kind, self.beside = kind, []
        arguments = list(arguments)
        try:
            if "backend" in needs:
                self.beside.append(Child([BACKEND]))
                arguments += ["--backend", self.beside[-1].port]
            if "rpc" in needs:
                self.beside.append(java(jdk, kind, "RpcServer", []))
                arguments += ["--rpc", self.beside[-1].port]
            if "database" in needs:
                port = free_port()
                self.beside.append(Child([CLUSTER, port, 3600]))
                arguments += ["--database", f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=wisp&sslmode=disable"]
            self.main = java(jdk, kind, program, arguments)
        except Failure:
            for child in self.beside:
                child.stop()
            raise

    @property
    def pid(self):
        return self.main.process.pid

    def url(self, path):
        return f"http://127.0.0.1:{self.main.port}{path}"

    def ask(self, load):
        """The answer's bytes are compared before and after each load; wrk itself only counts statuses."""
        for _ in range(20):
            try:
                with urllib.request.urlopen(self.url(load.path), timeout=20) as reply:
                    text = reply.read().decode()
            except (urllib.error.URLError, OSError) as error:
                raise Failure(f"{load.name}, {self.kind}: {error}: {self.main.said()}")
            if load.answer is not None and text != load.answer:
                raise Failure(f"{load.name}, {self.kind}: wrong answer {text[:200]!r}")

    def stop(self):
        try:
            self.main.stop()
            if self.kind == WISP and not re.search(r"^wisp: tasks=[1-9]", "".join(self.main.errors), re.MULTILINE):
                raise Failure(f"it ran, but not on Wisp: {self.main.said()}\n  {self.main.shown}")
        finally:
            for child in self.beside:
                child.stop()


UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 60e3}


def wrk(url, connections, seconds):
    """Requests, their rate, latencies in ms, wrk's own CPU time per request."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "--latency", url],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds + 60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = done.stdout
    if done.returncode != 0 or "Non-2xx" in text or "Socket errors" in text:
        raise Failure(f"wrk {url}: {text.strip()}")
    values = {"requests": int(re.search(r"(\d+) requests in", text).group(1)),
              "per_s": float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))}
    values["wrk_cpu_us"] = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e6 / values["requests"]
    for percent, number, unit in re.findall(r"^\s+(\d+)%\s+([\d.]+)(us|ms|s|m)\s*$", text, re.MULTILINE):
        values[f"p{percent}_ms"] = float(number) * UNITS[unit]
    return values


def under_load(server, load, seconds, connections=None):
    server.ask(load)
    before, beside = server.main.cpu(), sum(c.cpu() for c in server.beside)
    values = wrk(server.url(load.path), connections or load.connections, seconds)
    values["cpu_us"] = (server.main.cpu() - before) * 1e6 / values["requests"]
    values["beside_cpu_us"] = (sum(c.cpu() for c in server.beside) - beside) * 1e6 / values["requests"]
    # What a machine without idle time can serve is this one's inverse.
    values["all_cpu_us"] = values["cpu_us"] + values["beside_cpu_us"] + values["wrk_cpu_us"]
    server.ask(load)
    return values


def warm_up(server, load, requests, seconds):
    """Until the compiler had so many requests to learn from, or the time is over."""
    end = time.monotonic() + seconds
    while requests > 0 and time.monotonic() < end:
        requests -= under_load(server, load, 2)["requests"]


def measure(jdk, chosen, kinds, rounds, seconds, warmup, tell=jvm.progress, enough=200_000):
    """{(load name, kind): [values of a round, ...]} for loads that share one server program and its needs."""
    first = chosen[0]
    needs = tuple(dict.fromkeys(n for load in chosen for n in load.needs))
    results = {}
    with contextlib.ExitStack() as stack:
        servers = []
        for kind in kinds:
            servers.append(Server(jdk, kind, first.program, first.arguments, needs))
            stack.callback(servers[-1].stop)
        for load in chosen:
            for server in servers:
                if server.kind in load.kinds:
                    warm_up(server, load, enough, warmup)
            for turn in range(rounds):
                for server in servers if turn % 2 == 0 else servers[::-1]:
                    if server.kind not in load.kinds:
                        continue
                    values = under_load(server, load, seconds)
                    results.setdefault((load.name, server.kind), []).append(values)
                    tell(f"{load.name} {server.kind}: {values['per_s']:.0f}/s p50 {values.get('p50_ms', 0):.2f} "
                         f"p99 {values.get('p99_ms', 0):.2f} ms, {values['cpu_us']:.1f} us CPU/request, all {values['all_cpu_us']:.1f}")
    return results


def groups(chosen):
    """Loads that one server can take together, in order."""
    by_program = {}
    for load in chosen:
        by_program.setdefault((load.program, load.arguments, load.needs), []).append(load)
    return list(by_program.values())
