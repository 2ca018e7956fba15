"""What `wisp bench http` and `rpc` compute: wrk's answer, CPU per request, perf's samples; what they do without wrk
or h2load, without PostgreSQL, or with a server that fails; over how many connections. No server of theirs is started."""

import argparse
import contextlib
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
from wisplib.bench import command, generator, h2load, profile, runner, servers, wrk  # noqa: E402
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


class H2load(unittest.TestCase):
    SUMMARY = ("finished in 2.01s, 1.5 req/s, 3.77MB/s\n"
               "requests: 3 total, 5 started, 3 done, 3 succeeded, 0 failed, 0 errored, 0 timeout\n"
               "status codes: 4 2xx, 0 3xx, 0 4xx, 0 5xx\n"
               "traffic: 7.53MB (7896352) total, 5.04MB (5286575) headers (space savings 0.00%), 28B (28) data\n")
    TIMES = ["1795643376694025\t200\t2850\n", "1795643376694037\t200\t1000\n", "1795643376694045\t200\t40001\n"]
    # Of a server that sends no reason phrase.
    UNSEEN = SUMMARY.replace("4 2xx", "0 2xx").replace("3 succeeded, 0 failed", "0 succeeded, 3 failed")

    def test_figures(self):
        figures = {"requests": 3, "per_s": 1.5, "p50_ms": 2.85, "p99_ms": 40.001, "p99_9_ms": 40.001, "max_ms": 40.001}
        self.assertEqual(h2load.parse(self.SUMMARY, self.TIMES, 2, 7), figures)
        self.assertEqual(h2load.parse(self.UNSEEN, self.TIMES, 2, 7), figures)

    def test_percentiles(self):
        summary = self.SUMMARY.replace("3 done", "1000 done").replace("5 started", "1000 started").replace("(28)", "(7000)")
        values = h2load.parse(summary, [f"1 200 {n}" for n in range(1000, 0, -1)], 1, 7)
        self.assertEqual([values[k] for k in ("p50_ms", "p99_ms", "p99_9_ms")], [0.501, 0.991, 1.0])

    def test_errors_have_no_figure(self):
        for was, wrong, said in (("0 errored", "7 errored", "7 errored"), ("0 timeout", "7 timeout", "7 timeout"),
                                 ("0 4xx", "7 4xx", "7 wrong status of 3"), ("0 5xx", "7 5xx", "7 wrong status of 3"),
                                 ("0 3xx", "7 3xx", "7 wrong status of 3"), ("3 done", "0 done", "no answer at all"),
                                 ("requests:", "", "no result of h2load"), ("(28) data", "(27) data", "27 bytes for 3 to 5 answers of 7"),
                                 ("(28) data", "(14) data", "14 bytes"), ("(28) data", "(42) data", "42 bytes")):
            for summary in (self.SUMMARY, self.UNSEEN):
                with self.subTest(wrong), self.assertRaisesRegex(jvm.Failure, said):
                    h2load.parse(summary.replace(was, wrong), self.TIMES, 2, 7)
        with self.assertRaisesRegex(jvm.Failure, "wrote down 2 of 3"):
            h2load.parse(self.SUMMARY, self.TIMES[1:], 2, 7)

    def test_what_it_cannot_do(self):
        command.load_workloads()
        rows = {load.name: h2load.cannot(load) for load in sys.modules["wisplib.bench.workloads.http"].WORKLOADS[0].loads()}
        self.assertRegex(rows.pop("mix"), "a mix needs wrk")
        self.assertRegex(rows.pop("fortunes"), "not fixed")
        self.assertEqual(set(rows.values()), {None})

    @unittest.skipIf(shutil.which("h2load") is None, "h2load is not installed")
    def test_a_server(self):
        for phrase in ("OK", ""):
            with self.subTest(phrase), answering(lambda asked, phrase=phrase: (200, phrase)) as url:
                values = h2load.run(url + "/a", 2, 1, size=5)
                self.assertGreater(values["requests"], 0)
                self.assertEqual(values["per_s"], values["requests"])
                self.assertLessEqual(values["p50_ms"], values["p99_9_ms"])
                with self.assertRaisesRegex(jvm.Failure, "answers of 6"):
                    h2load.run(url + "/a", 2, 1, size=6)
        with answering(lambda asked: (500, "No")) as url, self.assertRaisesRegex(jvm.Failure, "wrong status"):
            h2load.run(url + "/a", 2, 1, size=5)


@contextlib.contextmanager
def answering(answer, body=b"hello"):
    """The address of a server that answers a path with these bytes, and the status and phrase that answer(path) says."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(*answer(self.path))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}"
    finally:
        listener.shutdown()
        listener.server_close()


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

        def count(path):
            asked.append(path)
            return 200, "OK"
        with answering(count) as url:
            values = wrk.run(url, 1, 1, [(70, "/a"), (30, "/b")])
            self.assertGreater(values["requests"], 0)
            with self.assertRaisesRegex(jvm.Failure, "percentages do not make 100"):
                wrk.run(url, 1, 1, [(70, "/a"), (29, "/b")])
        self.assertEqual(set(asked[:50]), {"/a", "/b"})
        spread = 4 * (0.7 * 0.3 / len(asked)) ** 0.5
        self.assertAlmostEqual(asked.count("/a") / len(asked), 0.7, delta=spread)


class Cpu(unittest.TestCase):
    def test_per_request(self):
        self.assertEqual(generator.costs(1000, 0.05, 0.02, 0.01),
                         {"cpu_us": 50, "beside_cpu_us": 20, "load_cpu_us": 10, "all_cpu_us": 80})

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
        server = servers.Server.__new__(servers.Server)
        command.load_workloads()
        with answering(lambda path: (200, "OK"), b"19 rows") as url:
            server.kind, server.main = jvm.PLAIN, argparse.Namespace(port=url.rpartition(":")[2], said=lambda: "")
            for module in ("http", "rpc"):
                for load in sys.modules[f"wisplib.bench.workloads.{module}"].WORKLOADS[0].loads():
                    if load.answer is None and not load.mix:
                        continue  # fortunes: the servlet compares its rows itself
                    with self.subTest(load.name), self.assertRaisesRegex(jvm.Failure, "wrong answer '19 rows'"):
                        server.ask(load)
            server.ask(servers.Load("right", "", "", (), (), "/", "19 rows", (), None))


class Servers(unittest.TestCase):
    """Series of servers with nothing behind them."""

    class Pair(servers.Servers):
        name, quick, full_connections = "pair", ("a", "b"), {"a": (64, 256)}

        def loads(self):
            for name, needs in (("a", ()), ("b", ("database",))):
                yield servers.Load(name, name.upper(), "Program", (), needs, "/", None, (jvm.PLAIN,), None)

    class Fake(servers.Server):
        started, loaded, loads_by, ends_well = [], [], [], True

        def __init__(self, jdk, kind, program, arguments, needs, connections, load_by):
            self.loads_by.append(load_by)
            self.started.append((needs, connections))
            self.warm = set()

        def under_load(self, load, seconds):
            self.loaded.append(load.text)
            return {"requests": 200_000, "per_s": 5.0}

        def stop(self):
            if not self.ends_well:
                raise jvm.Failure("it ran, but not on Wisp")

    def setUp(self):
        self.saved = (servers.Server, servers.build, servers.missing, wrk.require, h2load.require, jvm.require_library)
        servers.Server, servers.build, servers.missing = self.Fake, lambda: None, lambda need: None
        wrk.require = h2load.require = jvm.require_library = lambda: None
        self.Fake.started, self.Fake.loaded, self.Fake.loads_by, self.Fake.ends_well = [], [], [], True

    def tearDown(self):
        servers.Server, servers.build, servers.missing, wrk.require, h2load.require, jvm.require_library = self.saved

    def run_pair(self, rows=None, workload=Pair, **options):
        jdk = jdks.Jdk(*[25 if f == "major" else f for f in jdks.Jdk._fields])
        return runner.run(workload(), fakes.context([jdk], rows=rows, **options), fakes.Silent())

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

    def test_without_a_generator(self):
        wrk.require, h2load.require = self.saved[3:5]
        with tempfile.TemporaryDirectory() as empty:
            before, os.environ["PATH"] = os.environ["PATH"], empty
            try:
                self.assertIn("wrk is not installed", self.run_pair().unavailable)
                self.assertIn("h2load is not installed", self.run_pair(generator="h2load").unavailable)
            finally:
                os.environ["PATH"] = before

    def test_the_generator(self):
        self.run_pair(runs=1)
        self.assertEqual(self.Fake.loads_by, [wrk])
        results = self.run_pair(runs=1, generator="h2load")
        # Pair's answers are not compared, so their size is not known.
        self.assertIn("a: h2load tells Tomcat's answers by their size, which is not fixed here", results.unavailable)

        class Known(self.Pair):
            def loads(self):
                return [load._replace(answer="right") for load in super().loads()]
        self.run_pair(runs=1, generator="h2load", workload=Known)
        self.assertEqual(self.Fake.loads_by, [wrk, h2load])

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
