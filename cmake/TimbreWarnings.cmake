# SPDX-License-Identifier: MIT
#
# timbre_warnings: link it PRIVATE to every target of ours; warnings are errors.
add_library(timbre_warnings INTERFACE)
target_compile_options(timbre_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                                 -Werror)
