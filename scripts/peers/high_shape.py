# SPDX-License-Identifier: MIT
"""Writes a Piper voice of the high-quality shape: a medium voice whose decoder is replaced by one of Piper's "high" shape
(ResBlock1, 512 channels at its start, 256 samples a frame) with seeded random weights. Needs numpy and onnx, no torch.

Text, encoder, durations and flow stay those of the medium voice, so that the same text gives the same ids and lengths;
what it says is noise. Good for figures of speed only.

usage: high_shape.py MEDIUM.onnx OUT.onnx
"""
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

CHANNELS = 512
STAGES = [(8, 16), (8, 16), (2, 4), (2, 4)]  # stride and kernel of each upsampling
BLOCKS = [(3, (1, 3, 5)), (7, (1, 3, 5)), (11, (1, 3, 5))]  # kernel and dilations of each residual block
SLOPE, LAST_SLOPE = 0.1, 0.01


class Decoder:
    """The nodes and tensors of a decoder, added one after another; each method gives the name of its output."""

    def __init__(self, seed):
        self.nodes, self.tensors = [], []
        self._random = np.random.default_rng(seed)

    def _tensor(self, name, shape, deviation):
        values = self._random.standard_normal(shape, np.float32) * np.float32(deviation)
        self.tensors.append(numpy_helper.from_array(values, name))
        return name

    def _node(self, operation, name, inputs, **attributes):
        output = f"/{name}_output_0"
        self.nodes.append(helper.make_node(operation, inputs, [output], f"/{name}", **attributes))
        return output

    def leaky(self, name, x, slope=SLOPE):
        return self._node("LeakyRelu", name, [x], alpha=slope)

    def conv(self, name, x, outputs, inputs, kernel, dilation=1, gain=1.0, bias=True):
        around = (kernel - 1) * dilation // 2
        weights = [self._tensor(f"{name}.weight", (outputs, inputs, kernel), gain / (inputs * kernel) ** 0.5)]
        if bias:
            weights.append(self._tensor(f"{name}.bias", (outputs,), 0.05))
        return self._node("Conv", name.replace(".", "/", 1) + "/Conv", [x] + weights, dilations=[dilation], group=1,
                          kernel_shape=[kernel], pads=[around, around], strides=[1])

    def upsample(self, name, x, inputs, stride, kernel):
        around = (kernel - stride) // 2
        weights = [self._tensor(f"{name}.weight", (inputs, inputs // 2, kernel), 1.4 / (2 * inputs) ** 0.5),
                   self._tensor(f"{name}.bias", (inputs // 2,), 0.05)]
        return self._node("ConvTranspose", name.replace(".", "/", 1) + "/ConvTranspose", [x] + weights, dilations=[1],
                          group=1, kernel_shape=[kernel], pads=[around, around], strides=[stride])

    def resblock(self, name, x, channels, kernel, dilations):
        """ResBlock1: two convolutions for each dilation."""
        path = name.replace(".", "/", 1)
        for i, dilation in enumerate(dilations):
            y = self.leaky(f"{path}/LeakyRelu_{2 * i}", x)
            y = self.conv(f"{name}.convs1.{i}", y, channels, channels, kernel, dilation, 0.7)
            y = self.leaky(f"{path}/LeakyRelu_{2 * i + 1}", y)
            y = self.conv(f"{name}.convs2.{i}", y, channels, channels, kernel, 1, 0.7)
            x = self._node("Add", f"{path}/Add_{i}", [y, x])
        return x

    def build(self, z, latent, output):
        """From the latent `z` to the waveform `output`."""
        count = numpy_helper.from_array(np.array(len(BLOCKS), np.float32), "dec.block_count")
        self.tensors.append(count)
        channels = CHANNELS
        x = self.conv("dec.conv_pre", z, channels, latent, 7)
        for stage, (stride, kernel) in enumerate(STAGES):
            x = self.leaky(f"dec/LeakyRelu_{stage}", x)
            x = self.upsample(f"dec.ups.{stage}", x, channels, stride, kernel)
            channels //= 2
            total = None
            for i, (size, dilations) in enumerate(BLOCKS):
                y = self.resblock(f"dec.resblocks.{stage * len(BLOCKS) + i}", x, channels, size, dilations)
                total = y if total is None else self._node("Add", f"dec/Sum_{stage}_{i}", [total, y])
            x = self._node("Div", f"dec/Div_{stage}", [total, count.name])
        x = self.leaky("dec/LeakyRelu_last", x, LAST_SLOPE)
        x = self.conv("dec.conv_post", x, 1, channels, 7, gain=0.25, bias=False)
        self.nodes.append(helper.make_node("Tanh", [x], [output], "/dec/Tanh"))


def convert(medium, out, seed=1):
    """Writes `out` and its configuration beside it."""
    model = onnx.load(medium)
    graph = model.graph
    nodes = list(graph.node)
    first = next((i for i, node in enumerate(nodes) if node.name == "/dec/conv_pre/Conv"), None)
    last = next((i for i, node in enumerate(nodes) if node.name == "/dec/Tanh"), None)
    if first is None or last is None:
        sys.exit(f"{medium}: no decoder between /dec/conv_pre/Conv and /dec/Tanh; is it a Piper voice?")
    shapes = {tensor.name: tensor.dims for tensor in graph.initializer}
    decoder = Decoder(seed)
    decoder.build(nodes[first].input[0], shapes[nodes[first].input[1]][1], nodes[last].output[0])
    others = [node for node in nodes if not node.name.startswith("/dec/")]
    used = {name for node in others for name in node.input}
    kept = [node for node in nodes if not node.name.startswith("/dec/")  # but for its constants that others share
            or node.op_type == "Constant" and node.output[0] in used]
    at = next(i for i, node in enumerate(kept) if nodes[last].output[0] in node.input)
    tensors = [tensor for tensor in graph.initializer if not tensor.name.startswith("dec.")]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(kept[:at] + decoder.nodes + kept[at:])
    graph.initializer.extend(tensors + decoder.tensors)
    onnx.checker.check_model(model)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_suffix(".part")
    onnx.save(model, partial)
    shutil.copyfile(f"{medium}.json", f"{out}.json")
    partial.rename(out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
