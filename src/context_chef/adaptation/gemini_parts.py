"""Blocks as Gemini spells them, each as close to what was said as that wire allows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from context_chef.adaptation.call_arguments import RAW_ARGUMENTS, parse_arguments, parse_json
from context_chef.adaptation.gemini_media import media_part, why_not
from context_chef.adaptation.media import normal_media
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.tools import ConvertedTools, is_legal_name, wire_name
from context_chef.ir.blocks import (
    Block,
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
from context_chef.prompts.adaptation import (
    EMPTY_FAILURE,
    compaction_text,
    media_omitted,
    result_media_label,
    thinking_as_text,
)

Part = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """What one message becomes, without regard to those around it. Shared: never changed."""

    way: Hashable
    """As what it was written: the role, and for a response the call that it answers."""
    parts: tuple[Sealed, ...]
    notes: Notes | None
    """Places in here begin at the message. None when there is nothing to say."""
    calls: tuple[tuple[ToolCall, int], ...] = ()
    """The calls among the parts."""


class PartWriter:
    """Writes single messages, and notes what does not fit."""

    def __init__(
        self,
        tools: ConvertedTools,
        profile: ModelProfile | None,
        *,
        thinking_as_text: bool,
    ) -> None:
        self._notes = Notes("gemini")
        self._names = tools.names
        self._renamed = {
            name: {original: wire for wire, original in fields.items()}
            for name, fields in tools.arguments.items()
        }
        self._profile = profile
        self._thinking_as_text = thinking_as_text
        self._calls: list[tuple[ToolCall, Part]] = []

    def make(self, message: Message, way: tuple[str | None, ...]) -> Made:
        """What the message becomes: as `system`, `said`, or `result` of a call (name and id)."""
        if self._notes:  # somebody holds them
            self._notes = Notes("gemini")
        self._calls = []
        if (plain := self._plain(message, way)) is not None:
            return plain
        if way[0] == "system":
            parts = self._system(message, "")
        elif way[0] == "said":
            parts = self._said(message, "")
        else:
            parts = self._response(message, "", name=way[1] or "", call_id=way[2])
        places = {id(part): at for at, part in enumerate(parts)}
        calls = tuple((call, places[id(part)]) for call, part in self._calls)
        return Made(
            way=way, parts=tuple(map(sealed, parts)), notes=self._notes or None, calls=calls
        )

    def _plain(self, message: Message, way: tuple[str | None, ...]) -> Made | None:
        """The same as all the rest here makes of words, calls and results with nothing beside them.

        None for any other message; nearly all are such.
        """
        content = message.content
        said = way[0] == "said"
        if way[0] == "system" or message.native is not EMPTY or message.is_error:
            return None
        for block in content:
            if block.native is not EMPTY or not (
                (type(block) is Text and block.text and block.source is None)
                or (said and type(block) is ToolCall and message.role == "assistant")
            ):
                return None
        if not said:
            words = "\n".join([cast(Text, block).text for block in content])
            named = {"id": way[2], "name": way[1] or ""} if way[2] else {"name": way[1] or ""}
            part = {"functionResponse": {**named, "response": _response(words, failed=False)}}
            return Made(way=way, parts=(sealed(part),), notes=None)
        parts: list[Sealed] = []
        calls: list[tuple[ToolCall, int]] = []
        for at, block in enumerate(content):
            if type(block) is ToolCall:
                calls.append((block, at))
                parts.append(sealed(self._call(block, f".content[{at}]")))
                continue
            text = cast(Text, block)
            part = {"text": text.text}
            if text.signature is not None:
                part["thoughtSignature"] = text.signature
            parts.append(Sealed(part))
        return Made(way=way, parts=tuple(parts), notes=self._notes or None, calls=tuple(calls))

    def _system(self, message: Message, where: str) -> list[Part]:
        """Text parts, and what only Gemini has."""
        out: list[Part] = []
        before: Block | None = None
        for index, block in enumerate(message.content):
            place = f"{where}.content[{index}]"
            match block:
                case Text():
                    self._say(out, block, before)
                case Opaque(provider="gemini"):
                    out.append(thaw(block.value))
                case Media():
                    out.append(self._media_note(block, place, "a system prompt holds only text"))
                case _:
                    self._drop(block, place)
            before = block
        return out

    def _said(self, message: Message, where: str) -> list[Part]:
        """What a user or a model said."""
        out: list[Part] = []
        lead: list[str] = []
        """Words that go in front of the next text."""
        before: Block | None = None
        model = message.role == "assistant"
        for index, block in enumerate(message.content):
            place = f"{where}.content[{index}]"
            match block:
                case Opaque(provider="anthropic", value={"content": str(words)}) if (
                    block.kind == "compaction" and words
                ):
                    lead.append(compaction_text(words))
                    self._notes.diagnose("compaction-as-text", place, "a summary goes as text")
                case Thinking(origin="gemini") if model:
                    self._flush(out, lead)
                    out.append(
                        _signed({"text": block.text, "thought": True}, block, block.signature)
                    )
                case Thinking(text=words) if model and self._thinking_as_text and words.strip():
                    lead.append(thinking_as_text(words))
                case Text(text=words):
                    if lead and words and block.signature is None:
                        block = Text(text="\n\n".join([*lead, words]), native=block.native)
                        lead.clear()
                    self._flush(out, lead)
                    self._say(out, block, before)
                case Media():
                    self._flush(out, lead)
                    out.append(self._media(block, place))
                case ToolCall() if model:
                    self._flush(out, lead)
                    out.append(self._call(block, place))
                case Opaque(provider="gemini"):
                    self._flush(out, lead)
                    out.append(thaw(block.value))
                case _:
                    self._drop(block, place)
            before = block
        self._flush(out, lead)
        return out

    def _response(
        self, message: Message, where: str, *, name: str, call_id: str | None
    ) -> list[Part]:
        """What a tool answered, and behind it the media that this model takes in no response."""
        words: list[str] = []
        inside: list[Part] = []
        behind: list[Part] = []
        native: dict[str, Any] = thaw(message.native.get("gemini") or {})
        for index, block in enumerate(message.content):
            place = f"{where}.content[{index}]"
            match block:
                case Text(text=text):
                    words.append(text)
                case Media():
                    part = self._media(block, place)
                    if "text" in part:
                        words.append(part["text"])
                    elif self._takes_media(block):
                        part.pop("inResponse", None)
                        inside.append(part)
                    else:
                        behind.append(part)
                case Opaque():
                    if "inResponse" in block.value:
                        value = thaw(block.value)
                        del value["inResponse"]
                        inside.append(value)
                        continue
                    # Whatever it is, the model asked for it: it is better read than missing.
                    words.append(compact_json(thaw(block.value)))
                    said = f"{block.provider}'s {block.kind} goes as JSON text"
                    self._notes.diagnose("opaque-as-text", place, said)
                case _:
                    self._drop(block, place)
        fields: dict[str, Any] = {**native.pop("functionResponse", {})}
        fields.pop("id", None)
        if call_id:
            fields["id"] = call_id
        fields.update(name=name, response=_response("\n".join(words), failed=message.is_error))
        if inside:
            fields["parts"] = inside
        if behind:
            behind.insert(0, {"text": result_media_label(name)})
            said = "a response holds no media on this model: they follow it"
            self._notes.diagnose("media-moved", where, said)
        return [{**native, "functionResponse": fields}, *behind]

    def wire_name(self, name: str) -> str:
        """The name under which the model knows that tool."""
        known = self._names.get(name, name)
        return known if is_legal_name(known, "gemini") else wire_name(known, "gemini")

    def wire_id(self, call: ToolCall) -> str | None:
        """The id that stands on the wire: Gemini's own, or any where the model pairs by id."""
        native: Mapping[str, Any] = call.native.get("gemini") or {}
        own: Mapping[str, Any] | None = native.get("functionCall")
        if own is not None:
            return own.get("id")
        return call.id if self._profile is not None and self._profile.function_ids else None

    # Single parts --------------------------------------------------------------------------

    def _say(self, out: list[Part], block: Text, before: Block | None) -> None:
        if not block.text and "text" not in (block.native.get("gemini") or {}):
            if block.signature is not None:
                out.append({"thoughtSignature": block.signature})
            return
        generated = block.source and not block.apart and isinstance(before, Text) and before.source
        if generated and out and out[-1].keys() == {"text"} and block.signature is None:
            out[-1]["text"] = f"{out[-1]['text']}\n\n{block.text}"
        else:
            out.append(_signed({"text": block.text}, block, block.signature))

    def _flush(self, out: list[Part], lead: list[str]) -> None:
        if lead:
            out.append({"text": "".join(f"{words}\n\n" for words in lead)})
            lead.clear()

    def _call(self, block: ToolCall, where: str) -> Part:
        given, fault = parse_arguments(block.arguments)
        if fault:
            said = f"{fault}: they go under `{RAW_ARGUMENTS}`"
            self._notes.diagnose("arguments-wrapped", where, said)
        name = self.wire_name(block.name)
        renamed = self._renamed.get(name)
        if renamed:
            given = {renamed.get(key, key): value for key, value in given.items()}
        own = block.native.get("gemini")
        native: dict[str, Any] = thaw(own) if own else {}
        call: dict[str, Any] = {**native.pop("functionCall", {}), "name": name, "args": given}
        call_id = self.wire_id(block)
        if call_id:
            call["id"] = call_id
        part: Part = {"functionCall": call}
        if block.signature is not None:
            part["thoughtSignature"] = block.signature
        part.update(native)
        self._calls.append((block, part))
        return part

    def _media(self, block: Media, where: str) -> Part:
        media = normal_media(block)
        why = why_not(media, block, self._profile)
        return media_part(media, block) if why is None else self._media_note(media, where, why)

    def _takes_media(self, block: Media) -> bool:
        """Whether a response holds this: it did when it came from there, or the model can."""
        native: Mapping[str, Any] = block.native.get("gemini") or {}
        if native.get("inResponse"):
            return True
        # The models that sign their calls are those that read media in responses.
        return self._profile is not None and self._profile.thought_signatures

    def _media_note(self, media: Media, where: str, why: str) -> Part:
        self._notes.diagnose("media-omitted", where, f"a {media.kind} is left out: {why}")
        note = media_omitted(
            media.kind, why=why, media_type=media.media_type, filename=media.filename
        )
        return {"text": note}

    def _drop(self, block: Block, where: str) -> None:
        match block:
            case Thinking(origin=origin):
                said = f"reasoning of {origin or 'nobody'} cannot be read here"
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


def _response(text: str, *, failed: bool) -> dict[str, Any]:
    """The object that a response has to be."""
    value: Any = text
    try:
        parsed = parse_json(text) if text.lstrip()[:1] == "{" else None
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        value = cast("dict[str, Any]", parsed)
        if not failed or "error" in value:
            return value
    if failed:
        return {"error": value or EMPTY_FAILURE}
    return {"result": value}


def _signed(part: Part, block: Block, signature: str | None) -> Part:
    if signature is not None:
        part["thoughtSignature"] = signature
    native = block.native.get("gemini")
    if native:
        part.update(thaw(native))
    return part
