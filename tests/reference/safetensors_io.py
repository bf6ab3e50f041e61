# SPDX-License-Identifier: MIT
"""A reader and a writer for .safetensors that need numpy only.

The file is: header length (uint64, little endian), JSON header, raw little-endian data in C order.
"""

import json
import struct

import numpy as np

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}


def save(path, tensors, metadata=None):
    """Writes a dict name -> array; order is kept, the header is padded with blanks to a multiple of eight bytes."""
    header, blobs, offset = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, array in tensors.items():
        array = np.asarray(array)
        blob = array.astype(array.dtype.newbyteorder("<")).tobytes()
        header[name] = {"dtype": _NAMES[array.dtype.newbyteorder("<")], "shape": list(array.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(blobs)


def load(path):
    """(dict name -> array, metadata dict)."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    body = memoryview(data)[8 + length:]
    return {name: np.frombuffer(body[slice(*entry["data_offsets"])], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}, metadata
