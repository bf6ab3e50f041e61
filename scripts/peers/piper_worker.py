# SPDX-License-Identifier: MIT
"""piper-tts, as piper_voice.py loads it."""
import importlib.metadata

import onnxruntime

import piper_voice
import worker

model, threads = worker.arguments()
voice = piper_voice.load(model, threads)


def speak(text, on_samples):
    for chunk in voice.synthesize(text, piper_voice.MANNER):
        on_samples(chunk.audio_float_array.size)


version = f"{importlib.metadata.version('piper-tts')} (ONNX Runtime {onnxruntime.__version__})"
worker.serve(voice.config.sample_rate, speak, version=version)
