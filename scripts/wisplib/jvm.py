"""Runs a program of java/bench in a child JVM, on plain threads, under Wisp or on virtual threads, and
gives back the key=value lines it printed. A Wisp run that did not really use Wisp is a failure."""

import fcntl
import functools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from . import jdks

ROOT = Path(__file__).resolve().parents[2]
BENCH_SOURCES = ROOT / "java" / "bench" / "src" / "main" / "java"
NEEDS_HISTOGRAM = "HdrLatency.java"  # compiled apart: a library that may be missing must not stop the rest

PLAIN, WISP, VIRTUAL = "plain", "wisp", "virtual"
NAMES = {PLAIN: "plain threads", WISP: "Wisp", VIRTUAL: "virtual threads"}
ALL_CORES = 0


class Failure(Exception):
    """The run gave no usable result; the text says why and how to repeat it."""


class OutOfTime(Exception):
    """The deadline of the whole run came; nothing is said against what was running."""


deadline = None  # of the present workload, on time.monotonic()'s clock; None: there is none


def time_left(most):
    """Seconds that something may take which is allowed `most`."""
    return most if deadline is None else max(0.0, min(most, deadline - time.monotonic()))


def check_time():
    if deadline is not None and time.monotonic() >= deadline:
        raise OutOfTime


def in_checkout():
    """Else this is an installation, share/wisp, where nothing can be built."""
    return (ROOT / "CMakeLists.txt").is_file()


def bench_classes():
    return (ROOT / "build" / "java" if in_checkout() else jdks.cache_folder().parent) / "bench-classes"


def processors():
    return len(os.sched_getaffinity(0))


def library():
    """The libwisp.so to preload: $WISP_LIB, else $WISP_HOME, else this checkout's build."""
    if os.environ.get("WISP_LIB"):
        return Path(os.environ["WISP_LIB"])
    if os.environ.get("WISP_HOME"):
        return Path(os.environ["WISP_HOME"]) / "lib" / "libwisp.so"
    return ROOT / "build" / "lib" / "libwisp.so"


def require_library():
    path = library()
    if not path.is_file():
        raise Failure(f"{path} is not there: build it first (make), or set WISP_LIB to a libwisp.so")
    return path.resolve()


def build_bench():
    """Compiles java/bench for Java 8 when a source is newer than the classes."""
    return compile_newer([s for s in BENCH_SOURCES.rglob("*.java") if s.name != NEEDS_HISTOGRAM], bench_classes())


def build_histogram():
    """What java/bench needs on its class path to measure latencies; Failure when HdrHistogram cannot be had."""
    jar = released_jar("org.hdrhistogram", "HdrHistogram", "2.2.2")
    classes = bench_classes().with_name("bench-histogram")
    return [compile_newer(BENCH_SOURCES.rglob(NEEDS_HISTOGRAM), classes, [build_bench(), jar]), jar]


def released_jar(group, name, version):
    """By Maven, from Maven Central; kept in our cache."""
    folder = jdks.cache_folder().parent / "jars"
    jar = folder / f"{name}-{version}.jar"
    if not jar.is_file():
        try:
            done = subprocess.run(["mvn", "-B", "-q", "dependency:copy", f"-Dartifact={group}:{name}:{version}",
                                   f"-DoutputDirectory={folder}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=300)
            why = done.stdout.strip()[-300:]
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        if not jar.is_file():
            raise Failure(f"{group}:{name}:{version} cannot be had by mvn: {why}")
    return jar


def compile_newer(sources, classes, classpath=()):
    """Compiles all when one is newer than the classes; returns their folder."""
    sources = sorted(sources)
    stamp = classes / ".built"

    def built():
        return stamp.exists() and all(s.stat().st_mtime <= stamp.stat().st_mtime for s in sources)
    if built():
        return classes
    try:
        classes.mkdir(parents=True, exist_ok=True)
        lock = open(classes / ".lock", "w")
    except OSError as error:  # an installation keeps them below the home folder, and service users may have none
        other = "" if in_checkout() else "; WISP_CACHE names another folder for it"
        raise Failure(f"{classes} cannot be written: {error.strerror}{other}")
    with lock:  # lest one compiles what another one's JVM is about to load
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built():
            compile_java(sources, classes, classpath)
            stamp.touch()
    return classes


def compile_java(sources, classes, classpath=()):
    """For Java 8, by a JDK found here; classpath: what the sources need besides."""
    compilers = [j for j in jdks.find() if j.major >= 9 and (Path(j.home) / "bin" / "javac").is_file()]
    if not compilers:
        raise Failure("no JDK with javac (9 or newer) found to compile java/bench; "
                      "install one or set WISP_JDKS")
    jdk = min(compilers, key=lambda j: abs(j.major - 17))  # 17 compiles for 8 without warnings
    classes.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([f"{jdk.home}/bin/javac", "--release", "8", "-nowarn", "-Xlint:-options",
                           "-cp", ":".join(map(str, [classes, *classpath])), "-d", str(classes), *map(str, sources)],
                          env=jdks.plain_environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failure(f"javac of {jdk.home} failed:\n{done.stdout}")


@functools.lru_cache(maxsize=None)
def has_flag(home, flag):
    done = subprocess.run([f"{home}/bin/java", flag, "-version"], env=jdks.plain_environment(),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0


def kinds_for(jdk):
    return [PLAIN, WISP] + ([VIRTUAL] if jdk.major >= 21 else [])


def run(jdk, kind, cores, program, args=(), java_options=(), timeout=300, classpath=()):
    """Runs wisp.bench.<program>; cores is a number or ALL_CORES. Returns its values, plus 'wall' in s.

    Plain threads on one core are pinned to it, besides being told of it: otherwise their kernel
    threads would use all cores whatever the JVM believes, and would be slower for it.
    """
    options, pin = list(java_options), None
    environment = jdks.plain_environment()
    if cores != ALL_CORES:
        flag = f"-XX:ActiveProcessorCount={cores}"
        if has_flag(jdk.home, flag):
            options.append(flag)
        elif kind == WISP:
            options.append(f"-Dcom.alibaba.wisp.carrierEngines={cores}")
        if kind == PLAIN:
            pin = sorted(os.sched_getaffinity(0))[:cores]
    if kind == VIRTUAL:
        options.append(f"-Djdk.virtualThreadScheduler.parallelism={cores or processors()}")
        args = [*args, "--kind", "virtual"]
    if kind == WISP:
        environment.update(LD_PRELOAD=str(require_library()), WISP="1", WISP_STATS="1")
    command = [f"{jdk.home}/bin/java", *options, "-cp", ":".join(map(str, [build_bench(), *classpath])),
               f"wisp.bench.{program}", *map(str, args)]
    shown = " ".join((["LD_PRELOAD=" + environment["LD_PRELOAD"], "WISP=1"] if kind == WISP else [])
                     + (["taskset", "-c", ",".join(map(str, pin))] if pin else []) + command)
    start = time.monotonic()
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=time_left(timeout),
                              preexec_fn=(lambda: os.sched_setaffinity(0, pin)) if pin else None)
    except subprocess.TimeoutExpired:
        check_time()
        raise Failure(f"no result within {timeout:.0f} s\n  {shown}")
    values = dict(re.findall(r"^(\w+)=(.*)$", done.stdout, re.MULTILINE))
    if done.returncode != 0 or values.get("check") != "ok":
        raise Failure(f"exit code {done.returncode}: {done.stderr.strip()[-500:]}\n  {shown}")
    if kind == WISP:
        stats = re.search(r"^wisp: tasks=(\d+) switches=(\d+)", done.stderr, re.MULTILINE)
        if not stats or int(stats.group(1)) == 0:
            raise Failure(f"it ran, but not on Wisp: {done.stderr.strip()[-500:]}\n  {shown}")
    values["wall"] = time.monotonic() - start
    return values


def progress(text):
    print(text, file=sys.stderr, flush=True)
