# SPDX-License-Identifier: MIT
"""Real-time speech with a voice cache: timbre's C library for Python.

    import timbre

    with timbre.Engine(threads=2) as engine:
        model = engine.load_model("en_US-joe-medium.onnx")
        audio = model.synthesize("Halt! Who goes there?")        # float32, mono, model.sample_rate
        for chunk in model.stream("A long sentence ...", seed=7):
            play(chunk)

Needs numpy and libtimbre.so, which is looked for at TIMBRE_LIBRARY, beside this package, and on the system. Every
failure and every bad argument raises `timbre.Error`, whose `status` is one of `timbre.Status`.
"""

from ._library import version
from .cache import Health, Prefetched, Stats, VoiceExplanation
from .engine import Engine, LogLine
from .errors import Error, Status
from .lease import LeasedTensor, VoiceLease
from .model import Model, ModelInfo, Token, Tokens
from .speech import Chunk, Mark, Options, Speech, SpeechInfo, Timeline
from .voices import Voices

__all__ = [
    "Chunk",
    "Engine",
    "Error",
    "Health",
    "LeasedTensor",
    "LogLine",
    "Mark",
    "Model",
    "ModelInfo",
    "Options",
    "Prefetched",
    "Speech",
    "SpeechInfo",
    "Stats",
    "Status",
    "Timeline",
    "Token",
    "Tokens",
    "VoiceExplanation",
    "VoiceLease",
    "Voices",
    "version",
]
