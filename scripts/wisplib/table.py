"""Tables that read well as plain text and are Markdown at the same time; and the numbers in them."""

import platform
import time
from pathlib import Path
from statistics import fmean

from .stats import median_mad  # noqa: F401 (part of what a table states)


def markdown(header, rows):
    """The first column is text, the others are numbers and stand right."""
    cells = [[str(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row):
        return "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w)
                                 for i, (c, w) in enumerate(zip(row, widths))) + " |"

    rule = "| " + " | ".join("-" * w if i == 0 else "-" * (w - 1) + ":"
                             for i, w in enumerate(widths)) + " |"
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


def number(value):
    """Three significant digits at least, thousands separated."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(samples):
    """The median with its spread; alone when there was one run."""
    median, mad = median_mad(samples)
    return f"{number(median)} ± {number(mad)}" if len(samples) > 1 else number(median)


def mean_range(samples):
    """The mean with the least and the most; alone when there was one run."""
    mean = fmean(samples)
    return f"{number(mean)} ({number(min(samples))} … {number(max(samples))})" if len(samples) > 1 else number(mean)


def cpu_model():
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            return text.split(":", 1)[1].strip()
    return "unknown CPU"


def machine():
    return f"{cpu_model()}, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}"


def save(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.endswith("\n") else text + "\n")
