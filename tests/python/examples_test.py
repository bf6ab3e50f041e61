# SPDX-License-Identifier: MIT
"""The examples run, are as short as they promise, and C and Python hear the same."""
import os
import subprocess
import sys
import wave
from pathlib import Path

from conftest import ROOT, VOICE, needs_voice

EXAMPLES = ROOT / "examples"
SPEAK = Path(os.environ["TIMBRE_EXAMPLES"]) / "speak"
TEXT = "hello there, traveller."


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)


def samples(path):
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 22050)
        data = file.readframes(file.getnframes())
        assert len(data) == 2 * file.getnframes() > 20000
        return data


def test_c_and_python_write_the_same_samples(tmp_path):
    done = run(SPEAK, "tone:", TEXT, tmp_path / "c.wav")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run(sys.executable, EXAMPLES / "speak.py", "tone:", TEXT, tmp_path / "python.wav")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert samples(tmp_path / "c.wav") == samples(tmp_path / "python.wav")


def test_failures_are_told(tmp_path):
    for command in ([SPEAK], [sys.executable, EXAMPLES / "speak.py"]):
        done = run(*command, "absent.onnx", TEXT, tmp_path / "out.wav")
        assert done.returncode == 1 and "absent.onnx" in done.stderr
        assert run(*command).returncode != 0


def test_the_examples_are_short():
    for name, limit in (("speak.c", 100), ("speak.py", 60)):
        assert len((EXAMPLES / name).read_text().splitlines()) < limit


@needs_voice
def test_the_real_voice_through_both(tmp_path):
    assert run(SPEAK, VOICE, TEXT, tmp_path / "c.wav").returncode == 0
    assert run(sys.executable, EXAMPLES / "speak.py", VOICE, TEXT, tmp_path / "python.wav").returncode == 0
    assert samples(tmp_path / "c.wav") == samples(tmp_path / "python.wav")


@needs_voice
def test_the_demo_speaks_in_six_voices_a_blend_and_the_plain_one(tmp_path):
    done = run(sys.executable, EXAMPLES / "family_demo.py", "--voice-dir", VOICE.parent, "--out", tmp_path, "Good day.")
    assert done.returncode == 0, done.stderr
    names = ["joe", "giant", "woman", "child", "elder", "imp", "joe-imp"]
    audio = [samples(tmp_path / f"village-{name}.wav") for name in names]
    assert len(set(audio)) == len(names) and (tmp_path / "speech.wav").exists()
    for word in ("device", "precision", "instruction set", "first audio", "real-time factor", "stages", "audio "):
        assert word in done.stdout
