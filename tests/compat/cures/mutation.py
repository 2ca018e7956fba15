"""A cure that tests/compat/mutations takes out of a copy of the sources, and the test that has to fail without it."""
from collections import namedtuple

# file, cure, instead: where it stands, its text, which is there once, and what to put in its place; of several places the
# files with blanks between them, the texts with form feeds.
# check: what to run. ("case", name of a compat case, JDK, carriers), ("unit", target, GoogleTest filter[, carriers]),
# ("preload", target of tests/preload, carriers). tries: runs with the cure out, one of which has to fail.
Mutation = namedtuple("Mutation", "name file cure instead check tries", defaults=[1])
