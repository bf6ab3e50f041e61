# SPDX-License-Identifier: MIT
"""Check: every C and C++ file is as clang-format with the project's .clang-format writes it."""
import subprocess

import sources


def check(root, clang_format):
    findings = []
    paths = sources.files(root, sources.C_SUFFIXES)
    for first in range(0, len(paths), 50):
        run = subprocess.run([clang_format, "--dry-run", "--Werror", "--style=file"] + paths[first:first + 50], cwd=root,
                             capture_output=True, text=True)
        if run.returncode != 0:
            lines = [line for line in run.stderr.splitlines() if "error:" in line]
            findings += lines or [run.stderr.rstrip()]
    return findings


if __name__ == "__main__":
    options = sources.arguments(__doc__, **{"clang-format": "the clang-format program"})
    sources.finish(check(options.root, options.clang_format))
