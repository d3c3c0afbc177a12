"""Blocks as Anthropic spells them, each as close to what was said as that wire allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from context_chef.adaptation.anthropic_body import cache_control, goes_with, is_compaction
from context_chef.adaptation.anthropic_media import media_source, why_not
from context_chef.adaptation.call_arguments import RAW_ARGUMENTS, parse_arguments
from context_chef.adaptation.media import (
    normal_media,
)
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.offered_tools import REFERRING, OfferedTools, defines_tools
from context_chef.adaptation.tools import ConvertedTools, is_legal_name, wire_name
from context_chef.ir.blocks import (
    Block,
    CacheBreakpoint,
    Media,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.frozen import EMPTY, thaw
from context_chef.ir.handed_out import Sealed, sealed
from context_chef.ir.message import Message
from context_chef.prompts.adaptation import EMPTY_FAILURE, FAILED, media_omitted, thinking_as_text

Wire = dict[str, Any]

_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})
"""What carries no breakpoint."""


def mark_last(blocks: list[Wire], mark: CacheBreakpoint, where: str, notes: Notes) -> None:
    """Put a message's breakpoint on its last block that can carry one."""
    for block in reversed(blocks):
        if block["type"] not in _UNMARKED:
            block["cache_control"] = cache_control(mark)
            return
    notes.repair("cache-breakpoints", where, "nothing in this message can carry its breakpoint")


Kind: TypeAlias = Literal["system", "inline_system", "said", "result"]
"""What a message is written as."""


@dataclass(frozen=True, slots=True)
class Made:
    """What one message becomes, without regard to those around it. Shared: never changed."""

    kind: Kind
    blocks: tuple[Sealed, ...]
    verbatim: tuple[int, ...]
    """The blocks that go out as they came in: only these can need a beta."""
    notes: Notes | None
    """Places in here begin at the message. None when there is nothing to say."""


class BlockWriter:
    """Writes single messages, and notes what does not fit."""

    def __init__(self, tools: ConvertedTools, *, thinking_as_text: bool) -> None:
        self._notes = Notes("anthropic")
        self._names = tools.names
        self._renamed = {
            name: {original: wire for wire, original in fields.items()}
            for name, fields in tools.arguments.items()
        }
        self._thinking_as_text = thinking_as_text
        self._as_it_came: set[int] = set()
        self.offered: OfferedTools | None = None
        """What references may name; None leaves them as they are."""
        self.refers = False
        """A reference to a tool was met: what is written depends on the tools that are offered."""
        self.defines = False
        """A tool was defined inside the conversation: not all that exist are in the list."""

    def make(self, message: Message, kind: Kind) -> Made:
        """What the message becomes."""
        if self._notes:  # somebody holds them
            self._notes = Notes("anthropic")
        if (plain := self._plain(message, kind)) is not None:
            return Made(kind=kind, blocks=plain, verbatim=(), notes=self._notes or None)
        self._as_it_came = set()
        if kind == "result":
            blocks = self._result(message, "")
        elif kind == "said":
            blocks = self._said(message, "")
        else:
            blocks = self._system(message, "", inline=kind == "inline_system")
        verbatim = tuple(at for at, block in enumerate(blocks) if id(block) in self._as_it_came)
        return Made(
            kind=kind,
            blocks=tuple(map(sealed, blocks)),
            verbatim=verbatim,
            notes=self._notes or None,
        )

    def _plain(self, message: Message, kind: Kind) -> tuple[Sealed, ...] | None:
        """The same as all the rest here makes of words, calls and results with nothing beside them.

        None for any other message; nearly all are such.
        """
        if (
            kind in ("system", "inline_system")
            or message.native is not EMPTY
            or message.cache is not None
            or message.is_error
        ):
            return None
        content = message.content
        for block in content:
            if block.native is not EMPTY or block.cache is not None:
                return None
            if not (
                (type(block) is Text and block.source is None)
                or (type(block) is ToolCall and message.role == "assistant")
            ):
                return None
        if kind == "result":
            if len(content) > 1:
                return None
            text = cast(Text, content[0]).text if content else ""
            result = {
                "type": "tool_result",
                "tool_use_id": message.tool_call_id or "",
                "content": text,
            }
            return (Sealed(result),)
        blank = message.role == "assistant"
        out: list[Sealed] = []
        for at, block in enumerate(content):
            if type(block) is ToolCall:
                out.append(sealed(self._call(block, f".content[{at}]")))
            elif (text := cast(Text, block).text) and (blank or not text.isspace()):
                out.append(Sealed({"type": "text", "text": text}))
        return tuple(out)

    def _system(self, message: Message, where: str, *, inline: bool) -> list[Wire]:
        """Text blocks; inside the conversation also what only that provider puts there."""
        out: list[Wire] = []
        before: Block | None = None
        for place, block in _placed(message, where):
            match block:
                case Text():
                    self._say(out, block, before, place)
                case Media():
                    self._note_media(out, block, place, "a system prompt holds only text")
                case Opaque(provider="anthropic") if inline:
                    self._verbatim(out, block, place)
                case _:
                    self._drop(block, place)
            before = block
        return self._marked(out, message, where)

    def _said(self, message: Message, where: str) -> list[Wire]:
        """What a user or an assistant said."""
        out: list[Wire] = []
        assistant = message.role == "assistant"
        before: Block | None = None
        for place, block in _compaction_placed_first(_placed(message, where)):
            match block:
                case Text():
                    self._say(out, block, before, place, citations=assistant, blank=assistant)
                case Media():
                    self._media(out, block, place, refused=assistant and "an answer holds no media")
                case Thinking(origin="anthropic", signature=str(signature)) if (
                    assistant and signature
                ):
                    out.append(self._thinking(block, signature, place))
                case Thinking(text=text) if assistant and self._thinking_as_text and text.strip():
                    out.append({"type": "text", "text": thinking_as_text(text)})
                case RedactedThinking(origin="anthropic") if assistant:
                    out.append(
                        _with_native({"type": "redacted_thinking", "data": block.data}, block)
                    )
                case ToolCall() if assistant:
                    out.append(self._call(block, place))
                case Opaque(provider="anthropic"):
                    self._verbatim(out, block, place)
                case _:
                    self._drop(block, place)
            before = block
        return self._marked(out, message, where)

    def _result(self, message: Message, where: str) -> list[Wire]:
        """What a tool answered, as one `tool_result`."""
        inner: list[Wire] = []
        before: Block | None = None
        for place, block in _placed(message, where):
            match block:
                case Text():
                    self._say(inner, block, before, place, citations=False)
                case Media():
                    self._media(inner, block, place)
                case Opaque(provider="anthropic"):
                    self._verbatim(inner, block, place)
                case Opaque():
                    # Whatever it is, the model asked for it: it is better read than missing.
                    inner.append({"type": "text", "text": compact_json(thaw(block.value))})
                    self._notes.diagnose(
                        "opaque-as-text",
                        place,
                        f"{block.provider}'s {block.kind} goes as JSON text",
                    )
                case _:
                    self._drop(block, place)
            before = block
        failed = message.is_error
        if failed and all(_is_blank(wire) for wire in inner):
            inner = [{"type": "text", "text": EMPTY_FAILURE}]
        elif failed and any(wire["type"] != "text" for wire in inner):
            # A result that is marked as failed holds only text: this one says so in words.
            inner.insert(0, {"type": "text", "text": FAILED})
            failed = False
            self._notes.repair("error-result", where, "what failed holds more than text")
        plain = len(inner) == 1 and inner[0].keys() == {"type", "text"}
        result: Wire = {
            "type": "tool_result",
            "tool_use_id": message.tool_call_id or "",
            "content": inner[0]["text"] if plain else inner or "",
        }
        if failed:
            result["is_error"] = True
        result.update(thaw(message.native.get("anthropic") or {}))
        return self._marked([result], message, where)

    def _verbatim(self, out: list[Wire], block: Opaque, where: str) -> None:
        wire: Wire = thaw(block.value)
        if block.kind in REFERRING:
            self.refers = True
            self.defines = self.defines or defines_tools(wire)
            offered = None if self.defines else self.offered
            gone = offered.without_unknown(wire) if offered is not None else []
            for name in gone:
                said = f"a reference to {name!r} was left out: there is no such tool"
                self._notes.repair("tool-reference-unknown", where, said)
            if gone and block.kind != "tool_search_tool_result":
                if block.cache is not None:
                    mark_last(out, block.cache, where, self._notes)
                return
        out.append(_mark(wire, block))
        self._as_it_came.add(id(wire))

    # Single blocks -------------------------------------------------------------------------

    def _say(
        self,
        out: list[Wire],
        block: Text,
        before: Block | None,
        where: str,
        *,
        citations: bool = True,
        blank: bool = True,
    ) -> None:
        if not block.text or not (blank or block.text.strip()):
            if block.cache is not None:
                mark_last(out, block.cache, where, self._notes)
            return
        if goes_with(block, before) and out and out[-1].keys() == {"type", "text"}:
            wire = out[-1]
            wire["text"] = f"{wire['text']}\n\n{block.text}"
        else:
            wire = _with_native({"type": "text", "text": block.text}, block)
            if wire.get("citations") and not citations:
                del wire["citations"]
                self._notes.repair("citations-role", where, "only answers carry citations")
            out.append(wire)
        _mark(wire, block)

    def _thinking(self, block: Thinking, signature: str, where: str) -> Wire:
        if block.cache is not None:
            self._notes.repair("cache-breakpoints", where, "reasoning carries no breakpoint")
        wire: Wire = {"type": "thinking", "thinking": block.text, "signature": signature}
        return _with_native(wire, block)

    def _call(self, block: ToolCall, where: str) -> Wire:
        given, fault = parse_arguments(block.arguments)
        if fault:
            self._notes.diagnose(
                "arguments-wrapped", where, f"{fault}: they go under `{RAW_ARGUMENTS}`"
            )
        name = self._names.get(block.name, block.name)
        if not is_legal_name(name, "anthropic"):
            name = wire_name(name, "anthropic")
        renamed = self._renamed.get(name)
        if renamed:
            given = {renamed.get(key, key): value for key, value in given.items()}
        wire: Wire = {"type": "tool_use", "id": block.id, "name": name, "input": given}
        return _mark(_with_native(wire, block), block)

    def _media(
        self, out: list[Wire], block: Media, where: str, *, refused: str | bool = False
    ) -> None:
        media = normal_media(block)
        wire = None if refused else media_source(media, said=block.media_type)
        if wire is None:
            self._note_media(out, media, where, str(refused or why_not(media)))
            return
        native = cast("Mapping[str, Any]", thaw(block.native.get("anthropic") or {}))
        if media.filename and wire["type"] == "document":
            wire["title"] = media.filename
        wire.update(native)
        out.append(_mark(wire, block))

    def _note_media(self, out: list[Wire], media: Media, where: str, why: str) -> None:
        note = media_omitted(
            media.kind, why=why, media_type=media.media_type, filename=media.filename
        )
        out.append(_mark({"type": "text", "text": note}, media))
        self._notes.diagnose("media-omitted", where, f"a {media.kind} is left out: {why}")

    def _drop(self, block: Block, where: str) -> None:
        match block:
            case Thinking(origin=origin):
                whose = (
                    "without a signature" if origin == "anthropic" else f"of {origin or 'nobody'}"
                )
                said = f"reasoning {whose} cannot be read here"
                self._notes.diagnose("thinking-dropped", where, said)
            case RedactedThinking(origin=origin):
                said = f"sealed reasoning of {origin} cannot be read here"
                self._notes.diagnose("redacted-thinking-dropped", where, said)
            case Opaque(provider=provider):
                said = f"{provider}'s {block.kind} has no form here"
                self._notes.diagnose("opaque-dropped", where, said)
            case ToolCall(name=name):
                said = f"a call of {name!r} stands outside an answer"
                self._notes.diagnose("call-dropped", where, said)
            case _:
                pass

    def _marked(self, out: list[Wire], message: Message, where: str) -> list[Wire]:
        if message.cache is not None and out:
            mark_last(out, message.cache, where, self._notes)
        return out


def _placed(message: Message, where: str) -> list[tuple[str, Block]]:
    return [(f"{where}.content[{index}]", block) for index, block in enumerate(message.content)]


def _compaction_placed_first(placed: list[tuple[str, Block]]) -> Iterable[tuple[str, Block]]:
    return sorted(placed, key=lambda item: not is_compaction(item[1]))


def _is_blank(wire: Wire) -> bool:
    return wire["type"] == "text" and not wire["text"].strip()


def _with_native(wire: Wire, block: Block) -> Wire:
    native = block.native.get("anthropic")
    if native:
        wire.update(thaw(native))
    return wire


def _mark(wire: Wire, block: Block) -> Wire:
    if block.cache is not None:
        wire["cache_control"] = cache_control(block.cache)
    return wire
