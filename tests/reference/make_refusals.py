#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ONNX graphs that ONNX Runtime runs and timbre must refuse with the reason.

usage: make_refusals.py [OUT_DIR]        default: tests/data/golden/refused

Made from the graphs of export_piper.py, with constants lifted and names replaced to keep them small. Needs numpy, onnx
and onnxruntime.
"""

import logging
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

import golden_io
import ort_piper
import vary_piper

IDS = [1, 0, 20, 0, 17, 0, 24, 0, 2]


def constant(graph, name, value):
    graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    return name


def int8_dynamic(source, path):
    """Activations quantised on the fly: DynamicQuantizeLinear, ConvInteger, MatMulInteger."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnx.save(source, file.name)
        quantize_dynamic(file.name, path, weight_type=QuantType.QUInt8)


def int8_weights(source, path):
    """Convolution weights as int8 behind DequantizeLinear."""
    graph, nodes = source.graph, []
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for name in dict.fromkeys(node.input[1] for node in graph.node if node.op_type == "Conv"):
        if name in tensors:
            weight = numpy_helper.to_array(tensors[name])
            scale = np.float32(max(float(np.abs(weight).max()), 1e-6) / 127)
            tensors[name].CopyFrom(numpy_helper.from_array(np.rint(weight / scale).astype(np.int8), f"{name}_int8"))
            ends = [f"{name}_int8", constant(graph, f"{name}_scale", scale)]
            nodes.append(helper.make_node("DequantizeLinear", ends, [name], f"Dequantize_{name}"))
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes + kept)
    onnx.save(source, path)


def more_inputs(source, path):
    """A multi-speaker graph with language and prosody inputs, as piper-plus has them."""
    graph = source.graph
    graph.input.append(helper.make_tensor_value_info("lid", TensorProto.INT64, ["batch_size"]))
    shape = ["batch_size", "phonemes", 3]
    graph.input.append(helper.make_tensor_value_info("prosody_features", TensorProto.FLOAT, shape))
    index, embed = next((i, node) for i, node in enumerate(graph.node)
                        if node.op_type == "Gather" and node.input[1] == "input")
    width = next(tensor.dims[1] for tensor in graph.initializer if tensor.name == embed.input[0])
    rng = np.random.default_rng(1)
    language = constant(graph, "languages", rng.standard_normal((2, width)).astype(np.float32))
    prosody = constant(graph, "prosody", rng.standard_normal((3, width)).astype(np.float32))
    axis = constant(graph, "middle", np.array([1], np.int64))
    out, embed.output[0] = embed.output[0], "phoneme_rows"
    for node in reversed([
            helper.make_node("Gather", [language, "lid"], ["language_row"]),
            helper.make_node("Unsqueeze", ["language_row", axis], ["language_rows"]),
            helper.make_node("MatMul", ["prosody_features", prosody], ["prosody_rows"]),
            helper.make_node("Add", ["phoneme_rows", "language_rows"], ["with_language"]),
            helper.make_node("Add", ["with_language", "prosody_rows"], [out])]):
        graph.node.insert(index + 1, node)
    onnx.save(source, path)


def istft_tail(source, path, size=16, hop=4):
    """The decoder ends in magnitude and phase and an inverse Fourier transform, as in iSTFT vocoders."""
    graph = source.graph
    last = [node for node in graph.node if node.op_type == "Conv"][-1]
    tail = list(graph.node)[list(graph.node).index(last) + 1:]
    for node in tail:
        graph.node.remove(node)
    channels = next(tensor.dims[1] for tensor in graph.initializer if tensor.name == last.input[1])
    half = size // 2 + 1
    rng = np.random.default_rng(2)
    last.input[1] = constant(graph, "spectrum_weight", 0.1 * rng.standard_normal((2 * half, channels, 7)).astype("f4"))
    rows = np.concatenate([np.fft.irfft(np.eye(half)), np.fft.irfft(1j * np.eye(half))])
    basis = constant(graph, "inverse_basis", (rows * np.hanning(size))[:, None].astype(np.float32))
    sizes = constant(graph, "halves", np.array([half, half], np.int64))
    graph.node.extend([
        helper.make_node("Split", [last.output[0], sizes], ["log_magnitude", "phase"], axis=1),
        helper.make_node("Exp", ["log_magnitude"], ["magnitude"]),
        helper.make_node("Cos", ["phase"], ["cosine"]), helper.make_node("Sin", ["phase"], ["sine"]),
        helper.make_node("Mul", ["magnitude", "cosine"], ["real"]),
        helper.make_node("Mul", ["magnitude", "sine"], ["imaginary"]),
        helper.make_node("Concat", ["real", "imaginary"], ["spectrum"], axis=1),
        helper.make_node("ConvTranspose", ["spectrum", basis], ["output"], kernel_shape=[size], strides=[hop],
                         pads=[(size - hop) // 2] * 2)])
    del graph.output[0].type.tensor_type.shape.dim[:]
    onnx.save(source, path)


def unrelated(_source, path):
    """A two-layer perceptron."""
    rng = np.random.default_rng(3)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
         helper.make_node("Gemm", ["r", "w2"], ["y"])], "perceptron",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(rng.standard_normal((4, 8)).astype(np.float32), "w1"),
         numpy_helper.from_array(rng.standard_normal((8, 2)).astype(np.float32), "w2")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), path)


def run(path):
    """Runs a graph with plausible inputs; the output must be finite."""
    voice = ort_piper.session(str(path))
    feed = {"x": np.ones((1, 4), np.float32), "lid": np.array([1], np.int64),
            "prosody_features": np.ones((1, len(IDS), 3), np.float32), **ort_piper.feed(voice, IDS, (0, 1, 0), 1)}
    wanted = {value.name for value in voice.get_inputs()}
    (out,) = voice.run(None, {name: value for name, value in feed.items() if name in wanted})
    assert out.size and np.isfinite(out).all(), path
    return out.size


def main(arguments):
    out = pathlib.Path(arguments[0]) if arguments else golden_io.GOLDEN / "refused"
    out.mkdir(exist_ok=True)
    logging.disable(logging.WARNING)  # the quantiser says for every integer tensor that it leaves it alone
    for make, base in ((int8_dynamic, "low"), (int8_weights, "low"), (more_inputs, "multi"), (istft_tail, "low"),
                       (unrelated, "low")):
        path = out / f"{make.__name__}.onnx"
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            vary_piper.renamed(onnx.load(golden_io.GOLDEN / f"piper_{base}.onnx"), file.name)
            make(onnx.load(file.name), path)
        shutil.copyfile(golden_io.GOLDEN / f"piper_{base}.onnx.json", out / f"{path.name}.json")
        print(f"{path.name}: {path.stat().st_size} bytes, gives {run(path)} values")


if __name__ == "__main__":
    main(sys.argv[1:])
