"""What makes the load of `wisp bench http` and `rpc`, in a process of its own: wrk, or h2load where --generator says so."""

import resource
import subprocess

from .. import jvm
from ..jvm import Failure


def threads(most=1024):
    """Of the load, and processes of a light back end: one for each four processors, lest they are what is measured."""
    return max(1, min(most, jvm.processors() // 4))


def run(command, seconds):
    """What it printed, and the CPU time it took in s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds + 60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{' '.join(command)}: {error}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout.strip()[-500:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def costs(requests, server, beside, load):
    """CPU time of the server, of what it calls and of the load, all in s -> us per request. all_cpu_us is what one
    request costs the machine; its inverse is what a machine without idle time could serve per core."""
    mine, others, made = (seconds * 1e6 / requests for seconds in (server, beside, load))
    return {"cpu_us": mine, "beside_cpu_us": others, "load_cpu_us": made, "all_cpu_us": mine + others + made}
