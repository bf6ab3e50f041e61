# SPDX-License-Identifier: MIT
"""scripts/bench-compare on planted reports: slowdowns, noise, other machines, reports that cannot be used."""
import json
import os
import subprocess
import sys
import unittest

import planted

PROGRAM = os.path.join(planted.CHECKS, "..", "bench-compare")
CONTEXT = {"host_name": "one", "num_cpus": 2, "instruction_set": "avx2"}
STEADY = [100, 101, 99, 100, 102]


def rows(name, times, unit="ms", **more):
    return [dict({"name": name, "run_name": name, "run_type": "iteration", "real_time": time, "time_unit": unit}, **more)
            for time in times]


class BenchCompareTest(planted.PlantedTest):
    def report(self, path, *benchmarks, **context):
        listed = [row for benchmark in benchmarks for row in benchmark]
        return self.plant(path, json.dumps({"context": dict(CONTEXT, **context), "benchmarks": listed}))

    def compare(self, base, new, *options):
        run = subprocess.run([sys.executable, PROGRAM, base, new, *options], capture_output=True, text=True)
        return run.returncode, run.stdout, run.stderr

    def against(self, base_times, new_times, *options):
        return self.compare(self.report("base.json", rows("speech/a", base_times)),
                            self.report("new.json", rows("speech/a", new_times)), *options)

    def test_equal_reports_pass(self):
        status, said, error = self.against(STEADY, STEADY)
        self.assertEqual((status, error), (0, ""))
        self.assertIn("| speech/a | 100 ms | 100 ms | 1.00 |", said)
        self.assertIn("1 compared, 0 slower", said)
        self.assertNotIn("differ", said)

    def test_a_planted_slowdown_fails(self):
        status, said, _ = self.against(STEADY, [1.2 * time for time in STEADY])
        self.assertEqual(status, 1)
        self.assertIn("| 1.20 |", said)
        self.assertIn("| slower |", said)

    def test_the_threshold_decides(self):
        slower = [1.2 * time for time in STEADY]
        self.assertEqual(self.against(STEADY, slower, "--threshold", "1.25")[0], 0)
        self.assertEqual(self.against(STEADY, slower, "--threshold", "1.15")[0], 1)

    def test_a_slowdown_within_the_noise_is_told_and_passes(self):
        status, said, _ = self.against([70, 100, 100, 150, 160], [80, 125, 125, 160, 165])
        self.assertEqual(status, 0)
        self.assertIn("within the spread", said)

    def test_one_bad_repetition_is_no_slowdown(self):
        self.assertEqual(self.against(STEADY, STEADY[:4] + [900])[0], 0)

    def test_single_runs_go_by_the_threshold_alone(self):
        self.assertEqual(self.against([100], [120])[0], 1)
        self.assertEqual(self.against([100], [105])[0], 0)

    def test_what_became_faster_is_told(self):
        status, said, _ = self.against(STEADY, [0.5 * time for time in STEADY])
        self.assertEqual(status, 0)
        self.assertIn("| faster |", said)

    def test_units_are_converted(self):
        base = self.report("base.json", rows("a", [1000], "us"))
        self.assertIn("| 1.00 |", self.compare(base, self.report("new.json", rows("a", [1.0], "ms")))[1])

    def test_aggregates_are_left_aside(self):
        mean = rows("a", [9000], run_type="aggregate", aggregate_name="mean")
        base = self.report("base.json", rows("a", STEADY), mean)
        self.assertIn("| 1.00 |", self.compare(base, self.report("new.json", rows("a", STEADY)))[1])

    def test_missing_and_new_benchmarks_are_told(self):
        base = self.report("base.json", rows("a", STEADY), rows("gone", STEADY))
        status, said, _ = self.compare(base, self.report("new.json", rows("a", STEADY), rows("fresh", STEADY)))
        self.assertEqual(status, 0)
        self.assertIn("Missing in NEW: gone.", said)
        self.assertIn("Only in NEW: fresh.", said)

    def test_other_machines_are_told(self):
        base = self.report("base.json", rows("a", STEADY))
        new = self.report("new.json", rows("a", STEADY), host_name="two", instruction_set="avx512-bf16")
        said = self.compare(base, new)[1]
        self.assertIn("The machines differ: one and two.", said)
        self.assertIn("The instruction sets differ: avx2 and avx512-bf16.", said)

    def test_a_benchmark_that_failed_in_new_fails(self):
        failed = [{"name": "a", "run_name": "a", "error_occurred": True, "error_message": "no voice"}]
        status, said, _ = self.compare(self.report("base.json", rows("a", STEADY)), self.report("new.json", failed))
        self.assertEqual(status, 1)
        self.assertIn("Failed in NEW: a: no voice.", said)

    def test_reports_that_cannot_be_used_are_named(self):
        good = self.report("good.json", rows("a", STEADY))
        for text, reason in (
            ("{", "no JSON"),
            ("[]", "no list 'benchmarks'"),
            ('{"benchmarks": 7}', "no list 'benchmarks'"),
            ('{"benchmarks": []}', "no run of a benchmark"),
            ('{"benchmarks": [{"real_time": 1}]}', "without a name"),
            ('{"benchmarks": [{"name": "a"}]}', "real_time is None"),
            ('{"benchmarks": [{"name": "a", "real_time": 0}]}', "above 0"),
            ('{"benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}', "time_unit is 'h'"),
            ('{"benchmarks": [{"name": "other", "real_time": 1}]}', "none of its benchmarks"),
        ):
            bad = self.plant("bad.json", text)
            status, said, error = self.compare(good, bad)
            self.assertEqual((status, said), (2, ""), text)
            self.assertIn(bad, error)
            self.assertIn(reason, error)
        status, _, error = self.compare(os.path.join(self.root, "absent.json"), good)
        self.assertEqual(status, 2)
        self.assertIn("absent.json: No such file", error)

    def test_a_threshold_below_one_is_wrong_usage(self):
        for threshold in ("0.9", "nan", "inf", "much"):
            self.assertEqual(self.against(STEADY, STEADY, "--threshold", threshold)[0], 2)


if __name__ == "__main__":
    unittest.main()
