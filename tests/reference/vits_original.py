# SPDX-License-Identifier: MIT
"""The inference half of VITS in PyTorch with the module names of the original checkpoints, written for export.

Shapes are [batch, channels, time]. `Vits(config)` is built with seeded weights; `infer` is what Piper exports. Flow
convolutions keep their weight normalisation, decoder convolutions are plain, as they are when Piper exports.
`hidden` is both encoder and latent width.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F

import seeded_weights
from vits_durations import StochasticDurations
from vits_layers import Flip, LayerNorm, same


@dataclasses.dataclass(frozen=True)
class Config:
    symbols: int = 40
    hidden: int = 8
    filters: int = 16
    layers: int = 1
    heads: int = 2
    window: int = 4
    spline_flows: int = 2
    couplings: int = 2
    wavenet_layers: int = 2
    speakers: int = 1
    gin: int = 0
    channels: int = 16
    rates: tuple = (4, 4)
    kernels: tuple = (8, 8)
    resblock: int = 2
    resblock_kernels: tuple = (3, 5)
    dilations: tuple = ((1, 2), (2, 6))
    sample_rate: int = 22050
    quality: str = "low"

    @property
    def hop(self):
        return math.prod(self.rates)


class Attention(nn.Module):
    """Self-attention with relative positions up to `window` each side, shared by the heads."""

    def __init__(self, c):
        super().__init__()
        self.heads, self.size, self.window = c.heads, c.hidden // c.heads, c.window
        for name in "qkvo":
            setattr(self, f"conv_{name}", nn.Conv1d(c.hidden, c.hidden, 1))
        self.emb_rel_k = nn.Parameter(torch.zeros(1, 2 * c.window + 1, self.size))
        self.emb_rel_v = nn.Parameter(torch.zeros(1, 2 * c.window + 1, self.size))

    def _around(self, table, length):
        """Rows of the table for distances -(length-1) .. length-1; zero beyond the window."""
        missing = torch.clamp(length - (self.window + 1), min=0)
        first = torch.clamp((self.window + 1) - length, min=0)
        padded = F.pad(table, [0, 0, missing, missing])
        return padded[:, first:first + 2 * length - 1]

    @staticmethod
    def _by_position(x):
        """Scores by distance [b, h, t, 2t-1] to scores by key [b, h, t, t]."""
        batch, heads, length, _ = x.shape
        x = F.pad(x, [0, 1]).reshape(batch, heads, 2 * length * length)
        x = F.pad(x, [0, length - 1]).reshape(batch, heads, length + 1, 2 * length - 1)
        return x[:, :, :length, length - 1:]

    @staticmethod
    def _by_distance(x):
        """Weights by key [b, h, t, t] to weights by distance [b, h, t, 2t-1]."""
        batch, heads, length, _ = x.shape
        x = F.pad(x, [0, length - 1]).reshape(batch, heads, length * (2 * length - 1))
        return F.pad(x, [length, 0]).reshape(batch, heads, length, 2 * length)[:, :, :, 1:]

    def forward(self, x, mask):
        batch, _, length = x.shape
        length = torch.as_tensor(length)
        q, k, v = (getattr(self, f"conv_{name}")(x).view(batch, self.heads, self.size, length).transpose(2, 3)
                   for name in "qkv")
        q = q / math.sqrt(self.size)
        scores = q @ k.transpose(-2, -1)
        scores = scores + self._by_position(q @ self._around(self.emb_rel_k, length).unsqueeze(0).transpose(-2, -1))
        weights = F.softmax(scores.masked_fill(mask == 0, -1e4), -1)
        out = weights @ v + self._by_distance(weights) @ self._around(self.emb_rel_v, length).unsqueeze(0)
        return self.conv_o(out.transpose(2, 3).reshape(batch, self.heads * self.size, length))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv_1 = nn.Conv1d(c.hidden, c.filters, 3)
        self.conv_2 = nn.Conv1d(c.filters, c.hidden, 3)

    def forward(self, x, mask):
        x = torch.relu(self.conv_1(F.pad(x * mask, [1, 1])))
        return self.conv_2(F.pad(x * mask, [1, 1])) * mask


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attn_layers = nn.ModuleList(Attention(c) for _ in range(c.layers))
        self.norm_layers_1 = nn.ModuleList(LayerNorm(c.hidden) for _ in range(c.layers))
        self.ffn_layers = nn.ModuleList(FeedForward(c) for _ in range(c.layers))
        self.norm_layers_2 = nn.ModuleList(LayerNorm(c.hidden) for _ in range(c.layers))

    def forward(self, x, mask):
        both = mask.unsqueeze(2) * mask.unsqueeze(-1)
        x = x * mask
        for attention, norm_1, ffn, norm_2 in zip(self.attn_layers, self.norm_layers_1, self.ffn_layers,
                                                  self.norm_layers_2):
            x = norm_1(x + attention(x, both))
            x = norm_2(x + ffn(x, mask))
        return x * mask


class TextEncoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.emb = nn.Embedding(c.symbols, c.hidden)
        self.encoder = Encoder(c)
        self.proj = nn.Conv1d(c.hidden, 2 * c.hidden, 1)
        self.hidden = c.hidden

    def forward(self, ids, lengths):
        x = (self.emb(ids) * math.sqrt(self.hidden)).transpose(1, -1)
        mask = torch.unsqueeze(up_to(lengths, x.size(2)), 1).to(x.dtype)
        x = self.encoder(x, mask)
        mean, log_scale = torch.split(self.proj(x) * mask, self.hidden, dim=1)
        return x, mean, log_scale, mask


class Wavenet(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.hidden, self.layers = c.hidden, c.wavenet_layers
        norm = torch.nn.utils.weight_norm
        self.in_layers = nn.ModuleList(
            norm(nn.Conv1d(c.hidden, 2 * c.hidden, 5, padding=2)) for _ in range(self.layers))
        self.res_skip_layers = nn.ModuleList(
            norm(nn.Conv1d(c.hidden, (2 if i + 1 < self.layers else 1) * c.hidden, 1)) for i in range(self.layers))
        if c.gin:
            self.cond_layer = norm(nn.Conv1d(c.gin, 2 * c.hidden * self.layers, 1))

    def forward(self, x, mask, g):
        total, h = torch.zeros_like(x), self.hidden
        if g is not None:
            g = self.cond_layer(g)
        for i in range(self.layers):
            inner = self.in_layers[i](x)
            inner = inner + (torch.zeros_like(inner) if g is None else g[:, 2 * h * i:2 * h * (i + 1)])
            out = self.res_skip_layers[i](torch.tanh(inner[:, :h]) * torch.sigmoid(inner[:, h:]))
            if i + 1 < self.layers:
                x = (x + out[:, :h]) * mask
                total = total + out[:, h:]
            else:
                total = total + out
        return total * mask


class Coupling(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.half = c.hidden // 2
        self.pre = nn.Conv1d(self.half, c.hidden, 1)
        self.enc = Wavenet(c)
        self.post = nn.Conv1d(c.hidden, self.half, 1)

    def forward(self, x, mask, g):
        low, high = torch.split(x, [self.half, self.half], 1)
        mean = self.post(self.enc(self.pre(low) * mask, mask, g)) * mask
        return torch.cat([low, (high - mean) * mask], 1)


class Flow(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.flows = nn.ModuleList(step for _ in range(c.couplings) for step in (Coupling(c), Flip()))

    def forward(self, x, mask, g):
        for step in reversed(self.flows):
            x = step(x, mask, g)
        return x


class ResBlock1(nn.Module):
    def __init__(self, channels, kernel, dilations):
        super().__init__()
        self.convs1 = nn.ModuleList(same(channels, kernel, d) for d in dilations)
        self.convs2 = nn.ModuleList(same(channels, kernel, 1) for _ in dilations)

    def forward(self, x):
        for dilated, plain in zip(self.convs1, self.convs2):
            x = x + plain(F.leaky_relu(dilated(F.leaky_relu(x, 0.1)), 0.1))
        return x


class ResBlock2(nn.Module):
    def __init__(self, channels, kernel, dilations):
        super().__init__()
        self.convs = nn.ModuleList(same(channels, kernel, d) for d in dilations)

    def forward(self, x):
        for dilated in self.convs:
            x = x + dilated(F.leaky_relu(x, 0.1))
        return x


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv_pre = nn.Conv1d(c.hidden, c.channels, 7, padding=3)
        if c.gin:
            self.cond = nn.Conv1d(c.gin, c.channels, 1)
        widths = [c.channels >> i for i in range(len(c.rates) + 1)]
        self.ups = nn.ModuleList(nn.ConvTranspose1d(widths[i], widths[i + 1], k, r, padding=(k - r) // 2)
                                 for i, (k, r) in enumerate(zip(c.kernels, c.rates)))
        block = ResBlock1 if c.resblock == 1 else ResBlock2
        self.resblocks = nn.ModuleList(block(width, k, d) for width in widths[1:]
                                       for k, d in zip(c.resblock_kernels, c.dilations))
        self.conv_post = nn.Conv1d(widths[-1], 1, 7, padding=3, bias=False)
        self.per_stage = len(c.resblock_kernels)

    def forward(self, x, g):
        x = self.conv_pre(x)
        if g is not None:
            x = x + self.cond(g)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            blocks = self.resblocks[i * self.per_stage:(i + 1) * self.per_stage]
            total = blocks[0](x)
            for block in blocks[1:]:
                total = total + block(x)
            x = total / self.per_stage
        return torch.tanh(self.conv_post(F.leaky_relu(x)))


class Vits(nn.Module):
    """The whole model; `seed` picks the weights."""

    def __init__(self, config, seed=0):
        super().__init__()
        self.config = config
        self.enc_p = TextEncoder(config)
        self.dec = Decoder(config)
        self.flow = Flow(config)
        self.dp = StochasticDurations(config)
        if config.speakers > 1:
            self.emb_g = nn.Embedding(config.speakers, config.gin)
        self.eval().requires_grad_(False)
        for name, parameter in self.named_parameters():
            if name.endswith("weight_v"):
                plain = seeded_weights.tensor(name[:-2], tuple(parameter.shape), seed)
                g, v = seeded_weights.split_norm(name[:-2], plain, seed)
                parameter.copy_(torch.from_numpy(v))
                self.get_parameter(name[:-1] + "g").copy_(torch.from_numpy(g))
            elif not name.endswith("weight_g"):
                parameter.copy_(torch.from_numpy(seeded_weights.tensor(name, tuple(parameter.shape), seed)))

    def infer(self, ids, lengths, noise_scale, length_scale, noise_w, sid=None):
        """Waveform [batch, 1, samples] and frames per id [batch, 1, ids]."""
        x, mean, log_scale, mask = self.enc_p(ids, lengths)
        g = self.emb_g(sid).unsqueeze(-1) if self.config.speakers > 1 else None
        frames = torch.ceil(torch.exp(self.dp(x, mask, g, noise_w)) * mask * length_scale)
        totals = torch.clamp_min(frames.sum([1, 2]), 1).long()
        out_mask = up_to(totals, totals.max()).unsqueeze(1).to(mask.dtype)
        path = monotonic_path(frames, mask.unsqueeze(2) * out_mask.unsqueeze(-1)).squeeze(1)
        mean = torch.matmul(path, mean.transpose(1, 2)).transpose(1, 2)
        log_scale = torch.matmul(path, log_scale.transpose(1, 2)).transpose(1, 2)
        latent = mean + torch.randn_like(mean) * torch.exp(log_scale) * noise_scale
        return self.dec(self.flow(latent, out_mask, g) * out_mask, g), frames


def up_to(lengths, longest):
    """Boolean [batch, longest]: position < length."""
    return torch.arange(longest, dtype=lengths.dtype).unsqueeze(0) < lengths.unsqueeze(1)


def monotonic_path(frames, mask):
    """One-hot [batch, 1, frames, ids]: which id each frame belongs to; mask has the same shape."""
    batch, _, total, ids = mask.shape
    ends = torch.cumsum(frames, -1).view(batch * ids)
    path = up_to(ends, total).to(mask.dtype).view(batch, ids, total)
    path = path - F.pad(path, [0, 0, 1, 0, 0, 0])[:, :-1]
    return path.unsqueeze(1).transpose(2, 3) * mask
