"""wrk makes the load, in its own process. Its answer is read from one line that wrk.lua prints."""

import re
import shutil
from pathlib import Path

from ..jvm import Failure
from . import generator
from .workload import Unavailable

SCRIPT = Path(__file__).with_name("wrk.lua")
MIX = Path(__file__).with_name("mix.lua")
ERRORS = ("connect", "read", "write", "status", "timeout")


def require():
    if shutil.which("wrk") is None:
        raise Unavailable("wrk is not installed: apt-get install wrk")


def cannot(load):
    """Why it cannot make that Load; None when it can."""
    return None


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


def run(url, connections, seconds, mix=(), size=None):
    """What parse() gives, and wrk's own CPU time in s as load_cpu. mix: pairs of a percentage and a path of url; size: not
    looked at, wrk knows the status."""
    command = ["wrk", f"-t{generator.threads(connections)}", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "-s", str(MIX if mix else SCRIPT), url]
    command += ["--", *(str(word) for part in mix for word in part)] if mix else []
    text, cpu = generator.run(command, seconds)
    return dict(parse(text), load_cpu=cpu)
