# SPDX-License-Identifier: MIT
"""One LibTorch in one process, whoever comes first: needs a Python with the torch package (scripts/setup --full)."""
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, VOICE, needs_voice

PYTHON = Path(os.environ.get("TIMBRE_REFERENCE_PYTHON", ROOT / ".deps/reference/bin/python"))

pytestmark = [
    needs_voice,
    pytest.mark.skipif(not PYTHON.exists(), reason="no Python with torch; scripts/setup --full makes one"),
]

SPEAK = f"""
import timbre
engine = timbre.Engine(threads=1)
model = engine.load_model({str(VOICE)!r})
assert model.synthesize("Hello.").size > 5000
"""
TORCH = """
import torch
assert torch.conv1d(torch.ones(1, 1, 9), torch.ones(1, 1, 3)).sum().item() == 21
"""
SETTINGS = """
torch.set_default_dtype(torch.float64)
torch.set_num_threads(3)
"""
UNCHANGED = """
assert torch.get_default_dtype() == torch.float64 and torch.get_num_threads() == 3
"""
COPIES = """
print(sorted({line.split()[-1] for line in open("/proc/self/maps") if "libtorch_cpu.so" in line}))
"""


def run(code):
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "bindings" / "python"), PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([str(PYTHON), "-c", code], env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "code",
    [TORCH + SPEAK, SPEAK + TORCH, TORCH + SETTINGS + SPEAK + UNCHANGED, SPEAK],
    ids=["torch first", "timbre first", "torch with settings of its own", "torch installed but not imported"],
)
def test_both_use_the_copy_of_the_torch_package(code):
    done = run(code + COPIES)
    assert done.returncode == 0, done.stderr
    copies = eval(done.stdout)
    assert len(copies) == 1 and "site-packages/torch/lib" in copies[0], copies


def test_sharing_can_be_turned_off():
    done = run("import os; os.environ['TIMBRE_SHARE_TORCH'] = '0'\n" + SPEAK + COPIES)
    assert done.returncode == 0, done.stderr
    assert "site-packages" not in done.stdout
