# SPDX-License-Identifier: MIT
"""The worker's side of scripts/compare-peers: one engine in one process, which speaks a line of text when asked.

Protocol: after loading, one JSON line of facts; then for each line of text on standard input one JSON line of figures.
first_at_s is when first audio was heard, by the system's
monotonic clock, which all processes share. Whatever the engine itself prints goes to standard error. benchmarks/speak_worker.cpp speaks the same protocol.
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


def say(answer):
    """Writes one line of the protocol."""
    print(json.dumps(answer), file=_protocol, flush=True)


def serve(sample_rate, speak, **facts):
    """Answers until standard input ends. speak(text, on_samples) calls on_samples(count) as samples become readable."""
    say(dict(facts, sample_rate=sample_rate))
    for line in sys.stdin:
        samples = 0
        first = None

        def on_samples(count):
            nonlocal samples, first
            samples += count
            if first is None and samples >= FIRST_AUDIO_S * sample_rate:
                first = time.monotonic()

        cpu = _cpu_seconds()
        begin = time.monotonic()
        speak(line.rstrip("\n"), on_samples)
        end = time.monotonic()
        cpu = _cpu_seconds() - cpu
        audio = samples / sample_rate
        first = first or end
        say({"first_s": first - begin, "wall_s": end - begin, "cpu_s": cpu, "audio_s": audio, "rss_mb": _peak_rss_mb(),
              "first_at_s": first})
