#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ONNX Runtime gives for the real voice and for the six-voice family, noise scales 0, thinned to a small file.

usage: make_piper_goldens.py [OUT_DIR]        default: tests/data/golden

Reads joe_sentences.json; writes joe.json, joe.safetensors, joe_family.json and joe_family.safetensors; their format
stands in tests/data/golden/README.md. Needs numpy, onnx and onnxruntime, and the voice that scripts/setup fetches.
"""

import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import golden_io
import joe_voice
import merge_family
import ort_piper

STRIDE = {"joe": 13, "joe_family": 29}
DENSE = {"joe": 384, "joe_family": 192}  # samples in each of the windows at the start, in the middle and at the end
FAMILY_SENTENCES = ("hello", "fox", "question")
HOP = 256
NEAREST = 1e-4  # closer to a whole number a duration may differ between machines


class Durations:
    """The voice with two more outputs: durations before and after rounding up."""

    def __init__(self, path):
        model = onnx.load(path)
        (ceil,) = [node for node in model.graph.node if node.op_type == "Ceil"]
        for name in (ceil.input[0], ceil.output[0]):
            model.graph.output.add().name = name
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def run(self, ids, sid):
        """(waveform, frames per id, distance of the nearest duration to a whole number)."""
        wave, exact, frames = self.session.run(None, ort_piper.feed(self.session, ids, (0.0, 1.0, 0.0), sid))
        return wave.reshape(-1), frames.reshape(-1).astype(np.int64), float(np.abs(exact - np.round(exact)).min())


def thin(wave, stem):
    """(every stride-th sample, [3, dense] windows, where these start)."""
    size = min(DENSE[stem], len(wave))
    starts = [0, (len(wave) - size) // 2, len(wave) - size]
    return wave[::STRIDE[stem]], np.stack([wave[start:start + size] for start in starts]), starts


def record(stem, path, sentences, speakers, out):
    """Stores one voice: all sentences with all speakers."""
    voice, tensors, cases = Durations(path), {}, []
    for sentence in sentences:
        for speaker in speakers:
            name = sentence["name"] + ("" if speaker is None else f".speaker{speaker}")
            wave, frames, nearest = voice.run(sentence["ids"], speaker)
            plain = ort_piper.run(path, sentence["ids"], sid=speaker)
            assert len(wave) == frames.sum() * HOP and np.abs(wave - plain).max() < 1e-4, name
            if nearest < NEAREST:
                print(f"{stem} {name}: a duration lies {nearest:.1e} from a whole number")
            strided, dense, starts = thin(wave, stem)
            tensors.update({f"{name}.strided": strided, f"{name}.dense": dense, f"{name}.durations": frames})
            cases.append(dict(name=name, sentence=sentence["name"], speaker=speaker, samples=len(wave),
                              dense_starts=starts, nearest=round(nearest, 6), ids=sentence["ids"]))
    golden_io.write(out, stem, {"made_with": f"ONNX Runtime {ort_piper.version()}", "noise_scale": 0, "noise_w": 0,
                                "length_scale": 1, "stride": STRIDE[stem]}, cases, tensors)


def main(arguments):
    out = pathlib.Path(arguments[0]) if arguments else golden_io.GOLDEN
    sentences = golden_io.read_description("joe_sentences")["cases"]
    record("joe", joe_voice.JOE, sentences, [None], out)
    with tempfile.TemporaryDirectory() as folder:
        family = pathlib.Path(folder) / "joe-family.onnx"
        merge_family.write(joe_voice.JOE, joe_voice.FAMILY_PATCH, family)
        chosen = [sentence for sentence in sentences if sentence["name"] in FAMILY_SENTENCES]
        record("joe_family", family, chosen, range(6), out)


if __name__ == "__main__":
    main(sys.argv[1:])
