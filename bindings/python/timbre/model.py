# SPDX-License-Identifier: MIT
"""A loaded model, shared by all its utterances."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import TYPE_CHECKING, Any, List, Optional

import numpy as np

from . import _abi, _convert
from ._handle import Handle, Owner
from ._library import check, library
from .errors import invalid
from .speech import _DEFAULT_CHUNK, Options, Speech, open_speech, precision_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .engine import Engine


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    """Facts about a loaded model."""

    sample_rate: int
    speakers: int  # in the model's own table, 1 for a single-speaker model
    voice_dim: int  # length of a voice's vector "g"; 0: no conditioning
    hop_samples: int
    token_count: int
    noise_scale: float
    length_scale: float
    noise_w: float
    precision: str
    fingerprint: str
    family: str  # "piper", "hf-vits", "tone"
    name: str
    device: str
    instruction_set: str
    front_end: str
    language: str


@dataclasses.dataclass(frozen=True)
class Token:
    """One token of the model's input; the source is given in bytes of the UTF-8 text."""

    id: int
    source_begin: int
    source_end: int
    sentence: int


@dataclasses.dataclass(frozen=True)
class Tokens:
    """What a text becomes."""

    tokens: List[Token]
    skipped_symbols: int

    @property
    def ids(self) -> List[int]:
        return [token.id for token in self.tokens]

    def __len__(self) -> int:
        return len(self.tokens)


class Model(Owner):
    """A model of an engine. Made by `Engine.load_model`; any thread may use it. Keeps its engine open.

    A context manager; utterances that run keep the model after it is closed.
    """

    def __init__(self, engine: Engine, pointer: ctypes.c_void_p) -> None:
        self._engine = engine
        self._handle = Handle("model", pointer, library().timbre_model_release)
        self.info = self._read_info()
        """Facts about the model, as `ModelInfo`."""
        self.speaker_names = self._read_speaker_names()
        """Names of the speakers in the model's own table."""

    @property
    def sample_rate(self) -> int:
        """Of the samples, in Hz."""
        return self.info.sample_rate

    @property
    def speakers(self) -> int:
        """How many speakers the model's own table has."""
        return self.info.speakers

    @property
    def voice_dim(self) -> int:
        """Length of a voice's vector "g"; 0 for a model without conditioning."""
        return self.info.voice_dim

    @property
    def fingerprint(self) -> str:
        """32 hex digits: what a voice of this model must name."""
        return self.info.fingerprint

    def speaker_vector(self, speaker: int) -> np.ndarray:
        """The vector "g" of a speaker, float32 [voice_dim], to be put as a voice or blended."""
        index = _convert.integer("speaker", speaker, 0, 2**31 - 1)
        out = np.empty(max(self.voice_dim, 1), np.float32)
        target = ctypes.cast(out.ctypes.data, ctypes.POINTER(ctypes.c_float))
        count = ctypes.c_uint64()
        with self._handle.use() as model:
            check(library().timbre_model_speaker_vector(model, index, target, out.size, count))
        return out[: count.value]

    def tokenize(self, text: Optional[str] = None, *, phonemes: Optional[str] = None) -> Tokens:
        """Shows what a text, or a phoneme string, becomes."""
        if (text is None) == (phonemes is None):
            raise invalid("exactly one of text and phonemes is needed")
        kind = _abi.INPUT_TEXT if text is not None else _abi.INPUT_PHONEMES
        source = _convert.text("text" if text is not None else "phonemes", text if text is not None else phonemes)
        count, skipped = ctypes.c_uint64(), ctypes.c_uint64()
        size = ctypes.sizeof(_abi.Token)
        tokenize = library().timbre_model_tokenize
        with self._handle.use() as model:
            check(tokenize(model, source, len(source), kind, size, None, 0, count, skipped))
            page = (_abi.Token * max(count.value, 1))()
            check(tokenize(model, source, len(source), kind, size, page, count.value, count, skipped))
        tokens = [Token(t.id, t.source_begin, t.source_end, t.sentence) for t in page[: count.value]]
        return Tokens(tokens, skipped.value)

    def synthesize(self, text: Optional[str] = None, **options: Unpack[Options]) -> np.ndarray:
        """Speaks and returns all samples: float32, mono, in [-1, 1]. Arguments: see `Options`."""
        with open_speech(self, text, _DEFAULT_CHUNK, options) as speech:
            return speech.read_all()

    def stream(
        self, text: Optional[str] = None, *, chunk_samples: int = _DEFAULT_CHUNK, **options: Unpack[Options]
    ) -> Speech:
        """Begins to speak and returns an iterator of float32 arrays of at most `chunk_samples` samples.

        Takes the same arguments as `synthesize`. Closing or dropping the iterator cancels the rest.
        """
        return open_speech(self, text, chunk_samples, options)

    def _read_info(self) -> ModelInfo:
        details = _abi.ModelDetails()
        with self._handle.use() as model:
            check(library().timbre_model_info(model, details))
        strings = ("fingerprint", "family", "name", "device", "instruction_set", "front_end", "language")
        facts: dict[str, Any] = {name: (getattr(details, name) or b"").decode("utf-8", "replace") for name in strings}
        return ModelInfo(
            sample_rate=details.sample_rate_hz,
            speakers=details.speaker_count,
            voice_dim=details.voice_dim,
            hop_samples=details.hop_samples,
            token_count=details.token_count,
            noise_scale=details.noise_scale,
            length_scale=details.length_scale,
            noise_w=details.noise_w,
            precision=precision_name(details.precision),
            **facts,
        )

    def _read_speaker_names(self) -> List[str]:
        names = []
        name = ctypes.c_char_p()
        with self._handle.use() as model:
            for speaker in range(self.info.speakers):
                check(library().timbre_model_speaker_name(model, speaker, name))
                names.append((name.value or b"").decode("utf-8", "replace"))
        return names
