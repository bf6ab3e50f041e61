# SPDX-License-Identifier: MIT
"""Every bad argument raises timbre.Error; none is cut, guessed or ignored."""
import numpy as np
import pytest
import timbre
from conftest import raises
from timbre import Status

BAD_SPEECH = {
    "an id of 2**40": dict(ids=[1, 2**40, 2]),
    "an id of 2**40 in an array": dict(ids=np.array([1, 2**40])),
    "an id of 2**70": dict(ids=[2**70]),
    "a negative id": dict(ids=[-1]),
    "an id beyond the table": dict(ids=[100000]),
    "fractional ids": dict(ids=[1.5]),
    "ids that are words": dict(ids=["a"]),
    "ids that are flags": dict(ids=[True]),
    "ids in two dimensions": dict(ids=[[1, 2]]),
    "ids of mixed kinds": dict(ids=[1, None]),
    "ids that are a number": dict(ids=5),
    "too many ids": dict(ids=[1] * 2049),
    "bytes as text": dict(text=b"abc"),
    "a number as text": dict(text=5),
    "half a surrogate as text": dict(text="a\ud800"),
    "nothing to say": dict(),
    "two inputs": dict(text="a", ids=[1]),
    "two other inputs": dict(text="a", phonemes="a"),
    "an unknown voice": dict(text="a", voice="nobody"),
    "a number as voice": dict(text="a", voice=5),
    "a zero byte in a voice": dict(text="a", voice="a\0b"),
    "voice and speaker": dict(text="a", voice="v", speaker=1),
    "a speaker of -1": dict(text="a", speaker=-1),
    "a speaker beyond the table": dict(text="a", speaker=4),
    "a speaker of 2**32": dict(text="a", speaker=2**32),
    "a speaker of INT32_MIN": dict(text="a", speaker=-(2**31)),
    "an unknown speaker name": dict(text="a", speaker="nobody"),
    "a fractional speaker": dict(text="a", speaker=1.0),
    "a list of tensors": dict(text="a", tensors=[1]),
    "a list as tensor": dict(text="a", tensors={"g": [0.0] * 16}),
    "float64": dict(text="a", tensors={"g": np.zeros(16)}),
    "complex numbers": dict(text="a", tensors={"g": np.zeros(16, np.complex64)}),
    "objects": dict(text="a", tensors={"g": np.array([None] * 16)}),
    "a tensor of five dimensions": dict(text="a", tensors={"g": np.zeros((1, 1, 1, 1, 16), np.float32)}),
    "a tensor of two dimensions": dict(text="a", tensors={"g": np.zeros((4, 4), np.float32)}),
    "a tensor without name": dict(text="a", tensors={"": np.zeros(16, np.float32)}),
    "a tensor with a number as name": dict(text="a", tensors={5: np.zeros(16, np.float32)}),
    "no tensors": dict(text="a", tensors={}),
    "a seed of -1": dict(text="a", seed=-1),
    "a seed of 2**64": dict(text="a", seed=2**64),
    "a word as seed": dict(text="a", seed="7"),
    "a fractional seed": dict(text="a", seed=1.5),
    "a noise scale that is not a number": dict(text="a", noise_scale=float("nan")),
    "an infinite noise scale": dict(text="a", noise_scale=float("inf")),
    "a noise scale beyond a float": dict(text="a", noise_scale=1e300),
    "the sentinel as noise scale": dict(text="a", noise_scale=float(np.finfo(np.float32).min)),
    "a negative noise scale": dict(text="a", noise_scale=-0.1),
    "a negative noise_w": dict(text="a", noise_w=-0.1),
    "a length scale of 0": dict(text="a", length_scale=0),
    "an array as seed": dict(text="a", seed=np.array([1, 2])),
    "a long silence": dict(text="a", sentence_silence=1e308),
    "a number in a string as scale": dict(text="a", noise_w="0.5"),
    "a word as scale": dict(text="a", length_scale="fast"),
    "an infinite gain": dict(text="a", gain=float("inf")),
    "a sample rate of 0": dict(text="a", sample_rate=0),
    "a low sample rate": dict(text="a", sample_rate=7999),
    "a high sample rate": dict(text="a", sample_rate=192001),
    "a fractional sample rate": dict(text="a", sample_rate=22050.5),
    "a negative silence": dict(text="a", sentence_silence=-1),
    "durations without ids": dict(text="a", durations=[1]),
    "too few durations": dict(ids=[1, 5, 2], durations=[1, 1]),
    "a negative duration": dict(ids=[1, 5, 2], durations=[1, -1, 1]),
    "a long duration": dict(ids=[1, 5, 2], durations=[1, 65536, 1]),
    "a duration of 2**40": dict(ids=[1, 5, 2], durations=[1, 2**40, 1]),
    "an unknown policy for symbols": dict(text="a", unknown_symbols="ignore"),
    "a negative ring": dict(text="a", ring_samples=-1),
    "an unknown argument": dict(text="a", speed=2),
    "a chunk of 0": dict(text="a", chunk_samples=0),
}


@pytest.mark.parametrize("options", BAD_SPEECH.values(), ids=BAD_SPEECH.keys())
def test_a_bad_request_raises(tone, options):
    with pytest.raises(timbre.Error) as caught:
        tone.stream(**options).read_all()
    assert caught.value.status in (
        Status.INVALID_ARGUMENT,
        Status.INVALID_TOKEN,
        Status.NOT_FOUND,
        Status.MISMATCH,
    ), caught.value
    assert len(str(caught.value)) > 15
    assert tone.synthesize("abc").size > 0  # the model is as good as before


def test_an_id_that_does_not_fit_is_named(tone):
    with raises(Status.INVALID_TOKEN, "ids[1]", 2**40):
        tone.synthesize(ids=[1, 2**40, 2])
    with raises(Status.INVALID_TOKEN, "100000"):
        tone.synthesize(ids=[1, 100000, 2])


BAD_ENGINE = {
    "no threads": dict(threads=0),
    "257 threads": dict(threads=257),
    "2**32 threads": dict(threads=2**32),
    "a word as threads": dict(threads="2"),
    "an unknown precision": dict(precision="fp64"),
    "a number as precision": dict(precision=1),
    "an unknown device": dict(device="tpu"),
    "a number as store": dict(store=5),
    "a long thread name": dict(thread_name="x" * 16),
    "a nice value of 20": dict(thread_nice=20),
    "no cores": dict(thread_affinity=[]),
    "core 64": dict(thread_affinity=[64]),
    "a number as cores": dict(thread_affinity=3),
    "a number as path": dict(espeak_data=5),
}


@pytest.mark.parametrize("options", BAD_ENGINE.values(), ids=BAD_ENGINE.keys())
def test_a_bad_engine_raises(options):
    with pytest.raises(timbre.Error) as caught:
        timbre.Engine(**options)
    assert caught.value.status in (Status.INVALID_ARGUMENT, Status.NO_DEVICE)


BAD_VOICES = {
    "an empty id": dict(id=""),
    "an id of 513 bytes": dict(id="x" * 513),
    "a number as id": dict(id=5),
    "a zero byte in an id": dict(id="a\0b"),
    "a short fingerprint": dict(model="12"),
    "a number as model": dict(model=5),
    "a speaker of 2**31": dict(speaker=2**31),
    "neither tensors nor model": dict(model=None, speaker=None),
    "tensors and speaker": dict(tensors={"g": np.zeros(16, np.float32)}),
    "a negative scale": dict(noise_scale=-1.0),
    "a length scale of 0": dict(length_scale=0.0),
    "a rate of 2**32": dict(sample_rate=2**32),
}


@pytest.mark.parametrize("options", BAD_VOICES.values(), ids=BAD_VOICES.keys())
def test_a_bad_voice_raises(engine, tone, options):
    with pytest.raises(timbre.Error) as caught:
        engine.voices.put(**{"id": "bad", "model": tone, "speaker": 1, **options})
    assert caught.value.status in (Status.INVALID_ARGUMENT, Status.MISMATCH)
    assert engine.voices.list() == []


def test_a_progress_that_cannot_be_called_raises(engine):
    with raises(Status.INVALID_ARGUMENT, "progress"):
        engine.load_model("tone:", progress=5)


@pytest.mark.parametrize("part", [5, None, {"a.onnx": "text"}, {5: b""}, "a\0b", {}])
def test_a_bad_model_part_raises(engine, part):
    with raises(Status.INVALID_ARGUMENT):
        engine.load_model(part)
