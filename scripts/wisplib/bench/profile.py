"""Which share of a process' CPU time goes into scheduling, by perf's samples; for rpc."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# The kernel's scheduler, wake-ups and futexes, by the function that was executing (no call chains).
KERNEL = re.compile(r"^(_*schedule(_\w+)?|_*sched_\w+|schedule_hrtimeout\w*|pick_\w*task\w*|pick_eevdf|put_prev_\w+|set_next_\w+"
                    r"|(en|de)queue_(task|entity)\w*|update_(curr|load_avg|rq_clock|cfs_group|min_vruntime)\w*|try_to_wake_up|ttwu_\w+"
                    r"|wake_up_\w+|select_task_rq\w*|select_idle_\w+|finish_task_switch\S*|prepare_task_switch|_*switch_to\w*"
                    r"|switch_mm\w*|native_load_tls|load_balance\w*|newidle_balance|_*x64_sys_(futex|sched_yield)|do_futex|_*futex_\w+"
                    r"|mark_wake_futex|get_futex_\w+|resched_\w+|check_preempt_\w+|reweight_\w+)$")


def read(lines):
    """'address symbol (file)' of perf script -> (symbol without its offset, file)"""
    for line in lines:
        found = re.match(r"^\s*[0-9a-f]+ (\S.*?)\s+\((\S*)\)\s*$", line)
        if found:
            yield re.sub(r"\+0x[0-9a-f]+$", "", found.group(1)), found.group(2)


def shares(samples):
    """Percent in the kernel's scheduler and in libwisp; {} without samples."""
    total = kernel = wisp = 0
    for symbol, file in samples:
        total += 1
        if file.endswith("/libwisp.so"):
            wisp += 1
        elif file.startswith("[") and KERNEL.match(symbol):
            kernel += 1
    return {"kernel_sched_pct": 100 * kernel / total, "libwisp_pct": 100 * wisp / total, "samples": total} if total else {}


def why_not():
    """Why there are no such figures here; None when there are. Without the kernel's names its share would be 0."""
    if shutil.which("perf") is None:
        return "perf is not installed (Debian: linux-perf)"
    with tempfile.TemporaryDirectory() as folder:
        if any(file.startswith("[kernel") and symbol != "[unknown]" for symbol, file in read(_sample("-a", 0.1, folder))):
            return None
    return "perf may not see the kernel's functions here: that needs root"


def of(pids, seconds):
    """The shares of these processes together, while they work."""
    with tempfile.TemporaryDirectory() as folder:
        return shares(read(_sample(f"-p{','.join(map(str, pids))}", seconds, folder)))


def _sample(whom, seconds, folder):
    """cpu-clock, for virtual machines have no counters; 499 per second, not in step with any tick."""
    data = str(Path(folder) / "perf.data")
    quiet = dict(stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    try:
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "-o", data, whom, "--", "sleep", str(seconds)],
                       timeout=seconds + 30, **quiet)
        return subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym,dso"], timeout=60, **quiet).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return []
