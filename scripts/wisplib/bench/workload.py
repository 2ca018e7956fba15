"""What a workload is made of. A new one is one file in workloads/ (or in a folder of $WISP_BENCH_PATH)
with a subclass of Workload and a line `WORKLOADS = [ThatClass()]`:

    class Echo(Workload):
        name, order, title = "echo", 20, "Echo over loopback"
        text = "What is measured and how to read it; goes into the report."
        units = {"per_s": "1/s"}
        published = (Published("elsewhere, 4 cores", "12,000", "1/s", "who said so", "plain threads"),)

        def series(self, context):
            for jdk in context.jdks:
                for kind in jvm.kinds_for(jdk):
                    yield Series(lambda jdk=jdk, kind=kind: jvm.run(jdk, kind, 1, "EchoBench"),
                                 jdk=jdk.label, kind=kind)

        def parts(self, context, results):
            yield beside(by_kind("", results, "per_s", ["jdk"]), self.published)

A series' function runs ONE process (or cluster) and gives back {metric: number}; it checks its own
result and raises jvm.Failure when that is wrong or missing. A series of which one run failed has no
figure: a wrong answer is never reported as a fast one."""

import fnmatch
from collections import namedtuple

from .. import jvm, stats, table

# The figure as its source prints it; source: who, where. column: the header of the column of our table that it belongs in,
# cells: what else its row says, by header; see beside(). Without a column it goes into a table of its own below.
Published = namedtuple("Published", "what figure unit source column cells", defaults=("", {}))
# The first column is text, the others are numbers. beside: published rows of the same table.
Table = namedtuple("Table", "caption header rows beside", defaults=((),))
Beside = namedtuple("Beside", "cells source published")
# draw(): SVG text; needs matplotlib (see plots.py), therefore called late.
Plot = namedtuple("Plot", "name caption draw")
Note = namedtuple("Note", "text")


class Unavailable(Exception):
    """The workload cannot run here; the text says why and what would help."""


class Series:
    """One configuration, run once per round; `key` names it: jdk, kind, cores and the like."""

    def __init__(self, run, **key):
        self.run, self.key = run, {k: str(v) for k, v in key.items()}
        self.samples, self.failure = [], None
        self.texts = {}  # what the latest run said that is no number

    def label(self):
        words = dict(self.key)
        jdk = [f"JDK {words.pop('jdk')}"] if "jdk" in words else []
        kind = [words.pop("kind")] if "kind" in words else []
        return " ".join(jdk + kind + [f"{k}={v}" for k, v in words.items()])

    def values(self, metric):
        """One per round; empty when any run failed."""
        return [] if self.failure else [s[metric] for s in self.samples if metric in s]

    def metrics(self):
        return list(dict.fromkeys(m for s in self.samples for m in s))


class Results:
    """The series of one workload after their runs."""

    def __init__(self, series):
        self.series = list(series)
        self.unavailable = None  # why nothing ran
        self.notes = []          # what the reader must know of this run
        self.seconds = 0.0

    def find(self, **key):
        return [s for s in self.series if all(s.key.get(k) == str(v) for k, v in key.items())]

    def values(self, metric, **key):
        return [v for s in self.find(**key) for v in s.values(metric)]

    def median(self, metric, **key):
        values = self.values(metric, **key)
        return stats.median_mad(values)[0] if values else None

    def cell(self, metric, scale=1, figure=table.spread, **key):
        """For a table: the figure with its spread, 'failed', or a dash when it was not asked for."""
        values = [v * scale for v in self.values(metric, **key)]
        if values:
            return figure(values)
        return "failed" if any(s.failure for s in self.find(**key)) else "–"

    def distinct(self, name):
        """The values of one part of the key, in the order of the series."""
        return list(dict.fromkeys(s.key[name] for s in self.series if name in s.key))

    def failures(self):
        return [(s.label(), s.failure) for s in self.series if s.failure]


class Workload:
    name = title = text = ""
    order = 100
    units = {}
    published = ()
    # Seconds after which a full run begins no further round; the first is always whole.
    budget = 900
    # Its share of the time of --minutes, by that of the others.
    weight = 60

    # Its runs warm up what they measure; the harness then does not, which would favour the first series.
    warms_itself = False
    # Whether --connections is for it.
    takes_connections = False
    # What of it cannot run here, and why, while the rest can; prepare() fills it.
    left_out = ()

    def row_names(self):
        """What --rows may choose from; empty: it takes no --rows."""
        return []

    def pick(self, patterns):
        """The rows that 'a*,b' names; Unavailable when none is one of this workload."""
        names = [n for n in self.row_names() if any(fnmatch.fnmatch(n, p) for p in patterns.split(","))]
        if not names:
            raise Unavailable(f"--rows {patterns} names none of {', '.join(self.row_names())}")
        return names

    def prepare(self, context):
        """Builds and looks for what it needs; raises Unavailable."""

    def finish(self):
        """Ends what prepare() and the runs left running; is called once, however the runs ended."""

    def series(self, context):
        raise NotImplementedError

    def parts(self, context, results):
        """Tables, plots and notes of the report, in their order."""
        raise NotImplementedError


def ratio(results, metric, numerator, denominator):
    """'12.3×': the median over the rounds of one series' figure by another's; keys as for find()."""
    found = stats.median_ratio(results.values(metric, **numerator), results.values(metric, **denominator))
    return f"{table.number(found[0])}×" if found else "–"


def beside(ours, published):
    """The table with the figures that belong in it as rows below ours, those of one row of their source in one row.
    What names a column that this table has not stays for others, and for the end of the report."""
    rows = []
    for one in published:
        if one.column not in ours.header or not set(one.cells) <= set(ours.header):
            continue
        cells = dict(one.cells)
        row = next((r for r in rows if (r[0], r[1]) == (one.source, cells) and one.column not in r[2]), None)
        if row is None:
            rows.append(row := (one.source, cells, {}, []))
        row[2][one.column] = one.figure
        row[3].append(one)
    first, *others = ours.header
    made = [Beside([f"published: {cells[first]}" if first in cells else "published",
                    *(figures.get(name, cells.get(name, "")) for name in others)], source, tuple(taken))
            for source, cells, figures, taken in rows]
    return ours._replace(beside=(*ours.beside, *made))


def grid(part):
    """(header, rows) of a table, the published figures below ours and with their source."""
    if not part.beside:
        return part.header, part.rows
    return ([*part.header, "source, another machine"],
            [*([*row, ""] for row in part.rows), *([*b.cells, b.source] for b in part.beside)])


def by_kind(caption, results, metric, dimensions, scale=1, more_is_better=False, figure=table.spread):
    """A row per combination of the dimensions, a column per kind of thread, and how Wisp compares. figure: the text of
    a cell, from the runs."""
    kinds = [k for k in jvm.NAMES if k in results.distinct("kind")]
    peers = [k for k in kinds if k != jvm.WISP] if jvm.WISP in kinds else []
    header = dimensions + [jvm.NAMES[k] for k in kinds] + [f"Wisp : {k}" for k in peers]
    rows = []
    combinations = dict.fromkeys(tuple(s.key.get(d, "") for d in dimensions) for s in results.series
                                 if all(d in s.key for d in dimensions))
    for values in combinations:
        key = dict(zip(dimensions, values))
        row = list(values) + [results.cell(metric, scale, figure, **key, kind=k) for k in kinds]
        for peer in peers:
            pair = (dict(key, kind=jvm.WISP), dict(key, kind=peer))
            row.append(ratio(results, metric, *(pair if more_is_better else reversed(pair))))
        rows.append(row)
    return Table(caption, header, rows)
