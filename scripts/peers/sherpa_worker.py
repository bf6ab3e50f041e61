# SPDX-License-Identifier: MIT
"""sherpa-onnx, which needs facts inside the graph and a tokens.txt (compare.py writes both).

Version 2 has no phonemizer any more and takes phonemes; piper-tts's makes them, inside the measured time.
"""
import importlib.metadata
import json
from pathlib import Path

import sherpa_onnx
from piper.phonemize_espeak import EspeakPhonemizer

import worker

model, threads = worker.arguments()
with open(model + ".json", encoding="utf-8") as file:
    facts = json.load(file)
scales = facts["inference"]
vits = sherpa_onnx.OfflineTtsVitsModelConfig(
    model=model,
    tokens=str(Path(model).with_name("tokens.txt")),
    noise_scale=scales["noise_scale"],
    noise_scale_w=scales["noise_w"],
    length_scale=scales["length_scale"],
)
config = sherpa_onnx.OfflineTtsModelConfig(vits=vits, num_threads=threads, provider="cpu")
phonemizer = EspeakPhonemizer()
tts = sherpa_onnx.OfflineTts(sherpa_onnx.OfflineTtsConfig(model=config))


def speak(text, on_samples):
    def callback(samples, _progress):
        on_samples(len(samples))
        return 1

    manner = sherpa_onnx.GenerationConfig()
    manner.silence_scale = 1.0  # its default shortens pauses, which the others keep
    sentences = phonemizer.phonemize(facts["espeak"]["voice"], text)
    manner.phoneme_codepoints = [[ord(phoneme) for phoneme in sentence] for sentence in sentences]
    tts.generate(text, manner, callback)


worker.serve(tts.sample_rate, speak, version=importlib.metadata.version("sherpa-onnx"))
