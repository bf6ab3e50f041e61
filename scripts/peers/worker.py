# SPDX-License-Identifier: MIT
"""The worker's side of scripts/compare-peers: one engine in one process, which speaks a line of text when asked.

Protocol: after loading, one JSON line of facts; then for each line of text on standard input one JSON line of figures.
Whatever the engine itself prints goes to standard error. benchmarks/speak_worker.cpp speaks the same protocol.
"""
import json
import os
import resource
import sys
import time

FIRST_AUDIO_S = 0.05  # first audio is heard when this much can be played


def arguments():
    """(model, threads) of the command line; standard output is kept for the protocol from here on."""
    return sys.argv[1], int(sys.argv[2])


_protocol = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def _cpu_seconds():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _peak_rss_mb():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


def _say(answer):
    print(json.dumps(answer), file=_protocol, flush=True)


def serve(sample_rate, speak, **facts):
    """Answers until standard input ends. speak(text, on_samples) calls on_samples(count) as samples become readable."""
    _say(dict(facts, sample_rate=sample_rate))
    for line in sys.stdin:
        samples = 0
        first = None

        def on_samples(count):
            nonlocal samples, first
            samples += count
            if first is None and samples >= FIRST_AUDIO_S * sample_rate:
                first = time.perf_counter()

        cpu = _cpu_seconds()
        begin = time.perf_counter()
        speak(line.rstrip("\n"), on_samples)
        end = time.perf_counter()
        cpu = _cpu_seconds() - cpu
        audio = samples / sample_rate
        first = (first or end) - begin
        _say({"first_s": first, "wall_s": end - begin, "cpu_s": cpu, "audio_s": audio, "rss_mb": _peak_rss_mb()})
