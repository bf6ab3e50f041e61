# SPDX-License-Identifier: MIT
"""Prints what bank_bench and bank_python.py measured as tables in Markdown: medians, and ratios of timbre to its peers."""
import argparse
import json
import statistics

from cache_table import print_head, read_runs, time_table
from tables import table

MINE = "timbre C ABI"
CACHES = [MINE, "timbre auto", "HyperClockCache", "LRUCache", "list + map + mutex"]
BATCH = 256
TABLES = [
    ("get + release, ns", 1, "{:.1f}", [("hit", 16384, 16, threads) for threads in (1, 2)]),
    ("get + read a word + release, ns", 1, "{:.1f}", [("read", 16384, 16, 1)]),
    (f"batch of {BATCH} ids, ns for each", BATCH, "{:.1f}", [("batch", 16384, 16, 1)]),
]


def python_table(report):
    """Python's calls: medians of each way, and timbre's to those of the peers."""
    medians = {way: statistics.median(times) for way, times in report["nanoseconds"].items()}
    mine = medians["timbre"]
    rows = [[way, f"{median:.0f}", f"{mine / median:.2f}" if way in report["peers"] else ""] for way, median in medians.items()]
    return table([f"Python {report['python']}: get + release, ns", "median", "timbre / it"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", help="what bank_bench wrote with --benchmark_out_format=json")
    parser.add_argument("python_report", help="what bank_python.py wrote")
    arguments = parser.parse_args()
    runs, context, errors = read_runs(arguments.report)
    caches = [cache for cache in CACHES if any(key[1] == cache for key in runs)]
    print_head(runs, context)
    for description in TABLES:
        text = time_table(*description, runs, caches, MINE)
        if text:
            print("\n" + text)
    with open(arguments.python_report, encoding="utf-8") as file:
        print("\n" + python_table(json.load(file)))
    if errors:
        parser.exit(1, "bank-bench: " + "\nbank-bench: ".join(errors) + "\n")


if __name__ == "__main__":
    main()
