"""Servers under load: the programs of java/bench-servers, plain, under Wisp or on virtual threads. All of a
workload run at once and get the load in turns, so a series' run is: its server's start when it is the first, the
warm-up of this load, then the load. CPU time is the processes' own, from /proc/PID/stat."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import jdks, jvm
from ..jvm import Failure, VIRTUAL, WISP
from . import generator, h2load, wrk
from .workload import Series, Unavailable, Workload

MODULE = jvm.ROOT / "java" / "bench-servers"
CLASSES = MODULE / "target" / "classes"
LIBRARIES = MODULE / "target" / "lib"
BACKEND = jvm.ROOT / "build" / "bin" / "bench_backend"
CLUSTER = jvm.ROOT / "java" / "software-tests" / "postgres-cluster"
GENERATORS = {"wrk": wrk, "h2load": h2load}  # for --generator
TICK = os.sysconf("SC_CLK_TCK")

# name: the row; needs: what the server is given besides; path: what is asked for; answer: what must come back (None:
# any 200); goal: the capacity by plain's that Wisp set itself as a target; mix: pairs of a percentage and the Load that is
# asked for so often, instead of a path. Loads of one program, arguments and number of connections share a server.
Load = namedtuple("Load", "name text program arguments needs path answer kinds goal mix", defaults=((),))
# What a server is started for.
Place = namedtuple("Place", "home kind program arguments connections")
CONNECTIONS = 64
TOMCAT_THREADS = 200  # Tomcat's own default; more when there are more connections


def build():
    """The module's classes and libraries, by Maven when a source is newer than them."""
    if not MODULE.is_dir():
        raise Unavailable("its servers, java/bench-servers, are part of the source tree only")
    sources = [MODULE / "pom.xml", *(MODULE / "src").rglob("*.java")]
    stamp = MODULE / "target" / ".built"
    if stamp.exists() and all(s.stat().st_mtime <= stamp.stat().st_mtime for s in sources):
        return
    try:
        done = subprocess.run(["mvn", "-B", "-q", "-f", str(jvm.ROOT / "java" / "pom.xml"), "-Pservers",
                               "-pl", "bench-servers,bench", "-DskipTests", "process-classes"],
                              env=jdks.plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"java/bench-servers is not built: {error}; needs Maven and its libraries from Maven Central")
    if done.returncode != 0:
        raise Unavailable("java/bench-servers does not build (its libraries come from Maven Central): " + done.stdout.strip()[-800:])
    stamp.touch()


def missing(need):
    """Why a server cannot be given that; None when it can."""
    if need == "database" and not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        return "no PostgreSQL in /usr/lib/postgresql: apt-get install postgresql"
    if need == "backend" and not BACKEND.is_file():
        return f"{BACKEND} is not there: build it first (make)"
    return None


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
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=os.setpgrp)  # an interrupt from the terminal is ours to handle
        self.errors = []
        self._reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self._reader.start()
        watchdog = threading.Timer(jvm.time_left(120), self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline().strip()
        watchdog.cancel()
        if not line:
            self.process.wait()
            jvm.check_time()
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


def java(jdk, kind, program, arguments, folder):
    """A server in a JVM of that kind; folder: for what it unpacks."""
    environment = jdks.plain_environment()
    if kind == WISP:
        environment.update(LD_PRELOAD=str(jvm.require_library()), WISP="1", WISP_STATS="1")
        environment.update({k: v for k, v in os.environ.items() if k == "WISP_OPTIONS"})
    if kind == VIRTUAL:
        arguments = [*arguments, "--kind", "virtual"]
    path = f"{CLASSES}:{jvm.ROOT}/java/bench/target/classes:{LIBRARIES}/*"
    return Child([f"{jdk.home}/bin/java", "-Xms512m", "-Xmx512m", f"-Djava.io.tmpdir={folder}", "-cp", path,
                  f"wisp.bench.{program}", *arguments], environment)


class Server:
    """One server of one kind, with what it calls."""

    def __init__(self, jdk, kind, program, arguments=(), needs=(), connections=CONNECTIONS, load_by=wrk):
        self.kind, self.beside, self.warm, self.connections, self.load_by = kind, [], set(), connections, load_by
        arguments = list(arguments)
        if program == "ServletServer":  # else connections would wait for threads on some kinds, and not on others
            arguments += ["--threads", max(TOMCAT_THREADS, connections)]
        self.folder = tempfile.TemporaryDirectory(prefix="wisp-bench.")
        try:
            if "backend" in needs:
                self.beside.append(Child([BACKEND, generator.threads()]))
                arguments += ["--backend", self.beside[-1].port]
            if "rpc" in needs:
                self.beside.append(java(jdk, kind, "RpcServer", [], self.folder.name))
                arguments += ["--rpc", self.beside[-1].port]
            if "database" in needs:
                port = free_port()
                self.beside.append(Child([CLUSTER, port, 3600]))
                arguments += ["--database", f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=wisp&sslmode=disable"]
            self.main = java(jdk, kind, program, arguments, self.folder.name)
        except BaseException:  # an interrupt too
            self.stop_beside()
            raise

    def pids(self):
        """Of the JVMs."""
        return [self.main.process.pid, *(c.process.pid for c in self.beside)]

    def url(self, path):
        return f"http://127.0.0.1:{self.main.port}{path}"

    def ask(self, load):
        """The answer's bytes are compared before and after each load; the generator itself only counts statuses."""
        for one in [part for _, part in load.mix] or [load]:
            for _ in range(20):
                try:
                    with urllib.request.urlopen(self.url(one.path), timeout=20) as reply:
                        text = reply.read().decode()
                except (urllib.error.URLError, OSError) as error:
                    raise Failure(f"{load.name}, {self.kind}: {one.path}: {error}: {self.main.said()}")
                if one.answer is not None and text != one.answer:
                    raise Failure(f"{load.name}, {self.kind}: {one.path}: wrong answer {text[:200]!r}")

    def press(self, load, seconds):
        """The generator's figures."""
        size = None if load.answer is None else len(load.answer.encode())
        return self.load_by.run(self.url(load.path or ""), self.connections, seconds,
                                [(share, part.path) for share, part in load.mix], size)

    def stop(self):
        try:
            self.main.stop()
            if self.kind == WISP and not re.search(r"^wisp: tasks=[1-9]", "".join(self.main.errors), re.MULTILINE):
                raise Failure(f"it ran, but not on Wisp: {self.main.said()}\n  {self.main.shown}")
        finally:
            self.stop_beside()

    def stop_beside(self):
        for child in self.beside:
            child.stop()
        self.folder.cleanup()

    def under_load(self, load, seconds):
        self.ask(load)
        before, beside = self.main.cpu(), sum(c.cpu() for c in self.beside)
        values = self.press(load, seconds)
        values.update(generator.costs(values["requests"], self.main.cpu() - before,
                                      sum(c.cpu() for c in self.beside) - beside, values.pop("load_cpu")))
        self.ask(load)
        return values

    def warm_up(self, load, requests, seconds):
        """Once, until the compiler had so many requests to learn from, or the time is over."""
        end = time.monotonic() + (0 if load.name in self.warm else seconds)
        self.warm.add(load.name)
        while requests > 0 and time.monotonic() < end:
            requests -= self.under_load(load, 2)["requests"]


class Servers(Workload):
    """A workload of Loads; a series is one of them on one kind of threads."""
    warms_itself = takes_connections = True
    # name of a row -> with how many connections --full runs it; the others with CONNECTIONS.
    full_connections = {}

    def loads(self):
        raise NotImplementedError

    def row_names(self):
        return [load.name for load in self.loads()]

    def prepare(self, context):
        self.load_by = GENERATORS[context.generator]
        self.load_by.require()
        self.left_out, self.running, self.owners, self.needs, self.chosen = [], {}, {}, {}, []
        names = self.pick(context.rows or context.size(",".join(self.quick), "*", "*"))
        for load in self.loads():
            reasons = list(filter(None, [*map(missing, load.needs), self.load_by.cannot(load)]))
            if load.name in names and not reasons:
                self.chosen.append(load)
            elif load.name in names:
                self.left_out.append(f"{load.name}: {'; '.join(reasons)}")
        if not self.chosen:
            raise Unavailable("; ".join(self.left_out))
        jvm.require_library()
        build()

    def series(self, context):
        for jdk in context.newest() if context.quick else context.reference():
            for load in self.chosen:
                for connections in self.connections(context, load):
                    for kind in (k for k in jvm.kinds_for(jdk) if k in load.kinds):
                        place = Place(jdk.home, kind, load.program, load.arguments, connections)
                        one = Series(lambda jdk=jdk, load=load, place=place: self.turn(context, jdk, load, place),
                                     jdk=jdk.label, what=load.text, connections=connections, kind=kind)
                        self.owners.setdefault(place, []).append(one)
                        self.needs.setdefault(place, {}).update(dict.fromkeys(load.needs))
                        yield one

    def connections(self, context, load):
        return context.connections or (context.full and self.full_connections.get(load.name)) or [CONNECTIONS]

    def turn(self, context, jdk, load, place):
        server = self.server(jdk, place)
        server.warm_up(load, 200_000, min(context.size(3, 5, 10), max(1, context.share() - 2)))
        return self.measure(context, server, load)

    def measure(self, context, server, load):
        return server.under_load(load, context.size(1, 2, 4))

    def server(self, jdk, place):
        """Started by whoever needs it first; one that did not start is not tried again."""
        if place not in self.running:
            try:
                self.running[place] = Server(jdk, place.kind, place.program, place.arguments, tuple(self.needs[place]),
                                             place.connections, self.load_by)
            except Failure as failure:
                self.running[place] = failure
        if isinstance(self.running[place], Failure):
            raise self.running[place]
        return self.running[place]

    def finish(self):
        """Only its end says whether a server ran on Wisp; one that did not, or that does not end, has no figures."""
        with ThreadPoolExecutor(max(1, len(self.running))) as pool:  # all at once: an end may take seconds
            ends = [(place, pool.submit(server.stop)) for place, server in self.running.items() if isinstance(server, Server)]
        for place, end in ends:
            if isinstance(end.exception(), Failure):
                for one in self.owners[place]:
                    one.failure = one.failure or str(end.exception())
