# SPDX-License-Identifier: MIT
"""What scripts/setup does about system packages, on a machine made of stand-ins for dpkg-query, id, sudo and apt-get."""
import hashlib
import os
import shutil
import subprocess
import unittest

from planted import CHECKS, PlantedTest

SCRIPTS = os.path.dirname(CHECKS)


class SetupTest(PlantedTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(SCRIPTS, os.path.join(self.root, "scripts"))
        self.bin = os.path.join(self.root, "bin")
        self.log = os.path.join(self.root, "log")
        os.makedirs(self.bin)
        for tool in ("bash", "env", "dirname", "nproc"):
            self.link(tool)
        self.stand_in("mkdir", "exit 9")
        self.stand_in("dpkg-query", 'case "$*" in *cmake*|*g++*) echo; exit 1 ;; *) printf installed ;; esac')
        self.stand_in("apt-get", f'echo "apt-get $*" >>"{self.log}"')

    def link(self, tool):
        """The machine has the true one."""
        path = os.path.join(self.bin, tool)
        if os.path.exists(path):
            os.remove(path)
        os.symlink(shutil.which(tool), path)

    def stand_in(self, name, code):
        os.chmod(self.plant("bin/" + name, f"#!{self.bin}/bash\n{code}\n"), 0o755)

    def setup_script(self):
        """(exit status, output, what apt-get was called with). It ends at the latest where it makes its folders."""
        run = subprocess.run([os.path.join(self.bin, "bash"), os.path.join(self.root, "scripts", "setup")],
                             env={"PATH": self.bin}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        called = []
        if os.path.exists(self.log):
            with open(self.log, encoding="utf-8") as file:
                called = file.read().splitlines()
        return run.returncode, run.stdout, called

    def test_without_root_or_sudo_it_names_exactly_what_is_missing(self):
        self.stand_in("id", "echo 1000")
        status, said, called = self.setup_script()
        self.assertEqual(status, 1)
        self.assertEqual([line.strip() for line in said.splitlines() if line.startswith("  ")][:-1], ["g++", "cmake"])
        self.assertIn("apt-get install -y --no-install-recommends g++ cmake\n", said)
        self.assertEqual(called, [])

    def test_a_sudo_that_would_ask_is_no_sudo(self):
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", "exit 1")
        status, said, called = self.setup_script()
        self.assertEqual((status, called), (1, []))
        self.assertIn("neither root nor able to use sudo", said)

    def test_root_installs_the_missing_packages_only(self):
        self.stand_in("id", "echo 0")
        _, _, called = self.setup_script()
        self.assertEqual(called, ["apt-get update", "apt-get install -y --no-install-recommends g++ cmake"])

    def test_sudo_installs_the_missing_packages_only(self):
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", '[ "$1" = -n ] || exec "$@"')
        _, _, called = self.setup_script()
        self.assertEqual(called, ["apt-get update", "apt-get install -y --no-install-recommends g++ cmake"])

    def test_nothing_is_run_when_everything_is_there(self):
        self.stand_in("id", "echo 0")
        self.stand_in("dpkg-query", "printf installed")
        status, said, called = self.setup_script()
        self.assertEqual((status, said, called), (9, "", []))

    def test_one_line_says_that_all_is_in_place(self):
        self.stand_in("dpkg-query", "printf installed")
        self.stand_in("python3", "exit 0")
        for tool in ("cat", "cut", "mkdir", "sha256sum"):
            self.link(tool)
        for part, name in (("venv", "tests"), ("libtorch", "libtorch"), ("voices", "voices")):
            with open(os.path.join(SCRIPTS, "requirements", name + ".txt"), "rb") as file:
                self.plant(f".deps/{part}/.stamp", hashlib.sha256(file.read()).hexdigest() + "\n")
        status, said, called = self.setup_script()
        self.assertEqual((status, called), (0, []))
        self.assertRegex(said, r"^== set-up complete: .*\n\Z")

    def test_an_unknown_argument_is_refused(self):
        run = subprocess.run([os.path.join(self.root, "scripts", "setup"), "--all"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("unknown argument --all", run.stderr)


if __name__ == "__main__":
    unittest.main()
