"""What the tests of the harness share: a progress that says nothing, and a context without a command line."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from wisplib.bench import command  # noqa: E402


class Silent:
    bar = False

    def step(self, *_):
        pass
    say = step


def context(jdks=(), chosen=(), **options):
    """A quick run of two rounds, unless told otherwise."""
    given = dict({"full": False, "minutes": None, "runs": 2, "rows": None, "connections": None, "out": None}, **options)
    return command.Context(argparse.Namespace(**given), list(jdks), list(chosen))
