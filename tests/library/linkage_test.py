#!/usr/bin/env python3
"""What libwisp.so brings into a user's process and asks of it: libc alone, nothing newer than glibc
2.28 and nothing private, full RELRO, next to no static TLS."""

import re
import sys

import elf

OLDEST_GLIBC = (2, 28)
NEEDED = {"libc.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
TLS_LIMIT = 256  # bytes; every thread of the process pays them, and the loader's reserve is small


def segment_size(headers, kind):
    found = re.search(rf"^\s+{kind}\s+\S+ \S+ \S+ \S+ (0x[0-9a-f]+)", headers, re.MULTILINE)
    return int(found.group(1), 16) if found else None


def main(library):
    dynamic = elf.output("readelf", "-dW", library)
    headers = elf.output("readelf", "-lW", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    tls = segment_size(headers, "TLS") or 0

    problems = [f"it needs {name}" for name in needed if name not in NEEDED]
    if "BIND_NOW" not in dynamic or segment_size(headers, "GNU_RELRO") is None:
        problems.append("no full RELRO: the table of libc's addresses stays writable")
    if re.search(r"\(TEXTREL\)|\(R(UN)?PATH\)", dynamic):
        problems.append("text relocations, or a path of the build machine")
    if re.search(r"^\s+GNU_STACK.* RWE ", headers, re.MULTILINE):
        problems.append("it asks for executable stacks")
    if tls > TLS_LIMIT:
        problems.append(f"{tls} bytes of TLS, more than {TLS_LIMIT}")

    newest = (0, 0)
    for symbol in elf.symbols(library, "--undefined-only"):
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", symbol.version)
        if number:
            version = (int(number.group(1)), int(number.group(2)))
            newest = max(newest, version)
            if version > OLDEST_GLIBC:
                problems.append(f"{symbol.name}@{symbol.version} is newer than glibc 2.28 "
                                "(a line in runtime/platform/old_symbols.h, or look it up by dlsym)")
        elif symbol.version or symbol.kind not in "wv":
            problems.append(f"{symbol.name}@{symbol.version or 'no version'} is not libc's public one")
    elf.conclude(problems, f"needs {' '.join(needed)} with GLIBC_{newest[0]}.{newest[1]}, "
                           f"{tls} bytes of TLS")


main(sys.argv[1])
