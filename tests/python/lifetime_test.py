# SPDX-License-Identifier: MIT
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
import timbre
from conftest import ROOT, needs_voice, raises
from timbre import Status

LONG = dict(length_scale=1000, ring_samples=4096)


def run(code):
    """Runs code in a Python of its own; returns (exit status, everything it wrote)."""
    prelude = f"import sys; sys.path.insert(0, {str(ROOT / 'bindings' / 'python')!r})\nimport timbre\n"
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_calls_through_a_closed_engine_are_closed():
    engine = timbre.Engine(threads=1)
    model = engine.load_model("tone:")
    speech = model.stream("a" * 2000, **LONG)
    engine.close()
    with pytest.raises(timbre.Error) as caught:
        speech.read_all()
    assert caught.value.status in (Status.CANCELLED, Status.CLOSED)
    with raises(Status.CLOSED):
        model.synthesize("a")
    with raises(Status.CLOSED):
        engine.voices.list()
    with raises(Status.CLOSED):
        engine.load_model("tone:")
    speech.close()
    model.close()


@pytest.mark.parametrize("kind", [timbre.Engine, timbre.Model, timbre.Speech])
def test_what_owns_a_handle_closes_it_at_the_end_of_its_block(kind):
    engine = timbre.Engine(threads=1)
    model = engine.load_model("tone:")
    owner = {timbre.Engine: engine, timbre.Model: model, timbre.Speech: model.stream("abc")}[kind]
    with pytest.raises(KeyError), owner as entered:
        assert entered is owner and not owner._handle.closing
        raise KeyError
    assert owner._handle.closing
    owner.close()


def test_a_model_keeps_its_engine_open():
    model = timbre.Engine(threads=1).load_model("tone:")
    gc.collect()
    assert model.synthesize("abc").size > 0


def test_dropping_an_iterator_cancels_it(tone):
    speech = tone.stream("a" * 2000, **LONG)
    next(speech)
    handle = speech._handle
    del speech
    gc.collect()
    assert handle.closing


def test_many_open_utterances_are_read_in_reverse(engine, tone):
    speeches = [tone.stream(f"number {i} of eight.", ring_samples=256) for i in range(8)]
    unread = tone.stream("never read", ring_samples=256)
    for i, speech in reversed(list(enumerate(speeches))):
        assert speech.read_all().size == tone.synthesize(f"number {i} of eight.").size
    unread.close()


def test_threads_may_share_a_model(tone):
    expected = tone.synthesize("shared by all").tobytes()
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(tone.synthesize("shared by all").tobytes())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def interrupt_soon():
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()


def test_ctrl_c_ends_a_long_read(tone):
    begin = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        while True:
            tone.synthesize("a" * 2000, **LONG)
    assert time.monotonic() - begin < 5
    assert tone.synthesize("abc").size > 0


@needs_voice
def test_ctrl_c_ends_a_wait_for_the_first_sample(joe):
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        while True:
            joe.synthesize("an endless sentence about nothing at all " * 20)


def test_nothing_needs_closing_at_exit():
    code = "model = timbre.Engine(threads=1).load_model('tone:')\nspeech = model.stream('a' * 2000, length_scale=1000)\n"
    assert run(code + "next(speech)") == (0, "")
    assert run(code + "import sys; sys.exit(3)") == (3, "")
    assert run(code + "import os; next(speech); os._exit(4)") == (4, "")


def test_a_daemon_thread_that_reads_does_not_hold_the_exit():
    code = (
        "import threading\nmodel = timbre.Engine(threads=1).load_model('tone:')\n"
        "speech = model.stream('a' * 2000, length_scale=10000)\n"
        "threading.Thread(target=speech.read_all, daemon=True).start()\nimport time; time.sleep(0.1)"
    )
    status, _ = run(code)
    assert status == 0


def test_a_forked_child_is_told_so():
    code = """
import os
engine = timbre.Engine(threads=1)
model = engine.load_model("tone:")
child = os.fork()
if child == 0:
    try:
        model.synthesize("abc")
    except timbre.Error as error:
        os._exit(0 if error.status == timbre.Status.FORKED else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert model.synthesize("abc").size > 0
"""
    assert run(code) == (0, "")


def test_a_child_forked_during_a_read_in_another_thread_ends():
    code = """
import os, threading, time
model = timbre.Engine(threads=1).load_model("tone:")
speech = model.stream("a" * 2000, length_scale=10000)
threading.Thread(target=speech.read_all, daemon=True).start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    speech.close()
    try:
        speech.info()
    except timbre.Error as error:
        os._exit(0 if error.status == timbre.Status.FORKED else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    status, said = run(code)
    assert status == 0, said


def test_errors_can_be_pickled(tone):
    with pytest.raises(timbre.Error) as caught:
        tone.synthesize("a", voice="nobody")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.status == Status.NOT_FOUND
    assert str(copy) == str(caught.value)
