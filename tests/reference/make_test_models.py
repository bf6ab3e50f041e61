#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes every seeded model folder that the C++ tests read, once; a stamp makes a second run free.

usage: make_test_models.py OUT_DIR [--full]

OUT_DIR/hf-CONFIG-FORM for the tiny configurations; --full adds hf-mms-plain and hf-vctk-plain (120 and 160 MB). Needs
numpy only.
"""

import hashlib
import pathlib
import sys

import hf_layout
import make_hf_model


def folders(full):
    for config in hf_layout.CONFIGS:
        if config.startswith("tiny"):
            for form in make_hf_model.FORMS if config in ("tiny", "tiny-multi") else ("weight_norm_gv",):
                yield config, form
        elif full:
            yield config, "plain"


def stamp_text(form):
    """Changes when a generator changes."""
    here = pathlib.Path(__file__).parent
    sources = ("seeded_weights.py", "hf_layout.py", "make_hf_model.py", "safetensors_io.py")
    digest = hashlib.sha256(b"".join((here / name).read_bytes() for name in sources)).hexdigest()
    return f"{form} {digest}\n"


def main(arguments):
    full = "--full" in arguments
    (out,) = [argument for argument in arguments if not argument.startswith("--")]
    for config, form in folders(full):
        folder = pathlib.Path(out) / f"hf-{config}-{form}"
        stamp = folder / ".stamp"
        if stamp.exists() and stamp.read_text() == stamp_text(form):
            continue
        make_hf_model.write(config, folder, form, posterior=form != "plain")
        stamp.write_text(stamp_text(form))


if __name__ == "__main__":
    main(sys.argv[1:])
