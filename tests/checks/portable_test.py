# SPDX-License-Identifier: MIT
import unittest

from planted import PlantedTest

ROOT = "/"
HTTPS = "https:/" + "/"


class PortableTest(PlantedTest):
    def test_paths_of_the_project_and_the_system_pass(self):
        self.plant("README.md", "scripts/test writes out/work/a.wav and build/tmp/x; ${prefix}/work; /usr/share/espeak-ng-data\n"
                                f"{HTTPS}github.com/rhasspy/piper, 1/tmp\n")
        self.assert_passes("portable")

    def test_a_folder_of_one_machine_is_found(self):
        for name in ("work/main/a", "tmp/a.wav", "tmp", "root/.cache", "home/me/a", "Users/Me/a", "opt/wheels"):
            with self.subTest(name=name):
                self.plant("scripts/a", f"cd {ROOT}{name}\n")
                self.assert_finds("scripts/a:1: a folder of one machine", "portable")

    def test_the_address_of_a_registry_is_found(self):
        for text in (HTTPS + "pypi" + ".org/simple", HTTPS + "files.pythonhosted" + ".org/a", "pip --index" + "-url x",
                     "pip --find" + "-links x"):
            with self.subTest(text=text):
                self.plant("scripts/a", f"# x\n{text}\n")
                self.assert_finds("scripts/a:2: a registry's address", "portable")

    def test_a_folder_outside_the_project_is_found(self):
        self.plant("scripts/a", "cat .." + "/sha" + "red/a\n")
        self.assert_finds("scripts/a:1: a folder outside the project", "portable")


if __name__ == "__main__":
    unittest.main()
