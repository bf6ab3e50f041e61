# SPDX-License-Identifier: MIT
"""Voices: named tensors under an id, bound to the model that they fit."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Mapping, Optional, Union

import numpy as np

from . import _abi, _convert
from ._handle import Handle
from ._library import check, library
from ._wait import SLICE_MS, Deadline
from .cache import Prefetched, VoiceExplanation, read_explanation
from .errors import Error, Status, invalid
from .lease import VoiceLease

if TYPE_CHECKING:
    from .model import Model

_PAGE_BYTES = 64 * 1024  # an id has at most 512
_TIMEOUT = int(Status.TIMEOUT)
_UNTOLD = 2**31 - 1  # no status


class Voices:
    """The voices of an engine, as `engine.voices`. Any thread may use it."""

    def __init__(self, engine: Handle) -> None:
        self._engine = engine
        self._library = library()

    def put(
        self,
        id: str,
        tensors: Optional[Mapping[str, np.ndarray]] = None,
        *,
        model: Union[str, Model, None] = None,
        speaker: Optional[int] = None,
        ephemeral: bool = False,
        expected_version: Optional[int] = None,
        encoder: Optional[str] = None,
        language: Optional[str] = None,
        note: Optional[str] = None,
        normalised: bool = False,
        sample_rate: Optional[int] = None,
        noise_scale: Optional[float] = None,
        length_scale: Optional[float] = None,
        noise_w: Optional[float] = None,
    ) -> int:
        """Stores a voice, or a new version of it, and returns its version.

        id         1..512 bytes as UTF-8.
        tensors    {"g": vector} for a VITS model, vector float32 [voice_dim]. Arrays are copied; dtypes float32,
                   float16, int32, int64 and (ml_dtypes) bfloat16. None for a voice that names a speaker, or the only
                   speaker, of its model.
        model      a Model or its fingerprint; without it the voice can be kept but not spoken.
        speaker    index in the model's own table, for a record without tensors.
        ephemeral  kept only in this engine's memory, never written to the store.
        expected_version
                   the version that must be there for the put to happen, else CONFLICT; 0: none may be; None: whatever.
        normalised the vectors are L2-normalised.
        The scales are this voice's defaults; None means the model's.
        """
        record = _abi.VoiceRecord()
        check(library().timbre_voice_record_init(record, record.struct_size))
        keep: Any = None
        if tensors is not None:
            record.tensors, record.tensor_count, keep = _convert.tensors(tensors)
            record.tensor_size = ctypes.sizeof(_abi.Tensor)
        fingerprint = getattr(model, "fingerprint", model)
        record.model_fingerprint = _convert.optional_string("model", fingerprint)
        record.encoder = _convert.optional_string("encoder", encoder)
        record.language = _convert.optional_string("language", language)
        record.note = _convert.optional_string("note", note)
        if speaker is not None:
            record.speaker = _convert.integer("speaker", speaker, 0, 2**31 - 1)
        record.normalised = 1 if normalised else 0
        if sample_rate is not None:
            record.sample_rate_hz = _convert.integer("sample_rate", sample_rate, 0, 2**32 - 1)
        for name, scale in (("noise_scale", noise_scale), ("length_scale", length_scale), ("noise_w", noise_w)):
            if scale is not None:
                setattr(record, name, _convert.real(name, scale))
        options = _abi.VoicePutOptions()
        check(library().timbre_voice_put_options_init(options, options.struct_size))
        options.ephemeral = 1 if ephemeral else 0
        if expected_version is not None:
            options.expected_version = _convert.integer("expected_version", expected_version, 0, _abi.AUTO_U64 - 1)
        version = ctypes.c_uint64()
        with self._engine.use() as engine:
            check(library().timbre_voice_put(engine, _convert.string("id", id), record, options, version))
        del keep
        return version.value

    def get(self, id: str, timeout: Optional[float] = None) -> VoiceLease:
        """Leases a voice, loading it if it must be; there is never another voice in its place.

        timeout  in seconds; None: no limit. When it passes, Error with TIMEOUT; the load goes on.
        """
        encoded = _convert.string("id", id)
        call = self._library.timbre_voice_get
        lease = self._no_lease()
        if timeout is None:
            status = _TIMEOUT
            while status == _TIMEOUT:
                status = self._engine.call(call, encoded, SLICE_MS, lease._lease)
        else:
            deadline = Deadline(timeout)
            while True:
                status = self._engine.call(call, encoded, deadline.slice_ms(), lease._lease)
                if status != _TIMEOUT or deadline.over:
                    break
        check(status)
        return lease

    def try_get(self, id: str) -> Optional[VoiceLease]:
        """As `get`, but never waits: None where the voice is not here yet. Asking again goes on with the load."""
        encoded = _convert.string("id", id)
        lease = self._no_lease()
        status = check(self._engine.call(self._library.timbre_voice_try_get, encoded, lease._lease))
        return None if status == Status.PENDING else lease

    def get_batch(self, ids: Iterable[str], timeout: Optional[float] = None) -> List[Union[VoiceLease, Error]]:
        """One `get` for each id, in one wait: all loads begin before any is waited for.

        Gives for each id, in order, a lease, or the `Error` that `get` would have raised: a voice that is missing costs
        no other its lease. Only what concerns the whole call is raised. `timeout` is for the whole call; rows that it
        leaves without a voice have TIMEOUT.
        """
        encoded = _encoded_ids(ids)
        deadline = Deadline(timeout)
        answers: List[Union[VoiceLease, Error]] = [Error(Status.TIMEOUT, "not asked for")] * len(encoded)
        waiting = list(range(len(encoded)))
        while True:
            waiting = self._get_rows(encoded, waiting, deadline.slice_ms(), answers)
            if not waiting or deadline.over:
                return answers

    def prefetch(self, ids: Iterable[str], timeout: Optional[float] = 0) -> Prefetched:
        """Brings voices into the cache before they are asked for, where they displace none that was used.

        timeout  how long to wait for them, in seconds; None: no limit. What is left then goes on in the background.
        """
        encoded = _encoded_ids(ids)
        array = (ctypes.c_char_p * max(len(encoded), 1))(*encoded)
        call = self._library.timbre_voice_prefetch
        return self._prefetch(timeout, lambda engine, *rest: call(engine, array, len(encoded), *rest))

    def prefetch_top(self, k: int, timeout: Optional[float] = 0) -> Prefetched:
        """The same for the `k` voices that were used most lately, at most 256."""
        count = _convert.integer("k", k, 0, 2**63)
        call = self._library.timbre_voice_prefetch_top
        return self._prefetch(timeout, lambda engine, *rest: call(engine, count, *rest))

    def explain(self, id: str) -> VoiceExplanation:
        """Tells where a voice is, who holds it and why it last went. For people: it may read the store."""
        explanation = _abi.VoiceExplanation()
        with self._engine.use() as engine:
            check(self._library.timbre_voice_explain(engine, _convert.string("id", id), explanation))
        return read_explanation(explanation)

    def remove(self, id: str) -> None:
        """Removes a voice; utterances that run keep it. An unknown id raises NOT_FOUND."""
        with self._engine.use() as engine:
            check(library().timbre_voice_remove(engine, _convert.string("id", id)))

    def list(self, prefix: str = "") -> List[str]:
        """Every id that begins with `prefix`, in byte order."""
        wanted = _convert.string("prefix", prefix)
        ids: List[str] = []
        page = ctypes.create_string_buffer(_PAGE_BYTES)
        size, count = ctypes.c_uint64(), ctypes.c_uint64()
        cursor = b""
        while True:
            with self._engine.use() as engine:
                check(library().timbre_voice_list(engine, wanted, cursor, page, _PAGE_BYTES, size, count))
            if count.value == 0:
                return ids
            entries = page.raw[: size.value].split(b"\0")[: count.value]
            ids.extend(entry.decode("utf-8") for entry in entries)
            cursor = entries[-1]

    def _no_lease(self) -> VoiceLease:
        return VoiceLease(self._library, _abi.Lease())

    def _get_rows(
        self, encoded: List[bytes], rows: List[int], slice_ms: int, answers: List[Union[VoiceLease, Error]]
    ) -> List[int]:
        """Asks for some rows and writes their answers. Returns those whose time was not enough."""
        count = len(rows)
        ids = (ctypes.c_char_p * max(count, 1))(*(encoded[row] for row in rows))
        c_leases = (_abi.Lease * max(count, 1))()
        leases = [VoiceLease(self._library, c_leases[i]) for i in range(count)]
        statuses = (ctypes.c_int32 * max(count, 1))(*[_UNTOLD] * count)
        with self._engine.use() as engine:
            status = self._library.timbre_voice_get_batch(engine, ids, count, slice_ms, c_leases, statuses)
        if status < 0 and (count == 0 or statuses[0] == _UNTOLD):
            check(status)
        text = self._library.timbre_last_error().decode("utf-8", "replace") if status < 0 else ""
        waiting = []
        for row, lease, row_status in zip(rows, leases, statuses):
            if row_status >= 0:
                answers[row] = lease
                continue
            # The text belongs to the first row that failed.
            answers[row] = Error(row_status, text or f"voice '{encoded[row].decode()}', row {row} of the batch")
            text = ""
            if row_status == Status.TIMEOUT:
                waiting.append(row)
        return waiting

    def _prefetch(self, timeout: Optional[float], call: Callable[..., int]) -> Prefetched:
        deadline = Deadline(timeout)
        ready, failed = ctypes.c_uint64(), ctypes.c_uint64()
        while True:
            with self._engine.use() as engine:
                status = check(call(engine, deadline.slice_ms(), ready, failed))
            if status != Status.PENDING or deadline.over:
                return Prefetched(ready.value, failed.value, status == Status.PENDING)


def _encoded_ids(ids: Iterable[str]) -> List[bytes]:
    if isinstance(ids, (str, bytes)):
        raise invalid(f"ids must be several, such as [{ids!r}]")
    try:
        wanted = list(ids)
    except TypeError:
        raise invalid(f"ids must be a sequence of str, not {type(ids).__name__}") from None
    return [_convert.string(f"ids[{row}]", id) for row, id in enumerate(wanted)]
