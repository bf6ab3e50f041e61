# SPDX-License-Identifier: MIT
"""Which LibTorch the build takes: a project of one line that includes cmake/TimbreLibTorch.cmake, and folders that look
like a LibTorch."""
import os
import re
import subprocess
import unittest

from planted import CHECKS, PlantedTest

SOURCE = os.path.abspath(os.path.join(CHECKS, "..", ".."))
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(fake LANGUAGES NONE)
include("{SOURCE}/cmake/TimbreLibTorch.cmake")
message(STATUS "taken: ${{timbre_libtorch_version}}")
"""


def series():
    """(major, minor) of the wheel that scripts/setup fetches."""
    with open(os.path.join(SOURCE, "scripts/requirements/libtorch.txt"), encoding="utf-8") as file:
        return [int(part) for part in re.search(r"^torch==(\d+)\.(\d+)\.", file.read(), re.MULTILINE).groups()]


class LibTorchTest(PlantedTest):
    def setUp(self):
        super().setUp()
        self.plant("CMakeLists.txt", PROJECT)
        for path in ("include/ATen/ATen.h", "lib/libtorch_cpu.so"):
            self.plant("libtorch/" + path, "")

    def be(self, *version, header="torch/headeronly/version.h"):
        names = ("MAJOR", "MINOR", "PATCH")
        lines = [f"#define TORCH_VERSION_{name} {number}" for name, number in zip(names, version)]
        self.plant("libtorch/include/" + header, "#pragma once\n" + "\n".join(lines) + "\n")

    def configure(self, *options):
        """(exit status, what CMake said, in one line)."""
        command = ["cmake", "-G", "Ninja", "-S", self.root, "-B", os.path.join(self.root, "build"),
                   f"-DTIMBRE_LIBTORCH_DIR={self.root}/libtorch", *options]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return run.returncode, " ".join(run.stdout.split())

    def test_the_series_that_is_tested_is_taken_with_any_patch(self):
        major, minor = series()
        for patch in (0, 7):
            self.be(major, minor, patch)
            status, said = self.configure()
            self.assertEqual(status, 0, said)
            self.assertIn(f"taken: {major};{minor};{patch}", said)

    def test_the_version_is_found_where_older_ones_keep_it(self):
        self.be(*series(), 0, header="torch/csrc/api/include/torch/version.h")
        self.assertEqual(self.configure()[0], 0)

    def test_another_series_is_refused_with_both_named(self):
        major, minor = series()
        for other in ((major, minor - 1), (major, minor + 1), (major, 10 * minor), (major + 1, minor)):
            self.be(*other, 0)
            status, said = self.configure()
            self.assertNotEqual(status, 0)
            self.assertIn(f"is LibTorch {other[0]}.{other[1]}.0;", said)
            self.assertIn(f"Give a LibTorch {major}.{minor}, or -DTIMBRE_ANY_LIBTORCH=ON", said)

    def test_a_version_that_nobody_tells_is_refused(self):
        self.assertNotEqual(self.configure()[0], 0)

    def test_the_option_takes_another_series(self):
        major, minor = series()
        self.be(major, minor - 1, 0)
        status, said = self.configure("-DTIMBRE_ANY_LIBTORCH=ON")
        self.assertEqual(status, 0, said)
        self.assertIn(f"taken: {major};{minor - 1};0", said)

    def test_a_folder_without_libtorch_is_refused(self):
        os.remove(os.path.join(self.root, "libtorch/lib/libtorch_cpu.so"))
        status, said = self.configure()
        self.assertNotEqual(status, 0)
        self.assertIn("no LibTorch in TIMBRE_LIBTORCH_DIR=", said)


if __name__ == "__main__":
    unittest.main()
