# SPDX-License-Identifier: MIT
"""The C ABI in ctypes: structs, constants and prototypes, in the order of include/timbre/c/*.h.

Fields are only ever appended to a struct of the ABI, and every struct tells its own size, so this file works with
every later library of the same major version.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_float, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

ABI_MAJOR = 0

PRECISIONS = {"auto": 0, "fp32": 1, "bf16": 2}
LOG_LEVELS = {0: "info", 1: "warning", 2: "error"}
INPUT_TEXT, INPUT_PHONEMES, INPUT_IDS = 0, 1, 2
UNKNOWN_SYMBOLS = {"count": 0, "error": 1}
EMPTY_REASONS = {0: None, 1: "no text", 2: "no known symbol"}
SPEECH_RANDOM_SEED = 1
DTYPES = {"float32": 1, "float16": 2, "bfloat16": 3, "int32": 4, "int64": 5}
TIERS = {0: "none", 1: "store", 2: "host", 3: "device"}
EVICTION_CAUSES = {0: None, 1: "room", 2: "budget", 3: "trim", 4: "removed", 5: "replaced", 6: "cleared"}
AUTO_I32 = -(2**31)
AUTO_U64 = 2**64 - 1
AUTO_F32 = -3.4028234663852886e38


class Struct(ctypes.Structure):
    """An open struct: begins with its size, and everything else is zero."""

    struct_size: int

    def __init__(self) -> None:
        super().__init__()
        self.struct_size = ctypes.sizeof(self)


class EngineConfig(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("thread_count", c_uint32),
        ("device", c_char_p),
        ("allow_device_fallback", c_int32),
        ("precision", c_int32),
        ("store", c_char_p),
        ("thread_name", c_char_p),
        ("thread_nice", c_int32),
        ("thread_affinity", c_uint64),
        ("espeak_library", c_char_p),
        ("espeak_data", c_char_p),
        ("device_cache_bytes", c_uint64),
        ("host_cache_bytes", c_uint64),
        ("policy", c_char_p),
        ("background", c_int32),
        ("preheat_count", c_uint64),
    ]


class Stats(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("entries", c_uint64),
        ("leases", c_uint64),
        ("hits", c_uint64),
        ("misses", c_uint64),
        ("inserts", c_uint64),
        ("evicted_for_room", c_uint64),
        ("evicted_for_budget", c_uint64),
        ("evicted_for_trim", c_uint64),
        ("replaced", c_uint64),
        ("removed", c_uint64),
        ("budget_bytes", c_uint64),
        ("held_bytes", c_uint64),
        ("leased_bytes", c_uint64),
        ("retired_bytes", c_uint64),
        ("transient_bytes", c_uint64),
        ("largest_free_bytes", c_uint64),
        ("overhead_bytes", c_uint64),
        ("loads", c_uint64),
        ("load_failures", c_uint64),
        ("not_found", c_uint64),
        ("negative_hits", c_uint64),
        ("refused_records", c_uint64),
        ("written_exports", c_uint64),
        ("store_changes", c_uint64),
        ("store_damaged_loads", c_uint64),
        ("store_log_bytes", c_uint64),
        ("store_pending_erasures", c_uint64),
    ]


class Health(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("memory_unreadable", c_int32),
        ("budget_bytes", c_uint64),
        ("cap_bytes", c_uint64),
        ("held_bytes", c_uint64),
        ("leased_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("total_bytes", c_uint64),
        ("headroom_bytes", c_uint64),
        ("change_from_bytes", c_uint64),
        ("change_to_bytes", c_uint64),
        ("change_age_ms", c_uint64),
        ("reason", c_char_p),
        ("change_reason", c_char_p),
        ("readings", c_uint64),
        ("failed_readings", c_uint64),
        ("impossible_readings", c_uint64),
        ("shrinks", c_uint64),
        ("grows", c_uint64),
        ("floor_hits", c_uint64),
        ("store_read_only", c_int32),
        ("store_log_over_limit", c_int32),
        ("store_failures", c_uint64),
        ("store_look_age_ms", c_uint64),
    ]


class ModelFile(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char_p),
        ("path", c_char_p),
        ("data", c_void_p),
        ("size_bytes", c_uint64),
    ]


LoadProgress = ctypes.CFUNCTYPE(c_int32, c_void_p, c_float, c_char_p)


class ModelOptions(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("warm_up", c_int32),
        ("progress", LoadProgress),
        ("progress_user", c_void_p),
    ]


class ModelDetails(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("sample_rate_hz", c_uint32),
        ("speaker_count", c_uint32),
        ("voice_dim", c_uint32),
        ("hop_samples", c_uint32),
        ("token_count", c_uint32),
        ("noise_scale", c_float),
        ("length_scale", c_float),
        ("noise_w", c_float),
        ("precision", c_int32),
        ("fingerprint", c_char_p),
        ("family", c_char_p),
        ("name", c_char_p),
        ("device", c_char_p),
        ("instruction_set", c_char_p),
        ("front_end", c_char_p),
        ("language", c_char_p),
    ]


class Token(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("id", c_int32),
        ("source_begin", c_uint64),
        ("source_end", c_uint64),
        ("sentence", c_uint32),
        ("reserved", c_uint32),
    ]


class Tensor(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_int32),
        ("name", c_char_p),
        ("data", c_void_p),
        ("size_bytes", c_uint64),
        ("rank", c_uint32),
        ("reserved", c_uint32),
        ("shape", c_int64 * 4),
    ]


class VoiceRecord(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tensor_size", c_uint32),
        ("tensors", POINTER(Tensor)),
        ("tensor_count", c_uint64),
        ("model_fingerprint", c_char_p),
        ("encoder", c_char_p),
        ("language", c_char_p),
        ("note", c_char_p),
        ("speaker", c_int32),
        ("normalised", c_int32),
        ("sample_rate_hz", c_uint32),
        ("noise_scale", c_float),
        ("length_scale", c_float),
        ("noise_w", c_float),
    ]


class VoicePutOptions(Struct):
    _fields_ = [("struct_size", c_uint32), ("ephemeral", c_int32), ("expected_version", c_uint64)]


class Lease(ctypes.Structure):
    """A closed struct: it has no size of its own and never grows. All zero: no lease."""

    _fields_ = [("owner", c_void_p), ("token", c_uint64)]


class VoiceDetails(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tensor_count", c_uint32),
        ("version", c_uint64),
        ("checksum", c_uint64),
        ("size_bytes", c_uint64),
        ("model_fingerprint", c_char_p),
        ("speaker", c_int32),
        ("normalised", c_int32),
        ("sample_rate_hz", c_uint32),
        ("noise_scale", c_float),
        ("length_scale", c_float),
        ("noise_w", c_float),
    ]


class VoiceExplanation(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tier", c_int32),
        ("version", c_uint64),
        ("checksum", c_uint64),
        ("size_bytes", c_uint64),
        ("leases", c_uint64),
        ("eviction_cause", c_int32),
        ("loading", c_int32),
        ("eviction_age_ms", c_uint64),
        ("known_missing", c_int32),
        ("recent_uses", c_uint32),
    ]


class SpeechRequest(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("input_kind", c_int32),
        ("text", c_char_p),
        ("text_bytes", c_uint64),
        ("ids", POINTER(c_int32)),
        ("id_count", c_uint64),
        ("voice", c_char_p),
        ("tensors", POINTER(Tensor)),
        ("tensor_count", c_uint64),
        ("tensor_size", c_uint64),
        ("speaker", c_int32),
        ("unknown_symbols", c_int32),
        ("noise_scale", c_float),
        ("length_scale", c_float),
        ("noise_w", c_float),
        ("gain", c_float),
        ("seed", c_uint64),
        ("flags", c_uint32),
        ("sentence_silence_ms", c_uint32),
        ("output_sample_rate_hz", c_uint32),
        ("read_timeout_ms", c_int32),
        ("ring_samples", c_uint64),
        ("durations", POINTER(c_int32)),
        ("duration_count", c_uint64),
        ("lease", POINTER(Lease)),
    ]


class SpeechDetails(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("sample_rate_hz", c_uint32),
        ("samples_ready", c_uint64),
        ("samples_read", c_uint64),
        ("samples_total", c_uint64),
        ("seed", c_uint64),
        ("voice_version", c_uint64),
        ("skipped_symbols", c_uint64),
        ("split_pieces", c_uint64),
        ("sentence_count", c_uint32),
        ("precision", c_int32),
        ("empty_reason", c_int32),
        ("state", c_int32),
    ]


class Mark(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("token", c_int32),
        ("source_begin", c_uint64),
        ("source_end", c_uint64),
        ("first_sample", c_uint64),
        ("sample_count", c_uint64),
        ("sentence", c_uint32),
        ("reserved", c_uint32),
    ]


class Chunk(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("sentence", c_uint32),
        ("first_sample", c_uint64),
        ("sample_count", c_uint64),
        ("flow_us", c_uint64),
        ("decoder_us", c_uint64),
        ("ready_us", c_uint64),
    ]


class SpeechTimes(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("chunk_count", c_uint32),
        ("queue_us", c_uint64),
        ("text_us", c_uint64),
        ("encoder_us", c_uint64),
        ("durations_us", c_uint64),
        ("flow_us", c_uint64),
        ("decoder_us", c_uint64),
        ("first_audio_us", c_uint64),
        ("total_us", c_uint64),
        ("read_wait_us", c_uint64),
    ]


_Handle = c_void_p
_Out = POINTER(c_void_p)
_Count = POINTER(c_uint64)
_Lease = POINTER(Lease)
_Ids = POINTER(c_char_p)

PROTOTYPES: dict[str, list[Any]] = {
    "timbre_engine_config_init": [POINTER(EngineConfig), c_uint32],
    "timbre_engine_create": [POINTER(EngineConfig), _Out],
    "timbre_engine_destroy": [_Handle],
    "timbre_engine_set_budget": [_Handle, c_uint64, c_uint64],
    "timbre_engine_trim": [_Handle, c_uint64, _Count],
    "timbre_engine_poll": [_Handle, c_int32],
    "timbre_engine_stats": [_Handle, POINTER(Stats)],
    "timbre_engine_health": [_Handle, POINTER(Health)],
    "timbre_log_next": [_Handle, c_char_p, c_uint64, POINTER(c_int32)],
    "timbre_model_options_init": [POINTER(ModelOptions), c_uint32],
    "timbre_model_load": [_Handle, POINTER(ModelFile), c_uint64, c_uint64, POINTER(ModelOptions), _Out],
    "timbre_model_info": [_Handle, POINTER(ModelDetails)],
    "timbre_model_speaker_name": [_Handle, c_int32, POINTER(c_char_p)],
    "timbre_model_speaker_vector": [_Handle, c_int32, POINTER(c_float), c_uint64, _Count],
    "timbre_model_tokenize": [_Handle, c_char_p, c_uint64, c_int32, c_uint64, POINTER(Token), c_uint64, _Count, _Count],
    "timbre_model_release": [_Handle],
    "timbre_voice_record_init": [POINTER(VoiceRecord), c_uint32],
    "timbre_voice_put_options_init": [POINTER(VoicePutOptions), c_uint32],
    "timbre_voice_put": [_Handle, c_char_p, POINTER(VoiceRecord), POINTER(VoicePutOptions), _Count],
    "timbre_voice_remove": [_Handle, c_char_p],
    "timbre_voice_list": [_Handle, c_char_p, c_char_p, c_void_p, c_uint64, _Count, _Count],
    "timbre_voice_get": [_Handle, c_char_p, c_int32, _Lease],
    "timbre_voice_try_get": [_Handle, c_char_p, _Lease],
    "timbre_voice_get_batch": [_Handle, _Ids, c_uint64, c_int32, _Lease, POINTER(c_int32)],
    "timbre_voice_info": [_Lease, POINTER(VoiceDetails)],
    "timbre_voice_tensor_name": [_Lease, c_uint32, POINTER(c_char_p)],
    "timbre_voice_tensor": [_Lease, c_char_p, POINTER(Tensor)],
    "timbre_voice_dlpack": [_Lease, c_char_p, _Out],
    "timbre_voice_wait_on": [_Lease, c_uint64],
    "timbre_voice_release": [_Lease],
    "timbre_voice_release_on": [_Lease, c_uint64],
    "timbre_voice_prefetch": [_Handle, _Ids, c_uint64, c_int32, _Count, _Count],
    "timbre_voice_prefetch_top": [_Handle, c_uint64, c_int32, _Count, _Count],
    "timbre_voice_explain": [_Handle, c_char_p, POINTER(VoiceExplanation)],
    "timbre_speech_request_init": [POINTER(SpeechRequest), c_uint32],
    "timbre_speech_open": [_Handle, POINTER(SpeechRequest), _Out],
    "timbre_speech_read": [_Handle, POINTER(c_float), c_uint64, _Count],
    "timbre_speech_try_read": [_Handle, POINTER(c_float), c_uint64, _Count],
    "timbre_speech_cancel": [_Handle],
    "timbre_speech_info": [_Handle, POINTER(SpeechDetails)],
    "timbre_speech_marks": [_Handle, c_uint64, c_uint64, POINTER(Mark), c_uint64, _Count],
    "timbre_speech_chunks": [_Handle, c_uint64, c_uint64, POINTER(Chunk), c_uint64, _Count],
    "timbre_speech_timeline": [_Handle, POINTER(SpeechTimes)],
    "timbre_speech_close": [_Handle],
}


def declare(library: ctypes.CDLL) -> None:
    """Gives every function its types. Raises AttributeError where the library lacks one."""
    for name, arguments in PROTOTYPES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int32
    library.timbre_status_name.argtypes = [c_int32]
    library.timbre_status_name.restype = c_char_p
    library.timbre_last_error.argtypes = []
    library.timbre_last_error.restype = c_char_p
    library.timbre_version.argtypes = [POINTER(c_uint32)] * 3
    library.timbre_version.restype = c_char_p
