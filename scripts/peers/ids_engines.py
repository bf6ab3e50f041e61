# SPDX-License-Identifier: MIT
"""A worker of scripts/compare-peers that is given token ids: timbre or bare ONNX Runtime on one graph, noise scales 0.

Without noise both predict the same durations, so they do the same work; compare-peers checks that the audio is as long.

usage: ids_engines.py timbre|onnxruntime MODEL THREADS     then lines of ids on standard input
"""
import json
import sys
from pathlib import Path

import worker

engine_name = sys.argv.pop(1)
path, threads = worker.arguments()
rate = json.loads(Path(path + ".json").read_text(encoding="utf-8"))["audio"]["sample_rate"]

if engine_name == "timbre":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "python"))
    import timbre  # from the source tree

    engine = timbre.Engine(threads=threads)
    model = engine.load_model(path)

    def speak(line, on_samples):
        ids = [int(word) for word in line.split()]
        with model.stream(ids=ids, noise_scale=0.0, noise_w=0.0) as speech:
            for chunk in speech:
                on_samples(chunk.size)

    facts = {"version": timbre.version(), "instruction_set": model.info.instruction_set,
             "precision": model.info.precision}
else:
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, sess_options=options, providers=["CPUExecutionProvider"])

    def speak(line, on_samples):
        ids = numpy.array([[int(word) for word in line.split()]], numpy.int64)
        inputs = {"input": ids, "input_lengths": numpy.array([ids.shape[1]], numpy.int64),
                  "scales": numpy.array([0.0, 1.0, 0.0], numpy.float32)}
        on_samples(session.run(None, inputs)[0].size)

    facts = {"version": onnxruntime.__version__}

worker.serve(rate, speak, **facts)
