#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a Hugging Face VITS folder with seeded weights: config.json, model.safetensors, vocab.json, tokenizer files.

usage: make_hf_model.py --config NAME [--form FORM] [--seed N] [--posterior] OUT_DIR

FORM says how the weight-normalised convolutions are stored:
  plain             folded: NAME.weight
  weight_norm_gv    NAME.weight_g, NAME.weight_v in flow and posterior encoder, the layout of files on the hub
  parametrizations  NAME.parametrizations.weight.original0 and .original1, the layout of newer torch
  weight_norm_all   as weight_norm_gv, the decoder's convolutions too (as before a converter folds them)
All forms describe the same model up to rounding of the fold. Needs numpy only.
"""

import argparse
import json
import pathlib
import re

import hf_layout
import safetensors_io
import seeded_weights

FORMS = ("plain", "weight_norm_gv", "parametrizations", "weight_norm_all")
SEEDS = {"tiny": 11, "tiny-multi": 26, "tiny-plain-durations": 1, "tiny-multi-plain-durations": 22, "mms": 6,
         "vctk": 3}
_WAVENET = re.compile(r"\.wavenet\.(in_layers|res_skip_layers|cond_layer)\b.*weight$")
_DECODER = re.compile(r"^decoder\.(upsampler|resblocks)\..*weight$")


# The ids that the published mms-tts-eng vector of "hello world" tells (transformers issue 28173); the rest is ours.
_KNOWN = {"k": 0, "d": 5, "h": 6, "e": 7, "w": 9, " ": 19, "l": 21, "o": 22, "r": 25}


def vocabulary(config):
    """Token -> id: 38 tokens with a letter at the blank id 0, as in MMS; larger vocabularies go on from U+0250."""
    taken = {index: token for token, index in _KNOWN.items()}
    others = iter([c for c in "abcdefghijklmnopqrstuvwxyz'-_0123456789" if c not in _KNOWN])
    tokens = [taken.get(i) or next(others) for i in range(38)]
    tokens += [chr(0x250 + i) for i in range(config["vocab_size"] - len(tokens))]
    return {token: i for i, token in enumerate(tokens)}


def weights(config, form, seed, posterior):
    """Yields (name, float32 array) in the given form; every form is derived from the same plain weights."""
    for name, shape in hf_layout.tensors(config, posterior):
        value = seeded_weights.tensor(name, shape, seed)
        normed = _WAVENET.search(name) or (form == "weight_norm_all" and _DECODER.search(name))
        if form == "plain" or not normed:
            yield name, value
            continue
        g, v = seeded_weights.split_norm(name, value, seed)
        if form == "parametrizations":
            yield name.replace(".weight", ".parametrizations.weight.original0"), g
            yield name.replace(".weight", ".parametrizations.weight.original1"), v
        else:
            yield name + "_g", g
            yield name + "_v", v


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def write(config_name, out, form="plain", seed=None, posterior=False, **tokenizer):
    """Writes the folder; `tokenizer` overrides entries of tokenizer_config.json. Returns the configuration."""
    config = hf_layout.CONFIGS[config_name]
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    seed = SEEDS[config_name] if seed is None else seed
    write_json(out / "config.json", config)
    write_json(out / "vocab.json", vocabulary(config))
    write_json(out / "tokenizer_config.json", {
        "tokenizer_class": "VitsTokenizer", "add_blank": True, "normalize": True, "phonemize": False,
        "is_uroman": False, "language": "eng", "pad_token": "k", "unk_token": "<unk>", **tokenizer})
    write_json(out / "special_tokens_map.json", {"pad_token": "k", "unk_token": "<unk>"})
    write_json(out / "added_tokens.json", {"<unk>": config["vocab_size"]})
    safetensors_io.save(out / "model.safetensors", dict(weights(config, form, seed, posterior)), {"format": "pt"})
    return config


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", choices=sorted(hf_layout.CONFIGS), required=True)
    parser.add_argument("--form", choices=FORMS, default="plain")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--posterior", action="store_true", help="add the training-only posterior encoder")
    parser.add_argument("out")
    options = parser.parse_args()
    write(options.config, options.out, options.form, options.seed, options.posterior)


if __name__ == "__main__":
    main()
