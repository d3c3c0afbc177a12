"""Reading all of memory for a compile: only what changed is read, and rendered, again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from context_chef.errors import AsyncRequiredError
from context_chef.events import Logger
from context_chef.persistence.backend import Clock, StoredEntry, copy_meta
from context_chef.persistence.memory_config import MemoryFailure
from context_chef.persistence.memory_entry import MemoryEntry, check_key, read_entry
from context_chef.persistence.memory_order import in_shown_order
from context_chef.persistence.namespace import NamespaceView
from context_chef.prompts.memory import render_entry

_SETTLED_MS: Final = 2_000
"""A change this recent may hide behind an equal time stamp, so the entry is read again."""


class Scanned(NamedTuple):
    """Every readable entry, in the order in which memory is shown, and what is missing there."""

    entries: list[MemoryEntry]
    failures: list[MemoryFailure]


class MemoryScan:
    """Reads the namespace in its order, tolerating whatever lies in it.

    A backend that reads everything at once is asked to. Of any other, an entry is read only when
    the listing says something new about it. An entry that cannot be read, or has no usable key, is
    left out with one warning; it stays reachable by its address.
    """

    def __init__(self, view: NamespaceView, clock: Clock, logger: Logger) -> None:
        self._view = view
        self._clock = clock
        self._logger = logger
        self._known: dict[str, tuple[Mapping[str, Any], StoredEntry]] = {}
        self._parsed: dict[str, tuple[StoredEntry, MemoryEntry]] = {}
        self._rendered: dict[str, tuple[MemoryEntry, str]] = {}
        self._warned: set[MemoryFailure] = set()

    async def entries(self) -> list[MemoryEntry]:
        """Every readable entry. Raises what the backend raises when not even a listing works."""
        return (await self._scan()).entries

    async def tolerant(self) -> Scanned:
        """The same for a compile, which never fails for it: then nothing is there, and is said."""
        try:
            return await self._scan()
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001 - a request without memory beats no request
            failure = MemoryFailure(key=None, reason=f"cannot be read ({error})")
            self.warn(failure)
            return Scanned([], [failure])

    def rendered(self, entry: MemoryEntry) -> str:
        """The entry as text, made once for as long as it stays the same."""
        kept = self._rendered.get(entry.key)
        if kept is None or kept[0] != entry:
            kept = self._rendered[entry.key] = (entry, render_entry(entry))
        return kept[1]

    def forget(self) -> None:
        """Start afresh, as after a restore."""
        self._known.clear()
        self._parsed.clear()

    def warn(self, failure: MemoryFailure) -> None:
        """Log it, each one once."""
        if failure not in self._warned:
            self._warned.add(failure)
            self._logger.warning(failure.message)

    async def _scan(self) -> Scanned:
        failures: list[MemoryFailure] = []
        stored = in_shown_order(await self._stored(failures))
        self._parsed = {key: kept for key, kept in self._parsed.items() if key in stored}
        self._rendered = {key: kept for key, kept in self._rendered.items() if key in stored}
        found = [self._entry(key, entry, failures) for key, entry in stored.items()]
        for failure in failures:
            self.warn(failure)
        return Scanned([entry for entry in found if entry is not None], failures)

    async def _stored(self, failures: list[MemoryFailure]) -> Mapping[str, StoredEntry]:
        if self._view.supports("read_all"):
            try:
                whole = await self._view.entries()
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001 - as in _read(): one entry may be the cause
                self.warn(
                    MemoryFailure(key=None, reason=f"could not all be read at once ({error})")
                )
            else:
                failures += [
                    MemoryFailure(key=key, reason=f"cannot be read ({why})")
                    for key, why in whole.damaged.items()
                ]
                return whole
        listed = await self._view.list()
        recent = self._clock() - _SETTLED_MS
        known: dict[str, tuple[Mapping[str, Any], StoredEntry]] = {}
        for item in listed:
            before = self._known.get(item.path)
            changed_at = item.meta.get("updatedAt")
            if (
                before is not None
                and before[0] == item.meta
                and isinstance(changed_at, (int, float))
                and changed_at < recent
            ):
                known[item.path] = before
                continue
            entry = await self._read(item.path, failures)
            if entry is not None:
                known[item.path] = (copy_meta(item.meta), entry)
        self._known = known
        return {path: entry for path, (_, entry) in known.items()}

    async def _read(self, path: str, failures: list[MemoryFailure]) -> StoredEntry | None:
        try:
            return await self._view.get(path, touch=False)
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad entry must not cost the others
            failures.append(MemoryFailure(key=path, reason=f"cannot be read ({error})"))
            return None

    def _entry(
        self, key: str, stored: StoredEntry, failures: list[MemoryFailure]
    ) -> MemoryEntry | None:
        kept = self._parsed.get(key)
        if kept is not None and kept[0] == stored:
            return kept[1]
        try:
            check_key(key)
            entry, wrong = read_entry(key, stored)
        except Exception as error:  # noqa: BLE001 - as in _read()
            failures.append(MemoryFailure(key=key, reason=f"cannot be shown ({error})"))
            return None
        if wrong:
            what = f"has metadata that makes no sense ({', '.join(wrong)})"
            self.warn(MemoryFailure(key=key, reason=what))
        self._parsed[key] = (stored, entry)
        return entry
