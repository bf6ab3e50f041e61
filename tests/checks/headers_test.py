# SPDX-License-Identifier: MIT
import unittest

from planted import PlantedTest

OPTIONS = ("--cc", "gcc", "--cxx", "g++", "--libtorch", "nowhere")


class HeadersTest(PlantedTest):
    def test_headers_that_stand_alone_pass(self):
        self.plant("include/timbre/c/a.h", "#include <stdint.h>\ntypedef int32_t timbre_a;\n")
        self.plant("include/timbre/core/a.hpp", "#pragma once\n#include <string>\ninline std::string a() { return {}; }\n")
        self.assert_passes("headers", *OPTIONS)

    def test_a_c_header_that_needs_another_is_found(self):
        self.plant("include/timbre/c/a.h", "typedef uint32_t timbre_a;\n")
        self.assert_finds("include/timbre/c/a.h: does not compile alone as strict C99", "headers", *OPTIONS)

    def test_c11_in_a_c_header_is_found(self):
        self.plant("include/timbre/c/a.h", "typedef struct a { union { int b; float c; }; } a;\n")
        self.assert_finds("include/timbre/c/a.h: does not compile alone as strict C99", "headers", *OPTIONS)

    def test_a_c_header_that_no_cpp_host_can_include_is_found(self):
        self.plant("include/timbre/c/a.h", "typedef struct a { int class; } a;\n")
        self.assert_finds("include/timbre/c/a.h: does not compile alone as C++11", "headers", *OPTIONS)

    def test_a_public_c_header_with_another_system_header_is_found(self):
        self.plant("include/timbre/c/a.h", "#include <stdbool.h>\n")
        self.assert_finds("include/timbre/c/a.h: includes <stdbool.h>", "headers", *OPTIONS)

    def test_a_cpp_header_that_needs_another_is_found(self):
        self.plant("src/voice/a.hpp", "#pragma once\ninline std::string a() { return {}; }\n")
        self.assert_finds("src/voice/a.hpp: does not compile alone as C++20", "headers", *OPTIONS)

    def test_a_warning_in_a_cpp_header_is_found(self):
        self.plant("src/voice/a.hpp", "#pragma once\ninline int a(double b) { return b; }\n")
        self.assert_finds("src/voice/a.hpp: does not compile alone as C++20", "headers", *OPTIONS)


if __name__ == "__main__":
    unittest.main()
