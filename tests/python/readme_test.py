# SPDX-License-Identifier: MIT
"""The README's examples are programs: they are taken out of it, built and run as they stand."""
import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import PATCH, ROOT, VOICE, needs_voice

LIBRARY = Path(os.environ["TIMBRE_LIBRARY"])


def block(language):
    found = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert len(found) == 1, f"README.md has {len(found)} examples in {language}"
    return found[0]


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=600, env={**os.environ, **environment}
    )


@needs_voice
def test_the_c_example_builds_as_c99_and_speaks(tmp_path):
    source = tmp_path / "readme.c"
    source.write_text(block("c"))
    program = tmp_path / "readme"
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"]
    done = run("cc", *flags, source, "-o", program, LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")
    assert done.returncode == 0, done.stderr
    done = run(program, VOICE)
    assert done.returncode == 0, done.stderr
    assert int(re.fullmatch(r"(\d+) samples\n", done.stdout)[1]) > 20000
    done = run(program, "absent.onnx")
    assert done.returncode == 1 and "absent.onnx" in done.stderr


@needs_voice
def test_the_python_example_speaks(tmp_path):
    source = tmp_path / "readme.py"
    source.write_text(block("python"))
    done = run(sys.executable, source, VOICE, PATCH, PYTHONPATH=str(ROOT / "bindings/python"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" samples\n")


def test_the_python_example_tells_how_it_is_used(tmp_path):
    source = tmp_path / "readme.py"
    source.write_text(block("python"))
    for arguments in ([], [VOICE]):
        done = run(sys.executable, source, *arguments, PYTHONPATH=str(ROOT / "bindings/python"))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "usage: speak.py VOICE.onnx PATCH.safetensors\n"
