# SPDX-License-Identifier: MIT
import os
import unittest

from planted import PlantedTest

HEADER = ("#define TIMBRE_API __attribute__((visibility(\"default\")))\n"
          "/* TIMBRE_API int timbre_comment(void); */\n"
          "TIMBRE_API const char *timbre_one(void);\nTIMBRE_API int\ntimbre_two(int (*callback)(void *user));\n")


class ExportsTest(PlantedTest):
    def setUp(self):
        super().setUp()
        self.build = os.path.join(self.root, "build")
        self.plant("include/timbre/c/a.h", HEADER)
        for library, names in (("libtimbre", "timbre_one timbre_two"), ("libtimbre-torch", "timbre_torch"),
                               ("libtimbre-espeak", "timbre_espeak")):
            self.plant(f"abi/{library}.symbols", "# what it is\n" + "\n".join(names.split()) + "\n")
            self.make(library, *names.split())

    def make(self, library, *names):
        self.compile(f"build/{library}.so", "".join(f"int {name}(void) {{ return 1; }}\n" for name in names), "-shared")

    def check(self):
        return "exports", "--build", self.build

    def test_libraries_that_export_their_lists_pass(self):
        self.assert_passes(*self.check())

    def test_an_export_too_many_is_found(self):
        self.make("libtimbre", "timbre_one", "timbre_two", "timbre_three")
        self.assert_finds("libtimbre.so: timbre_three is not in the list", *self.check())

    def test_a_second_export_of_a_plug_in_is_found(self):
        self.make("libtimbre-torch", "timbre_torch", "leaked")
        self.assert_finds("libtimbre-torch.so: leaked is not in the list", *self.check())

    def test_a_missing_export_is_found(self):
        self.make("libtimbre", "timbre_one")
        self.assert_finds("libtimbre.so: timbre_two is missing", *self.check())

    def test_a_declaration_that_is_not_listed_is_found(self):
        self.plant("include/timbre/c/b.h", "TIMBRE_API void timbre_three(void);\n")
        self.assert_finds("headers against abi/libtimbre.symbols: timbre_three is not in the list", *self.check())

    def test_a_listed_name_without_declaration_is_found(self):
        self.plant("include/timbre/c/a.h", HEADER.replace("timbre_one", "timbre_1"))
        self.assert_finds("headers against abi/libtimbre.symbols: timbre_one is missing", *self.check())

    def test_an_unsorted_list_is_found(self):
        self.plant("abi/libtimbre.symbols", "timbre_two\ntimbre_one\n")
        self.assert_finds("abi/libtimbre.symbols: names are not sorted or repeat", *self.check())

    def test_a_library_that_is_not_there_is_found(self):
        os.remove(os.path.join(self.build, "libtimbre-espeak.so"))
        self.assert_finds("libtimbre-espeak.so: not built", *self.check())


if __name__ == "__main__":
    unittest.main()
