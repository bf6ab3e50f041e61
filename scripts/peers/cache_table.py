# SPDX-License-Identifier: MIT
"""Prints what cache_bench measured as tables in Markdown: medians, and ratios of timbre to its peers.

Times are those that one thread sees: wall time by the operations of one thread. Google Benchmark writes wall time by the
operations of all threads.
"""
import argparse
import json
import statistics

from tables import processor, table

MINE = "timbre auto"
CACHES = [MINE, "timbre lru", "timbre s3fifo", "HyperClockCache", "LRUCache", "list + map + mutex"]
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
BATCH = 1000
# Title, what a figure is divided by, its form, the benchmarks of its columns as (operation, entries, id bytes, threads).
TABLES = [
    ("hit: lookup + release, ns", 1, "{:.1f}",
     [("hit", entries, id_bytes, threads) for id_bytes in (16, 64) for entries in (16384, 1000000) for threads in (1, 2)]),
    ("hit, with reading a word of the row, ns", 1, "{:.1f}", [("read", entries, 16, 1) for entries in (16384, 1000000)]),
    ("batch of 1,000 ids, ns for each", BATCH, "{:.1f}", [("batch", entries, 16, 1) for entries in (16384, 1000000)]),
    ("insert + evict, ns", 1, "{:.0f}", [("insert_evict", entries, 16, 1) for entries in (16384, 1000000)]),
    ("put again, ns", 1, "{:.0f}", [("put_again", entries, 16, 1) for entries in (16384, 1000000)]),
    ("fill, ms", 1e6, "{:.0f}", [("fill", 1000000, 16, 1)]),
]


def read_runs(path):
    """{(operation, cache, entries, id bytes, threads): [run, ...]}, what the run was made with, and its errors."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    runs = {}
    errors = []
    for run in report["benchmarks"]:
        if run.get("run_type") != "iteration":
            continue
        operation, cache, entries, id_bytes = run["name"].split("/")[:4]
        if run.get("error_occurred"):
            errors.append(f"{run['name']}: {run['error_message']}")
        else:
            runs.setdefault((operation, cache, int(entries), int(id_bytes), run["threads"]), []).append(run)
    return runs, report["context"], errors


def nanoseconds(runs):
    return [run["real_time"] * NANOSECONDS[run["time_unit"]] * run["threads"] for run in runs]


def column_title(column):
    _, entries, id_bytes, threads = column
    return f"{entries:,} x {id_bytes} B" + (f", {threads} threads" if threads > 1 else "")


def time_table(title, divisor, form, columns, runs, caches, mine=MINE):
    """Medians, and the ratios of `mine` to each cache that is not timbre's; None where nothing was measured."""
    columns = [c for c in columns if any((c[0], cache) + c[1:] in runs for cache in caches)]
    if not columns:
        return None
    values = {
        (cache, c): statistics.median(nanoseconds(runs[key])) / divisor
        for cache in caches for c in columns if (key := (c[0], cache) + c[1:]) in runs
    }
    rows = [[cache] + [form.format(values[cache, c]) if (cache, c) in values else "-" for c in columns]
            for cache in caches]
    for peer in caches:
        if not peer.startswith("timbre"):
            both = [(mine, c) in values and (peer, c) in values for c in columns]
            rows.append([f"{mine} / {peer}"] + [
                f"{values[mine, c] / values[peer, c]:.2f}" if there else "-" for c, there in zip(columns, both)
            ])
    return table([title] + [column_title(c) for c in columns], rows)


def memory_table(runs, caches):
    """Bytes for each entry beside its id and its row: what the system gave, and what timbre says of itself."""
    kinds = sorted({(key[2], key[3]) for key in runs if key[0] == "memory"})
    rows = []
    for cache in caches:
        row = [cache]
        for entries, id_bytes in kinds:
            run = runs.get(("memory", cache, entries, id_bytes, 1), [{}])[0]
            row.append(f"{run['rss_bytes']:.1f}" if "rss_bytes" in run else "-")
            # It counts an id of up to 16 bytes in, since that lies inside the entry.
            row.append(f"{run['own_bytes'] - (16 if id_bytes <= 16 else 0):.1f}" if "own_bytes" in run else "-")
        rows.append(row)
    head = ["bytes for each entry beside id and row"]
    for entries, id_bytes in kinds:
        head += [f"{entries:,} x {id_bytes} B, by RSS", "by its own count"]
    return table(head, rows) if kinds else None


def spread(runs):
    """The widest middle half of the repetitions of one benchmark, by its median; and which it is."""
    widest = (0.0, None)
    for key, repetitions in runs.items():
        if len(repetitions) > 2:
            times = nanoseconds(repetitions)
            low, middle, high = statistics.quantiles(times, n=4)
            widest = max(widest, ((high - low) / middle, "/".join(map(str, key))))
    return widest


def print_head(runs, context):
    """What the figures were made with, and how far they may be trusted."""
    repetitions = max((len(list_of) for list_of in runs.values()), default=0)
    load = ", ".join(f"{number:.2f}" for number in context["load_avg"])
    print(f"{context['date'][:10]}, {processor()} (instruction set {context['instruction_set']}); RocksDB {context['rocksdb']}; "
          f"medians of {repetitions}; load before: {load}.")
    width, widest = spread(runs)
    if widest:
        print(f"The middle half of the repetitions is {100 * width:.0f} % of the median wide at the worst ({widest}).")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", help="what cache_bench wrote with --benchmark_out_format=json")
    runs, context, errors = read_runs(parser.parse_args().report)
    caches = [cache for cache in CACHES if any(key[1] == cache for key in runs)]
    print_head(runs, context)
    tables = [time_table(*description, runs, caches) for description in TABLES] + [memory_table(runs, caches)]
    for text in tables:
        if text:
            print("\n" + text)
    if errors:
        parser.exit(1, "cache-bench: " + "\ncache-bench: ".join(errors) + "\n")


if __name__ == "__main__":
    main()
