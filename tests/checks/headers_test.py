# SPDX-License-Identifier: MIT
import os
import unittest

from planted import PlantedTest


class HeadersTest(PlantedTest):
    def check(self):
        return ("headers", "--cc", "gcc", "--cxx", "g++", "--libtorch", "nowhere", "--passed",
                os.path.join(self.root, "passed"))

    def test_headers_that_stand_alone_pass(self):
        self.plant("include/timbre/c/a.h", "#include <stdint.h>\ntypedef int32_t timbre_a;\n")
        self.plant("include/timbre/core/a.hpp", "#pragma once\n#include <string>\ninline std::string a() { return {}; }\n")
        self.assert_passes(*self.check())

    def test_a_c_header_that_needs_another_is_found(self):
        self.plant("include/timbre/c/a.h", "typedef uint32_t timbre_a;\n")
        self.assert_finds("include/timbre/c/a.h: does not compile alone as strict C99", *self.check())

    def test_c11_in_a_c_header_is_found(self):
        self.plant("include/timbre/c/a.h", "typedef struct a { union { int b; float c; }; } a;\n")
        self.assert_finds("include/timbre/c/a.h: does not compile alone as strict C99", *self.check())

    def test_a_c_header_that_no_cpp_host_can_include_is_found(self):
        self.plant("include/timbre/c/a.h", "typedef struct a { int class; } a;\n")
        self.assert_finds("include/timbre/c/a.h: does not compile alone as C++11", *self.check())

    def test_a_public_c_header_with_another_system_header_is_found(self):
        self.plant("include/timbre/c/a.h", "#include <stdbool.h>\n")
        self.assert_finds("include/timbre/c/a.h: includes <stdbool.h>", *self.check())

    def test_a_cpp_header_that_needs_another_is_found(self):
        self.plant("src/voice/a.hpp", "#pragma once\ninline std::string a() { return {}; }\n")
        self.assert_finds("src/voice/a.hpp: does not compile alone as C++20", *self.check())

    def test_a_warning_in_a_cpp_header_is_found(self):
        self.plant("src/voice/a.hpp", "#pragma once\ninline int a(double b) { return b; }\n")
        self.assert_finds("src/voice/a.hpp: does not compile alone as C++20", *self.check())

    def test_what_has_passed_is_tried_again_when_a_header_below_it_changes(self):
        self.plant("src/voice/a.hpp", '#pragma once\n#include "voice/b.hpp"\ninline b::C a() { return {}; }\n')
        self.plant("src/voice/b.hpp", "#pragma once\nnamespace b {\nstruct C {};\n}\n")
        self.assert_passes(*self.check())
        self.assert_passes(*self.check())
        self.plant("src/voice/b.hpp", "#pragma once\nnamespace b {\nstruct D {};\n}\n")
        self.assert_finds("src/voice/a.hpp: does not compile alone as C++20", *self.check())
        self.assert_finds("src/voice/a.hpp: does not compile alone as C++20", *self.check())


if __name__ == "__main__":
    unittest.main()
