# SPDX-License-Identifier: MIT
"""Python values to C values.

Whatever does not fit raises `timbre.Error` and names the argument: ctypes alone would cut 2**40 to 0 without a word.
"""

from __future__ import annotations

import math
import operator
import os
from ctypes import POINTER, c_int32, cast
from typing import Any, List, Mapping, Optional, Tuple

import numpy as np

from . import _abi
from .errors import Error, Status, invalid

_MAX_TENSORS = 64  # as the C ABI


def integer(name: str, value: Any, low: int, high: int) -> int:
    """An int of low..high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise invalid(f"{name} must be an integer, not {type(value).__name__}") from None
    if not low <= number <= high:
        raise invalid(f"{name} is {number}, outside {low}..{high}")
    return number


def real(name: str, value: Any) -> float:
    """A finite number that a C float can hold."""
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise invalid(f"{name} must be a number, not {value!r}") from None
    if not math.isfinite(number) or abs(number) > 3.4e38:
        raise invalid(f"{name} is {number}; it must be finite")
    return number


def text(name: str, value: Any) -> bytes:
    """UTF-8 of a str that goes with its length, so zeros may be inside."""
    if not isinstance(value, str):
        raise invalid(f"{name} must be a str, not {type(value).__name__}")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise invalid(f"{name} is not valid Unicode at character {error.start}") from None


def string(name: str, value: Any) -> bytes:
    """UTF-8 of a str that C reads up to its closing zero."""
    encoded = text(name, value)
    if b"\0" in encoded:
        raise invalid(f"{name} has a zero byte inside: {value!r}")
    return encoded


def optional_string(name: str, value: Any) -> Optional[bytes]:
    return None if value is None else string(name, value)


def path(name: str, value: Any) -> bytes:
    """UTF-8 of a str or os.PathLike."""
    try:
        return string(name, os.fsdecode(os.fspath(value)))
    except TypeError:
        raise invalid(f"{name} must be a path, not {type(value).__name__}") from None


def choice(name: str, value: Any, table: Mapping[str, int]) -> int:
    if not isinstance(value, str) or value not in table:
        raise invalid(f"{name} is {value!r}; it must be one of {', '.join(map(repr, table))}")
    return table[value]


def int32_array(name: str, value: Any, status: int = Status.INVALID_ARGUMENT) -> np.ndarray:
    """A contiguous int32 vector. The first number that does not fit is named, with `status`."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid(f"{name} must be a sequence of integers: {error}") from None
    if array.ndim != 1:
        raise invalid(f"{name} must have one dimension, not {array.ndim}")
    if array.size == 0:
        return np.zeros(0, np.int32)
    if array.dtype.kind not in "iu" and not (array.dtype == object and all(type(item) is int for item in array)):
        raise invalid(f"{name} must be integers, not {array.dtype}")
    outside = np.flatnonzero((array < -(2**31)) | (array >= 2**31))
    if outside.size:
        raise Error(status, f"{name}[{outside[0]}] is {array[outside[0]]}, outside the range of 32 bits")
    return np.ascontiguousarray(array, np.int32)


def int32_pointer(array: np.ndarray) -> Any:
    """The array's data; the caller keeps the array alive."""
    return cast(array.ctypes.data or 4, POINTER(c_int32))  # an empty array may have no address: it is still given


def tensors(value: Any) -> Tuple[Any, int, List[Any]]:
    """{name: array} as (array of timbre_tensor, count, what must stay alive during the call)."""
    if not isinstance(value, Mapping):
        raise invalid(f"tensors must be a mapping of names to arrays, not {type(value).__name__}")
    if not 1 <= len(value) <= _MAX_TENSORS:
        raise invalid(f"{len(value)} tensors; 1..{_MAX_TENSORS} make a voice, None stands for none")
    keep: List[Any] = []
    array = (_abi.Tensor * len(value))()
    for target, (name, data) in zip(array, value.items()):
        _fill_tensor(target, name, data, keep)
    return array, len(value), keep


def _fill_tensor(target: _abi.Tensor, name: Any, value: Any, keep: List[Any]) -> None:
    encoded = string("a tensor's name", name)
    if not hasattr(value, "dtype") and not hasattr(value, "__array_interface__"):
        raise invalid(f"tensor {name!r} must be a numpy array, not {type(value).__name__}")
    try:
        source = np.asarray(value)
        dense = np.array(source, source.dtype.newbyteorder("<"), order="C", copy=None)
    except Exception as error:  # an array interface may raise anything
        raise invalid(f"tensor {name!r} cannot be read as a numpy array: {error}") from None
    dtype = _abi.DTYPES.get(dense.dtype.name)
    if dtype is None:
        raise invalid(f"tensor {name!r} has dtype {dense.dtype}; it must be one of {', '.join(_abi.DTYPES)}")
    if dense.ndim > 4:
        raise invalid(f"tensor {name!r} has {dense.ndim} dimensions; at most 4")
    keep.append(dense)
    target.struct_size = _SIZEOF_TENSOR
    target.dtype = dtype
    target.name = encoded
    target.data = dense.ctypes.data
    target.size_bytes = dense.nbytes
    target.rank = dense.ndim
    target.shape[: dense.ndim] = dense.shape


_SIZEOF_TENSOR = _abi.Tensor().struct_size
