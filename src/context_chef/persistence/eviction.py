"""What leaves a namespace when it grows too old or too large: by age, by count, by size."""

from __future__ import annotations

import heapq
import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias

import msgspec

from context_chef.errors import SettingsError, nearest, shown
from context_chef.persistence.forks import PerProcess
from context_chef.persistence.given import is_cap

EvictionReason: TypeAlias = Literal["max_age", "max_files", "max_bytes"]


class AccessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the store knows about an entry it wrote or adopted. Times in milliseconds."""

    ns: str
    path: str
    uri: str
    created_at: int
    accessed_at: int
    bytes: int


class FailedEviction(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that could not be deleted, and why. It stays in the index."""

    entry: AccessRecord
    error: Exception


class EvictionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one cleanup did, in the order in which it did it."""

    evicted: tuple[AccessRecord, ...] = ()
    evicted_bytes: int = 0
    evicted_by_age: int = 0
    evicted_by_count: int = 0
    evicted_by_bytes: int = 0
    failed: tuple[FailedEviction, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EvictionPolicy:
    """The caps of a namespace. None or infinity means no cap; 0 means that nothing may stay."""

    max_age: float | None = None
    """Milliseconds since creation; an entry exactly this old stays."""
    max_files: float | None = None
    max_bytes: float | None = None

    def __post_init__(self) -> None:
        for name, value in self._caps():
            if value is None:
                continue
            if not is_cap(value):
                raise SettingsError(
                    f"`{name}` must be a number, infinity or None, not {shown(value)}."
                )
            if value < 0:
                raise SettingsError(
                    f"`{name}` must not be negative, but is {shown(value)}; "
                    "0 lets nothing stay, None sets no cap."
                )

    @classmethod
    def of(cls, caps: EvictionPolicy | Mapping[str, Any] | None) -> EvictionPolicy:
        """The policy, also when it is written as a plain mapping."""
        if isinstance(caps, EvictionPolicy):
            return caps
        if caps is not None and not isinstance(caps, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
            raise SettingsError(f"`eviction` is a mapping of caps, not {shown(caps)}.")
        known = [field.name for field in fields(cls)]
        for name in caps or {}:
            if name not in known:
                raise SettingsError(f"{shown(name)} is no eviction cap. {nearest(name, known)}")
        return cls(**(caps or {}))

    def overridden(
        self, *, max_age: float | None, max_files: float | None, max_bytes: float | None
    ) -> EvictionPolicy:
        """The same policy with every given cap in place of its own; infinity lifts one."""
        return EvictionPolicy(
            max_age=self.max_age if max_age is None else max_age,
            max_files=self.max_files if max_files is None else max_files,
            max_bytes=self.max_bytes if max_bytes is None else max_bytes,
        )

    def _caps(self) -> Iterable[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]


def plan_eviction(
    records: Iterable[AccessRecord], policy: EvictionPolicy, now: int
) -> list[tuple[AccessRecord, EvictionReason]]:
    """Who has to leave, in order: first the too old, then the least recently used.

    Ties of recency go to the record that comes first. Costs one pass, and O(log n) a victim.
    """
    max_age, max_files, max_bytes = (
        math.inf if cap is None else cap
        for cap in (policy.max_age, policy.max_files, policy.max_bytes)
    )
    victims: list[tuple[AccessRecord, EvictionReason]] = []
    kept: list[AccessRecord] = []
    for record in records:
        if now - record.created_at > max_age:
            victims.append((record, "max_age"))
        else:
            kept.append(record)
    count, size = len(kept), sum(record.bytes for record in kept)
    if count <= max_files and size <= max_bytes:
        return victims
    queue = [(record.accessed_at, position) for position, record in enumerate(kept)]
    heapq.heapify(queue)
    while queue and (count > max_files or size > max_bytes):
        record = kept[heapq.heappop(queue)[1]]
        victims.append((record, "max_files" if count > max_files else "max_bytes"))
        count -= 1
        size -= record.bytes
    return victims


_COUNTERS: Final[dict[EvictionReason, str]] = {
    "max_age": "evicted_by_age",
    "max_files": "evicted_by_count",
    "max_bytes": "evicted_by_bytes",
}


def eviction_result(
    evicted: Iterable[tuple[AccessRecord, EvictionReason]], failed: Iterable[FailedEviction]
) -> EvictionResult:
    """Add up what a cleanup did."""
    done = list(evicted)
    counts = dict.fromkeys(_COUNTERS.values(), 0)
    for _, reason in done:
        counts[_COUNTERS[reason]] += 1
    return EvictionResult(
        evicted=tuple(record for record, _ in done),
        evicted_bytes=sum(record.bytes for record, _ in done),
        failed=tuple(failed),
        **counts,
    )


class AccessIndex:
    """Which entries of one namespace this process wrote or adopted, and when it last used them.

    Safe to share between threads. Keeps the order of first registration.
    """

    def __init__(self) -> None:
        self._records: dict[str, AccessRecord] = {}
        self._locks = PerProcess(threading.Lock)

    def register(self, fresh: AccessRecord) -> None:
        """After a write: an entry known before keeps its creation time and its position."""
        with self._locks.get():
            known = self._records.get(fresh.path)
            if known is not None:
                fresh = msgspec.structs.replace(fresh, created_at=known.created_at)
            self._records[fresh.path] = fresh

    def adopt(self, record: AccessRecord) -> None:
        """Take a record over exactly as it is."""
        with self._locks.get():
            self._records[record.path] = record

    def touch(self, path: str, now: int) -> None:
        """Note a use. An entry that is not in the index is left out of it."""
        with self._locks.get():
            record = self._records.get(path)
            if record is not None:
                self._records[path] = msgspec.structs.replace(record, accessed_at=now)

    def drop(self, path: str) -> None:
        with self._locks.get():
            self._records.pop(path, None)

    def clear(self) -> None:
        with self._locks.get():
            self._records.clear()

    def get(self, path: str) -> AccessRecord | None:
        return self._records.get(path)

    def records(self) -> tuple[AccessRecord, ...]:
        with self._locks.get():
            return tuple(self._records.values())
