"""The seven commands on entries of a store: notes, offloaded output, and every other namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from context_chef.errors import StoreCapabilityError
from context_chef.persistence.address import is_content_path
from context_chef.persistence.backend import StoredEntry, byte_length
from context_chef.persistence.namespace import NamespaceView
from context_chef.prompts import replies
from context_chef.retrieval.arguments import Arguments, Mistake
from context_chef.retrieval.editing import Edited, insert_lines, replace_passage
from context_chef.retrieval.host import ContextHost
from context_chef.retrieval.location import Location, Part, parse_location
from context_chef.retrieval.pages import numbered_page, verbatim_page
from context_chef.retrieval.policy import ARCHIVE_NAMESPACE, VFS_NAMESPACE, check_writable
from context_chef.retrieval.recall import render_recalled_content
from context_chef.retrieval.searching import search_namespace

_Edit: TypeAlias = Callable[[str, str], Edited]
_VERBATIM: Final = (VFS_NAMESPACE, ARCHIVE_NAMESPACE)


class EntryCommands:
    """What the tool does with one namespace of a store."""

    def __init__(self, host: ContextHost, view: NamespaceView) -> None:
        self._host = host
        self._view = view
        self._config = host.config

    async def view(self, location: Location, part: Part | None) -> str:
        """An entry, or the listing of a directory."""
        if location.is_directory:
            return await self._listing(location, part, missing_is_empty=True)
        found = await self._find(location)
        if found is None and part is None and (cut := location.without_part()):
            location, part = cut
            return await self.view(location, part)
        if found is None:
            below = Location(ns=location.ns, path=location.path + "/")
            return await self._listing(below, part, missing_is_empty=False)
        location, entry = found
        limit = self._config.view_chars
        if location.ns in _VERBATIM:
            text = render_recalled_content(entry.content)
            return verbatim_page(text, address=location.address, part=part, limit=limit)
        return numbered_page(entry.content, address=location.address, part=part, limit=limit)

    async def search(self, location: Location, query: str, part: Part | None) -> str:
        """Entries whose path begins with the location's, by what they say."""
        if part is None and (cut := location.without_part()):
            location, part = cut
        return await search_namespace(self._view, location, query, part, self._config)

    async def create(self, location: Location, arguments: Arguments) -> str:
        text = arguments.required("file_text")

        def change(before: StoredEntry | None) -> StoredEntry:
            if before is not None:
                raise Mistake(replies.already_exists(location.address, "create"))
            return StoredEntry(content=text)

        await self._view.update(location.path, change)
        return replies.created(location.address)

    async def str_replace(self, location: Location, arguments: Arguments) -> str:
        def edit(content: str, address: str) -> Edited:
            old = arguments.required("old_str")
            new = arguments.optional("new_str") or ""
            return replace_passage(
                content,
                old,
                new,
                address=address,
                exact_line_endings=self._config.exact_line_endings,
            )

        location, edited = await self._edit(location, edit)
        return replies.replaced(location.address, edited.line)

    async def insert(self, location: Location, arguments: Arguments) -> str:
        def edit(content: str, address: str) -> Edited:
            at = arguments.integer("insert_line")
            text = arguments.required("insert_text")
            return insert_lines(
                content,
                at,
                text,
                address=address,
                exact_line_endings=self._config.exact_line_endings,
            )

        location, edited = await self._edit(location, edit)
        added = arguments.required("insert_text").count("\n") + 1
        return replies.inserted(location.address, added, edited.line - 1)

    async def delete(self, location: Location) -> str:
        if await self._view.delete(location.path):
            return replies.deleted(location.address)
        exact = _untrimmed(location)
        if exact is not None and await self._view.delete(exact.path):
            return replies.deleted(exact.address)
        raise Mistake(replies.not_found(location.address, location.root))

    async def rename(self, location: Location, arguments: Arguments) -> str:
        """Copy to where nothing is, then remove the original if it is still what was copied."""
        target = rename_target(location, arguments)
        check_writable(target, self._config)
        found = await self._find(location)
        if found is None:
            raise Mistake(replies.not_found(location.address, location.root))
        location, entry = found
        if not self._view.supports("delete"):
            raise StoreCapabilityError(location.ns, ["delete"])
        moved = self._touched(entry, entry.content)

        def put(before: StoredEntry | None) -> StoredEntry:
            if before is not None:
                raise Mistake(replies.already_exists(target.address, "rename"))
            return moved

        await self._view.update(target.path, put)
        if not await self._remove_if(location, entry):
            await self._remove_if(target, moved)
            raise Mistake(replies.changed_meanwhile(location.address))
        return replies.renamed(location.address, target.address)

    async def _find(self, location: Location) -> tuple[Location, StoredEntry] | None:
        """The entry; where the address had blanks at its end, perhaps one whose name has them."""
        entry = await self._read(location)
        if entry is not None:
            return location, entry
        exact = _untrimmed(location)
        entry = None if exact is None else await self._read(exact)
        return None if exact is None or entry is None else (exact, entry)

    async def _read(self, location: Location) -> StoredEntry | None:
        if location.ns == VFS_NAMESPACE:
            return await self._host.offloader.read_entry(location.path)
        return await self._view.get(location.path)

    async def _edit(self, location: Location, edit: _Edit) -> tuple[Location, Edited]:
        exact = _untrimmed(location)
        if exact is not None and await self._view.get(location.path, touch=False) is None:
            location = exact
        done: list[Edited] = []

        def change(before: StoredEntry | None) -> StoredEntry:
            if before is None:
                raise Mistake(replies.not_found(location.address, location.root))
            if is_content_path(location.ns, location.path):
                raise Mistake(replies.immutable(location.address))
            edited = edit(before.content, location.address)
            done[:] = [edited]
            return self._touched(before, edited.content)

        await self._view.update(location.path, change)
        return location, done[0]

    async def _remove_if(self, location: Location, expected: StoredEntry) -> bool:
        """Remove the entry unless it has other content by now. Whether it is gone."""

        def change(before: StoredEntry | None) -> StoredEntry | None:
            same = before is None or before.content == expected.content
            return None if same else before

        return await self._view.update(location.path, change) is None

    def _touched(self, before: StoredEntry, content: str) -> StoredEntry:
        meta = {
            **before.meta,
            "updatedAt": self._host.store.clock(),
            "bytes": byte_length(content),
        }
        return StoredEntry(content=content, meta=meta)

    async def _listing(
        self, location: Location, part: Part | None, *, missing_is_empty: bool
    ) -> str:
        paths = await self._paths(location.path)
        if not paths and part is None and (cut := location.without_part()):
            location, part = cut
            paths = await self._paths(location.path)
        if not paths and not missing_is_empty:
            entry = Location(ns=location.ns, path=location.path.rstrip("/"))
            raise Mistake(replies.not_found(entry.address, location.root))
        rows = [Location(ns=location.ns, path=path).address for path in sorted(paths)]
        return list_rows(location, rows, part, self._config.listed_entries)

    async def _paths(self, prefix: str) -> list[str]:
        if not self._view.supports("list"):
            return []
        return [listed.path for listed in await self._view.list(prefix)]


def rename_target(location: Location, arguments: Arguments) -> Location:
    """Where a rename goes, checked against where it comes from."""
    target = parse_location(arguments.required("new_path"))
    if target.ns != location.ns:
        name = target.path or target.ns
        hint = Location(ns=location.ns, path=name.strip("/")).address
        raise Mistake(replies.other_namespace(location.address, target.address, hint))
    if target.is_directory:
        raise Mistake(replies.is_directory(target.address, "rename"))
    return target


def list_rows(location: Location, rows: list[str], part: Part | None, limit: int | None) -> str:
    """A listing, or the part of it that was asked for."""
    if not rows:
        return replies.empty_listing(location.address)
    first = 1 if part is None else max(part.first, 1)
    if first > len(rows):
        raise Mistake(replies.range_outside(location.address, first, len(rows), "entry"))
    last = len(rows) if part is None or part.last is None else min(part.last, len(rows))
    if limit is not None:
        last = min(last, first + limit - 1)
    return replies.listing(location.address, rows[first - 1 : last], len(rows), first)


def _untrimmed(location: Location) -> Location | None:
    if location.untrimmed is None:
        return None
    return Location(ns=location.ns, path=location.untrimmed)
