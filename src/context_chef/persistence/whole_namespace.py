"""A namespace out and back in as a whole, on every backend: with its own ability, or by hand."""

from __future__ import annotations

from collections.abc import Mapping

from context_chef.persistence.backend import StoredEntry
from context_chef.persistence.namespace import NamespaceView


async def read_whole(view: NamespaceView) -> dict[str, StoredEntry]:
    """Every entry in its order, as a copy."""
    whole = await view.snapshot()
    return await view.entries() if whole is None else whole


async def replace_whole(view: NamespaceView, entries: Mapping[str, StoredEntry]) -> None:
    """These entries and no others, in their order as far as the backend has one.

    At once where the backend can; elsewhere entry by entry, new and changed ones first, so that
    an error in the middle leaves too much rather than too little.
    """
    if await view.restore(entries):
        return
    before = await view.entries()
    for path, entry in entries.items():
        if before.get(path) != entry:
            await view.put(path, entry.content, entry.meta)
    for path in before:
        if path not in entries:
            await view.delete(path)
