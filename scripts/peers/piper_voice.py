# SPDX-License-Identifier: MIT
"""The voice as piper-tts speaks it, with as many ONNX Runtime threads as asked for and without its normalisation."""
import json

import onnxruntime
from piper import PiperVoice, SynthesisConfig
from piper.config import PiperConfig

MANNER = SynthesisConfig(normalize_audio=False)


def load(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, sess_options=options, providers=["CPUExecutionProvider"])
    with open(path + ".json", encoding="utf-8") as file:
        return PiperVoice(session=session, config=PiperConfig.from_dict(json.load(file)))
