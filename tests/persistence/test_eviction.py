"""What leaves a namespace: the too old first, then the least recently used."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.errors import SettingsError
from context_chef.persistence import (
    AccessRecord,
    EvictionPolicy,
    EvictionReason,
    EvictionResult,
    FileSystemBackend,
    InMemoryBackend,
    NamespaceView,
    Store,
)
from context_chef.persistence.eviction import plan_eviction


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


def view_of(clock: Clock, **caps: float) -> NamespaceView:
    return Store(InMemoryBackend(), eviction={"notes": caps}, clock=clock).namespace("notes")


def evicted(result: EvictionResult) -> list[str]:
    return [record.path for record in result.evicted]


def test_an_entry_exactly_as_old_as_allowed_stays() -> None:
    clock = Clock()
    view = view_of(clock, max_age=100)
    view.put_sync("a", "1")
    clock.now += 100
    assert evicted(view.cleanup_sync()) == []
    clock.now += 1

    result = view.cleanup_sync()

    assert evicted(result) == ["a"]
    assert (result.evicted_by_age, result.evicted_bytes) == (1, 1)


def test_a_read_saves_an_entry_and_a_scan_does_not() -> None:
    clock = Clock()
    view = view_of(clock, max_files=2)
    for path in "abcd":
        view.put_sync(path, "1")
        clock.now += 1
    view.get_sync("a")
    clock.now += 1
    view.entries_sync()
    view.list_sync()
    view.search_sync("1")
    view.get_sync("b", touch=False)

    assert evicted(view.cleanup_sync()) == ["b", "c"]


def test_a_rewrite_does_not_make_an_entry_young() -> None:
    clock = Clock()
    view = view_of(clock, max_age=10)
    view.put_sync("a", "1")
    clock.now += 11
    view.put_sync("a", "2")

    assert evicted(view.cleanup_sync()) == ["a"]


def test_victims_are_labelled_by_count_while_the_count_is_over() -> None:
    view = view_of(Clock())
    for path, content in (("a", "éé"), ("b", "xxxx"), ("c", "xxxx"), ("d", "x")):
        view.put_sync(path, content)
    reasons: list[tuple[str, EvictionReason]] = []

    result = view.cleanup_sync(
        max_files=3,
        max_bytes=5,
        on_evicted=lambda record, reason: reasons.append((record.path, reason)),
    )

    assert reasons == [("a", "max_files"), ("b", "max_bytes")]
    assert (result.evicted_by_count, result.evicted_by_bytes, result.evicted_bytes) == (1, 1, 8)


def test_caps_of_a_call_override_the_policy_one_by_one_and_infinity_lifts() -> None:
    clock = Clock()
    view = view_of(clock, max_age=10, max_files=1)
    view.put_sync("old", "1")
    clock.now += 11
    view.put_sync("n1", "2")
    clock.now += 1
    view.put_sync("n2", "3")

    assert evicted(view.cleanup_sync(max_files=math.inf)) == ["old"]
    assert evicted(view.cleanup_sync()) == ["n1"]
    assert evicted(view.cleanup_sync(max_files=0)) == ["n2"]


async def test_concurrent_cleanups_each_keep_their_own_caps() -> None:
    view = view_of(Clock())
    for path in "abcd":
        view.put_sync(path, "1")

    first, second = await asyncio.gather(view.cleanup(max_files=3), view.cleanup(max_files=1))

    assert (evicted(first), evicted(second)) == (["a"], ["b", "c"])


def test_what_cannot_be_deleted_is_reported_and_stays() -> None:
    class Stubborn(InMemoryBackend):
        def delete(self, ns: str, path: str) -> bool:
            if path == "b":
                raise OSError("busy")
            return super().delete(ns, path)

    view = Store(Stubborn()).namespace("notes")
    for path in "abc":
        view.put_sync(path, "1")

    result = view.cleanup_sync(max_files=0)

    assert evicted(result) == ["a", "c"]
    assert [(failed.entry.path, str(failed.error)) for failed in result.failed] == [("b", "busy")]
    assert [record.path for record in view.index()] == ["b"]


async def test_a_hook_may_be_async_and_its_error_stops_nothing() -> None:
    view = view_of(Clock())
    for path in "ab":
        view.put_sync(path, "1")
    errors: list[str] = []

    async def hook(record: AccessRecord, reason: EvictionReason) -> None:
        await asyncio.sleep(0)
        raise RuntimeError(record.path)

    result = await view.cleanup(
        max_files=0,
        on_evicted=hook,
        on_hook_error=lambda record, error: errors.append(str(error)),
    )

    assert evicted(result) == errors == ["a", "b"]


async def test_an_entry_used_while_a_cleanup_runs_is_spared() -> None:
    view = view_of(Clock())
    for path in "ab":
        view.put_sync(path, "1")

    async def use_the_other(record: AccessRecord, reason: EvictionReason) -> None:
        await view.put("b", "needed again, and longer")

    result = await view.cleanup(max_files=0, on_evicted=use_the_other)

    assert evicted(result) == ["a"]
    assert view.get_sync("b") is not None


def test_reconcile_adopts_with_true_sizes_and_times(tmp_path: Path) -> None:
    clock = Clock()
    first = Store(FileSystemBackend(tmp_path), clock=clock)
    first.namespace("vfs").put_sync("vfs_a.txt", "é" * 20)
    first.namespace("notes").put_sync("n", "xyz")
    clock.now += 1000
    again = Store(FileSystemBackend(tmp_path), clock=clock)
    assert evicted(again.namespace("vfs").cleanup_sync(max_bytes=5)) == []

    assert again.namespace("vfs").reconcile_sync() == 1
    assert again.namespace("vfs").reconcile_sync() == 0
    again.namespace("notes").reconcile_sync()

    (raw,), (note,) = again.namespace("vfs").index(), again.namespace("notes").index()
    assert (raw.created_at, raw.bytes) == (clock.now - 1000, 40)
    assert (note.created_at, note.accessed_at, note.bytes) == (
        clock.now - 1000,
        clock.now - 1000,
        3,
    )
    assert evicted(again.namespace("vfs").cleanup_sync(max_bytes=5)) == ["vfs_a.txt"]


def test_times_of_the_future_and_odd_metadata_do_not_hurt() -> None:
    clock = Clock()
    backend = InMemoryBackend()
    view = Store(backend, clock=clock).namespace("notes")
    odd = {"createdAt": clock.now + 10**9, "updatedAt": "yesterday", "bytes": True}
    view.put_sync("a", "xyz", odd)
    fresh = Store(backend, clock=clock).namespace("notes")

    fresh.reconcile_sync()

    (record,) = fresh.index()
    assert (record.created_at, record.accessed_at, record.bytes) == (clock.now, clock.now, 3)


@pytest.mark.parametrize(
    "caps",
    [{"max_age": -1}, {"max_files": -2}, {"max_bytes": -3}, {"max_age": "1d"}, {"max_files": True}],
)
def test_caps_that_mean_nothing_are_refused_by_name_and_value(caps: dict[str, float]) -> None:
    ((name, value),) = caps.items()

    with pytest.raises(SettingsError, match=f"`{name}`.*{value!r}"):
        Store(InMemoryBackend(), eviction={"vfs": caps})


def test_an_unknown_cap_names_the_nearest_right_one() -> None:
    with pytest.raises(SettingsError, match="Did you mean `max_files`"):
        Store(InMemoryBackend(), eviction={"vfs": {"max_file": 3}})


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 9)), max_size=30),
    st.integers(0, 60),
    st.integers(0, 20),
    st.integers(0, 60),
)
def test_what_stays_fits_and_nothing_leaves_without_need(
    rows: list[tuple[int, int, int]], max_age: int, max_files: int, max_bytes: int
) -> None:
    records = [
        AccessRecord(ns="n", path=str(at), uri="", created_at=created, accessed_at=used, bytes=size)
        for at, (created, used, size) in enumerate(rows)
    ]
    policy = EvictionPolicy(max_age=max_age, max_files=max_files, max_bytes=max_bytes)

    plan = plan_eviction(records, policy, now=60)

    gone = [record for record, _ in plan]
    kept = [record for record in records if record not in gone]
    assert all(60 - record.created_at <= max_age for record in kept)
    assert len(kept) <= max_files
    assert sum(record.bytes for record in kept) <= max_bytes
    by_use = [record for record, reason in plan if reason != "max_age"]
    assert by_use == sorted(by_use, key=lambda record: record.accessed_at)
    if by_use:
        back = [*kept, by_use[-1]]
        assert len(back) > max_files or sum(record.bytes for record in back) > max_bytes
