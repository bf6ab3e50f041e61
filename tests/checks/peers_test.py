# SPDX-License-Identifier: MIT
"""The arithmetic of scripts/compare-peers' measure of live streams: its search, and its percentiles."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "peers"))
import live


class LiveTest(unittest.TestCase):
    def test_the_search_finds_what_is_carried_to_six_percent(self):
        for carried in (0, 1, 2, 3, 7, 8, 20, 33, 64, 100):
            tried = []

            def passes(count):
                tried.append(count)
                return count <= carried

            found = live.largest(passes)
            self.assertLessEqual(found, carried)
            self.assertGreaterEqual(found + max(1, found // 16), carried)
            if carried < 16:
                self.assertEqual(found, carried)
            self.assertLessEqual(len(tried), 13)

    def test_the_search_ends_at_its_limit(self):
        self.assertEqual(live.largest(lambda count: True, limit=15), 15)
        self.assertEqual(live.largest(lambda count: True, limit=1), 1)

    def test_percentiles_go_by_nearest_rank(self):
        values = list(range(1, 101))
        self.assertEqual([live.percentile(values, p) for p in (50, 95, 99, 100)], [50, 95, 99, 100])
        self.assertEqual(live.percentile([7], 99), 7)
        self.assertEqual(live.percentile([1, 2, 3], 50), 2)


if __name__ == "__main__":
    unittest.main()
