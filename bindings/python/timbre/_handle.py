# SPDX-License-Identifier: MIT
"""A C handle that several Python threads may use and close, and the base of what stands on one."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Type

from . import _fork
from .errors import Error, Status

if TYPE_CHECKING:
    from typing_extensions import Self


class Handle:
    """Keeps a C handle alive while calls run on it.

    `close` first calls `interrupt`, which makes running calls return soon, waits for them, and then frees the handle.
    It may be called any number of times, from any thread. A call on a closed handle raises CLOSED. A child made by
    fork() has none of the threads that may hold the lock here, so it touches nothing.
    """

    def __init__(
        self,
        what: str,
        pointer: Any,
        free: Callable[[Any], int],
        interrupt: Optional[Callable[[Any], Any]] = None,
    ) -> None:
        self._what = what
        self._pointer = pointer
        self._free = free
        self._interrupt = interrupt
        self._idle = threading.Condition()
        self._users: Dict[object, int] = {}  # the thread of each running call
        self._closing = False
        self._generation = _fork.generation

    @property
    def closing(self) -> bool:
        """True as soon as somebody has called close."""
        return self._closing

    @contextlib.contextmanager
    def use(self) -> Iterator[Any]:
        """The pointer, which is not freed inside the block."""
        user = object()
        try:  # everything inside: Ctrl-C may come between any two steps
            yield self._enter(user)
        finally:
            self._leave(user)

    def call(self, function: Callable[..., int], *arguments: Any) -> int:
        """function(pointer, *arguments), as inside `use`, for calls that are made often."""
        user = object()
        try:
            return function(self._enter(user), *arguments)
        finally:
            self._leave(user)

    def close(self) -> None:
        if _fork.generation != self._generation:
            return
        with self._idle:
            if threading.get_ident() in list(self._users.values()):
                raise Error(Status.INVALID_ARGUMENT, f"a {self._what} cannot be closed from inside a call on it")
            self._closing = True
            if self._users and self._interrupt is not None:
                self._interrupt(self._pointer)
            while self._users:
                self._idle.wait()
            pointer, self._pointer = self._pointer, None
        if pointer is not None:
            self._free(pointer)

    # A user comes without the lock: it writes itself down and then looks at _closing, which close sets before it looks
    # for users. So one of the two sees the other.

    def _enter(self, user: object) -> Any:
        if _fork.generation != self._generation:
            raise Error(Status.FORKED, f"this {self._what} belongs to the parent of this process")
        self._users[user] = threading.get_ident()
        if self._closing:
            raise Error(Status.CLOSED, f"this {self._what} is closed")
        return self._pointer

    def _leave(self, user: object) -> None:
        self._users.pop(user, None)
        if self._closing and _fork.generation == self._generation:
            with self._idle:
                self._idle.notify_all()


class Owner:
    """An object that owns a handle: a context manager that closes it at the end of its block, or when it is dropped."""

    _handle: Handle

    def close(self) -> None:
        """Gives back what this object stands for; what that ends, its class says. More than once is fine."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)  # not there where __init__ raised
        if handle is not None:
            handle.close()
