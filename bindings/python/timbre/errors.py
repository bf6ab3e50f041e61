# SPDX-License-Identifier: MIT
"""The one exception of this package, and the statuses of the C ABI."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """Status codes of the C ABI (timbre/c/status.h), without their prefixes."""

    OK = 0
    DONE = 1
    PENDING = 2
    INVALID_ARGUMENT = -1
    OUT_OF_MEMORY = -2
    NOT_FOUND = -3
    IO = -4
    FORMAT = -5
    UNSUPPORTED = -6
    MISMATCH = -7
    INCOMPATIBLE = -8
    NO_DEVICE = -9
    CANCELLED = -10
    TIMEOUT = -11
    CLOSED = -12
    FORKED = -13
    INVALID_TOKEN = -14
    INTERNAL = -15
    CONFLICT = -16
    BUDGET = -17


class Error(Exception):
    """A call that failed.

    `status` is a `Status`, or a plain int where the library is newer than this package. The text says what and where
    (file, tensor, id).
    """

    status: int

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        try:
            self.status = Status(status)
        except ValueError:
            self.status = int(status)

    def __reduce__(self) -> tuple[type[Error], tuple[int, str]]:
        return type(self), (int(self.status), str(self.args[0]))

    def __str__(self) -> str:
        name = self.status.name if isinstance(self.status, Status) else f"status {self.status}"
        text = self.args[0]
        return f"{text} ({name})" if text else name


def invalid(message: str) -> Error:
    """An INVALID_ARGUMENT found on this side of the ABI."""
    return Error(Status.INVALID_ARGUMENT, message)
