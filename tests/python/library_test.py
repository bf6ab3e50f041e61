# SPDX-License-Identifier: MIT
"""Where the library is looked for, and what the package needs."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PACKAGE = ROOT / "bindings" / "python" / "timbre"
LIBRARY = Path(os.environ["TIMBRE_LIBRARY"])


def run(code, folder=PACKAGE.parent, **environment):
    """Runs code with the package of `folder`, without TIMBRE_LIBRARY unless it is given."""
    variables = {name: value for name, value in os.environ.items() if name != "TIMBRE_LIBRARY"}
    variables.update(environment, PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


SPEAK = "import timbre; print(timbre.Engine(threads=1).load_model('tone:').synthesize('abc').size > 0)"
STATUS = """
import timbre
try:
    timbre.Engine()
except timbre.Error as error:
    print(error)
"""


def test_the_environment_names_the_library():
    assert run(SPEAK, TIMBRE_LIBRARY=str(LIBRARY)) == "True\n"


def test_a_named_library_is_never_replaced_by_another(tmp_path):
    said = run(STATUS, TIMBRE_LIBRARY=str(tmp_path / "absent.so"))
    assert "absent.so" in said and "(NOT_FOUND)" in said


def test_another_library_is_incompatible():
    assert "(INCOMPATIBLE)" in run(STATUS, TIMBRE_LIBRARY="libc.so.6")


def test_the_library_of_an_installed_tree_is_found(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "lib/timbre/python/timbre")
    (tmp_path / "lib/libtimbre.so").symlink_to(LIBRARY.resolve())
    assert run(SPEAK, tmp_path / "lib/timbre/python") == "True\n"


def test_the_library_of_a_wheel_is_found(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "timbre")
    (tmp_path / "timbre/libtimbre.so").symlink_to(LIBRARY.resolve())
    assert run(SPEAK, tmp_path) == "True\n"


def test_the_library_of_the_system_is_found(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "timbre")
    (tmp_path / "system").mkdir()
    (tmp_path / "system/libtimbre.so.0").symlink_to(LIBRARY.resolve())
    assert run(SPEAK, tmp_path, LD_LIBRARY_PATH=str(tmp_path / "system")) == "True\n"


def test_the_package_needs_numpy_only_and_prints_nothing():
    code = (
        "import sys; import numpy; before = set(sys.modules); import timbre\n"
        "roots = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(roots - set(sys.stdlib_module_names) - {'timbre'}))"
    )
    assert run(code) == "[]\n"


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_the_structs_have_the_layout_of_the_headers(tmp_path):
    sys.path.insert(0, str(PACKAGE.parent))
    import ctypes

    from timbre import _abi

    names = {
        "timbre_engine_config": _abi.EngineConfig,
        "timbre_model_file": _abi.ModelFile,
        "timbre_model_options": _abi.ModelOptions,
        "timbre_model_details": _abi.ModelDetails,
        "timbre_stats": _abi.Stats,
        "timbre_health": _abi.Health,
        "timbre_token": _abi.Token,
        "timbre_tensor": _abi.Tensor,
        "timbre_voice_record": _abi.VoiceRecord,
        "timbre_voice_put_options": _abi.VoicePutOptions,
        "timbre_lease": _abi.Lease,
        "timbre_voice_details": _abi.VoiceDetails,
        "timbre_voice_explanation": _abi.VoiceExplanation,
        "timbre_speech_request": _abi.SpeechRequest,
        "timbre_speech_details": _abi.SpeechDetails,
        "timbre_mark": _abi.Mark,
        "timbre_speech_times": _abi.SpeechTimes,
    }
    lines = ["#include <stdio.h>", "#include <timbre/timbre.h>", "int main(void) {"]
    expected = []
    for name, struct in names.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected.append(f"{name} {ctypes.sizeof(struct)}")
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            expected.append(f"{name}.{field} {getattr(struct, field).offset}")
    source = tmp_path / "layout.c"
    source.write_text("\n".join(lines + ["return 0; }"]))
    program = str(tmp_path / "layout")
    subprocess.run(["cc", "-I", str(ROOT / "include"), str(source), "-o", program], check=True)
    assert subprocess.run([program], capture_output=True, text=True).stdout.splitlines() == expected


def test_every_exported_function_has_a_prototype():
    from timbre import _abi

    listed = (ROOT / "abi" / "libtimbre.symbols").read_text().split("\n")
    exported = {line for line in listed if line.startswith("timbre_")}
    assert exported == set(_abi.PROTOTYPES) | {"timbre_status_name", "timbre_last_error", "timbre_version"}


def test_the_cpp_wrapper_covers_every_exported_function():
    import re

    listed = (ROOT / "abi" / "libtimbre.symbols").read_text().split("\n")
    wrapper = (ROOT / "include/timbre/wrapper").glob("*.hpp")
    used = {name for header in wrapper for name in re.findall(r"timbre_\w+", header.read_text())}
    assert {line for line in listed if line.startswith("timbre_")} <= used


def test_the_torch_that_is_shared_is_of_the_series_that_is_built_against():
    import re

    from timbre._library import TORCH_SERIES

    pin = (ROOT / "scripts/requirements/libtorch.txt").read_text()
    assert TORCH_SERIES == re.search(r"^torch==(\d+\.\d+)\.", pin, re.MULTILINE).group(1)


def test_statuses_are_those_of_the_header():
    import re

    from timbre import Status

    header = (ROOT / "include/timbre/c/status.h").read_text()
    found = re.findall(r"#define TIMBRE_(?:ERR_)?(\w+) \(?(-?\d+)\)?\n", header)
    assert {name: int(value) for name, value in found} == {status.name: int(status) for status in Status}
