"""`wisp bench`: reruns published experiments on plain threads, Wisp and (JDK 21+) virtual threads.

The kinds take turns within every round. Prints a table per workload; writes report.md, report.csv,
report.json, report.html and the plots as SVG into the output folder."""

import argparse
import fnmatch
import importlib.util
import os
import re
import signal
import sys
import time
from pathlib import Path

from .. import jdks, jvm
from . import machine, report, runner, servers

# Seconds of --minutes that are kept for the plots and for servers that end.
AT_THE_END = 25
WHOLE = r"[1-9]\d{0,2}|1000"  # from 1 to 1000


class Context:
    """What the user asked for; workloads read it."""

    def __init__(self, options, found, chosen=()):
        self.full, self.timed, self.out, self.interrupted = options.full, bool(options.minutes), options.out, False
        self.quick = not (self.full or self.timed)
        self.runs = options.runs or (5 if options.full or options.minutes else 3)
        self.rows, self.connections, self.generator = options.rows, options.connections, options.generator
        self.jdks = found
        self.ahead = list(chosen)  # the present workload and those after it
        self.end = time.monotonic() + 60 * options.minutes - AT_THE_END if options.minutes else None
        self.limits = {}
        self.turns_left = 1

    def size(self, quick, timed, full):
        """How much of something: in a quick run, with --minutes, in a full run."""
        return full if self.full else timed if self.timed else quick

    def mode(self):
        return self.size("quick", "timed", "full")

    def limit(self, workload):
        """Seconds after which all of it is ended; None: there is no such end. With --minutes what one workload
        leaves is shared by those after it."""
        if self.full:
            return None
        if not self.timed:
            return runner.QUICK_LIMIT
        if workload.name not in self.limits:
            weights = {w.name: w.weight for w in self.ahead}
            self.limits[workload.name] = max(5.0, (self.end - time.monotonic()) * workload.weight / sum(weights.values()))
        return self.limits[workload.name]

    def share(self):
        """Seconds for one run, if every series is to have one before the workload's end."""
        return jvm.time_left(86_400) / max(1, self.turns_left)

    def newest(self, least=8):
        """The newest of the chosen JDKs, for what need not be seen on each; [] when too old."""
        return [j for j in self.jdks if j.major >= least][-1:]

    def reference(self):
        """Of the chosen JDKs 17 and 25, else the newest: for what is too long to run on each."""
        return [j for j in self.jdks if j.major in (17, 25)] or self.jdks[-1:]


def load_workloads():
    """name -> workload, in order; those of $WISP_BENCH_PATH besides our own."""
    folders = [Path(__file__).parent / "workloads",
               *map(Path, filter(None, os.environ.get("WISP_BENCH_PATH", "").split(":")))]
    found = []
    for file in (f for folder in folders for f in sorted(folder.glob("[a-z]*.py"))):
        name = f"wisplib.bench.workloads.{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        found += getattr(module, "WORKLOADS", [])
    return {w.name: w for w in sorted(found, key=lambda w: w.order)}


def parse(arguments, workloads):
    names = ", ".join(workloads)
    parser = argparse.ArgumentParser(
        prog="wisp bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="workloads:\n" + "\n".join(f"  {w.name:<10} {w.title}" for w in workloads.values()))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{names}, or all")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="under a minute per workload (the default)")
    mode.add_argument("--minutes", metavar="N", help="all of the chosen workloads within N minutes, 1 to 1000: each gets "
                      "its share of the time; the newest JDK unless --jdks says otherwise")
    mode.add_argument("--full", action="store_true", help="real figures; up to half an hour each")
    parser.add_argument("--jdks", metavar="LIST",
                        help="majors or full versions, e.g. 17,25.0.2 (default: quick the newest, full the newest of each major)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the reports (default: build/bench of the "
                        "checkout, else ./wisp-bench)")
    parser.add_argument("--runs", metavar="N", help="runs of each, 1 to 1000 (default: quick 3, else 5)")
    parser.add_argument("--rows", metavar="LIST", help=f"{with_rows(workloads.values())}: only these rows, by name or pattern")
    takers = [w.name for w in workloads.values() if w.takes_connections]
    parser.add_argument("--connections", metavar="LIST", help=f"{', '.join(takers)}: the load's connections, each 1 to 1000, e.g. "
                        "64,256 (default: 64; full: http's query also 256)")
    parser.add_argument("--generator", metavar="NAME", help=f"{', '.join(takers)}: what makes the load, {' or '.join(servers.GENERATORS)} "
                        "(default: wrk)")
    options = parser.parse_args(arguments)
    if not options.names:
        parser.error(f"NAME is required: {names}, or all")
    for name in options.names:
        if name != "all" and name not in workloads:
            parser.error(f"'{name}' is no workload; takes {names}, or all")
    for name in ("runs", "minutes"):
        value = getattr(options, name)
        if value is not None:
            if not re.fullmatch(WHOLE, value):
                parser.error(f"option --{name}: '{value}' is not a whole number from 1 to 1000")
            setattr(options, name, int(value))
    if options.out is None:
        options.out = jvm.ROOT / "build" / "bench" if jvm.in_checkout() else Path("wisp-bench")
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"option --out: '{options.out}' is not a folder")
    chosen = [w for w in workloads.values() if "all" in options.names or w.name in options.names]
    if options.rows is not None:
        check_rows(parser, options.rows, [w for w in chosen if w.row_names()], workloads)
    for name in ("connections", "generator"):
        if getattr(options, name) is not None and not any(w.takes_connections for w in chosen):
            parser.error(f"option --{name}: goes with the workloads {', '.join(takers)} only")
    if options.generator is None:
        options.generator = "wrk"
    if options.generator not in servers.GENERATORS:
        parser.error(f"option --generator: '{options.generator}' is not known; takes {' or '.join(servers.GENERATORS)}")
    if options.connections is not None:
        options.connections = connections(parser, options.connections)
    return parser, options, chosen


def with_rows(workloads):
    return ", ".join(w.name for w in workloads if w.row_names())


def check_rows(parser, patterns, takers, workloads):
    """Each pattern must name a row of one of the chosen workloads."""
    if not takers:
        parser.error(f"option --rows: goes with the workloads {with_rows(workloads.values())} only")
    names = [n for w in takers for n in w.row_names()]
    for pattern in patterns.split(","):
        if not fnmatch.filter(names, pattern):
            parser.error(f"option --rows: '{pattern}' matches none of {', '.join(names)}")


def connections(parser, text):
    """'64,256' -> [64, 256]"""
    words = text.split(",")
    if not all(re.fullmatch(WHOLE, word) for word in words):
        parser.error(f"option --connections: '{text}' is not a list of whole numbers from 1 to 1000, such as 64,256")
    return list(dict.fromkeys(map(int, words)))


def choose_jdks(parser, options):
    found = jdks.find()
    try:
        if options.jdks is not None:
            return jdks.choose(found, options.jdks or ",", newest_only=True)
    except ValueError as error:
        parser.error(str(error))
    newest = list({j.major: j for j in found}.values())
    return newest if options.full else newest[-1:]


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    workloads = load_workloads()
    parser, options, chosen = parse(arguments, workloads)
    found = choose_jdks(parser, options)
    try:
        if not found:
            raise jvm.Failure("no JDK found: install one, run scripts/fetch-jdks or set WISP_JDKS")
        jvm.require_library()
        options.out.mkdir(parents=True, exist_ok=True)
    except (jvm.Failure, OSError) as failure:
        print(f"wisp bench: {failure}", file=sys.stderr)
        return 1

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a report also then
    progress = runner.Progress()
    context = Context(options, found, chosen)
    about = machine.describe(found, arguments)
    sections = []
    for workload in chosen:
        if context.interrupted:
            break
        context.ahead = chosen[chosen.index(workload):]
        results = runner.run(workload, context, progress)
        section = report.Section(workload, results, context)
        sections.append(section)
        print(section.terminal() + "\n", flush=True)
        about["load_after"] = machine.load()
        report.write(options.out, about, sections, context)  # after each: an early end loses nothing
    if sections and machine.busy(about):
        progress.say("warning: " + machine.busy(about))
    progress.say(f"written: {options.out}/report.html, report.md, report.csv, report.json")
    ran = [s for s in sections if not s.results.unavailable]
    return 1 if context.interrupted or not ran or any(s.results.failures() for s in ran) else 0
