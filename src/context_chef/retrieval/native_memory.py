"""Anthropic's memory tool, answered from the memory namespace: `/memories/x` is the key `x`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias

from context_chef.persistence.backend import byte_length
from context_chef.persistence.memory_config import Refusal
from context_chef.persistence.memory_entry import MemoryEntry
from context_chef.prompts import native_memory as wording
from context_chef.prompts import replies
from context_chef.retrieval.arguments import BLANKS, Arguments, Mistake
from context_chef.retrieval.editing import insert_lines, replace_passage
from context_chef.retrieval.host import ContextHost
from context_chef.retrieval.location import Location, check_model_path, parse_view_range
from context_chef.retrieval.pages import numbered_page
from context_chef.retrieval.policy import MEMORY_NAMESPACE, check_writable

NATIVE_COMMANDS: Final = ("view", "create", "str_replace", "insert", "delete", "rename")
_SNIPPET_MARGIN: Final = 4
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
        key = _key(path)
        entry = await self._memory.get_entry(key) if key and not key.endswith("/") else None
        if entry is not None:
            part = parse_view_range(arguments.get("view_range"))
            text = numbered_page(
                entry.value,
                address=Location(ns=MEMORY_NAMESPACE, path=key).address,
                part=part,
                limit=self._config.view_chars,
            )
            return wording.content(path, text)
        below = await self._below(key)
        if not below and key:
            raise Mistake(wording.missing(path))
        return wording.directory(path, _rows(path, key, below))

    async def _create(self, arguments: Arguments) -> str:
        path = _path(arguments, "path")
        key = self._writable_key(path, "create")
        text = arguments.optional("file_text")
        if text is None:
            raise Mistake(replies.wrong_argument("file_text", text, "a string"))
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
            text = arguments.required("insert_text").removesuffix("\n")
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
        for each in keys:
            refusal = await self._memory.try_delete(each, hook_errors="log")
            if refusal not in (None, "absent"):
                self._refuse(path, each, refusal)
        return wording.deleted(path)

    async def _rename(self, arguments: Arguments) -> str:
        old_path, new_path = _path(arguments, "old_path"), _path(arguments, "new_path")
        old = self._writable_key(old_path, "rename").rstrip("/")
        new = self._writable_key(new_path, "rename").rstrip("/")
        keys = await self._keys(old)
        if not keys:
            raise Mistake(wording.missing(old_path))
        if await self._keys(new):
            raise Mistake(wording.destination_exists(new_path))
        targets = {key: new + key[len(old) :] for key in keys}
        for key in (*targets, *targets.values()):
            if not self._memory.allows(key):
                self._refuse(new_path, key, "not-allowed")
        for key, target in targets.items():
            await self._move(key, target, old_path, new_path)
        return wording.renamed(old_path, new_path)

    async def _move(self, key: str, target: str, old_path: str, new_path: str) -> None:
        entry = await self._memory.get_entry(key)
        if entry is None:
            raise Mistake(wording.missing(old_path))
        made = await self._memory.try_create(
            target, entry.value, entry.description, hook_errors="log"
        )
        if made == "exists":
            raise Mistake(wording.destination_exists(new_path))
        if not isinstance(made, MemoryEntry):
            self._refuse(new_path, target, made)
        if await self._memory.try_delete(key, hook_errors="log") == "vetoed":
            raise Mistake(wording.kept(old_path, new_path))

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
        return key if what in ("delete", "rename") else key.rstrip("/")

    def _refuse(self, path: str, key: str, why: Refusal | None) -> NoReturn:
        if why == "absent":
            raise Mistake(wording.missing(path))
        if why == "not-allowed":
            raise Mistake(replies.key_not_allowed(path, self._memory.config.allowed_keys or ()))
        raise Mistake(replies.vetoed(f"{wording.ROOT}/{key}"))


def _path(arguments: Arguments, name: str) -> str:
    path = arguments.required(name).strip(BLANKS)
    if path != wording.ROOT and not path.startswith(wording.ROOT + "/"):
        raise Mistake(wording.outside(path))
    return path


def _key(path: str) -> str:
    key = path[len(wording.ROOT) :].lstrip("/")
    check_model_path(key, path)
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
