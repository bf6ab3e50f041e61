#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a Piper voice of several speakers out of a single-speaker one and a family patch.

usage: merge_family.py BASE.onnx PATCH.safetensors OUT.onnx      reads BASE.onnx.json, writes OUT.onnx.json

The result has the form of Piper's own multi-speaker voices, so ONNX Runtime, piper-tts and sherpa-onnx run it. The
patch holds decoder tensors that replace those of the base, the speaker table `emb_g.weight` [speakers, gin], and for
each speaker layer L the table `table.L` [speakers, channels] of its outputs. L becomes the affine map of least norm
that takes the rows of `emb_g.weight` to the rows of its table. Needs numpy and onnx.
"""

import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import safetensors_io

TABLE = "table."
PHONEMES, SPEAKERS = "enc_p.emb.weight", "emb_g.weight"


def speaker_layer(embedding, outputs):
    """(weight [channels, gin, 1], bias [channels]) of the affine map of least norm from `embedding` rows to `outputs` rows."""
    embedding, outputs = embedding.astype(np.float64), outputs.astype(np.float64)
    inputs, targets = embedding - embedding[0], outputs - outputs[0]
    weight = np.linalg.lstsq(inputs[1:], targets[1:], rcond=None)[0].T
    bias = outputs[0] - weight @ embedding[0]
    return weight[:, :, None].astype(np.float32), bias.astype(np.float32)


class Graph:
    """An ONNX graph that is being edited. New nodes wait in `first` and go in front of all others."""

    def __init__(self, model):
        self.graph = model.graph
        self.initializers = {tensor.name: tensor for tensor in self.graph.initializer}
        self.conv_of_bias = {node.input[2]: node for node in self.graph.node
                             if node.op_type == "Conv" and len(node.input) == 3}
        self.first, self.behind = [], {}

    def tensor(self, name, value):
        """Adds or replaces an initialiser; a replaced one keeps its shape."""
        value = np.ascontiguousarray(value)
        if name in self.initializers:
            assert list(self.initializers[name].dims) == list(value.shape), name
            self.initializers[name].CopyFrom(numpy_helper.from_array(value, name))
        else:
            self.initializers[name] = self.graph.initializer.add()
            self.initializers[name].CopyFrom(numpy_helper.from_array(value, name))
        return name

    def compute(self, kind, name, inputs, **attributes):
        """A node at the start of the graph; returns the name of its output."""
        self.first.append(helper.make_node(kind, inputs, [f"{name}_output_0"], name, **attributes))
        return f"{name}_output_0"

    def replace_uses(self, old, new):
        for node in self.graph.node:
            for i, name in enumerate(node.input):
                if name == old:
                    node.input[i] = new

    def add_behind(self, node, value, name):
        """Everything that read `node` now reads node + value."""
        self.replace_uses(node.output[0], f"{name}_output_0")
        self.behind[node.output[0]] = helper.make_node("Add", [node.output[0], value], [f"{name}_output_0"], name)

    def finish(self):
        """Puts the new nodes in place and drops what nobody reads any more."""
        nodes = list(self.first)
        for node in self.graph.node:
            nodes.append(node)
            if node.output[0] in self.behind:
                nodes.append(self.behind[node.output[0]])
        needed, kept = {output.name for output in self.graph.output}, []
        for node in reversed(nodes):
            if needed & set(node.output):
                needed |= set(node.input)
                kept.append(onnx.NodeProto.FromString(node.SerializeToString()))
        del self.graph.node[:]
        self.graph.node.extend(reversed(kept))


def free_the_name_sid(graph):
    """Piper's exporter calls the phoneme table of a single-speaker voice `sid`; that name is the speaker input now."""
    table = graph.initializers.pop("sid", None)
    if table is not None:
        table.name = PHONEMES
        graph.initializers[PHONEMES] = table
        graph.replace_uses("sid", PHONEMES)


def speaker_input(graph, embedding):
    """Adds the input `sid` [batch] and returns the name of g [batch, gin, 1]."""
    batch = graph.graph.input[0].type.tensor_type.shape.dim[0].dim_param or "batch_size"
    graph.graph.input.append(helper.make_tensor_value_info("sid", TensorProto.INT64, [batch]))
    row = graph.compute("Gather", "/emb_g/Gather", [graph.tensor(SPEAKERS, embedding), "sid"])
    return graph.compute("Unsqueeze", "/Unsqueeze_g", [row, graph.tensor("/emb_g/last_axis", np.array([-1], np.int64))])


def condition_flow(graph, prefix, conditioning, channels):
    """Gives each WaveNet layer its share of the conditioning, where a single-speaker graph adds zeros."""
    producers = {output: node for node in graph.graph.node for output in node.output}
    layers = [bias for bias in graph.conv_of_bias if bias.startswith(f"{prefix}.in_layers.")]
    share = channels // len(layers)
    for i in range(len(layers)):
        inner = graph.conv_of_bias[f"{prefix}.in_layers.{i}.bias"].output[0]
        (add,) = [node for node in graph.graph.node if node.op_type == "Add" and inner in node.input]
        zeros = [name for name in add.input if name != inner][0]
        assert producers[zeros].op_type == "ConstantOfShape", f"{prefix}: layer {i} adds something else than zeros"
        path = f"/{prefix.replace('.', '/')}/g_{i}"
        ends = [graph.tensor(f"{path}/{what}", np.array([value], np.int64))
                for what, value in (("from", i * share), ("to", (i + 1) * share), ("axis", 1))]
        add.input[list(add.input).index(zeros)] = graph.compute("Slice", path, [conditioning, *ends])


def merge(model, patch):
    """Edits `model` in place."""
    graph = Graph(model)
    free_the_name_sid(graph)
    embedding = patch[SPEAKERS].astype(np.float32)
    for name, value in patch.items():
        if name.startswith("dec."):
            assert name in graph.initializers, f"{name}: not a tensor of the base voice"
            graph.tensor(name, value.astype(np.float32))
    g = speaker_input(graph, embedding)
    for name in [name for name in patch if name.startswith(TABLE)]:
        layer = name[len(TABLE):]
        weight, bias = speaker_layer(embedding, patch[name])
        flow = layer.endswith("cond_layer")  # flow weights are anonymous in Piper's graphs, after weight normalisation
        weight_name = f"onnx::Conv_{layer.split('.')[2]}_cond" if flow else f"{layer}.weight"
        out = graph.compute("Conv", f"/{layer.replace('.', '/')}/Conv",
                            [g, graph.tensor(weight_name, weight), graph.tensor(f"{layer}.bias", bias)],
                            dilations=[1], group=1, kernel_shape=[1], pads=[0, 0], strides=[1])
        if flow:
            condition_flow(graph, layer[:-len(".cond_layer")], out, len(bias))
        else:
            target = {"dp.cond": "dp.pre.bias", "dec.cond": "dec.conv_pre.bias"}[layer]
            graph.add_behind(graph.conv_of_bias[target], out, f"/{layer.replace('.', '/')}/Add")
    graph.finish()


def write(base_path, patch_path, out_path):
    patch, metadata = safetensors_io.load(patch_path)
    model = onnx.load(base_path)
    merge(model, patch)
    onnx.checker.check_model(model)
    onnx.save(model, out_path)
    with open(f"{base_path}.json", encoding="utf-8") as file:
        description = json.load(file)
    voices = json.loads(metadata["voices"])
    description.update(num_speakers=len(voices), dataset=metadata["dataset"],
                       speaker_id_map={name: i for i, name in enumerate(voices)})
    with open(f"{out_path}.json", "w", encoding="utf-8") as file:
        json.dump(description, file, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    write(*sys.argv[1:])
