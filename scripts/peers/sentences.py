# SPDX-License-Identifier: MIT
"""Measures of one utterance at a time: first audio, real-time factor, CPU and memory of engines that stay loaded.

Every round asks each engine for each text, engine after engine (A B C A B C), so that a slow minute of the machine meets
them all. The first round is not counted.
"""
import statistics
import sys
import time

from engine_process import EngineProcess, is_timbre, timbre_facts
from tables import table

FOX = (
    "The quick brown fox jumps over the lazy dog, while seven wizards quietly examine the jagged boxes of blue vexing "
    "quartz near the river"
)
TEXTS = {
    "hello": "Hello there.",
    "short": "Hello there, traveller.",
    "8 s": FOX + ".",
    "30 s": " ".join([FOX] * 4),
}
PAUSE_S = 0.2  # lets the threads of the engine before fall asleep


class Runs:
    """What one engine did: its counted runs of each text."""

    def __init__(self, engine, texts):
        self.engine = engine
        self.of = {text: [] for text in texts}

    def median(self, text, value):
        return statistics.median(value(run) for run in self.of[text])


def take_turns(engines, texts, repetitions):
    """Speaks all texts with all engines. `texts` is {name: line of the protocol}."""
    all_runs = [Runs(engine, texts) for engine in engines]
    for number in range(repetitions + 1):
        print(f"round {number} of {repetitions}" + (" (not counted)" if number == 0 else ""), file=sys.stderr)
        for text, line in texts.items():
            for runs in all_runs:
                time.sleep(PAUSE_S)
                run = runs.engine.speak(line)
                if number > 0:
                    runs.of[text].append(run)
    return all_runs


def first_ms(text):
    return lambda runs: 1000 * runs.median(text, lambda run: run["first_s"])


def factor(text):
    return lambda runs: runs.median(text, lambda run: run["wall_s"] / run["audio_s"])


COLUMNS = [
    ("first audio, hello", "{:.0f} ms", first_ms("hello")),
    ("first audio, short", "{:.0f} ms", first_ms("short")),
    ("first audio, 8 s", "{:.0f} ms", first_ms("8 s")),
    ("first audio, 30 s", "{:.0f} ms", first_ms("30 s")),
    ("real-time factor, 8 s", "{:.4f}", factor("8 s")),
    ("real-time factor, 30 s", "{:.4f}", factor("30 s")),
    ("CPU s per audio s", "{:.4f}", lambda runs: runs.median("8 s", lambda run: run["cpu_s"] / run["audio_s"])),
    ("peak RSS", "{:.0f} MB", lambda runs: max(run["rss_mb"] for of_one in runs.of.values() for run in of_one)),
]


def ratios(all_runs, columns):
    """A table of timbre through Python by each peer, or nothing where one side is missing."""
    mine = next((runs for runs in all_runs if runs.engine.name == "timbre (Python)"), None)
    peers = [runs for runs in all_runs if not is_timbre(runs.engine.name)]
    if not mine or not peers:
        return ""
    rows = [[f"timbre / {runs.engine.name}"] + [f"{value(mine) / value(runs):.2f}" for _, _, value in columns]
            for runs in peers]
    return "\n" + table(["ratio, both through Python"] + [name for name, _, _ in columns], rows)


def measure(setting):
    engines = [EngineProcess.start(name, setting).ready() for name in setting.names]
    all_runs = take_turns(engines, TEXTS, setting.repetitions)
    print(f"Medians of {setting.repetitions}. {timbre_facts(engines)}\n")
    rows = [[f"{runs.engine.name} {runs.engine.facts['version']}"] + [form.format(value(runs)) for _, form, value in COLUMNS]
            for runs in all_runs]
    print(table(["text to samples"] + [name for name, _, _ in COLUMNS], rows))
    rows = [[runs.engine.name] + [f"{runs.median(text, lambda run: run['audio_s']):.1f} s" for text in TEXTS]
            for runs in all_runs]
    print("\n" + table(["audio"] + list(TEXTS), rows))
    print(ratios(all_runs, COLUMNS))
    for engine in engines:
        engine.close()
