"""From Anthropic: Messages requests and message lists become a `Conversation`, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.conversation import Conversation, plain
from context_chef.adaptation.given_tools import read_tools
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import (
    Block,
    CacheBreakpoint,
    FileId,
    Inline,
    Media,
    MediaSource,
    Opaque,
    PlainText,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    Url,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message
from context_chef.ir.repair import ensure_valid_history
from context_chef.ir.tools import ToolDefinition

_ROLES: Final = ("system", "user", "assistant")
_ANSWERED: Final = (
    "role", "content", "id", "type", "model", "stop_reason", "stop_sequence", "stop_details",
    "usage", "container", "context_management", "input_transformations", "diagnostics",
)  # fmt: skip
"""What a message is made of when it is an answer as the API gave it: not for sending back."""


def from_anthropic(
    messages_or_body: Any, system: Any = None, *, repair: bool = False
) -> Conversation:
    """Read a message list, one message, a string, or a whole request (body or SDK arguments).

    Nothing is mended and nothing reordered: what comes out is written back by `to_anthropic` as the
    same conversation. Blocks that have no form of their own are carried verbatim. `system` takes
    the place of a body's. With `repair` the history is made sendable, and `repairs` says how.
    Raises InputError naming the place of what cannot be read.
    """
    given = plain(messages_or_body)
    reader = _Reader()
    request: dict[str, Any] = {}
    tools: tuple[ToolDefinition, ...] = ()
    where = "$"
    if isinstance(given, dict) and "role" not in given:
        request = cast("dict[str, Any]", given)
        request.update(request.pop("extra_body", None) or {})
        if "messages" not in request:
            raise InputError("a request needs `messages`, a message needs a `role`.", path="$")
        given, where = request.pop("messages"), "$.messages"
        system = request.pop("system", None) if system is None else system
        tools, notes = read_tools(request.pop("tools", None), "anthropic", path="$.tools")
        reader.diagnostics.extend(notes)
    messages = reader.messages(given, where)
    leading = next((at for at, one in enumerate(messages) if one.role != "system"), len(messages))
    history = tuple(
        message.replace(positional=True) if message.role == "system" else message
        for message in messages[leading:]
    )
    conversation = Conversation(
        system=(*reader.system(plain(system, path="$.system")), *messages[:leading]),
        history=history,
        tools=tools,
        request=request,
        source="anthropic",
        diagnostics=tuple(reader.diagnostics),
    )
    if not repair:
        return conversation
    mended, repairs = ensure_valid_history(conversation.history)
    return conversation.replace(history=mended, repairs=repairs)


class _Reader:
    """Reads one request and collects what it has to say about it."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def system(self, system: Any) -> list[Message]:
        """One system message for each block, so that each keeps its own breakpoint."""
        path = "$.system"
        if system is None or system == "":
            return []
        if isinstance(system, str):
            return [Message.system(system)]
        found: list[Message] = []
        for index, row in enumerate(_rows(system, path)):
            block = self._block(row, f"{path}[{index}]")
            cache = block.cache
            found.append(Message.system(_without_cache(block), cache=cache))
        return found

    def messages(self, given: Any, path: str) -> list[Message]:
        if isinstance(given, str):
            return [Message.user(given)]
        if isinstance(given, dict):
            return self._message(cast("dict[str, Any]", given), path)
        found: list[Message] = []
        for index, row in enumerate(_rows(given, path)):
            found.extend(self._message(_mapping(row, f"{path}[{index}]"), f"{path}[{index}]"))
        return found

    def _message(self, row: dict[str, Any], path: str) -> list[Message]:
        role = row.get("role")
        if role not in _ROLES:
            said = "is missing" if role is None else f"is {role!r}"
            raise InputError(
                f"the role {said}; use one of {', '.join(_ROLES)}.", path=f"{path}.role"
            )
        content = row.get("content")
        name = row.get("id")
        native = {key: row[key] for key in row if key not in _ANSWERED and row[key] is not None}
        if role == "system":
            native["role"] = "system"
        fields: dict[str, Any] = {
            "role": role,
            "id": name if isinstance(name, str) else None,
            "native": {"anthropic": native} if native else {},
            "extra": {key: row[key] for key in row if key in _ANSWERED[3:]},
        }
        if content is None:
            self._note("content-missing", f"{path}.content", "No content: read as empty text.")
            content = ""
        if isinstance(content, str):
            blocks = (Text(text=content),) if content else ()
            return [Message(content=blocks, **fields)]
        return self._split(_rows(content, f"{path}.content"), f"{path}.content", fields)

    def _split(self, rows: Sequence[Any], path: str, fields: dict[str, Any]) -> list[Message]:
        """Results become messages of their own, at their place among the other blocks."""
        found: list[Message] = []
        blocks: list[Block] = []

        def close() -> None:
            if blocks:
                compacted = any(isinstance(b, Opaque) and b.kind == "compaction" for b in blocks)
                found.append(Message(content=tuple(blocks), pinned=compacted, **fields))
                blocks.clear()

        for index, row in enumerate(rows):
            where = f"{path}[{index}]"
            row = _mapping(row, where)
            if row.get("type") == "tool_result":
                close()
                found.append(self._result(row, where))
            else:
                blocks.append(self._block(row, where))
        close()
        return found

    def _result(self, row: dict[str, Any], path: str) -> Message:
        call_id = row.get("tool_use_id")
        if not isinstance(call_id, str):
            said = f"a result needs its call's id as text, not {call_id!r}."
            raise InputError(said, path=f"{path}.tool_use_id")
        content = row.get("content")
        blocks: tuple[Block, ...] = ()
        if isinstance(content, str):
            blocks = (Text(text=content),) if content else ()
        elif content is not None:
            rows = _rows(content, f"{path}.content")
            blocks = tuple(
                self._block(item, f"{path}.content[{index}]") for index, item in enumerate(rows)
            )
        known = {"type", "tool_use_id", "content", "cache_control"}
        kept = {key: value for key, value in row.items() if key not in known and value is not None}
        if kept.get("is_error") is True:
            del kept["is_error"]
        return Message(
            role="tool",
            content=blocks,
            tool_call_id=call_id,
            is_error=row.get("is_error") is True,
            cache=_breakpoint(row, path),
            native={"anthropic": kept} if kept else {},
        )

    def _block(self, row: Any, path: str) -> Block:
        row = _mapping(row, path)
        match row.get("type"):
            case "text":
                words, kept = _text(row, "text", path), _kept(row, "text")
                return Text(text=words, cache=_breakpoint(row, path), native=kept)
            case "tool_use":
                return _call(row, path)
            case "thinking":
                signature = row.get("signature")
                return Thinking(
                    text=_text(row, "thinking", path),
                    signature=signature if isinstance(signature, str) else None,
                    origin="anthropic",
                    native=_kept(row, "thinking", "signature"),
                )
            case "redacted_thinking":
                return RedactedThinking(data=_text(row, "data", path), native=_kept(row, "data"))
            case "image" | "document" as kind:
                return self._media(row, kind, path)
            case str():
                return Opaque(provider="anthropic", value=row)
            case other:
                raise InputError(
                    f"a block needs a `type`, not {shown(other)}.", path=f"{path}.type"
                )

    def _media(self, row: dict[str, Any], kind: str, path: str) -> Block:
        source = row.get("source")
        read = _source(cast("dict[str, Any]", source)) if isinstance(source, dict) else None
        if read is None:
            if not isinstance(source, dict):
                said = f"The {kind} has no source that can be read: carried as it is."
                self._note("media-unread", f"{path}.source", said)
            return Opaque(provider="anthropic", value=row)
        made, media_type = read
        title = row.get("title")
        return Media(
            kind="image" if kind == "image" else "document",
            source=made,
            media_type=media_type,
            filename=title if isinstance(title, str) and title else None,
            cache=_breakpoint(row, path),
            native=_kept(row, "source", *(("title",) if isinstance(title, str) and title else ())),
        )

    def _note(self, code: str, where: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(code=code, where=where, message=message))


def _source(source: dict[str, Any]) -> tuple[MediaSource, str | None] | None:
    """The source in our form, or None when it says more than our form can (nested content)."""
    fields = set(source) - {"type"}
    media_type = source.get("media_type")
    said = media_type if isinstance(media_type, str) else None
    match source:
        case {"type": "base64", "data": str(data)} if fields <= {"data", "media_type"}:
            return Inline(data=data), said
        case {"type": "text", "data": str(data)} if fields <= {"data", "media_type"}:
            return PlainText(text=data), said
        case {"type": "url", "url": str(url)} if fields <= {"url"}:
            return Url(url=url), None
        case {"type": "file", "file_id": str(file_id)} if fields <= {"file_id"}:
            return FileId(file_id=file_id, provider="anthropic"), None
        case _:
            return None


def _call(row: dict[str, Any], path: str) -> ToolCall:
    given = row.get("input")
    arguments = given if isinstance(given, str) else "" if given is None else compact_json(given)
    return ToolCall(
        id=_text(row, "id", path),
        name=_text(row, "name", path),
        arguments=arguments,
        cache=_breakpoint(row, path),
        native=_kept(row, "id", "name", "input"),
    )


def _kept(row: dict[str, Any], *read: str) -> dict[str, Any]:
    """What is not read and says something, to be written back under the provider's name."""
    skipped = {"type", "cache_control", *read}
    kept = {key: value for key, value in row.items() if key not in skipped and value is not None}
    return {"anthropic": kept} if kept else {}


def _breakpoint(row: dict[str, Any], path: str) -> CacheBreakpoint | None:
    mark = row.get("cache_control")
    if mark is None:
        return None
    mark = _mapping(mark, f"{path}.cache_control")
    ttl = mark.get("ttl")
    if ttl not in (None, "5m", "1h"):
        said = f"a breakpoint's ttl is '5m' or '1h', not {ttl!r}."
        raise InputError(said, path=f"{path}.cache_control.ttl")
    return CacheBreakpoint(ttl=ttl)


def _without_cache(block: Block) -> Block:
    """The same block unmarked: the mark moves to its message."""
    return block if block.cache is None else msgspec.structs.replace(block, cache=None)


def _text(row: dict[str, Any], field: str, path: str) -> str:
    value = row.get(field)
    if isinstance(value, str):
        return value
    raise InputError(f"`{field}` has to be text, not {shown(value)}.", path=f"{path}.{field}")


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return cast("dict[str, Any]", value)
    raise InputError(f"a mapping was expected, not {shown(value)}.", path=path)


def _rows(value: Any, path: str) -> list[Any]:
    """A list; a single mapping counts as a list of one."""
    if isinstance(value, Mapping):
        return [cast("dict[str, Any]", value)]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(cast("Iterable[Any]", value))
    raise InputError(f"a list was expected, not {shown(value)}.", path=path)
