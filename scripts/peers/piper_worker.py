# SPDX-License-Identifier: MIT
"""piper-tts, with as many ONNX Runtime threads as asked for and without its normalisation."""
import importlib.metadata
import json

import onnxruntime
from piper import PiperVoice, SynthesisConfig
from piper.config import PiperConfig

import worker

model, threads = worker.arguments()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
with open(model + ".json", encoding="utf-8") as file:
    voice = PiperVoice(session=session, config=PiperConfig.from_dict(json.load(file)))
manner = SynthesisConfig(normalize_audio=False)


def speak(text, on_samples):
    for chunk in voice.synthesize(text, manner):
        on_samples(chunk.audio_float_array.size)


version = f"{importlib.metadata.version('piper-tts')} (ONNX Runtime {onnxruntime.__version__})"
worker.serve(voice.config.sample_rate, speak, version=version)
