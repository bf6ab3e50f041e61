# SPDX-License-Identifier: MIT
"""Check: no object of our libraries calls what would end the host's process, print, or change its global state.

It reads the undefined symbols of every object below <build>/src and of every libtimbre*.so. std::terminate is no finding: the compiler itself calls
it in every noexcept function. What is allowed beside that stands in ALLOWED with the reason.
"""
import glob
import os
import re
import subprocess

import sources

FORBIDDEN = {
    "ends the process": "exit _exit _Exit quick_exit abort __assert_fail __assert raise kill pthread_exit "
                        "pthread_cancel __stack_chk_fail_local",
    "prints": "printf vprintf fprintf vfprintf dprintf vdprintf puts fputs putchar putc fputc perror psignal "
              "__printf_chk __vprintf_chk __fprintf_chk __vfprintf_chk __dprintf_chk stdout stderr _ZSt4cout _ZSt4cerr "
              "_ZSt4clog _ZSt5wcout _ZSt5wcerr _ZNSt8ios_base4InitC1Ev err errx warn warnx error syslog",
    "changes signal handling": "signal sigaction sigset bsd_signal __sysv_signal sigaltstack alarm setitimer",
    "changes the locale": "setlocale _ZNSt6locale6globalERKS_",
    "changes the environment": "setenv unsetenv putenv clearenv",
    "changes the working folder or umask": "chdir fchdir umask",
    "starts a process": "system popen fork vfork execv execve execvp execl execlp posix_spawn posix_spawnp",
    "unloads a library": "dlclose",
}
# (symbol, object's or library's path below the build folder, as a pattern): why.
ALLOWED = {
    ("dlclose", r"src/(capi/.*/plugins|vits/.*/torch_thread)\.cpp\.o|libtimbre(-torch)?\.so"):
        "gives back a look-up with RTLD_NOLOAD",
    ("setlocale", r"src/espeak/.*/espeak_session\.cpp\.o|libtimbre-espeak\.so"):
        "puts back the LC_CTYPE that espeak-ng changes when it starts",
    ("_ZNSt8ios_base4InitC1Ev", r"src/vits/.*\.o|libtimbre-torch\.so"):
        "LibTorch's headers include <iostream>; the constructor prints nothing",
}
# Bodies of another library: what of them gets into ours is seen in the linked files.
NOT_OURS = r"src/files/.*/fmt_bodies\.cpp\.o"


def undefined(file):
    """The symbols that an object, or a shared one, wants from elsewhere."""
    kind = ["--dynamic"] if file.endswith(".so") else []
    run = subprocess.run(["nm", "--undefined-only", "--format=posix", *kind, file], check=True, capture_output=True,
                         text=True)
    return {line.split()[0].split("@")[0] for line in run.stdout.splitlines() if line and not line.endswith(":")}


def objects(build):
    for folder, _, names in os.walk(os.path.join(build, "src")):
        for name in sorted(names):
            if name.endswith(".o"):
                yield os.path.join(folder, name)


def libraries(build):
    return sorted(glob.glob(os.path.join(build, "libtimbre*.so")))


def check(build):
    reasons = {symbol: reason for reason, symbols in FORBIDDEN.items() for symbol in symbols.split()}
    findings = []
    seen = 0
    for file in [*objects(build), *libraries(build)]:
        path = os.path.relpath(file, build)
        seen += path.startswith("src/")
        if re.fullmatch(NOT_OURS, path):
            continue
        for symbol in sorted(undefined(file) & set(reasons)):
            if not any(symbol == name and re.fullmatch(pattern, path) for name, pattern in ALLOWED):
                findings.append(f"{path}: {symbol}: {reasons[symbol]}")
    if seen == 0:
        findings.append(f"{build}: no objects below src/")
    return findings


if __name__ == "__main__":
    sources.finish(check(sources.arguments(__doc__, build="the build folder").build))
