# SPDX-License-Identifier: MIT
"""One LibTorch in one process, whoever comes first; and voices as torch's tensors, without a copy.

Needs a Python with the torch package (scripts/setup --full).
"""
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, VOICE, needs_voice

PYTHON = Path(os.environ.get("TIMBRE_REFERENCE_PYTHON", ROOT / ".deps/reference/bin/python"))

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no Python with torch; scripts/setup --full makes one")

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

LEASES = """
import gc, numpy as np, timbre, torch
engine = timbre.Engine(threads=1)
G = np.arange(16, dtype=np.float32)
engine.voices.put("v", {"g": G, "half": G.astype(np.float16), "wide": np.arange(4)})
voice = engine.voices.get("v")
tensor = torch.from_dlpack(voice["g"])
assert tensor.dtype == torch.float32 and tensor.data_ptr() == voice.tensor("g").ctypes.data, "a copy was made"
assert torch.from_dlpack(voice["half"]).dtype == torch.float16 and torch.from_dlpack(voice["wide"]).sum() == 6
copy = torch.from_dlpack(voice["g"], copy=True)
assert copy.data_ptr() != tensor.data_ptr() and torch.equal(copy, tensor)
old = torch.utils.dlpack.from_dlpack(voice["g"].__dlpack__())
assert old.data_ptr() != tensor.data_ptr() and torch.equal(old, tensor)
voice.release()
engine.trim()
assert engine.stats().leases == 1 and tensor.tolist() == G.tolist()
del tensor
gc.collect()
assert engine.stats().leases == 0

bits = np.arange(0x3F80, 0x3F90, dtype=np.uint16)  # 1.0 and what follows
try:
    import ml_dtypes
except ImportError:
    print("without bfloat16")
else:
    engine.voices.put("b", {"g": bits.view(ml_dtypes.bfloat16)})
    voice = engine.voices.get("b")
    for tensor in (torch.from_dlpack(voice["g"]), torch.utils.dlpack.from_dlpack(voice["g"].__dlpack__())):
        assert tensor.dtype == torch.bfloat16 and tensor.view(torch.int16).tolist() == bits.tolist()
    del voice
kept = torch.from_dlpack(engine.voices.get("v")["g"])
kept.zero_()  # torch has no read-only tensors; that it wrote is found out
del kept
gc.collect()
assert engine.stats().written_exports >= 1
assert engine.voices.get("v").tensor("g").tolist() == G.tolist()
kept = torch.from_dlpack(engine.voices.get("v")["g"])  # goes with the process
"""


def run(code):
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "bindings" / "python"), PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([str(PYTHON), "-c", code], env=environment, capture_output=True, text=True, timeout=300)


@needs_voice
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


@needs_voice
def test_sharing_can_be_turned_off():
    done = run("import os; os.environ['TIMBRE_SHARE_TORCH'] = '0'\n" + SPEAK + COPIES)
    assert done.returncode == 0, done.stderr
    assert "site-packages" not in done.stdout


def test_torch_takes_a_leased_tensor_without_a_copy():
    done = run(LEASES)
    assert done.returncode == 0, done.stderr
