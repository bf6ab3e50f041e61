#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Six voices and a blend, each spoken by its id: what scripts/demo runs.

    family_demo.py --voice-dir DIR --out DIR [TEXT]

DIR holds the Piper voice en_US-joe-medium. With the patch data/voices/joe-family.safetensors it has six speakers. Each
becomes a voice with an id of its own, some by naming the speaker, some by a vector; another one is halfway between two
of them. Every voice speaks its line into OUT/*.wav, and TEXT is spoken by the plain voice without the patch.
"""
import argparse
import sys
import time
import wave
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bindings" / "python"))
import timbre

PATCH = ROOT / "data" / "voices" / "joe-family.safetensors"
TEXT = "Hello there, traveller. The night is cold, so come in and sit by the fire."
LINES = {
    "village/joe": "Good morning! The mill is just behind the bridge.",
    "village/giant": "Who dares to wake me from my sleep?",
    "village/woman": "Take the lantern with you, the path is dark tonight.",
    "village/child": "Did you really see a dragon behind the hill?",
    "village/elder": "Long ago, this whole valley was a lake.",
    "village/imp": "You will never find my gold, never!",
    "village/joe-imp": "I am half of one and half of the other.",
}


def put_voices(engine, model):
    """Puts six voices and a blend by id."""
    for speaker, name in enumerate(model.speaker_names):
        if speaker % 2 == 0:  # a record that names a speaker of the model ...
            engine.voices.put(f"village/{name}", model=model, speaker=speaker)
        else:  # ... and one that holds the vector itself: both speak the same samples
            engine.voices.put(f"village/{name}", {"g": model.speaker_vector(speaker)}, model=model)
    joe, imp = (model.speaker_vector(model.speaker_names.index(name)) for name in ("joe", "imp"))
    engine.voices.put("village/joe-imp", {"g": 0.5 * joe + 0.5 * imp}, model=model)


def speak(model, text, path, **options):
    """Speaks into a WAV file. Returns (seconds of audio, the library's own clock)."""
    with model.stream(text, **options) as speech, wave.open(str(path), "wb") as file:
        file.setparams((1, 2, model.sample_rate, 0, "NONE", ""))
        for chunk in speech:
            file.writeframes((chunk * 32767).astype("<i2").tobytes())
        return speech.info().samples_read / model.sample_rate, speech.timeline()


def milliseconds(seconds):
    return "-" if seconds is None else f"{seconds * 1000:.1f} ms"


def report(name, path, audio, times):
    speed = f"{times.total / audio:.4f}" if audio else "-"
    first = milliseconds(times.first_audio)
    print(f"  {name:16} {audio:6.2f} s  first audio {first:>9}  real-time factor {speed}  {path}")


def summary(model, runs, load):
    info = model.info
    audio = sum(seconds for seconds, _ in runs)
    total = sum(times.total for _, times in runs)
    name = info.name or info.family
    print(f"model            {name} ({info.family}, {info.sample_rate} Hz), loaded in {milliseconds(load)}")
    print(f"device           {info.device}")
    print(f"precision        {info.precision}")
    print(f"instruction set  {info.instruction_set}")
    print(f"audio            {audio:.2f} s in {len(runs)} lines")
    print(f"first audio      {milliseconds(runs[-1][1].first_audio)} (last line)")
    print(f"real-time factor {total / audio:.4f}")
    stages = ("queue", "text", "encoder", "durations", "flow", "decoder")
    sums = {stage: sum(getattr(times, stage) or 0 for _, times in runs) for stage in stages}
    print("stages           " + ", ".join(f"{stage} {milliseconds(seconds)}" for stage, seconds in sums.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voice-dir", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("text", nargs="?", default=TEXT, metavar="TEXT")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    voice = arguments.voice_dir / "en_US-joe-medium.onnx"

    with timbre.Engine() as engine:
        family = engine.load_model(voice, PATCH)
        put_voices(engine, family)
        print(f"{len(engine.voices.list('village/'))} voices of one model:")
        for name in engine.voices.list("village/"):
            path = arguments.out / (name.replace("/", "-") + ".wav")
            report(name, path, *speak(family, LINES[name], path, voice=name))

        begin = time.monotonic()
        plain = engine.load_model(voice)
        load = time.monotonic() - begin
        print("the voice as it comes:")
        path = arguments.out / "speech.wav"
        run = speak(plain, arguments.text, path)
        report("en_US-joe-medium", path, *run)
        print()
        summary(plain, [run], load)


if __name__ == "__main__":
    try:
        main()
    except timbre.Error as error:
        sys.exit(f"family_demo.py: {error}")
