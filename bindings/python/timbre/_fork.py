# SPDX-License-Identifier: MIT
"""Tells a child made by fork() from its parent, without asking the system each time.

The C library asks for itself; what is here keeps a child off locks that a thread of the parent may hold.
"""

import os

generation = 0
"""How many forks lie between the first process and this one."""


def _in_child() -> None:
    global generation
    generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
