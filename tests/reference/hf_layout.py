# SPDX-License-Identifier: MIT
"""Names and shapes of every tensor of a Hugging Face VITS checkpoint, from its configuration. Standard library only.

`CONFIGS` holds the configurations the tests use: two tiny ones with 16 channels for quick whole-tensor comparisons, and
the true shapes of facebook/mms-tts-* ("mms") and kakao-enterprise/vits-vctk ("vctk").
"""

_FULL = dict(
    model_type="vits", architectures=["VitsModel"], vocab_size=38, hidden_size=192, num_hidden_layers=6,
    num_attention_heads=2, window_size=4, use_bias=True, ffn_dim=768, ffn_kernel_size=3, flow_size=192,
    spectrogram_bins=513, hidden_act="relu", layer_norm_eps=1e-5, use_stochastic_duration_prediction=True,
    num_speakers=1, speaker_embedding_size=0, upsample_initial_channel=512, upsample_rates=[8, 8, 2, 2],
    upsample_kernel_sizes=[16, 16, 4, 4], resblock_kernel_sizes=[3, 7, 11],
    resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5], [1, 3, 5]], leaky_relu_slope=0.1, depth_separable_channels=2,
    depth_separable_num_layers=3, duration_predictor_flow_bins=10, duration_predictor_tail_bound=5.0,
    duration_predictor_kernel_size=3, duration_predictor_dropout=0.5, duration_predictor_num_flows=4,
    duration_predictor_filter_channels=256, prior_encoder_num_flows=4, prior_encoder_num_wavenet_layers=4,
    posterior_encoder_num_wavenet_layers=16, wavenet_kernel_size=5, wavenet_dilation_rate=1, speaking_rate=1.0,
    noise_scale=0.667, noise_scale_duration=0.8, sampling_rate=16000)
_TINY = dict(
    _FULL, hidden_size=16, num_hidden_layers=2, ffn_dim=64, flow_size=16, spectrogram_bins=8,
    duration_predictor_num_flows=2, duration_predictor_filter_channels=24, prior_encoder_num_flows=2,
    posterior_encoder_num_wavenet_layers=3, upsample_initial_channel=16, upsample_rates=[8, 2],
    upsample_kernel_sizes=[16, 4], resblock_kernel_sizes=[3, 7], resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]])
CONFIGS = {
    "tiny": _TINY,
    "tiny-multi": dict(_TINY, num_speakers=3, speaker_embedding_size=12),
    "tiny-plain-durations": dict(_TINY, use_stochastic_duration_prediction=False),
    "tiny-multi-plain-durations": dict(_TINY, use_stochastic_duration_prediction=False, num_speakers=3,
                                       speaker_embedding_size=16),
    "mms": _FULL,
    "vctk": dict(_FULL, vocab_size=178, num_speakers=109, speaker_embedding_size=256, sampling_rate=22050),
}


def _conv(name, out, inner, kernel, bias=True):
    yield f"{name}.weight", (out, inner, kernel)
    if bias:
        yield f"{name}.bias", (out,)


def _pair(name, size):
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)


def _dds(name, c, channels):
    for i in range(c["depth_separable_num_layers"]):
        yield from _conv(f"{name}.convs_dilated.{i}", channels, 1, c["duration_predictor_kernel_size"])
        yield from _conv(f"{name}.convs_pointwise.{i}", channels, channels, 1)
        yield from _pair(f"{name}.norms_1.{i}", channels)
        yield from _pair(f"{name}.norms_2.{i}", channels)


def _wavenet(name, c, layers):
    hidden, gin = c["hidden_size"], c["speaker_embedding_size"]
    if gin:
        yield from _conv(f"{name}.cond_layer", 2 * hidden * layers, gin, 1)
    for i in range(layers):
        yield from _conv(f"{name}.in_layers.{i}", 2 * hidden, hidden, c["wavenet_kernel_size"])
        yield from _conv(f"{name}.res_skip_layers.{i}", (2 if i + 1 < layers else 1) * hidden, hidden, 1)


def _text_encoder(c):
    hidden, head = c["hidden_size"], c["hidden_size"] // c["num_attention_heads"]
    yield "text_encoder.embed_tokens.weight", (c["vocab_size"], hidden)
    for i in range(c["num_hidden_layers"]):
        layer = f"text_encoder.encoder.layers.{i}"
        for which in "kv":
            yield f"{layer}.attention.emb_rel_{which}", (1, 2 * c["window_size"] + 1, head)
        for which in ("k", "v", "q", "out"):
            yield f"{layer}.attention.{which}_proj.weight", (hidden, hidden)
            yield f"{layer}.attention.{which}_proj.bias", (hidden,)
        yield from _pair(f"{layer}.layer_norm", hidden)
        yield from _conv(f"{layer}.feed_forward.conv_1", c["ffn_dim"], hidden, c["ffn_kernel_size"])
        yield from _conv(f"{layer}.feed_forward.conv_2", hidden, c["ffn_dim"], c["ffn_kernel_size"])
        yield from _pair(f"{layer}.final_layer_norm", hidden)
    yield from _conv("text_encoder.project", 2 * c["flow_size"], hidden, 1)


def _duration_flows(name, c):
    hidden, bins = c["hidden_size"], c["duration_predictor_flow_bins"]
    half = c["depth_separable_channels"] // 2
    yield f"{name}.0.translate", (c["depth_separable_channels"], 1)
    yield f"{name}.0.log_scale", (c["depth_separable_channels"], 1)
    for i in range(1, c["duration_predictor_num_flows"] + 1):
        yield from _conv(f"{name}.{i}.conv_pre", hidden, half, 1)
        yield from _dds(f"{name}.{i}.conv_dds", c, hidden)
        yield from _conv(f"{name}.{i}.conv_proj", half * (3 * bins - 1), hidden, 1)


def _duration_predictor(c):
    hidden, gin, name = c["hidden_size"], c["speaker_embedding_size"], "duration_predictor"
    if c["use_stochastic_duration_prediction"]:
        for prefix in ("", "post_"):  # post_* is used in training only
            yield from _conv(f"{name}.{prefix}conv_pre", hidden, 1 if prefix else hidden, 1)
            yield from _conv(f"{name}.{prefix}conv_proj", hidden, hidden, 1)
            yield from _dds(f"{name}.{prefix}conv_dds", c, hidden)
            yield from _duration_flows(f"{name}.{prefix}flows", c)
        if gin:
            yield from _conv(f"{name}.cond", hidden, gin, 1)
        return
    filters, kernel = c["duration_predictor_filter_channels"], c["duration_predictor_kernel_size"]
    yield from _conv(f"{name}.conv_1", filters, hidden, kernel)
    yield from _pair(f"{name}.norm_1", filters)
    yield from _conv(f"{name}.conv_2", filters, filters, kernel)
    yield from _pair(f"{name}.norm_2", filters)
    yield from _conv(f"{name}.proj", 1, filters, 1)
    if gin:
        yield from _conv(f"{name}.cond", hidden, gin, 1)


def _decoder(c):
    channels, gin = c["upsample_initial_channel"], c["speaker_embedding_size"]
    yield from _conv("decoder.conv_pre", channels, c["flow_size"], 7)
    if gin:
        yield from _conv("decoder.cond", channels, gin, 1)
    blocks = list(zip(c["resblock_kernel_sizes"], c["resblock_dilation_sizes"]))
    for i, kernel in enumerate(c["upsample_kernel_sizes"]):
        yield f"decoder.upsampler.{i}.weight", (channels, channels // 2, kernel)
        yield f"decoder.upsampler.{i}.bias", (channels // 2,)
        channels //= 2
        for j, (size, dilations) in enumerate(blocks):
            for k in range(len(dilations)):
                for stack in ("convs1", "convs2"):
                    yield from _conv(f"decoder.resblocks.{i * len(blocks) + j}.{stack}.{k}", channels, channels, size)
    yield from _conv("decoder.conv_post", 1, channels, 7, bias=False)


def _posterior_encoder(c):
    yield from _conv("posterior_encoder.conv_pre", c["hidden_size"], c["spectrogram_bins"], 1)
    yield from _wavenet("posterior_encoder.wavenet", c, c["posterior_encoder_num_wavenet_layers"])
    yield from _conv("posterior_encoder.conv_proj", 2 * c["flow_size"], c["hidden_size"], 1)


def tensors(c, posterior):
    """Yields (name, shape) with plain weights; `posterior` adds the training-only encoder, as hub files have it."""
    yield from _text_encoder(c)
    yield from _duration_predictor(c)
    for i in range(c["prior_encoder_num_flows"]):
        yield from _conv(f"flow.flows.{i}.conv_pre", c["hidden_size"], c["flow_size"] // 2, 1)
        yield from _wavenet(f"flow.flows.{i}.wavenet", c, c["prior_encoder_num_wavenet_layers"])
        yield from _conv(f"flow.flows.{i}.conv_post", c["flow_size"] // 2, c["hidden_size"], 1)
    yield from _decoder(c)
    if c["num_speakers"] > 1:
        yield "embed_speaker.weight", (c["num_speakers"], c["speaker_embedding_size"])
    if posterior:
        yield from _posterior_encoder(c)
