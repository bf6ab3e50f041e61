# SPDX-License-Identifier: MIT
"""Check: no file names a folder of somebody's machine or the address of a package registry.

Such text works on one machine only, or moves a pin out of scripts/requirements.
"""
import re

import sources

# Written in parts, so that this file passes its own check.
FOLDERS = ["work", "tmp", "root", "home/[a-z]+", "Users/[A-Za-z]+", "opt/[a-z]+"]
ADDRESSES = ["pypi", "files.pythonhosted", "deb.debian", "registry.npmjs", "conda.anaconda", "download.pytorch"]
PATTERNS = [
    (re.compile(r"(?<![\w.$}/~-])/(" + "|".join(FOLDERS) + r")(/|\b(?![\w.-]))"), "a folder of one machine"),
    (re.compile(r"https?://[\w.-]*(" + "|".join(re.escape(name) for name in ADDRESSES) + r")"), "a registry's address"),
    (re.compile(r"--(extra-)?index-url|--find-" + "links"), "a registry's address"),
    (re.compile(r"\.\./sha" + "red/"), "a folder outside the project"),
]


def check(root):
    findings = []
    for path in sources.files(root):
        text = sources.read(root, path)
        if "\0" in text:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for pattern, what in PATTERNS:
                match = pattern.search(line)
                if match:
                    findings.append(f"{path}:{number}: {what}: {match.group(0)}")
    return findings


if __name__ == "__main__":
    sources.finish(check(sources.arguments(__doc__).root))
