# SPDX-License-Identifier: MIT
import threading
import time

import numpy as np
import pytest
from conftest import needs_voice, raises
from timbre import Status

TEXT = "halt! who goes there?"


def test_audio_is_float32_in_range(tone):
    audio = tone.synthesize(TEXT)
    assert audio.dtype == np.float32 and audio.ndim == 1 and audio.size > 1000
    assert np.abs(audio).max() <= 1 and audio.flags.owndata


def test_streamed_chunks_are_arrays_of_their_own_and_add_up(tone):
    chunks = list(tone.stream(TEXT, chunk_samples=1000))
    assert len(chunks) > 3 and all(0 < chunk.size <= 1000 for chunk in chunks)
    assert not any(np.shares_memory(a, b) for a, b in zip(chunks, chunks[1:]))
    np.testing.assert_array_equal(np.concatenate(chunks), tone.synthesize(TEXT))


def test_the_same_seed_gives_the_same_audio(tone):
    a, b, c = (tone.synthesize(TEXT, seed=seed, noise_scale=1.0) for seed in (2**64 - 1, 2**64 - 1, 0))
    np.testing.assert_array_equal(a, b)
    assert a.shape != c.shape or not np.array_equal(a, c)


def test_a_random_seed_is_told_and_can_be_repeated(tone):
    with tone.stream(TEXT, seed="random") as speech:
        audio = speech.read_all()
        seed = speech.info().seed
    np.testing.assert_array_equal(audio, tone.synthesize(TEXT, seed=seed))


def test_scales_gain_and_rate_do_something(tone):
    plain = tone.synthesize(TEXT, noise_scale=0, noise_w=0)
    slow = tone.synthesize(TEXT, noise_scale=0, noise_w=0, length_scale=2.0)
    assert slow.size > 1.7 * plain.size
    half = tone.synthesize(TEXT, noise_scale=0, noise_w=0, gain=0.5)
    np.testing.assert_allclose(half, 0.5 * plain, atol=1e-7)
    doubled = tone.synthesize(TEXT, noise_scale=0, noise_w=0, sample_rate=44100)
    assert abs(doubled.size - 2 * plain.size) <= 4


def test_sentence_silence_is_in_seconds(tone):
    text = "one. two. three."
    with tone.stream(text) as speech:
        plain, sentences = speech.read_all().size, speech.info().sentences
    longer = tone.synthesize(text, sentence_silence=0.5).size
    assert sentences > 1
    assert longer - plain == (sentences - 1) * 11025


def test_forced_durations_set_the_length(tone):
    ids = np.array([1, 5, 2], np.int64)
    audio = tone.synthesize(ids=ids, durations=[2, 3, 4])
    assert audio.size == 9 * tone.info.hop_samples


def test_ids_in_any_integer_array_are_the_same(tone):
    expected = tone.synthesize(ids=[1, 5, 6, 2])
    for dtype in (np.uint8, np.int16, np.int32, np.uint64):
        np.testing.assert_array_equal(tone.synthesize(ids=np.array([1, 5, 6, 2], dtype)), expected)
    np.testing.assert_array_equal(tone.synthesize(ids=np.array([1, 9, 5, 9, 6, 9, 2], np.int32)[::2]), expected)


def test_info_marks_and_timeline_after_the_end(tone):
    with tone.stream(TEXT) as speech:
        audio = speech.read_all()
        info, marks, times = speech.info(), speech.marks(), speech.timeline()
        assert speech.read().size == 0  # DONE is told again
        assert list(speech) == []
    assert info.samples_total == info.samples_read == audio.size and info.state == Status.DONE
    assert info.sample_rate == 22050 and info.empty_reason is None and info.seed == 0
    assert sum(mark.sample_count for mark in marks) == audio.size
    assert [mark.first_sample for mark in marks] == sorted(mark.first_sample for mark in marks)
    assert 0 <= times.first_audio <= times.total and times.queue >= 0
    assert marks[2:] == tone_marks(tone)[2:]


def test_chunks_are_the_audio_in_order(tone):
    with tone.stream(TEXT * 40) as speech:
        audio = speech.read_all()
        chunks, times = speech.chunks(), speech.timeline()
        assert speech.chunks(1) == chunks[1:] and speech.chunks(len(chunks)) == []
    assert len(chunks) == times.chunks > 1
    at = 0
    for chunk in chunks:
        assert chunk.first_sample == at and chunk.sample_count > 0
        at += chunk.sample_count
    assert at == audio.size
    ready = [chunk.ready for chunk in chunks]
    assert ready == sorted(ready) and ready[0] == times.first_audio and ready[-1] <= times.total


def tone_marks(tone):
    with tone.stream(TEXT) as speech:
        speech.read_all()
        return speech.marks(0)


def test_emptiness_has_a_reason(tone):
    for text, reason in (("", "no text"), (" \n", "no text"), ("ωωω", "no known symbol")):
        with tone.stream(text) as speech:
            assert speech.read_all().size == 0
            assert speech.info().empty_reason == reason


def test_unknown_symbols_can_be_an_error(tone):
    with tone.stream("a ω") as speech:
        speech.read_all()
        assert speech.info().skipped_symbols == 1
    with raises(Status.INVALID_TOKEN):
        tone.synthesize("a ω", unknown_symbols="error")


def test_cancel_from_another_thread_ends_a_reader(tone):
    speech = tone.stream("a" * 2000, length_scale=1000, ring_samples=4096)
    threading.Timer(0.05, speech.cancel).start()
    with raises(Status.CANCELLED):
        speech.read_all()
    speech.cancel()
    speech.close()


def test_closing_ends_a_reader_in_another_thread(tone):
    speech = tone.stream("a" * 2000, length_scale=1000, ring_samples=4096)
    errors = []

    def read():
        try:
            speech.read_all()
        except Exception as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.05)
    speech.close()
    reader.join(10)
    assert not reader.is_alive()
    assert len(errors) == 1 and errors[0].status in (Status.CANCELLED, Status.CLOSED)
    assert list(speech) == []
    with raises(Status.CLOSED):
        speech.info()


def test_a_read_with_a_timeout_loses_nothing(tone):
    with tone.stream(TEXT) as speech:
        parts = []
        while True:
            try:
                part = speech.read(512, timeout=0)
            except Exception as error:
                assert error.status == Status.TIMEOUT
                time.sleep(0.001)
                continue
            if part.size == 0:
                break
            parts.append(part)
    np.testing.assert_array_equal(np.concatenate(parts), tone.synthesize(TEXT))


@pytest.mark.parametrize("words", ["phonemes", "text"])
def test_phonemes_and_text_are_two_inputs(tone, words):
    audio = tone.synthesize(**{words: "abc"})
    assert audio.size > 0


@needs_voice
def test_the_real_voice_speaks_text_phonemes_and_ids(joe):
    text = "Hello there, traveller."
    audio = joe.synthesize(text, seed=1)
    assert 0.8 < audio.size / joe.sample_rate < 3 and np.abs(audio).max() > 0.05
    tokens = joe.tokenize(text)
    np.testing.assert_array_equal(joe.synthesize(ids=tokens.ids, seed=1), audio)
    assert joe.synthesize(phonemes="həlˈoʊ.", seed=1).size > 5000
