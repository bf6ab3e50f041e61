# SPDX-License-Identifier: MIT
import unittest

from planted import PlantedTest


class LayersTest(PlantedTest):
    def setUp(self):
        super().setUp()
        for path in ("include/timbre/c/status.h", "include/timbre/c/sys/phonemizer.h", "include/timbre/timbre.h",
                     "include/timbre/timbre.hpp", "include/timbre/core/result.hpp", "include/timbre/device/device.hpp",
                     "src/files/disguise.hpp", "src/voice/voice_record.hpp", "src/voice/safetensors.hpp",
                     "src/store/store.hpp", "src/frontend/front_end.hpp", "src/speech/synthesizer.hpp",
                     "src/speech/executor.hpp", "src/capi/guard.hpp", "src/vits/vits_graph.hpp"):
            self.plant(path, "#pragma once\n")

    def test_what_the_table_allows_passes(self):
        self.plant("src/store/a.cpp", '#include "store/store.hpp"\n#include "voice/voice_record.hpp"\n#include <mutex>\n')
        self.plant("src/speech/a.cpp", '#include "executor.hpp"\n#include "store/store.hpp"\n'
                                       '#include "timbre/core/result.hpp"\n')
        self.plant("src/vits/a.cpp", '#include <ATen/ATen.h>\n#include "speech/synthesizer.hpp"\n'
                                     '#include "timbre/device/device.hpp"\n')
        self.plant("src/frontend/a.cpp", '#include "files/disguise.hpp"\n')
        self.plant("src/voice/a.cpp", '#include "files/disguise.hpp"\n')
        self.plant("src/espeak/a.cpp", '#include "timbre/c/sys/phonemizer.h"\n#include "timbre/c/status.h"\n')
        self.plant("src/capi/a.cpp", '#include "timbre/timbre.h"\n#include "speech/executor.hpp"\n')
        self.plant("tools/a.cpp", '#include "timbre/timbre.hpp"\n#include "voice/safetensors.hpp"\n#include <CLI/CLI.hpp>\n')
        self.plant("include/timbre/wrapper/lease.hpp", '#include "timbre/timbre.h"\n#include <vector>\n')
        self.plant("include/timbre/timbre.hpp", '#include "timbre/wrapper/lease.hpp"\n')
        self.plant("tests/voice/a.cpp", '#include "vits/vits_graph.hpp"\n')
        self.assert_passes("layers")

    def test_forbidden_includes_are_found(self):
        for path, include, problem in (
            ("src/files/a.cpp", '"voice/voice_record.hpp"', "files must not see voice"),
            ("src/voice/a.cpp", '"store/store.hpp"', "voice must not see store"),
            ("src/store/a.cpp", '"speech/executor.hpp"', "store must not see speech"),
            ("src/frontend/a.cpp", '"voice/voice_record.hpp"', "frontend must not see voice"),
            ("src/frontend/a.cpp", '"timbre/timbre.h"', "frontend must not see c"),
            ("src/speech/a.cpp", '"capi/guard.hpp"', "speech must not see capi"),
            ("src/speech/a.cpp", '"vits/vits_graph.hpp"', "speech must not see vits"),
            ("src/speech/a.cpp", "<ATen/ATen.h>", "speech must not include LibTorch"),
            ("src/capi/a.cpp", "<c10/util/Half.h>", "capi must not include LibTorch"),
            ("src/vits/a.cpp", '"speech/executor.hpp"', "vits must not see speech"),
            ("src/vits/a.cpp", '"frontend/front_end.hpp"', "vits must not see frontend"),
            ("src/vits/a.cpp", '"../speech/executor.hpp"', "vits must not see speech"),
            ("src/speech/synthesizer.hpp", '"frontend/front_end.hpp"', "speech must not see frontend"),
            ("src/espeak/a.cpp", '"frontend/front_end.hpp"', "espeak must not see frontend"),
            ("include/timbre/core/a.hpp", '"timbre/device/device.hpp"', "core must not see device"),
            ("include/timbre/core/a.hpp", "<fmt/format.h>", "the standard library only"),
            ("include/timbre/c/a.h", "<nlohmann/json.hpp>", "the standard library only"),
            ("include/timbre/timbre.hpp", '"timbre/core/result.hpp"', "wrapper must not see core"),
            ("include/timbre/wrapper/a.hpp", '"timbre/core/result.hpp"', "wrapper must not see core"),
            ("src/capi/a.cpp", '"timbre/timbre.hpp"', "capi must not see wrapper"),
            ("tools/a.cpp", '"voice/voice_record.hpp"', "tools must not see voice"),
            ("examples/a.c", '"voice/safetensors.hpp"', "examples must not see voice"),
            ("bindings/a.c", '"timbre/core/result.hpp"', "bindings must not see core"),
            ("src/voice/a.cpp", '"../../tests/a.hpp"', "voice must not see tests"),
        ):
            with self.subTest(path=path, include=include):
                self.plant("tests/a.hpp", "")
                self.plant(path, f"// x\n#include {include}\n")
                self.assert_finds([f"{path}:2: includes {include[1:-1]}: ", problem], "layers")
                self.plant(path, "")

    def test_a_folder_that_is_not_in_the_table_is_found(self):
        self.plant("src/utils/a.cpp", "")
        self.assert_finds("src/utils/a.cpp: utils is not in the table of layers", "layers")


if __name__ == "__main__":
    unittest.main()
