"""The report as one HTML file: no scripts, no fonts or pictures from elsewhere; made to be printed as well."""

import base64
from html import escape

from . import machine, plots, workload
from .workload import Plot, Table

STYLE = """
:root { --ink: #1c2330; --soft: #5b6472; --rule: #d5dae1; --wisp: #0b5d57; }
body { font: 15px/1.5 "Inter", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; color: var(--ink);
       max-width: 980px; margin: 2.5rem auto; padding: 0 1.2rem; background: #fff; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; } h2 { font-size: 1.25rem; margin: 2.6rem 0 .4rem; border-top: 2px solid var(--wisp);
     padding-top: .9rem; } p { max-width: 46rem; }
table { border-collapse: collapse; margin: .8rem 0 1.2rem; font-variant-numeric: tabular-nums; font-size: .87rem; }
th, td { padding: .26rem .7rem; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: top; }
th { border-bottom: 1.5px solid var(--ink); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
table.text td, table.text th { text-align: left; } caption { text-align: left; font-weight: 600; padding-bottom: .25rem; }
tr.published td { color: var(--soft); font-style: italic; } table.sources th:last-child, tr.published td:last-child { text-align: left; }
td.failed { color: #a3241c; } td.wisp { color: var(--wisp); font-weight: 600; }
figure { margin: 1.2rem 0; } figure img { width: 100%; height: auto; } figcaption { color: var(--soft); font-size: .87rem; }
li.failed { color: #a3241c; } p.busy { border-left: 4px solid #a3241c; padding-left: .8rem; font-weight: 600; } ul { font-size: .87rem; color: var(--soft); } li { overflow-wrap: anywhere; }
nav a { color: var(--wisp); margin-right: 1rem; text-decoration: none; }
@media print { body { font-size: 10pt; margin: 0; max-width: none; } nav { display: none; }
  table, figure { break-inside: avoid; } h2 { break-after: avoid; } @page { margin: 16mm; } }
"""


def grid(header, rows, caption="", text=False, published=0):
    """published: how many of the last rows are not ours."""
    kind = " class=text" if text else " class=sources" if published else ""
    out = [f"<table{kind}>", f"<caption>{escape(caption)}</caption>" if caption else "",
           "<tr>" + "".join(f"<th>{escape(str(h))}</th>" for h in header) + "</tr>" if any(header) else ""]
    rows = list(rows)
    for number, row in enumerate(rows):
        ours = number < len(rows) - published
        cells = []
        for name, value in zip(header, row):
            kind = " class=failed" if value == "failed" else " class=wisp" if name == "Wisp" and ours and not text else ""
            cells.append(f"<td{kind}>{escape(str(value))}</td>")
        out.append(f'<tr{"" if ours else " class=published"}>' + "".join(cells) + "</tr>")
    return "\n".join(filter(None, [*out, "</table>"]))


def section(one, pictures):
    out = [f'<h2 id="{one.workload.name}">{escape(one.title())}</h2>', f"<p>{escape(one.workload.text)}</p>"]
    for part in one.parts:
        if isinstance(part, Table):
            out.append(grid(*workload.grid(part), part.caption, published=len(part.beside)))
        elif isinstance(part, Plot):
            svg = pictures.get(one.plot_file(part))
            if svg:
                # As a picture, not inline: identifiers of two plots must not meet in one document.
                data = base64.b64encode(svg.encode()).decode()
                out.append(f'<figure><img alt="{escape(part.caption)}" src="data:image/svg+xml;base64,{data}">'
                           f"<figcaption>{escape(part.caption)}</figcaption></figure>")
        else:
            out.append(f"<p>{escape(part.text)}</p>")
    if one.published:
        out.append(grid(["published elsewhere", "figure", "unit", "source"], one.published, text=True))
    remarks = list(one.remarks())
    if remarks:
        out.append("<ul>" + "".join(
            f'<li{" class=failed" if r.startswith("FAILED") else ""}>{escape(r)}</li>' for r in remarks) + "</ul>")
    return "\n".join(out)


def page(about, sections, pictures):
    links = " ".join(f'<a href="#{s.workload.name}">{s.workload.name}</a>' for s in sections)
    body = ["<h1>wisp bench</h1>",
            "<p>Plain threads, Wisp and virtual threads, interleaved. Figures are the median over the runs ± the "
            "median deviation from it, unless a table says otherwise. Wisp : plain 3× says that Wisp did three times as "
            "well: a third of the time or memory, or three times the work.</p>", f"<nav>{links}</nav>",
            grid(["", ""], machine.rows(about), text=True)]
    if machine.busy(about):
        body.append(f"<p class=busy>{escape(machine.busy(about))}</p>")
    if not plots.available():
        body.append(f"<p>{escape(plots.MISSING)}</p>")
    body += [section(s, pictures) for s in sections]
    return ('<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>wisp bench</title><style>{STYLE}</style>\n<body>\n" + "\n".join(body) + "\n</body></html>\n")
