# SPDX-License-Identifier: MIT
import unittest

from planted import PlantedTest

OPTIONS = ("--clang-format", "clang-format")


class LayoutTest(PlantedTest):
    def setUp(self):
        super().setUp()
        self.plant(".clang-format", "BasedOnStyle: Google\n")

    def test_formatted_files_pass(self):
        self.plant("src/voice/a.cpp", "int f(int x) { return x; }\n")
        self.assert_passes("layout", *OPTIONS)

    def test_a_file_in_another_layout_is_found(self):
        self.plant("src/voice/a.cpp", "int f( int x ){ return x; }\n")
        self.assert_finds("src/voice/a.cpp:1:", "layout", *OPTIONS)

    def test_c_files_and_headers_count_too(self):
        self.plant("examples/a.c", "int  f(void);\n")
        self.plant("include/timbre/c/a.h", "int  f(void);\n")
        self.assert_finds(["examples/a.c:1:", "include/timbre/c/a.h:1:"], "layout", *OPTIONS)


if __name__ == "__main__":
    unittest.main()
