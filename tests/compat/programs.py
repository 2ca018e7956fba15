"""What the cases run: Java, native libraries and Go, built where a source is newer."""
import shutil
import subprocess
import sys
from pathlib import Path

from runs import HERE, ROOT, WORK, jdks

INTEGRATION = ROOT / "java/integration-tests/src/main/java"


def build():
    classes, classes21, lib = WORK / "classes", WORK / "classes21", WORK / "lib"
    for folder in (classes, classes21, lib, WORK / "classes-it"):
        folder.mkdir(parents=True, exist_ok=True)
    found = jdks.find()
    def javac(least):
        homes = [j for j in found if j.major >= least and (Path(j.home) / "bin/javac").is_file()]
        return str(Path(homes[0].home) / "bin/javac") if homes else None
    def newer(sources, stamp):
        return not stamp.exists() or any(s.stat().st_mtime > stamp.stat().st_mtime for s in sources)
    for sources, target, least, release in ((sorted((HERE / "java").glob("*.java")), classes, 17, "8"),
                                            (sorted((HERE / "java21").glob("*.java")), classes21, 21, "21"),
                                            (sorted(INTEGRATION.rglob("*.java")), WORK / "classes-it", 17, "8")):
        stamp = target / ".stamp"
        if sources and newer(sources, stamp):
            compiler = javac(least)
            if compiler is None:
                print(f"compat: no javac of Java {least}: cases of {target.name} are skipped", file=sys.stderr)
                continue
            subprocess.run([compiler, "-g", "-nowarn", "-Xlint:-options", "--release", release, "-d", str(target),
                            *map(str, sources)], check=True)
            stamp.touch()
    include = next(str(Path(j.home) / "include") for j in found if (Path(j.home) / "include/jni.h").is_file())
    for source in sorted((HERE / "native").glob("*.cpp")):
        target = lib / f"lib{source.stem}.so"
        if newer([source, *(HERE / "native").glob("*.h"), HERE.parent / "preload/by_kernel.h"], target):
            subprocess.run(["g++", "-O1", "-g", "-std=c++17", "-fPIC", "-shared", "-Wall", f"-I{include}",
                            f"-I{include}/linux", "-o", str(target), str(source), "-lpthread", "-ldl"], check=True)
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    for source in sorted((HERE / "go").glob("*.go")):
        for name, flags in ((f"lib{source.stem}_go.so", []), (f"lib{source.stem}_go_bare.so", ["-ldflags=-s -w -buildid="])):
            if go is not None and newer([source], lib / name):
                subprocess.run([go, "build", "-buildmode=c-shared", *flags, "-o", str(lib / name), str(source)], check=True)
