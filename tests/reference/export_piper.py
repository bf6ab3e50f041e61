#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports tiny VITS models with seeded weights the way Piper exports its voices, and stores what ONNX Runtime says.

usage: export_piper.py [OUT_DIR]          default: tests/data/golden
       export_piper.py --scan NAME N      prints, for seeds 0 .. N - 1, how the durations of a voice lie

Writes per voice piper_NAME.onnx, piper_NAME.onnx.json and piper_NAME_twin.safetensors (the same weights under the
original VITS names, flow folded), for multi_high also the Hugging Face folder piper_multi_high_hf, then the forms that
vary_piper.py derives, and for all together piper.json and piper.safetensors (waveforms and durations). Needs numpy,
torch, onnx and onnxruntime.
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch

import golden_io
import original_to_hf
import ort_piper
import safetensors_io
import vary_piper
from vits_original import Config, Vits

HIGH = dict(resblock=1, resblock_kernels=(3, 7), dilations=((1, 3, 5), (1, 3, 5)), rates=(4, 2), kernels=(8, 4),
            quality="high")
VOICES = {  # name: configuration, seed (from --scan)
    "low": (Config(), 5),
    "multi": (Config(speakers=4, gin=10), 1),
    "multi_high": (Config(speakers=3, gin=10, **HIGH), 5),
    "merged": (Config(speakers=3, gin=10), 5),
}
SYMBOLS = "_^$ !',-.:;?abcdefghijklmnopqrstuvwxyzæ"
LINES = {
    "short": [1, 0, 20, 0, 17, 0, 24, 0, 24, 0, 27, 0, 2],
    "one": [5],
    "long": [1, 0] + [id_ for i in range(40) for id_ in (3 + (5 * i * i + i) % 37, 0)] + [2],
}
SCALES = [("short", 1.0), ("one", 1.0), ("long", 1.0), ("short", 1.3)]


def build(name, seed=None):
    """The model of a voice. "merged" gets equal biases and layer norms, so that the exporter shares tensors."""
    config, chosen = VOICES[name]
    model = Vits(config, chosen if seed is None else seed)
    if name == "merged":
        for key, parameter in model.named_parameters():
            if key.endswith(("beta", "bias")) and "proj" not in key:
                parameter.zero_()
            elif key.endswith("gamma"):
                parameter.fill_(1.0)
    return model


class Exported(torch.nn.Module):
    """The call signature of a Piper graph: ids, lengths, (noise, length, noise_w) and the speaker index."""

    def __init__(self, model):
        super().__init__()
        # The weights keep their names only if the modules are direct children; `infer` is shared.
        self.enc_p, self.dp, self.flow, self.dec = model.enc_p, model.dp, model.flow, model.dec
        self.config = model.config
        if model.config.speakers > 1:
            self.emb_g = model.emb_g

    def forward(self, input_, input_lengths, scales, sid=None):
        return Vits.infer(self, input_, input_lengths, scales[0], scales[1], scales[2], sid)[0].unsqueeze(1)


def export(model, path):
    """Four input names even for one speaker: the fourth then lands on the phoneme table, as in every Piper voice."""
    speakers = model.config.speakers
    inputs = (torch.randint(0, model.config.symbols, (1, 50)), torch.tensor([50]), torch.tensor([0.667, 1.0, 0.8]),
              torch.tensor([0]) if speakers > 1 else None)
    torch.manual_seed(1)
    torch.onnx.export(
        Exported(model), inputs, str(path), opset_version=15, dynamo=False,
        input_names=["input", "input_lengths", "scales", "sid"], output_names=["output"],
        dynamic_axes={"input": {0: "batch_size", 1: "phonemes"}, "input_lengths": {0: "batch_size"},
                      "output": {0: "batch_size", 1: "time"}})


def voice_json(config):
    """The .onnx.json of a Piper voice."""
    speakers = {f"speaker {i}": i for i in range(config.speakers)} if config.speakers > 1 else {}
    return {
        "audio": {"sample_rate": config.sample_rate, "quality": config.quality}, "espeak": {"voice": "en-us"},
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8}, "phoneme_type": "espeak",
        "phoneme_map": {}, "phoneme_id_map": {symbol: [i] for i, symbol in enumerate(SYMBOLS)},
        "num_symbols": config.symbols, "num_speakers": config.speakers, "speaker_id_map": speakers,
        "hop_length": config.hop, "piper_version": "1.0.0"}


def twin(model):
    """Original names, plain weights."""
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    for name in [name for name in state if name.endswith("weight_v")]:
        g, v = state.pop(name[:-1] + "g").astype(np.float64), state.pop(name).astype(np.float64)
        norm = np.sqrt((v.reshape(len(v), -1) ** 2).sum(1)).reshape(g.shape)
        state[name[:-2]] = (v * g / norm).astype(np.float32)
    return state


@torch.no_grad()
def run_torch(model, ids, length_scale, sid):
    """(waveform, frames per id, smallest distance of a duration to a whole number) with both noise scales 0."""
    speaker = None if sid is None else torch.tensor([sid])
    seen = []
    hook = model.dp.register_forward_hook(lambda _m, _i, out: seen.append(out))
    wave, frames = model.infer(torch.tensor([ids]), torch.tensor([len(ids)]), 0.0, length_scale, 0.0, speaker)
    hook.remove()
    exact = np.exp(seen[0].numpy().astype(np.float64)) * length_scale
    return wave.reshape(-1).numpy(), frames.reshape(-1).numpy(), float(np.abs(exact - np.round(exact)).min())


def settings(config):
    for sid in range(config.speakers) if config.speakers > 1 else [None]:
        for line, length_scale in SCALES:
            if sid in (None, 0, config.speakers - 1) or line == "short" and length_scale == 1.0:
                yield line, length_scale, sid


def scan(name, count):
    for seed in range(count):
        model = build(name, seed)
        runs = [run_torch(model, LINES[line], scale, sid) for line, scale, sid in settings(model.config)]
        frames, waves = np.concatenate([r[1] for r in runs]), np.concatenate([r[0] for r in runs])
        print(f"seed {seed:2d}  nearest {min(r[2] for r in runs):.4f}  durations {frames.mean():.1f} to "
              f"{int(frames.max())}  rms {np.sqrt((waves**2).mean()):.3f}  peak {np.abs(waves).max():.3f}")


def record(model, stem, out, tensors):
    """Runs torch and ONNX Runtime on one graph, compares them and returns the cases."""
    cases, path = [], out / f"{stem}.onnx"
    for line, length_scale, sid in settings(model.config):
        expected, frames, nearest = run_torch(model, LINES[line], length_scale, sid)
        assert nearest > 1e-3, f"{stem} {line}: a duration lies {nearest:.1e} from a whole number"
        wave = ort_piper.run(path, LINES[line], (0.0, length_scale, 0.0), sid)
        assert len(wave) == frames.sum() * model.config.hop and np.abs(wave - expected).max() < 1e-5, (stem, line)
        case = f"{stem}.{line}.{length_scale:g}" + ("" if sid is None else f".speaker{sid}")
        tensors[f"{case}.waveform"], tensors[f"{case}.durations"] = wave, frames.astype(np.int64)
        cases.append(dict(name=case, voice=stem, ids=LINES[line], speaker=sid, length_scale=length_scale,
                          samples=len(wave)))
    print(f"{path.name}: {path.stat().st_size} bytes")
    return cases


def write_json(model, path):
    path.with_suffix(".onnx.json").write_text(json.dumps(voice_json(model.config), ensure_ascii=False) + "\n")


def store_voice(name, out, tensors):
    """Writes one voice with its twins and returns its cases."""
    model, stem = build(name), f"piper_{name}"
    export(model, out / f"{stem}.onnx")
    write_json(model, out / f"{stem}.onnx")
    safetensors_io.save(out / f"{stem}_twin.safetensors", twin(model))
    if name == "multi_high":
        original_to_hf.write(model.config, twin(model), out / f"{stem}_hf")
    return record(model, stem, out, tensors)


def store_variants(out, tensors):
    """Other forms of "multi": the same waveforms, except for half precision, which is a voice of its own."""
    base, cases = onnx.load(out / "piper_multi.onnx"), []
    for name, variant in vary_piper.VARIANTS.items():
        model, path = build("multi"), out / f"piper_multi_{name}.onnx"
        variant(base, path)
        write_json(model, path)
        if name == "half":
            for module in model.modules():  # the graph rounds the folded weight, so fold before rounding
                if hasattr(module, "weight_g"):
                    torch.nn.utils.remove_weight_norm(module)
            folded = {key: torch.from_numpy(value) for key, value in twin(build("multi")).items()}
            model.load_state_dict({key: value.half().float() if value.ndim > 1 else value
                                   for key, value in folded.items()})
        cases += record(model, path.stem, out, tensors)
    return cases


def main(arguments):
    warnings.simplefilter("ignore")
    if arguments[:1] == ["--scan"]:
        return scan(arguments[1], int(arguments[2]))
    out = pathlib.Path(arguments[0]) if arguments else golden_io.GOLDEN
    tensors = {}
    cases = [case for name in VOICES for case in store_voice(name, out, tensors)] + store_variants(out, tensors)
    golden_io.write(out, "piper", {"made_with": f"torch {torch.__version__}, ONNX Runtime {ort_piper.version()}",
                                   "noise_scale": 0, "noise_w": 0}, cases, tensors)


if __name__ == "__main__":
    main(sys.argv[1:])
