"""Runs a workload: a warm-up, then rounds in which every series has one turn, so that what else the
machine does hits all alike. In a full run the time budget ends the rounds, never a round. A quick run, and one
with --minutes, has a deadline besides: what runs then is ended, and what was not reached is named."""

import shutil
import sys
import time

from .. import jvm
from .workload import Results, Unavailable


class Progress:
    """A bar on a terminal; elsewhere a line per step, so that a log shows where it hangs."""

    def __init__(self, stream=sys.stderr):
        self.stream, self.bar = stream, stream.isatty()

    def step(self, done, total, text):
        if self.bar:
            width = shutil.get_terminal_size().columns
            filled = round(24 * done / total) if total else 24
            line = f"[{'#' * filled}{'·' * (24 - filled)}] {done:>{len(str(total))}}/{total} {text}"
            self.stream.write("\r\033[K" + line[:width - 1])
        else:
            self.stream.write(f"[{done}/{total}] {text}\n")
        self.stream.flush()

    def say(self, text):
        self.stream.write(("\r\033[K" if self.bar else "") + text + "\n")
        self.stream.flush()


def attempt(series):
    """One run; a failure stays with the series and takes all its figures away."""
    try:
        values = series.run()
        series.samples.append({k: float(v) for k, v in values.items() if is_number(v)})
        series.texts = {k: v for k, v in values.items() if not is_number(v)}
    except jvm.Failure as failure:
        series.failure = str(failure)


def is_number(value):
    try:
        float(value)
        return True
    except (TypeError, ValueError):
        return False


# Seconds after which a quick run's programs are ended, even inside the first round: on a busy machine it shows
# less, not later. What is left to a minute ends the servers and draws the report.
QUICK_LIMIT = 48


def warm_up(results, context):
    """Files into the cache, the processor out of its sleep: one run of each JDK, in a full run of each
    series; the figures are thrown away, a failure is not."""
    seen = set()
    for one in results.series:
        group = id(one) if context.full else one.key.get("jdk", "–")
        if group not in seen and group != "–":
            seen.add(group)
            yield one


def run(workload, context, progress):
    results = Results([])
    start = time.monotonic()
    try:
        workload.prepare(context)
        for what in workload.left_out:
            results.notes.append(f"Left out: {what}")
            progress.say(f"{workload.name}: left out: {what}")
        results.series = list(workload.series(context))
        if not results.series:
            raise Unavailable("nothing of it fits the chosen JDKs")
    except (Unavailable, jvm.Failure) as reason:
        results.unavailable = str(reason)
        progress.say(f"{workload.name}: left out: {reason}")
        return results
    # What is built the first time, by javac or Maven, is not part of the minute.
    start = max(start, time.monotonic() - 5)
    limit = context.limit(workload)
    jvm.deadline = limit and start + limit
    try:
        rounds(workload, context, progress, results, start)
    except jvm.OutOfTime:
        missing = [one.label() for one in results.series if not one.samples and not one.failure]
        results.notes.append(f"Ended after {limit:.0f} s, the time that this run gives the workload. " + (
            f"Not reached: {'; '.join(missing)}." if missing else "The last round is not complete."))
    except KeyboardInterrupt:
        results.notes.append("Interrupted: this is what was measured so far.")
        context.interrupted = True
    finally:
        jvm.deadline = None
        workload.finish()
    results.seconds = time.monotonic() - start
    progress.say(f"{workload.name}: {results.seconds:.0f} s")
    return results


def rounds(workload, context, progress, results, start):
    first = [] if workload.warms_itself else list(warm_up(results, context))
    total, done, longest = len(first) + context.runs * len(results.series), 0, 0
    for one in first:
        progress.step(done, total, f"{workload.name}, warm-up: {one.label()}")
        context.turns_left = len(results.series) + len(first) - done
        turn(one, workload, progress)
        one.samples.clear()
        done += 1
    budget = context.limit(workload) or workload.budget
    for number in range(context.runs):
        begun = time.monotonic()
        if number and begun - start + longest > budget:
            results.notes.append(f"{number} of {context.runs} runs: another round would have passed "
                                 f"the {budget:.0f} s that this mode gives the workload.")
            break
        for position, one in enumerate(results.series):
            jvm.check_time()
            done += 1
            if not one.failure:
                progress.step(done, total, f"{workload.name}, run {number + 1}: {one.label()}")
                context.turns_left = len(results.series) - position
                turn(one, workload, progress)
        longest = max(longest, time.monotonic() - begun)


def turn(one, workload, progress):
    attempt(one)
    if one.failure:
        progress.say(f"FAILED {workload.name}, {one.label()}: {one.failure}")
