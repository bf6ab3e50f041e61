# SPDX-License-Identifier: MIT
import unittest

from planted import PlantedTest


def function(lines, head="int f()"):
    """A function of so many lines."""
    return head + " {\n" + "  g();\n" * (lines - 2) + "}\n"


class SizesTest(PlantedTest):
    def test_files_and_functions_at_the_limit_pass(self):
        self.plant("include/timbre/core/a.hpp", "// x\n" * 400)
        self.plant("src/voice/a.cpp", "// x\n" * 520 + function(80))
        self.assert_passes("sizes")

    def test_a_header_of_401_lines_is_found(self):
        self.plant("include/timbre/core/a.hpp", "// x\n" * 401)
        self.assert_finds("include/timbre/core/a.hpp: 401 lines", "sizes")

    def test_a_source_of_601_lines_is_found(self):
        self.plant("src/voice/a.cpp", "// x\n" * 601)
        self.assert_finds("src/voice/a.cpp: 601 lines", "sizes")

    def test_functions_of_81_lines_are_found_in_all_their_forms(self):
        for head in ("static int f(void)", "Store::Store(int a) : a_{a}, b_(2)", "bool operator==(const A& a) const noexcept",
                     "template <typename T = decltype(g())>\nauto f(T x) -> decltype(x)", 'TEST_CASE("a { brace", "[x]")',
                     "auto f = [](int x)", "Result<int> f(std::vector<int> v = {})", "struct A *f(void)"):
            with self.subTest(head=head):
                lines = 81 - head.count("\n")
                self.plant("src/voice/a.cpp", "namespace timbre {\nclass A {\n" + function(lines, head) + "};\n}\n")
                self.assert_finds("src/voice/a.cpp:3: function of 81 lines", "sizes")

    def test_long_classes_tables_and_comments_are_no_functions(self):
        self.plant("src/voice/a.cpp", "class A {\n" + "  int f() { return 1; }\n" * 100 + "};\n" +
                   "const int k[] = {\n" + "  1,\n" * 100 + "};\n" + "/* int f() {\n" + "\n" * 90 + "} */\n")
        self.assert_passes("sizes")

    def test_a_brace_in_a_string_does_not_hide_a_function(self):
        self.plant("src/voice/a.cpp", 'const char* k = "{";\nconst char* r = R"x({{")x";\nchar c = \'{\';\n' + function(81))
        self.assert_finds("src/voice/a.cpp:4: function of 81 lines", "sizes")

    def test_a_python_function_of_81_lines_is_found(self):
        self.plant("bindings/a.py", "def f():\n" + "    g()\n" * 80)
        self.assert_finds("bindings/a.py:1: function of 81 lines", "sizes")


if __name__ == "__main__":
    unittest.main()
