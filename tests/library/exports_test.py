#!/usr/bin/env python3
"""libwisp.so exports what functions.def lists and the doors of the JVM, and nothing else: a
helper that leaks out could capture a call of the user's program."""

import sys
from collections import Counter

import elf

DOORS = ["JVM_StartThread", "JVM_Yield", "JVM_GetManagement", "Agent_OnLoad", "Agent_OnLoad_wisp"]


def main(library):
    listed = elf.interposed()
    exported = {symbol.name for symbol in elf.symbols(library, "--defined-only")}
    expected = set(listed) | set(DOORS)
    problems = [f"{name} stands {n} times in functions.def"
                for name, n in Counter(listed).items() if n > 1]
    problems += [f"{name} is exported but functions.def does not list it"
                 for name in sorted(exported - expected)]
    problems += [f"{name} is listed in functions.def but not exported"
                 for name in sorted(expected - exported)]
    elf.conclude(problems, f"{len(exported)} exported symbols")


main(sys.argv[1])
