# SPDX-License-Identifier: MIT
"""The goldens' script repeated: ONNX Runtime beside timbre on the real voice and on the six-voice family, noise 0.

tests/vits compares with the stored goldens; here ONNX Runtime itself runs again, whole waveforms are compared, and the
pitch of each voice of the family is measured. In the short form a part of the sentences is taken.
"""
import json
import os
import sys

import numpy as np
import pytest

from conftest import PATCH, ROOT, VOICE, needs_voice

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")
sys.path.insert(0, str(ROOT / "tests" / "reference"))
import merge_family
import ort_piper
from median_f0 import median_f0

FULL = bool(os.environ.get("TIMBRE_TEST_FULL"))
SENTENCES = json.loads((ROOT / "tests/data/golden/joe_sentences.json").read_text())["cases"]
CHOSEN = SENTENCES if FULL else SENTENCES[::4]
SILENT = {"noise_scale": 0.0, "noise_w": 0.0}
TOLERANCE = 1e-4
# Both encoders are 6e-6 to 9e-6 away from exact arithmetic here, and this voice's decoder makes 1.1e-4 of it.
IMP_ON_FOX = 1.5e-4


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    """The six-voice model as a Piper graph of its own, for ONNX Runtime."""
    path = tmp_path_factory.mktemp("family") / "family.onnx"
    merge_family.write(VOICE, PATCH, path)
    return path


def ids_of(name):
    return next(case["ids"] for case in SENTENCES if case["name"] == name)


def compare(ours, theirs, tolerance=TOLERANCE):
    assert len(ours) == len(theirs)
    assert float(np.abs(ours - theirs).max()) <= tolerance


@needs_voice
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case["name"])
def test_the_real_voice(joe, case):
    compare(joe.synthesize(ids=case["ids"], **SILENT), ort_piper.run(VOICE, case["ids"]))


@needs_voice
@pytest.mark.parametrize("speaker", range(6))
def test_each_voice_of_the_family(joe_engine, family, merged, speaker):
    for name in ("hello", "fox") if FULL else ("hello",):
        ours = family.synthesize(ids=ids_of(name), speaker=speaker, **SILENT)
        theirs = ort_piper.run(merged, ids_of(name), sid=speaker)
        compare(ours, theirs, IMP_ON_FOX if (name, speaker) == ("fox", 5) else TOLERANCE)
        assert abs(median_f0(ours, 22050) / median_f0(theirs, 22050) - 1) <= 0.03
        voice = f"family/{speaker}"
        joe_engine.voices.put(voice, {"g": family.speaker_vector(speaker)}, model=family.fingerprint)
        assert np.array_equal(family.synthesize(ids=ids_of(name), voice=voice, **SILENT), ours)


@needs_voice
def test_the_family_has_the_lengths_that_it_was_measured_with(family):
    lengths = [len(family.synthesize(ids=ids_of("fox"), speaker=speaker, **SILENT)) for speaker in range(6)]
    assert lengths == [171008, 186624, 166400, 158464, 195072, 150784]
