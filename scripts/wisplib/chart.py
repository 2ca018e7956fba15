"""A bar chart as SVG: panels side by side, groups of bars from top to bottom, whiskers for the range.
White ground and distinct greys, so that it survives a printer; no fonts or scripts from elsewhere."""

from html import escape

BAR, GAP, GROUP_GAP, LEFT, TOP, PANEL_GAP = 15, 3, 17, 108, 112, 56
TEXT, SOFT, RULE = "#1c2330", "#5b6472", "#d5dae1"


def nice_step(maximum, wanted=4):
    """A round distance between grid lines: 1, 2, 2.5 or 5 times a power of ten."""
    power = 1
    while power * 10 <= maximum / wanted:
        power *= 10
    return next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= maximum / wanted)


def bars(title, subtitle, panels, colours, footer, width=980):
    """panels: [(heading, [(group, [(series, mean, min, max, note)])])]; colours: series -> (fill, name)."""
    panel_width = (width - LEFT - 40 - PANEL_GAP * (len(panels) - 1)) / len(panels)
    plot_width = panel_width - 92  # the rest is for the figures at the end of the bars
    groups = panels[0][1]
    heights = [max(len(p[1][i][1]) for p in panels) * (BAR + GAP) + GROUP_GAP for i in range(len(groups))]
    bottom = TOP + sum(heights)
    height = bottom + 52 + 15 * len(footer)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" '
           'font-family="Inter, Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           text(24, 36, title, 20, weight=600), text(24, 58, subtitle, 13, SOFT)]
    x = width - 24
    for fill, name in reversed(list(colours.values())):  # the legend, from the right edge
        x -= 7.2 * len(name) + 26
        out += [f'<rect x="{x:.0f}" y="25" width="13" height="13" rx="2" fill="{fill}"/>',
                text(x + 19, 36, name, 13)]
    # One scale for all panels, so that bars can be compared across them.
    top_value = max((high for _, content in panels for _, rows in content for _, _, _, high, _ in rows), default=1)
    step = nice_step(top_value)
    scale = plot_width / top_value
    for p, (heading, content) in enumerate(panels):
        left = LEFT + p * (panel_width + PANEL_GAP)
        out.append(text(left, 86, heading, 14, weight=600))
        tick = 0
        while tick <= top_value * 1.001:
            gx = left + tick * scale
            out += [f'<line x1="{gx:.1f}" y1="{TOP - 12}" x2="{gx:.1f}" y2="{bottom - 6}" stroke="{RULE}"/>',
                    text(gx, bottom + 10, f"{tick / 1000:g} s" if tick else "0", 11, SOFT, "middle")]
            tick += step
        y = TOP
        for (group, rows), group_height in zip(content, heights):
            if p == 0:
                middle = y + len(rows) * (BAR + GAP) / 2
                out.append(text(LEFT - 12, middle + 4, group, 13, anchor="end", weight=600))
            for i, (series, mean, low, high, note) in enumerate(rows):
                by = y + i * (BAR + GAP)
                middle = by + BAR / 2
                out.append(f'<rect x="{left:.1f}" y="{by:.1f}" width="{max(mean * scale, 1):.1f}" '
                           f'height="{BAR}" rx="1.5" fill="{colours[series][0]}"/>')
                if (high - low) * scale > 3:
                    out.append(f'<path d="M{left + low * scale:.1f} {middle:.1f}H{left + high * scale:.1f}'
                               f'm0 -3.5v7M{left + low * scale:.1f} {middle - 3.5:.1f}v7" '
                               f'stroke="{TEXT}" stroke-width="1" fill="none"/>')
                out.append(text(left + max(mean, high) * scale + 6, middle + 4, note, 11.5))
            y += group_height
        out.append(f'<line x1="{left:.1f}" y1="{TOP - 12}" x2="{left:.1f}" y2="{bottom - 6}" stroke="{SOFT}"/>')
    for i, line in enumerate(footer):
        out.append(text(24, bottom + 40 + 15 * i, line, 11.5, SOFT))
    return "\n".join([*out, "</svg>"]) + "\n"


def text(x, y, words, size, fill=TEXT, anchor="start", weight=400):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>')
