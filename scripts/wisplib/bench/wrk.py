"""wrk makes the load, in its own process. Its answer is read from one line that wrk.lua prints."""

import re
import resource
import shutil
import subprocess
from pathlib import Path

from ..jvm import Failure
from .workload import Unavailable

SCRIPT = Path(__file__).with_name("wrk.lua")
MIX = Path(__file__).with_name("mix.lua")
ERRORS = ("connect", "read", "write", "status", "timeout")


def require():
    if shutil.which("wrk") is None:
        raise Unavailable("wrk is not installed: apt-get install wrk")


def parse(text):
    """Requests, their rate, latencies in ms. Failure when the line is missing or names an error: a server that
    refuses is fast."""
    line = re.search(r"^wisp: (.*)$", text, re.MULTILINE)
    if not line:
        raise Failure(f"no result of wrk: {text.strip()[-500:]}")
    found = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line.group(1))}
    wrong = [f"{found[e]} {e}" for e in ERRORS if found[e]]
    if wrong:
        raise Failure(f"wrk saw errors: {', '.join(wrong)} of {found['requests']} requests")
    if not found["requests"] or not found["duration_us"]:
        raise Failure("wrk had no answer at all")
    return {"requests": found["requests"], "per_s": found["requests"] * 1e6 / found["duration_us"],
            **{name.replace("_us", "_ms"): found[name] / 1e3 for name in ("p50_us", "p99_us", "p99_9_us", "max_us")}}


def costs(requests, server, beside, load):
    """CPU time of the server, of what it calls and of the load, all in s -> us per request. all_cpu_us is what one
    request costs the machine; its inverse is what a machine without idle time could serve per core."""
    mine, others, made = (seconds * 1e6 / requests for seconds in (server, beside, load))
    return {"cpu_us": mine, "beside_cpu_us": others, "wrk_cpu_us": made, "all_cpu_us": mine + others + made}


def run(url, connections, seconds, mix=()):
    """What parse() gives, and wrk's own CPU time in s as load_cpu. mix: pairs of a percentage and a path of url."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "-s", str(MIX if mix else SCRIPT), url]
    command += ["--", *(str(word) for part in mix for word in part)] if mix else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds + 60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{' '.join(command)}: {error}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout.strip()[-500:]}")
    return dict(parse(done.stdout), load_cpu=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
