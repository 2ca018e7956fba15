"""The Google Benchmark programs of the build tree (tests/bench), run for one report."""

import json
import re
import subprocess

from .. import jvm


def place(program):
    return jvm.ROOT / "build" / "bin" / program


def missing(program):
    """Why it cannot be run here; None when it can. To be asked in prepare(): what is not there has not failed."""
    if place(program).is_file():
        return None
    if not jvm.in_checkout():
        return f"the native benchmark {program} is part of the source tree only; `make` builds it there"
    return (f"{place(program)} is not there: `make` builds it where Google Benchmark (Debian: libbenchmark-dev) and for the "
            "switch Boost.Context (libboost-context-dev) are installed")


def nanoseconds(program, *names, seconds=0.1):
    """name -> CPU time of one iteration, in ns; of one process, all names taking turns in it."""
    return {n: f["ns"] for n, f in figures(program, "|".join(map(re.escape, names)), seconds).items()}


def figures(program, pattern, seconds=0.1):
    """name -> {"ns": CPU time of one iteration, and the benchmark's own counters}."""
    path = place(program)
    try:
        done = subprocess.run([path, f"--benchmark_filter=^({pattern})$", "--benchmark_format=json",
                               f"--benchmark_min_time={seconds}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=jvm.time_left(240))
        runs = json.loads(done.stdout)["benchmarks"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as failure:
        jvm.check_time()
        raise jvm.Failure(f"{path}: {failure}")
    errors = [f"{r['name']}: {r['error_message']}" for r in runs if r.get("error_occurred")]
    if done.returncode != 0 or errors or not runs:
        raise jvm.Failure(f"{path}: exit code {done.returncode}: {'; '.join(errors) or done.stderr.strip()[-300:]}")
    known = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
             "real_time"}
    return {re.sub("/iterations:.*", "", r["name"]): {"ns": r["cpu_time"], **{k: v for k, v in r.items()
                                                if isinstance(v, (int, float)) and k not in known | {"cpu_time"}}}
            for r in runs}
