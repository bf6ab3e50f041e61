# SPDX-License-Identifier: MIT
"""An export of a tensor by DLPack: ours, from the C ABI, behind capsules that numpy makes.

A capsule needs a destructor that runs wherever its last reference goes, and an exported array a deleter that runs on any
thread and after Python's end. Numpy has both in C. So an export becomes a numpy array, and its capsule tells what numpy
cannot: bfloat16, and memory that is not the host's.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Optional, Tuple

import numpy as np

from . import _fork

_CPU = 1  # kDLCPU
_TYPES = {(0, 32): "<i4", (0, 64): "<i8", (2, 16): "<f2", (2, 32): "<f4", (4, 16): "<u2"}  # (DLDataTypeCode, bits)
_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", _Deleter),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    ]


_get_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Export:
    """Owns a DLManagedTensorVersioned, and ends it when it is dropped and no array stands on it any more."""

    def __init__(self, managed: c_void_p) -> None:
        self._address = managed
        self._generation = _fork.generation
        self._managed = _Managed.from_address(managed.value or 0)
        tensor = self._managed.tensor
        self.shape: Tuple[int, ...] = tuple(tensor.shape[: tensor.ndim])
        self.device: Tuple[int, int] = (tensor.device_type, tensor.device_id)
        self.__array_interface__ = {
            "version": 3,
            "typestr": _TYPES[tensor.dtype.code, tensor.dtype.bits],
            "shape": self.shape,
            "data": ((tensor.data or 0) + tensor.byte_offset, True),  # dense, as all that the C ABI exports; read-only
        }

    @property
    def on_cpu(self) -> bool:
        return self.device[0] == _CPU

    def capsule(self, versioned: bool, copy: Optional[bool]) -> Any:
        """A new capsule, "dltensor_versioned" or, with a copy inside, "dltensor"."""
        if not versioned and copy is False:
            raise BufferError("DLPack before 1.0 cannot say read-only; ask with max_version=(1, 0), or take a copy")
        if (copy or not versioned) and not self.on_cpu:
            raise BufferError("a tensor that is not in host memory is not copied here; ask with max_version=(1, 0)")
        array = np.asarray(self)
        if versioned:
            capsule = array.__dlpack__(max_version=(1, 0), copy=True if copy else None)
            tensor = _Managed.from_address(_get_pointer(capsule, b"dltensor_versioned")).tensor
        else:
            capsule = array.copy().__dlpack__()
            tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
        tensor.dtype = self._managed.tensor.dtype
        tensor.device_type, tensor.device_id = self.device
        return capsule

    def __del__(self) -> None:
        if _fork.generation == self._generation:
            self._managed.deleter(self._address)
