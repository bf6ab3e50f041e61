# SPDX-License-Identifier: MIT
"""Turns weights under the original VITS names into a Hugging Face folder. Needs numpy only."""

import pathlib
import re

import hf_layout
import make_hf_model
import safetensors_io

_RENAMES = [(re.compile(pattern), new) for pattern, new in [
    (r"^enc_p\.emb\.", "text_encoder.embed_tokens."),
    (r"^enc_p\.proj\.", "text_encoder.project."),
    (r"^enc_p\.encoder\.attn_layers\.(\d+)\.conv_o", r"text_encoder.encoder.layers.\1.attention.out_proj"),
    (r"^enc_p\.encoder\.attn_layers\.(\d+)\.conv_", r"text_encoder.encoder.layers.\1.attention."),
    (r"(attention\.[qkv])\.", r"\1_proj."),
    (r"^enc_p\.encoder\.attn_layers\.(\d+)\.", r"text_encoder.encoder.layers.\1.attention."),
    (r"^enc_p\.encoder\.norm_layers_1\.(\d+)", r"text_encoder.encoder.layers.\1.layer_norm"),
    (r"^enc_p\.encoder\.norm_layers_2\.(\d+)", r"text_encoder.encoder.layers.\1.final_layer_norm"),
    (r"^enc_p\.encoder\.ffn_layers\.(\d+)", r"text_encoder.encoder.layers.\1.feed_forward"),
    (r"^dp\.flows\.0\.m$", "duration_predictor.flows.0.translate"),
    (r"^dp\.flows\.0\.logs$", "duration_predictor.flows.0.log_scale"),
    (r"^dp\.", "duration_predictor."),
    (r"(duration_predictor\.(?:flows\.\d+\.)?)(pre|proj)\.", r"\1conv_\2."),
    (r"(duration_predictor\.(?:flows\.\d+\.)?)convs\.", r"\1conv_dds."),
    (r"convs_sep", "convs_dilated"), (r"convs_1x1", "convs_pointwise"),
    (r"(flow\.flows\.\d+\.)(pre|post)\.", r"\1conv_\2."), (r"(flow\.flows\.\d+\.)enc\.", r"\1wavenet."),
    (r"^dec\.ups\.", "decoder.upsampler."), (r"^dec\.", "decoder."),
    (r"^emb_g\.", "embed_speaker."),
    (r"\.gamma$", ".weight"), (r"\.beta$", ".bias"),
]]


def rename(name):
    for pattern, new in _RENAMES:
        name = pattern.sub(new, name)
    name = re.sub(r"(duration_predictor\.flows\.)([1-9]\d*)", lambda m: m[1] + str(int(m[2]) // 2 + 1), name)
    return re.sub(r"(^flow\.flows\.)(\d+)", lambda m: m[1] + str(int(m[2]) // 2), name)


def configuration(c):
    """config.json of a `vits_original.Config`; only resblock type 1 exists there."""
    assert c.resblock == 1
    return dict(hf_layout.CONFIGS["tiny"], vocab_size=c.symbols, hidden_size=c.hidden, flow_size=c.hidden,
                num_hidden_layers=c.layers, num_attention_heads=c.heads, ffn_dim=c.filters, num_speakers=c.speakers,
                speaker_embedding_size=c.gin, upsample_initial_channel=c.channels, upsample_rates=list(c.rates),
                upsample_kernel_sizes=list(c.kernels), resblock_kernel_sizes=list(c.resblock_kernels),
                resblock_dilation_sizes=[list(d) for d in c.dilations], duration_predictor_num_flows=c.spline_flows,
                prior_encoder_num_flows=c.couplings, prior_encoder_num_wavenet_layers=c.wavenet_layers,
                sampling_rate=c.sample_rate)


def write(c, weights, folder):
    """Writes config.json, vocab.json, tokenizer_config.json and model.safetensors with plain weights."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    tensors = {}
    for name, value in weights.items():
        name = rename(name)
        tensors[name] = value[..., 0] if ".attention." in name and value.ndim == 3 and "emb_rel" not in name else value
    config = configuration(c)
    expected = {name: shape for name, shape in hf_layout.tensors(config, False) if ".post_" not in name}
    assert {name: value.shape for name, value in tensors.items()} == expected
    make_hf_model.write_json(folder / "config.json", config)
    make_hf_model.write_json(folder / "vocab.json", {chr(0x61 + i): i for i in range(c.symbols)})
    make_hf_model.write_json(folder / "tokenizer_config.json", {"add_blank": True, "normalize": True,
                                                                "phonemize": False, "is_uroman": False})
    safetensors_io.save(folder / "model.safetensors", tensors, {"format": "pt"})
