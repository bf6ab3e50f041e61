# SPDX-License-Identifier: MIT
import os
import unittest

from planted import PlantedTest


class LinkageTest(PlantedTest):
    def setUp(self):
        super().setUp()
        self.build = os.path.join(self.root, "build")
        self.compile("build/libtimbre.so", "int a;\n", "-shared")
        self.compile("build/libtimbre-espeak.so", "int a;\n", "-shared")

    def check(self):
        return "linkage", "--build", self.build

    def link_with(self, library, name):
        """Lets `library` need a library of this name, which is beside it."""
        self.compile(f"build/lib{name}.so", "int b(void) { return 1; }\n", "-shared")
        self.compile(f"build/{library}", "int b(void);\nint a(void) { return b(); }\n", "-shared", "-Wl,-rpath," + self.build,
                     "-L" + self.build, "-l" + name)

    def test_libraries_of_the_system_only_pass(self):
        self.assert_passes(*self.check())

    def test_libtimbre_that_needs_libtorch_is_found(self):
        self.link_with("libtimbre.so", "torch_cpu")
        self.assert_finds("libtimbre.so: depends on libtorch_cpu.so", *self.check())

    def test_libtimbre_that_needs_cuda_is_found(self):
        self.link_with("libtimbre.so", "cudart")
        self.assert_finds("libtimbre.so: depends on libcudart.so", *self.check())

    def test_a_plug_in_that_links_espeak_is_found(self):
        self.link_with("libtimbre-espeak.so", "espeak-ng")
        self.assert_finds("libtimbre-espeak.so: depends on libespeak-ng.so", *self.check())

    def test_a_library_that_is_not_found_is_found(self):
        self.link_with("libtimbre.so", "gone")
        os.remove(os.path.join(self.build, "libgone.so"))
        self.assert_finds("libtimbre.so: a library is missing", *self.check())

    def test_a_library_that_is_not_built_is_found(self):
        os.remove(os.path.join(self.build, "libtimbre.so"))
        self.assert_finds("libtimbre.so: not built", *self.check())


if __name__ == "__main__":
    unittest.main()
