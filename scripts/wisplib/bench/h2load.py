"""h2load (of nghttp2) makes the load instead of wrk, over HTTP/1.1, one request at a time per connection. Percentiles are
those of the requests that it wrote down, each once; wrk adds to its own what it takes for left out by a pause
(stats_correct in its stats.c)."""

import re
import shutil
import tempfile
from pathlib import Path

from ..jvm import Failure
from . import generator
from .workload import Unavailable


def require():
    if shutil.which("h2load") is None:
        raise Unavailable("h2load is not installed: apt-get install nghttp2-client")


def cannot(load):
    """Why it cannot make that Load; None when it can."""
    if load.mix:
        return "h2load asks for one path; a mix needs wrk"
    if load.answer is None:
        return "h2load tells Tomcat's answers by their size, which is not fixed here"
    return None


def parse(text, times, seconds, size):
    """h2load's summary and what it wrote down: lines of start, status, microseconds. size: of an answer's body in bytes.
    Failure when a request failed: a server that refuses is fast.
    h2load 1.52 sees no status where no reason phrase follows it (Tomcat sends none) and then calls all requests failed:
    the bytes must be those of as many whole answers, then."""
    asked = re.search(r"^requests: \d+ total, (\d+) started, (\d+) done, \d+ succeeded, \d+ failed, (\d+) errored, (\d+) timeout", text,
                      re.MULTILINE)
    statuses = re.search(r"^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text, re.MULTILINE)
    body = re.search(r"^traffic: .*\((\d+)\) data", text, re.MULTILINE)
    if not (asked and statuses and body):
        raise Failure(f"no result of h2load: {text.strip()[-500:]}")
    started, done, errored, late = map(int, asked.groups())
    bad = list(map(int, statuses.groups()[1:]))
    if errored or late or any(bad):
        raise Failure(f"h2load saw errors: {errored} errored, {late} timeout, {sum(bad)} wrong status of {done} requests")
    if not done:
        raise Failure("h2load had no answer at all")
    if int(body[1]) % size != 0 or not done <= int(body[1]) // size <= started:
        raise Failure(f"h2load got {body[1]} bytes for {done} to {started} answers of {size}")
    took = sorted(int(line.split()[2]) for line in times)
    if len(took) != done:
        raise Failure(f"h2load wrote down {len(took)} of {done} requests")
    return {"requests": done, "per_s": done / seconds, "max_ms": took[-1] / 1e3,
            **{f"{name}_ms": took[min(done - 1, int(done * part))] / 1e3 for name, part in (("p50", .5), ("p99", .99), ("p99_9", .999))}}


def run(url, connections, seconds, mix=(), size=None):
    """What parse() gives, and h2load's own CPU time in s as load_cpu. There must be a size and no mix, see cannot()."""
    assert size and not mix
    with tempfile.TemporaryDirectory(prefix="wisp-h2load.") as folder:
        log = Path(folder, "times")  # h2load appends to it
        text, cpu = generator.run(["h2load", "--h1", f"-t{generator.threads(connections)}", f"-c{connections}", "-m1", f"-D{seconds}", "-N20",
                                   f"--log-file={log}", url], seconds)
        with log.open() as times:
            return dict(parse(text, times, seconds, size), load_cpu=cpu)
