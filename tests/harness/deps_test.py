"""What the scripts that get JDKs (fetch-jdks, install-deps) make of one that is slow, old or broken."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from wisplib import jdks  # noqa: E402

JAVA = """#!/bin/sh
echo "    java.version = 17.0.9" >&2
echo "    java.specification.version = 17" >&2
"""


def script(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


class FetchJdks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = Path(self.folder.name) / "jdks" / "17.0.9"
        loader = importlib.machinery.SourceFileLoader("fetch_jdks", str(ROOT / "scripts" / "fetch-jdks"))
        self.fetch_jdks = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_jdks", loader))
        loader.exec_module(self.fetch_jdks)

    def fetch(self, java, download=None, seconds=60):
        """What it says of this java in the cache, where a download is `download`."""
        script(self.home / "bin", "java", java)

        def unpack(_archive, _inner, tree):
            if download is None:
                raise self.fetch_jdks.Unavailable("no network")
            script(tree / "bin", "java", download)

        said = io.StringIO()
        with contextlib.ExitStack() as patches:
            for patch in (unittest.mock.patch.dict(os.environ, WISP_CACHE=self.folder.name),
                          unittest.mock.patch.object(sys, "argv", ["fetch-jdks", "17.0.9"]),
                          unittest.mock.patch.object(jdks, "PROBE_SECONDS", seconds),
                          unittest.mock.patch.object(self.fetch_jdks.platform, "machine", lambda: "x86_64"),
                          unittest.mock.patch.object(self.fetch_jdks, "download", lambda *_: None),
                          unittest.mock.patch.object(self.fetch_jdks, "unpack", unpack),
                          contextlib.redirect_stderr(said)):
                patches.enter_context(patch)
            self.fetch_jdks.main()
        return said.getvalue()

    def java(self):
        return (self.home / "bin" / "java").read_text()

    def test_one_that_does_not_answer_in_time_is_kept(self):
        slow = "#!/bin/sh\nexec sleep 600\n"
        said = self.fetch(slow, JAVA, seconds=1)
        self.assertIn("17.0.9: present, but gave no answer within 1 s: kept", said)
        self.assertEqual(self.java(), slow)

    def test_a_broken_one_stays_until_there_is_a_better_one(self):
        broken = "#!/bin/sh\nexit 1\n"
        self.assertIn("SKIPPED 17.0.9: no network", self.fetch(broken))
        self.assertEqual(self.java(), broken)
        self.assertIn("SKIPPED 17.0.9: it does not run here", self.fetch(broken, broken + "#\n"))
        self.assertEqual(self.java(), broken)
        self.assertIn("17.0.9: installed in", self.fetch(broken, JAVA))
        self.assertEqual(self.java(), JAVA)
        self.assertEqual([p.name for p in self.home.parent.iterdir()], ["17.0.9"])


class InstallDeps(unittest.TestCase):
    def missing(self, javac):
        """What it says is missing for a user, where all is installed but a JDK, and this is javac on PATH."""
        with tempfile.TemporaryDirectory() as folder:
            programs = Path(folder)
            script(programs, "dpkg-query", '#!/bin/sh\nfor p; do :; done\n[ $p = openjdk-17-jdk-headless ] || echo "install ok installed"\n')
            script(programs, "id", "#!/bin/sh\necho 1000\n")
            for name in ("bash", "sh", "grep", "sed"):
                (programs / name).symlink_to(f"/bin/{name}")
            if javac is not None:
                script(programs, "javac", f"#!/bin/sh\necho Picked up JAVA_TOOL_OPTIONS: -Dx >&2\n{javac}\n")
            done = subprocess.run([ROOT / "scripts" / "install-deps", "product"], env={"PATH": folder},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            return done.returncode, done.stdout

    def test_a_javac_counts_from_17_on(self):
        for javac in (None, "echo javac 1.8.0_392 >&2", "echo javac 11.0.2", "exit 1", "echo javac"):
            code, said = self.missing(javac)
            self.assertEqual((code, "openjdk-17-jdk-headless" in said), (1, True), (javac, said))
        for javac in ("echo javac 17.0.9", "echo javac 25", "echo javac 21-ea"):
            self.assertEqual(self.missing(javac), (0, ""), javac)


if __name__ == "__main__":
    unittest.main()
