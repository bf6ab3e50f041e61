# SPDX-License-Identifier: MIT
"""Weights that nobody has to store: every tensor is a function of its name, its shape and a seed.

The generator is small enough to be written again in any language:

    key      = (seed << 32) ^ crc32(name as UTF-8)                       64 bits
    word(i)  = splitmix64(key + (i + 1) * 0x9E3779B97F4A7C15 mod 2^64)   i = flat index, row-major
    unit(i)  = (word(i) >> 40) * 2^-23 - 1                               exact in float32, in [-1, 1)
    value(i) = float32(offset + scale * unit(i))                         computed in float64, rounded once

`offset` and `scale` depend on what the tensor is for (see `spread`). They keep every activation near unit variance,
layer-norm gains near one, durations at a few frames per id and the waveform away from silence and saturation, so a
wrong sign, a swapped channel or a forgotten mask shows in the output. Names may follow either the Hugging Face or the
original VITS convention. Needs numpy only.
"""

import re
import zlib

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def unit(name, shape, seed=0):
    """Values in [-1, 1), float64, `shape`; see the formula above."""
    count = int(np.prod(shape, dtype=np.int64))
    key = np.uint64(((seed << 32) ^ zlib.crc32(name.encode())) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        word = key + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * _GOLDEN
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    return ((word >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0).reshape(shape)


# (pattern, offset, deviation); a deviation of None means gain / sqrt(fan in), the gain standing in the fourth place.
_RULES = [(re.compile(pattern), *rest) for pattern, *rest in [
    (r"(embed_speaker|emb_g)\.weight$", 0.0, 1.0, 1.0),
    (r"(embed_tokens|enc_p\.emb)\.weight$", 0.0, "embedding", 1.0),
    (r"emb_rel_[kv]$", 0.0, "embedding", 1.0),
    (r"(norm\w*\.(\d+\.)?weight|gamma)$", 1.0, 0.1, 1.0),
    (r"(norm\w*\.(\d+\.)?bias|beta)$", 0.0, 0.1, 1.0),
    (r"flows\.0\.(translate|m)$", -1.0, 0.05, 1.0),
    (r"flows\.0\.(log_scale|logs)$", -0.3, 0.05, 1.0),
    (r"(duration_predictor|dp)\.proj\.bias$", 0.9, 0.05, 1.0),
    (r"(upsampler|ups)\.\d+\.weight$", 0.0, "transposed", 1.4),
    (r"resblocks\..*weight$", 0.0, None, 0.9),
    (r"(decoder|dec)\.conv_post\.weight$", 0.0, None, 0.25),
    (r"flow\.flows\.\d+\.(conv_)?post\.weight$", 0.0, None, 0.7),
    (r"^dp\.flows\.\d+\.proj\.weight$", 0.0, None, 0.6),
    (r"cond(_layer)?\.weight$", 0.0, None, 0.6),
    (r"(project|enc_p\.proj)\.weight$", 0.0, None, 0.8),
    (r"weight$", 0.0, None, 1.3),
    (r"bias$", 0.0, 0.1, 1.0),
]]


def spread(name, shape):
    """(offset, scale) of a tensor: scale is the half width of a uniform distribution, so deviation = scale / sqrt 3."""
    for pattern, offset, deviation, gain in _RULES:
        if pattern.search(name):
            break
    else:
        raise ValueError(f"{name}: no rule for this tensor")
    if deviation == "embedding":  # the model multiplies by sqrt(width), or takes dot products over it
        deviation = shape[-1] ** -0.5
    elif deviation == "transposed":  # [in, out, kernel]; kernel / stride = 2 taps reach each output sample
        deviation = gain * (2.0 * shape[0]) ** -0.5
    elif deviation is None:
        deviation = gain * float(np.prod(shape[1:])) ** -0.5
    return offset, deviation * 3.0**0.5


def tensor(name, shape, seed=0):
    """The tensor called `name`: float32, C order."""
    offset, scale = spread(name, shape)
    return (offset + scale * unit(name, shape, seed)).astype(np.float32)


def split_norm(name, weight, seed=0):
    """(g, v) of weight normalisation with fold(g, v) = weight up to rounding; v is rescaled per row by 0.5 .. 1.5."""
    rows = weight.reshape(len(weight), -1).astype(np.float64)
    row_shape = (len(weight),) + (1,) * (weight.ndim - 1)
    g = np.sqrt((rows**2).sum(1)).reshape(row_shape)
    v = weight.astype(np.float64) * (1.0 + 0.5 * unit(name + "/v", row_shape, seed))
    return g.astype(np.float32), v.astype(np.float32)
