"""Anthropic's memory tool, answered from the memory namespace: `/memories/x` is the key `x`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, NoReturn, TypeAlias

from context_chef.persistence.address import build_uri
from context_chef.persistence.backend import byte_length
from context_chef.persistence.memory_config import Refusal
from context_chef.persistence.memory_entry import MemoryEntry
from context_chef.prompts import native_memory as wording
from context_chef.prompts import replies
from context_chef.retrieval.arguments import BLANKS, Arguments, Mistake
from context_chef.retrieval.editing import insert_lines, replace_passage
from context_chef.retrieval.host import ContextHost
from context_chef.retrieval.location import (
    Location,
    Part,
    cut_part,
    fault_of_model_path,
    parse_view_range,
)
from context_chef.retrieval.pages import numbered_page
from context_chef.retrieval.policy import MEMORY_NAMESPACE, check_writable

NATIVE_COMMANDS: Final = ("view", "create", "str_replace", "insert", "delete", "rename")
_SNIPPET_MARGIN: Final = 4
_ADDRESS: Final = build_uri(MEMORY_NAMESPACE, "")
_Change: TypeAlias = Callable[[str], str]


class NativeMemory:
    """The six commands of the tool. The same rules hold as for `context` under memory/."""

    def __init__(self, host: ContextHost) -> None:
        if host.memory is None:
            raise Mistake(replies.no_memory())
        self._memory = host.memory
        self._config = host.config

    async def answer(self, arguments: Arguments) -> str:
        command = arguments.get("command")
        if command is None or command == "":
            raise Mistake(replies.missing_command(NATIVE_COMMANDS))
        match command:
            case "view":
                return await self._view(arguments)
            case "create":
                return await self._create(arguments)
            case "str_replace":
                return await self._str_replace(arguments)
            case "insert":
                return await self._insert(arguments)
            case "delete":
                return await self._delete(arguments)
            case "rename":
                return await self._rename(arguments)
            case _:
                raise Mistake(replies.unknown_command(command, NATIVE_COMMANDS))

    async def _view(self, arguments: Arguments) -> str:
        path = _path(arguments, "path")
        part = parse_view_range(arguments.get("view_range"))
        if part is None and path.startswith(wording.ROOT + "#") and (cut := cut_part(path)):
            path, part = cut
        key = _key(path)
        entry = await self._file(key)
        if entry is None and part is None and (cut := cut_part(path)):
            # What an answer says to go on with: `/memories/x#L200`.
            path, part = cut
            key = _key(path)
            entry = await self._file(key)
        if entry is not None:
            text = numbered_page(
                entry.value, address=path, part=part, limit=self._config.view_chars
            )
            return wording.content(path, text)
        below = await self._below(key)
        if not below and key:
            raise Mistake(wording.missing(path))
        return self._listed(path, _rows(path, key, below), part)

    def _listed(self, path: str, rows: list[tuple[str, str]], part: Part | None) -> str:
        """A directory, or as much of it as one answer shows; the directory itself leads."""
        limit = self._config.listed_entries
        total = len(rows) - 1
        first = 1 if part is None else max(part.first, 1)
        last = total if part is None or part.last is None else min(part.last, total)
        if limit is not None:
            last = min(last, first + limit - 1)
        if first > max(total, 1):
            raise Mistake(replies.range_outside(path, first, total, "entry"))
        text = wording.directory(path, [rows[0], *rows[first : last + 1]])
        if first == 1 and last >= total:
            return text
        return f"{text}\n{replies.entries_shown(path, first, last, total)}"

    async def _file(self, key: str) -> MemoryEntry | None:
        return None if not key or key.endswith("/") else await self._memory.get_entry(key)

    async def _check_free(self, path: str, key: str) -> None:
        """Refuse a new file where a directory is, or below a file, as a file system does."""
        parts = key.split("/")
        for depth in range(1, len(parts)):
            if await self._file("/".join(parts[:depth])) is not None:
                raise Mistake(wording.below_file(path, f"{wording.ROOT}/{'/'.join(parts[:depth])}"))
        if await self._below(key):
            raise Mistake(wording.exists(path))

    async def _create(self, arguments: Arguments) -> str:
        path = _path(arguments, "path")
        key = self._writable_key(path, "create")
        text = arguments.optional("file_text")
        if text is None:
            raise Mistake(replies.wrong_argument("file_text", text, "a string"))
        await self._check_free(path, key)
        made = await self._memory.try_create(key, text, hook_errors="log")
        if made == "exists":
            raise Mistake(wording.exists(path))
        if not isinstance(made, MemoryEntry):
            self._refuse(path, key, made)
        return wording.created(path)

    async def _str_replace(self, arguments: Arguments) -> str:
        path = _path(arguments, "path")
        key = self._writable_key(path, "edit")
        line = 1

        def change(value: str) -> str:
            nonlocal line
            edited = replace_passage(
                value,
                arguments.required("old_str"),
                arguments.optional("new_str") or "",
                address=path,
                exact_line_endings=self._config.exact_line_endings,
            )
            line = edited.line
            return edited.content

        value = await self._edit(path, key, change)
        lines = value.split("\n")
        first = max(line - _SNIPPET_MARGIN, 1)
        added = (arguments.optional("new_str") or "").count("\n")
        shown = lines[first - 1 : line + added + _SNIPPET_MARGIN]
        return wording.edited(replies.numbered(shown, first))

    async def _insert(self, arguments: Arguments) -> str:
        path = _path(arguments, "path")
        key = self._writable_key(path, "edit")

        def change(value: str) -> str:
            at = arguments.integer("insert_line")
            text = arguments.optional("insert_text")
            if text is None:
                raise Mistake(replies.wrong_argument("insert_text", text, "a string"))
            text = text.removesuffix("\n")
            # The empty piece behind a last line end is no line here.
            body, end = (value[:-1], "\n") if value.endswith("\n") else (value, "")
            edited = insert_lines(
                body,
                at,
                text,
                address=path,
                exact_line_endings=self._config.exact_line_endings,
            )
            return edited.content + end

        await self._edit(path, key, change)
        return wording.inserted(path)

    async def _delete(self, arguments: Arguments) -> str:
        path = _path(arguments, "path")
        key = self._writable_key(path, "delete")
        keys = await self._keys(key)
        if not keys:
            raise Mistake(wording.missing(path))
        for done, each in enumerate(keys):
            refusal = await self._memory.try_delete(each, hook_errors="log")
            if refusal not in (None, "absent"):
                with _reporting(done, len(keys), "deleted"):
                    self._refuse(path, each, refusal)
        if keys == [key] and (beside := await self._below(key)):
            return wording.file_deleted(path, len(beside))
        return wording.deleted(path)

    async def _rename(self, arguments: Arguments) -> str:
        old_path, new_path = _path(arguments, "old_path"), _path(arguments, "new_path")
        old = self._writable_key(old_path, "rename").rstrip("/")
        new = self._writable_key(new_path, "rename").rstrip("/")
        keys = await self._keys(old)
        if not keys:
            raise Mistake(wording.missing(old_path))
        if keys != [old] and new.startswith(old + "/"):
            raise Mistake(wording.into_itself(old_path, new_path))
        if await self._keys(new):
            raise Mistake(wording.destination_exists(new_path))
        await self._check_free(new_path, new)
        targets = {key: new + key[len(old) :] for key in keys}
        for key in (*targets, *targets.values()):
            if not self._memory.allows(key):
                self._refuse(new_path, key, "not-allowed")
        for done, (key, target) in enumerate(targets.items()):
            with _reporting(done, len(targets), "renamed"):
                await self._move(key, target, old_path, new_path)
        return wording.renamed(old_path, new_path)

    async def _move(self, key: str, target: str, old_path: str, new_path: str) -> None:
        made = await self._memory.try_rename(key, target, hook_errors="log")
        match made:
            case "absent":
                raise Mistake(wording.missing(old_path))
            case "exists":
                raise Mistake(wording.destination_exists(new_path))
            case "changed":
                raise Mistake(replies.changed_meanwhile(f"{wording.ROOT}/{key}"))
            case "kept":
                raise Mistake(wording.kept(old_path, new_path))
            case "vetoed" | "not-allowed":
                self._refuse(new_path, target, made)
            case _:
                pass

    async def _edit(self, path: str, key: str, change: _Change) -> str:
        made = await self._memory.try_edit(key, change, hook_errors="log")
        if not isinstance(made, MemoryEntry):
            self._refuse(path, key, made)
        return made.value

    async def _keys(self, key: str) -> list[str]:
        """The entry itself, or everything in the directory of that name."""
        if not key.endswith("/") and await self._memory.get(key) is not None:
            return [key]
        return [entry.key for entry in await self._below(key)]

    async def _below(self, key: str) -> list[MemoryEntry]:
        prefix = key if not key or key.endswith("/") else key + "/"
        entries = await self._memory.get_all()
        return sorted(
            (entry for entry in entries if entry.key.startswith(prefix)),
            key=lambda entry: entry.key,
        )

    def _writable_key(self, path: str, what: str) -> str:
        key = _key(path)
        if not key:
            raise Mistake(wording.root_untouchable(what))
        check_writable(Location(ns=MEMORY_NAMESPACE, path=key), self._config)
        if what in ("delete", "rename"):
            return key
        if key.endswith("/"):
            raise Mistake(wording.is_directory(path, what))
        return key

    def _refuse(self, path: str, key: str, why: Refusal | None) -> NoReturn:
        if why == "absent":
            raise Mistake(wording.missing(path))
        if why == "not-allowed":
            raise Mistake(replies.key_not_allowed(path, self._memory.config.allowed_keys or ()))
        raise Mistake(replies.vetoed(f"{wording.ROOT}/{key}"))


@contextmanager
def _reporting(done: int, total: int, what: str) -> Generator[None]:
    """Say of a mistake in the middle of a directory how much of it was treated before."""
    try:
        yield
    except Mistake as mistake:
        if not done:
            raise
        raise Mistake(str(mistake) + wording.stopped(done, total, what)) from mistake


def _path(arguments: Arguments, name: str) -> str:
    path = arguments.required(name).strip(BLANKS)
    if path.startswith(_ADDRESS):  # what the memory block and the `context` tool call it
        path = f"{wording.ROOT}/{path[len(_ADDRESS) :]}"
    if path != wording.ROOT and not path.startswith((wording.ROOT + "/", wording.ROOT + "#")):
        raise Mistake(wording.outside(path))
    return path


def _key(path: str) -> str:
    if path.startswith(wording.ROOT + "#"):
        raise Mistake(wording.outside(path))  # a part of the directory, where only views have parts
    key = path[len(wording.ROOT) :].lstrip("/")
    if key and (fault := fault_of_model_path(key)):
        raise Mistake(wording.bad_path(path, fault))
    return key


def _rows(path: str, key: str, below: list[MemoryEntry]) -> list[tuple[str, str]]:
    base = path.rstrip("/")
    start = len(key.rstrip("/")) + 1 if key else 0
    sizes: dict[str, int] = {base: 0}
    for entry in below:
        size = byte_length(entry.value)
        sizes[base] += size
        parts = entry.key[start:].split("/")
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        for depth in (1, 2):
            if depth > len(parts):
                break
            name = f"{base}/{'/'.join(parts[:depth])}" + ("/" if depth < len(parts) else "")
            sizes[name] = sizes.get(name, 0) + size
    return [(wording.size(size), name) for name, size in sizes.items()]
