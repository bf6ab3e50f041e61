# SPDX-License-Identifier: MIT
"""Waits made of slices, so that Ctrl-C is seen between two of them."""

from __future__ import annotations

import math
import time
from typing import Any, Optional

from . import _convert
from .errors import invalid

SLICE_MS = 100


def seconds(name: str, value: Any) -> Optional[float]:
    """A time of 0 or more, or None for no limit."""
    if value is None:
        return None
    number = _convert.real(name, value)
    if number < 0:
        raise invalid(f"{name} is {number} s; it must not be negative")
    return number


class Deadline:
    """The end of a wait of `timeout` seconds that begins now; None: it never ends."""

    __slots__ = ("_end",)

    def __init__(self, timeout: Any) -> None:
        wait = seconds("timeout", timeout)
        self._end = None if wait is None else time.monotonic() + wait

    def slice_ms(self) -> int:
        """How long the next slice may be; 0 when the time is over."""
        if self._end is None:
            return SLICE_MS
        left = self._end - time.monotonic()
        return 0 if left <= 0 else min(SLICE_MS, math.ceil(1000 * left))

    @property
    def over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end
