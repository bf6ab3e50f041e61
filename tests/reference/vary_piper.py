#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other forms of one Piper graph, as they are met in the wild. Needs numpy and onnx.

usage: vary_piper.py FORM IN.onnx OUT.onnx

  renamed    numbers for the names of initialisers, nodes and inner values, constants as initialisers: old exporters
  half       weights of two and more dimensions are stored as fp16 behind a Cast
  external   larger tensors lie in OUT.onnx.data
  metadata   carries the metadata_props and the ir version of sherpa-onnx's copies
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def copy(model):
    result = onnx.ModelProto()
    result.CopyFrom(model)
    return result


def lift_constants(graph):
    """Constant nodes become initialisers."""
    kept = []
    for node in graph.node:
        if node.op_type == "Constant":
            tensor = graph.initializer.add()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
        else:
            kept.append(onnx.NodeProto.FromString(node.SerializeToString()))
    del graph.node[:]
    graph.node.extend(kept)


def renamed(model, path):
    model = copy(model)
    graph = model.graph
    lift_constants(graph)
    names = {value.name: value.name for value in [*graph.input, *graph.output]}
    names[""] = ""

    def number(name):
        return names.setdefault(name, str(len(names) + 300))

    for tensor in graph.initializer:
        tensor.name = number(tensor.name)
    for i, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{i + 700}"
        for ends in (node.input, node.output):
            for j, name in enumerate(ends):
                ends[j] = number(name)
    del graph.value_info[:]
    onnx.save(model, path)


def half(model, path):
    model = copy(model)
    graph, casts = model.graph, []
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) > 1:
            name = tensor.name
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), name + "_fp16"))
            casts.append(helper.make_node("Cast", [tensor.name], [name], f"Cast_{name}", to=TensorProto.FLOAT))
    nodes = casts + [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, path)


def external(model, path):
    path = pathlib.Path(path)
    path.with_suffix(".onnx.data").unlink(missing_ok=True)  # onnx appends to an existing file
    onnx.save(copy(model), path, save_as_external_data=True, all_tensors_to_one_file=True, location=path.name + ".data",
              size_threshold=256)


def metadata(model, path):
    model = copy(model)
    speakers = next((t.dims[0] for t in model.graph.initializer if t.name == "emb_g.weight"), 1)
    for key, value in dict(model_type="vits", comment="piper", language="English", voice="en-us", has_espeak=1,
                           n_speakers=speakers, sample_rate=22050).items():
        model.metadata_props.add(key=key, value=str(value))
    onnx.save(model, path)


VARIANTS = dict(renamed=renamed, half=half, external=external)

if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    dict(VARIANTS, metadata=metadata)[sys.argv[1]](onnx.load(sys.argv[2]), sys.argv[3])
