"""What the tests of this folder ask of an ELF file (by nm and readelf) and of functions.def."""

import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# name without its version; version: "GLIBC_2.2.5", "" where it has none; kind: nm's letter
Symbol = namedtuple("Symbol", "name version kind")


def output(*command):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True, check=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def symbols(file, which):
    """which: --defined-only or --undefined-only"""
    found = []
    for line in output("nm", "-D", "--with-symbol-versions", which, file).splitlines():
        *_, kind, name = line.split()
        name, _, version = name.partition("@")
        found.append(Symbol(name, version.lstrip("@"), kind))
    return found


def interposed():
    """The names in functions.def."""
    text = (ROOT / "runtime/interpose/functions.def").read_text()
    names = re.findall(r"^WISP_INTERPOSED\((\w+),", text, re.MULTILINE)
    if not names:
        sys.exit("functions.def: no WISP_INTERPOSED line found")
    return names


def conclude(problems, summary):
    """Prints the result of one test program and ends it."""
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"{summary}: {len(problems)} problem(s)" if problems else f"{summary}: as it should be")
    sys.exit(1 if problems else 0)
