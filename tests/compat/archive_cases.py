"""Cases of compat: class archives and ahead-of-time caches, made by one JVM and used by the next."""
import zipfile

import runs
from cases import case

Missing = runs.Missing


def jar_of_cases(c):
    """An archive takes classes from jars, not from folders."""
    path = c.folder / "cases.jar"
    with zipfile.ZipFile(path, "w") as jar:
        for name in sorted((runs.WORK / "classes").glob("*.class")):
            jar.write(name, name.name)
    return path


def made_and_used(c, make, use):
    """`make` and `use` are options before the name of the file."""
    jar, archive, loads = jar_of_cases(c), c.folder / "archive", c.folder / "loads"

    def run(*flags):
        command = c.command("ParkAndRun", 2, flags=flags)
        command[command.index("-cp") + 1] = str(jar)
        out, err, code = c.finish(c.start(command), 180)
        done = "".join(line for line in out.splitlines(True) if line.startswith("done"))
        return f"{done}exit {code}\n"
    text = run(f"{make}{archive}")
    if not archive.exists() and not c.wisp:
        raise Missing("this JDK makes no archive")  # a run-time image without the default one
    text += f"made {archive.exists()}\n"
    text += run(f"{use}{archive}", f"-Xlog:class+load:file={loads}")
    mine = [line for line in loads.read_text().splitlines() if " ParkAndRun " in line]
    return text + f"from the archive {['shared objects file' in line for line in mine]}\n"


@case("vm-archive")
def archive_at_exit(c):
    """Written by the JVM as it ends, on the thread that ends it."""
    if c.jdk.major < 13:
        raise Missing("from JDK 13 on")
    return made_and_used(c, "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile=")


@case("vm-aot-cache")
def cache_of_a_training_run(c):
    """Made by a second JVM that the first one starts at its end, with all its options."""
    if c.jdk.major < 25:
        raise Missing("from JDK 25 on")
    return made_and_used(c, "-XX:AOTCacheOutput=", "-XX:AOTCache=")
