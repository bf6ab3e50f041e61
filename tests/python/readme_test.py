# SPDX-License-Identifier: MIT
"""The README's examples are programs: they are taken out of it, built and run as they stand."""
import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import PATCH, ROOT, VOICE, needs_voice

LIBRARY = Path(os.environ["TIMBRE_LIBRARY"])


def block(heading, language):
    """The example in `language` of a section."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## )", (ROOT / "README.md").read_text(), re.M | re.S)[1]
    found = re.findall(rf"^```{language}\n(.*?)^```", section, re.M | re.S)
    assert len(found) == 1, f"'{heading}' has {len(found)} examples in {language}"
    return found[0]


def build(text, folder):
    """The program that a C99 example becomes."""
    source, program = folder / "readme.c", folder / "readme"
    source.write_text(text)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"]
    done = run("cc", *flags, source, "-o", program, LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")
    assert done.returncode == 0, done.stderr
    return program


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=600, env={**os.environ, **environment}
    )


@needs_voice
def test_the_c_example_builds_as_c99_and_speaks(tmp_path):
    program = build(block("From C", "c"), tmp_path)
    done = run(program, VOICE)
    assert done.returncode == 0, done.stderr
    assert int(re.fullmatch(r"(\d+) samples\n", done.stdout)[1]) > 20000
    done = run(program, "absent.onnx")
    assert done.returncode == 1 and "absent.onnx" in done.stderr


@needs_voice
def test_the_python_example_speaks(tmp_path):
    source = tmp_path / "readme.py"
    source.write_text(block("From Python", "python"))
    done = run(sys.executable, source, VOICE, PATCH, PYTHONPATH=str(ROOT / "bindings/python"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" samples\n")


def test_the_c_example_of_leases_reads_a_voice_and_tells_of_one_that_is_not_there(tmp_path):
    done = run(build(block("Voices as leases", "c"), tmp_path))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert re.fullmatch(r"3\n.*nobody.*\n", done.stdout), done.stdout


def test_the_python_example_of_leases_shows_what_it_says(tmp_path):
    source = tmp_path / "leases.py"
    source.write_text(block("Voices as leases", "python"))
    done = run(sys.executable, source, PYTHONPATH=str(ROOT / "bindings/python"))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"\d+ \[7\. 7\. 7\.\]", lines[0]) and lines[1] == "[7. 7. 7.] 1 lease", lines
    assert lines[2] == "1.0" and "nobody" in lines[3] and lines[4] == "True store trim", lines


def test_the_python_example_tells_how_it_is_used(tmp_path):
    source = tmp_path / "readme.py"
    source.write_text(block("From Python", "python"))
    for arguments in ([], [VOICE]):
        done = run(sys.executable, source, *arguments, PYTHONPATH=str(ROOT / "bindings/python"))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "usage: speak.py VOICE.onnx PATCH.safetensors\n"
