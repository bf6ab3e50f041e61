# SPDX-License-Identifier: MIT
"""Check: each shared object exports exactly the names of its list in abi/, and libtimbre's list is what the headers declare."""
import os
import re
import subprocess

import sources

LIBRARIES = ["libtimbre", "libtimbre-torch", "libtimbre-espeak"]
DECLARATION = re.compile(r"\bTIMBRE_API\b[^;{}]*?\b(timbre_\w+)\s*\(")


def listed(root, library):
    lines = sources.read(root, f"abi/{library}.symbols").split("\n")
    return [line for line in lines if line and not line.startswith("#")]


def exported(library_file):
    run = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library_file], check=True,
                         capture_output=True, text=True)
    # "A" is the name of a symbol version, no symbol.
    return {line.split()[0].split("@")[0] for line in run.stdout.splitlines() if line.split()[1] != "A"}


def declared(root):
    names = set()
    for path in sources.files(root, (".h",)):
        if path.startswith("include/timbre/c/") and not path.startswith("include/timbre/c/sys/"):
            names |= set(DECLARATION.findall(sources.blank(sources.read(root, path))))
    return names


def _compare(what, expected, found):
    return ([f"{what}: {name} is missing" for name in sorted(expected - found)] +
            [f"{what}: {name} is not in the list" for name in sorted(found - expected)])


def check(root, build):
    findings = []
    for library in LIBRARIES:
        names = listed(root, library)
        if names != sorted(set(names)):
            findings.append(f"abi/{library}.symbols: names are not sorted or repeat")
        if library == "libtimbre":
            findings += _compare("headers against abi/libtimbre.symbols", set(names), declared(root))
        library_file = os.path.join(build, library + ".so")
        if os.path.exists(library_file):
            findings += _compare(library + ".so", set(names), exported(library_file))
        else:
            findings.append(f"{library}.so: not built")
    return findings


if __name__ == "__main__":
    options = sources.arguments(__doc__, build="the build folder")
    sources.finish(check(options.root, options.build))
