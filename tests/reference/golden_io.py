# SPDX-License-Identifier: MIT
"""How goldens are written: a JSON description with one case per line, next to a .safetensors file of the same stem."""

import json
import pathlib

import safetensors_io

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "data" / "golden"


def write_description(path, description, cases):
    """JSON object: the description's keys, then "cases", one per line."""
    head = json.dumps(description, indent=1, ensure_ascii=False)[:-2]
    body = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    pathlib.Path(path).write_text(f'{head},\n "cases": [\n{body}\n ]\n}}\n', encoding="utf-8")


def write(out, stem, description, cases, tensors):
    """Writes STEM.json and STEM.safetensors into the folder `out` and prints the size of the latter."""
    write_description(out / f"{stem}.json", description, cases)
    path = out / f"{stem}.safetensors"
    safetensors_io.save(path, tensors)
    print(f"{stem}: {len(cases)} cases, {path.stat().st_size} bytes")


def read_description(stem):
    return json.loads((GOLDEN / f"{stem}.json").read_text(encoding="utf-8"))


def read(stem):
    """(description with its cases, dict name -> array) of a stored golden."""
    return read_description(stem), safetensors_io.load(GOLDEN / f"{stem}.safetensors")[0]
