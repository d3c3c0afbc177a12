"""Reads Responses input items, or a whole request body, without losing anything of them.

What the model produced between two things that the user or a tool said is one assistant message,
its items the blocks, in order. Fields that only this wire has ride along in
`native["openai-responses"]`; keys of it that begin with `_` are notes of ours and never on a wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.given_tools import read_tools
from context_chef.adaptation.openai_parts import untyped_part, words_without_type
from context_chef.adaptation.read_openai import repaired, split_body, text_field
from context_chef.adaptation.responses_parts import WIRE, read_item_part
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import Block, Opaque, Text, ToolCall
from context_chef.ir.canonical import compact_json
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message

OUTPUT_OF: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
"""The item that answers each kind of call to one of the caller's tools."""
_OUTPUTS: Final = frozenset(OUTPUT_OF.values())
_BODY_KEYS: Final = ("instructions", "previous_response_id", "conversation", "prompt", "tools")
_ROLES: Final = ("user", "assistant", "system", "developer")


def from_openai_responses(
    items_or_body: object, instructions: str | None = None, *, repair: bool = False
) -> Conversation:
    """What a list of input items, a string or a whole Responses request says.

    Takes plain data and the SDK's own objects. `instructions` and leading system items are
    `system`, later system items stay where they are as positional system messages. Items that are
    no objects are skipped and named in a diagnostic; types that we have no form for are carried as
    they are. Nothing is mended unless `repair` asks for it. Raises InputError naming index and
    field of what cannot be read.
    """
    if isinstance(items_or_body, str):
        items_or_body = {"input": items_or_body}
    rows, request, path = split_body(items_or_body, "input", also=_BODY_KEYS)
    reader = _ItemReader()
    given = request.get("instructions")
    if instructions is None and isinstance(given, str) and given:
        instructions = given
    if instructions:
        request.pop("instructions", None)
        reader.system.append(Message.system(instructions))
    if path != "$" and len(rows) == 1 and isinstance(rows[0], str):
        said = Text(text=rows[0])
        native = {WIRE: {"_content": "input"}}
        reader.history.append(Message(role="user", content=(said,), native=native))
        rows = []
    if path != "$" and not rows and isinstance(items_or_body, Mapping) and "input" in items_or_body:
        request["input"] = []  # accepted where the provider has stored what came before
    for index, row in enumerate(rows):
        reader.read(row, f"{path}[{index}]")
    reader.close()
    if "tools" in request and not request["tools"]:
        tools, notes = (), ()  # an empty list is accepted here: it stays in the request
    else:
        tools, notes = read_tools(request.pop("tools", None), WIRE, path="$.tools")
    conversation = Conversation(
        system=tuple(reader.system),
        history=tuple(reader.history),
        tools=tools,
        request=request,
        source=WIRE,
        diagnostics=(*reader.diagnostics, *notes),
    )
    return repaired(_last_answers(conversation)) if repair else conversation


def _last_answers(conversation: Conversation) -> Conversation:
    """Of several outputs of one call the last one counts."""
    last = {
        message.tool_call_id: index
        for index, message in enumerate(conversation.history)
        if message.role == "tool"
    }
    kept = (
        message
        for index, message in enumerate(conversation.history)
        if message.role != "tool" or last[message.tool_call_id] == index
    )
    return conversation.replace(history=tuple(kept))


class _ItemReader:
    """Reads items one after another, gathering what the model produced into one message."""

    def __init__(self) -> None:
        self.system: list[Message] = []
        self.history: list[Message] = []
        self.diagnostics: list[Diagnostic] = []
        self._blocks: list[Block] = []
        self._reasoning: str | None = None
        self._searches: set[str] = set()

    def read(self, row: Any, path: str) -> None:
        if not isinstance(row, Mapping):
            self._skip(path, f"{row!r} is no item")
            return
        item = cast(Mapping[str, Any], row)
        kind = item.get("type") or ("message" if "role" in item else None)
        if kind is None and isinstance(item.get("id"), str):
            kind = "item_reference"
        if not isinstance(kind, str):
            self._skip(path, "an item has a `type` or a `role`")
        elif kind == "message":
            self._message(item, path)
        elif kind in OUTPUT_OF:
            self._call(item, kind, path)
        elif kind in _OUTPUTS and item.get("call_id") not in self._searches:
            self._output(item, kind, path)
        elif kind == "additional_tools":
            self.close()
            self._add_system((Opaque(provider=WIRE, value=item),), {})
        else:
            self._carry(item, kind)

    def _carry(self, item: Mapping[str, Any], kind: str) -> None:
        """An item that we do not model, in its place among what the assistant said."""
        if kind == "tool_search_call" and isinstance(item.get("call_id"), str):
            self._searches.add(item["call_id"])
        after = {} if kind == "reasoning" else self._after(item)
        self._blocks.append(Opaque(provider=WIRE, value=item, native=self._scoped(after)))
        if kind == "reasoning":
            self._reasoning = item["id"] if isinstance(item.get("id"), str) else None
        elif kind.endswith("_output"):
            self._reasoning = None  # what comes now is another answer of the model

    def close(self) -> None:
        """Ends the assistant message that is open, if one is."""
        if self._blocks:
            last = self._blocks[-1]
            if isinstance(last, Opaque) and last.kind == "reasoning":
                native = {WIRE: {"_last": True}}
                self._blocks[-1] = msgspec.structs.replace(last, native=native)
            self.history.append(Message(role="assistant", content=tuple(self._blocks)))
        self._blocks = []
        self._reasoning = None

    def _skip(self, path: str, why: str) -> None:
        self.diagnostics.append(
            Diagnostic(code="item-skipped", where=path, message=f"Skipped: {why}.")
        )

    def _scoped(self, native: dict[str, Any]) -> dict[str, Any]:
        return {WIRE: native} if native else {}

    def _after(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The reasoning that this item came from: its id is only good in that company."""
        return {"_after": self._reasoning} if self._reasoning and item.get("id") else {}

    # Messages ------------------------------------------------------------------------------

    def _message(self, item: Mapping[str, Any], path: str) -> None:
        role = item.get("role")
        if not isinstance(role, str):
            said = "is missing" if role is None else f"is {role!r}"
            raise InputError(
                f"the role {said}; use one of {', '.join(_ROLES)}.", path=f"{path}.role"
            )
        fields = {key: item[key] for key in item if key not in ("type", "role", "content")}
        if role == "assistant":
            self._said(item, fields, path)
            return
        self.close()
        native = dict(fields)
        if item.get("type") is None:
            native["_typed"] = False
        content = item.get("content")
        if isinstance(content, str):
            native["_content"] = "string"
        blocks = self._content(content, f"{path}.content")
        if role in ("system", "developer"):
            native["_item"] = True
            self._add_system(blocks, native if role == "system" else {"role": role, **native})
            return
        if role != "user":
            native["role"] = role
            self._note_role(role, path)
        self.history.append(Message(role="user", content=blocks, native=self._scoped(native)))

    def _note_role(self, role: str, path: str) -> None:
        self.diagnostics.append(
            Diagnostic(code="role-unknown", where=f"{path}.role", message=f"{role!r} read as user.")
        )

    def _add_system(self, blocks: tuple[Block, ...], native: dict[str, Any]) -> None:
        message = Message(role="system", content=blocks, native=self._scoped(native))
        if self.history:
            self.history.append(message.replace(positional=True))
        else:
            self.system.append(message)

    def _said(self, item: Mapping[str, Any], fields: dict[str, Any], path: str) -> None:
        """The text of one assistant item. Its first block says that an item begins here."""
        content = item.get("content")
        spelling: dict[str, Any] = {"fields": fields} if fields else {}
        if item.get("type") is None:
            spelling["typed"] = False
        if isinstance(content, str):
            spelling["string"] = True
            blocks: tuple[Block, ...] = (Text(text=content),)
        else:
            blocks = self._content(content, f"{path}.content")
        after = self._after(item)
        if not blocks or not isinstance(blocks[0], Text):
            value = dict(item)
            self._blocks.append(Opaque(provider=WIRE, value=value, native=self._scoped(after)))
            return
        begins = bool(self._blocks) and isinstance(self._blocks[-1], Text)
        if spelling or after or begins:
            native = {**blocks[0].native.get(WIRE, {}), "_item": spelling, **after}
            head = msgspec.structs.replace(blocks[0], native={WIRE: native})
            blocks = (head, *blocks[1:])
        self._blocks.extend(blocks)

    def _content(self, content: Any, path: str) -> tuple[Block, ...]:
        if content is None or content == "":
            return ()
        if isinstance(content, str):
            return (Text(text=content),)
        if not isinstance(content, list):
            raise InputError(
                f"content has to be text or a list of parts, not {shown(content)}.", path=path
            )
        parts = cast(list[Any], content)
        self.diagnostics += [
            untyped_part(f"{path}[{at}]")
            for at, part in enumerate(parts)
            if words_without_type(part) is not None
        ]
        return tuple(read_item_part(part, f"{path}[{at}]") for at, part in enumerate(parts))

    # Calls ---------------------------------------------------------------------------------

    def _call(self, item: Mapping[str, Any], kind: str, path: str) -> None:
        after = self._after(item)
        call_id = text_field(item, "call_id", path) or ""
        custom = kind == "custom_tool_call"
        words = "input" if custom else "arguments"
        native: dict[str, Any] = {"type": kind} if custom else {}
        native.update(
            {key: item[key] for key in item if key not in ("type", "call_id", "name", words)}
        )
        given = item.get(words)
        if given is None:
            given = "" if custom else "{}"
        elif isinstance(given, Mapping):
            given = compact_json(given)
        elif not isinstance(given, str):
            raise InputError(f"{words} are text, not {shown(given)}.", path=f"{path}.{words}")
        self._blocks.append(
            ToolCall(
                id=call_id,
                name=text_field(item, "name", path) or "",
                arguments=given,
                native=self._scoped({**native, **after}),
            )
        )

    def _output(self, item: Mapping[str, Any], kind: str, path: str) -> None:
        self.close()
        call_id = text_field(item, "call_id", path) or ""
        native = {key: item[key] for key in item if key not in ("type", "call_id", "output")}
        if kind != "function_call_output":
            native["type"] = kind
        output = item.get("output")
        if isinstance(output, str) or output is None:
            blocks: tuple[Block, ...] = (Text(text=output),) if output else ()
        else:
            native["_content"] = "parts"
            blocks = self._content(output, f"{path}.output")
        self.history.append(
            Message(role="tool", content=blocks, tool_call_id=call_id, native=self._scoped(native))
        )
