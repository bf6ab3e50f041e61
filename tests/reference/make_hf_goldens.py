#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs transformers' VitsModel on the seeded models and stores what every stage gives, with both noise scales 0.

usage: make_hf_goldens.py [OUT_DIR]        default: tests/data/golden
       make_hf_goldens.py --scan NAME N    prints, for seeds 0 .. N - 1, how the durations of a configuration lie

Writes hf_NAME.json and hf_NAME.safetensors per configuration; tests/data/golden/README.md tells their format. A seed is
accepted only if no duration is closer than 1e-3 to a whole number. Needs numpy, torch and transformers.
"""

import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers

import golden_io
import hf_layout
import make_hf_model

STRIDE = {"mms": 7, "vctk": 7}  # prime, so a subsampled tensor still meets every channel and every frame
DEFAULTS = dict(length_scale=1.0, forced_durations=None)
IDS = {
    "short": [0, 6, 0, 7, 0, 21, 0, 21, 0, 22, 0, 19, 0, 9, 0, 22, 0, 25, 0, 21, 0, 5, 0],
    "one": [17],
    "plain": [3, 11, 28, 36, 1, 9, 9, 20, 14, 37, 2],
    "long": [(7 * i * i + 3 * i) % 38 if i % 2 else 0 for i in range(61)],
}


def cases(config):
    """Yields (case name, settings) of one configuration."""
    speakers = [0, config["num_speakers"] - 1] if config["num_speakers"] > 1 else [None]
    full = config["hidden_size"] > 100
    for speaker in speakers:
        suffix = "" if speaker is None else f"_speaker{speaker}"
        for name, ids in IDS.items():
            if full and name == "long" or speaker and name == "plain":
                continue
            yield name + suffix, dict(ids=ids, speaker=speaker)
    yield "slow", dict(ids=IDS["plain"], speaker=speakers[-1], length_scale=1.25)
    forced = [(5 * i + 2) % 7 for i in range(len(IDS["plain"]))]  # holds zeros: an id may be skipped
    yield "forced", dict(ids=IDS["plain"], speaker=speakers[-1], forced_durations=forced)


class Recorder:
    """Keeps the output of the modules between the stages; `forced` replaces what the duration predictor says."""

    def __init__(self, model):
        self.model, self.seen, self.forced = model, {}, None
        model.text_encoder.register_forward_hook(self._text)
        model.duration_predictor.register_forward_hook(self._durations)

    def _text(self, _module, _inputs, out):
        self.seen.update(hidden=out.last_hidden_state[0], prior_means=out.prior_means[0],
                         prior_log_variances=out.prior_log_variances[0])

    def _durations(self, _module, _inputs, out):
        self.seen["log_durations"] = out.reshape(-1)
        if self.forced is not None:  # ceil(exp(log(n - 1/2))) = n, and exp(-inf) = 0
            return torch.log((torch.tensor(self.forced, dtype=torch.float32) - 0.5).clamp_min(0)).reshape(out.shape)
        return None

    @torch.no_grad()
    def run(self, ids, speaker=None, length_scale=1.0, forced_durations=None):
        self.forced = forced_durations
        out = self.model(torch.tensor([ids]), speaker_id=speaker, speaking_rate=1.0 / length_scale)
        seen = {name: value.numpy() for name, value in self.seen.items()}
        exact = np.exp(seen["log_durations"].astype(np.float64)) * length_scale
        durations = np.ceil(exact) if forced_durations is None else np.array(forced_durations)
        seen["durations"] = durations.astype(np.int64)
        seen["latents"] = out.spectrogram[0].numpy()
        seen["waveform"] = out.waveform[0].numpy()
        assert seen["latents"].shape[1] == max(1, durations.sum()), "durations do not match the frames"
        return seen, float(np.abs(exact - np.round(exact)).min())


def load(folder):
    model = transformers.VitsModel.from_pretrained(folder).eval()
    model.noise_scale = model.noise_scale_duration = 0.0
    return Recorder(model)


def record(config_name, seed=None):
    """(settings and results per case, smallest distance of a duration to a whole number)."""
    config = hf_layout.CONFIGS[config_name]
    with tempfile.TemporaryDirectory() as folder:
        make_hf_model.write(config_name, folder, "parametrizations", seed, posterior=True)
        recorder = load(folder)
    results, nearest = {}, 1.0
    for name, settings in cases(config):
        seen, distance = recorder.run(**settings)
        results[name] = settings, seen
        if "forced_durations" not in settings:
            nearest = min(nearest, distance)
    return results, nearest


def store(config_name, out):
    results, nearest = record(config_name)
    assert nearest > 1e-3, f"{config_name}: a duration lies {nearest:.1e} from a whole number; choose another seed"
    stride, tensors, entries = STRIDE.get(config_name, 1), {}, []
    for name, (settings, seen) in results.items():
        for stage, value in seen.items():
            assert np.isfinite(value).all(), f"{config_name} {name} {stage}"
            step = 1 if stage in ("durations", "log_durations") else stride
            tensors[f"{name}.{stage}"] = value.reshape(-1)[::step] if step > 1 else value
        entries.append(dict(name=name, **{**DEFAULTS, **settings}, shapes={k: list(v.shape) for k, v in seen.items()}))
    golden_io.write(out, "hf_" + config_name.replace("-", "_"), dict(
        config=config_name, seed=make_hf_model.SEEDS[config_name], noise_scale=0, noise_scale_duration=0, stride=stride,
        made_with=f"transformers {transformers.__version__}, torch {torch.__version__}"), entries, tensors)


def scan(config_name, count):
    for seed in range(count):
        results, nearest = record(config_name, seed)
        waves = np.concatenate([seen["waveform"] for _, seen in results.values()])
        durations = np.concatenate([seen["durations"] for _, seen in results.values()])
        print(f"seed {seed:2d}  nearest {nearest:.4f}  durations {durations.mean():.1f} to {durations.max()}  "
              f"rms {np.sqrt((waves**2).mean()):.3f}  peak {np.abs(waves).max():.3f}")


def main(arguments):
    torch.set_num_threads(2)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if arguments[:1] == ["--scan"]:
        return scan(arguments[1], int(arguments[2]))
    out = pathlib.Path(arguments[0]) if arguments else golden_io.GOLDEN
    for config_name in hf_layout.CONFIGS:
        store(config_name, out)


if __name__ == "__main__":
    main(sys.argv[1:])
