# SPDX-License-Identifier: MIT
"""Check: every header compiles alone.

A .h is strict C99 (and C++, since C++ hosts include it) and needs stdint.h and stddef.h only; a .hpp is C++20 with the
project's warnings. Headers of vits are compiled with LibTorch's headers, where there are any.
"""
import concurrent.futures
import os
import re
import subprocess
import tempfile

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


def check(root, cc, cxx, libtorch):
    findings = []
    for path in sources.files(root, (".h",)):
        for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", sources.read(root, path), re.MULTILINE):
            if path.startswith("include/") and name not in ("stdint.h", "stddef.h"):
                findings.append(f"{path}: includes <{name}>; a public C header needs stdint.h and stddef.h only")

    def run(item):
        path, what, flags = item
        said = _compile(cc if flags is C99 else cxx, root, path, flags, libtorch)
        return f"{path}: does not compile {what}:\n{said.rstrip()}" if said else None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings += [finding for finding in pool.map(run, list(_checks(root, libtorch))) if finding]
    return findings


if __name__ == "__main__":
    options = sources.arguments(__doc__, cc="C compiler", cxx="C++ compiler", libtorch="folder with LibTorch's include/")
    sources.finish(check(options.root, options.cc, options.cxx, options.libtorch))
