# SPDX-License-Identifier: MIT
"""The stochastic duration predictor of VITS, inference direction, with the module names of the original checkpoints.

Flow list: 0 elementwise affine, then (spline, flip) pairs, so splines stand at 1, 3, 5, ... In the inverse direction
the spline at 1 is left out, as the original does.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from vits_layers import Flip, LayerNorm

BINS, BOUND, LEAST = 10, 5.0, 1e-3


def knots(logits):
    """Bin edges [..., BINS + 1] from -BOUND to BOUND for unnormalised sizes [..., BINS]."""
    sizes = LEAST + (1 - LEAST * BINS) * F.softmax(logits, -1)
    inner = 2 * BOUND * torch.cumsum(sizes, -1)[..., :-1] - BOUND
    edge = torch.ones_like(inner[..., :1]) * BOUND
    return torch.cat([-edge, inner, edge], -1)


def inverse_spline(y, widths, heights, slopes):
    """Inverse of the monotonic rational-quadratic spline (Durkan et al. 2019); identity outside [-BOUND, BOUND].

    y [...]; widths, heights [..., BINS] and slopes [..., BINS - 1] are unnormalised.
    """
    xs, ys = knots(widths), knots(heights)
    slopes = LEAST + F.softplus(F.pad(slopes, [1, 1], value=math.log(math.exp(1 - LEAST) - 1)))
    inside = torch.logical_and(y >= -BOUND, y <= BOUND)
    value = torch.clamp(y, -BOUND, BOUND).unsqueeze(-1)
    bin_ = (value >= ys[..., :-1]).sum(-1, keepdim=True) - 1
    x0, y0 = xs.gather(-1, bin_), ys.gather(-1, bin_)
    w, h = xs.gather(-1, bin_ + 1) - x0, ys.gather(-1, bin_ + 1) - y0
    s0, s1 = slopes.gather(-1, bin_), slopes.gather(-1, bin_ + 1)
    s, up = h / w, value - y0
    bend = s0 + s1 - 2 * s
    a, b, c = h * (s - s0) + up * bend, h * s0 - up * bend, -s * up
    root = 2 * c / (-b - torch.sqrt(b * b - 4 * a * c))
    return torch.where(inside, (root * w + x0).squeeze(-1), y)


class Separable(nn.Module):
    """Three dilated depthwise convolutions, each followed by a 1x1, with residual."""

    def __init__(self, channels):
        super().__init__()
        self.convs_sep = nn.ModuleList(
            nn.Conv1d(channels, channels, 3, groups=channels, dilation=3**i, padding=3**i) for i in range(3))
        self.convs_1x1 = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(3))
        self.norms_1 = nn.ModuleList(LayerNorm(channels) for _ in range(3))
        self.norms_2 = nn.ModuleList(LayerNorm(channels) for _ in range(3))

    def forward(self, x, mask, g=None):
        if g is not None:
            x = x + g
        for i in range(3):
            y = F.gelu(self.norms_1[i](self.convs_sep[i](x * mask)))
            x = x + F.gelu(self.norms_2[i](self.convs_1x1[i](y)))
        return x * mask


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.Parameter(torch.zeros(2, 1))
        self.logs = nn.Parameter(torch.zeros(2, 1))

    def forward(self, z, mask, _x):
        return (z - self.m) * torch.exp(-self.logs) * mask


class Spline(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.pre = nn.Conv1d(1, hidden, 1)
        self.convs = Separable(hidden)
        self.proj = nn.Conv1d(hidden, 3 * BINS - 1, 1)
        self.hidden = hidden

    def forward(self, z, mask, x):
        kept, moved = torch.split(z, [1, 1], 1)
        h = self.proj(self.convs(self.pre(kept), mask, x)) * mask
        h = h.unsqueeze(1).transpose(2, 3)  # [batch, 1, time, 3 * BINS - 1]
        size = math.sqrt(self.hidden)
        moved = inverse_spline(moved, h[..., :BINS] / size, h[..., BINS:2 * BINS] / size, h[..., 2 * BINS:])
        return torch.cat([kept, moved], 1) * mask


class StochasticDurations(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.pre = nn.Conv1d(c.hidden, c.hidden, 1)
        self.convs = Separable(c.hidden)
        self.proj = nn.Conv1d(c.hidden, c.hidden, 1)
        if c.gin:
            self.cond = nn.Conv1d(c.gin, c.hidden, 1)
        self.flows = nn.ModuleList([Affine()])
        for _ in range(c.spline_flows):
            self.flows.extend([Spline(c.hidden), Flip()])

    def forward(self, x, mask, g, noise_w):
        """Log durations [batch, 1, ids]."""
        x = self.pre(x)
        if g is not None:
            x = x + self.cond(g)
        x = self.proj(self.convs(x, mask)) * mask
        z = torch.randn(x.size(0), 2, x.size(2)).type_as(x) * noise_w
        for step in [*reversed(self.flows[2:]), self.flows[0]]:
            z = step(z, mask, x)
        return torch.split(z, [1, 1], 1)[0]
