# SPDX-License-Identifier: MIT
"""Leases: what they show, when they are given back, and how their waits end."""
import gc
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import timbre
from conftest import ROOT, raises
from timbre import Status

G = np.arange(16, dtype=np.float32)


@pytest.fixture
def voices(engine):
    engine.voices.put("v", {"g": G, "style": np.arange(6, dtype=np.int64).reshape(2, 3)}, note="two tensors")
    return engine.voices


def test_a_lease_tells_what_was_put(engine, tone):
    version = engine.voices.put("v", {"g": G}, model=tone, normalised=True, sample_rate=16000, noise_scale=0.5)
    with engine.voices.get("v") as voice:
        assert voice.version == version and voice.checksum > 0 and voice.size_bytes >= 64
        assert voice.model == tone.fingerprint and voice.speaker is None
        assert voice.normalised and voice.sample_rate == 16000 and voice.scales == {"noise_scale": 0.5}
        assert voice.names == ["g"] == list(voice) and "g" in voice and "h" not in voice
    engine.voices.put("by index", model=tone, speaker=2)
    with engine.voices.get("by index", timeout=5) as voice:
        assert voice.speaker == 2 and voice.names == []
    engine.voices.put("kept", {"g": G})
    with engine.voices.get("kept") as voice:
        assert voice.model is None and not voice.normalised and voice.sample_rate is None and voice.scales == {}


def test_a_view_shows_the_bytes_of_the_put_and_cannot_be_written(voices):
    with voices.get("v") as voice:
        g, style = voice.tensor("g"), voice.tensor("style")
        np.testing.assert_array_equal(g, G)
        np.testing.assert_array_equal(style, [[0, 1, 2], [3, 4, 5]])
        assert g.dtype == np.float32 and style.dtype == np.int64
        assert np.shares_memory(g, voice.tensor("g"))
        with pytest.raises(ValueError):
            g[0] = 1
        with pytest.raises(ValueError):
            g.flags.writeable = True
        with raises(Status.NOT_FOUND, "h", "g"):
            voice.tensor("h")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "bfloat16"])
def test_every_dtype_and_rank_comes_back_as_it_was(engine, dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    for shape in [(), (3,), (2, 3), (1, 2, 3), (2, 1, 2, 1)]:
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        engine.voices.put("typed", {"t": array})
        with engine.voices.get("typed") as voice:
            view = voice.tensor("t")
            assert view.dtype == array.dtype and view.shape == shape and not view.flags.writeable
            np.testing.assert_array_equal(view, array)


def test_a_lease_keeps_its_version(voices):
    with voices.get("v") as old:
        second = voices.put("v", {"g": G + 1})
        with voices.get("v") as now:
            assert now.version == second > old.version and now.checksum != old.checksum
            np.testing.assert_array_equal(now.tensor("g"), G + 1)
        voices.remove("v")
        np.testing.assert_array_equal(old.tensor("g"), G)


def test_a_lease_is_given_back_once(engine, voices):
    voice = voices.get("v")
    assert engine.stats().leases == 1
    voice.release()
    assert engine.stats().leases == 0
    with raises(Status.INVALID_ARGUMENT, "given back"):
        voice.release()
    with raises(Status.INVALID_ARGUMENT, "given back"):
        voice.tensor("g")
    with raises(Status.INVALID_ARGUMENT, "given back"):
        voice.version
    with voices.get("v") as left:
        left.release()
    with pytest.raises(KeyError), voices.get("v"):
        raise KeyError
    assert engine.stats().leases == 0


def test_a_forgotten_lease_is_given_back(engine, voices):
    forgotten = [voices.get("v") for _ in range(10)]
    assert engine.stats().leases == 10
    del forgotten
    gc.collect()
    assert engine.stats().leases == 0


def test_a_view_holds_the_voice_until_it_goes(engine, voices):
    voice = voices.get("v")
    view = voice.tensor("g")[3:]
    voice.release()
    engine.trim()
    assert engine.stats().leases == 1
    np.testing.assert_array_equal(view, G[3:])
    with raises(Status.INVALID_ARGUMENT):
        voice.release()
    del view
    assert engine.stats().leases == 0
    view = voices.get("v").tensor("g")  # the lease itself is dropped
    assert engine.stats().leases == 1
    np.testing.assert_array_equal(view, G)
    del view
    assert engine.stats().leases == 0


def test_streams_of_the_cpu(engine, voices):
    voice = voices.get("v")
    voice.wait_on(0)
    with raises(Status.INVALID_ARGUMENT, "stream"):
        voice.release_on(7)
    view = voice.tensor("g")
    with raises(Status.INVALID_ARGUMENT, "stream"):
        voice.release_on(7)
    voice.release_on(0)
    assert engine.stats().leases == 1
    del view
    assert engine.stats().leases == 0
    with raises(Status.INVALID_ARGUMENT):
        voice.release_on(0)


def test_a_lease_outlives_its_engine():
    engine = timbre.Engine(threads=1)
    engine.voices.put("v", {"g": G})
    voice = engine.voices.get("v")
    engine.close()
    with raises(Status.CLOSED):
        engine.voices.get("v")
    np.testing.assert_array_equal(voice.tensor("g"), G)
    view = voice.tensor("g")
    voice.release()
    np.testing.assert_array_equal(view, G)


def test_what_is_missing_is_an_error(voices):
    with raises(Status.NOT_FOUND, "nobody"):
        voices.get("nobody")
    with raises(Status.NOT_FOUND, "nobody"):
        voices.get("nobody", timeout=1)
    with raises(Status.NOT_FOUND, "nobody"):
        while voices.try_get("nobody") is None:
            pass


def test_try_get_ends_in_a_lease(engine, voices):
    engine.trim()
    voice = voices.try_get("v")
    while voice is None:
        engine.poll(0.01)
        voice = voices.try_get("v")
    np.testing.assert_array_equal(voice.tensor("g"), G)


def test_try_get_gives_nothing_while_the_voice_is_on_its_way(voices, monkeypatch):
    class Loading:
        @staticmethod
        def timbre_voice_try_get(engine, id, lease):
            return int(Status.PENDING)

    monkeypatch.setattr(voices, "_library", Loading())
    assert voices.try_get("v") is None


def test_a_batch_answers_each_row(engine, voices):
    for number in range(5):
        voices.put(f"n/{number}", {"g": G + number})
    engine.trim()
    rows = voices.get_batch(["n/3", "nobody", "n/1", "n/3", ""])
    for row, number in ((0, 3), (2, 1), (3, 3)):
        np.testing.assert_array_equal(rows[row].tensor("g"), G + number)
    assert isinstance(rows[1], timbre.Error) and rows[1].status == Status.NOT_FOUND and "nobody" in str(rows[1])
    assert isinstance(rows[4], timbre.Error) and rows[4].status == Status.INVALID_ARGUMENT
    assert engine.stats().leases == 3
    del rows
    assert engine.stats().leases == 0
    assert voices.get_batch([]) == []
    assert voices.get_batch(iter(["n/1"]), timeout=5)[0].version > 0


def test_an_utterance_speaks_a_held_lease(engine, tone):
    engine.voices.put("v", {"g": tone.speaker_vector(2)}, model=tone)
    voice = engine.voices.get("v")
    engine.voices.put("v", {"g": tone.speaker_vector(0)}, model=tone)
    expected = tone.synthesize("halt!", speaker=2)
    np.testing.assert_array_equal(tone.synthesize("halt!", voice=voice), expected)
    speech = tone.stream("halt!", voice=voice)
    version = voice.version
    voice.release()  # the utterance has a lease of its own
    np.testing.assert_array_equal(speech.read_all(), expected)
    assert speech.info().voice_version == version
    with raises(Status.INVALID_ARGUMENT, "given back"):
        tone.synthesize("halt!", voice=voice)
    with raises(Status.INVALID_ARGUMENT), engine.voices.get("v") as other:
        tone.synthesize("halt!", voice=other, speaker=1)


def test_a_put_may_expect_a_version(voices):
    first = voices.put("new", {"g": G}, expected_version=0)
    with raises(Status.CONFLICT, "new"):
        voices.put("new", {"g": G}, expected_version=0)
    with raises(Status.CONFLICT, "new"):
        voices.put("new", {"g": G}, expected_version=first + 100)
    assert voices.put("new", {"g": G}, expected_version=first) > first


def test_threads_may_share_leases(engine, voices):
    expected = G.tobytes()
    wrong = []

    def use():
        for _ in range(200):
            with voices.get("v") as voice:
                if voice.tensor("g").tobytes() != expected:
                    wrong.append(voice)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and engine.stats().leases == 0


def test_of_many_who_release_one_lease_one_succeeds(voices):
    for _ in range(50):
        voice = voices.get("v")
        barrier = threading.Barrier(4)
        released = []

        def release():
            barrier.wait()
            try:
                voice.release()
            except timbre.Error:
                return
            released.append(1)

        threads = [threading.Thread(target=release) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert released == [1]


class SlowCall:
    """A C function of the library that answers TIMEOUT, as one does whose voice is still being loaded."""

    def __init__(self, times):
        self.times = times
        self.slices = []

    def __call__(self, engine, id, timeout_ms, lease):
        self.slices.append(timeout_ms)
        if len(self.slices) > self.times:
            return int(Status.NOT_FOUND)
        threading.Event().wait(timeout_ms / 1000)
        return int(Status.TIMEOUT)


class SlowLibrary:
    def __init__(self, library, times):
        self._library = library
        self.timbre_voice_get = SlowCall(times)

    def __getattr__(self, name):
        return getattr(self._library, name)


def test_a_wait_is_made_of_slices(voices, monkeypatch):
    slow = SlowLibrary(voices._library, 3)
    monkeypatch.setattr(voices, "_library", slow)
    with raises(Status.NOT_FOUND):
        voices.get("v")
    assert slow.timbre_voice_get.slices == [100] * 4
    slow.timbre_voice_get = SlowCall(1000)
    with raises(Status.TIMEOUT):
        voices.get("v", timeout=0.15)
    assert sum(slow.timbre_voice_get.slices) <= 151 and max(slow.timbre_voice_get.slices) <= 100


class HalfLibrary:
    """A library whose get_batch has not the time for every second of its rows."""

    def __init__(self, library):
        self._library = library
        self.counts = []

    def __getattr__(self, name):
        return getattr(self._library, name)

    def timbre_voice_get_batch(self, engine, ids, count, timeout_ms, leases, statuses):
        self.counts.append(count)
        status = self._library.timbre_voice_get_batch(engine, ids, count, timeout_ms, leases, statuses)
        for row in range(1, count, 2):
            self._library.timbre_voice_release(leases[row])
            statuses[row] = status = int(Status.TIMEOUT)
        return status


def test_a_batch_asks_again_for_the_rows_that_are_missing_only(engine, voices, monkeypatch):
    for number in range(8):
        voices.put(f"n/{number}", {"g": G + number})
    half = HalfLibrary(voices._library)
    monkeypatch.setattr(voices, "_library", half)
    ids = [f"n/{number}" for number in range(8)]
    rows = voices.get_batch(ids)
    assert half.counts == [8, 4, 2, 1] and engine.stats().leases == 8
    for number, lease in enumerate(rows):
        np.testing.assert_array_equal(lease.tensor("g"), G + number)
    rows = voices.get_batch(ids, timeout=0)
    assert [isinstance(row, timbre.Error) for row in rows] == [False, True] * 4
    assert {row.status for row in rows[1::2]} == {Status.TIMEOUT} and "n/7" in str(rows[7])


def test_ctrl_c_ends_a_wait_for_a_voice(engine, voices, monkeypatch):
    monkeypatch.setattr(voices, "_library", SlowLibrary(voices._library, 10**9))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        voices.get("v")
    monkeypatch.undo()
    assert engine.stats().leases == 0


def run(code):
    prelude = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'bindings' / 'python')!r})\n"
        "import os, timbre, numpy as np\nengine = timbre.Engine(threads=1)\n"
        "engine.voices.put('v', {'g': np.ones(16, np.float32)})\n"
    )
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_nothing_needs_releasing_at_exit():
    code = "voice = engine.voices.get('v')\nview = voice.tensor('g')\nexport = voice['g']\narray = np.from_dlpack(export)\n"
    assert run(code) == (0, "")
    assert run(code + "sys.exit(3)") == (3, "")
    assert run(code + "engine.close()") == (0, "")


def test_a_forked_child_is_told_so_and_gives_nothing_back():
    code = """
voice = engine.voices.get("v")
view = voice.tensor("g")
export = voice["g"]
child = os.fork()
if child == 0:
    calls = [
        lambda: engine.voices.get("v"), lambda: engine.voices.try_get("v"), lambda: engine.voices.get_batch(["v"]),
        lambda: engine.voices.prefetch(["v"]), lambda: engine.voices.prefetch_top(1), lambda: engine.voices.explain("v"),
        lambda: engine.set_budget(1), lambda: engine.trim(), lambda: engine.poll(), lambda: engine.stats(),
        lambda: engine.health(), lambda: voice.release(), lambda: voice.release_on(0), lambda: voice.wait_on(0),
        lambda: voice.version, lambda: voice.names, lambda: voice.tensor("g"), lambda: voice["g"],
    ]
    for number, call in enumerate(calls):
        try:
            call()
        except timbre.Error as error:
            if error.status == timbre.Status.FORKED:
                continue
        os._exit(number + 1)
    with voice:
        pass
    del voice, view, export
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert engine.stats().leases == 2 and view.sum() == 16
"""
    assert run(code) == (0, "")
