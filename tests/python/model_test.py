# SPDX-License-Identifier: MIT
import numpy as np
from conftest import VOICE, needs_voice, raises
from timbre import Status


def test_facts_of_the_tone_model(tone):
    assert (tone.sample_rate, tone.speakers, tone.voice_dim) == (22050, 4, 16)
    assert len(tone.fingerprint) == 32 and int(tone.fingerprint, 16) >= 0
    assert len(tone.speaker_names) == 4 and len(set(tone.speaker_names)) == 4
    assert tone.info.family == "tone" and tone.info.precision == "fp32"


def test_speaker_vectors_are_copies_of_their_own(tone):
    first, second = tone.speaker_vector(1), tone.speaker_vector(1)
    assert first.dtype == np.float32 and first.shape == (16,)
    first[:] = 7
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(second, tone.speaker_vector(1))
    with raises(Status.INVALID_ARGUMENT):
        tone.speaker_vector(4)


def test_tokenize_shows_ids_source_and_skipped_symbols(tone):
    text = "ab ω c"
    tokens = tone.tokenize(text)
    assert tokens.skipped_symbols == 1
    assert tokens.ids == [token.id for token in tokens.tokens] and len(tokens) == len(tokens.ids)
    size = len(text.encode())
    assert all(0 <= token.source_begin <= token.source_end <= size for token in tokens.tokens)
    np.testing.assert_array_equal(tone.synthesize(text), tone.synthesize(ids=tokens.ids))


def test_an_empty_text_has_no_tokens_or_no_audio(tone):
    assert tone.synthesize("").size == 0
    assert isinstance(tone.tokenize("").ids, list)


def test_a_model_may_be_closed_while_it_speaks(engine):
    model = engine.load_model("tone:")
    speech = model.stream("abc")
    with model:
        pass
    model.close()
    assert speech.read_all().size > 0
    with raises(Status.CLOSED):
        model.synthesize("abc")


@needs_voice
def test_the_real_voice_from_memory_is_the_one_from_disk(joe_engine, joe):
    json = VOICE.with_name(VOICE.name + ".json")
    parts = {VOICE.name: VOICE.read_bytes(), json.name: json.read_bytes()}
    with joe_engine.load_model(parts, warm_up=False) as model:
        assert model.fingerprint == joe.fingerprint
        np.testing.assert_array_equal(model.synthesize("Hello.", seed=3), joe.synthesize("Hello.", seed=3))


@needs_voice
def test_facts_of_the_real_voice(joe):
    assert (joe.sample_rate, joe.speakers, joe.voice_dim) == (22050, 1, 0)
    assert joe.info.family == "piper" and joe.info.front_end == "espeak" and joe.info.language.startswith("en")
    with raises(Status.UNSUPPORTED):
        joe.speaker_vector(0)
