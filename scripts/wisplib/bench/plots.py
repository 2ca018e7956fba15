"""The pictures of the reports, by matplotlib, as SVG. White ground, shades that a grey printer keeps apart,
text as outlines, so that a page looks alike everywhere."""

import functools
import io

from .. import jvm, table

MISSING = ("Plots are left out: matplotlib is not there for this Python. To get it: apt-get install "
           "python3-matplotlib, or pip install matplotlib.")
COLOURS = {jvm.PLAIN: "#b4bac4", jvm.VIRTUAL: "#7d9cc9", jvm.WISP: "#0b5d57"}
HATCHES = {jvm.VIRTUAL: "////"}
MARKERS = {jvm.PLAIN: "s", jvm.VIRTUAL: "^", jvm.WISP: "o"}
TEXT, SOFT, RULE = "#1c2330", "#5b6472", "#d5dae1"
WIDTH = 9.6


@functools.lru_cache(maxsize=None)
def available():
    try:
        import matplotlib
        matplotlib.use("svg")
        return True
    except ImportError:
        return False


def figure(height, columns=1, share=True):
    import matplotlib.pyplot as plot
    plot.rcParams.update({
        "font.family": "DejaVu Sans", "font.size": 9.5, "axes.edgecolor": SOFT, "axes.labelcolor": TEXT,
        "text.color": TEXT, "xtick.color": SOFT, "ytick.color": TEXT, "axes.spines.top": False,
        "axes.spines.right": False, "axes.titlesize": 10.5, "axes.titleweight": "bold", "axes.titlelocation": "left",
        "axes.grid": True, "grid.color": RULE, "grid.linewidth": 0.7, "axes.axisbelow": True, "legend.frameon": False,
        "svg.fonttype": "path", "svg.hashsalt": "wisp", "hatch.linewidth": 0.5})
    return plot.subplots(1, columns, figsize=(WIDTH, height), squeeze=False, sharey=share, layout="constrained")


def finish(picture):
    import matplotlib.pyplot as plot
    out = io.StringIO()
    picture.savefig(out, format="svg", metadata={"Date": None})
    plot.close(picture)
    return out.getvalue()


def bars(title, unit, groups, log=False):
    """groups: [(label, {kind: [values]})]; horizontal bars, the figure at the end, a line for the range."""
    kinds = [k for k in (jvm.PLAIN, jvm.VIRTUAL, jvm.WISP) if any(k in g for _, g in groups)]
    picture, ((axes,),) = figure(1.1 + sum(0.23 * len(g) + 0.18 for _, g in groups))
    y, ticks, labels = 0.0, [], []
    everything = [v for _, g in groups for values in g.values() for v in values]
    for label, group in groups:
        ticks.append(y + (len(group) - 1) / 2)
        labels.append(label)
        for kind in (k for k in kinds if k in group):
            values = sorted(group[kind])
            middle = values[len(values) // 2]
            axes.barh(y, middle, 0.82, color=COLOURS[kind], hatch=HATCHES.get(kind), edgecolor="white", linewidth=0)
            if len(values) > 1:
                axes.plot([values[0], values[-1]], [y, y], color=TEXT, linewidth=1, solid_capstyle="butt")
            axes.annotate(table.number(middle), (values[-1], y), (4, 0), textcoords="offset points", va="center", fontsize=8)
            y += 1
        y += 0.75
    if log:
        axes.set_xscale("log")
        axes.set_xlim(min(everything) / 2, max(everything) * 3)
        readable(axes.xaxis)
    else:
        axes.set_xlim(0, max(everything) * 1.14)
    axes.set_yticks(ticks, labels)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(unit)
    axes.set_title(title)
    legend(picture, kinds)
    return finish(picture)


def readable(axis):
    """20, 50, 100 … on a logarithmic axis instead of powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < low * 500 else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))


def below(picture, handles, columns, side, fontsize=9):
    """A legend in a strip of its own under the axes. (loc="outside lower right" does that from matplotlib 3.7 on;
    Debian 12 has 3.6.)"""
    lines = -(-len(handles) // columns)
    strip = (0.1 + 0.2 * lines) / picture.get_figheight()
    picture.get_layout_engine().set(rect=(0, strip, 1, 1 - strip))
    picture.legend(handles=handles, loc=f"lower {side}", bbox_to_anchor=(1 if side == "right" else 0.5, 0), ncols=columns,
                   fontsize=fontsize)


def legend(picture, kinds):
    from matplotlib.patches import Patch
    below(picture, [Patch(facecolor=COLOURS[k], hatch=HATCHES.get(k), edgecolor="white", linewidth=0, label=jvm.NAMES[k])
                    for k in kinds], len(kinds), "right")


def lines(panels):
    """panels: [(title, across, unit, {kind: [(x, value, low, high)]})], side by side; both scales are
    logarithmic, bands span the range."""
    from matplotlib.ticker import NullLocator
    picture, (row,) = figure(3.5, len(panels), share=False)
    for axes, (title, across, unit, curves) in zip(row, panels):
        sizes = sorted({x for points in curves.values() for x, *_ in points})
        for kind, points in curves.items():
            x, middle, low, high = zip(*points)
            colour = SOFT if kind == jvm.PLAIN else COLOURS[kind]
            axes.plot(x, middle, color=colour, marker=MARKERS[kind], markersize=4.5, linewidth=1.6)
            axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.set_xscale("log")
        axes.set_yscale("log")
        readable(axes.yaxis)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(sizes, [f"{s:,}" for s in sizes], fontsize=8, rotation=0 if len(sizes) < 6 else 30)
        axes.set_xlabel(across)
        axes.set_ylabel(unit)
        axes.set_title(title)
    from matplotlib.lines import Line2D
    kinds = list(dict.fromkeys(k for *_, curves in panels for k in curves))
    below(picture, [Line2D([], [], color=SOFT if k == jvm.PLAIN else COLOURS[k], marker=MARKERS[k], markersize=5,
                           label=jvm.NAMES[k]) for k in kinds], len(kinds), "right")
    return finish(picture)


PHASES = {"first handoff": "#0b5d57", "ramp-up": "#d98c3f", "full parallelism": "#a9cfc9", "catch-up": "#7d9cc9",
          "result handoff": "#4a4f63"}


def stacked(title, unit, rows):
    """rows: [(label, [values in the order of PHASES])]: where the time of one operation goes."""
    picture, ((axes,),) = figure(1.2 + 0.34 * len(rows))
    for y, (label, values) in enumerate(rows):
        left = 0.0
        for value, colour in zip(values, PHASES.values()):
            axes.barh(y, value, 0.7, left=left, color=colour, edgecolor="white", linewidth=0.8)
            left += value
        axes.annotate(f"{table.number(left)} {unit}", (left, y), (4, 0), textcoords="offset points", va="center", fontsize=8.5)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_xlim(0, max(sum(v) for _, v in rows) * 1.12)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(unit)
    axes.set_title(title)
    from matplotlib.patches import Patch
    below(picture, [Patch(color=c, label=n) for n, c in PHASES.items()], 5, "center")
    return finish(picture)


# What a lane of a timeline can hold: height of the bar and colour.
STATES = {"submitter waits": (0.2, "#4a4f63"), "divides or looks for work": (0.45, "#cfd6de"),
          "waits in a join": (0.2, "#d98c3f"), "parked": (0.12, "#8a6bb1"), "computes": (0.72, "#1c2330")}
# Moments: marker, height above the middle of the lane, colour.
MOMENTS = {"fork": ("|", 0.42, "#5b6472"), "unpark": ("v", 0.3, "#8a6bb1")}


def timeline(panels):
    """panels: [(title, [(lane, [(state or moment, from us, to us)])], [six bounds of the PHASES, us])], one above the
    other on one scale; the phases are a lane of their own."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    import matplotlib.pyplot as plot
    plot.close(figure(1)[0])  # sets the style
    lanes = [len(content) + 1 for _, content, _ in panels]
    picture, rows = plot.subplots(len(panels), 1, figsize=(WIDTH, 1.3 + sum(0.3 * n + 0.4 for n in lanes)), squeeze=False,
                                  sharex=True, layout="constrained", gridspec_kw={"height_ratios": [n + 1.2 for n in lanes]})
    for (axes,), (title, content, bounds) in zip(rows, panels):
        for begin, end, colour in zip(bounds, bounds[1:], PHASES.values()):
            axes.broken_barh([(begin, end - begin)], (-0.3, 0.6), facecolor=colour, edgecolor="white", linewidth=0.6)
            axes.axvline(end, color=RULE, linewidth=0.8)
        for y, (_, spans) in enumerate(content, 1):
            for state, (height, colour) in STATES.items():
                pieces = [(begin, end - begin) for s, begin, end in spans if s == state]
                axes.broken_barh(pieces, (y - height / 2, height), facecolor=colour, linewidth=0)
            for moment, (marker, above, colour) in MOMENTS.items():
                times = [begin for s, begin, _ in spans if s == moment]
                axes.plot(times, [y - above] * len(times), linestyle="", marker=marker, markersize=4, markeredgewidth=0.6, color=colour)
        axes.set_yticks(range(len(content) + 1), ["phases", *(lane for lane, _ in content)])
        axes.set_ylim(len(content) + 0.6, -0.6)
        axes.grid(visible=False)
        axes.set_title(title)
    rows[-1][0].set_xlabel("us since the submission")
    handles = [Patch(color=c, label=n) for n, c in PHASES.items()] + [Patch(color=c, label=n) for n, (_, c) in STATES.items()] + [
        Line2D([], [], linestyle="", marker=m, markersize=5, color=c, label=n) for n, (m, _, c) in MOMENTS.items()]
    below(picture, handles, 5, "center", fontsize=8.5)
    return finish(picture)
