"""Reports: one Section per workload, and all of them as terminal text, Markdown, CSV and JSON."""

import csv
import io
import json
import re

from .. import stats, table
from . import html, machine, plots
from .workload import Note, Plot, Table, grid

PUBLISHED_HEADER = ["published", "figure", "unit", "source"]


class Section:
    """A workload with what came of it. Its parts are made once, when the runs are over."""

    def __init__(self, workload, results, context):
        self.workload, self.results = workload, results
        self.parts, self.drawn, self.undrawn = [], {}, {}
        if not results.unavailable and any(s.samples and not s.failure for s in results.series):
            self.parts = [p for p in workload.parts(context, results) if not isinstance(p, Table) or p.rows]
        shown = [p for part in self.parts if isinstance(part, Table) for b in part.beside for p in b.published]
        self.published = [[p.what, p.figure, p.unit, p.source] for p in workload.published if p not in shown]

    def plots(self):
        return [p for p in self.parts if isinstance(p, Plot)]

    def draw(self, plot):
        """SVG, or None and a remark: hours of figures are not lost for a picture. Once: the report is written again after
        each workload."""
        if plot.name not in self.drawn and plot.name not in self.undrawn:
            try:
                self.drawn[plot.name] = clean(plot.draw())
            except Exception as error:  # whatever this version of matplotlib has against it
                self.undrawn[plot.name] = f"{type(error).__name__}: {error}"
        return self.drawn.get(plot.name)

    def plot_file(self, plot):
        return f"{self.workload.name}-{plot.name}.svg"

    def title(self):
        return f"{self.workload.name}: {self.workload.title}"

    def remarks(self):
        """Notes of the run, and what failed."""
        if self.results.unavailable:
            yield f"Did not run: {self.results.unavailable}"
        yield from self.results.notes
        for name, error in self.undrawn.items():
            yield f"The plot {name} could not be drawn: {error}"
        for label, failure in self.results.failures():
            yield f"FAILED, no figure: {label}: {failure.strip()}"

    def terminal(self):
        out = [self.title()]
        for part in self.parts:
            if isinstance(part, Table):
                out += ([""] if not part.caption else ["", part.caption]) + [table.markdown(*grid(part))]
            elif isinstance(part, Note):
                out += ["", part.text]
        if self.published:
            out += ["", table.markdown(PUBLISHED_HEADER, self.published)]
        return "\n".join([*out, *(f"- {remark.splitlines()[0]}" for remark in self.remarks())])

    def markdown(self):
        out = [f"## {self.title()}", "", self.workload.text, ""]
        for part in self.parts:
            if isinstance(part, Table):
                out += ([part.caption, ""] if part.caption else []) + [table.markdown(*grid(part)), ""]
            elif isinstance(part, Plot):
                if part.name in self.drawn:
                    out += [f"![{part.caption}]({self.plot_file(part)})", ""]
            else:
                out += [part.text, ""]
        if self.published:
            out += ["Published elsewhere, on other machines:", "", table.markdown(PUBLISHED_HEADER, self.published), ""]
        for remark in self.remarks():
            first, *rest = remark.splitlines()
            out += [f"- {first}", *(f"      {line.strip()}" for line in rest)]
        return "\n".join(out).rstrip() + "\n"

    def json(self):
        return {
            "name": self.workload.name, "title": self.workload.title,
            "unavailable": self.results.unavailable, "seconds": round(self.results.seconds, 1),
            "notes": self.results.notes, "units": self.workload.units,
            "published": [p._asdict() for p in self.workload.published],
            "series": [{"key": s.key, "failure": s.failure, "samples": [] if s.failure else s.samples,
                        "summary": {m: stats.summary(s.values(m)) for m in s.metrics() if s.values(m)}}
                       for s in self.results.series],
        }


def markdown(about, sections):
    head = ["# wisp bench", "", table.markdown(["of this run", ""], machine.rows(about)), "",
            "Figures are the median over the runs ± the median deviation from it, unless a table says otherwise.",
            "Wisp : plain 3× says that Wisp did three times as well: a third of the time or memory, or three times the work.", ""]
    head += [f"**{warning}**", ""] if (warning := machine.busy(about)) else []
    if not plots.available():
        head += [plots.MISSING, ""]
    return "\n".join(head + [s.markdown() for s in sections])


def csv_lines(sections):
    """A line per series and metric; a failed series has a line without a figure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["workload", "jdk", "kind", "cores", "parameters", "metric", "unit", "median", "mad", "mean",
                     "min", "max", "runs", "status"])
    for section in sections:
        for one in section.results.series:
            rest = dict(one.key)
            first = [section.workload.name, *(rest.pop(k, "") for k in ("jdk", "kind", "cores"))]
            first.append(" ".join(f"{k}={v}" for k, v in rest.items()))
            if one.failure:
                writer.writerow([*first, *[""] * 7, 0, "failed"])
            for metric in one.metrics():
                values = one.values(metric)
                if values:
                    s = stats.summary(values)
                    writer.writerow([*first, metric, section.workload.units.get(metric, ""),
                                     *(f"{s[k]:.6g}" for k in ("median", "mad", "mean", "min", "max")), s["runs"], "ok"])
    return out.getvalue()


def write(folder, about, sections, context):
    pictures = {}
    if plots.available():
        for section in sections:
            for plot in section.plots():
                if svg := section.draw(plot):
                    pictures[section.plot_file(plot)] = svg
    table.save(folder / "report.md", markdown(about, sections))
    table.save(folder / "report.csv", csv_lines(sections))
    table.save(folder / "report.json", json.dumps(
        {"schema": 1, "mode": context.mode(), "machine": about,
         "workloads": [s.json() for s in sections]}, indent=1))
    for name, svg in pictures.items():
        table.save(folder / name, svg)
    table.save(folder / "report.html", html.page(about, sections, pictures))


def clean(svg):
    """Without the XML head and the creation date: the same data give the same file."""
    svg = svg[svg.index("<svg"):]
    return re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
