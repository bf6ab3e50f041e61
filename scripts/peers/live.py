# SPDX-License-Identifier: MIT
"""Measure: how many real-time readers an engine carries on these cores without one starved read.

The largest number is searched with trials of a quarter of the soak, doubling, then halving the gap; the soak itself must
then confirm it, else one in eight fewer readers are tried. First audio is measured at half of that number, in
conversations. Every trial is a process of its own (live_worker.py). piper-tts gives whole sentences, timbre streams.
"""
import json
import subprocess
import sys

from engine_process import HERE
from tables import table

ENGINES = {"piper-tts": "piper-tts", "timbre (Python)": "timbre"}
MOST_READERS = 1024


def trial(kind, readers, seconds, manner, setting):
    path = setting.model if kind == "timbre" else setting.copy
    command = [sys.executable, str(HERE / "live_worker.py"), kind, str(path), str(setting.threads), str(readers),
               str(seconds), manner]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"compare-peers: live: {kind} with {readers} readers ended with status {run.returncode}")
    answer = json.loads(run.stdout)
    print(f"live: {kind}, {readers} readers {manner} for {seconds:g} s: {answer['starved']} of {answer['reads']} reads starved",
          file=sys.stderr)
    return answer


def largest(passes, limit=MOST_READERS):
    """The largest n of 1..limit that passes, by doubling and then halving the gap; 0 when 1 does not."""
    good, bad = 0, 1
    while bad <= limit and passes(bad):
        good, bad = bad, 2 * bad
    bad = min(bad, limit + 1)
    while bad - good > max(1, good // 16):  # to 6 %
        middle = (good + bad) // 2
        good, bad = (middle, bad) if passes(middle) else (good, middle)
    return good


def sustained(kind, setting):
    """Readers that the whole soak carries."""
    short = max(setting.soak_s / 4, 6)
    readers = largest(lambda count: trial(kind, count, short, "ahead", setting)["starved"] == 0)
    while readers > 0 and trial(kind, readers, setting.soak_s, "ahead", setting)["starved"] > 0:
        readers = min(readers - 1, readers * 7 // 8)
    return readers


def percentile(ascending, percent):
    """By nearest rank."""
    return ascending[-(-len(ascending) * percent // 100) - 1]


def measure(setting):
    rows, carried = [], {}
    for name, kind in ENGINES.items():
        if name not in setting.names:
            continue
        readers = carried[name] = sustained(kind, setting)
        half = max(readers // 2, 1)
        talk = trial(kind, half, setting.soak_s, "talk", setting)
        first = talk["first_audio_s"]
        rows.append([name, str(readers), str(half), f"{1000 * percentile(first, 50):.0f} ms",
                     f"{1000 * percentile(first, 99):.0f} ms", f"{talk['starved']} of {talk['reads']}"])
    print(f"Readers in real time, sentences of about 5 s, {setting.soak_s:g} s each trial.\n")
    print(table(["live streams", "without a starved read", "at half of it: readers", "first audio p50", "p99",
                 "starved reads"], rows))
    if len(carried) == 2 and carried["piper-tts"]:
        print(f"\ntimbre / piper-tts, streams: {carried['timbre (Python)'] / carried['piper-tts']:.2f}")
