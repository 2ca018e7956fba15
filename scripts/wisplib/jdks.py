"""Finds the JDKs of this machine: where `wisp doctor` looks (launcher/jdk.cpp), and our cache. Every JDK is run once
(`java -version`) before it is believed; results are ordered by version, one per version."""

import os
import re
import subprocess
from collections import namedtuple
from pathlib import Path

# major: 8, 17 …; version: as the JVM gives it ("1.8.0_121", "17.0.15"); home: JAVA_HOME
class Jdk(namedtuple("Jdk", "major version vendor home")):
    @property
    def label(self):
        """As people write it: 8u121 for 1.8.0_121."""
        return re.sub(r"^1\.8\.0_", "8u", self.version)


PLACES = ("/usr/lib/jvm", "/usr/java", "/usr/local/java", "/opt/java", "/opt/jdk", "~/.sdkman/candidates/java", "~/.jdks")


def cache_folder():
    base = os.environ.get("WISP_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "wisp")
    return Path(base) / "jdks"


def plain_environment():
    """An environment in which a JVM runs plain, whatever this process was started with."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("WISP")}
    for name in ("LD_PRELOAD", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"):
        env.pop(name, None)
    return env


PROBE_SECONDS = 60  # on a starved machine a good JVM may take longer


def probe(home):
    """A Jdk when home holds a HotSpot JVM that runs here, else None. TimeoutExpired: it gave no answer in time."""
    java = Path(home) / "bin" / "java"
    if not java.is_file():
        return None
    try:
        done = subprocess.run([str(java), "-XshowSettings:properties", "-version"],
                              env=plain_environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PROBE_SECONDS)
    except OSError:
        return None
    if done.returncode != 0:
        return None
    properties = dict(re.findall(r"^\s+([\w.]+) = (.*)$", done.stdout, re.MULTILINE))
    version = properties.get("java.version", "")
    spec = properties.get("java.specification.version", "")
    number = re.fullmatch(r"(?:1\.)?(\d+)(?:\.\d+)?", spec)
    if not version or not number:
        return None
    return Jdk(int(number.group(1)), version, properties.get("java.vendor", "unknown"), str(home))


def candidates():
    """Folders worth probing, each JDKs or a JDK; what the user names comes first, so that it wins over duplicates."""
    named = filter(None, os.environ.get("WISP_JDKS", "").split(":"))
    for folder in map(Path, (*named, *map(os.path.expanduser, PLACES), cache_folder())):
        yield folder
        if folder.is_dir():
            yield from sorted(p for p in folder.iterdir() if not p.name.startswith("."))


def version_key(jdk):
    return [jdk.major] + [int(part) for part in re.findall(r"\d+", jdk.version)]


def find():
    """All JDKs, ordered by version. Links to one folder and equal versions count once."""
    seen_folders, by_version = set(), {}
    for home in candidates():
        real = home.resolve()
        if real in seen_folders or not (real / "bin" / "java").is_file():
            continue
        seen_folders.add(real)
        try:
            jdk = probe(real)
        except subprocess.TimeoutExpired:
            jdk = None
        if jdk is not None:
            by_version.setdefault(jdk.version, jdk)
    return sorted(by_version.values(), key=version_key)


def choose(found, wanted, newest_only=False):
    """Those that a list like "17,25.0.2" names, by major or full version; newest_only: one per major.

    Raises ValueError, with words for the user of an option --jdks.
    """
    chosen = []
    for word in wanted.split(",") if wanted else []:
        hits = [j for j in found if word in (str(j.major), j.version, j.label)]
        if not hits:
            raise ValueError(f"option --jdks: no JDK '{word}' here; accepted: major or full versions out of "
                             + ", ".join(j.label for j in found) + ", separated by ','")
        chosen += hits[-1:] if newest_only and word == str(hits[-1].major) else hits
    return sorted(set(chosen), key=version_key) if wanted else found
