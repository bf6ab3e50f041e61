#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does a speaker encoder hear the voices as different people? Needs numpy and resemblyzer (scripts/setup --full).

usage: speaker_check.py DIR           DIR/VOICE/*.wav, at least two recordings per voice

Prints, per voice, the mean cosine similarity of its own recordings and of its recordings with those of each other
voice; exits with 1 if some voice is closer to another one than to itself. Takes no network: the encoder's weights are
in its package.
"""

import contextlib
import io
import pathlib
import sys

import numpy as np

import median_f0


def embeddings(recordings):
    """dict voice -> list of (samples, rate) to dict voice -> unit vectors [recordings, 256]."""
    from resemblyzer import VoiceEncoder, preprocess_wav

    with contextlib.redirect_stdout(io.StringIO()):
        encoder = VoiceEncoder("cpu", verbose=False)
    return {voice: np.stack([encoder.embed_utterance(preprocess_wav(np.asarray(samples, np.float32), source_sr=rate))
                             for samples, rate in clips]) for voice, clips in recordings.items()}


def similarity(one, other):
    """Mean cosine over pairs of different recordings."""
    cosines = one @ other.T
    if one is other:
        count = len(one)
        return float((cosines.sum() - np.trace(cosines)) / (count * (count - 1)))
    return float(cosines.mean())


def table(recordings):
    """dict voice -> dict voice -> similarity, the diagonal being the similarity within a voice."""
    vectors = embeddings(recordings)
    return {voice: {other: similarity(vectors[voice], vectors[other]) for other in vectors} for voice in vectors}


def confused(similarities):
    """Pairs (voice, other) where a voice is at least as close to another one as to itself."""
    return [(voice, other) for voice, row in similarities.items() for other in row
            if other != voice and row[other] >= row[voice]]


def show(similarities):
    names = list(similarities)
    width = max(map(len, names)) + 2
    print(" " * width + "".join(f"{name:>{width}}" for name in names))
    for name in names:
        print(f"{name:<{width}}" + "".join(f"{similarities[name][other]:{width}.2f}" for other in names))


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    folders = sorted(folder for folder in pathlib.Path(arguments[0]).iterdir() if folder.is_dir())
    similarities = table({folder.name: [median_f0.read_wav(path) for path in sorted(folder.glob("*.wav"))]
                          for folder in folders})
    show(similarities)
    for voice, other in confused(similarities):
        print(f"{voice} is closer to {other} than to itself")
    return 1 if confused(similarities) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
