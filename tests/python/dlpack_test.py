# SPDX-License-Identifier: MIT
"""Export by DLPack: no copy, read-only, and a lease that lives as long as the array."""
import gc
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, raises
from timbre import Status

PYTHON = Path(os.environ.get("TIMBRE_REFERENCE_PYTHON", ROOT / ".deps/reference/bin/python"))
G = np.arange(16, dtype=np.float32)


@pytest.fixture
def voice(engine):
    engine.voices.put("v", {"g": G, "h": np.arange(6, dtype=np.float16).reshape(2, 3)})
    return engine.voices.get("v")


def capsule_name(capsule):
    return repr(capsule).split('"')[1]


class Old:
    """A consumer's view of an exporter, for consumers that know less than numpy does."""

    def __init__(self, source, **fixed):
        self.source = source
        self.fixed = fixed

    def __dlpack__(self, **_):
        return self.source.__dlpack__(**self.fixed)

    def __dlpack_device__(self):
        return self.source.__dlpack_device__()


def test_numpy_takes_it_without_a_copy_and_read_only(voice):
    array = np.from_dlpack(voice["g"])
    np.testing.assert_array_equal(array, G)
    assert np.shares_memory(array, voice.tensor("g")) and not array.flags.writeable
    half = np.from_dlpack(voice["h"])
    assert half.shape == (2, 3) == voice["h"].shape and half.dtype == np.float16
    np.testing.assert_array_equal(half, voice.tensor("h"))
    assert voice["g"].__dlpack_device__() == (1, 0)


def test_the_lease_of_an_export_lives_as_long_as_the_array(engine, voice):
    array = np.from_dlpack(voice["g"])
    voice.release()
    assert engine.stats().leases == 1
    engine.voices.put("v", {"g": G + 1})
    engine.trim()
    np.testing.assert_array_equal(array, G)
    part = array[4:]
    del array
    assert engine.stats().leases == 1
    engine.close()
    np.testing.assert_array_equal(part, G[4:])


def test_an_export_that_nobody_takes_ends(engine, voice):
    voice["g"]
    voice["g"].__dlpack__(max_version=(1, 0))
    voice["g"].__dlpack__()
    gc.collect()
    assert engine.stats().leases == 1


def test_who_cannot_be_told_read_only_gets_a_copy_or_an_error(voice):
    source = voice["g"]
    for limit in (None, (0, 8)):
        capsule = source.__dlpack__(max_version=limit)
        assert capsule_name(capsule) == "dltensor"
        array = np.from_dlpack(Old(source, max_version=limit))
        np.testing.assert_array_equal(array, G)
        assert not np.shares_memory(array, voice.tensor("g"))
        with pytest.raises(BufferError, match="read-only"):
            source.__dlpack__(max_version=limit, copy=False)
    assert capsule_name(source.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
    assert capsule_name(source.__dlpack__(max_version=(2, 5), copy=False)) == "dltensor_versioned"


def test_a_copy_may_be_asked_for(voice):
    copy = np.from_dlpack(voice["g"], copy=True)
    np.testing.assert_array_equal(copy, G)
    assert not np.shares_memory(copy, voice.tensor("g"))
    np.testing.assert_array_equal(np.from_dlpack(voice["g"], copy=False), G)


def test_another_device_or_stream_is_refused(voice):
    source = voice["g"]
    source.__dlpack__(stream=-1, dl_device=(1, 0))
    with pytest.raises(BufferError, match="device"):
        source.__dlpack__(dl_device=(2, 0))
    with raises(Status.INVALID_ARGUMENT, "stream"):
        source.__dlpack__(stream=5)
    with raises(Status.INVALID_ARGUMENT, "stream"):
        source.__dlpack__(stream="one")
    for version in (1, "1.0", (1,), (1.5, 0), (-1, 0)):
        with raises(Status.INVALID_ARGUMENT, "max_version"):
            source.__dlpack__(max_version=version)
    with raises(Status.NOT_FOUND, "nothing"):
        voice["nothing"]
    with raises(Status.INVALID_ARGUMENT):
        voice[0]


def test_a_voice_that_was_written_into_is_loaded_anew(engine, voice):
    import ctypes

    array = np.from_dlpack(voice["g"])
    ctypes.memset(array.ctypes.data, 0, array.nbytes)
    voice.release()
    del array
    assert engine.stats().written_exports == 1
    np.testing.assert_array_equal(engine.voices.get("v").tensor("g"), G)


TORCH = """
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


@pytest.mark.skipif(not PYTHON.exists(), reason="no Python with torch; scripts/setup --full makes one")
def test_torch_takes_it_without_a_copy():
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "bindings" / "python"), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run([str(PYTHON), "-c", TORCH], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
