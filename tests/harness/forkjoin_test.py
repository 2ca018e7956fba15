"""What `wisp bench forkjoin` makes of the trace that its program prints. No JVM is started."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from wisplib import jvm  # noqa: E402
from wisplib.bench import command, workload  # noqa: E402

command.load_workloads()
forkjoin = sys.modules["wisplib.bench.workloads.forkjoin"]


class ForkJoinTrace(unittest.TestCase):
    def test_phases_must_fill_the_operation(self):
        values = dict({p: "20" for p in forkjoin.PHASES}, traced_total_us="102")
        self.assertIs(forkjoin.adding_up(values), values)
        with self.assertRaisesRegex(jvm.Failure, "add up to 100.0 us, the submitter measured 140.0"):
            forkjoin.adding_up(dict(values, traced_total_us="140"))

    def test_timeline_and_phases(self):
        lanes, bounds = forkjoin.read_timeline(
            "submitter SUBMIT@0 PARK@1000 UNPARK@100000|"
            "worker BEGIN@40000 LEAF@41000 LEAF_END@51000 END@52000|"
            "worker BEGIN@10000 FORK@11000 JOIN@12000 BEGIN@13000 LEAF@14000 LEAF_END@15000 END@16000 JOINED@80000 END@90000")
        self.assertEqual(bounds, [0, 10, 40, 52, 90, 100])
        self.assertEqual([name for name, _ in lanes], ["submitter", "worker 1", "worker 2"])
        self.assertEqual(lanes[0][1], [("submitter waits", 1, 100)])
        self.assertEqual(lanes[1][1], [("fork", 11, 11), ("computes", 14, 15), ("waits in a join", 12, 80), ("divides or looks for work", 10, 90)])
        self.assertEqual(lanes[2][1], [("computes", 41, 51), ("divides or looks for work", 40, 52)])

    def test_parks_of_the_workers(self):
        lanes, bounds = forkjoin.read_timeline(
            "submitter SUBMIT@0 PARK@1000 UNPARK@100000|"
            "worker PARK@-500000 UNPARK@20000 PARK@25000 UNPARK@130000|"  # woken in vain
            "worker PARK@-500000 UNPARK@900000|"
            "worker PARK@-400000 UNPARK@9000 BEGIN@10000 END@90000 PARK@95000 UNPARK@950000")
        self.assertEqual(bounds, [0, 10, 10, 90, 90, 100])
        self.assertEqual(lanes[1:], [
            ("worker 1", [("parked", 0, 9), ("unpark", 9, 9), ("divides or looks for work", 10, 90), ("parked", 95, 100)]),
            ("worker 2", [("parked", 0, 20), ("unpark", 20, 20), ("parked", 25, 100)]),
            ("worker 3", [("parked", 0, 100)])])

    def test_what_is_said_of_parks(self):
        results = workload.Results([])
        for jdk, pool, texts in (("8u1", 4, {"no_parks": "none here"}), ("8u1", 8, {"no_parks": "none here"}), ("9", 4, {"no_parks": "none here"}),
                                 ("25", 2, {"no_parks": forkjoin.NOT_ASKED}), ("25", 4, {})):
            one = workload.Series(None, jdk=jdk, pool=pool, pause_us="1,000", kind="plain")
            one.samples, one.texts = [{} if texts else {**{m: 3 for m in forkjoin.PARKS}, "park_error_us": 0.25}], texts
            results.series.append(one)
        self.assertEqual(forkjoin.ForkJoin.without_parks(results), {"none here": ["JDK 8u1", "JDK 9"]})
        self.assertEqual(list(forkjoin.ForkJoin.parks(results)),
                         [["plain threads", "25", "4", "1,000", "3.00", "3.00", "3.00", "3.00", "0.25"]])


if __name__ == "__main__":
    unittest.main()
