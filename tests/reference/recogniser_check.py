#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many words does an offline recogniser hear? Needs numpy and pocketsphinx, and what the engines need.

usage: recogniser_check.py VOICE.onnx [ENGINE ...]      default: all three

Engines, all with noise scales 0:
  onnxruntime   ONNX Runtime on the ids that piper-tts made of the text (joe_sentences.json): what piper-tts says
  timbre-ids    timbre on the same ids
  timbre-text   timbre from the text, with the espeak-ng of this machine
Prints a table of ten sentences and the words heard by each engine. Ends with 1 if fewer words are heard of timbre-ids
than of onnxruntime, or of timbre-text more than 5 points fewer.
"""

import pathlib
import re
import sys

import numpy as np

import golden_io

SENTENCES = ("fox", "bridge", "bread", "storm", "vowels", "machine", "ship", "garden", "letter", "soldier")
RATE = 16000


def resample(samples, rate):
    """To 16 kHz, by cutting or padding the spectrum."""
    spectrum = np.fft.rfft(samples)
    count = round(len(samples) * RATE / rate)
    kept = np.zeros(count // 2 + 1, complex)
    kept[:len(spectrum)] = spectrum[:len(kept)]
    return np.fft.irfft(kept, count) * (count / len(samples))


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def distance(spoken, heard):
    """Insertions, deletions and substitutions between two lists of words."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(spoken, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]


class Recogniser:
    """pocketsphinx with the American English model of its package."""

    def __init__(self):
        import pocketsphinx

        self.decoder = pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL")

    def hear(self, samples, rate):
        """The words heard in mono float samples."""
        silence = np.zeros(RATE // 4)
        samples = np.concatenate([silence, resample(np.asarray(samples, np.float64), rate), silence])
        peak = max(float(np.abs(samples).max()), 1e-9)
        self.decoder.start_utt()
        self.decoder.process_raw((samples * (0.7 / peak) * 32767).astype("<i2").tobytes(), full_utt=True)
        self.decoder.end_utt()
        hypothesis = self.decoder.hyp()
        return [word for word in words(hypothesis.hypstr)] if hypothesis else []


def engine(name, voice):
    """(function sentence -> samples, sample rate); a sentence is an entry of joe_sentences.json."""
    if name == "onnxruntime":
        import ort_piper

        return lambda sentence: ort_piper.run(voice, sentence["ids"]), 22050
    assert name in ("timbre-ids", "timbre-text"), name
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
    import timbre

    model = timbre.Engine(threads=2).load_model(str(voice))
    options = dict(noise_scale=0.0, noise_w=0.0)
    if name == "timbre-ids":
        return lambda sentence: model.synthesize(ids=sentence["ids"], **options), model.sample_rate
    return lambda sentence: model.synthesize(sentence["text"], **options), model.sample_rate


def accuracy(say, rate, sentences=None):
    """(share of words heard over all sentences, list of (name, errors, words, heard text))."""
    recogniser, lines = Recogniser(), []
    for sentence in sentences or chosen():
        spoken = words(sentence["text"])
        heard = recogniser.hear(say(sentence), rate)
        lines.append((sentence["name"], distance(spoken, heard), len(spoken), " ".join(heard)))
    return 1.0 - sum(line[1] for line in lines) / sum(line[2] for line in lines), lines


def chosen():
    by_name = {case["name"]: case for case in golden_io.read_description("joe_sentences")["cases"]}
    return [by_name[name] for name in SENTENCES]


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    shares = {}
    for name in arguments[1:] or ["onnxruntime", "timbre-ids", "timbre-text"]:
        shares[name], lines = accuracy(*engine(name, arguments[0]))
        print(f"{name}: {100 * shares[name]:.1f} % of the words")
        for sentence, errors, count, heard in lines:
            print(f"  {sentence:10} {count - errors:3} of {count:<3} {heard}")
    reference = shares.get("onnxruntime", 0.0)
    return int(shares.get("timbre-ids", 1.0) < reference or shares.get("timbre-text", 1.0) < reference - 0.05)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
