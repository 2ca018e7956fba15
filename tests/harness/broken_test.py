"""Each program of java/bench, broken on purpose, must call its result wrong; so must the native benchmarks' reader
and that of UPerf. A check that nothing can make fail would let a wrong answer pass as a fast one.
Needs a JDK with javac; exit code 77 without one."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from wisplib import jdks, jvm  # noqa: E402
from wisplib.bench import cluster, native  # noqa: E402
import fakes  # noqa: E402

# program, what of its source, what instead, arguments; the class that is broken, where it is not the program's own
BROKEN = [
    ("PingPong", "sum += message;", "sum += i == 3 ? 0 : message;", ["--trips", 100]),
    ("YieldBench", "done.addAndGet(count);", "done.addAndGet(count - 1);", ["--yields", 100]),
    ("ParkUnpark", "turn = mine + 1;", "turn = mine + (mine == last - 1 ? 2 : 1);", ["--handovers", 100]),
    ("ContendedLock", "operations += each;", "operations += each - 1;", ["--operations", 800, "--rounds", 2]),
    ("MonitorHandover", "turns++;", "turns += i == 0 ? 0 : 1;", ["--handovers", 100]),
    ("ThreadStart", "bodies[i] = ran::incrementAndGet;", "bodies[i] = () -> { };", ["--threads", 20]),
    ("Rings", "passed.addAndGet(mine);", "passed.addAndGet(mine - 1);", ["--threads", 8, "--hops", 80]),
    ("ManyParked", "passed.incrementAndGet();", "", ["--threads", 10]),
    ("ParkedPauses", "return 1;", "return 0;", ["--threads", 4, "--megabytes", 1, "--collections", 1]),
    ("BlockedConnections", "echoed.incrementAndGet();", "", ["--connections", 4]),
    ("ForkJoinRampUp", "long sum = right + left.join();", "long sum = right + left.join() + (from == 0 ? 1 : 0);", ["--ops", 10]),
    ("EchoBench", "in.readFully(message);", "in.readFully(message); message[0] ^= 1;",
     ["--connections", 2, "--seconds", 1, "--warmup", 0]),
    ("EchoBench", "sum += x;", "sum += x + 1;", ["--connections", 2, "--seconds", 1, "--warmup", 0, "--burners", 1], "Burners"),
    ("UdpBench", "socket.send(packet);", "packet.getData()[1] ^= 1; socket.send(packet);",
     ["--clients", 2, "--servers", 1, "--seconds", 1, "--warmup", 0]),
    ("FileBench", "return file.getChannel().read(direct, at);", "return file.getChannel().read(direct, at < PAGE ? at : at - PAGE);",
     ["--megabytes", 1, "--seconds", 1, "--rounds", 1]),
    ("CpuBound", "sum = sum * 31 + numbers[i];", "sum = sum * 30 + numbers[i];", ["--kernel", "sort", "--rounds", 3]),
    ("IdleCpu", "ticks.incrementAndGet();", "", ["--load", "light", "--seconds", 1]),
]


class Programs(unittest.TestCase):
    def test_no_program_was_forgotten(self):
        programs = {f.stem for f in jvm.BENCH_SOURCES.rglob("*.java") if "public static void main(" in f.read_text()}
        self.assertEqual(programs, {program for program, *_ in BROKEN})

    def test_a_broken_program_says_so(self):
        jdk = jdks.find()[-1]
        with tempfile.TemporaryDirectory() as folder:
            classes, sources = Path(folder) / "classes", []
            for number, (program, old, new, _, *other) in enumerate(BROKEN):  # under other names, so that one compiler compiles all
                broken, = other or [program]
                for name in {program, broken}:
                    source, = jvm.BENCH_SOURCES.rglob(f"{name}.java")
                    text = source.read_text()
                    if name == broken:
                        self.assertEqual(text.count(old), 1, f"'{old}' is in {name} {text.count(old)} times")
                        text = text.replace(old, new)
                    sources.append(Path(folder) / f"Broken{number}{name}.java")
                    sources[-1].write_text(re.sub(rf"\b({program}|{broken})\b", rf"Broken{number}\1", text))
            jvm.compile_java(sources, classes, [jvm.build_bench()])
            for number, (program, _, _, arguments, *other) in enumerate(BROKEN):
                with self.subTest(program, broken=other):
                    done = subprocess.run([f"{jdk.home}/bin/java", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{jvm.bench_classes()}",
                                           f"wisp.bench.Broken{number}{program}", *map(str, arguments)], cwd=folder,
                                          env=jdks.plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          timeout=120)
                    self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                    self.assertIn("WRONG RESULT", done.stderr)
                    self.assertNotIn("check=ok", done.stdout)


class Parks(unittest.TestCase):
    def test_by_a_wrong_clock_there_are_none(self):
        """A worker would be at work while it is parked."""
        jdk = next((j for j in reversed(jdks.find()) if fakes.has_flight_recorder(j)), None)
        if jdk is None:
            self.skipTest("no JDK with Flight Recorder")
        distance, time = "return recorded - distance[mark] ", "return ((Instant) instant).getEpochSecond() * 1_000_000_000 + ((Instant) instant).getNano();"
        for name, old, new, wrong in (("ParkClock", distance, distance, ""),
                                      ("ParkClock", distance, distance + "+ 100_000 ", "nanoTime do not agree: a worker was at work"),
                                      # One that goes evenly, and too fast.
                                      ("ParkRecording", time, time.replace("return ", "return (long) (1.003 * (").replace(";", "));"), ""),
                                      # That goes otherwise between each two marks than it mostly does.
                                      ("ParkClock", " - drift * time)", " - (drift + 0.5) * time)", "the recorder's clock did not go evenly")):
            with self.subTest(name, new=new), tempfile.TemporaryDirectory() as folder:
                source, = jvm.BENCH_SOURCES.rglob(f"{name}.java")
                text = source.read_text()
                self.assertEqual(text.count(old), 1)
                changed = Path(folder) / f"{name}.java"
                changed.write_text(text.replace(old, new))
                jvm.compile_java([changed], Path(folder) / "classes", [jvm.build_bench()])
                done = subprocess.run([f"{jdk.home}/bin/java", "-cp", f"{folder}/classes:{jvm.bench_classes()}", "wisp.bench.ForkJoinRampUp",
                                       "--parallelism", "4", "--ops", "10", "--traced", "40"], env=jdks.plain_environment(),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
                self.assertIn("check=ok", done.stdout, done.stderr)
                self.assertIn(wrong, done.stdout)
                self.assertEqual("no_parks=" in done.stdout, wrong != "", done.stdout[:2000])
                self.assertEqual("parks_per_op=" in done.stdout, wrong == "")


class Native(unittest.TestCase):
    """A benchmark program that reports an error, as those of tests/bench do when what comes out is wrong."""

    def figures(self, **run):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "build" / "bin" / "fake"
            program.parent.mkdir(parents=True)
            answer = json.dumps({"benchmarks": [dict({"name": "steal", "cpu_time": 1.5}, **run)]})
            program.write_text(f"#!/bin/sh\necho '{answer}'\n")
            program.chmod(0o755)
            before, jvm.ROOT = jvm.ROOT, Path(folder)
            try:
                return native.figures("fake", ".*")
            finally:
                jvm.ROOT = before

    def test_an_error_has_no_figure(self):
        self.assertEqual(self.figures(), {"steal": {"ns": 1.5}})
        with self.assertRaisesRegex(jvm.Failure, "steal: items lost"):
            self.figures(error_occurred=True, error_message="items lost")

    def test_the_programs_report_one(self):
        for name in ("queue_bench.cpp", "switch_bench.cpp"):
            self.assertIn("SkipWithError", (ROOT / "tests" / "bench" / name).read_text())


def node(tests=2, reads=800, menu=False, name="n1", total=None):
    """What a node of UPerf prints."""
    text = ""
    for _ in range(tests):
        text += "[1] Start test [2] View\n" if menu else ""
        text += f"running for 3 seconds\n9: 1 reqs/sec (1 reads 1 writes)\n10: 1,000 reqs/sec ({reads} reads 200 writes)\n\n\ndone (in 1000 ms)\n"
        if total:
            text += f"======= Results: ====\nn1: 1,000.00 reqs/sec (800 gets, 200 puts)\nn2: 1,000.00 reqs/sec (800 gets, 1 puts)\n\nThroughput: {total} reqs/sec/node (1MB/sec)\n"
    return text + ("[1] Start test\n" if menu else "") + "wisp: tasks=40 switches=7\n"


class UPerf(unittest.TestCase):
    def test_mean_of_the_nodes(self):
        found = cluster.read_result([node(menu=True), node()], jvm.WISP, 2)
        self.assertEqual(found, {"per_node": 1000, "slowest_node": 1000})

    def test_a_driver_too_slow_for_its_own_table_has_its_figure(self):
        late = node(menu=True).replace("\n\n\ndone", "\n= Results: =\n[1] Start test\n\ndone")
        self.assertEqual(cluster.read_result([late, node()], jvm.WISP, 2)["per_node"], 1000)

    def test_a_node_that_read_nothing_or_did_not_finish(self):
        for bad in (node(reads=0), node(tests=1), "", node().replace("done (in", "gone (in")):
            with self.subTest(bad), self.assertRaisesRegex(jvm.Failure, "node 2 has"):
                cluster.read_result([node(menu=True), bad], jvm.PLAIN, 2)

    def test_uperfs_own_total_must_agree(self):
        self.assertEqual(cluster.read_result([node(menu=True, total="1,050.00"), node()], jvm.PLAIN, 2)["per_node"], 1000)
        with self.assertRaisesRegex(jvm.Failure, "UPerf's own 2000"):
            cluster.read_result([node(menu=True, total="2,000.00"), node()], jvm.PLAIN, 2)
        with self.assertRaisesRegex(jvm.Failure, "UPerf's own 3000"):  # 5.4.13: the nodes' lines only
            cluster.read_result([node(menu=True, total="1").replace("Throughput: 1 ", "").replace(": 1,000.00", ": 3,000.00"), node()],
                                jvm.PLAIN, 2)

    def test_a_node_not_on_wisp(self):
        with self.assertRaisesRegex(jvm.Failure, "not every node on Wisp"):
            cluster.read_result([node(menu=True), node().replace("tasks=40", "tasks=0")], jvm.WISP, 2)

    def test_the_pool_is_of_the_asked_kind(self):
        release = cluster.RELEASES[0]
        for stack in cluster.TRANSPORTS:
            self.assertIn('use_vthreads="false"', cluster.configuration(release, stack, jvm.PLAIN, True))
            self.assertIn('use_vthreads="false"', cluster.configuration(release, stack, jvm.WISP, False))
            self.assertIn('use_vthreads="true"', cluster.configuration(release, stack, jvm.VIRTUAL, False))

    def test_an_old_jdk_gets_a_release_it_runs_in_its_own_words(self):
        self.assertEqual([cluster.release_for(jdks.Jdk(major, "", "", "")).least_jdk for major in (8, 9, 11, 16, 17, 25)],
                         [8, 8, 11, 11, 17, 17])
        old = cluster.release_for(jdks.Jdk(8, "", "", ""))
        for stack in cluster.TRANSPORTS:
            for word in old.spelled:
                self.assertIn(word, cluster.configuration(cluster.RELEASES[0], stack, jvm.PLAIN, True))
                self.assertNotIn(f'{word}"', cluster.configuration(old, stack, jvm.PLAIN, True))
                self.assertNotIn(f"{word}/", cluster.configuration(old, stack, jvm.PLAIN, True))

    def test_figures_of_the_driver_are_those_of_the_last_test(self):
        """4.2 shows its menu once more after each option and before it ends."""
        text = "[1] Start test\noob=false\n" + node(menu=True, total="1,000.00") + "[1] Start test\n"
        self.assertEqual(cluster.read_result([text, node()], jvm.WISP, 2)["per_node"], 1000)
        wrong = "9,000.00".join(text.rsplit("1,000.00", 1))  # what the last test's table says in the end
        with self.assertRaisesRegex(jvm.Failure, "UPerf's own 9000"):
            cluster.read_result([wrong, node()], jvm.PLAIN, 2)


if __name__ == "__main__":
    if not any(j.major >= 9 and (Path(j.home) / "bin" / "javac").is_file() for j in jdks.find()):
        print("SKIPPED: no JDK with javac")
        sys.exit(77)
    os.environ.pop("WISP_LIB", None)
    unittest.main()
