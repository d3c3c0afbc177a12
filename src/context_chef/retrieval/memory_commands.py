"""The commands on memory: keys instead of files, through allowed keys and the host's veto."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeAlias

from context_chef.persistence.backend import StoredEntry
from context_chef.persistence.memory import Memory
from context_chef.persistence.memory_config import Refusal
from context_chef.persistence.memory_entry import MemoryEntry
from context_chef.prompts import replies
from context_chef.retrieval.arguments import Arguments, Mistake
from context_chef.retrieval.editing import insert_lines, replace_passage
from context_chef.retrieval.entry_commands import list_rows, rename_target
from context_chef.retrieval.location import Location, Part, check_model_path
from context_chef.retrieval.pages import verbatim_page
from context_chef.retrieval.policy import MEMORY_NAMESPACE, ContextToolConfig, check_writable
from context_chef.retrieval.searching import search_entries

_Change: TypeAlias = Callable[[str], str]


class MemoryCommands:
    """What the tools do with memory. Without one, everything is refused."""

    def __init__(self, memory: Memory | None, config: ContextToolConfig) -> None:
        if memory is None:
            raise Mistake(replies.no_memory())
        self._memory = memory
        self._config = config

    async def view(self, location: Location, part: Part | None) -> str:
        """A value as it is, or the keys under a prefix."""
        if not location.is_directory:
            value = await self._memory.get(location.path)
            if value is not None:
                return self._shown(location, value, part)
        if part is None and (cut := location.without_part()):
            return await self.view(*cut)
        if location.is_directory:
            return await self._listing(location, part)
        raise _not_found(location)

    async def search(self, location: Location, query: str, part: Part | None) -> str:
        """Values and descriptions; keys only say where to look."""
        if part is None and (cut := location.without_part()):
            location, part = cut
        entries = {
            entry.key: StoredEntry(content=f"{entry.value}\n{entry.description or ''}".rstrip("\n"))
            for entry in await self._memory.get_all()
            if entry.key.startswith(location.path)
        }
        return search_entries(entries, location, query, part, self._config)

    async def create(
        self, location: Location, value: str, description: str | None, *, by_key: bool = False
    ) -> str:
        made = await self._memory.try_create(location.path, value, description, hook_errors="log")
        if made == "exists":
            text = (
                replies.memory_exists(location.address)
                if by_key
                else replies.already_exists(location.address, "create")
            )
            raise Mistake(text)
        if not isinstance(made, MemoryEntry):
            self._refuse(location, made)
        return replies.created(location.address)

    async def str_replace(self, location: Location, arguments: Arguments) -> str:
        line = 0

        def change(value: str) -> str:
            nonlocal line
            old = arguments.required("old_str")
            new = arguments.optional("new_str") or ""
            edited = replace_passage(
                value,
                old,
                new,
                address=location.address,
                exact_line_endings=self._config.exact_line_endings,
            )
            line = edited.line
            return edited.content

        await self._edit(location, change)
        return replies.replaced(location.address, line)

    async def insert(self, location: Location, arguments: Arguments) -> str:
        def change(value: str) -> str:
            at = arguments.integer("insert_line")
            text = arguments.required("insert_text")
            return insert_lines(
                value,
                at,
                text,
                address=location.address,
                exact_line_endings=self._config.exact_line_endings,
            ).content

        await self._edit(location, change)
        added = arguments.required("insert_text").count("\n") + 1
        return replies.inserted(location.address, added, arguments.integer("insert_line"))

    async def update(self, location: Location, arguments: Arguments) -> str:
        """Replace the whole value, as `modify_memory` does."""
        value, description = arguments.required("value"), arguments.optional("description")
        await self._edit(location, lambda _: value, description)
        return replies.updated(location.address)

    async def delete(self, location: Location) -> str:
        refusal = await self._memory.try_delete(location.path, hook_errors="log")
        if refusal is not None:
            self._refuse(location, refusal)
        return replies.deleted(location.address)

    async def rename(self, location: Location, arguments: Arguments) -> str:
        """The value and its description under a new key; counters and lifetime start afresh."""
        target = rename_target(location, arguments)
        check_writable(target, self._config)
        await self.check(location, existing=False)
        if not self._memory.allows(target.path):
            self._refuse(target, "not-allowed")
        made = await self._memory.try_rename(location.path, target.path, hook_errors="log")
        if made == "kept":
            return replies.kept_after_rename(location.address, target.address)
        if made == "changed":
            raise Mistake(replies.changed_meanwhile(location.address))
        if made == "exists":
            raise Mistake(replies.already_exists(target.address, "rename"))
        if not isinstance(made, MemoryEntry):
            self._refuse(location if made == "absent" else target, made)
        return replies.renamed(location.address, target.address)

    async def check(self, location: Location, *, existing: bool = True) -> None:
        """Refuse a key that is not allowed or, for a change, is not there."""
        if not self._memory.allows(location.path):
            self._refuse(location, "not-allowed")
        if existing and await self._memory.get(location.path) is None:
            self._refuse(location, "absent")

    async def _edit(
        self, location: Location, change: _Change, description: str | None = None
    ) -> None:
        made = await self._memory.try_edit(location.path, change, description, hook_errors="log")
        if not isinstance(made, MemoryEntry):
            self._refuse(location, made)

    async def _listing(self, location: Location, part: Part | None) -> str:
        entries = [
            entry for entry in await self._memory.get_all() if entry.key.startswith(location.path)
        ]
        rows = [
            Location(ns=MEMORY_NAMESPACE, path=entry.key).address
            + (f" — {_one_line(entry.description)}" if entry.description else "")
            for entry in sorted(entries, key=lambda entry: entry.key)
        ]
        return list_rows(location, rows, part, self._config.listed_entries)

    def _shown(self, location: Location, value: str, part: Part | None) -> str:
        return verbatim_page(
            value, address=location.address, part=part, limit=self._config.view_chars
        )

    def _refuse(self, location: Location, why: Refusal) -> NoReturn:
        if why == "not-allowed":
            allowed = self._memory.config.allowed_keys or ()
            raise Mistake(replies.key_not_allowed(location.address, allowed))
        if why == "absent":
            raise _not_found(location)
        if why == "exists":
            raise Mistake(replies.already_exists(location.address, "create"))
        raise Mistake(replies.vetoed(location.address))


def memory_location(key: str) -> Location:
    """Where a key of the legacy tools points. Taken as it is: nothing is trimmed."""
    check_model_path(key, key)
    location = Location(ns=MEMORY_NAMESPACE, path=key)
    if location.is_directory:
        raise Mistake(replies.is_directory(location.address, "a memory"))
    return location


def _not_found(location: Location) -> Mistake:
    return Mistake(replies.not_found(location.address, location.root))


def _one_line(text: str) -> str:
    return " ".join(text.split())
