# SPDX-License-Identifier: MIT
"""A small source tree of its own for each test, in which a fault is planted, and the check run on it as a program."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "checks")


class PlantedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def plant(self, path, text):
        """Writes a file of the fake tree."""
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def run_check(self, name, *arguments):
        """(exit status, what it printed) of a check on the fake tree."""
        command = [sys.executable, os.path.join(CHECKS, name + ".py"), "--root", self.root, *arguments]
        run = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def assert_passes(self, name, *arguments):
        self.assertEqual(self.run_check(name, *arguments), (0, ""))

    def assert_finds(self, expected, name, *arguments):
        """The check fails, and each of `expected` is in what it says."""
        status, said = self.run_check(name, *arguments)
        self.assertEqual(status, 1, said)
        for part in [expected] if isinstance(expected, str) else expected:
            self.assertIn(part, said)

    def compile(self, output, text, *flags, language="c"):
        """Compiles C into `output` below the fake tree."""
        full = os.path.join(self.root, output)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        compiler = {"c": "gcc", "c++": "g++"}[language]
        subprocess.run([compiler, "-fPIC", "-o", full, "-x", language, "-", "-x", "none", *flags], input=text, text=True, check=True)
        return full
