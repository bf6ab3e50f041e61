# SPDX-License-Identifier: MIT
"""Measure: from the start of a process to first audio of "Hello there.", with all files in the system's cache.

Each run is a process of its own: interpreter, libraries, model, first utterance. The text waits in the pipe from the
beginning. The first round brings the files into the cache and is not counted.
"""
import statistics
import sys
import time

from engine_process import EngineProcess, is_timbre
from sentences import PAUSE_S, TEXTS
from tables import table


def seconds_to_first_audio(name, setting):
    engine = EngineProcess.start(name, setting)
    engine.ask(TEXTS["hello"])
    engine.ready()
    first = engine.answer()["first_at_s"] - engine.started
    engine.close()
    return first


def measure(setting):
    runs = {name: [] for name in setting.names}
    for number in range(setting.repetitions + 1):
        print(f"start {number} of {setting.repetitions}", file=sys.stderr)
        for name in setting.names:
            time.sleep(PAUSE_S)
            first = seconds_to_first_audio(name, setting)
            if number > 0:
                runs[name].append(first)
    medians = {name: statistics.median(of_one) for name, of_one in runs.items()}
    print(f"Medians of {setting.repetitions} processes.\n")
    mine = medians.get("timbre (Python)")
    rows = [[name, f"{1000 * seconds:.0f} ms",
             f"{mine / seconds:.2f}" if mine and not is_timbre(name) else "-"] for name, seconds in medians.items()]
    print(table(["process start to first audio, files in cache", "time", "timbre (Python) / it"], rows))
