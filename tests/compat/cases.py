"""The cases of compat: name -> function(context) -> text that must be equal on plain threads and under Wisp."""
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import sys

compat = sys.modules.get("compat_tool") or sys.modules["__main__"]

CASES = {}
LIB = compat.WORK / "lib"
Missing = compat.Missing


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
                           stderr=subprocess.DEVNULL, env=compat.jdks.plain_environment())
    counts = dict(re.findall(r"^ (jdk\.\w+) +(\d+)", found.stdout, re.M))
    (c.folder / "counts").write_text(str(counts))
    for event in ("ThreadPark", "ThreadStart", "JavaMonitorEnter"):
        if int(counts.get("jdk." + event, 0)) == 0:
            raise ValueError(f"no jdk.{event} in {recording}")
        text += event + "\n"
    # Of our threads: the recorder's own are sampled too.
    printed = subprocess.run([reader, "print", "--events", "jdk.ExecutionSample", str(recording)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=compat.jdks.plain_environment())
    text += f"samples of the program {'ParkAndRun.work(' in printed.stdout}\n"
    return text


# ---- JNI ----------------------------------------------------------------------------------------------

for part in ("blocking", "spinning", "locals", "late", "exceptions", "attaching", "locks", "shared", "monitor",
             "identity"):
    simple(f"jni-{part}", "JniCases", LIB / "libjni_cases.so", LIB / "liblate.so", part)
simple("jni-check", "JniCases", LIB / "libjni_cases.so", LIB / "liblate.so", "locals", "attaching", "exceptions",
       "monitor", "identity", flags=["-Xcheck:jni"])
simple("jni-int", "JniCases", LIB / "libjni_cases.so", LIB / "liblate.so", "locals", "attaching", "monitor",
       flags=["-Xint"])


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
    preload = f"{found[0]}:{compat.LIBRARY}" if c.wisp else str(found[0])
    return "".join(c.java("Chaining", LIB / "libchaining.so", flags=[flag], env={"LD_PRELOAD": preload})
                   for flag in ("-Xint", "-XX:-OmitStackTraceInFastThrow"))


def allocator(name, file):
    """Another malloc in LD_PRELOAD, before and behind ours, as Cassandra's scripts and many images have it."""
    def run(c):
        found = next((p for folder in ("/usr/lib", "/usr/lib64", "/usr/local/lib")
                      for p in sorted(Path(folder).glob(f"**/{file}"))), None)
        if found is None:
            raise Missing(f"no {file} here")
        orders = ((found, compat.LIBRARY), (compat.LIBRARY, found)) if c.wisp else ((found,), (found,))
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
    command = [jsvc, "-home", c.jdk.home, "-cp", f"{compat.WORK}/classes:{jar}", "-pidfile", str(pid),
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


def running(c, *args, flags=(), main="ParkAndRun"):
    """A JVM that prints a line when its load runs (or is over)."""
    return c.start(c.command(main, *args, flags=flags))


def tool(c, *command, timeout=60):
    asked = subprocess.Popen([str(w) for w in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env=compat.jdks.plain_environment(), start_new_session=True)
    compat.lower(asked)
    try:
        return compat.patiently(asked, timeout)[0], asked.returncode
    except subprocess.TimeoutExpired:
        os.killpg(asked.pid, signal.SIGKILL)
        return asked.communicate()[0], f"no answer within {timeout} s"


def up(child, c):
    """Until the attach listener can answer: the JVM has its main thread running."""
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        if os.path.exists(f"/tmp/hsperfdata_root/{child.pid}") and child.poll() is None:
            time.sleep(1)
            # All threads of the load are there.
            out, code = tool(c, c.tool("jcmd"), child.pid, "Thread.print")
            if code == 0 and '"body 13"' in out:
                return
        time.sleep(0.2)


@case("vm-jcmd")
def jcmd(c):
    """jcmd under load: native memory, thread dump, heap dump, GC, one after another."""
    jcmd_tool = c.tool("jcmd")
    child = running(c, 900, flags=["-XX:NativeMemoryTracking=summary"])
    text = ""
    try:
        up(child, c)
        out, code = tool(c, jcmd_tool, child.pid, "VM.native_memory", "summary")
        threads = re.search(r"Thread.*\(reserved=(\d+)KB", out)
        text += f"native memory {code} {bool(threads)}\n"
        stacks = re.search(r"thread #(\d+)|threads? #(\d+)", out)
        text += f"threads counted {bool(stacks)}\n"
        for _ in range(5):
            out, code = tool(c, jcmd_tool, child.pid, "Thread.print", "-l")
            names = sorted(set(re.findall(r'^"(body \d+|main)"', out, re.M)))
            text += f"Thread.print {code} {names}\n"
        heap = c.folder / "heap.hprof"
        out, code = tool(c, jcmd_tool, child.pid, "GC.heap_dump", heap)
        text += f"heap dump {code} {heap.exists() and heap.stat().st_size > 100000}\n"
        heap.unlink(missing_ok=True)
        out, code = tool(c, jcmd_tool, child.pid, "GC.class_histogram")
        text += f"histogram {code} {'java.lang.String' in out}\n"
        out, code = tool(c, jcmd_tool, child.pid, "GC.run")
        text += f"gc {code}\n"
        child.send_signal(signal.SIGQUIT)
        time.sleep(0.5)
    finally:
        child.terminate()
        out, err, code = c.finish(child, 60)
    text += f"dumped {'Full thread dump' in out} exit {code}\n"
    return text


def hprof(path):
    """Walks a heap dump's records to its very end: (classes named, stack traces)."""
    data = path.read_bytes()
    at = data.index(b"\0") + 13
    classes = traces = 0
    while at < len(data):
        tag, length = data[at], int.from_bytes(data[at + 5:at + 9], "big")
        classes += tag == 2
        traces += tag == 5
        at += 9 + length
    return at == len(data), classes, traces


@case("vm-heap-dump")
def heap_dump(c):
    """A dump asked for by a thread of the program, one at OutOfMemoryError, one by jmap's command."""
    text = ""
    for how in ("asked", "exhausted"):
        dump = c.folder / f"{how}.hprof"
        text += without_log(c.java("HeapDump", how, dump, 20, flags=[
            "-Xmx64m", "-XX:+HeapDumpOnOutOfMemoryError", f"-XX:HeapDumpPath={dump}"]))
        whole, classes, traces = hprof(dump)
        text += f"{how}: whole {whole}, classes {classes > 300}, stacks of all threads {traces > 20}\n"
        dump.unlink()
    return re.sub(r"(?m)^(Dumping heap to|Heap dump file created).*\n", "", text)


@case("vm-jstack")
def jstack(c):
    tools = c.tool("jstack")
    child = running(c, 900)
    text = ""
    try:
        up(child, c)
        for _ in range(8):
            out, code = tool(c, tools, "-l", child.pid)
            names = sorted(set(re.findall(r'^"(body \d+|main)"', out, re.M)))
            # Every Java thread has a state line and at least one frame or none at all, never garbage.
            text += f"{code} {names} {'java.lang.Thread.State' in out}\n"
    finally:
        child.terminate()
        c.finish(child, 60)
    return text


@case("vm-jdb")
def jdb(c):
    """A debugger steps through a program while other threads run: breakpoints, suspend all, locals, stacks."""
    debugger = c.tool("jdb")
    agent = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:0"
    if not list(Path(c.jdk.home).glob("**/libjdwp.so")):
        raise Missing("this JDK has no module jdk.jdwp.agent")
    child = c.start(c.command("Debuggee", flags=[agent]))
    line = child.stdout.readline()
    port = line.rsplit(":", 1)[-1].strip()
    # Each command, and what shows that it is done. An event is done with its prompt: jdb tells of it before it knows
    # the thread, and a "cont" in between, the very first one included, is lost ("Nothing suspended").
    def event(name):
        return f"(?s){name}.*\n\\S+\\[1\\] "
    hit, stepped = event("Breakpoint hit"), event("Step completed")
    script = [(None, event("VM Started")), ("stop in Debuggee.step", "Deferring|Set breakpoint"), ("cont", hit),
              ("where", r"\[1\] Debuggee"), ("print n", r"n = 3"), ("next", stepped),
              ("next", stepped), ("step", stepped), ("step up", hit),
              ("print n", r"n = 4"), ("cont", hit), ("print n", r"n = 5"), ("threads", "stepper"),
              # The second suspension on top of the breakpoint's: resumed twice.
              ("suspend", "suspended"), ("where all", "worker 3"), ("resume", "resumed"),
              ("resume", hit), ("print n", r"n = 6"), ("clear Debuggee.step", "Removed"),
              ("cont", f"{stepped}|exited|disconnected"), ("cont", "exited|disconnected")]
    d = subprocess.Popen([debugger, "-connect", f"com.sun.jdi.SocketAttach:hostname=127.0.0.1,port={port}"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env=compat.jdks.plain_environment(), start_new_session=True)
    compat.lower(d)
    c.watched(d)
    os.set_blocking(d.stdout.fileno(), False)
    out, done = "", []
    for word, wanted in script:
        mark = len(out)
        try:
            if word:
                d.stdin.write((word + "\n").encode())
                d.stdin.flush()
        except BrokenPipeError:
            break
        limit = time.monotonic() + 60
        while time.monotonic() < limit and not re.search(wanted, out[mark:]):
            out += (d.stdout.read() or b"").decode(errors="replace")
            time.sleep(0.05)
        answered = re.search(wanted, out[mark:]) is not None
        done.append(f"{word}: {answered}")
        if not answered:  # nor will the rest make sense
            break
    d.kill()
    d.wait()
    (c.folder / "jdb.txt").write_text(out)
    program, err, code = c.finish(child, 60)
    workers = sorted(set(re.findall(r"(worker \d)", out)))
    program = re.sub("(?m)^Listening.*\n", "", program[program.find("sum"):])
    return "\n".join(done) + f"\nthreads {workers}\n{program}exit {code}\n"


@case("vm-crash")
def crash(c):
    """A crash in native code on a task: hs_err is written, the exit is as on plain threads."""
    log = c.folder / "hs_err.log"
    c.quiet = True
    child = c.start(c.command("JniCases", LIB / "libjni_cases.so", LIB / "liblate.so", "crash",
                              flags=[f"-XX:ErrorFile={log}", "-XX:-CreateCoredumpOnCrash" if c.jdk.major > 8 else "-Xmx64m"]),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    out, err, code = c.finish(child, 60)
    report = log.read_text(errors="replace") if log.exists() else ""
    (c.folder / "err.txt").write_text(err + out)
    current = 'JavaThread "Thread-1"'
    return (f"exit {code} said {'SIGSEGV' in out} report {'SIGSEGV' in report} "
            f"frame {'JniCases_crash' in report or 'libjni_cases.so' in report} "
            f"current {current in report} complete {'END' in report[-400:] or 'elapsed' in report[-2000:]} "
            f"java frames {'JniCases.crash' in report} "
            f"libraries {'libjvm.so' in report.partition('Dynamic libraries:')[2]}\n")


@case("vm-abort")
def abort(c):
    log = c.folder / "hs_err.log"
    c.quiet = True
    child = c.start(c.command("JniCases", LIB / "libjni_cases.so", LIB / "liblate.so", "abort",
                              flags=[f"-XX:ErrorFile={log}"]),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    out, err, code = c.finish(child, 60)
    return f"exit {code} report {log.exists()}\n"


# ---- failure ---------------------------------------------------------------------------------------------

def without_log(text):
    """Less what the JVM itself logs on stdout, with times."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(("[", "OpenJDK", "Java HotSpot")))


def limited(which, value):
    return lambda: resource.setrlimit(which, (value, value))


SMALL = ["-Xmx64m", "-Xms64m", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=48m", "-XX:CICompilerCount=2",
         "-XX:MaxMetaspaceSize=64m", "-XX:CompressedClassSpaceSize=32m"]


@case("fail-address-space")
def address_space(c):
    c.quiet = True
    return without_log(c.java("Refused", 64, 2000, 4, flags=SMALL, preexec_fn=limited(resource.RLIMIT_AS, 6 << 30)))


@case("fail-huge-stack")
def huge_stack(c):
    c.quiet = True
    return without_log(c.java("Refused", 1000, 200, 3, flags=SMALL, preexec_fn=limited(resource.RLIMIT_AS, 8 << 30)))


@case("fail-descriptors")
def descriptors(c):
    return c.java("Descriptors", preexec_fn=limited(resource.RLIMIT_NOFILE, 200))


@case("fail-descriptors-early")
def descriptors_early(c):
    return c.java("Descriptors", preexec_fn=limited(resource.RLIMIT_NOFILE, 40))


def many(count, stack, rounds, name, flags=()):
    def run(c):
        # On plain threads ten thousand may be refused here: what is expected is known anyway.
        c.quiet = False
        if not c.wisp and count > 2500:
            return "".join(f"sum {count * (count - 1) // 2}\n" for _ in range(rounds)) + "exit 0\n"
        return c.java("ManyThreads", count, stack, rounds, flags=list(flags), timeout=240)
    CASES[name] = run


many(2000, 0, 3, "fail-2000-threads")
many(10000, 0, 2, "fail-10000-threads")
many(3000, 256 << 10, 2, "fail-3000-small")


def room_for_threads(count):
    """Whether so many kernel threads leave others enough; what refuses them otherwise is seen when it does."""
    number = lambda path: int(Path(path).read_text())
    alive = int(Path("/proc/loadavg").read_text().split()[3].split("/")[1])
    pids = min(number("/proc/sys/kernel/pid_max"), number("/proc/sys/kernel/threads-max"))
    available = int(re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())[1])
    return (pids - alive > count + 4000 and available > count * 200 and
            number("/proc/sys/vm/max_map_count") > 3 * count + 4000)


@case("io-10000-idle")
def idle_connections(c):
    """A thread blocked in read at each end of 10,000 connections; the integration tests have 1,000 of them."""
    count = 10000
    limits = {"descriptors": (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500) // 2,
              "memory mappings": (int(Path("/proc/sys/vm/max_map_count").read_text()) - 4000) // 4}
    for what, most in limits.items():
        if most < count:
            count = most // 100 * 100
            if not c.wisp:
                print(f"io-10000-idle: {count} connections: no more {what} are allowed", flush=True)
    if count < 5000:
        raise Missing(f"only {count} connections are allowed")
    expected = f"no spin: true\n{count} answers, sum right: true\n{count} ends of stream, {count} exceptions\nexit 0\n"
    if not c.wisp and not room_for_threads(2 * count):
        return expected  # it is known anyway
    text = c.java("wisp.it.cases.sockets.IdleConnections", count, timeout=480,
                  flags=["-Xss256k", "-Xmx512m", "-XX:+UseSerialGC", *(["-Dwisp.it.wisp=true"] if c.wisp else [])])
    return expected if not c.wisp and text == f"exit {compat.SKIPPED}\n" else text


def pids_group(limit):
    base = Path("/sys/fs/cgroup")
    group = base / ("pids" if (base / "pids").is_dir() else "") / f"wisp-compat-{os.getpid()}-{time.monotonic_ns()}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(limit))
    except OSError as e:
        try:
            group.rmdir()
        except OSError:
            pass
        raise Missing(f"no pids cgroup here: {e.strerror}") from None
    return group


@case("fail-kernel-threads")
def kernel_threads(c):
    """ulimit -u as an unprivileged user: kernel threads refused at 60; the program goes on."""
    c.quiet = True
    uid = 54321
    os.chmod(c.folder, 0o777)
    home = Path(c.jdk.home).resolve()
    if str(home).startswith("/root/") and not os.stat("/root").st_mode & 0o001:
        raise Missing("the JDK is not readable for another user")

    def drop():
        resource.setrlimit(resource.RLIMIT_NPROC, (70, 70))
        os.setgid(uid)
        os.setuid(uid)
    text = without_log(c.java("Refused", 1, 300, 3, flags=SMALL, preexec_fn=drop))
    if c.wisp:  # tasks need no kernel thread: nothing is refused
        text = text.replace("refused: none, then ran 5", "refused: unable to create new native thread, then ran 5")
    return re.sub("create (new )?native", "create native", text)


@case("fail-cgroup-pids")
def cgroup_pids(c):
    """pids.max of a cgroup: kernel threads refused at 80; the program goes on."""
    c.quiet = True
    group = pids_group(80)
    try:
        text = without_log(c.java("Refused", 1, 300, 3, flags=SMALL,
                                  preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid()))))
    finally:
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)
    if c.wisp:  # tasks need no kernel thread: nothing is refused
        text = text.replace("refused: none, then ran 5", "refused: unable to create new native thread, then ran 5")
    return re.sub("create (new )?native", "create native", text)


# ---- security -----------------------------------------------------------------------------------------------

simple("sec-children", "Children")


# In a mount namespace of its own /etc is a copy in which ld.so preloads the library into every program and finds
# the JDK's libraries: a set-user-id program neither takes LD_PRELOAD with a path nor an origin in its RUNPATH.
PRELOADED = """
set -e
mount -t tmpfs none /mnt && mkdir /mnt/etc && cp -a /etc/. /mnt/etc
printf '%s\\n' {folders} > /mnt/etc/ld.so.conf.d/wisp-compat.conf
mount --bind /mnt/etc /etc && ldconfig
[ -z "{library}" ] || echo "{library}" > /etc/ld.so.preload
exec setpriv --reuid=54321 --regid=54321 --clear-groups "$@"
"""


def of_another_user(c, mode):
    """A java that belongs to user 54322, with this mode, run by user 54321 with Wisp's wishes in the environment."""
    real = Path(c.jdk.home).resolve()
    home = Path(tempfile.mkdtemp(prefix="wisp-setuid-"))
    folders = sorted({str(lib.parent) for lib in real.glob("**/*.so")})
    try:
        shutil.copytree(real, home / "jdk", symlinks=True, ignore=shutil.ignore_patterns("jmods", "src.zip"))
        shutil.copytree(compat.WORK / "classes", home / "classes")
        library = shutil.copy(compat.LIBRARY, home) if c.wisp else ""
        subprocess.run(["chown", "-R", "54322:54322", home], check=True)
        subprocess.run(["chmod", "-R", "a+rX", home], check=True)
        java = home / "jdk/bin/java"
        java.chmod(mode)
        folders = [folder.replace(str(real), str(home / "jdk")) for folder in folders]
        script = PRELOADED.format(folders=" ".join(map(str, folders)), library=library)
        env = compat.jdks.plain_environment() | ({"WISP": "1", "WISP_STATS": "1", "WISP_VERBOSE": "1"}
                                    if c.wisp else {})
        child = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, "sh", str(java), *SMALL, "-cp",
                                  str(home / "classes"), "Privileged"], env=env, cwd="/", stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        out, err, code = c.finish(child, 60)
        return out, err, code
    finally:
        shutil.rmtree(home)


@case("sec-setuid")
def setuid(c):
    """The library is in a set-user-id java (ld.so.preload) and must do nothing; the same java without the bit
    shows that it would."""
    if os.geteuid() != 0:
        raise Missing("not root")
    c.quiet = True
    out, err, code = of_another_user(c, 0o755)
    if c.wisp != ("tasks=" in err) or code != 0:
        return f"without the bit: exit {code}, {err[-300:]}"
    text = f"same user {'uids 54321 54321' in out}\n"
    out, err, code = of_another_user(c, 0o4755)
    # Mapped, so that it was our own look at AT_SECURE that kept it quiet.
    text += out.replace(f"mapped {c.wisp}", "mapped as wanted").replace("wishes 3" if c.wisp else "wishes 0", "wishes")
    return text + f"exit {code} said {err!r}\n"


@case("sec-hostile")
def hostile(c):
    """Environments made to hurt: the program runs as ever, and what is said is short lines of plain text."""
    long = "x" * 100000
    wishes = [{"WISP_OPTIONS": v} for v in (
        "", ",", "=", "=,=", "carriers", "carriers=", "carriers=-1", "carriers=99999999999999999999", "carriers=2" * 999,
        "carriers=1,carriers=2,carriers=0", "%s%n%s%n", "black=name:" + "*a" * 5000 + "b", f"black={long}",
        "black=" + "name:x;" * 10000, "white=package:", "stacksize=1e9", "stacksize=-1k", "trace=0", "\x1b[2J\r\n,",
        "sysmonTickUs=0x10", "carriers=\u0661", ",".join(["nothing=1"] * 2000))]
    wishes += [{"WISP_CHAOS": long}, {"WISP_VERBOSE": long}, {"WISP_STATS": "1" + long}, {"WISP_JDKS": long},
               {"WISP_REEXEC": "1"},
               {"JAVA_TOOL_OPTIONS": "-Dcom.alibaba.wisp.stacksize=" + "9" * 3000},
               {"LD_PRELOAD": f"{compat.LIBRARY}:{compat.LIBRARY} {compat.LIBRARY}"},
               {f"WISP_{i}": str(i) for i in range(300)}]
    text, said = "", []
    for number, wish in enumerate(wishes):
        done = c.java("Short", 5, flags=SMALL, env=wish if c.wisp else None, timeout=60)
        if done != "sum 10\nexit 0\n":
            text += f"{number}: {done!r}\n"
        said += (c.folder / "stderr").read_text(errors="replace").split("\n")
    bad = [line for line in said if len(line) > 600 or re.search(r"[\x00-\x08\x0b-\x1f]", line)]
    return text + f"{len(wishes)} environments, bad lines {[line[:80] for line in bad if not line.startswith('Picked up')]}\n"


# Docker's default profile, as far as a JVM or Wisp asks for what it refuses; what Linux 4.14 did not have yet; and thirteen
# calls that Wisp can do without.
REFUSED = {
    "container": "425-427=EPERM,perf_event_open=EPERM,userfaultfd=EPERM,kcmp=EPERM,process_vm_readv=EPERM,"
                 "process_vm_writev=EPERM,bpf=EPERM,setns=EPERM,435=ENOSYS",
    "kernel-4.14": "io_pgetevents=ENOSYS,rseq=ENOSYS,424-462=ENOSYS",
    "many": "memfd_create=EPERM,sched_setaffinity=EPERM,setpriority=EPERM,get_robust_list=EPERM,rt_sigqueueinfo=EPERM,"
            "perf_event_open=EPERM,rseq=EPERM,425-427=EPERM,434=EPERM,preadv2=EPERM,pwritev2=EPERM"}


def refused(calls):
    def run(c):
        prefix = [sys.executable, str(compat.ROOT / "tests/refuse.py"), calls]
        return "".join(c.java(*program, prefix=prefix, timeout=240) for program in (
            ("Soak", 4711, 20), ("wisp.it.cases.process.ManyChildren",), ("wisp.it.cases.file.ColdReads",)))
    return run


for name, calls in REFUSED.items():
    CASES[f"sec-refused-{name}"] = refused(calls)
