# SPDX-License-Identifier: MIT
"""What the cache of voices holds, how large it may be, and why: docs/bank.md and docs/budget.md."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Optional

from . import _abi


@dataclasses.dataclass(frozen=True)
class Stats:
    """Counters of the cache since the engine was made, and bytes at this moment."""

    entries: int
    leases: int  # that are out
    hits: int
    misses: int
    inserts: int
    evicted_for_room: int
    evicted_for_budget: int
    evicted_for_trim: int
    replaced: int
    removed: int
    budget_bytes: int
    held_bytes: int
    leased_bytes: int
    retired_bytes: int  # old versions that are still leased
    transient_bytes: int  # outside the budget, where all in it was leased
    largest_free_bytes: int
    overhead_bytes: int  # of the cache itself, beside the voices
    loads: int  # reads of the store that were begun
    load_failures: int
    not_found: int
    negative_hits: int  # misses answered without a read, because the voice was looked for within the last second
    refused_records: int
    written_exports: int  # exported voices that somebody wrote into
    store_changes: int  # voices that other processes have put or removed
    store_damaged_loads: int  # loads that found damage
    store_log_bytes: int  # of the store's write-ahead log
    store_pending_erasures: int  # removals whose bytes are still in that log, because a reader needs it


@dataclasses.dataclass(frozen=True)
class Health:
    """How the cache's memory is sized, and why."""

    memory_unreadable: bool  # a reading failed or was impossible; the cache goes by the last one it trusts
    budget_bytes: int
    cap_bytes: Optional[int]  # what the host allows at most; None: what free memory allows
    held_bytes: int
    leased_bytes: int
    free_bytes: int
    total_bytes: int
    headroom_bytes: int
    change_from_bytes: int
    change_to_bytes: int
    change_age: Optional[float]  # seconds since the last change of the budget
    reason: str  # why the budget is what it is: "cap", "pressure", ...
    change_reason: str
    readings: int
    failed_readings: int
    impossible_readings: int
    shrinks: int
    grows: int
    floor_hits: int
    store_read_only: bool
    store_log_over_limit: bool  # the store's log is above 64 MiB, because a reader needs it
    store_failures: int  # background work on the store that failed; the log tells why
    store_look_age: Optional[float]  # seconds since others' writes were last looked for; None: nobody else writes


class Prefetched(NamedTuple):
    """What a prefetch has come to."""

    ready: int  # voices that are there now
    failed: int  # voices that are not to be had; the log tells why of the first
    pending: bool  # some are still being loaded; that goes on in the background


@dataclasses.dataclass(frozen=True)
class VoiceExplanation:
    """Why a voice is where it is."""

    tier: str  # "none", "store", "host" or "device": the fastest that has it
    version: int
    checksum: int
    size_bytes: int
    leases: Optional[int]  # None where that cannot be told
    eviction_cause: Optional[str]  # why it last left: "room", "budget", "trim", "removed", "replaced", "cleared"
    eviction_age: Optional[float]  # seconds
    loading: bool
    known_missing: bool  # the store was asked within the last second and had no such voice
    recent_uses: int  # 0..15, of a sample


def read_stats(stats: _abi.Stats) -> Stats:
    return Stats(**_same_names(Stats, stats))


def read_health(health: _abi.Health) -> Health:
    facts = _same_names(Health, health)
    facts["memory_unreadable"] = bool(health.memory_unreadable)
    facts["cap_bytes"] = _known(health.cap_bytes)
    facts["change_age"] = _seconds(health.change_age_ms)
    facts["store_read_only"] = bool(health.store_read_only)
    facts["store_log_over_limit"] = bool(health.store_log_over_limit)
    facts["store_look_age"] = _seconds(health.store_look_age_ms)
    facts["reason"] = (health.reason or b"").decode("utf-8", "replace")
    facts["change_reason"] = (health.change_reason or b"").decode("utf-8", "replace")
    return Health(**facts)


def read_explanation(explanation: _abi.VoiceExplanation) -> VoiceExplanation:
    facts = _same_names(VoiceExplanation, explanation)
    cause = _abi.EVICTION_CAUSES.get(explanation.eviction_cause, "unknown")
    facts["tier"] = _abi.TIERS.get(explanation.tier, "unknown")
    facts["leases"] = _known(explanation.leases)
    facts["eviction_cause"] = cause
    facts["eviction_age"] = None if cause is None else _seconds(explanation.eviction_age_ms)
    facts["loading"] = bool(explanation.loading)
    facts["known_missing"] = bool(explanation.known_missing)
    return VoiceExplanation(**facts)


def _same_names(kind: Any, struct: _abi.Struct) -> dict[str, Any]:
    return {field.name: getattr(struct, field.name, None) for field in dataclasses.fields(kind)}


def _known(value: int) -> Optional[int]:
    return None if value == _abi.AUTO_U64 else value


def _seconds(milliseconds: int) -> Optional[float]:
    return None if milliseconds == _abi.AUTO_U64 else milliseconds * 1e-3
