"""One run of a case: a program of tests/compat on plain threads or under Wisp, its time limit, its stacks when it is over that."""
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from wisplib import jdks, jvm  # noqa: E402

LIBRARY = jvm.library()
WORK = ROOT / "build/compat"

# What a case says that an exception ended: equal on both sides, it shows nothing.
BROKEN_OFF = "broken off: "


class Hang(Exception):
    """The child was over its time limit; the text names the report."""


def lower(child):
    """A session of its own is scheduled as a group of its own, to which our own niceness means nothing."""
    if os.nice(0) > 0:
        try:
            Path(f"/proc/{child.pid}/autogroup").write_text(str(os.nice(0)))
        except OSError:
            pass  # no such groups here, or the child is gone


def threads(pids):
    for pid in pids:
        try:
            yield from list(Path(f"/proc/{pid}/task").iterdir())
        except OSError:
            pass  # it ended meanwhile


def patiently(child, limit):
    """communicate; seconds in which its session was ready to run and had less than half a processor do not count, up to
    eight times the limit (as Patience of java/integration-tests)."""
    counted, used, begin = 0.0, 0, time.monotonic()
    last = begin
    while True:
        try:
            return child.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            ready, had = False, 0
            pids = subprocess.run(["pgrep", "-s", str(child.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
            for thread in threads(pids):
                try:
                    ready |= (thread / "stat").read_text().rpartition(") ")[2][0] == "R"
                    had += int((thread / "schedstat").read_text().split()[0])
                except OSError:
                    pass  # it ended meanwhile
            now = time.monotonic()
            if not ready or had - used > (now - last) * 5e8:
                counted += now - last
            last, used = now, had
            if counted > limit or now - begin > 8 * limit:
                raise


class Context:
    """One run of a case: a JDK, plain (carriers None) or under Wisp, in a folder of its own."""

    watch = None  # seconds after which a child's stacks are looked at, and it goes on
    chaos = None

    def __init__(self, jdk, carriers, folder, serial=0):
        self.watchers, self.slow, self.serial = [], [], serial
        self.jdk, self.carriers, self.folder = jdk, carriers, folder
        self.stats = [0, 0, 0, 0]
        self.stderr = ""
        self.quiet = False
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def wisp(self):
        return self.carriers is not None

    def tool(self, name):
        """A tool of this JDK, else of the one nearest in version: the attach protocol is the same."""
        homes = [Path(j.home) for j in sorted(jdks.find(), key=lambda j: abs(j.major - self.jdk.major))]
        for home in (Path(self.jdk.home), *homes):
            if (home / "bin" / name).is_file():
                return str(home / "bin" / name)
        raise Missing(f"no {name} in any JDK")

    def environment(self, extra=None):
        env = jdks.plain_environment()
        if self.wisp:
            env.update(LD_PRELOAD=str(LIBRARY), WISP="1", WISP_STATS="1")
            if self.chaos is not None:
                env.update(WISP_CHAOS=str(self.chaos + self.serial))
        env.update(extra or {})
        return env

    def command(self, main, *args, flags=()):
        flags = list(flags)
        if self.wisp:
            flags[:0] = [f"-Dcom.alibaba.wisp.carrierEngines={self.carriers}", "-Dwisp.it.wisp=true"]  # for Kit.underWisp
        major = str(self.jdk.major)
        classes = f"{WORK}/classes" + (f":{WORK}/classes21" if int(major) >= 21 else "")
        classes += f":{WORK}/classes-it" if main.startswith("wisp.it.") else ""
        return [str(Path(self.jdk.home) / "bin/java"), *flags, "-cp", classes, main, *map(str, args)]

    def start(self, command, env=None, prefix=(), **more):
        child = subprocess.Popen([*prefix, *command], env=self.environment(env), cwd=self.folder,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, errors="replace", start_new_session=True, **more)
        lower(child)
        self.watched(child)
        return child

    def watched(self, child):
        """With --watch: once it has run for that long, its stacks are collected; it is not stopped."""
        if self.watch is not None:
            watcher = threading.Timer(self.watch, self.look, [child])
            watcher.daemon = True
            watcher.start()
            self.watchers.append(watcher)

    def look(self, child):
        if child.poll() is None:
            self.slow.append(self.hang_report(child, f"slow-{child.pid}.txt"))
            print(f"SLOW {self.slow[-1]}", flush=True)

    def end(self):
        for watcher in self.watchers:
            watcher.cancel()
            if watcher.is_alive():
                watcher.join()

    def finish(self, child, timeout=120):
        try:
            out, err = patiently(child, timeout)
        except subprocess.TimeoutExpired:
            report = self.hang_report(child)
            os.killpg(child.pid, signal.SIGKILL)
            try:
                out, err = child.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                out = err = ""
            (self.folder / "hang.out").write_text(out + "\n---\n" + err)
            raise Hang(f"hang, {report}") from None
        self.stderr += err
        for found in re.findall(r"tasks=(\d+) switches=(\d+) handoffs=(\d+) steals=(\d+)", err):
            self.stats = [a + int(b) for a, b in zip(self.stats, found)]
        return out, err, child.returncode

    def java(self, main, *args, flags=(), env=None, prefix=(), timeout=120, **more):
        out, err, code = self.finish(self.start(self.command(main, *args, flags=flags), env, prefix, **more),
                                     timeout)
        (self.folder / "stderr").write_text(err)
        return f"{out}exit {code}\n"

    def hang_report(self, child, name="hang.txt"):
        """Stacks of every thread and task, of all JVMs in the child's session."""
        path = self.folder / name
        found = subprocess.run(["pgrep", "-s", str(child.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
        with open(path, "a") as out:
            for pid in map(int, found or [child.pid]):
                try:
                    exe = Path(os.readlink(f"/proc/{pid}/exe"))
                except OSError:
                    continue
                wait = " ".join(f"{task.name}:{(task / 'wchan').read_text()}" for task in
                                Path(f"/proc/{pid}/task").iterdir() if (task / "wchan").exists())
                out.write(f"==== {pid} {exe} load {os.getloadavg()}\n{Path(f'/proc/{pid}/stat').read_text()}{wait}\n")
                out.flush()
                if not exe.name.startswith(("java", "jdb")):
                    continue
                if shutil.which("gdb"):
                    subprocess.run(["timeout", "-k", "1", "60", "gdb", "-p", str(pid), "-batch", "-nx",
                                    "-ex", "set pagination off", "-ex", "thread apply all bt 30",
                                    "-x", str(ROOT / "scripts/wisp-gdb.py"), "-ex", "wisp carriers",
                                    "-ex", "wisp bt all"],
                                   stdout=out, stderr=subprocess.STDOUT, env=jdks.plain_environment())
                subprocess.run(["timeout", "-k", "1", "20", self.tool("jstack"), str(pid)], stdout=out, stderr=out,
                               env=jdks.plain_environment())
        return path


SKIPPED = 77  # the exit code of a main class that cannot run here: Kit.skip of java/integration-tests


class Missing(Exception):
    """The case cannot run on this JDK; the text says why."""


def run_one(name, case, jdk, carriers, label, serial):
    folder = WORK / "run" / f"{name}-{jdk.label}-{label}-{serial}"
    shutil.rmtree(folder, ignore_errors=True)
    context = Context(jdk, carriers, folder, serial)
    begin = time.monotonic()
    try:
        text = case(context)
    except Hang as hang:
        text = str(hang)
    except (OSError, ValueError, subprocess.SubprocessError) as error:  # of the case; the others are to run yet
        text = BROKEN_OFF + f"{error!r}"
    finally:
        context.end()
    return text, time.monotonic() - begin, context
