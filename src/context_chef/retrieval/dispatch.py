"""One door for every tool of the store: a call comes in, a text goes out, whatever was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from context_chef.bridge import run_sync, settle
from context_chef.errors import (
    AddressError,
    AsyncRequiredError,
    ConflictError,
    CorruptStoreError,
    InputError,
    StoreCapabilityError,
    StoreError,
    UnknownToolError,
    shown,
)
from context_chef.given import check_instance
from context_chef.ir.tools import ToolRequest
from context_chef.persistence.backend import sendable
from context_chef.persistence.given import LONGEST_QUERY
from context_chef.prompts import replies
from context_chef.prompts.store import NEW_CONTEXT_ANSWER
from context_chef.retrieval.arguments import BLANKS, Arguments, Mistake, parse_arguments
from context_chef.retrieval.context_tool import (
    CONTEXT_COMMANDS,
    CONTEXT_TOOL_NAMES,
    NATIVE_MEMORY_NAME,
    is_context_tool_name,
)
from context_chef.retrieval.entry_commands import EntryCommands
from context_chef.retrieval.host import ContextHost
from context_chef.retrieval.location import Location, Part, parse_location, parse_view_range
from context_chef.retrieval.memory_commands import MemoryCommands, memory_location
from context_chef.retrieval.native_memory import NativeMemory
from context_chef.retrieval.policy import MEMORY_NAMESPACE, VFS_NAMESPACE, check_writable

_READS: Final = ("view", "search")


async def dispatch_context_tool(host: ContextHost, call: ToolRequest | Mapping[str, Any]) -> str:
    """Answer a tool call: what the model reads as the result.

    Whatever is wrong with the arguments, the address, a hook of the host or the store comes back as
    a text that begins with `Error:`. Raises UnknownToolError, which names the tool, for a call that
    is not ours, and AsyncRequiredError when a sync caller meets a part that has to wait.
    """
    check_instance(host, "host", ContextHost)
    if not isinstance(call, (ToolRequest, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        raise InputError(f"`call` is a tool call, not {shown(call)}.", path="$.call")
    name, raw = _call(call)
    if not is_context_tool_name(name, native_memory=host.config.native_memory):
        known = (*CONTEXT_TOOL_NAMES, *([NATIVE_MEMORY_NAME] if host.config.native_memory else []))
        raise UnknownToolError(
            f"{shown(name)} is not a tool of the store; those are {', '.join(known)}. "
            "Ask `owns_tool` before handing a call over."
        )
    return sendable(await _Door(host).answer(cast("str", name), raw))


def dispatch_context_tool_sync(host: ContextHost, call: ToolRequest | Mapping[str, Any]) -> str:
    """`dispatch_context_tool()` without an event loop. AsyncRequiredError where a part waits."""
    return run_sync(dispatch_context_tool(host, call))


def _call(call: ToolRequest | Mapping[str, Any]) -> tuple[object, object]:
    """Name and arguments, also of a chat-completions call with its `function` inside."""
    if isinstance(call, ToolRequest):
        return call.name, call.arguments
    function = call.get("function")
    if isinstance(function, Mapping) and "name" not in call:
        call = cast("Mapping[str, Any]", function)
    arguments = call.get("arguments")
    return call.get("name"), call.get("input") if arguments is None else arguments


class _Door:
    def __init__(self, host: ContextHost) -> None:
        self._host = host
        self._config = host.config
        self._place = "the store"
        """What is being talked about, for what goes wrong on the way."""

    async def answer(self, name: str, raw: object) -> str:
        try:
            return await self._route(name, parse_arguments(raw))
        except Mistake as mistake:
            return replies.error(str(mistake))
        except AsyncRequiredError:
            raise
        except CorruptStoreError as error:
            self._log(error)
            return replies.error(replies.damaged(self._place))
        except StoreCapabilityError as error:
            what = ", ".join(error.missing)
            return replies.error(replies.not_supported(self._place, what))
        except AddressError as error:
            self._log(error)
            return replies.error(replies.refused_by_store(self._place, error.told or str(error)))
        except ConflictError:
            return replies.error(replies.changed_meanwhile(self._place))
        except StoreError as error:
            # Its own text may name the file, which is no business of the model's.
            self._log(error)
            if error.told is not None:
                return replies.error(replies.refused_by_store(self._place, error.told))
            return replies.error(replies.failed(self._place, type(error).__name__))
        except OSError as error:
            # Only the reason: the file's place on this machine is no business of the model's.
            self._log(error)
            return replies.error(replies.failed(self._place, error.strerror or "a system error"))
        except Exception as error:  # noqa: BLE001 - nothing a model sends may raise
            self._log(error)
            return replies.error(replies.failed(self._place, type(error).__name__))

    async def _route(self, name: str, arguments: Arguments) -> str:
        match name:
            case "context":
                return await self._context(arguments)
            case "recall_context":
                return await self._view(self._location(arguments.required("uri"), reads=True), None)
            case "new_context":
                await settle(self._host.request_new_context())
                return NEW_CONTEXT_ANSWER
            case "create_memory":
                return await self._create_memory(arguments)
            case "modify_memory":
                return await self._modify_memory(arguments)
            case _:
                path = arguments.get("path") or arguments.get("old_path")
                self._place = path[:300] if isinstance(path, str) else "/memories"
                return await NativeMemory(self._host).answer(arguments)

    async def _context(self, arguments: Arguments) -> str:
        command = arguments.get("command")
        if command is None or command == "":
            raise Mistake(replies.missing_command(CONTEXT_COMMANDS))
        if command not in CONTEXT_COMMANDS:
            raise Mistake(replies.unknown_command(command, CONTEXT_COMMANDS))
        path = arguments.required("path")
        location = self._location(path, reads=command in _READS)
        if command == "view":
            return await self._view(location, parse_view_range(arguments.get("view_range")))
        if command == "search":
            return await self._search(location, arguments)
        return await self._write(command, location, arguments)

    def _location(self, given: str, *, reads: bool) -> Location:
        location: Location | None = None
        if reads:
            # A scheme of its own stands for vfs; what is written always needs the canonical form.
            path = self._host.offloader.parse_uri(given.strip(BLANKS))
            if path is not None:
                location = parse_location(f"{VFS_NAMESPACE}/{path}")
        location = location or parse_location(given)
        self._place = location.address
        return location

    async def _view(self, location: Location, part: Part | None) -> str:
        if location.ns == MEMORY_NAMESPACE:
            return await MemoryCommands(self._host.memory, self._config).view(location, part)
        return await self._entries(location).view(location, part)

    async def _search(self, location: Location, arguments: Arguments) -> str:
        memory = (
            MemoryCommands(self._host.memory, self._config)
            if location.ns == MEMORY_NAMESPACE
            else None
        )
        query = arguments.required("query")
        if not query.strip(BLANKS):
            raise Mistake(replies.missing_argument("query"))
        part = parse_view_range(arguments.get("view_range"))
        total, query = len(query), query[:LONGEST_QUERY]
        source = self._entries(location) if memory is None else memory
        answer = await source.search(location, query, part)
        if len(query) == total:
            return answer
        return f"{answer}\n{replies.query_cut(len(query), total)}"

    async def _write(self, command: str, location: Location, arguments: Arguments) -> str:
        check_writable(location, self._config)
        if location.ns == MEMORY_NAMESPACE:
            memory = MemoryCommands(self._host.memory, self._config)
            _check_entry(location, command)
            return await self._write_memory(memory, command, location, arguments)
        entries = self._entries(location)
        _check_entry(location, command)
        match command:
            case "create":
                return await entries.create(location, arguments)
            case "str_replace":
                return await entries.str_replace(location, arguments)
            case "insert":
                return await entries.insert(location, arguments)
            case "delete":
                return await entries.delete(location)
            case _:
                return await entries.rename(location, arguments)

    async def _write_memory(
        self, memory: MemoryCommands, command: str, location: Location, arguments: Arguments
    ) -> str:
        match command:
            case "create":
                text = arguments.required("file_text")
                return await memory.create(location, text, arguments.optional("description"))
            case "str_replace":
                return await memory.str_replace(location, arguments)
            case "insert":
                return await memory.insert(location, arguments)
            case "delete":
                return await memory.delete(location)
            case _:
                return await memory.rename(location, arguments)

    async def _create_memory(self, arguments: Arguments) -> str:
        key, value = arguments.required("key"), arguments.required("value")
        description = arguments.optional("description")
        memory = MemoryCommands(self._host.memory, self._config)
        location = self._key(key)
        return await memory.create(location, value, description, by_key=True)

    async def _modify_memory(self, arguments: Arguments) -> str:
        memory = MemoryCommands(self._host.memory, self._config)
        action, key = arguments.required("action"), arguments.required("key")
        location = self._key(key)
        await memory.check(location)
        if action == "delete":
            return await memory.delete(location)
        if action != "update":
            raise Mistake(replies.wrong_action(action))
        return await memory.update(location, arguments)

    def _key(self, key: str) -> Location:
        location = memory_location(key)
        self._place = location.address
        check_writable(location, self._config)
        return location

    def _entries(self, location: Location) -> EntryCommands:
        return EntryCommands(self._host, self._host.view(location.ns))

    def _log(self, error: Exception) -> None:
        self._host.logger.warning(f"A tool call on {self._place} failed: {error!r}")


def _check_entry(location: Location, command: str) -> None:
    if location.is_directory:
        raise Mistake(replies.is_directory(location.address, command))
