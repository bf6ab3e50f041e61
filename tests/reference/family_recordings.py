#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the six voices of the family with timbre, for speaker_check.py. Needs numpy and TIMBRE_LIBRARY.

usage: family_recordings.py VOICE.onnx PATCH.safetensors OUT     writes OUT/VOICE/SENTENCE.wav, default noise scales
"""

import pathlib
import sys
import wave

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
import golden_io
import timbre

SENTENCES = ("fox", "bridge", "storm", "garden", "letter")


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    voice, patch, out = arguments
    ids = {case["name"]: case["ids"] for case in golden_io.read_description("joe_sentences")["cases"]}
    with timbre.Engine(threads=2) as engine:
        model = engine.load_model(voice, patch)
        for speaker, name in enumerate(model.speaker_names):
            folder = pathlib.Path(out) / name
            folder.mkdir(parents=True, exist_ok=True)
            for sentence in SENTENCES:
                samples = model.synthesize(ids=ids[sentence], speaker=speaker, seed=1)
                with wave.open(str(folder / f"{sentence}.wav"), "wb") as file:
                    file.setparams((1, 2, model.sample_rate, 0, "NONE", ""))
                    file.writeframes((samples * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    main(sys.argv[1:])
