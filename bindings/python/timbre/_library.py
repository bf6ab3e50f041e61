# SPDX-License-Identifier: MIT
"""Finds and loads libtimbre.so, once, when it is first needed; and lets Python's torch share its LibTorch with it."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import Any, Optional

from . import _abi
from .errors import Error, Status

# The LibTorch series that libtimbre-torch.so is built with: that of scripts/requirements/libtorch.txt.
TORCH_SERIES = "2.11"

_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None
_torch: Optional[ctypes.CDLL] = None
_torch_looked_for = False


def candidates() -> list[str]:
    """Where the library may be, best first.

    TIMBRE_LIBRARY, where set, is the only answer: a library that was asked for by name is never replaced by another.
    """
    named = os.environ.get("TIMBRE_LIBRARY")
    if named:
        return [named]
    here = Path(__file__).resolve().parent
    above = here.parent.parent.parent
    folders = [
        here,  # as a wheel would have it
        here / "lib",
        above,  # of lib/timbre/python/timbre, an installed tree
        above / "build" / "release",  # of bindings/python/timbre, the source tree
    ]
    names = [f"libtimbre.so.{_abi.ABI_MAJOR}", "libtimbre.so"]
    return [str(folder / name) for folder in folders for name in names if (folder / name).exists()] + names


def _open(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    try:
        _abi.declare(library)
    except AttributeError as error:
        raise Error(Status.INCOMPATIBLE, f"{path} is not the libtimbre that this package needs: {error}") from None
    major = ctypes.c_uint32()
    text = library.timbre_version(ctypes.byref(major), None, None).decode()
    if major.value != _abi.ABI_MAJOR:
        raise Error(Status.INCOMPATIBLE, f"{path} has version {text}, this package needs {_abi.ABI_MAJOR}.x")
    return library


def library() -> Any:
    """The loaded library. Its functions have their prototypes."""
    global _library
    with _lock:
        if _library is None:
            failures = []
            for path in candidates():
                try:
                    _library = _open(path)
                    break
                except OSError as error:
                    failures.append(f"{path}: {error}")
            else:
                raise Error(Status.NOT_FOUND, "libtimbre.so cannot be loaded; tried " + "; ".join(failures))
        return _library


def check(status: int) -> int:
    """Raises `Error` for a negative status, with the library's own words; returns the others."""
    if status < 0:
        raise Error(status, library().timbre_last_error().decode("utf-8", "replace"))
    return status


def version() -> str:
    """Version of the library that is loaded, for example "0.1.0"."""
    text: bytes = library().timbre_version(None, None, None)
    return text.decode()


def share_torch() -> None:
    """Maps the LibTorch of the installed torch package, if it is of our series, before the back end maps its own.

    Two LibTorch copies in one process are never loaded; this way `import torch` works before and after. Set
    TIMBRE_SHARE_TORCH=0 to leave torch alone, for a libtimbre-torch.so that was built with another LibTorch.
    """
    global _torch, _torch_looked_for
    with _lock:
        if _torch_looked_for or "torch" in sys.modules or os.environ.get("TIMBRE_SHARE_TORCH") == "0":
            return
        _torch_looked_for = True
        try:
            series = ".".join(importlib.metadata.version("torch").split(".")[:2])
            spec = importlib.util.find_spec("torch")
        except (importlib.metadata.PackageNotFoundError, ImportError, ValueError):
            return
        if spec is None or spec.origin is None or series != TORCH_SERIES:
            return
        try:
            _torch = ctypes.CDLL(str(Path(spec.origin).parent / "lib" / "libtorch_cpu.so"))
        except OSError:
            return  # torch itself is broken here; the back end has its own copy
