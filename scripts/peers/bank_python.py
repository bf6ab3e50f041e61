# SPDX-License-Identifier: MIT
"""Measures a cached voice's get and release in Python, beside cachetools.LRUCache and collections.OrderedDict.

The two are used as their users do where there are threads: each use is under a lock. All hold the same 16,384 voices and
are asked for the same ids (80 % of the requests for 20 % of them), in turns. They give an array and nothing to give back; a
voice's lease is given back at once.

Writes {"python": version, "peers": [...], "nanoseconds": {way: [for each call, once for each repetition]}}.
"""
import argparse
import collections
import json
import platform
import random
import threading
import time

import cachetools
import numpy as np
import timbre

ENTRIES = 16384
REQUESTS = 32768
BATCH = 256


def requests_of(ids):
    dice = random.Random(5)
    order = list(range(len(ids)))
    dice.shuffle(order)
    hot = len(ids) // 5
    return [ids[order[dice.randrange(hot) if dice.random() < 0.8 else dice.randrange(hot, len(ids))]] for _ in range(REQUESTS)]


def leased(voices, requests):
    get = voices.get
    for id in requests:
        get(id).release()


def leased_with(voices, requests):
    get = voices.get
    for id in requests:
        with get(id):
            pass


def leased_and_read(voices, requests):
    get = voices.get
    for id in requests:
        with get(id) as lease:
            lease.tensor("g")


def leased_batches(voices, requests):
    for first in range(0, len(requests), BATCH):
        for lease in voices.get_batch(requests[first : first + BATCH]):
            lease.release()


def locked_cachetools(lock, cache, requests):
    for id in requests:
        with lock:
            cache[id]


def locked_ordered_dict(lock, cache, requests):
    for id in requests:
        with lock:
            cache[id]
            cache.move_to_end(id)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    ids = [f"v{number:015d}" for number in range(ENTRIES)]
    vectors = {id: np.full(64, number, np.float32) for number, id in enumerate(ids)}
    requests = requests_of(ids)
    lock = threading.Lock()
    lru = cachetools.LRUCache(ENTRIES)
    lru.update(vectors)
    ordered = collections.OrderedDict(vectors)
    cachetools_name = "cachetools.LRUCache + lock"
    ordered_name = "OrderedDict + lock"
    with timbre.Engine(threads=1, device="cpu") as engine:
        voices = engine.voices
        for id, vector in vectors.items():
            voices.put(id, {"g": vector})
        ways = {
            "timbre": lambda: leased(voices, requests),
            "timbre, in a with block": lambda: leased_with(voices, requests),
            "timbre, with the tensor as an array": lambda: leased_and_read(voices, requests),
            f"timbre, in batches of {BATCH}": lambda: leased_batches(voices, requests),
            cachetools_name: lambda: locked_cachetools(lock, lru, requests),
            ordered_name: lambda: locked_ordered_dict(lock, ordered, requests),
        }
        times = {way: [] for way in ways}
        for repetition in range(arguments.repetitions + 1):
            for way, run in ways.items():
                begin = time.perf_counter_ns()
                run()
                if repetition > 0:  # the first round warms up
                    times[way].append((time.perf_counter_ns() - begin) / len(requests))
        stats = engine.stats()
        if stats.loads:
            parser.exit(1, f"bank-bench: {stats.loads} requests were no hits\n")
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"python": platform.python_version(), "cachetools": cachetools.__version__,
                   "peers": [cachetools_name, ordered_name], "nanoseconds": times}, file)


if __name__ == "__main__":
    main()
