#!/usr/bin/env python3
"""Every link in a Markdown file of the tree leads somewhere: to a file that is there, and to a heading
that is in it. So do the pages of docs/ that sources and scripts name, and the headings they quote."""

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
FOLDERS = ["docs", "java", "launcher", "runtime", "scripts", "tests"]
BUILT = {"target", "build", "node_modules", "__pycache__"}
LINK = re.compile(r"\]\(([^()\s]+)\)")
PAGE = re.compile(r'\b(docs/[\w-]+\.md)(?:, "([^"]+)")?')


def files(suffixes):
    found = list(ROOT.iterdir()) + [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    return sorted(path for path in found if path.suffix in suffixes and path.is_file()
                  and not BUILT.intersection(path.relative_to(ROOT).parts))


def anchors(page):
    """The headings of a page, as GitHub makes anchors of them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"): heading for heading in headings}


problems, links = [], 0
for page in files({".md"}):
    for target in LINK.findall(page.read_text()):
        if re.match(r"\w+:", target):
            continue
        links += 1
        path, _, anchor = target.partition("#")
        to = page.parent / path if path else page
        if not to.exists():
            problems.append(f"{page.relative_to(ROOT)}: no file {target}")
        elif anchor and anchor not in anchors(to):
            problems.append(f"{page.relative_to(ROOT)}: no heading {target}")

for source in files({".c", ".cpp", ".h", ".S", ".py", ".java", ".def", ".txt", ".cmake", ""}):
    # A name may go on in the next line of a comment.
    text = re.sub(r"\s*\n\s*(?://|#|\*)?\s*", " ", source.read_text(errors="replace"))
    for name, heading in PAGE.findall(text):
        links += 1
        if not (ROOT / name).exists():
            problems.append(f"{source.relative_to(ROOT)}: no page {name}")
        elif heading and heading.rstrip(".") not in anchors(ROOT / name).values():
            problems.append(f"{source.relative_to(ROOT)}: no heading \"{heading}\" in {name}")

print(f"{links} links, {len(problems)} of them to nothing", *problems, sep="\n  ")
sys.exit(bool(problems))
