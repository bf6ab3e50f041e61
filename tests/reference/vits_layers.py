# SPDX-License-Identifier: MIT
"""What both halves of the VITS reference use. Shapes are [batch, channels, time]."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    """Over channels; the parameters are called gamma and beta."""

    def __init__(self, channels):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        x = x.transpose(1, -1)
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        return ((x - mean) / torch.sqrt(variance + 1e-5) * self.gamma + self.beta).transpose(1, -1)


class Flip(nn.Module):
    def forward(self, x, *_):
        return torch.flip(x, [1])


def same(channels, kernel, dilation):
    return nn.Conv1d(channels, channels, kernel, dilation=dilation, padding=(kernel - 1) * dilation // 2)
