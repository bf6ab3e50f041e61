# SPDX-License-Identifier: MIT
"""The cache of voices as a host in Python sizes it, watches it, and asks it why."""
import gc

import numpy as np
import pytest
import timbre
from conftest import raises
from timbre import Status


MEBIBYTE = 2**20  # four pages of the cache


def empty_cache(engine):
    """Afterwards no voice is cached, and the budget is what it was."""
    engine.set_budget(device=0)
    engine.set_budget()
    engine.poll()
    assert engine.stats().entries == 0 and engine.stats().budget_bytes > MEBIBYTE


def put_many(engine, count, floats=1024):
    names = [f"n/{number}" for number in range(count)]
    for number, name in enumerate(names):
        engine.voices.put(name, {"g": np.full(floats, number, np.float32)})
    return names


@pytest.mark.parametrize("policy", ["lru", "lfu", "s3fifo", "auto"])
def test_a_small_cache_serves_all_voices(policy):
    with timbre.Engine(threads=1, device_cache_bytes=MEBIBYTE, policy=policy) as engine:
        names = put_many(engine, 500)
        for number, name in enumerate(names):
            with engine.voices.get(name) as voice:
                assert (voice.tensor("g") == number).all()
        stats = engine.stats()
        assert 0 < stats.held_bytes <= MEBIBYTE and stats.evicted_for_room > 0 and stats.loads > 0
        assert stats.hits + stats.misses >= 500


def test_a_cache_of_0_bytes_works():
    with timbre.Engine(threads=1, device_cache_bytes=0) as engine:
        for number, name in enumerate(put_many(engine, 3)):
            with engine.voices.get(name) as voice:
                assert (voice.tensor("g") == number).all()
                assert engine.stats().transient_bytes > 0
        assert engine.stats().held_bytes == 0


def test_the_budget_can_be_set_and_health_says_so(engine):
    names = put_many(engine, 500)
    held = engine.voices.get(names[0])
    engine.set_budget(device=MEBIBYTE)
    health = engine.health()
    assert health.cap_bytes == health.budget_bytes == MEBIBYTE and isinstance(health.reason, str)
    assert health.change_to_bytes == MEBIBYTE and 0 <= health.change_age < 60
    stats = engine.stats()
    assert stats.budget_bytes == MEBIBYTE and stats.held_bytes <= MEBIBYTE and stats.evicted_for_budget > 0
    assert (held.tensor("g") == 0).all()
    engine.set_budget()
    assert engine.health().cap_bytes is None
    with raises(Status.INVALID_ARGUMENT):
        engine.set_budget(host=1)


def test_trim_gives_bytes_back_and_explain_tells_where_a_voice_is_and_why(engine):
    names = put_many(engine, 200)
    with engine.voices.get(names[7]) as voice:
        where = engine.voices.explain(names[7])
        assert where.tier == "device" and (where.version, where.checksum) == (voice.version, voice.checksum)
        assert where.leases == 1 and where.eviction_cause is None and where.eviction_age is None
        assert where.size_bytes == 4096 and not where.loading and not where.known_missing
        assert engine.trim() > 0
        assert engine.voices.explain(names[7]).tier == "device"
        assert (voice.tensor("g") == 7).all()
    gone = engine.voices.explain(names[8])
    assert gone.tier == "store" and gone.eviction_cause == "trim" and 0 <= gone.eviction_age < 60
    assert gone.leases == 0
    assert engine.stats().evicted_for_trim > 0
    engine.voices.remove(names[7])
    gone = engine.voices.explain(names[7])
    assert gone.tier == "none" and gone.eviction_cause == "removed" and gone.eviction_age >= 0
    nobody = engine.voices.explain("nobody")
    assert nobody.tier == "none" and nobody.version == 0


def test_prefetch_brings_voices_in(engine):
    names = put_many(engine, 10)
    empty_cache(engine)
    assert all(engine.voices.explain(name).tier == "store" for name in names)
    done = engine.voices.prefetch(names + ["nobody"], timeout=None)
    assert done == timbre.Prefetched(ready=10, failed=1, pending=False)
    assert all(engine.voices.explain(name).tier == "device" for name in names)
    assert engine.voices.prefetch([]) == timbre.Prefetched(0, 0, False)
    assert not engine.voices.prefetch_top(5, timeout=10).pending


def test_a_host_may_do_the_background_work_itself():
    with timbre.Engine(threads=1, background=False) as engine:
        names = put_many(engine, 10)
        empty_cache(engine)
        engine.voices.prefetch(names)
        engine.poll(timeout=5)
        assert engine.voices.prefetch(names) == timbre.Prefetched(ready=10, failed=0, pending=False)
        engine.poll()
        assert engine.health().readings >= 1


def test_stats_count(engine):
    engine.voices.put("v", {"g": np.ones(4, np.float32)})
    before = engine.stats()
    for _ in range(5):
        engine.voices.get("v").release()
    after = engine.stats()
    assert after.hits - before.hits == 5 and after.entries == 1 and after.leases == 0


BAD = {
    "a timeout below 0": lambda e: e.voices.get("v", timeout=-1),
    "a timeout that is no number": lambda e: e.voices.get("v", timeout=float("nan")),
    "an infinite timeout": lambda e: e.voices.get("v", timeout=float("inf")),
    "a word as timeout": lambda e: e.voices.get("v", timeout="1"),
    "a timeout of a poll below 0": lambda e: e.poll(-0.5),
    "a timeout of a prefetch below 0": lambda e: e.voices.prefetch(["v"], timeout=-1),
    "a timeout of a batch below 0": lambda e: e.voices.get_batch(["v"], timeout=-1),
    "a number as id": lambda e: e.voices.get(2**40),
    "an empty id": lambda e: e.voices.get(""),
    "a long id": lambda e: e.voices.try_get("x" * 513),
    "a zero byte in an id": lambda e: e.voices.try_get("a\0b"),
    "half a surrogate": lambda e: e.voices.get("a\ud800"),
    "one string as ids": lambda e: e.voices.get_batch("abc"),
    "a number as ids": lambda e: e.voices.prefetch(2**40),
    "a number among ids": lambda e: e.voices.get_batch(["v", 2**40]),
    "2**70 of the top": lambda e: e.voices.prefetch_top(2**70),
    "-1 of the top": lambda e: e.voices.prefetch_top(-1),
    "half of the top": lambda e: e.voices.prefetch_top(0.5),
    "a number to explain": lambda e: e.voices.explain(5),
    "a budget below 0": lambda e: e.set_budget(-1),
    "a budget of 2**64": lambda e: e.set_budget(2**64),
    "a budget that is the sentinel": lambda e: e.set_budget(2**64 - 1),
    "a fractional budget": lambda e: e.set_budget(1.5),
    "a trim below 0": lambda e: e.trim(-1),
    "a word to trim": lambda e: e.trim("all"),
    "a stream below 0": lambda e: e.voices.get("v").wait_on(-1),
    "a stream of 2**64": lambda e: e.voices.get("v").release_on(2**64),
    "a number as tensor": lambda e: e.voices.get("v").tensor(2**40),
    "an expected version below 0": lambda e: e.voices.put("v", {"g": np.ones(1, np.float32)}, expected_version=-1),
    "an expected version of 2**64": lambda e: e.voices.put("v", {"g": np.ones(1, np.float32)}, expected_version=2**64),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD.keys())
def test_a_bad_argument_raises(engine, call):
    engine.voices.put("v", {"g": np.ones(4, np.float32)})
    with raises(Status.INVALID_ARGUMENT):
        call(engine)
    gc.collect()  # the error remembers where it was raised
    assert engine.stats().leases == 0


@pytest.mark.parametrize(
    "options",
    [
        dict(device_cache_bytes=-1),
        dict(device_cache_bytes=2**64),
        dict(device_cache_bytes=1.5),
        dict(host_cache_bytes=2**20),
        dict(policy="random"),
        dict(policy=5),
    ],
)
def test_a_bad_cache_raises(options):
    with raises(Status.INVALID_ARGUMENT):
        timbre.Engine(**options)
