# SPDX-License-Identifier: MIT
"""Check: a file includes only headers of the layers that its own layer may see.

The table is that of ARCHITECTURE.md. What a layer sees, it also sees through its neighbours, except where it sees single
headers only. Installed headers include no third party, and LibTorch is included by vits alone.
"""
import os
import re

import sources

# Layer: the layers directly below it. Folders that are not here (tests, benchmarks) include what they like.
MAY_SEE = {
    "core": [],
    "c": [],
    "c/sys": [],
    "wrapper": ["c"],
    "device": ["core"],
    "cache": ["device"],
    "files": ["core"],
    "voice": ["files"],
    "store": ["voice"],
    "bank": ["cache", "store", "device"],
    "frontend": ["files", "c/sys"],
    "speech": ["bank", "store", "frontend"],
    "vits": ["voice", "device", "LibTorch"],
    "espeak": ["c/sys", "core"],
    "cuda": ["device", "CUDA"],
    "vits_cuda": ["vits", "cuda"],
    "capi": ["c", "speech"],
    "tools": ["wrapper"],
    "bindings": ["wrapper"],
    "examples": ["wrapper", "cache"],
}
# The part of speech that its back ends see. These headers include the core, voice and each other.
SPEECH_INTERFACE = ["src/speech/synthesizer.hpp", "src/speech/model_files.hpp"]
# Single headers of a layer that is otherwise out of sight.
SINGLE_HEADERS = {
    "vits": SPEECH_INTERFACE,
    "vits_cuda": SPEECH_INTERFACE,
    "tools": ["src/voice/safetensors.hpp"],
    "c/sys": ["include/timbre/c/status.h"],
    "frontend": ["include/timbre/c/status.h"],
    "espeak": ["include/timbre/c/status.h"],
}
THIRD_PARTY_LAYERS = {"ATen": "LibTorch", "c10": "LibTorch", "torch": "LibTorch", "cuda.h": "CUDA"}
NO_THIRD_PARTY = {"core", "device", "cache", "c", "c/sys", "wrapper"}
# The standard libraries of C and C++, POSIX and Windows; a C++ one has neither a dot nor a slash in its name.
SYSTEM_HEADERS = re.compile(
    r"[a-z_0-9]+|(std(def|int|io|lib|bool|arg)|string|math|float|limits|errno|time|assert|locale|signal|wchar|ctype|fenv|"
    r"dlfcn|fcntl|link|pthread|sched|unistd|poll|xmmintrin|immintrin|pmmintrin|cpuid|omp|malloc|windows)\.h|"
    r"sys/[a-z]+\.h")
INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", re.MULTILINE)


def layer_of(path):
    """The layer of a file of ours: the last part of the tree that the table knows, or its top folder."""
    parts = path.split("/")
    if path == "include/timbre/timbre.hpp":
        return "wrapper"
    if path == "include/timbre/timbre.h":
        return "c"
    if path.startswith("include/timbre/c/sys/"):
        return "c/sys"
    if path.startswith("include/timbre/") and len(parts) > 3:
        return parts[2]
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return parts[0]


def resolve(root, path, quote, name):
    """The file of ours that an include names, relative to `root`, or None."""
    folders = ["include", "src", path.split("/")[0]]
    if quote == '"':
        folders.insert(0, os.path.dirname(path))
    for folder in folders:
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(root, found)):
            return found
    return None


def visible(layer):
    """`layer` and every layer below it."""
    seen = set()
    waiting = [layer]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += MAY_SEE.get(name, [])
    return seen


def _problem(root, path, quote, name):
    """What is wrong with one include of a file, or None."""
    layer = layer_of(path)
    target = resolve(root, path, quote, name)
    if target is None:
        third_party = THIRD_PARTY_LAYERS.get(name.split("/")[0])
        if third_party is not None and third_party not in visible(layer):
            return f"{layer} must not include {third_party}"
        if layer in NO_THIRD_PARTY and not SYSTEM_HEADERS.fullmatch(name):
            return f"{layer} is installed and includes the standard library only"
        return None
    below = layer_of(target)
    if path in SPEECH_INTERFACE:
        allowed = below in visible("voice") or target in SPEECH_INTERFACE
    else:
        allowed = below in visible(layer) or target in SINGLE_HEADERS.get(layer, [])
    return None if allowed else f"{layer} must not see {below}"


def check(root):
    findings = []
    for path in sources.files(root, sources.C_SUFFIXES):
        layer = layer_of(path)
        if layer not in MAY_SEE:
            if path.startswith(("include/", "src/")):
                findings.append(f"{path}: {layer} is not in the table of layers")
            continue
        text = sources.read(root, path)
        for match in INCLUDE.finditer(text):
            problem = _problem(root, path, match.group(1), match.group(2))
            if problem:
                line = text.count("\n", 0, match.start(1)) + 1
                findings.append(f"{path}:{line}: includes {match.group(2)}: {problem}")
    return findings


if __name__ == "__main__":
    sources.finish(check(sources.arguments(__doc__).root))
