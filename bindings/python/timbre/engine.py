# SPDX-License-Identifier: MIT
"""The engine: owns the worker threads and the voices."""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any, Callable, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _abi, _convert
from ._handle import Handle, Owner
from ._library import check, library, share_torch
from ._wait import Deadline
from .cache import Health, Stats, read_health, read_stats
from .errors import invalid
from .model import Model
from .voices import Voices

Part = Union[str, "os.PathLike[str]", Mapping[str, bytes]]


class LogLine(NamedTuple):
    """One line of an engine's log."""

    level: str  # "info", "warning", "error"
    text: str


class Engine(Owner):
    """Runs models and keeps voices. A context manager; closing it cancels its utterances and ends the worker, and what its
    models and utterances are asked for then raises CLOSED.

    threads                1..256 compute threads; None: the cores this process may use, at most 4.
    store                  where voices are kept: "memory:", or "sqlite:PATH", a library on disk that several engines and
                           processes may use at once.
    precision              "auto", "fp32" or "bf16".
    device                 "auto", "cpu", "cuda", "cuda:N".
    allow_device_fallback  a missing device falls back to the CPU (`model.info.device` tells) instead of an error.
    thread_name            at most 15 bytes.
    thread_nice            -20..19, of the worker.
    thread_affinity        cores (0..63) the worker may run on.
    device_cache_bytes     the most bytes of device memory that cached voices may take; None: what free memory allows.
    host_cache_bytes       the same for host memory; with device "cpu" the two are one, and this must be None.
    policy                 which voice goes when room is needed: "lru", "lfu", "s3fifo", "auto".
    background             False: no thread of the engine looks after cache and store; the host calls `poll`.
    preheat                how many of the voices that were used most in earlier runs are loaded at the start, 0..256.
    espeak_library         the phonemizer's library; espeak_data: the folder that holds espeak-ng-data.
    """

    def __init__(
        self,
        threads: Optional[int] = None,
        store: str = "memory:",
        precision: str = "auto",
        device: str = "auto",
        *,
        device_cache_bytes: Optional[int] = None,
        host_cache_bytes: Optional[int] = None,
        policy: str = "auto",
        background: bool = True,
        preheat: Optional[int] = None,
        allow_device_fallback: bool = False,
        thread_name: Optional[str] = None,
        thread_nice: Optional[int] = None,
        thread_affinity: Optional[Iterable[int]] = None,
        espeak_library: Union[str, "os.PathLike[str]", None] = None,
        espeak_data: Union[str, "os.PathLike[str]", None] = None,
    ) -> None:
        config = _abi.EngineConfig()
        check(library().timbre_engine_config_init(config, config.struct_size))
        if threads is not None:
            config.thread_count = _convert.integer("threads", threads, 1, 256)
        config.store = _convert.string("store", store)
        config.precision = _convert.choice("precision", precision, _abi.PRECISIONS)
        config.device = _convert.string("device", device)
        config.allow_device_fallback = 1 if allow_device_fallback else 0
        config.device_cache_bytes = _bytes("device_cache_bytes", device_cache_bytes)
        config.host_cache_bytes = _bytes("host_cache_bytes", host_cache_bytes)
        config.policy = _convert.string("policy", policy)
        config.background = 1 if background else 0
        if preheat is not None:
            config.preheat_count = _convert.integer("preheat", preheat, 0, 256)
        config.thread_name = _convert.optional_string("thread_name", thread_name)
        if thread_nice is not None:
            config.thread_nice = _convert.integer("thread_nice", thread_nice, -20, 19)
        if thread_affinity is not None:
            config.thread_affinity = _core_mask(thread_affinity)
        if espeak_library is not None:
            config.espeak_library = _convert.path("espeak_library", espeak_library)
        if espeak_data is not None:
            config.espeak_data = _convert.path("espeak_data", espeak_data)
        pointer = ctypes.c_void_p()
        check(library().timbre_engine_create(config, pointer))
        self._handle = Handle("engine", pointer, library().timbre_engine_destroy)
        self.voices = Voices(self._handle)
        """The voices of this engine."""

    def load_model(
        self,
        path: Part,
        *more_parts: Part,
        progress: Optional[Callable[[float, str], Any]] = None,
        warm_up: bool = True,
    ) -> Model:
        """Loads a model and waits until it is ready.

        path, more_parts  a Piper .onnx (its .onnx.json beside it is found by itself), a Hugging Face VITS folder,
                          "tone:", patches and other parts; or {name: bytes} for parts in memory.
        progress          called with (fraction, stage) on this thread; returning False cancels the load, and an
                          exception that it raises (Ctrl-C too) cancels it and arrives here.
        warm_up           run a short utterance, so that the first real one is not slower.
        """
        if progress is not None and not callable(progress):
            raise invalid(f"progress must be a function, not {type(progress).__name__}")
        keep: List[Any] = []
        parts = [file for part in (path, *more_parts) for file in _model_files(part, keep)]
        files = (_abi.ModelFile * max(len(parts), 1))(*parts)
        if any(part.path != b"tone:" and part.name != b"tone:" for part in parts):
            share_torch()
        failure: List[BaseException] = []

        def on_progress(_user: Any, fraction: float, stage: bytes) -> int:
            try:
                go_on = progress is None or progress(fraction, stage.decode()) is not False
                return 0 if go_on and not self._handle.closing else 1
            except BaseException as error:  # noqa: BLE001: it must not go through C
                failure.append(error)
                return 1

        options = _abi.ModelOptions()
        check(library().timbre_model_options_init(options, options.struct_size))
        options.warm_up = 1 if warm_up else 0
        options.progress = c_progress = _abi.LoadProgress(on_progress)
        pointer = ctypes.c_void_p()
        size = ctypes.sizeof(_abi.ModelFile)
        with self._handle.use() as engine:
            status = library().timbre_model_load(engine, files, len(parts), size, options, pointer)
        del c_progress  # it had to live until here
        if failure:
            if pointer:
                library().timbre_model_release(pointer)
            raise failure[0]
        check(status)
        return Model(self, pointer)

    def set_budget(self, device: Optional[int] = None, host: Optional[int] = None) -> None:
        """The most bytes that cached voices may take from now on; None: what free memory allows. Leased voices stay.

        host  as the engine's host_cache_bytes.
        """
        device_bytes, host_bytes = _bytes("device", device), _bytes("host", host)
        with self._handle.use() as engine:
            check(library().timbre_engine_set_budget(engine, device_bytes, host_bytes))

    def trim(self, bytes: Optional[int] = None) -> int:
        """Gives memory of cached voices back now, the coldest first, and returns how many bytes went.

        bytes  at least so many, if leases allow it; None: all.
        """
        wanted = _bytes("bytes", bytes)
        freed = ctypes.c_uint64()
        with self._handle.use() as engine:
            check(library().timbre_engine_trim(engine, wanted, freed))
        return freed.value

    def poll(self, timeout: Optional[float] = 0) -> None:
        """Does the background work of the cache until nothing is left to do or the time, in seconds, is over.

        For an engine made with background=False, about ten times a second; harmless for others. None: no limit.
        """
        deadline = Deadline(timeout)
        while True:
            slice_ms = deadline.slice_ms()
            begin = time.monotonic()
            with self._handle.use() as engine:
                check(library().timbre_engine_poll(engine, slice_ms))
            if deadline.over or 1000 * (time.monotonic() - begin) < slice_ms:  # the slice ended by itself
                return

    def stats(self) -> Stats:
        """Counters and bytes of the cache of voices. Walks all entries."""
        stats = _abi.Stats()
        with self._handle.use() as engine:
            check(library().timbre_engine_stats(engine, stats))
        return read_stats(stats)

    def health(self) -> Health:
        """How the cache's memory is sized, and why."""
        health = _abi.Health()
        with self._handle.use() as engine:
            check(library().timbre_engine_health(engine, health))
        return read_health(health)

    def log(self) -> List[LogLine]:
        """Takes the log lines that wait, oldest first. timbre itself never prints any."""
        lines: List[LogLine] = []
        text = ctypes.create_string_buffer(4096)
        level = ctypes.c_int32()
        with self._handle.use() as engine:
            while check(library().timbre_log_next(engine, text, len(text), level)) == 0:
                name = _abi.LOG_LEVELS.get(level.value, str(level.value))
                lines.append(LogLine(name, text.value.decode("utf-8", "replace")))
        return lines


def _bytes(name: str, value: Optional[int]) -> int:
    return _abi.AUTO_U64 if value is None else _convert.integer(name, value, 0, _abi.AUTO_U64 - 1)


def _core_mask(cores: Iterable[int]) -> int:
    try:
        wanted = list(cores)
    except TypeError:
        raise invalid("thread_affinity must be core numbers, such as [0, 1]") from None
    mask = 0
    for core in wanted:
        mask |= 1 << _convert.integer("a core of thread_affinity", core, 0, 63)
    return mask


def _model_files(part: Part, keep: List[Any]) -> List[_abi.ModelFile]:
    if not isinstance(part, Mapping):
        file = _abi.ModelFile()
        file.path = _convert.path("a part of the model", part)
        return [file]
    files = []
    for name, data in part.items():
        view, address = _bytes_view(name, data)
        keep.append(view)
        file = _abi.ModelFile()
        file.name = _convert.string("a part's name", name)
        file.data = address
        file.size_bytes = len(view)
        files.append(file)
    return files


def _bytes_view(name: Any, data: Any) -> Tuple[bytes, Any]:
    """Bytes that stay alive, and their address; bytes are not copied, other buffers are."""
    try:
        view = data if isinstance(data, bytes) else bytes(memoryview(data))
    except TypeError:
        raise invalid(f"part {name!r} must be bytes, not {type(data).__name__}") from None
    return view, ctypes.cast(ctypes.c_char_p(view), ctypes.c_void_p)
