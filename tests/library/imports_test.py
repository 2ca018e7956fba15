#!/usr/bin/env python3
"""Every libc function that the libraries of the JDKs at hand import is either interposed
(functions.def) or named as safe (safe_imports.txt). So a JDK that starts to call a blocking
function we do not know is noticed here. Prints SKIPPED and ends with 77 where there is no JDK."""

import re
import sys
from collections import defaultdict
from pathlib import Path

import elf

sys.path.insert(0, str(elf.ROOT / "scripts"))
sys.dont_write_bytecode = True
from wisplib import jdks  # noqa: E402

SAFE = elf.ROOT / "tests/library/safe_imports.txt"
# Left out: the desktop, media and browser plug-ins, and the serviceability agent, a debugger that
# attaches to another process by ptrace.
LEFT_OUT = re.compile(r"lib(awt.*|jawt|jsound.*|splashscreen|font.*|lcms|kcms|mlib_image|freetype|"
                      r"javajpeg|jpeg|t2k|dcpr|gstreamer.*|fxplugins|jfx.*|javafx.*|glass|prism.*|"
                      r"decora.*|avplugin.*|atk.*|npjp2|deploy|jelfshim|jsdt|resource|bci|"
                      r"java_crw_demo|unpack|saproc)\.so")
WANTED = {"libjvm.so", "libjava.so", "libnio.so", "libnet.so"}


def read_safe():
    """name -> reason, and the problems of the file itself"""
    text = re.sub(r"#.*", "", SAFE.read_text())
    groups = re.findall(r"\[([^\]]+)\]([^\[]*)", text)
    reasons, problems = {}, []
    for reason, names in groups:
        for name in names.split():
            if name in reasons:
                problems.append(f"{SAFE.name}: {name} stands there twice")
            reasons[name] = " ".join(reason.split())
    return reasons, problems


def libc_imports(home):
    """function -> the libraries of this JDK that import it; and the libraries looked at"""
    imports, libraries = defaultdict(set), set()
    for file in sorted(Path(home).rglob("*.so")):
        if LEFT_OUT.fullmatch(file.name):
            continue
        libraries.add(file.name)
        for symbol in elf.symbols(file, "--undefined-only"):
            if symbol.version.startswith("GLIBC_"):
                imports[symbol.name].add(file.name)
    return imports, libraries


def main():
    found = jdks.find()
    if not found:
        print("SKIPPED: no JDK found; install one, run scripts/fetch-jdks or set WISP_JDKS")
        sys.exit(77)
    handled = set(elf.interposed())
    reasons, problems = read_safe()
    problems += [f"{name} is interposed now: take it out of {SAFE.name}"
                 for name in sorted(handled & reasons.keys())]
    unknown = defaultdict(set)
    for jdk in found:
        imports, libraries = libc_imports(jdk.home)
        count = len(imports.keys() & handled)
        print(f"JDK {jdk.version}: {len(libraries)} libraries import {len(imports)} functions of "
              f"libc, {count} of them interposed")
        problems += [f"JDK {jdk.version}: no {name} found in {jdk.home}"
                     for name in sorted(WANTED - libraries)]
        for name in imports.keys() - handled - reasons.keys():
            unknown[name] |= {f"{library} of {jdk.version}" for library in imports[name]}
    problems += [f"{name} is neither in functions.def nor in {SAFE.name}; imported by "
                 + ", ".join(sorted(where)) for name, where in sorted(unknown.items())]
    elf.conclude(problems, f"imports of {len(found)} JDKs")


main()
