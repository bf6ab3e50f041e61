# SPDX-License-Identifier: MIT
"""timbre through its Python package."""
import sys
from pathlib import Path

import worker

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "python"))
import timbre  # noqa: E402: from the source tree

path, threads = worker.arguments()
engine = timbre.Engine(threads=threads)
model = engine.load_model(path)


def speak(text, on_samples):
    with model.stream(text) as speech:
        for chunk in speech:
            on_samples(chunk.size)


facts = {"instruction_set": model.info.instruction_set, "precision": model.info.precision}
worker.serve(model.sample_rate, speak, version=timbre.version(), **facts)
