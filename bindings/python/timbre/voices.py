# SPDX-License-Identifier: MIT
"""Voices: named tensors under an id, bound to the model that they fit."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Union

import numpy as np

from . import _abi, _convert
from ._handle import Handle
from ._library import check, library

if TYPE_CHECKING:
    from .model import Model

_PAGE_BYTES = 64 * 1024  # an id has at most 512


class Voices:
    """The voices of an engine, as `engine.voices`. Any thread may use it."""

    def __init__(self, engine: Handle) -> None:
        self._engine = engine

    def put(
        self,
        id: str,
        tensors: Optional[Mapping[str, np.ndarray]] = None,
        *,
        model: Union[str, Model, None] = None,
        speaker: Optional[int] = None,
        ephemeral: bool = False,
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
        version = ctypes.c_uint64()
        with self._engine.use() as engine:
            check(library().timbre_voice_put(engine, _convert.string("id", id), record, options, version))
        del keep
        return version.value

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
