# SPDX-License-Identifier: MIT
"""Utterances: what to say and how (`Options`), and the running thing itself (`Speech`)."""

from __future__ import annotations

import ctypes
import dataclasses
import threading
import time
from typing import TYPE_CHECKING, Any, Iterator, List, Literal, Mapping, Optional, Sequence, TypedDict, Union

import numpy as np

from . import _abi, _convert
from ._handle import Handle, Owner
from ._library import check, library
from ._wait import SLICE_MS, seconds
from .errors import Error, Status, invalid
from .lease import VoiceLease

if TYPE_CHECKING:
    from .model import Model

_DEFAULT_CHUNK = 4096
_PAGE = 512
_MAX_SILENCE_S = 60  # as the C ABI


class Options(TypedDict, total=False):
    """Keyword arguments of `Model.synthesize` and `Model.stream`. What is left out, or None, is the voice's or model's.

    ids               token ids, the whole input of the model (bos, pads and eos included); instead of a text.
    phonemes          a phoneme string; instead of a text.
    voice             id of a stored voice, or a held lease: that version of it.
    speaker           index or name in the model's own table.
    tensors           {"g": vector}, a voice that is not stored.
    seed              0..2**64-1, or "random"; the same seed gives the same samples.
    noise_scale, length_scale, noise_w   finite, >= 0 (length_scale > 0); 0 is honoured.
    durations         frames for each id instead of predicted ones; only with ids.
    gain              linear factor.
    sample_rate       8,000..192,000 Hz, resampled.
    sentence_silence  seconds of silence between sentences, 0..60.
    unknown_symbols   "count" (skip them) or "error".
    ring_samples      synthesis pauses when so many samples wait to be read.
    """

    ids: Optional[Union[Sequence[int], np.ndarray]]
    phonemes: Optional[str]
    voice: Union[str, VoiceLease, None]
    speaker: Union[int, str, None]
    tensors: Optional[Mapping[str, np.ndarray]]
    seed: Union[int, Literal["random"], None]
    noise_scale: Optional[float]
    length_scale: Optional[float]
    noise_w: Optional[float]
    durations: Optional[Union[Sequence[int], np.ndarray]]
    gain: Optional[float]
    sample_rate: Optional[int]
    sentence_silence: Optional[float]
    unknown_symbols: Literal["count", "error"]
    ring_samples: Optional[int]


@dataclasses.dataclass(frozen=True)
class SpeechInfo:
    """What is known of an utterance so far."""

    sample_rate: int
    samples_ready: int
    samples_read: int
    samples_total: Optional[int]  # None until it is known
    seed: int
    voice_version: int  # 0 without a stored voice
    skipped_symbols: int
    split_pieces: int
    sentences: int
    precision: str
    empty_reason: Optional[str]  # why there is no audio: "no text", "no known symbol"
    state: int  # Status.PENDING while it runs, Status.DONE, or the error that ended it


@dataclasses.dataclass(frozen=True)
class Mark:
    """When a token sounds: for lip sync and subtitles. Positions are bytes of the UTF-8 text."""

    token: int
    source_begin: int
    source_end: int
    first_sample: int
    sample_count: int
    sentence: int


@dataclasses.dataclass(frozen=True)
class Chunk:
    """One chunk of audio; times in seconds."""

    sentence: int
    first_sample: int
    sample_count: int
    flow: float
    decoder: float
    ready: float  # from open until its samples could be read


@dataclasses.dataclass(frozen=True)
class Timeline:
    """Where the time went, in seconds, summed over the sentences so far. None = has not happened yet."""

    chunks: int
    queue: Optional[float]
    text: Optional[float]
    encoder: Optional[float]
    durations: Optional[float]
    flow: Optional[float]
    decoder: Optional[float]
    first_audio: Optional[float]
    total: Optional[float]
    read_wait: Optional[float]


class Speech(Owner):
    """An utterance that runs: an iterator of float32 arrays, each one its own.

    One thread reads at a time; cancel, info, marks and timeline may be called from any thread. Closing it, leaving its
    `with` block or dropping it cancels what still runs.
    """

    def __init__(self, model: Model, request: _abi.SpeechRequest, chunk_samples: int) -> None:
        lib = library()
        self._model = model  # keeps model and engine open
        self._chunk_samples = chunk_samples
        self._reading = threading.Lock()
        pointer = ctypes.c_void_p()
        with model._handle.use() as model_pointer:
            check(lib.timbre_speech_open(model_pointer, request, pointer))
        self._handle = Handle("speech", pointer, lib.timbre_speech_close, lib.timbre_speech_cancel)

    def __iter__(self) -> Iterator[np.ndarray]:
        return self

    def __next__(self) -> np.ndarray:
        if self._handle.closing:
            raise StopIteration
        chunk = self.read(self._chunk_samples)
        if chunk.size == 0:
            raise StopIteration
        return chunk

    def read(self, max_samples: int = _DEFAULT_CHUNK, timeout: Optional[float] = None) -> np.ndarray:
        """The next 1..max_samples samples, or an empty array after the last one.

        timeout  in seconds, None = no limit. When it passes, Error with TIMEOUT; nothing is lost.
        """
        capacity = _convert.integer("max_samples", max_samples, 1, 2**31)
        wait = seconds("timeout", timeout)
        deadline = None if wait is None else time.monotonic() + wait
        out = np.empty(capacity, np.float32)
        target = ctypes.cast(out.ctypes.data, ctypes.POINTER(ctypes.c_float))
        count = ctypes.c_uint64()
        lib = library()
        with self._reading, self._handle.use() as speech:
            while True:
                if deadline is None:
                    status = lib.timbre_speech_read(speech, target, capacity, count)
                    if status != Status.TIMEOUT:
                        break
                    continue
                status = lib.timbre_speech_try_read(speech, target, capacity, count)
                if status != Status.PENDING:
                    break
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Error(Status.TIMEOUT, f"no sample within {timeout} s")
                time.sleep(min(left, 0.001))
            check(status)
        samples = int(count.value)
        return out if samples == capacity else out[:samples].copy()

    def read_all(self) -> np.ndarray:
        """Everything that is still to come."""
        chunks: List[np.ndarray] = []
        while True:
            chunk = self.read(65536)
            if chunk.size == 0:
                return np.concatenate(chunks) if chunks else chunk
            chunks.append(chunk)

    def cancel(self) -> None:
        """Ends the utterance; a waiting reader gets CANCELLED."""
        with self._handle.use() as speech:
            check(library().timbre_speech_cancel(speech))

    def info(self) -> SpeechInfo:
        details = _abi.SpeechDetails()
        with self._handle.use() as speech:
            check(library().timbre_speech_info(speech, details))
        return SpeechInfo(
            sample_rate=details.sample_rate_hz,
            samples_ready=details.samples_ready,
            samples_read=details.samples_read,
            samples_total=None if details.samples_total == _abi.AUTO_U64 else details.samples_total,
            seed=details.seed,
            voice_version=details.voice_version,
            skipped_symbols=details.skipped_symbols,
            split_pieces=details.split_pieces,
            sentences=details.sentence_count,
            precision=precision_name(details.precision),
            empty_reason=_abi.EMPTY_REASONS.get(details.empty_reason, "unknown"),
            state=details.state,
        )

    def marks(self, first: int = 0) -> List[Mark]:
        """The marks known so far, from number `first` on."""
        return [
            Mark(m.token, m.source_begin, m.source_end, m.first_sample, m.sample_count, m.sentence)
            for m in self._pages(library().timbre_speech_marks, _abi.Mark, first)
        ]

    def chunks(self, first: int = 0) -> List[Chunk]:
        """The chunks that are ready, from number `first` on."""
        return [
            Chunk(c.sentence, c.first_sample, c.sample_count, c.flow_us * 1e-6, c.decoder_us * 1e-6, c.ready_us * 1e-6)
            for c in self._pages(library().timbre_speech_chunks, _abi.Chunk, first)
        ]

    def _pages(self, copy: Any, element: Any, first: int) -> Iterator[Any]:
        at = _convert.integer("first", first, 0, 2**63)
        count = ctypes.c_uint64()
        while True:
            page = (element * _PAGE)()
            with self._handle.use() as speech:
                check(copy(speech, at, ctypes.sizeof(element), page, _PAGE, count))
            if count.value == 0:
                return
            yield from page[: count.value]
            at += count.value

    def timeline(self) -> Timeline:
        times = _abi.SpeechTimes()
        with self._handle.use() as speech:
            check(library().timbre_speech_timeline(speech, times))
        names = [field.name for field in dataclasses.fields(Timeline) if field.name != "chunks"]
        values = {name: getattr(times, name + "_us") for name in names}
        seconds = {name: None if us == _abi.AUTO_U64 else us * 1e-6 for name, us in values.items()}
        return Timeline(chunks=times.chunk_count, **seconds)


def precision_name(number: int) -> str:
    return next((name for name, value in _abi.PRECISIONS.items() if value == number), "unknown")


def open_speech(model: Model, text: Optional[str], chunk_samples: int, options: Mapping[str, Any]) -> Speech:
    """Checks the arguments, builds the request and opens it."""
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise invalid(f"unknown argument {', '.join(sorted(unknown))}")
    given = {name: value for name, value in options.items() if value is not None}
    request = _abi.SpeechRequest()
    check(library().timbre_speech_request_init(request, request.struct_size))
    request.read_timeout_ms = SLICE_MS
    keep: List[Any] = []
    _set_input(request, text, given, keep)
    _set_voice(request, model, given, keep)
    _set_manner(request, given, keep)
    capacity = _convert.integer("chunk_samples", chunk_samples, 1, 2**31)
    lease = given.get("voice")
    if isinstance(lease, VoiceLease):
        with lease._locked():
            request.lease = ctypes.pointer(lease._held())
            return Speech(model, request, capacity)
    return Speech(model, request, capacity)


def _set_input(request: _abi.SpeechRequest, text: Any, given: Mapping[str, Any], keep: List[Any]) -> None:
    inputs = [name for name, there in (("text", text is not None), ("ids", "ids" in given)) if there]
    inputs += ["phonemes"] if "phonemes" in given else []
    if len(inputs) != 1:
        raise invalid("exactly one of text, ids and phonemes is needed" + (f", not {inputs}" if inputs else ""))
    if "ids" in given:
        ids = _convert.int32_array("ids", given["ids"], Status.INVALID_TOKEN)
        keep.append(ids)
        request.input_kind = _abi.INPUT_IDS
        request.ids = _convert.int32_pointer(ids)
        request.id_count = ids.size
    else:
        request.input_kind = _abi.INPUT_TEXT if text is not None else _abi.INPUT_PHONEMES
        encoded = _convert.text(inputs[0], text if text is not None else given["phonemes"])
        request.text = encoded
        request.text_bytes = len(encoded)
    if "durations" in given:
        durations = _convert.int32_array("durations", given["durations"])
        keep.append(durations)
        request.durations = _convert.int32_pointer(durations)
        request.duration_count = durations.size


def _set_voice(request: _abi.SpeechRequest, model: Model, given: Mapping[str, Any], keep: List[Any]) -> None:
    if "voice" in given and not isinstance(given["voice"], VoiceLease):
        request.voice = _convert.string("voice", given["voice"])
    if "tensors" in given:
        request.tensors, request.tensor_count, kept = _convert.tensors(given["tensors"])
        request.tensor_size = ctypes.sizeof(_abi.Tensor)
        keep.append(kept)
    if "speaker" in given:
        speaker = given["speaker"]
        if isinstance(speaker, str):
            speaker = _speaker_index(model, speaker)
        request.speaker = _convert.integer("speaker", speaker, 0, 2**31 - 1)


def _speaker_index(model: Model, speaker: str) -> int:
    names = model.speaker_names
    if speaker and speaker in names:
        return names.index(speaker)
    known = ", ".join(repr(name) for name in names if name)
    if not known:
        known = "one speaker and no name" if model.speakers == 1 else f"{model.speakers} speakers and no names"
    raise Error(Status.NOT_FOUND, f"no speaker {speaker!r}; this model has {known}")


def _set_manner(request: _abi.SpeechRequest, given: Mapping[str, Any], keep: List[Any]) -> None:
    for name in ("noise_scale", "length_scale", "noise_w", "gain"):
        if name in given:
            setattr(request, name, _convert.real(name, given[name]))
    if isinstance(given.get("seed"), str) and given["seed"] == "random":
        request.flags |= _abi.SPEECH_RANDOM_SEED
    elif "seed" in given:
        request.seed = _convert.integer("seed", given["seed"], 0, 2**64 - 1)
    if "sample_rate" in given:
        request.output_sample_rate_hz = _convert.integer("sample_rate", given["sample_rate"], 1, 2**32 - 2)
    if "sentence_silence" in given:
        seconds = _convert.real("sentence_silence", given["sentence_silence"])
        if not 0 <= seconds <= _MAX_SILENCE_S:
            raise invalid(f"sentence_silence is {seconds} s, outside 0..{_MAX_SILENCE_S}")
        request.sentence_silence_ms = round(1000 * seconds)
    if "unknown_symbols" in given:
        request.unknown_symbols = _convert.choice("unknown_symbols", given["unknown_symbols"], _abi.UNKNOWN_SYMBOLS)
    if "ring_samples" in given:
        request.ring_samples = _convert.integer("ring_samples", given["ring_samples"], 0, 2**64 - 2)
