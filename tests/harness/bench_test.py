"""`wisp bench` as a user runs it: wrong arguments, tiny workloads, wrong answers, no matplotlib, no Python.
Argument: the command. Needs a JDK with javac; exit code 77 without one."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))
from wisplib import jdks, jvm  # noqa: E402
from wisplib.bench import plots  # noqa: E402
import fakes  # noqa: E402

WISP = ""
JDK = ""


def bench(*arguments, **environment):
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "WISP_BENCH_PATH": str(HERE / "workloads"),
           **{k: v for k, v in os.environ.items() if k in ("WISP_JDKS", "WISP_CACHE", "XDG_CACHE_HOME")}, **environment}
    return subprocess.run([WISP, "bench", *map(str, arguments)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=200)


class Arguments(unittest.TestCase):
    def test_errors_name_the_option_and_end_with_two(self):
        cases = [
            ([], "NAME is required: pingpong, "),
            (["pingpnog"], "'pingpnog' is no workload; takes pingpong, "),
            (["tiny", "--quick", "--full"], "--full: not allowed with argument --quick"),
            (["tiny", "--runs", "0"], "--runs: '0' is not a whole number from 1 to 1000"),
            (["tiny", "--runs", "-1"], "--runs"),
            (["tiny", "--minutes", "0"], "--minutes: '0' is not a whole number from 1 to 1000"),
            (["tiny", "--minutes", "1.5"], "--minutes: '1.5' is not"),
            (["tiny", "--minutes", "5", "--full"], "not allowed with argument --minutes"),
            (["tiny", "--runs", "many"], "--runs: 'many' is not"),
            (["tiny", "--jdks", "7"], "--jdks: no JDK '7' here; accepted"),
            (["tiny", "--jdks", ""], "--jdks"),
            (["tiny", "--out", __file__], "--out: '" + __file__ + "' is not a folder"),
            (["tiny", "--rows", "yield"], "--rows: goes with the workloads http, goals only"),
            (["goals", "--rows", "nothing"], "--rows: 'nothing' matches none of switch, "),
            (["http", "--rows", "json,yield"], "--rows: 'yield' matches none of plaintext, "),
            (["goals", "--rows", ""], "--rows: '' matches none of"),
            (["goals", "--connections", "64"], "--connections: goes with the workloads http, rpc only"),
            (["goals", "--generator", "wrk"], "--generator: goes with the workloads http, rpc only"),
            (["rpc", "--generator", "ab"], "--generator: 'ab' is not known; takes wrk or h2load"),
            (["http", "--connections", ""], "--connections: '' is not a list of whole numbers from 1 to 1000"),
            (["http", "--connections", "64,0"], "--connections: '64,0' is not a list"),
            (["rpc", "--connections", "1001"], "--connections: '1001' is not a list"),
            (["rpc", "--connections", "64, 256"], "--connections: '64, 256' is not a list"),
            (["tiny", "--fast"], "--fast"),
        ]
        for arguments, part in cases:
            with self.subTest(arguments):
                done = bench(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(part, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_help(self):
        done = bench("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("pingpong", "switch", "forkjoin", "scale", "goals", "http", "rpc", "echo", "udp", "file", "--quick", "--minutes", "--full", "--jdks", "--out", "--runs"):
            self.assertIn(word, done.stdout)
        man = (HERE.parents[1] / "docs" / "wisp.1").read_text().replace("\\-", "-")
        for option in set(re.findall(r"--[a-z]+", done.stdout)) - {"--help"}:
            self.assertIn(option, man)
        for name in re.findall(r"^  ([a-z]+) ", done.stdout.split("workloads:")[1], re.MULTILINE):
            if name not in ("tiny", "wrong", "sometimes", "nowhere", "parked"):  # this test's own
                self.assertRegex(man, rf"[\s,]{name}[,;]")

    def test_without_python(self):
        done = bench("tiny", PATH="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs Python 3", done.stderr)


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="wisp-bench-"))
        cls.done = bench("tiny", "wrong", "sometimes", "nowhere", "--quick", "--runs", 2, "--jdks", JDK, "--out", cls.folder)
        cls.report = json.loads((cls.folder / "report.json").read_text())
        cls.workloads = {w["name"]: w for w in cls.report["workloads"]}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_figures_of_what_works(self):
        series = self.workloads["tiny"]["series"]
        self.assertEqual([s["key"]["kind"] for s in series], ["plain", "wisp"])
        for one in series:
            self.assertIsNone(one["failure"])
            self.assertEqual(one["summary"]["ms"]["runs"], 2)
            self.assertGreater(one["summary"]["ms"]["median"], 0)
            self.assertEqual(one["samples"][0]["trips"], 2000)

    def test_wrong_answers_have_no_figure(self):
        self.assertEqual(self.done.returncode, 1)
        for name in ("wrong", "sometimes"):
            for one in self.workloads[name]["series"]:
                self.assertIsNotNone(one["failure"])
                self.assertEqual((one["samples"], one["summary"]), ([], {}))
        self.assertIn("WRONG RESULT: sum is 4851, expected 4950", self.workloads["wrong"]["series"][0]["failure"])
        for file in ("report.md", "report.csv", "report.json", "report.html"):
            text = (self.folder / file).read_text()
            # What WrongSum printed before its check, and what NoCheck did: six digits, in whatever notation. (Of three
            # digits one of the other figures has them now and then.)
            self.assertNotRegex(text, r"2\D?7\D?1\D?8\D?2\D?8", file)
            self.assertNotRegex(text, r"3\D?1\D?4\D?1\D?5\D?9", file)
            self.assertIn("FAILED" if not file.endswith((".csv", ".json")) else "fail", text)
        self.assertIn("FAILED wrong, plain program=WrongSum", self.done.stderr)

    def test_what_cannot_run_says_why(self):
        self.assertEqual(self.workloads["nowhere"]["unavailable"], "no quantum processor here; install one")
        self.assertIn("nowhere: left out: no quantum processor here", self.done.stderr)
        self.assertIn("no quantum processor here", (self.folder / "report.html").read_text())

    def test_report_states_the_machine(self):
        machine = self.report["machine"]
        self.assertEqual(machine["jdks"][0]["label"], JDK)
        self.assertEqual(machine["cores"], len(os.sched_getaffinity(0)))
        text = (self.folder / "report.md").read_text()
        setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
        if setting.exists():
            shares = "a share for each session" if setting.read_text() == "1\n" else "no shares by session"
            self.assertIn(f"{machine['kernel']} ({shares})", text)
        for word in (machine["kernel"], machine["cpu"], machine["commit"], "--runs 2", "invented for this test"):
            self.assertIn(word, text)

    def test_published_figures_stand_in_the_table_they_belong_to(self):
        row = r"\| published: 1.0 +\| +\| +0.5 <&> \| +\| +invented as well \|"
        for text in (self.done.stdout, (self.folder / "report.md").read_text()):
            table = next(t for t in text.split("\n\n") if "Wisp : plain" in t and "| jdk" in t)
            self.assertRegex(table, row)
            self.assertEqual(text.count("invented as well"), 1)
        table, = re.findall(r"<table class=sources><caption>Milliseconds.*?</table>", (self.folder / "report.html").read_text().replace("\n", ""))[:1]
        self.assertIn('<tr class=published><td>published: 1.0</td><td></td><td>0.5 &lt;&amp;&gt;</td>', table)

    def test_csv_parses(self):
        rows = list(csv.DictReader((self.folder / "report.csv").read_text().splitlines()))
        figures = {(r["workload"], r["kind"]): float(r["median"]) for r in rows if r["metric"] == "ms"}
        self.assertEqual(set(figures), {("tiny", "plain"), ("tiny", "wisp")})
        self.assertEqual({r["status"] for r in rows if r["workload"] == "wrong"}, {"failed"})

    def test_html_is_alone(self):
        text = (self.folder / "report.html").read_text()
        self.assertIn("nowhere &lt;&amp;&gt;", text)
        self.assertIsNone(re.search(r"(src|href)=[\"'](?!data:|#)", text))

    def test_plots_or_their_absence(self):
        text = (self.folder / "report.html").read_text()
        drawn = (self.folder / "tiny-bars.svg").is_file()
        self.assertEqual(drawn, "data:image/svg+xml" in text)
        self.assertEqual(drawn, "Plots are left out" not in text)
        self.assertEqual(drawn, "The plot broken could not be drawn: ZeroDivisionError" in text)

    @unittest.skipUnless(plots.available(), "no matplotlib")
    def test_every_kind_of_plot_is_drawn(self):
        """By whatever version of matplotlib is here: Debian 12's lacks what later ones have."""
        both = {jvm.PLAIN: [1, 2, 3], jvm.WISP: [1]}
        curve = {jvm.WISP: [(10, 2, 1, 3), (1000, 3, 2, 4)]}
        lanes = [("w1", [("computes", 1, 3), ("fork", 2, 2)])]
        for svg in (plots.bars("t", "ms", [("x", both), ("y", both)], log=True), plots.lines([("t", "x", "ns", curve)] * 2),
                    plots.stacked("t", "us", [("x", [1, 2, 3, 4, 5])]), plots.timeline([("t", lanes, [0, 1, 2, 3, 4, 5])] * 2)):
            self.assertIn("<svg", svg)


class Parks(unittest.TestCase):
    """What Flight Recorder says of a pool's workers, on the axis of the program's own notes."""

    def run_on(self, jdk):
        with tempfile.TemporaryDirectory() as folder:
            done = bench("parked", "--runs", 1, "--jdks", jdk.label, "--out", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            series = json.loads((Path(folder) / "report.json").read_text())["workloads"][0]["series"]
        notes = dict(re.findall("^(plain|wisp): (.*)$", done.stdout, re.MULTILINE))
        return {one["key"]["kind"]: ({m: f["median"] for m, f in one["summary"].items()}, notes[one["key"]["kind"]]) for one in series}

    def test_with_a_recorder(self):
        jdk = next((j for j in reversed(jdks.find()) if fakes.has_flight_recorder(j)), None)
        if jdk is None:
            self.skipTest("no JDK with Flight Recorder")
        for kind, (values, note) in self.run_on(jdk).items():
            with self.subTest(kind):
                self.assertTrue(note.startswith("None; submitter SUBMIT@0 "), note[:300])
                self.assertRegex(note, r"\|worker PARK@-\d+ UNPARK@\d+ (PARK@\d+ UNPARK@\d+ )*BEGIN@")
                self.assertGreater(values["asleep_at_submit"], 1)
                # Four, and spare ones that a pool adds for workers that wait in join (5 seen once, on plain threads).
                self.assertLessEqual(values["asleep_at_submit"], 8)
                self.assertGreaterEqual(values["unparks_until_result"], 1)
                self.assertGreaterEqual(values["parks_per_op"], values["parks_until_result"])
                self.assertGreater(values["parks_per_op"], 1)
                self.assertLess(values["park_error_us"], 20)

    def test_without_one(self):
        jdk = next((j for j in jdks.find() if not fakes.has_flight_recorder(j)), None)
        if jdk is None:
            self.skipTest("each JDK has Flight Recorder")
        for kind, (values, note) in self.run_on(jdk).items():
            with self.subTest(kind):
                self.assertIn("has no Flight Recorder; submitter SUBMIT@0 ", note)
                self.assertNotIn("parks_per_op", values)
                self.assertRegex(note, r"\|worker BEGIN@")


class WithoutMatplotlib(unittest.TestCase):
    def test_goes_on_and_says_how_to_get_it(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "matplotlib.py").write_text("raise ImportError('hidden by the test')\n")
            done = bench("tiny", "--runs", 1, "--jdks", JDK, "--out", Path(folder) / "out", PYTHONPATH=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = (Path(folder) / "out" / "report.html").read_text()
            self.assertIn("Plots are left out", text)
            self.assertIn("apt-get install python3-matplotlib", text)
            self.assertNotIn("data:image/svg", text)


if __name__ == "__main__":
    WISP = sys.argv.pop(1)
    found = [j for j in jdks.find() if j.major >= 9 and (Path(j.home) / "bin" / "javac").is_file()]
    if not found:
        print("SKIPPED: no JDK with javac")
        sys.exit(77)
    JDK = found[0].label
    unittest.main()
