"""The cases of compat: name -> function(context) -> text that must be equal on plain threads and under Wisp.

Here: the known traps, native code, flags and collectors. The other *_cases.py add theirs when imported."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import runs
from runs import Missing

CASES = {}
LIB = runs.WORK / "lib"


def case(name):
    def register(function):
        CASES[name] = function
        return function
    return register


def simple(name, main, *args, flags=(), jdks=(8, 99), env=None, timeout=120):
    def run(c):
        if not jdks[0] <= c.jdk.major <= jdks[1]:
            raise Missing(f"only JDK {jdks[0]} to {jdks[1]}")
        return c.java(main, *args, flags=flags, env=env, timeout=timeout)
    CASES[name] = run


def without_log(text):
    """Less what the JVM itself logs on stdout, with times."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(("[", "OpenJDK", "Java HotSpot")))


# A JVM that needs little.
SMALL = ["-Xmx64m", "-Xms64m", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=48m", "-XX:CICompilerCount=2",
         "-XX:MaxMetaspaceSize=64m", "-XX:CompressedClassSpaceSize=32m"]


# ---- known traps ------------------------------------------------------------------------------------

simple("trap-overflow", "OverflowStorm", 12, 10)
simple("trap-overflow-parallel", "OverflowStorm", 12, 10, flags=["-XX:+UseParallelGC"])
simple("trap-overflow-int", "OverflowStorm", 8, 4, flags=["-Xint"])
simple("trap-cpu-times", "CpuTimes")
simple("trap-spin", "Spin", timeout=60)


@case("trap-jfr-profile")
def jfr(c):
    """JFR suspends threads by signal on 17 and aborts the VM when pthread_kill fails."""
    if c.jdk.major < 11 or c.jdk.version == "11.0.2":
        raise Missing("no open JFR in this JDK")
    if not list(Path(c.jdk.home).glob("lib/jfr/profile.jfc")):
        raise Missing("this JDK has no module jdk.jfr")
    recording = c.folder / "r.jfr"
    text = c.java("ParkAndRun", 6, flags=[f"-XX:StartFlightRecording=settings=profile,filename={recording}",
                                          "-Xlog:jfr*=off"])
    text = "".join(line for line in text.splitlines(True) if line.startswith(("done", "exit")))
    text += f"recorded {recording.stat().st_size > 20000}\n"
    reader = c.tool("jfr")
    found = subprocess.run([reader, "summary", str(recording)], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.DEVNULL, env=runs.jdks.plain_environment())
    counts = dict(re.findall(r"^ (jdk\.\w+) +(\d+)", found.stdout, re.M))
    (c.folder / "counts").write_text(str(counts))
    for event in ("ThreadPark", "ThreadStart", "JavaMonitorEnter"):
        if int(counts.get("jdk." + event, 0)) == 0:
            raise ValueError(f"no jdk.{event} in {recording}")
        text += event + "\n"
    # Of our threads: the recorder's own are sampled too.
    printed = subprocess.run([reader, "print", "--events", "jdk.ExecutionSample", str(recording)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=runs.jdks.plain_environment())
    text += f"samples of the program {'ParkAndRun.work(' in printed.stdout}\n"
    return text


# ---- JNI ----------------------------------------------------------------------------------------------

for part in ("blocking", "spinning", "locals", "late", "exceptions", "attaching", "locks", "shared", "monitor",
             "identity"):
    simple(f"jni-{part}", "JniCases", LIB, part)
simple("jni-check", "JniCases", LIB, "locals", "attaching", "exceptions", "monitor", "identity",
       flags=["-Xcheck:jni"])
simple("jni-int", "JniCases", LIB, "locals", "attaching", "monitor", flags=["-Xint"])


def go_calls(name, library, *flags):
    """A library of Go in the JVM; `bare`: without its build id."""
    def run(c):
        if not library.exists():
            raise Missing("no Go here to build the library with")
        return c.java("GoCalls", LIB / "libgo_calls.so", library, flags=flags)
    CASES[name] = run


go_calls("jni-go", LIB / "liblibrary_go.so")
go_calls("jni-go-bare", LIB / "liblibrary_go_bare.so")
go_calls("jni-go-int", LIB / "liblibrary_go.so", "-Xint")


@case("jni-signal-chaining")
def chaining(c):
    """The JDK's libjsig.so in LD_PRELOAD, as its documentation says, in front of ours."""
    found = sorted(Path(c.jdk.home).glob("**/libjsig.so"))
    if not found:
        raise Missing("this JDK has no libjsig.so")
    preload = f"{found[0]}:{runs.LIBRARY}" if c.wisp else str(found[0])
    return "".join(c.java("Chaining", LIB / "libchaining.so", flags=[flag], env={"LD_PRELOAD": preload})
                   for flag in ("-Xint", "-XX:-OmitStackTraceInFastThrow"))


def allocator(name, file):
    """Another malloc in LD_PRELOAD, before and behind ours, as Cassandra's scripts and many images have it."""
    def run(c):
        found = next((p for folder in ("/usr/lib", "/usr/lib64", "/usr/local/lib")
                      for p in sorted(Path(folder).glob(f"**/{file}"))), None)
        if found is None:
            raise Missing(f"no {file} here")
        orders = ((found, runs.LIBRARY), (runs.LIBRARY, found)) if c.wisp else ((found,), (found,))
        return "".join(c.java("Soak", 4711, 40, env={"LD_PRELOAD": ":".join(map(str, order))}, timeout=240)
                       for order in orders)
    CASES[f"malloc-{name}"] = run


allocator("jemalloc", "libjemalloc.so.2")
allocator("tcmalloc", "libtcmalloc_minimal.so.4")
allocator("mimalloc", "libmimalloc.so.2")


@case("jsvc")
def daemon(c):
    """A launcher that forks, and loads the JVM in its child."""
    jsvc, jar = shutil.which("jsvc"), Path("/usr/share/java/commons-daemon.jar")
    if jsvc is None or not jar.exists():
        raise Missing("no jsvc here")
    out, pid = c.folder / "out", c.folder / "pid"
    command = [jsvc, "-home", c.jdk.home, "-cp", f"{runs.WORK}/classes:{jar}", "-pidfile", str(pid),
               "-outfile", str(out), "-errfile", "&1"]
    if c.wisp:
        command.append(f"-Dcom.alibaba.wisp.carrierEngines={c.carriers}")
    env = {"WISP": "always"} if c.wisp else None
    def run(*arguments):
        _, _, code = c.finish(c.start([*command, *arguments], env))
        return f"exit {code}\n"
    started = run("Service", "a", "b")
    deadline = time.monotonic() + 60
    while "sum" not in (out.read_text() if out.exists() else "") and time.monotonic() < deadline:
        time.sleep(0.1)
    stopped = run("-stop", "Service")
    if pid.exists():  # it did not stop
        os.kill(int(pid.read_text()), signal.SIGKILL)
    lines = out.read_text().splitlines()
    # Of the child that ran the JVM; its parent had none.
    for found in re.findall(r"tasks=(\d+) switches=(\d+) handoffs=(\d+) steals=(\d+)", "\n".join(lines)):
        c.stats = [a + int(b) for a, b in zip(c.stats, found)]
    return started + stopped + "".join(line + "\n" for line in lines if not line.startswith("wisp: "))


@case("desktop")
def desktop(c):
    """Swing on an X server of its own."""
    if shutil.which("Xvfb") is None:
        raise Missing("no Xvfb here")
    if not list(Path(c.jdk.home).glob("**/libawt_xawt.so")):
        raise Missing("this JDK has no windows")
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
                              pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with os.fdopen(reader) as numbers:
            display = numbers.readline().strip()
        return c.java("Desktop", env={"DISPLAY": f":{display}"}, timeout=240)
    finally:
        server.kill()
        server.wait()


# ---- JVM services ---------------------------------------------------------------------------------------

simple("vm-contention", "Contention")
simple("vm-contention-heavy", "Contention", flags=["-XX:+UnlockDiagnosticVMOptions", "-Xcheck:jni"])
simple("vm-stop-suspend", "StopSuspend")
simple("vm-virtual", "Virtual", jdks=(21, 99))
simple("vm-virtual-1", "Virtual", jdks=(21, 99), flags=["-Djdk.virtualThreadScheduler.parallelism=1",
                                                        "-Djdk.virtualThreadScheduler.maxPoolSize=64"])
for name, flags, span in (
        ("int", ["-Xint"], (8, 99)), ("c1", ["-XX:TieredStopAtLevel=1"], (8, 99)),
        ("comp", ["-Xcomp"], (8, 99)), ("numa", ["-XX:+UseNUMA", "-XX:+UseParallelGC"], (8, 99)),
        ("biased", ["-XX:+UseBiasedLocking", "-XX:BiasedLockingStartupDelay=0"], (8, 17)),
        ("unbiased", ["-XX:-UseBiasedLocking"], (8, 17)), ("no-coops", ["-XX:-UseCompressedOops"], (8, 99)),
        ("xss-small", ["-Xss256k"], (8, 99)), ("xss-large", ["-Xss64m"], (8, 99)),
        ("monitors-heavy", ["-XX:+UnlockDiagnosticVMOptions", "-XX:LockingMode=0"], (21, 24)),
        ("monitors-light", ["-XX:LockingMode=2"], (21, 24)),
        ("guarantee", ["-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=5"], (8, 24)),
        ("large-code", ["-XX:+UseCountedLoopSafepoints"], (11, 99)),
        ("compact-headers", ["-XX:+UseCompactObjectHeaders"], (25, 99))):
    simple(f"flags-{name}", "ParkAndRun", 3, flags=flags, jdks=span, timeout=180)
for name, size, flags in (("xss-small", (6, 5), ["-Xss256k"]), ("xss-large", (3, 2), ["-Xss16m"])):
    simple(f"overflow-{name}", "OverflowStorm", *size, flags=flags, timeout=400)


def collector(name, flags, span):
    """System.gc and allocation under load; what a JDK was built without refuses to start."""
    def run(c):
        if not span[0] <= c.jdk.major <= span[1]:
            raise Missing(f"only JDK {span[0]} to {span[1]}")
        text = c.java("Collect", 6, flags=[*flags, "-Xmx256m"], timeout=180)
        if not c.wisp and text == "exit 1\n":
            raise Missing("this JDK has no such collector")
        return text
    CASES[f"gc-{name}"] = run


EXPERIMENTAL = "-XX:+UnlockExperimentalVMOptions"
collector("serial", ["-XX:+UseSerialGC"], (8, 99))
collector("parallel", ["-XX:+UseParallelGC"], (8, 99))
collector("cms", ["-XX:+UseConcMarkSweepGC"], (8, 13))
collector("g1", ["-XX:+UseG1GC"], (8, 99))
collector("z", [EXPERIMENTAL, "-XX:+UseZGC"], (11, 99))
collector("z-generational", ["-XX:+UseZGC", "-XX:+ZGenerational"], (21, 22))
collector("shenandoah", [EXPERIMENTAL, "-XX:+UseShenandoahGC"], (11, 99))
collector("shenandoah-generational", [EXPERIMENTAL, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"],
          (24, 99))
collector("stress", ["-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=2"], (8, 24))
