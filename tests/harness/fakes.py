"""What the tests of the harness share: a progress that says nothing, a context without a command line, a JDK's modules."""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from wisplib import jdks as java  # noqa: E402
from wisplib.bench import command  # noqa: E402


class Silent:
    bar = False

    def step(self, *_):
        pass
    say = step


def context(jdks=(), chosen=(), **options):
    """A quick run of two rounds, unless told otherwise."""
    given = dict({"full": False, "minutes": None, "runs": 2, "rows": None, "connections": None, "out": None,
                  "generator": "wrk"}, **options)
    return command.Context(argparse.Namespace(**given), list(jdks), list(chosen))


def has_flight_recorder(jdk):
    if jdk.major == 8:  # those that have it have it as a library
        return any(Path(jdk.home).glob("**/lib/jfr.jar"))
    done = subprocess.run([f"{jdk.home}/bin/java", "--list-modules"], env=java.plain_environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return "jdk.jfr@" in done.stdout
