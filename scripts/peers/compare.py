# SPDX-License-Identifier: MIT
"""The measures of scripts/compare-peers, one after another, each as a section in Markdown with the ratios of its run."""
import argparse
import dataclasses
import sys
import time
from pathlib import Path

import high
import live
import load
import sentences
import start
from engine_process import WORKERS
from tables import processor
from voice_copy import voice_copy

MEASURES = {  # name: title, function of the setting
    "sentences": ("Sentences, one at a time", sentences.measure),
    "start": ("From process start to first audio", start.measure),
    "high": ("The high-quality shape", high.measure),
    "callers": ("Callers at once", load.callers),
    "cpu": ("CPU seconds", load.cpu),
    "growth": ("Growth of memory", load.growth),
    "lengths": ("New lengths", load.lengths),
    "live": ("Live streams", live.measure),
}


@dataclasses.dataclass
class Setting:
    """What all measures go by."""

    model: Path
    work: Path
    c_worker: str
    load_program: str
    threads: int
    repetitions: int
    names: list
    soak_s: float
    utterances: int  # of growth; 0: the program's own number
    copy: Path = None  # of the voice, for the peers


def names_of(text, known, option, parser):
    names = text.split(",")
    if not set(names) <= set(known):
        parser.error(f"{option} takes names of {', '.join(known)}, not {text}")
    return names


def parse():
    """(setting, names of the measures)"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--c-worker", required=True)
    parser.add_argument("--load-program", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--only", default=",".join(WORKERS), help="engines, separated by commas")
    parser.add_argument("--only-measure", default=",".join(MEASURES), help=f"of {', '.join(MEASURES)}")
    parser.add_argument("--soak", type=float, default=60, help="seconds of a trial of live")
    parser.add_argument("--utterances", type=int, default=0, help="of growth, above 50 (default 1,000)")
    arguments = parser.parse_args()
    if arguments.repetitions < 1 or arguments.threads < 1 or not 1 <= arguments.soak <= 86400:
        parser.error("--repetitions and --threads are at least 1, --soak is 1 to 86400 seconds")
    if arguments.utterances != 0 and arguments.utterances <= 50:
        parser.error("--utterances is above 50")
    names = names_of(arguments.only, WORKERS, "--only", parser)
    measures = names_of(arguments.only_measure, MEASURES, "--only-measure", parser)
    setting = Setting(arguments.model, arguments.work, arguments.c_worker, arguments.load_program, arguments.threads,
                      arguments.repetitions, names, arguments.soak, arguments.utterances)
    return setting, measures


def main():
    setting, measures = parse()
    setting.copy = voice_copy(setting.model, setting.work)
    print(f"{time.strftime('%Y-%m-%d')}, {processor()}; {setting.threads} threads each.")
    for name in measures:
        title, measure = MEASURES[name]
        print(f"measure {name}", file=sys.stderr)
        print(f"\n## {title}\n", flush=True)
        measure(setting)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
