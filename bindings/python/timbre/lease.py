# SPDX-License-Identifier: MIT
"""Leases: the right to use one version of a voice, whose bytes neither move nor change meanwhile.

Invariants
  * A lease is given back once: by `release`, by the end of its `with` block, or when it is dropped.
  * No array ever shows bytes that are not leased. Views of `tensor` hold the lease back until the last of them is gone;
    what `lease[name]` exports is a lease of its own.
  * A child made by fork() gives nothing back: the leases are its parent's.
"""

from __future__ import annotations

import ctypes
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple, Type

import numpy as np

from . import _abi, _convert, _fork
from ._dlpack import Export
from ._library import check
from .errors import Error, Status, invalid

if TYPE_CHECKING:
    from typing_extensions import Self

_TYPES = {1: "<f4", 2: "<f2", 3: "<u2", 4: "<i4", 5: "<i8"}  # of TIMBRE_DTYPE_*; bfloat16 as its bits
_BFLOAT16 = _abi.DTYPES["bfloat16"]
_MAX_STREAM = 2**64 - 1


class VoiceLease:
    """A leased voice. Made by `engine.voices.get` and its like; a context manager; any thread may use it.

    It may outlive its engine. A forgotten one is given back when it is dropped.
    """

    __slots__ = ("_generation", "_given_back", "_lease", "_library", "_lock", "_stream", "_views", "__weakref__")

    def __init__(self, library: Any, lease: _abi.Lease) -> None:
        self._library = library
        self._generation = _fork.generation
        self._lease = lease  # the C call that fills it comes next, so that an interrupt between the two loses nothing
        self._lock = threading.RLock()  # a signal's handler may come in between
        self._views = 0
        self._given_back = False

    def release(self) -> None:
        """Gives the lease back. Views of `tensor` stay readable: the voice is held until they are gone, too.

        A second time is an error.
        """
        with self._locked():
            if self._given_back:
                raise invalid("this lease was given back before")
            self._give_back(None)

    def release_on(self, stream: int) -> None:
        """Gives back a lease that work on a device's stream may still use: its bytes stay until that is done.

        stream  the device's own handle (a CUstream), 0 for its default stream. With device "cpu" only 0.
        """
        handle = _convert.integer("stream", stream, 0, _MAX_STREAM)
        with self._locked():
            if self._given_back:
                raise invalid("this lease was given back before")
            self._give_back(handle)

    def wait_on(self, stream: int) -> None:
        """Makes work that is given to `stream` from now on wait until the voice is on the device."""
        handle = _convert.integer("stream", stream, 0, _MAX_STREAM)
        with self._locked():
            check(self._library.timbre_voice_wait_on(self._held(), handle))

    @property
    def version(self) -> int:
        """Version of the voice, as `put` gave it; told apart by this and `checksum`."""
        return int(self._details().version)

    @property
    def checksum(self) -> int:
        """Checksum of the voice's bytes, 64 bits."""
        return int(self._details().checksum)

    @property
    def size_bytes(self) -> int:
        """Bytes of all its tensors."""
        return int(self._details().size_bytes)

    @property
    def model(self) -> Optional[str]:
        """Fingerprint of the model it fits; None for a voice that cannot be spoken."""
        with self._locked():  # the string lives as long as the lease
            return (self._details().model_fingerprint or b"").decode("ascii", "replace") or None

    @property
    def speaker(self) -> Optional[int]:
        """Speaker of the model, for a voice without tensors."""
        speaker = self._details().speaker
        return None if speaker == _abi.AUTO_I32 else speaker

    @property
    def normalised(self) -> bool:
        """Whether its vectors are L2-normalised."""
        return bool(self._details().normalised)

    @property
    def sample_rate(self) -> Optional[int]:
        """Rate the voice was made at, in Hz."""
        return self._details().sample_rate_hz or None

    @property
    def scales(self) -> Dict[str, float]:
        """The scales that the voice brings along: those of noise_scale, length_scale and noise_w that it has."""
        details = self._details()
        values = {name: getattr(details, name) for name in ("noise_scale", "length_scale", "noise_w")}
        return {name: value for name, value in values.items() if value != _abi.AUTO_F32}

    @property
    def names(self) -> List[str]:
        """Names of its tensors, in the order of the put."""
        names = []
        name = ctypes.c_char_p()
        with self._locked():
            for index in range(self._details().tensor_count):
                check(self._library.timbre_voice_tensor_name(self._held(), index, name))
                names.append((name.value or b"").decode("utf-8", "replace"))
        return names

    def tensor(self, name: str) -> np.ndarray:
        """A tensor as a read-only array, without a copy; it holds the voice as long as it lives.

        Needs device "cpu". A bfloat16 tensor needs the package ml_dtypes, which gives numpy that type.
        """
        wanted = _convert.string("name", name)
        with self._locked():
            found = _abi.Tensor()
            check(self._library.timbre_voice_tensor(self._held(), wanted, found))
            if found.dtype not in _TYPES:
                raise Error(Status.UNSUPPORTED, f"tensor {name!r} has dtype {found.dtype}, unknown to this package")
            array = np.asarray(_View(self, found))
        return array.view(_bfloat16(name)) if found.dtype == _BFLOAT16 else array

    def __getitem__(self, name: str) -> LeasedTensor:
        """A tensor for `numpy.from_dlpack`, `torch.from_dlpack` and their like."""
        wanted = _convert.string("name", name)
        with self._locked():
            managed = ctypes.c_void_p()
            check(self._library.timbre_voice_dlpack(self._held(), wanted, managed))
            return LeasedTensor(self, name, Export(managed))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if _fork.generation != self._generation:
            return
        with self._lock:
            if not self._given_back:
                self._give_back(None)

    def __del__(self) -> None:
        if not self._given_back and self._lease.owner and _fork.generation == self._generation:
            self._library.timbre_voice_release(self._lease)

    def __repr__(self) -> str:
        return f"<timbre.VoiceLease{', given back' if self._given_back else ''}>"

    def _locked(self) -> threading.RLock:
        """The lock, unless this is a forked child, where whoever has it may not exist."""
        if _fork.generation != self._generation:
            raise Error(Status.FORKED, "this lease belongs to the parent of this process")
        return self._lock

    def _held(self) -> _abi.Lease:
        """The C lease, for a call under the lock."""
        if self._given_back:
            raise invalid("this lease was given back")
        return self._lease

    def _details(self) -> _abi.VoiceDetails:
        details = _abi.VoiceDetails()
        with self._locked():
            check(self._library.timbre_voice_info(self._held(), details))
        return details

    def _give_back(self, stream: Optional[int]) -> None:
        """Under the lock, of a held lease; which it still is after an error."""
        if self._views == 0:
            check(self._free(stream))
        elif stream is not None:
            check(self._library.timbre_voice_wait_on(self._lease, stream))  # is there such a stream?
        self._stream = stream  # for when the last view goes
        self._given_back = True

    def _free(self, stream: Optional[int]) -> int:
        if stream is None:
            return int(self._library.timbre_voice_release(self._lease))
        return int(self._library.timbre_voice_release_on(self._lease, stream))

    def _view_gone(self) -> None:
        if _fork.generation != self._generation:
            return
        with self._lock:
            self._views -= 1
            if self._views == 0 and self._given_back and self._free(self._stream) < 0:
                self._library.timbre_voice_release(self._lease)  # the device failed: nothing there will use it


class _View:
    """What an array of `tensor` stands on."""

    __slots__ = ("__array_interface__", "_lease")

    def __init__(self, lease: VoiceLease, tensor: _abi.Tensor) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": _TYPES[tensor.dtype],
            "shape": tuple(tensor.shape[: tensor.rank]),
            "data": (tensor.data or 0, True),  # read-only
        }
        self._lease = lease
        lease._views += 1

    def __del__(self) -> None:
        self._lease._view_gone()


class LeasedTensor:
    """A tensor of a leased voice, exported by DLPack, read-only and without a copy.

    It is a lease of its own: the voice stays until this object and every array made of it are gone. A consumer that
    cannot be told "read-only" (DLPack before 1.0) gets a copy. A voice that somebody wrote into nevertheless is dropped
    from the cache when its exports end, and loaded anew.
    """

    def __init__(self, lease: VoiceLease, name: str, export: Export) -> None:
        self._lease = lease
        self._export = export
        self.name = name

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._export.shape

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._export.device

    def __dlpack__(
        self,
        stream: Optional[int] = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """A capsule, as the array API standard has it. BufferError where the consumer's wishes cannot be met."""
        if self._export.on_cpu:
            if stream is not None and _convert.integer("stream", stream, -1, _MAX_STREAM) != -1:
                raise invalid(f"stream is {stream}; a tensor in host memory has none")
        elif stream is None or _convert.integer("stream", stream, -1, _MAX_STREAM) != -1:
            self._lease.wait_on(stream or 0)
        if dl_device is not None and tuple(dl_device) != self._export.device:
            raise BufferError(f"tensor {self.name!r} is on device {self._export.device}, not on {dl_device}")
        return self._export.capsule(_is_versioned(max_version), copy)


def _is_versioned(max_version: Any) -> bool:
    if max_version is None:
        return False
    try:
        major, _ = max_version
    except (TypeError, ValueError):
        raise invalid(f"max_version is {max_version!r}; it must be a pair such as (1, 0)") from None
    return _convert.integer("max_version[0]", major, 0, 2**32 - 1) >= 1


def _bfloat16(name: str) -> np.dtype[Any]:
    try:
        import ml_dtypes
    except ImportError:
        raise Error(
            Status.UNSUPPORTED, f"tensor {name!r} is bfloat16: numpy has that from the package ml_dtypes; DLPack works without"
        ) from None
    bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bfloat16
