"""Reads Chat Completions messages, or a whole request body, without losing anything of them.

What the IR has a field for goes there; everything else that the wire carried rides along in
`native["openai"]` and is written back from there. Keys of it that begin with `_` are notes of ours
about how something was spelled, and never reach a wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from context_chef.adaptation.conversation import Conversation, plain
from context_chef.adaptation.given_tools import read_tools
from context_chef.adaptation.openai_parts import (
    kept_inline,
    read_part,
    untyped_part,
    words_without_type,
)
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import (
    Block,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message, Role
from context_chef.ir.repair import ensure_valid_history

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_READ: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_WIRE_FIELDS: Final = frozenset(
    {
        "refusal", "audio", "function_call", "annotations", "parsed", "prefix", "images",
        "reasoning", "reasoning_content", "reasoning_details", "reasoning_text", "reasoning_opaque",
        "thinking_blocks", "provider_specific_fields", "cache_control", "extra_content",
    }
)  # fmt: skip
"""Message fields of OpenAI and of servers that speak its language."""
_ANSWERS: Final = {
    "chat.completion": "this is an answer: append its `choices[0].message` to the messages",
    "response": "this is an answer: append its `output` to the input, or read `answer.output`",
}
_REASONING: Final = ("reasoning_content", "reasoning", "reasoning_text")


def from_openai(messages_or_body: object, *, repair: bool = False) -> Conversation:
    """What a list of messages or a whole Chat Completions request says.

    Takes plain data and the SDK's own objects. Leading system and developer messages are `system`,
    later ones stay where they are as positional system messages. Nothing is mended unless `repair`
    asks for it. Raises InputError naming index and field of what cannot be read.
    """
    rows, request, path = split_body(messages_or_body, "messages")
    reader = _ChatReader()
    for index, row in enumerate(rows):
        reader.read(row, f"{path}[{index}]")
    tools, notes = read_tools(request.pop("tools", None), "openai", path="$.tools")
    conversation = Conversation(
        system=tuple(reader.system),
        history=tuple(reader.history),
        tools=tools,
        request=request,
        source="openai",
        diagnostics=(*reader.diagnostics, *notes),
    )
    return repaired(conversation) if repair else conversation


def split_body(
    value: object, key: str, *, also: Sequence[str] = ()
) -> tuple[list[Any], dict[str, Any], str]:
    """The entries under `key`, the other keys of the body, and the path that leads to the entries.

    A bare list has no other keys. A body is recognised by `key`, or by one of `also`.
    """
    if isinstance(value, (str, bytes)):
        raise InputError(f"a list of messages or a request body was expected, not {shown(value)}.")
    dump = getattr(value, "model_dump", None)
    if isinstance(value, Mapping) or callable(dump):
        body = {
            name: plain(item, path=f"$.{name}")
            for name, item in _items(value)
            if not _left_out(item)
        }
        answer = body.get("object") in _ANSWERS
        if answer or (key not in body and not any(name in body for name in also)):
            hint = "wrap a single message in a list" if "role" in body else f"it has no `{key}`"
            hint = _ANSWERS.get(str(body.get("object")), hint)
            raise InputError(f"a list of messages or a request body was expected; {hint}.")
        entries = body.pop(key, None)
        if entries is None:
            entries = []
        if isinstance(entries, str):
            entries = [entries]
        if not isinstance(entries, list):
            raise InputError(f"a list was expected, not {shown(entries)}.", path=f"$.{key}")
        return cast(list[Any], entries), body, f"$.{key}"
    if not isinstance(value, Iterable):
        raise InputError(f"a list of messages or a request body was expected, not {shown(value)}.")
    rows = enumerate(cast(Iterable[Any], value))
    return [plain(row, path=f"$[{index}]") for index, row in rows], {}, "$"


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(name), item) for name, item in cast(Mapping[Any, Any], value).items()]
    return cast(dict[str, Any], plain(value)).items()


def _left_out(value: object) -> bool:
    # The SDK's ways of saying that an argument was not given.
    return type(value).__name__ in ("NotGiven", "Omit")


def repaired(conversation: Conversation) -> Conversation:
    """The same conversation with its history made sendable, and the repairs noted."""
    history, repairs = ensure_valid_history(conversation.history)
    return conversation.replace(history=tuple(history), repairs=(*conversation.repairs, *repairs))


class _ChatReader:
    """Reads messages one after another; the first that is not system ends the system layer."""

    def __init__(self) -> None:
        self.system: list[Message] = []
        self.history: list[Message] = []
        self.diagnostics: list[Diagnostic] = []
        self._function_calls = 0
        self._open_functions: list[tuple[str, str]] = []

    def read(self, row: Any, path: str) -> None:
        if not isinstance(row, Mapping):
            raise InputError(f"a message was expected, not {shown(row)}.", path=path)
        message = self._message(cast(Mapping[str, Any], row), path)
        if message.role != "system":
            self.history.append(message)
        elif self.history:
            self.history.append(message.replace(positional=True))
        else:
            self.system.append(message)

    def _message(self, row: Mapping[str, Any], path: str) -> Message:
        spelled = row.get("role")
        role = _ROLES.get(spelled) if isinstance(spelled, str) else None
        if role is None:
            said = "is missing" if spelled is None else f"is {spelled!r}"
            raise InputError(
                f"the role {said}; use one of {', '.join(_ROLES)}.", path=f"{path}.role"
            )
        native: dict[str, Any] = {} if spelled == role else {"role": spelled}
        extra: dict[str, Any] = {}
        for field in row:
            if field in _READ:
                continue
            if field in _WIRE_FIELDS:
                native[field] = row[field]
            else:
                extra[field] = row[field]
                self._note(
                    "field-not-carried", f"{path}.{field}", f"`{field}` is no message field."
                )
        name = text_field(row, "name", path)
        if "name" in row and name is None:
            native["name"] = None
        blocks = self._content(row, role, native, path)
        if role == "assistant":
            blocks = [*self._said_beside(native), *blocks]
            blocks += self._calls(row, native, path)
            if row.get("function_call") is not None:
                blocks.append(self._function_call(row["function_call"], f"{path}.function_call"))
                del native["function_call"]
        elif "tool_calls" in row and not row["tool_calls"]:
            native["tool_calls"] = row["tool_calls"]
        call_id = text_field(row, "tool_call_id", path)
        if spelled == "function":
            call_id = self._answered(name or "")
        return Message(
            role=role,
            content=tuple(blocks),
            tool_call_id=(call_id or "") if role == "tool" else call_id,
            name=name,
            native={"openai": native} if native else {},
            extra=extra,
        )

    def _content(
        self, row: Mapping[str, Any], role: Role, native: dict[str, Any], path: str
    ) -> list[Block]:
        content = row.get("content")
        if content is None:
            if role == "assistant":
                native["_content"] = "null" if "content" in row else "absent"
            return []
        if isinstance(content, str):
            return [Text(text=content)] if content else []
        if not isinstance(content, list):
            raise InputError(
                f"content has to be text or a list of parts, not {shown(content)}.",
                path=f"{path}.content",
            )
        parts = cast(list[Any], content)
        if parts:
            native["_content"] = "parts"
        blocks: list[Block] = []
        for at, part in enumerate(parts):
            where = f"{path}.content[{at}]"
            blocks.append(read_part(part, where))
            if words_without_type(part) is not None:
                self.diagnostics.append(untyped_part(where))
        return [kept_inline(block) for block in blocks] if role == "tool" else blocks

    def _said_beside(self, native: dict[str, Any]) -> list[Block]:
        """Reasoning and a refusal stand in fields of their own, in front of the content."""
        blocks: list[Block] = []
        for field in _REASONING:
            words = native.get(field)
            if isinstance(words, str) and words:
                del native[field]
                where = {"openai": {"_field": field}}
                blocks.append(Thinking(text=words, origin="openai", native=where))
        refusal = native.get("refusal")
        if isinstance(refusal, str) and refusal:
            del native["refusal"]
            where = {"openai": {"type": "refusal", "_field": "refusal"}}
            blocks.append(Text(text=refusal, native=where))
        return blocks

    def _calls(self, row: Mapping[str, Any], native: dict[str, Any], path: str) -> list[Block]:
        calls = row.get("tool_calls")
        if calls is None:
            if "tool_calls" in row:
                native["tool_calls"] = None
            return []
        if not isinstance(calls, list):
            raise InputError(
                f"tool_calls has to be a list, not {shown(calls)}.", path=f"{path}.tool_calls"
            )
        rows = cast(list[Any], calls)
        return [_tool_call(call, f"{path}.tool_calls[{at}]") for at, call in enumerate(rows)]

    def _function_call(self, value: Any, path: str) -> ToolCall:
        if not isinstance(value, Mapping):
            raise InputError(f"a function call is a mapping, not {shown(value)}.", path=path)
        call = cast(Mapping[str, Any], value)
        # Calls of the old form have no id; this one pairs the call with its answer.
        call_id = f"function-call-{self._function_calls}"
        self._function_calls += 1
        name = text_field(call, "name", path) or ""
        self._open_functions.append((name, call_id))
        return ToolCall(
            id=call_id,
            name=name,
            arguments=_arguments(call, path),
            native={"openai": {"type": "function_call"}},
        )

    def _answered(self, name: str) -> str:
        for index in range(len(self._open_functions) - 1, -1, -1):
            if self._open_functions[index][0] == name:
                return self._open_functions.pop(index)[1]
        return name

    def _note(self, code: str, where: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(code=code, where=where, message=message))


def _tool_call(value: Any, path: str) -> ToolCall:
    if not isinstance(value, Mapping):
        raise InputError(f"a tool call is a mapping, not {shown(value)}.", path=path)
    call = cast(Mapping[str, Any], value)
    kind = "custom" if call.get("type") == "custom" else "function"
    inner = call.get(kind)
    if not isinstance(inner, Mapping):
        raise InputError(
            f"a tool call needs its `{kind}`, not {shown(inner)}.", path=f"{path}.{kind}"
        )
    inner = cast(Mapping[str, Any], inner)
    words = ("name", "input") if kind == "custom" else ("name", "arguments")
    native = {key: call[key] for key in call if key not in ("id", "type", kind)}
    deeper = {key: inner[key] for key in inner if key not in words}
    if kind == "custom":
        native["type"] = "custom"
    if deeper:
        native["_inner"] = deeper
    name = text_field(inner, "name", f"{path}.{kind}")
    if kind == "function" and not name:
        raise InputError("a tool call needs the function's name.", path=f"{path}.function.name")
    return ToolCall(
        id=text_field(call, "id", path) or "",
        name=name or "",
        arguments=(
            text_field(inner, "input", f"{path}.custom") or ""
            if kind == "custom"
            else _arguments(inner, f"{path}.function")
        ),
        native={"openai": native} if native else {},
    )


def _arguments(call: Mapping[str, Any], path: str) -> str:
    value = call.get("arguments")
    if isinstance(value, Mapping):
        return compact_json(value)
    if value is None or isinstance(value, str):
        return value or ""
    raise InputError(
        f"arguments are the text the model sent, or an object, not {shown(value)}.",
        path=f"{path}.arguments",
    )


def text_field(row: Mapping[str, Any], field: str, path: str) -> str | None:
    value = row.get(field)
    if value is None or isinstance(value, str):
        return value
    raise InputError(f"{field} has to be text, not {shown(value)}.", path=f"{path}.{field}")
