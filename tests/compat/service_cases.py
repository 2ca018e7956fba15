"""Cases of compat: what asks a JVM from outside (jcmd, jstack, jdb, heap dumps), and what it writes at its death."""
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import runs
from cases import LIB, Missing, case, without_log


def running(c, *args, flags=(), main="ParkAndRun"):
    """A JVM that prints a line when its load runs (or is over)."""
    return c.start(c.command(main, *args, flags=flags))


def tool(c, *command, timeout=60):
    asked = subprocess.Popen([str(w) for w in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env=runs.jdks.plain_environment(), start_new_session=True)
    runs.lower(asked)
    try:
        return runs.patiently(asked, timeout)[0], asked.returncode
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
                         env=runs.jdks.plain_environment(), start_new_session=True)
    runs.lower(d)
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
    child = c.start(c.command("JniCases", LIB, "crash",
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
    child = c.start(c.command("JniCases", LIB, "abort",
                              flags=[f"-XX:ErrorFile={log}"]),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    out, err, code = c.finish(child, 60)
    return f"exit {code} report {log.exists()}\n"
