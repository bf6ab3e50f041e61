# SPDX-License-Identifier: MIT
#
# timbre_warnings: link it PRIVATE to every target of ours. Warnings are errors with the compiler that the project is
# tested with; another one warns of other things and only says so.
add_library(timbre_warnings INTERFACE)
target_compile_options(timbre_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                                 $<$<C_COMPILER_ID:GNU>:-Werror>)
