#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Speaks one line into a WAV file.

    speak.py MODEL TEXT OUT.wav [SPEAKER]      MODEL: a Piper .onnx, a Hugging Face VITS folder, or tone:
"""
import sys
import wave
from pathlib import Path

# From the source tree; an installed timbre is found without this line.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bindings" / "python"))
import timbre


def main(path, text, out, speaker=None):
    with timbre.Engine() as engine:
        model = engine.load_model(path)
        with wave.open(out, "wb") as file:
            file.setparams((1, 2, model.sample_rate, 0, "NONE", ""))
            # Chunks come while the rest is still being made: here they go to a file, elsewhere to a player.
            for chunk in model.stream(text, speaker=None if speaker is None else int(speaker)):
                file.writeframes((chunk * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except timbre.Error as error:
        sys.exit(f"speak.py: {error}")
