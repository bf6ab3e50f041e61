# SPDX-License-Identifier: MIT
"""Export by DLPack: no copy, read-only, and a lease that lives as long as the array. torch_test.py has torch's part."""
import ctypes
import gc

import numpy as np
import pytest
from conftest import raises
from timbre import Status

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
    array = np.from_dlpack(voice["g"])
    ctypes.memset(array.ctypes.data, 0, array.nbytes)
    voice.release()
    del array
    assert engine.stats().written_exports == 1
    np.testing.assert_array_equal(engine.voices.get("v").tensor("g"), G)
