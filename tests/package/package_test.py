# SPDX-License-Identifier: MIT
"""Builds an outside C project against the installed tree, and lets it speak where build and wheel folders are gone.

The tree is installed, moved to another folder, and used there in two ways: CMake's find_package and pkg-config. The
programs run in a mount namespace of their own in which the build folder, the source tree and LibTorch's folder are
empty; where the system allows no such namespace, the loader's own record (LD_DEBUG) has to show that no file of these
folders was opened. With TIMBRE_TEST_FULL=1 the folders are also renamed for the time of a run.
"""
import argparse
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
# "hello there." in the voice's own table, with the pads between.
IDS = "1 0 20 0 59 0 24 0 120 0 27 0 100 0 3 0 41 0 120 0 61 0 88 0 10 0 2".split()
# The same length in the table of the tone synthesizer.
TONE_IDS = "1 2 3 4".split()


def run(command, **options):
    """The output of a command, which has to succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def tree_bytes(folder):
    return sum(os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names)


def can_hide_folders():
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        first = os.path.join(cls.folder, "first")
        run(["cmake", "--install", OPTIONS.build, "--prefix", first])
        cls.prefix = os.path.join(cls.folder, "moved here")
        os.rename(first, cls.prefix)
        cls.lib = os.path.dirname(glob.glob(os.path.join(cls.prefix, "lib*", "**", "libtimbre.so"), recursive=True)[0])
        cls.model = "tone:"
        if OPTIONS.voice:
            cls.model = os.path.join(cls.folder, "voice.onnx")
            shutil.copy(OPTIONS.voice, cls.model)
            shutil.copy(OPTIONS.voice + ".json", cls.model + ".json")
        cls.ids = IDS if OPTIONS.voice else TONE_IDS
        # The deepest first: one may be inside another.
        cls.gone = sorted((path for path in (OPTIONS.build, OPTIONS.source, OPTIONS.libtorch) if os.path.isdir(path)),
                          key=len, reverse=True)

    def speak_alone(self, command, environment=None):
        """Runs a program of the installed tree where the folders of the build are out of reach; its output."""
        record = os.path.join(tempfile.mkdtemp(dir=self.folder), "loader")
        env = {"PATH": "/usr/bin:/bin", "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": record, **(environment or {})}
        if can_hide_folders():
            hide = "".join(f"mount -t tmpfs none '{path}' && " for path in self.gone)
            command = ["unshare", "-rm", "sh", "-c", hide + 'exec "$@"', "sh", *command]
        said = run(command, env=env, cwd=self.folder)
        opened = set()
        for path in glob.glob(record + ".*"):
            with open(path, encoding="utf-8", errors="replace") as file:
                opened |= {os.path.normpath(found) for found in re.findall(r"calling init: (/.*)", file.read())}
        loaded = {os.path.basename(path): path for path in opened}
        self.assertTrue(loaded["libtimbre.so.0"].startswith(self.lib), loaded["libtimbre.so.0"])
        for path in opened:
            for folder in self.gone:
                self.assertFalse(path.startswith(folder + os.sep), f"{path} was opened")
        return said, loaded

    def build_with_cmake(self):
        build = os.path.join(self.folder, "with-cmake")
        run(["cmake", "-S", os.path.join(OPTIONS.source, "tests/package/consumer"), "-B", build, "-G", "Ninja",
             f"-DCMAKE_PREFIX_PATH={self.prefix}"])
        run(["cmake", "--build", build])
        return os.path.join(build, "consumer")

    def test_a_project_that_uses_find_package_speaks(self):
        said, loaded = self.speak_alone([self.build_with_cmake(), self.model, *self.ids])
        self.assertRegex(said, r"samples [1-9]\d+ peak 0\.\d+")
        if OPTIONS.voice:
            self.assertEqual(os.path.dirname(loaded["libtorch_cpu.so"]), os.path.join(self.lib, "timbre"))

    def test_a_project_that_uses_pkg_config_speaks(self):
        env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(self.lib, "pkgconfig")}
        # pkg-config quotes a prefix with spaces for the shell.
        flags = run(["pkg-config", "--cflags", "--libs", "timbre"], env=env).strip()
        program = os.path.join(self.folder, "with-pkg-config")
        source = os.path.join(OPTIONS.source, "tests/package/consumer/main.c")
        run(["sh", "-c", f"cc -std=c99 -pedantic -Wall -Wextra -Werror '{source}' -o '{program}' {flags}"])
        said, _ = self.speak_alone([program, self.model, *self.ids], {"LD_LIBRARY_PATH": self.lib})
        self.assertRegex(said, r"samples [1-9]\d+ peak 0\.\d+")

    def test_the_voice_cache_needs_nothing_but_its_headers(self):
        program = os.path.join(self.folder, "voice_cache")
        source = os.path.join(OPTIONS.source, "examples/voice_cache.cpp")
        run(["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(self.prefix, "include"), source, "-o",
             program, "-pthread"])
        self.assertRegex(run([program], cwd=self.folder), r"hits [1-9]\d+, misses [1-9]\d+")

    def test_the_installed_program_knows_the_model(self):
        said, _ = self.speak_alone([os.path.join(self.prefix, "bin", "timbre"), "info", "--model", self.model])
        self.assertIn("22050", said.replace(",", ""))

    def test_the_installed_python_package_speaks(self):
        code = ("import sys, timbre\nwith timbre.Engine(threads=1) as engine:\n"
                "    audio = engine.load_model(sys.argv[1]).synthesize(ids=[int(x) for x in sys.argv[2:]], speaker=0)\n"
                "    print('samples', len(audio))\n")
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.path.join(self.lib, "timbre", "python"),
               "PYTHONDONTWRITEBYTECODE": "1"}
        self.assertRegex(run([OPTIONS.python, "-c", code, "tone:", *TONE_IDS], env=env, cwd=self.folder), r"samples [1-9]")

    def test_no_installed_file_but_the_back_end_names_the_build(self):
        for path in glob.glob(os.path.join(self.prefix, "**"), recursive=True):
            if os.path.isfile(path) and not os.path.basename(path).startswith(("libtorch", "libc10")):
                with open(path, "rb") as file:
                    data = file.read()
                for folder in (OPTIONS.build, OPTIONS.source):
                    self.assertNotIn(folder.encode(), data, path)

    def test_the_shipped_size_is_told(self):
        libtorch = sum(os.path.getsize(path) for path in glob.glob(os.path.join(self.lib, "timbre", "*.so*"))
                       if not os.path.basename(path).startswith("libtimbre"))
        print(f"\nshipped: {tree_bytes(self.prefix) / 1e6:.1f} MB, of which LibTorch {libtorch / 1e6:.1f} MB")
        self.assertGreater(tree_bytes(self.prefix), libtorch)

    @unittest.skipUnless(os.environ.get("TIMBRE_TEST_FULL") == "1", "scripts/test --full renames the folders")
    def test_it_speaks_while_the_folders_are_renamed(self):
        program = self.build_with_cmake()
        libraries = glob.glob(os.path.join(OPTIONS.build, "libtimbre*.so*"))
        with contextlib.ExitStack() as stack:
            for path in libraries + [OPTIONS.libtorch]:
                if os.path.lexists(path):
                    os.rename(path, path + ".away")
                    stack.callback(os.rename, path + ".away", path)
            said = run([program, self.model, *self.ids], env={"PATH": "/usr/bin:/bin"}, cwd=self.folder)
        self.assertRegex(said, r"samples [1-9]\d+ peak 0\.\d+")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("build", "source", "libtorch", "voice", "python"):
        parser.add_argument("--" + option, required=True)
    OPTIONS, rest = parser.parse_known_args()
    if OPTIONS.voice and not os.path.exists(OPTIONS.voice):
        sys.exit(f"no voice {OPTIONS.voice}; run scripts/setup")
    unittest.main(argv=sys.argv[:1] + rest)
