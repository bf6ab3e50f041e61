# SPDX-License-Identifier: MIT
import os
import unittest

from planted import PlantedTest


class GuestTest(PlantedTest):
    def check(self):
        return "guest", "--build", os.path.join(self.root, "build")

    def test_an_object_that_minds_its_own_business_passes(self):
        self.compile("build/src/voice/a.o", "#include <vector>\nint f() noexcept { return std::vector<int>(3).at(1); }\n",
                     "-c", language="c++")
        self.assert_passes(*self.check())

    def test_forbidden_calls_are_found(self):
        for symbol, code in (
            ("exit", "#include <stdlib.h>\nvoid f(void) { exit(1); }"),
            ("abort", "#include <stdlib.h>\nvoid f(void) { abort(); }"),
            ("__assert_fail", "#include <assert.h>\nvoid f(int x) { assert(x); }"),
            ("puts", '#include <stdio.h>\nvoid f(void) { printf("text\\n"); }'),
            ("printf", '#include <stdio.h>\nvoid f(int x) { printf("%d", x); }'),
            ("stderr", '#include <stdio.h>\nvoid f(int x) { fprintf(stderr, "%d", x); }'),
            ("setlocale", '#include <locale.h>\nvoid f(void) { setlocale(LC_ALL, ""); }'),
            ("signal", "#include <signal.h>\nvoid f(void) { signal(SIGPIPE, SIG_IGN); }"),
            ("sigaction", "#include <signal.h>\nvoid f(struct sigaction *a) { sigaction(1, a, 0); }"),
            ("setenv", '#include <stdlib.h>\nvoid f(void) { setenv("A", "b", 1); }'),
            ("dlclose", "#include <dlfcn.h>\nvoid f(void *a) { dlclose(a); }"),
        ):
            with self.subTest(symbol=symbol):
                self.compile("build/src/voice/a.o", code + "\n", "-c", "-O1")
                self.assert_finds(f"src/voice/a.o: {symbol}: ", *self.check())

    def test_cout_is_found(self):
        self.compile("build/src/voice/a.o", '#include <iostream>\nvoid f() { std::cout << 1; }\n', "-c", language="c++")
        self.assert_finds("src/voice/a.o: _ZSt4cout: prints", *self.check())

    def test_what_a_library_has_linked_in_is_found(self):
        self.compile("build/src/voice/a.o", "int f(void) { return 1; }\n", "-c")
        self.compile("build/libtimbre-x.so", '#include <stdio.h>\nvoid f(int x) { printf("%d", x); }\n', "-shared", "-fPIC")
        self.assert_finds("libtimbre-x.so: printf: prints", *self.check())

    def test_a_build_folder_without_objects_is_found(self):
        self.assert_finds("no objects below src/", *self.check())


if __name__ == "__main__":
    unittest.main()
