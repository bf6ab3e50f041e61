# SPDX-License-Identifier: MIT
"""streaming-vits with its default chunk schedule.

It takes phonemes from the package piper_phonemize or else starts the program espeak-ng for each sentence. To spare it
the process, it gets piper-tts's phonemizer under that name.
"""
import importlib.metadata
import sys
import types

from piper.phonemize_espeak import EspeakPhonemizer

import worker

phonemizer = EspeakPhonemizer()
bridge = types.ModuleType("piper_phonemize")
bridge.phonemize_espeak = lambda text, voice: phonemizer.phonemize(voice, text)
sys.modules["piper_phonemize"] = bridge

from streaming_vits import StreamingTTS  # noqa: E402: it looks for piper_phonemize when it is imported

model, threads = worker.arguments()
tts = StreamingTTS(model, threads=threads, verbose=False)


def speak(text, on_samples):
    for chunk in tts.stream(text):
        on_samples(chunk.audio.size)


worker.serve(tts.sample_rate, speak, version=importlib.metadata.version("streaming-vits"))
