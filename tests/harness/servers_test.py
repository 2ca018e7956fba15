"""What `wisp bench http` and `rpc` compute: wrk's answer, CPU per request, perf's samples; what they do without wrk,
PostgreSQL, or with a server that fails; over how many connections. No server of theirs is started."""

import argparse
import http.server
import os
import shutil
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from wisplib import jdks, jvm  # noqa: E402
from wisplib.bench import command, profile, runner, servers, wrk  # noqa: E402
import fakes  # noqa: E402

LINE = ("Running 2s test @ http://127.0.0.1:1/hello\n"
        "  1 threads and 64 connections\n"
        "wisp: requests=5000 duration_us=2500000 connect=0 read=0 write=0 status=0 timeout=0 "
        "p50_us=850 p99_us=12000 p99_9_us=23456 max_us=40001\n")


class Wrk(unittest.TestCase):
    def test_figures(self):
        self.assertEqual(wrk.parse(LINE), {"requests": 5000, "per_s": 2000, "p50_ms": 0.85, "p99_ms": 12.0,
                                           "p99_9_ms": 23.456, "max_ms": 40.001})

    def test_errors_have_no_figure(self):
        for error in wrk.ERRORS:
            with self.subTest(error), self.assertRaisesRegex(jvm.Failure, f"7 {error} of 5000 requests"):
                wrk.parse(LINE.replace(f"{error}=0", f"{error}=7"))

    def test_no_answer(self):
        with self.assertRaisesRegex(jvm.Failure, "unable to connect"):
            wrk.parse("unable to connect to 127.0.0.1:1 Connection refused")
        with self.assertRaisesRegex(jvm.Failure, "no answer at all"):
            wrk.parse(LINE.replace("requests=5000", "requests=0"))

    def test_the_script_prints_what_is_parsed(self):
        script = wrk.SCRIPT.read_text()
        for name in (*wrk.ERRORS, "requests", "duration_us", "p50_us", "p99_us", "p99_9_us", "max_us"):
            self.assertIn(f"{name}=%d", script)
        self.assertIn("percentile(99.9)", script)


class Mix(unittest.TestCase):
    def test_the_names_and_shares(self):
        command.load_workloads()
        http_rows = {load.name: load for load in sys.modules["wisplib.bench.workloads.http"].WORKLOADS[0].loads()}
        mix = http_rows["mix"].mix
        self.assertEqual(sum(share for share, _ in mix), 100)
        for _, part in mix:
            self.assertEqual(part, http_rows[part.name])
            self.assertEqual((part.program, part.arguments, part.needs), http_rows["mix"][2:5])

    @unittest.skipIf(shutil.which("wrk") is None, "wrk is not installed")
    def test_each_path_is_asked_for_so_often(self):
        asked = []

        class Counting(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counting)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{listener.server_port}"
        try:
            values = wrk.run(url, 1, 1, [(70, "/a"), (30, "/b")])
            self.assertGreater(values["requests"], 0)
            with self.assertRaisesRegex(jvm.Failure, "percentages do not make 100"):
                wrk.run(url, 1, 1, [(70, "/a"), (29, "/b")])
        finally:
            listener.shutdown()
            listener.server_close()
        self.assertEqual(set(asked[:50]), {"/a", "/b"})
        spread = 4 * (0.7 * 0.3 / len(asked)) ** 0.5
        self.assertAlmostEqual(asked.count("/a") / len(asked), 0.7, delta=spread)


class Cpu(unittest.TestCase):
    def test_per_request(self):
        self.assertEqual(wrk.costs(1000, 0.05, 0.02, 0.01),
                         {"cpu_us": 50, "beside_cpu_us": 20, "wrk_cpu_us": 10, "all_cpu_us": 80})

    def test_per_core(self):
        command.load_workloads()
        # 80 + 20 us of CPU for a request: 10,000 of them keep one processor busy for a second.
        self.assertEqual(sys.modules["wisplib.bench.workloads.rpc"].per_core(80, 20), 10_000)

    def test_of_a_process_and_its_children(self):
        before = servers.cpu_of(os.getpid())
        pid = os.fork()
        if pid == 0:
            end = os.times().user + 0.05
            while os.times().user < end:
                pass
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        alive = servers.cpu_of(os.getpid())
        os.waitpid(pid, 0)
        self.assertGreaterEqual(alive - before, 0.04)
        self.assertGreaterEqual(servers.cpu_of(os.getpid()), alive - 0.011)  # now the parent has it
        self.assertEqual(servers.cpu_of(2**22 + 1), 0.0)


class Profile(unittest.TestCase):
    def test_shares(self):
        lines = [" ffffffff821f02ab __schedule ([kernel.kallsyms])", " ffffffff821f02ac futex_wake ([kernel.kallsyms])",
                 " ffffffff82100000 tcp_sendmsg ([kernel.kallsyms])", " ffffffff1 finish_task_switch.isra.0 ([kernel.kallsyms])",
                 "     7f0012345678 wisp::run(Task*)+0x1f (/opt/lib/libwisp.so)", " 7f00 [unknown] (/tmp/perf-12.map)",
                 "     7f0012345670 schedule (/usr/lib/some.so)", "   7f01 JavaThread::run() (/jdk/lib/server/libjvm.so)", ""]
        self.assertEqual(list(profile.read(lines))[4], ("wisp::run(Task*)", "/opt/lib/libwisp.so"))
        self.assertEqual(profile.shares(profile.read(lines)), {"kernel_sched_pct": 37.5, "libwisp_pct": 12.5, "samples": 8})
        self.assertEqual(profile.shares([]), {})

    def test_kernel_functions(self):
        for name in ("try_to_wake_up", "enqueue_task_fair", "pick_next_task_fair", "__switch_to_asm", "__futex_wait", "ttwu_do_activate"):
            self.assertRegex(name, profile.KERNEL)
        for name in ("tcp_sendmsg", "copy_user_generic", "do_syscall_64", "__netif_receive_skb", "sock_def_readable", "schedule_me_not!"):
            self.assertNotRegex(name, profile.KERNEL)


class WrongAnswers(unittest.TestCase):
    """A server whose status is 200 and whose text is not what was asked for."""

    def test_a_wrong_text_is_a_failure(self):
        class Wrong(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"19 rows")

            def log_message(self, *_):
                pass
        listener = http.server.HTTPServer(("127.0.0.1", 0), Wrong)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        server = servers.Server.__new__(servers.Server)
        server.kind, server.main = jvm.PLAIN, argparse.Namespace(port=listener.server_port, said=lambda: "")
        command.load_workloads()
        for module in ("http", "rpc"):
            for load in sys.modules[f"wisplib.bench.workloads.{module}"].WORKLOADS[0].loads():
                if load.answer is None and not load.mix:
                    continue  # fortunes: the servlet compares its rows itself
                with self.subTest(load.name), self.assertRaisesRegex(jvm.Failure, "wrong answer '19 rows'"):
                    server.ask(load)
        server.ask(servers.Load("right", "", "", (), (), "/", "19 rows", (), None))
        listener.shutdown()
        listener.server_close()


class Servers(unittest.TestCase):
    """Series of servers with nothing behind them."""

    class Pair(servers.Servers):
        name, quick, full_connections = "pair", ("a", "b"), {"a": (64, 256)}

        def loads(self):
            for name, needs in (("a", ()), ("b", ("database",))):
                yield servers.Load(name, name.upper(), "Program", (), needs, "/", None, (jvm.PLAIN,), None)

    class Fake(servers.Server):
        started, loaded, ends_well = [], [], True

        def __init__(self, jdk, kind, program, arguments, needs, connections):
            self.started.append((needs, connections))
            self.warm = set()

        def under_load(self, load, seconds):
            self.loaded.append(load.text)
            return {"requests": 200_000, "per_s": 5.0}

        def stop(self):
            if not self.ends_well:
                raise jvm.Failure("it ran, but not on Wisp")

    def setUp(self):
        self.saved = (servers.Server, servers.build, servers.missing, wrk.require, jvm.require_library)
        servers.Server, servers.build, servers.missing = self.Fake, lambda: None, lambda need: None
        wrk.require = jvm.require_library = lambda: None
        self.Fake.started, self.Fake.loaded, self.Fake.ends_well = [], [], True

    def tearDown(self):
        servers.Server, servers.build, servers.missing, wrk.require, jvm.require_library = self.saved

    def run_pair(self, rows=None, **options):
        jdk = jdks.Jdk(*[25 if f == "major" else f for f in jdks.Jdk._fields])
        return runner.run(self.Pair(), fakes.context([jdk], rows=rows, **options), fakes.Silent())

    def test_loads_of_one_program_share_a_server(self):
        results = self.run_pair()
        self.assertEqual(self.Fake.loaded, ["A", "A", "B", "B", "A", "B"])  # warm-up, run, both; the second round
        self.assertEqual(self.Fake.started, [(("database",), 64)])
        self.assertEqual([s.values("per_s") for s in results.series], [[5.0, 5.0], [5.0, 5.0]])

    def test_connections(self):
        def ran(**options):
            self.Fake.started.clear()
            results = self.run_pair(runs=1, **options)
            return [(s.key["what"], s.key["connections"]) for s in results.series], self.Fake.started
        self.assertEqual(ran(connections=[8, 300]), ([("A", "8"), ("A", "300"), ("B", "8"), ("B", "300")],
                                                     [(("database",), 8), (("database",), 300)]))
        self.assertEqual(ran(full=True), ([("A", "64"), ("A", "256"), ("B", "64")], [(("database",), 64), ((), 256)]))
        self.assertEqual(ran(full=True, connections=[1]), ([("A", "1"), ("B", "1")], [(("database",), 1)]))

    def test_tomcat_has_a_thread_for_each_connection(self):
        servers.Server, fake = self.saved[0], servers.Server
        started, java = [], servers.java
        servers.java = lambda jdk, kind, program, arguments, folder: started.append(arguments)
        try:
            for connections in (1, 64, 1000):
                servers.Server(None, jvm.PLAIN, "ServletServer", connections=connections).folder.cleanup()
            servers.Server(None, jvm.PLAIN, "NettyServer", ("--transport", "nio")).folder.cleanup()
        finally:
            servers.Server, servers.java = fake, java
        self.assertEqual(started, [["--threads", 200], ["--threads", 200], ["--threads", 1000], ["--transport", "nio"]])

    def test_what_needs_postgresql_is_left_out_alone(self):
        servers.missing = lambda need: f"no {need}"
        results = self.run_pair()
        self.assertEqual([s.key["what"] for s in results.series], ["A"])
        self.assertIn("Left out: b: no database", results.notes)
        self.assertIsNone(results.unavailable)
        self.assertEqual(self.run_pair("b").unavailable, "b: no database")

    def test_rows(self):
        self.assertEqual([s.key["what"] for s in self.run_pair("b*").series], ["B"])
        self.assertIn("names none of a, b", self.run_pair("x").unavailable)

    def test_without_wrk(self):
        wrk.require = self.saved[3]
        with tempfile.TemporaryDirectory() as empty:
            before, os.environ["PATH"] = os.environ["PATH"], empty
            try:
                self.assertIn("wrk is not installed", self.run_pair().unavailable)
            finally:
                os.environ["PATH"] = before

    def test_a_server_found_at_its_end_to_be_plain_has_no_figures(self):
        self.Fake.ends_well = False
        results = self.run_pair()
        self.assertEqual([f for _, f in results.failures()], ["it ran, but not on Wisp"] * 2)
        self.assertEqual([s.values("per_s") for s in results.series], [[], []])

    def test_a_server_that_does_not_start_is_tried_once(self):
        started = []

        def refuse(*arguments):
            started.append(arguments)
            raise jvm.Failure("no port")
        self.Fake.__init__, init = refuse, self.Fake.__init__
        try:
            results = self.run_pair()
        finally:
            self.Fake.__init__ = init
        self.assertEqual(len(started), 1)
        self.assertEqual([f for _, f in results.failures()], ["no port"] * 2)


if __name__ == "__main__":
    unittest.main()
