"""Puts messages into the items of the Responses API, in the order in which they were said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from typing_extensions import override

from context_chef.adaptation.line import Entries, Line
from context_chef.adaptation.media import normal_media
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.openai_content import (
    Piece,
    note_foreign,
    placed,
    wrap_first,
    written_arguments,
)
from context_chef.adaptation.openai_media import (
    accepted,
    file_data,
    file_id,
    filename_of,
    image_url,
    omission,
    web_url,
)
from context_chef.adaptation.read_responses import OUTPUT_OF, WIRE
from context_chef.adaptation.response_ids import Item, ItemMender
from context_chef.adaptation.tool_names import wire_name
from context_chef.ir.blocks import (
    Block,
    Media,
    Opaque,
    PlainText,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.frozen import EMPTY, thaw
from context_chef.ir.handed_out import HandedOut, Sealed
from context_chef.ir.message import Message
from context_chef.ir.message_memo import MessageMemo
from context_chef.ir.running import Starts
from context_chef.prompts.adaptation import (
    compaction_text,
    document_text,
    failed_result,
    thinking_as_text,
)
from context_chef.prompts.guardrails import prefill_enforcement

_SAID_BY_THE_MODEL: Final = ("annotations", "logprobs")
"""Fields of an answer's text that no other text has."""


@dataclass(frozen=True, slots=True)
class Made:
    """What one message becomes, without regard to those around it. Shared: never changed."""

    items: list[Item]
    instruction: str | None
    """The words of a system message that goes into `instructions`."""
    calls: tuple[ToolCall, ...]
    answers: ToolCall | None
    """The call that it was written as the answer of."""
    notes: Notes | None
    """Places in here begin at the message. None when there is nothing to say."""


class Written(NamedTuple):
    """The conversation's part of a body."""

    instructions: str
    input: Any


class ItemWriter(Line):
    """Writes one conversation, and writes it on as it grows.

    `request` is what is known of the body's other keys; None when nothing is.
    """

    def __init__(
        self,
        *,
        profile: ModelProfile | None,
        preserve_thinking: bool,
        mend: bool,
        names: Mapping[str, str],
        memo: MessageMemo[Made],
        system_as_items: bool = False,
        as_parts: bool = False,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(WIRE)
        self._mend = mend
        self._memo = memo
        self._writer = _MessageWriter(
            profile=profile,
            preserve_thinking=preserve_thinking,
            mend=mend,
            names=names,
            system_as_items=system_as_items,
            as_parts=as_parts,
        )
        self._calls = Entries[ToolCall]()
        self._instructions: list[str] = []
        known = request or {}
        self._mender = ItemMender(
            self.notes,
            strict=mend,
            store=known.get("store"),
            stateful=bool(known.get("previous_response_id") or known.get("conversation")),
        )
        self._as_said = not mend and request is None
        self._rows: list[Sealed] = []
        """The finished items in front of the last mark."""
        self._before_opening: dict[int, Item] = {}
        """What stood at a place before the opening of the answer was written into it."""

    @override
    def _state(self) -> tuple[Any, ...]:
        return self._mender.state(), len(self._calls), len(self._instructions)

    @override
    def _go_back(self, state: Any) -> None:
        for at, item in self._before_opening.items():
            self._mender.items[at] = item
        self._before_opening = {}
        mender, calls, instructions = state or ((0,) * 5, 0, 0)
        self._mender.go_back(mender)
        del self._rows[len(self._mender.items) :]
        self._calls.back_to(calls)
        del self._instructions[instructions:]

    def write(self, messages: Sequence[Message], starts: Starts | None = None) -> Written:
        """The instructions and the input. The input is the receiver's own."""
        mender, memo = self._mender, self._memo
        for index in range(self._resume(messages, starts), len(messages)):
            message = messages[index]
            if mender.settled and not self._before_opening:
                self._mark(index)
            if message.role == "assistant" and _is_prefill(message):
                self._degrade(message)
                continue
            call = self._calls.get(message.tool_call_id or "") if message.role == "tool" else None
            made = memo.get(message)
            if made is None or made.answers is not call:
                made = self._writer.make(message, call)
                memo.put(message, made)
            for each in made.calls:
                self._calls.put(each.id, each)
            if made.instruction is not None:
                self._instructions.append(made.instruction)
            for item in made.items:
                if self._as_said:
                    mender.items.append(item)
                else:
                    mender.take(item)
            if made.notes is not None:
                where = f"messages[{index}]"
                self.notes.diagnostics.extend(placed(made.notes.diagnostics, where))
                self.notes.repairs.extend(placed(made.notes.repairs, where))
        settled = len(mender.items)
        if not mender.settled:
            mender.finish()
        rows = self._written()
        del mender.items[settled:]
        return Written("\n\n".join(self._instructions), _input(messages, rows))

    def _written(self) -> HandedOut:
        items, before = self._mender.items, self._before_opening
        marked: int = self._marks[-1].state[0][0] if self._marks else 0
        for at in range(len(self._rows), marked):
            self._rows.append(before.get(at, items[at]).row())
        rows = HandedOut(self._rows)
        rows += [item.row() for item in items[marked:]]
        for at in before:
            rows[at] = items[at].row()
        return rows

    def _degrade(self, message: Message) -> None:
        """The guardrail's opening becomes an instruction: no OpenAI model takes one."""
        if not message.content:
            return
        text = prefill_enforcement(message.text)
        piece = Piece(text=text, generated=True)
        items = self._mender.items
        for at in range(len(items) - 1, -1, -1):
            item = items[at]
            if item.fields.get("role") == "user":
                self._before_opening.setdefault(at, item)
                items[at] = item.changed(pieces=[*item.pieces, piece])
                return
        if self._mend and not items and self._mender.settled:
            row = {"type": "message", "role": "user", "content": ""}
            self._mender.take(Item(row, pieces=[piece]))
        else:
            self._instructions.append(text)


def _input(messages: Sequence[Message], rows: HandedOut) -> Any:
    if len(rows) != 1 or messages[-1].native.get(WIRE, EMPTY).get("_content") != "input":
        return rows
    content = rows[0].get("content")
    return content if isinstance(content, str) else rows


class _MessageWriter:
    """Writes single messages. Holds the items and notes of the one that is being written."""

    def __init__(
        self,
        *,
        profile: ModelProfile | None,
        preserve_thinking: bool,
        mend: bool,
        names: Mapping[str, str],
        system_as_items: bool,
        as_parts: bool,
    ) -> None:
        self.notes = Notes(WIRE)
        self._profile = profile
        self._marks = profile is not None and profile.cache.explicit_marks
        self._preserve_thinking = preserve_thinking
        self._mend = mend
        self._names = names
        self._system_as_items = system_as_items
        self._as_parts = as_parts
        self._items: list[Item] = []

    def make(self, message: Message, call: ToolCall | None) -> Made:
        """What the message becomes. `call` is the one that a tool's message answers."""
        if self.notes:  # somebody holds them
            self.notes = Notes(WIRE)
        self._items = []
        if self._is_plain(message, call):
            self._plain(message)
            return Made(
                items=self._items,
                instruction=None,
                calls=message.tool_calls,
                answers=call,
                notes=self.notes or None,
            )
        note_foreign(self.notes, message.native, WIRE, "")
        instruction: str | None = None
        match message.role:
            case "system" if not self._system_as_items and _is_instruction(message):
                pieces = self._pieces(message)
                instruction = "\n\n".join(piece.text for piece in pieces if piece.text)
            case "system" | "user":
                self._message(message)
            case "assistant":
                self._assistant(message)
            case "tool":
                self._output(message, call)
        return Made(
            items=self._items,
            instruction=instruction,
            calls=message.tool_calls,
            answers=call,
            notes=self.notes or None,
        )

    def _is_plain(self, message: Message, call: ToolCall | None) -> bool:
        """Whether that is words, calls or a result and nothing beside them, as nearly all are."""
        content, role = message.content, message.role
        if (
            self._as_parts
            or role == "system"
            or not content
            or message.native is not EMPTY
            or message.cache is not None
            or message.is_error
            or (call is not None and call.native is not EMPTY)
            or (role != "assistant" and len(content) > 1)
        ):
            return False
        for block in content:
            if block.native is not EMPTY or block.cache is not None:
                return False
            if type(block) is not Text and (type(block) is not ToolCall or role != "assistant"):
                return False
        return True

    def _plain(self, message: Message) -> None:
        """The same as all the rest here makes of such a message, with fewer questions."""
        if message.role == "assistant":
            open_text: Item | None = None
            for at, block in enumerate(message.content):
                if type(block) is ToolCall:
                    open_text = None
                    self._items.append(self._call(block, EMPTY, f".content[{at}]"))
                    continue
                if open_text is None:
                    open_text = self._text_item(EMPTY)
                open_text.pieces.append(Piece(text=cast(Text, block).text))
            return
        said = cast(Text, message.content[0])
        pieces = [Piece(text=said.text, generated=said.source is not None)]
        if message.role == "tool":
            row = {"type": "function_call_output", "call_id": message.tool_call_id or ""}
            row["output"] = ""
            item = Item(row, pieces=pieces, spelled="text", key="output", marks=self._marks)
        else:
            row = {"type": "message", "role": "user", "content": ""}
            item = Item(row, pieces=pieces, spelled="", marks=self._marks)
        self._items.append(item)

    def _message(self, message: Message) -> None:
        native: Mapping[str, Any] = message.native.get(WIRE, EMPTY)
        role = native.get("role") or message.native.get("openai", EMPTY).get("role") or message.role
        row: dict[str, Any] = {} if native.get("_typed") is False else {"type": "message"}
        row["role"] = str(role) if role != "function" else message.role
        row["content"] = ""
        row.update(_wire_fields(native, "role"))
        pieces = self._pieces(message)
        if len(pieces) == 1 and pieces[0].part is not None and native.get("_item") is None:
            value = pieces[0].part
            if value.get("type") == "additional_tools":
                self._items.append(Item(value))
                return
        self._mark_last(message, pieces)
        spelled = "parts" if self._as_parts else str(native.get("_content", ""))
        self._items.append(Item(row, pieces=pieces, spelled=spelled, marks=self._marks))

    def _output(self, message: Message, call: ToolCall | None) -> None:
        native: Mapping[str, Any] = message.native.get(WIRE, EMPTY)
        call_id = message.tool_call_id or ""
        kind = native.get("type")
        if call is not None:
            kind = OUTPUT_OF.get(_kind(call), kind)
        row: dict[str, Any] = {"type": kind or "function_call_output", "call_id": call_id}
        row["output"] = ""
        row.update(_wire_fields(native, "type"))
        pieces = self._pieces(message)
        if message.is_error:
            wrap_first(pieces, failed_result)
        self._mark_last(message, pieces)
        # A string has no place for a mark, and the next request may have one here.
        spelled = "parts" if self._as_parts else str(native.get("_content", "")) or "text"
        self._items.append(
            Item(row, pieces=pieces, spelled=spelled, key="output", marks=self._marks)
        )

    def _mark_last(self, message: Message, pieces: list[Piece]) -> None:
        if message.cache is not None and pieces:
            pieces[-1].marked = True

    def _pieces(self, message: Message) -> list[Piece]:
        pieces: list[Piece] = []
        for at, block in enumerate(message.content):
            piece = self._piece(block, f".content[{at}]")
            if piece is not None:
                piece.marked = block.cache is not None
                pieces.append(piece)
        return pieces

    def _piece(self, block: Block, where: str) -> Piece | None:
        match block:
            case Text():
                native: Mapping[str, Any] = block.native.get(WIRE, EMPTY)
                fields = self._part_fields(native)
                if fields.get("type") == "refusal":
                    del fields["type"]
                for name in _SAID_BY_THE_MODEL:
                    fields.pop(name, None)
                return Piece(text=block.text, fields=fields, generated=block.source is not None)
            case Media():
                return self._media(block, where)
            case Opaque():
                if block.provider == WIRE:
                    return Piece(part=thaw(block.value))
                return self._foreign(block, where)
            case Thinking() | RedactedThinking() | ToolCall():
                self.notes.diagnose("block-dropped", where, "only the assistant has these")
                return None

    def _part_fields(self, native: Mapping[str, Any]) -> dict[str, Any]:
        """What a part said beside its content, as far as the model takes it."""
        fields = _wire_fields(native)
        if self._profile is not None and not self._marks:
            fields.pop("prompt_cache_breakpoint", None)
        return fields

    # What the assistant said ------------------------------------------------------------------

    def _assistant(self, message: Message) -> None:
        before = len(self._items)
        open_text: Item | None = None
        for at, block in enumerate(message.content):
            path = f".content[{at}]"
            native: Mapping[str, Any] = block.native.get(WIRE, EMPTY)
            if isinstance(block, Text) or (isinstance(block, Opaque) and native.get("_part")):
                if open_text is None or "_item" in native:
                    open_text = self._text_item(native)
                open_text.pieces.append(self._said(block, native))
                continue
            words = self._as_words(block, path)
            if words is not None:
                if open_text is None:
                    open_text = self._text_item(EMPTY)
                open_text.pieces.append(words)
                continue
            item = self._item(block, path)
            if item is not None:
                open_text = None
                self._items.append(item)
        if len(self._items) == before and not self._mend:
            self._text_item(EMPTY).pieces.append(self._said(Text(text=""), EMPTY))

    def _text_item(self, native: Mapping[str, Any]) -> Item:
        spelling: Mapping[str, Any] = native.get("_item", EMPTY)
        row: dict[str, Any] = {} if spelling.get("typed") is False else {"type": "message"}
        row.update({"role": "assistant", "content": "", **thaw(spelling.get("fields", EMPTY))})
        spelled = "string" if spelling.get("string") else ""
        item = Item(row, spelled=spelled, after=native.get("_after"))
        self._items.append(item)
        return item

    def _said(self, block: Text | Opaque, native: Mapping[str, Any]) -> Piece:
        if isinstance(block, Opaque):
            return Piece(part=thaw(block.value))
        fields = _wire_fields(native)
        refuses = fields.get("type") == "refusal"
        if refuses or block.native.get("openai", EMPTY).get("type") == "refusal":
            return Piece(part={"type": "refusal", "refusal": block.text, **fields})
        return Piece(text=block.text, fields=fields)

    def _as_words(self, block: Block, where: str) -> Piece | None:
        """The words that a block without an item of its own becomes; None for every other block."""
        text: str | None = None
        match block:
            case Thinking() if self._preserve_thinking and block.text:
                text = thinking_as_text(block.text)
            case Opaque() if block.provider == "anthropic" and block.kind == "compaction":
                summary = block.value.get("content")
                text = compaction_text(summary) if isinstance(summary, str) and summary else None
            case Media():
                note = "OpenAI takes none from the assistant"
                self.notes.diagnose("media-dropped", where, f"{block.kind} in an assistant message")
                text = omission(normal_media(block), note)
            case _:
                pass
        return None if text is None else Piece(text=text, prefix=True)

    def _item(self, block: Block, where: str) -> Item | None:
        native: Mapping[str, Any] = block.native.get(WIRE, EMPTY)
        match block:
            case ToolCall():
                return self._call(block, native, where)
            case Opaque() if block.provider == WIRE:
                last = native.get("_last") is True
                return Item(thaw(block.value), after=native.get("_after"), last=last)
            case Opaque() if block.kind == "compaction":
                return None
            case Opaque():
                message = f"{block.provider} block `{block.kind}`"
                self.notes.diagnose("block-dropped", where, message)
            case RedactedThinking() if self._preserve_thinking:
                message = "reasoning that only its provider can read"
                self.notes.diagnose("redacted-thinking-dropped", where, message)
            case Thinking() | RedactedThinking():
                self.notes.diagnose("thinking-dropped", where, "reasoning of another model")
            case _:
                pass
        return None

    def _call(self, call: ToolCall, native: Mapping[str, Any], where: str) -> Item:
        after = native.get("_after")
        name = self._names.get(call.name) or wire_name(call.name, WIRE)
        kind = _kind(call)
        row = {"type": kind, "call_id": call.id, "name": name}
        if kind == "custom_tool_call":
            row["input"] = call.arguments
        elif self._mend:
            row["arguments"] = written_arguments(call, self.notes, f"{where}.arguments")
        else:
            row["arguments"] = call.arguments
        return Item({**row, **_wire_fields(native, "type")}, after=after)

    # Media and other providers' blocks --------------------------------------------------------

    def _media(self, block: Media, where: str) -> Piece:
        media = normal_media(block)
        native: Mapping[str, Any] = media.native.get(WIRE, EMPTY)
        fields = self._part_fields(native)
        if isinstance(media.source, PlainText):
            text = document_text(media.source.text, filename=media.filename)
            return Piece(text=text, apart=True)
        if not accepted(media, self._profile, wire=WIRE):
            return self._omitted(media, where, "the model does not take it")
        identifier, address = file_id(media), web_url(media)
        named = {"filename": media.filename} if media.filename and native.get("_named") else {}
        part: dict[str, Any]
        if media.kind == "image":
            url = image_url(media)
            if url is None and identifier is None:
                return self._omitted(media, where, "OpenAI does not take it in this form")
            part = {"type": "input_image"}
            part.update({"file_id": identifier} if url is None else {"image_url": url})
            detail = media.native.get("openai", EMPTY).get("detail")
            if detail is not None:
                part["detail"] = detail
        elif media.kind in ("audio", "video"):
            return self._omitted(media, where, "the Responses API takes no recordings")
        elif identifier is not None:
            part = {"type": "input_file", "file_id": identifier, **named}
        elif address is not None:
            # A name beside the address is refused: the two exclude each other.
            part = {"type": "input_file", "file_url": address, **named}
        elif (data := file_data(media)) is not None:
            part = {"type": "input_file", "file_data": data, "filename": filename_of(media)}
        else:
            return self._omitted(media, where, "OpenAI does not take it in this form")
        return Piece(part={**part, **fields})

    def _omitted(self, media: Media, where: str, why: str) -> Piece:
        self.notes.diagnose("media-dropped", where, f"{media.kind}: {why}")
        return Piece(text=omission(media, why), apart=True)

    def _foreign(self, block: Opaque, where: str) -> Piece | None:
        if block.provider == "anthropic" and block.kind == "compaction":
            summary = block.value.get("content")
            if isinstance(summary, str) and summary:
                return Piece(text=compaction_text(summary), prefix=True)
            return None
        self.notes.diagnose("block-dropped", where, f"{block.provider} block `{block.kind}`")
        return None


def _wire_fields(native: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """What the wire carried beside what we model."""
    return {k: thaw(v) for k, v in native.items() if k[:1] != "_" and k not in known}


def _kind(call: ToolCall) -> str:
    native: Mapping[str, Any] = call.native.get(WIRE, EMPTY)
    custom = native.get("type") == "custom_tool_call"
    if custom or call.native.get("openai", EMPTY).get("type") == "custom":
        return "custom_tool_call"
    return "function_call"


def _is_instruction(message: Message) -> bool:
    """Whether a system message can go into the one string that `instructions` is."""
    if message.positional or message.native.get(WIRE, EMPTY).get("_item"):
        return False
    return all(
        isinstance(block, Text)
        or (isinstance(block, Opaque) and block.provider != WIRE)
        or (isinstance(block, Media) and isinstance(block.source, PlainText))
        for block in message.content
    )


def _is_prefill(message: Message) -> bool:
    if not message.prefill or message.tool_calls:
        return False
    return not any(isinstance(b, Opaque) and b.provider == WIRE for b in message.content)


def is_marked_prompt(message: Message) -> bool:
    """Whether that is a part of the system prompt that carries a breakpoint."""
    if message.role != "system" or message.positional:
        return False
    return message.cache is not None or any(block.cache is not None for block in message.content)
