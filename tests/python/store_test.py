# SPDX-License-Identifier: MIT
"""A library of voices on disk: restarts, and several processes on one file."""
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import timbre
from conftest import raises
from timbre import Status

PACKAGE = os.path.dirname(os.path.dirname(timbre.__file__))


def in_another_process(path, code):
    """Runs lines in a Python of its own, where `engine` has the same library, and gives what they print."""
    program = f"import numpy as np, timbre\nwith timbre.Engine(threads=1, store={'sqlite:' + path!r}) as engine:\n"
    program += textwrap.indent(textwrap.dedent(code), "    ")
    run = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": PACKAGE},
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "voices.db")


def soon(condition, seconds=1.0):
    """Whether it holds within the time; the deadline is generous, a test must not fail on a busy machine."""
    end = time.monotonic() + 20 * seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_voices_survive_a_restart_of_the_process(path):
    in_another_process(path, """
        engine.voices.put("small", {"g": np.arange(16, dtype=np.float32)}, note="kept")
        engine.voices.put("large", {"prompt": np.full((512, 300), 0.5, np.float32)})
        engine.voices.put("gone", {"g": np.ones(16, np.float32)}, ephemeral=True)
    """)
    with timbre.Engine(threads=1, store="sqlite:" + path) as engine:
        assert engine.voices.list() == ["large", "small"]
        with engine.voices.get("small") as voice, engine.voices.get("large") as large:
            np.testing.assert_array_equal(voice.tensor("g"), np.arange(16))
            assert large.tensor("prompt").shape == (512, 300) and (large.tensor("prompt") == 0.5).all()
        with raises(Status.NOT_FOUND, "gone"):
            engine.voices.get("gone")
        assert engine.health().store_read_only is False and engine.health().store_failures == 0


def test_a_stored_voice_speaks_after_a_restart(path):
    with timbre.Engine(threads=1, store="sqlite:" + path) as engine:
        tone = engine.load_model("tone:")
        engine.voices.put("v", {"g": tone.speaker_vector(2)}, model=tone)
        expected = tone.synthesize("who is there?", voice="v")
    with timbre.Engine(threads=1, store="sqlite:" + path) as engine:
        tone = engine.load_model("tone:")
        np.testing.assert_array_equal(tone.synthesize("who is there?", voice="v"), expected)


def test_another_process_is_seen_also_where_there_was_nothing(path):
    with timbre.Engine(threads=1, store="sqlite:" + path) as engine:
        engine.voices.put("a", {"g": np.zeros(4, np.float32)})
        engine.voices.get("a").release()
        with raises(Status.NOT_FOUND):
            engine.voices.get("b")
        in_another_process(path, """
            engine.voices.put("a", {"g": np.ones(4, np.float32)})
            engine.voices.put("b", {"g": np.ones(4, np.float32)})
        """)

        def value(name):
            try:
                with engine.voices.get(name) as voice:
                    return voice.tensor("g")[0]
            except timbre.Error as error:
                assert error.status == Status.NOT_FOUND
                return None

        assert soon(lambda: value("a") == 1 and value("b") == 1)
        in_another_process(path, 'engine.voices.remove("a")')
        assert soon(lambda: value("a") is None)
        assert engine.stats().store_changes >= 2
        assert engine.health().store_look_age < 20


def test_without_a_background_thread_a_poll_sees_others(path):
    with timbre.Engine(threads=1, store="sqlite:" + path, background=False) as engine:
        engine.voices.put("a", {"g": np.zeros(4, np.float32)})
        in_another_process(path, 'engine.voices.put("a", {"g": np.ones(4, np.float32)})')
        with engine.voices.get("a") as voice:
            assert voice.tensor("g")[0] == 0
        engine.poll()
        with engine.voices.get("a") as voice:
            assert voice.tensor("g")[0] == 1


def test_what_was_used_most_is_loaded_at_the_start(path):
    with timbre.Engine(threads=1, store="sqlite:" + path) as engine:
        for name in "abcd":
            engine.voices.put(name, {"g": np.zeros(4, np.float32)})
        for _ in range(600):
            engine.voices.get("c").release()
    with timbre.Engine(threads=1, store="sqlite:" + path, background=False) as engine:
        assert engine.voices.explain("c").tier == "store"
        engine.poll(timeout=5)
        assert engine.voices.explain("c").tier == "device"
        assert engine.voices.explain("a").tier == "store"
    with timbre.Engine(threads=1, store="sqlite:" + path, background=False, preheat=0) as engine:
        engine.poll(timeout=5)
        assert engine.voices.explain("c").tier == "store"


def test_a_file_that_is_no_library_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, " * 100)
    with raises(Status.FORMAT, "notes.txt"):
        timbre.Engine(store=f"sqlite:{tmp_path}/notes.txt")
    with raises(Status.INVALID_ARGUMENT, "names no file"):
        timbre.Engine(store="sqlite:")
    with raises(Status.INVALID_ARGUMENT, "preheat"):
        timbre.Engine(preheat=257)
