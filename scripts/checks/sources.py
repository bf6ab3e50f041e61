# SPDX-License-Identifier: MIT
"""What the checks share: which files are ours, code without comments and strings, and how a finding is told.

A check is a program: `check.py --root FOLDER [...]`, exit 0 without findings, 1 with them, one per line on stdout.
"""
import argparse
import os
import subprocess
import sys

SKIPPED_FOLDERS = {".git", ".deps", "build", "out", "__pycache__", ".pytest_cache", ".cache"}
C_SUFFIXES = (".h", ".hpp", ".c", ".cpp")


def arguments(description, **extra):
    """The parsed command line: --root, and one required option for each name in `extra` (its value is the help)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", required=True, help="the source tree")
    for name, help_text in extra.items():
        parser.add_argument("--" + name, required=True, help=help_text)
    return parser.parse_args()


def files(root, suffixes=None):
    """Paths of the project's files relative to `root`, sorted: what git tracks or would track, else every file."""
    if os.path.exists(os.path.join(root, ".git")):  # a file in a worktree
        # A checkout may belong to another user than the one who runs the tests.
        command = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached", "--others",
                   "--exclude-standard"]
        listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
        found = [path for path in listed if path and os.path.isfile(os.path.join(root, path))]
    else:
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(set(path for path in found if suffixes is None or path.endswith(suffixes)))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _end_of_literal(text, start):
    """Where the string or character literal that begins at `start` ends, in a text of C or C++."""
    quote = text[start]
    i = start + 1
    while i < len(text) and text[i] != quote and text[i] != "\n":
        i += 2 if text[i] == "\\" else 1
    return min(i + 1, len(text))


def _end_of_raw_string(text, start):
    """Where the raw string whose quote is at `start` ends."""
    open_at = text.find("(", start)
    end = text.find(")" + text[start + 1:open_at] + '"', open_at)
    return len(text) if end < 0 else end + open_at - start + 1


def blank(text):
    """C or C++ with comments and the insides of literals made blank; every line stays where it was."""
    out = []
    i = 0
    while i < len(text):
        c = text[i]
        end = i + 1
        if text.startswith("//", i):
            end = text.find("\n", i)
            end = len(text) if end < 0 else end
        elif text.startswith("/*", i):
            end = text.find("*/", i + 2)
            end = len(text) if end < 0 else end + 2
        elif c == '"' and i > 0 and text[i - 1] == "R":
            end = _end_of_raw_string(text, i)
        elif c == '"' or (c == "'" and not (i > 0 and text[i - 1].isalnum())):  # 1'000 is a number
            end = _end_of_literal(text, i)
        if end == i + 1:
            out.append(c)
        else:
            kept = "".join(x if x == "\n" else " " for x in text[i:end])
            out.append(c + kept[1:-1] + c if c in "\"'" and end - i >= 2 else kept)
        i = end
    return "".join(out)


def finish(findings):
    """Prints the findings and ends the program with the status they ask for."""
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
