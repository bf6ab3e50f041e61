# SPDX-License-Identifier: MIT
"""Runs a Piper voice with ONNX Runtime: the reference for parity. Needs numpy and onnxruntime."""

import functools

import numpy as np
import onnxruntime


def version():
    return onnxruntime.__version__


@functools.lru_cache(maxsize=4)
def session(onnx_path, threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(onnx_path), options, providers=["CPUExecutionProvider"])


def feed(voice, ids, scales, sid):
    """The inputs of one run; `sid` None means speaker 0 on a voice that has several."""
    inputs = {"input": np.array([ids], np.int64), "input_lengths": np.array([len(ids)], np.int64),
              "scales": np.array(scales, np.float32)}
    if any(value.name == "sid" for value in voice.get_inputs()):
        inputs["sid"] = np.array([sid or 0], np.int64)
    return inputs


def run(onnx_path, ids, scales=(0.0, 1.0, 0.0), sid=None):
    """The waveform [samples] float32 of one id sequence.

    scales = (noise, length, noise_w). With noise and noise_w 0 the result does not depend on the random generator in
    the graph. `sid` is the speaker index, None on a voice with one speaker.
    """
    voice = session(str(onnx_path))
    return voice.run(None, feed(voice, ids, scales, sid))[0].reshape(-1)
