# SPDX-License-Identifier: MIT
"""Measures of timbre alone, made by benchmarks/speech_load.cpp: callers at once, CPU seconds, growth of memory, new
lengths."""
import json
import subprocess
import sys

from tables import table


def _run(setting, measure, *more):
    command = [setting.load_program, str(setting.model), str(setting.threads), measure, *more]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"compare-peers: {measure}: {setting.load_program} ended with status {run.returncode}")
    return json.loads(run.stdout)


def callers(setting):
    run = _run(setting, "callers")
    print(table([f"{run['callers']} callers (timbre, C)", "one after another", "at once", "at once / one after another"],
                [["", f"{run['serial_s']:.2f} s", f"{run['together_s']:.2f} s",
                  f"{run['together_s'] / run['serial_s']:.2f}"]]))


def cpu(setting):
    run = _run(setting, "cpu")
    rows = []
    for name, kind in (("read at once", "busy"), ("read as it plays", "paced"), ("no utterance", "idle")):
        spent, wall = run[f"{kind}_cpu_s"], run[f"{kind}_wall_s"]
        rows.append([name, f"{spent:.3f} s", f"{wall:.2f} s", f"{spent / (setting.threads * wall):.3f}"])
    print(table([f"timbre (C), {setting.threads} threads", "CPU", "wall", "CPU / (threads x wall)"], rows))


def growth(setting):
    run = _run(setting, "growth", *([str(setting.utterances)] if setting.utterances else []))
    print(table([f"{run['utterances']:,} utterances of {run['lengths']} lengths (timbre, C)", "after the first 50",
                 "at the end", "at most", "growth"],
                [["resident size"] + [f"{run[key]:.0f} MB" for key in ("after_first_mb", "end_mb", "highest_mb")]
                 + [f"{run['end_mb'] - run['after_first_mb']:.1f} MB"]]))


def lengths(setting):
    run = _run(setting, "lengths")
    print(table([f"the first {run['lengths']} utterances, each of a new length, beside later ones of it (timbre, C)",
                 "median", "99th percentile", "most"],
                [["time / median of five later ones"] + [f"{run[key]:.2f}" for key in ("p50", "p99", "most")]]))
