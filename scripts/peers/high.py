# SPDX-License-Identifier: MIT
"""Measure: a voice of the high-quality shape, timbre beside ONNX Runtime on the same graph and the same ids, no noise."""
import subprocess
import sys

import high_shape
from engine_process import HERE, EngineProcess, timbre_facts
from sentences import TEXTS, factor, first_ms, take_turns
from tables import table

COLUMNS = [
    ("first audio, short", "{:.0f} ms", first_ms("short")),
    ("first audio, 8 s", "{:.0f} ms", first_ms("8 s")),
    ("real-time factor, 8 s", "{:.4f}", factor("8 s")),
    ("audio, 8 s", "{:.2f} s", lambda runs: runs.median("8 s", lambda run: run["audio_s"])),
    ("peak RSS", "{:.0f} MB", lambda runs: max(run["rss_mb"] for of_one in runs.of.values() for run in of_one)),
]
LENGTH_TOLERANCE = 0.01  # a duration may be rounded the other way


def ids_of(text, setting):
    """The voice's ids of a text, as piper-tts makes them."""
    program = ("import sys; from piper import PiperVoice; voice = PiperVoice.load(sys.argv[1]); "
               "print(*[i for sentence in voice.phonemize(sys.argv[2]) for i in voice.phonemes_to_ids(sentence)])")
    command = [sys.executable, "-c", program, str(setting.model), text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def measure(setting):
    model = setting.work / "high.onnx"
    if not model.exists():
        print(f"make {model}", file=sys.stderr)
        high_shape.convert(setting.model, model)
    lines = {text: ids_of(TEXTS[text], setting) for text in ("short", "8 s")}
    engines = [
        EngineProcess(name, [sys.executable, str(HERE / "ids_engines.py"), kind, str(model), str(setting.threads)]).ready()
        for name, kind in (("ONNX Runtime", "onnxruntime"), ("timbre (Python)", "timbre"))
    ]
    peer, mine = take_turns(engines, lines, setting.repetitions)
    for text in lines:
        lengths = [runs.median(text, lambda run: run["audio_s"]) for runs in (peer, mine)]
        if abs(lengths[0] - lengths[1]) > LENGTH_TOLERANCE * lengths[0]:
            sys.exit(f"compare-peers: {text}: {lengths[0]:.2f} s of audio from ONNX Runtime, {lengths[1]:.2f} s from timbre")
    print(f"ResBlock1, 512 channels, random weights; ids to samples, medians of {setting.repetitions}. {timbre_facts(engines)}\n")
    rows = [[f"{runs.engine.name} {runs.engine.facts['version']}"] + [form.format(value(runs)) for _, form, value in COLUMNS]
            for runs in (peer, mine)]
    rows.append(["timbre / ONNX Runtime"] + [f"{value(mine) / value(peer):.2f}" for _, _, value in COLUMNS])
    print(table(["high-quality shape"] + [name for name, _, _ in COLUMNS], rows))
    for engine in engines:
        engine.close()
