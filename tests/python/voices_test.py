# SPDX-License-Identifier: MIT
import numpy as np
import pytest
from conftest import PATCH, VOICE, needs_voice, raises
from timbre import Status

TEXT = "who is there?"


def test_a_stored_vector_speaks_like_its_speaker(engine, tone):
    for speaker in range(tone.speakers):
        engine.voices.put(f"npc/{speaker}", {"g": tone.speaker_vector(speaker)}, model=tone.fingerprint)
        expected = tone.synthesize(TEXT, speaker=speaker)
        np.testing.assert_array_equal(tone.synthesize(TEXT, voice=f"npc/{speaker}"), expected)
        np.testing.assert_array_equal(tone.synthesize(TEXT, tensors={"g": tone.speaker_vector(speaker)}), expected)
        np.testing.assert_array_equal(tone.synthesize(TEXT, speaker=tone.speaker_names[speaker]), expected)


def test_a_record_may_name_a_speaker(engine, tone):
    engine.voices.put("by-index", model=tone, speaker=2, note="an index")
    np.testing.assert_array_equal(tone.synthesize(TEXT, voice="by-index"), tone.synthesize(TEXT, speaker=2))


def test_versions_rise_and_an_utterance_keeps_its_own(engine, tone):
    first = engine.voices.put("v", {"g": tone.speaker_vector(0)}, model=tone)
    expected = tone.synthesize(TEXT, voice="v")
    with tone.stream(TEXT, voice="v") as speech:
        second = engine.voices.put("v", {"g": tone.speaker_vector(3)}, model=tone, ephemeral=True)
        np.testing.assert_array_equal(speech.read_all(), expected)
        assert speech.info().voice_version == first
    assert second > first
    assert not np.array_equal(tone.synthesize(TEXT, voice="v"), expected)


def test_list_gives_every_id_over_many_pages(engine, tone):
    names = sorted(f"crowd/{i:04d}/" + "x" * 300 for i in range(1000))  # 310 kB of ids
    for name in names:
        engine.voices.put(name, model=tone, speaker=0)
    engine.voices.put("another", model=tone, speaker=0)
    assert engine.voices.list("crowd/") == names
    assert engine.voices.list() == ["another"] + names
    assert engine.voices.list(prefix="nobody") == []


def test_remove(engine, tone):
    engine.voices.put("a", model=tone, speaker=0)
    engine.voices.remove("a")
    with raises(Status.NOT_FOUND, "a"):
        engine.voices.remove("a")
    with raises(Status.NOT_FOUND):
        tone.synthesize(TEXT, voice="a")


def test_arrays_of_any_layout_are_copied(engine, tone):
    vector = tone.speaker_vector(3)
    spread = np.zeros((16, 3), np.float32)
    spread[:, 1] = vector
    swapped = vector.astype(">f4")
    expected = tone.synthesize(TEXT, speaker=3)
    for array in (spread[:, 1], swapped, vector[::-1].copy()[::-1]):
        engine.voices.put("layout", {"g": array}, model=tone)
        np.testing.assert_array_equal(tone.synthesize(TEXT, voice="layout"), expected)
    vector[:] = 0  # after the put: the stored voice does not change
    np.testing.assert_array_equal(tone.synthesize(TEXT, voice="layout"), expected)


def test_half_precision_is_taken(engine, tone):
    vector = tone.speaker_vector(1).astype(np.float16)
    engine.voices.put("half", {"g": vector}, model=tone)
    exact = tone.synthesize(TEXT, tensors={"g": vector.astype(np.float32)})
    np.testing.assert_array_equal(tone.synthesize(TEXT, voice="half"), exact)


def test_scales_of_a_voice_are_its_defaults(engine, tone):
    engine.voices.put("calm", model=tone, speaker=0, noise_scale=0.0, noise_w=0.0, length_scale=1.5)
    expected = tone.synthesize(TEXT, speaker=0, noise_scale=0.0, noise_w=0.0, length_scale=1.5)
    np.testing.assert_array_equal(tone.synthesize(TEXT, voice="calm"), expected)


@pytest.mark.parametrize(
    "tensors, words",
    [
        ({"g": np.zeros(15, np.float32)}, "15"),
        ({"g": np.full(16, np.nan, np.float32)}, "g"),
        ({"g": np.full(16, np.inf, np.float32)}, "g"),
        ({"h": np.zeros(16, np.float32)}, "g"),
        ({"g": np.zeros(16, np.int32)}, "g"),
        ({}, ""),
    ],
)
def test_a_voice_that_does_not_fit_is_refused(engine, tone, tensors, words):
    with pytest.raises(Exception) as caught:
        engine.voices.put("bad", tensors, model=tone)
        tone.synthesize(TEXT, voice="bad")
    assert caught.value.status in (Status.INVALID_ARGUMENT, Status.MISMATCH)
    assert words in str(caught.value)


def test_an_unknown_name_of_a_speaker_lists_those_there_are(tone):
    with raises(Status.NOT_FOUND, "'nobody'", *map(repr, tone.speaker_names)):
        tone.synthesize(TEXT, speaker="nobody")


@needs_voice
@pytest.mark.parametrize("name", ["nobody", ""])
def test_a_model_without_names_says_so_where_one_is_asked_for(joe, name):
    with raises(Status.NOT_FOUND, repr(name), "this model has one speaker and no name"):
        joe.synthesize(TEXT, speaker=name)


def test_a_voice_of_another_model_is_a_mismatch(engine, tone):
    engine.voices.put("stranger", {"g": np.zeros(16, np.float32)}, model="0" * 32)
    with raises(Status.MISMATCH):
        tone.synthesize(TEXT, voice="stranger")
    engine.voices.put("kept", {"g": np.zeros(16, np.float32)})
    with raises(Status.MISMATCH):
        tone.synthesize(TEXT, voice="kept")


@needs_voice
def test_six_voices_and_a_blend_of_the_real_model(joe_engine, family, joe):
    assert family.speaker_names == ["joe", "giant", "woman", "child", "elder", "imp"]
    assert family.voice_dim == 512 and family.fingerprint != joe.fingerprint
    text = "Good morning."
    for speaker in (0, 5):
        joe_engine.voices.put("six", {"g": family.speaker_vector(speaker)}, model=family)
        audio = family.synthesize(text, voice="six", seed=2)
        np.testing.assert_array_equal(audio, family.synthesize(text, speaker=speaker, seed=2))
    blend = 0.5 * family.speaker_vector(0) + 0.5 * family.speaker_vector(5)
    joe_engine.voices.put("blend", {"g": blend}, model=family)
    assert family.synthesize(text, voice="blend", seed=2).size > 5000
    with raises(Status.MISMATCH):
        joe.synthesize(text, tensors={"g": blend})
    assert VOICE.exists() and PATCH.exists()
