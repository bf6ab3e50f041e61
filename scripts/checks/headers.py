# SPDX-License-Identifier: MIT
"""Check: every header compiles alone.

A .h is strict C99 (and C++, since C++ hosts include it) and needs stdint.h and stddef.h only; a .hpp is C++20 with the
project's warnings. Headers of vits are compiled with LibTorch's headers, where there are any.

What has passed is remembered in the file --passed, by a hash of all that the compiler reads of ours, so that a second
run with nothing changed is quick.
"""
import concurrent.futures
import hashlib
import os
import re
import subprocess
import tempfile

import layers
import sources

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
C99 = ["-x", "c", "-std=c99", "-pedantic-errors"]
CXX11 = ["-x", "c++", "-std=c++11"]
CXX20 = ["-x", "c++", "-std=c++20", "-Wshadow", "-Wconversion", "-Wno-sign-conversion"]


def _compile(compiler, root, path, flags, libtorch):
    """What the compiler says about a file that only includes `path`, or ""."""
    includes = ["-I", os.path.join(root, "include"), "-I", os.path.join(root, "src")]
    if path.startswith(("src/vits/", "src/vits_cuda/")):
        includes += ["-isystem", os.path.join(libtorch, "include")]
    with tempfile.TemporaryDirectory() as folder:
        unit = os.path.join(folder, "unit.txt")
        with open(unit, "w", encoding="utf-8") as file:
            file.write(f'#include "{os.path.join(os.path.abspath(root), path)}"\nextern int timbre_unit;\n')
        run = subprocess.run([compiler] + includes + flags + WARNINGS + [unit], capture_output=True, text=True)
    return run.stderr if run.returncode != 0 else ""


def _checks(root, libtorch):
    """(path, what is tried, flags) for every header."""
    for path in sources.files(root, (".h", ".hpp")):
        if not path.startswith(("include/", "src/")):
            continue
        if path.endswith(".h"):
            yield path, "alone as strict C99", C99
            yield path, "alone as C++11", CXX11
        elif not path.startswith(("src/vits/", "src/vits_cuda/")) or os.path.isdir(libtorch):
            yield path, "alone as C++20", CXX20


def _ours(root, path, seen):
    """`path` and every file of ours that it includes, directly or through others."""
    if path not in seen:
        seen.add(path)
        for match in layers.INCLUDE.finditer(sources.read(root, path)):
            target = layers.resolve(root, path, match.group(1), match.group(2))
            if target is not None:
                _ours(root, target, seen)
    return seen


def _key(root, path, compiler, flags, libtorch):
    """A hash of the compiler's version, its flags, and the text of all files of ours that it would read."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    parts = [version, libtorch, " ".join(flags + WARNINGS)]
    for name in sorted(_ours(root, path, set())):
        parts += [name, sources.read(root, name)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _read_passed(path):
    if not os.path.exists(path):
        return set()
    with open(path, encoding="ascii") as file:
        return set(file.read().split())


def check(root, cc, cxx, libtorch, passed_file):
    findings = []
    before = _read_passed(passed_file)
    passed = set()
    for path in sources.files(root, (".h",)):
        for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", sources.read(root, path), re.MULTILINE):
            if path.startswith("include/") and name not in ("stdint.h", "stddef.h"):
                findings.append(f"{path}: includes <{name}>; a public C header needs stdint.h and stddef.h only")

    def run(item):
        path, what, flags = item
        compiler = cc if flags is C99 else cxx
        key = _key(root, path, compiler, flags, libtorch)
        said = "" if key in before else _compile(compiler, root, path, flags, libtorch)
        if said:
            return f"{path}: does not compile {what}:\n{said.rstrip()}"
        passed.add(key)
        return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings += [finding for finding in pool.map(run, list(_checks(root, libtorch))) if finding]
    with open(passed_file, "w", encoding="ascii") as file:
        file.write("\n".join(sorted(passed)) + "\n")
    return findings


if __name__ == "__main__":
    options = sources.arguments(__doc__, cc="C compiler", cxx="C++ compiler", libtorch="folder with LibTorch's include/",
                                passed="file that remembers what has passed")
    sources.finish(check(options.root, options.cc, options.cxx, options.libtorch, options.passed))
