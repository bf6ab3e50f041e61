# SPDX-License-Identifier: MIT
"""Check: libtimbre.so and the text plug-in start without LibTorch, CUDA and espeak-ng, and each library is self-contained."""
import os
import re
import subprocess

import sources

# Library: what must not be among the libraries that it pulls in, directly or through others.
FORBIDDEN = {
    "libtimbre.so": r"torch|c10|cuda|cupti|cublas|nvidia|nvrtc|cudnn|gomp|espeak|timbre-",
    "libtimbre-espeak.so": r"torch|c10|cuda|cupti|nvidia|gomp|espeak|sonic|pcaudio",
}


def dependencies(library_file):
    run = subprocess.run(["ldd", library_file], check=True, capture_output=True, text=True)
    return [line.split()[0] for line in run.stdout.splitlines() if line.strip()], run.stdout


def check(build):
    findings = []
    for library, pattern in FORBIDDEN.items():
        library_file = os.path.join(build, library)
        if not os.path.exists(library_file):
            findings.append(f"{library}: not built")
            continue
        names, text = dependencies(library_file)
        findings += [f"{library}: depends on {name}" for name in names if re.search(pattern, os.path.basename(name))]
        if "not found" in text:
            findings.append(f"{library}: a library is missing:\n{text}")
    return findings


if __name__ == "__main__":
    sources.finish(check(sources.arguments(__doc__, build="the build folder").build))
