"""The statistics of the reports (scripts/wisplib/stats.py), what a report shows, and the runner's rounds and deadlines."""

import argparse
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from wisplib import stats, table  # noqa: E402
from wisplib.bench import command, machine, report, runner, workload  # noqa: E402
from wisplib import jvm  # noqa: E402
import fakes  # noqa: E402


class Stats(unittest.TestCase):
    def test_median_and_its_deviation_ignore_one_bad_run(self):
        self.assertEqual(stats.median_mad([10, 11, 12, 13, 9000]), (12, 1))
        self.assertEqual(stats.median_mad([4, 8]), (6, 2))
        self.assertEqual(stats.median_mad([7]), (7, 0))
        with self.assertRaises(ValueError):
            stats.median_mad([])

    def test_percentile_is_a_sample(self):
        samples = [5, 1, 4, 2, 3]
        self.assertEqual([stats.percentile(samples, p) for p in (0, 50, 100)], [1, 3, 5])
        self.assertEqual(stats.percentile(samples, 76), 4)
        self.assertEqual(stats.percentile([9], 99), 9)
        with self.assertRaises(ValueError):
            stats.percentile([], 50)

    def test_summary(self):
        self.assertEqual(stats.summary([1, 2, 6]), {"median": 2, "mad": 1, "mean": 3, "min": 1, "max": 6, "runs": 3})

    def test_ratio_is_taken_round_by_round(self):
        # Both were twice as slow in the second round: the ratio is the same in all.
        self.assertEqual(stats.median_ratio([30, 60, 30], [10, 20, 10]), (3, 0))
        # Not the ratio of the medians, which would be 2 / 4.
        self.assertEqual(stats.median_ratio([1, 2, 9], [4, 1, 9])[0], 1)
        self.assertEqual(stats.median_ratio([10], [0, 5]), None)
        self.assertEqual(stats.median_ratio([None, 8], [1, 2]), (4, 0))
        self.assertIsNone(stats.median_ratio([], [1]))

    def test_bend(self):
        self.assertIsNone(stats.bend([(1, 10), (2, 20), (4, 40)]))
        self.assertIsNone(stats.bend([(1, 10), (2, 16), (4, 26)]))  # 60 % of what would be in proportion
        self.assertEqual(stats.bend([(1, 10), (2, 20), (4, 22), (8, 44)]), 2)
        self.assertEqual(stats.bend([(1, 10), (2, 9)]), 1)
        self.assertIsNone(stats.bend([]))

    def test_numbers_as_printed(self):
        self.assertEqual([table.number(v) for v in (0.123, 9.999, 12.34, 1234567)], ["0.12", "10.00", "12.3", "1,234,567"])
        self.assertEqual(table.spread([100.4, 104, 300]), "104 ± 3.60")
        self.assertEqual(table.spread([5]), "5.00")
        self.assertEqual(table.mean_range([100, 104, 300]), "168 (100 … 300)")
        self.assertEqual(table.mean_range([5]), "5.00")


class Figures(unittest.TestCase):
    """What a failed run does to a series."""

    def series(self, *outcomes):
        outcomes = iter(outcomes)

        def run():
            value = next(outcomes)
            if isinstance(value, Exception):
                raise value
            return value
        return workload.Series(run, kind="wisp", jdk="17")

    def test_one_failure_takes_all_figures(self):
        one = self.series({"ms": "1.5", "check": "ok"}, jvm.Failure("wrong sum"), {"ms": "2.5"})
        runner.attempt(one)
        self.assertEqual(one.values("ms"), [1.5])
        runner.attempt(one)
        runner.attempt(one)
        self.assertEqual(one.values("ms"), [])
        results = workload.Results([one])
        self.assertEqual(results.cell("ms", kind="wisp"), "failed")
        self.assertEqual(results.failures(), [("JDK 17 wisp", "wrong sum")])

    def test_ratio_needs_both(self):
        good, bad = self.series({"ms": "2"}), self.series(jvm.Failure("x"))
        bad.key["kind"] = "plain"
        for one in (good, bad):
            runner.attempt(one)
        part = workload.by_kind("", workload.Results([bad, good]), "ms", ["jdk"])
        self.assertEqual(part.rows, [["17", "failed", "2.00", "–"]])

    def test_csv_has_no_figure_of_a_failed_series(self):
        bad = self.series({"ms": "777"}, jvm.Failure("x"))
        for _ in range(2):
            runner.attempt(bad)

        class Empty(workload.Workload):
            name = "empty"
        text = report.csv_lines([report.Section(Empty(), workload.Results([bad]), None)])
        self.assertIn("failed", text)
        self.assertNotIn("777", text)


class PublishedFigures(unittest.TestCase):
    PLACED = (workload.Published("off", "80", "ms", "study", "plain threads", {"cores": "1"}),
              workload.Published("on", "8", "ms", "study", "Wisp", {"cores": "1"}),
              workload.Published("off, 4", "90", "ms", "study", "plain threads", {"cores": "4"}),
              workload.Published("off, again", "85", "ms", "study", "plain threads", {"cores": "1"}),
              workload.Published("off", "70", "ms", "wiki", "plain threads", {"cores": "1"}))
    OTHERS = (workload.Published("no column", "1", "ms", "x"), workload.Published("of another table", "2", "ms", "x", "rate"),
              workload.Published("no such row", "3", "ms", "x", "Wisp", {"clients": "9"}))
    OURS = workload.Table("", ["jdk", "cores", "plain threads", "Wisp"], [["17", "1", "5", "4"]])

    def test_those_of_one_row_stand_in_one(self):
        part = workload.beside(self.OURS, self.PLACED + self.OTHERS)
        self.assertEqual([(b.cells, b.source) for b in part.beside], [
            (["published", "1", "80", "8"], "study"), (["published", "4", "90", ""], "study"),
            (["published", "1", "85", ""], "study"), (["published", "1", "70", ""], "wiki")])
        header, rows = workload.grid(part)
        self.assertEqual({len(row) for row in [header, *rows]}, {5})
        self.assertEqual(rows[0], ["17", "1", "5", "4", ""])
        self.assertEqual(workload.grid(self.OURS), (self.OURS.header, self.OURS.rows))

    def test_each_is_shown_once(self):
        class Tabled(workload.Workload):
            name, published = "tabled", self.PLACED + self.OTHERS

            def parts(self, context, results):
                yield workload.beside(PublishedFigures.OURS, self.published)
        one = workload.Series(lambda: {"ms": 1}, kind="wisp")
        empty = report.Section(Tabled(), workload.Results([one]), None)
        self.assertEqual(len(empty.published), len(Tabled.published))  # nothing ran: there is no table of ours
        runner.attempt(one)
        ran = report.Section(Tabled(), workload.Results([one]), None)
        self.assertEqual([row[0] for row in ran.published], ["no column", "of another table", "no such row"])

    def test_each_of_ours_has_a_place(self):
        for one in command.load_workloads().values():
            for figure in one.published:
                self.assertTrue(figure.column and figure.source, figure)


class Installed(unittest.TestCase):
    """In a package there are no native benchmarks: they have not failed, they are not there."""

    def run_workload(self, name, **options):
        one = command.load_workloads()[name]
        fake = argparse.Namespace(label="17", major=17)
        with tempfile.TemporaryDirectory() as root, unittest.mock.patch.object(jvm, "ROOT", Path(root)), \
                unittest.mock.patch.object(jvm, "build_bench"), unittest.mock.patch.object(runner, "rounds"):
            return runner.run(one, fakes.context([fake], [one], **options), fakes.Silent())

    def test_the_rest_goes_on(self):
        for name in ("switch", "scale", "goals"):
            with self.subTest(name):
                results = self.run_workload(name)
                self.assertEqual((results.failures(), results.unavailable), ([], None))
                self.assertRegex(results.notes[0], "^Left out: .*native benchmark wisp_.*_bench is part of the source tree only")
                self.assertTrue(results.series)
                words = " ".join(one.label() for one in results.series)
                for native in ("native", "queues", "_bench"):
                    self.assertNotIn(native, words)

    def test_nothing_else_was_asked_for(self):
        self.assertIn("source tree only", self.run_workload("goals", rows="switch").unavailable)


class NowhereToWrite(unittest.TestCase):
    """A service's user without a home folder: said like anything else that is missing, not by a traceback."""

    def test_where_the_classes_go(self):
        with tempfile.NamedTemporaryFile() as no_folder, tempfile.TemporaryDirectory() as root, \
                unittest.mock.patch.object(jvm, "ROOT", Path(root)):
            with self.assertRaisesRegex(jvm.Failure, "bench-classes cannot be written: Not a directory; WISP_CACHE names"):
                jvm.compile_newer([Path(__file__)], Path(no_folder.name) / "bench-classes")


class Machine(unittest.TestCase):
    def test_a_busy_machine_is_called_so(self):
        def busy(before, after, cores=2):
            return machine.busy({"cores": cores, "load_before": [before, 0, 0], "load_after": [after, 0, 0]})
        self.assertIsNone(busy(0.3, 2.5))
        self.assertIn("load 7.5 before", busy(7.5, 3))
        self.assertIn("not to be compared", busy(0.3, 12))
        self.assertIsNone(busy(7.5, 12, cores=64))


class Rounds(unittest.TestCase):
    def run_workload(self, full, limit, order):
        class Two(workload.Workload):
            name = "two"

            def series(self, context):
                for kind in ("plain", "wisp"):
                    yield workload.Series(lambda kind=kind: order.append(kind) or {"ms": 1}, kind=kind, jdk="17")
        before, runner.QUICK_LIMIT = runner.QUICK_LIMIT, limit
        try:
            return runner.run(Two(), fakes.context(full=full), fakes.Silent())
        finally:
            runner.QUICK_LIMIT = before

    def test_kinds_take_turns_after_a_warm_up(self):
        order = []
        results = self.run_workload(True, 0, order)
        self.assertEqual(order, ["plain", "wisp"] * 3)
        self.assertEqual([len(s.samples) for s in results.series], [2, 2])
        order.clear()
        self.run_workload(False, 60, order)
        self.assertEqual(order, ["plain"] + ["plain", "wisp"] * 2)  # one warm-up per JDK

    def test_a_quick_run_ends_in_time_and_says_so(self):
        results = self.run_workload(False, -1, [])
        self.assertEqual([len(s.samples) for s in results.series], [0, 0])
        self.assertIn("Not reached: JDK 17 plain; JDK 17 wisp", results.notes[0])
        self.assertIsNone(jvm.deadline)

    def test_a_program_is_ended_at_the_deadline_and_has_not_failed(self):
        test = self

        class Slow(workload.Workload):
            name = "slow"

            def series(self, context):
                yield workload.Series(lambda: {"ms": 1}, kind="plain")
                yield workload.Series(self.sleep, kind="wisp")

            def sleep(self):
                # The run has a deadline. It is brought near here: on a busy machine one that is near from the
                # start may come before the first series.
                test.assertLessEqual(jvm.deadline, time.monotonic() + 600)
                jvm.deadline = time.monotonic() + 0.3
                while True:  # as jvm.run does when its child is ended
                    time.sleep(jvm.time_left(60))
                    jvm.check_time()
        before, runner.QUICK_LIMIT = runner.QUICK_LIMIT, 600
        try:
            begin = time.monotonic()
            results = runner.run(Slow(), fakes.context(), fakes.Silent())
        finally:
            runner.QUICK_LIMIT = before
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual([len(s.samples) for s in results.series], [1, 0])
        self.assertEqual(results.failures(), [])
        self.assertEqual(results.cell("ms", kind="wisp"), "–")
        self.assertIn("Not reached: wisp.", results.notes[0])

    @unittest.mock.patch.object(command.time, "monotonic", lambda: 1000.0)
    def test_minutes_are_shared_by_weight_and_leftovers_go_on(self):
        first, second = workload.Workload(), workload.Workload()
        first.name, first.weight, second.name, second.weight = "first", 30, "second", 90
        context = fakes.context(chosen=[first, second], minutes=2)
        whole = 120 - command.AT_THE_END
        self.assertAlmostEqual(context.limit(first), whole / 4, delta=1)
        context.ahead = [second]  # the first one took next to nothing
        self.assertAlmostEqual(context.limit(second), whole, delta=1)
        self.assertIsNone(fakes.context(full=True).limit(first))
        self.assertEqual(fakes.context().limit(first), runner.QUICK_LIMIT)


if __name__ == "__main__":
    unittest.main()
