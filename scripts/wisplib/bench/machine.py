"""What a report says of the machine, the software and the moment: figures without it mean nothing."""

import os
import platform
import subprocess
import time
from pathlib import Path

from .. import jvm, table


def commit():
    """The commit of this checkout, '+' when files differ from it; installed: the version."""
    try:
        git = ["git", "-C", str(jvm.ROOT)]
        name = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=20, check=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True, timeout=20, check=True).stdout.strip()
        return name + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("WISP_VERSION", "unknown")


def memory_gib():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return round(int(line.split()[1]) / 2**20, 1)
    return 0


def load():
    return [round(one, 2) for one in os.getloadavg()]


def autogroup():
    """Whether the kernel gives each session an equal share (CONFIG_SCHED_AUTOGROUP): each of PostgreSQL's processes is
    one, so each gets as much as a whole server, and the tails change (docs/performance-conditions.md). None: no such kernel."""
    try:
        return Path("/proc/sys/kernel/sched_autogroup_enabled").read_text().strip() == "1"
    except OSError:
        return None


def describe(jdks, arguments):
    return {
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
        "cpu": table.cpu_model(),
        "cores": jvm.processors(),
        "memory_gib": memory_gib(),
        "kernel": f"{platform.system()} {platform.release()}",
        "autogroup": autogroup(),
        "libc": " ".join(platform.libc_ver()),
        "jdks": [{"label": j.label, "version": j.version, "vendor": j.vendor, "home": j.home} for j in jdks],
        "library": str(jvm.library()),
        "commit": commit(),
        "arguments": arguments,
        "nice": os.nice(0),
        "load_before": load(),
    }


def rows(machine):
    """For people; (what, text)."""
    yield "JDK", "; ".join(f"{j['label']} ({j['vendor']})" for j in machine["jdks"])
    yield "processor", f"{machine['cpu']}, {machine['cores']} cores for us"
    yield "memory", f"{machine['memory_gib']} GiB"
    groups = {True: " (a share for each session)", False: " (no shares by session)"}.get(machine.get("autogroup"), "")
    yield "kernel, C library", f"{machine['kernel']}{groups}, {machine['libc']}"
    yield "Wisp", f"{machine['commit']}, {machine['library']}"
    yield "options", " ".join(machine["arguments"]) or "none"
    yield "date", machine["date"]
    loads = [f"{machine['load_before'][0]} before"] + (
        [f"{machine['load_after'][0]} after"] if "load_after" in machine else [])
    yield "load, priority", f"{', '.join(loads)}; nice {machine['nice']}"


def busy(machine):
    """A warning where others used the processors too, else nothing. Our own runs keep the later load near
    the number of cores."""
    before, cores = machine["load_before"][0], machine["cores"]
    after = machine.get("load_after", [0])[0]
    if before > cores / 2 or after > 2 * cores + 1:
        return (f"This machine was busy: load {before} before, {after} after, on {cores} cores. Times are those of a shared "
                "machine and are not to be compared with others; repeat the run when it is quiet.")
    return None
