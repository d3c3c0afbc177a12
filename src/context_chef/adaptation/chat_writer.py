"""Puts messages into the words of Chat Completions, one of ours for one of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from typing_extensions import override

from context_chef.adaptation.line import Entries, Line
from context_chef.adaptation.media import normal_media
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.openai_content import (
    Draft,
    Piece,
    note_foreign,
    placed,
    wrap_first,
    written_arguments,
)
from context_chef.adaptation.openai_media import (
    accepted,
    audio_format,
    file_data,
    file_id,
    filename_of,
    image_url,
    omission,
)
from context_chef.adaptation.tool_names import wire_name
from context_chef.ir.blocks import (
    Media,
    Opaque,
    PlainText,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.frozen import EMPTY, FrozenDict, FrozenList, thaw
from context_chef.ir.handed_out import HandedOut, Sealed, sealed
from context_chef.ir.message import Message
from context_chef.ir.message_memo import MessageMemo
from context_chef.ir.running import Starts
from context_chef.patterns import regex
from context_chef.prompts.adaptation import (
    INSTRUCTION_MEDIA,
    compaction_text,
    document_text,
    failed_result,
    media_moved,
    result_media_label,
    system_note,
    thinking_as_text,
)
from context_chef.prompts.guardrails import prefill_enforcement

WIRE: Final = "openai"
_NAME: Final = regex(r"[^\s<|\\/>]{1,64}")
_NOT_IN_NAME: Final = regex(r"[\s<|\\/>]+")
_OFFICIAL_FIELDS: Final = frozenset(
    {"role", "name", "refusal", "audio", "function_call", "annotations", "parsed", "tool_calls"}
)
_FIELDS_OF_ALL: Final = frozenset({"role", "name"})
"""What a message that is no answer may have beside its content."""

Words: TypeAlias = Text | ToolCall | Thinking | RedactedThinking | Opaque


@dataclass(frozen=True, slots=True)
class Made:
    """What one message becomes, without regard to those around it. Shared: never changed."""

    row: Sealed
    calls: tuple[ToolCall, ...]
    answers: ToolCall | None
    """The call that it was written as the answer of."""
    media: Sequence[Piece]
    """What goes to the user's side, behind the whole run of messages of its role."""
    notes: Notes | None
    """Places in here begin at the message. None when there is nothing to say."""


class ChatWriter(Line):
    """Writes one conversation, and writes it on as it grows."""

    def __init__(
        self,
        *,
        profile: ModelProfile | None,
        preserve_thinking: bool,
        mend: bool,
        names: Mapping[str, str],
        memo: MessageMemo[Made],
        as_parts: bool = False,
    ) -> None:
        super().__init__(WIRE)
        self._profile = profile
        self._mend = mend
        self._marks_shown = profile is not None and profile.cache.explicit_marks
        self._writer = _MessageWriter(
            profile=profile,
            preserve_thinking=preserve_thinking,
            mend=mend,
            names=names,
            as_parts=as_parts,
        )
        self._memo = memo
        self._calls = Entries[ToolCall]()
        self._written: list[Message | Draft] = []
        """What each row was written of: a message, which makes its draft again, or a draft."""
        self._rows: list[Sealed] = []
        self._before_opening: dict[int, tuple[Message | Draft, Sealed]] = {}
        """What stood at a place before the opening of the answer was written into it."""

    @override
    def _state(self) -> tuple[int, int]:
        return len(self._rows), len(self._calls)

    @override
    def _go_back(self, state: Any) -> None:
        for at, (written, row) in self._before_opening.items():
            self._written[at], self._rows[at] = written, row
        self._before_opening = {}
        rows, calls = state or (0, 0)
        del self._rows[rows:], self._written[rows:]
        self._calls.back_to(calls)

    def write(self, messages: Sequence[Message], starts: Starts | None = None) -> HandedOut:
        """The wire messages. The list is the receiver's own."""
        waiting: list[Piece] = []
        waits_for = ""
        for index in range(self._resume(messages, starts), len(messages)):
            message = messages[index]
            if waiting and message.role != waits_for:
                self._add(Draft(role="user", pieces=waiting))
                waiting = []
            if not waiting and not self._before_opening:
                self._mark(index)
            if message.prefill and message.role == "assistant" and not message.tool_calls:
                self._degrade(message)
                continue
            made = self._made(message, index)
            self._written.append(message)
            self._rows.append(made.row)
            if made.media:
                waiting = [*waiting, *made.media]
                waits_for = message.role
        rows = HandedOut(self._rows)
        if waiting:
            rows.append(self._row(Draft(role="user", pieces=waiting)))
        return rows

    def _made(self, message: Message, index: int) -> Made:
        call = self._calls.get(message.tool_call_id or "") if message.role == "tool" else None
        made = self._memo.get(message)
        if made is None or made.answers is not call:
            made = self._writer.make(message, call)
            self._memo.put(message, made)
        for each in made.calls:
            self._calls.put(each.id, each)
        if made.notes is not None:
            where = f"messages[{index}]"
            self.notes.diagnostics.extend(placed(made.notes.diagnostics, where))
            self.notes.repairs.extend(placed(made.notes.repairs, where))
        return made

    def _row(self, draft: Draft) -> Sealed:
        return sealed(draft.chat(self._marks_shown))

    def _add(self, draft: Draft) -> None:
        self._written.append(draft)
        self._rows.append(self._row(draft))

    def _degrade(self, message: Message) -> None:
        """The guardrail's opening becomes an instruction: no OpenAI model takes one."""
        if not message.content:
            return
        piece = Piece(text=prefill_enforcement(message.text), generated=True)
        for at in range(len(self._rows) - 1, -1, -1):
            if self._rows[at]["role"] in ("user", "system", "developer"):
                written = self._written[at]
                self._before_opening.setdefault(at, (written, self._rows[at]))
                draft = written if isinstance(written, Draft) else self._writer.draft_of(written)
                longer = replace(draft, pieces=[*draft.pieces, piece])
                self._written[at] = longer
                self._rows[at] = self._row(longer)
                return
        self._add(Draft(role="user", pieces=[piece]))


def judge_tools(
    wire: Iterable[Mapping[str, Any]], profile: ModelProfile | None, notes: Notes, *, mend: bool
) -> bool:
    """Says so when the model takes no tools on this endpoint, or none while it reasons.

    True: the request has to ask for no reasoning (and is asked to, where requests are mended).
    """
    if profile is None or not any(tool.get("type") == "function" for tool in wire):
        return False
    if profile.chat_tools == "never":
        notes.diagnose(
            "tools-refused-on-chat",
            "tools",
            f"{profile.name} takes no function tools on Chat Completions: "
            "use the target `openai-responses`.",
        )
    elif profile.chat_tools == "effort_none":
        if mend:
            notes.repair(
                "reasoning-tools",
                "reasoning_effort",
                f"{profile.name} takes function tools on Chat Completions only without "
                "reasoning, so its effort is set to none; the target `openai-responses` has "
                "no such limit.",
            )
            return True
        notes.diagnose(
            "tools-need-effort-none",
            "tools",
            f"{profile.name} takes function tools on Chat Completions only with "
            '`reasoning_effort="none"` in the call; the target `openai-responses` has no '
            "such limit.",
        )
    elif profile.chat_tools == "without_effort":
        notes.diagnose(
            "tools-need-no-effort",
            "tools",
            f"{profile.name} takes function tools on Chat Completions only without "
            '`reasoning_effort`, or with "none".',
        )
    return False


class _MessageWriter:
    """Writes single messages. Holds the one that is being written."""

    def __init__(
        self,
        *,
        profile: ModelProfile | None,
        preserve_thinking: bool,
        mend: bool,
        names: Mapping[str, str],
        as_parts: bool,
    ) -> None:
        self.notes = Notes(WIRE)
        self._profile = profile
        self._as_parts = as_parts
        self._official = profile is not None and profile.openais_own
        self._marks = profile is not None and profile.cache.explicit_marks
        self._preserve_thinking = preserve_thinking
        self._mend = mend
        self._names = names
        self._media_apart: list[Piece] = []
        self._takes_system = not mend or profile is None or profile.leading_system

    def make(self, message: Message, call: ToolCall | None) -> Made:
        """What the message becomes. `call` is the one that a tool's message answers."""
        if self.notes:  # somebody holds them
            self.notes = Notes(WIRE)
        self._media_apart = []
        calls = message.tool_calls
        if self._is_plain(message, call):
            row = self._plain(message)
        else:
            row = sealed(self._draft(message, call).chat(self._marks))
        return Made(
            row=row,
            calls=calls,
            answers=call,
            media=self._media_apart or (),
            notes=self.notes or None,
        )

    def _is_plain(self, message: Message, call: ToolCall | None) -> bool:
        """Whether that is words and calls and nothing beside them, as nearly all messages are."""
        if (
            self._as_parts
            or message.native is not EMPTY
            or message.cache is not None
            or message.is_error
            or (call is not None and call.native is not EMPTY)
            or (message.role == "system" and not self._takes_system)
        ):
            return False
        texts = 0
        for block in message.content:
            kind = type(block)
            if block.native is not EMPTY or block.cache is not None:
                return False
            if kind is Text and not texts:
                texts = 1
            elif kind is not ToolCall:
                return False
        return True

    def _plain(self, message: Message) -> Sealed:
        """The same as all the rest here makes of such a message, with fewer questions."""
        call_id = message.tool_call_id or ""
        named = Draft(role=message.role)
        if message.name is not None:
            self._name(message, named)
        text = ""
        calls: list[FrozenDict] = []
        for at, block in enumerate(message.content):
            if type(block) is Text:
                text = block.text
                continue
            call = cast(ToolCall, block)
            arguments = call.arguments
            if self._mend:
                arguments = written_arguments(call, self.notes, f".content[{at}].arguments")
            function = FrozenDict({"arguments": arguments, "name": self._name_of(call)})
            calls.append(FrozenDict({"id": call.id, "type": "function", "function": function}))
        row: dict[str, Any] = {"content": text, **named.fields}
        row["role"] = message.role
        if message.role == "tool" and (call_id or self._mend):
            row["tool_call_id"] = call_id
        if calls:
            row["tool_calls"] = FrozenList(calls)
        return Sealed(row)

    def draft_of(self, message: Message) -> Draft:
        """The draft of a message that is no result, once more."""
        self.notes = Notes(WIRE)
        self._media_apart = []
        return self._draft(message, None)

    def _draft(self, message: Message, call: ToolCall | None) -> Draft:
        native: Mapping[str, Any] = message.native.get(WIRE, EMPTY)
        fields = {key: thaw(value) for key, value in native.items() if key[:1] != "_"}
        role = str(fields.pop("role", message.role))
        no_place = self._mend and self._profile is not None and not self._profile.leading_system
        as_users = no_place and role in ("system", "developer")
        if as_users:
            self.notes.repair("role-model", "", "the model takes no instructions of this role")
            role = "user"
        if self._official:
            known = _OFFICIAL_FIELDS if message.role == "assistant" else _FIELDS_OF_ALL
            for key in [key for key in fields if key not in known]:
                self._dropped("field-dropped", f".{key}", f"OpenAI takes no `{key}`")
                del fields[key]
        note_foreign(self.notes, message.native, WIRE, "")
        # A string has no place for a mark, and the next request may have one here.
        as_parts = self._as_parts and message.role != "assistant"
        spelled = "parts" if as_parts else str(native.get("_content", ""))
        draft = Draft(role=role, fields=fields, spelled=spelled)
        if message.name is not None:
            self._name(message, draft)
        for at, block in enumerate(message.content):
            where = f".content[{at}]"
            if isinstance(block, Media):
                self._media(block, message, call, draft, where)
            else:
                self._block(block, message, draft, where)
            if block.cache is not None and draft.pieces and message.role != "assistant":
                draft.pieces[-1].marked = True
        if message.role == "tool":
            self._result(message, call, draft)
        if as_users:
            wrap_first(draft.pieces, system_note)
        if message.cache is not None and draft.pieces and message.role != "assistant":
            draft.pieces[-1].marked = True
        return draft

    def _name(self, message: Message, draft: Draft) -> None:
        name = message.name or ""
        if message.role == "tool":
            name = self._names.get(name, name)
        if not _NAME.fullmatch(name):
            name = _NOT_IN_NAME.sub("_", name)[:64]
            self.notes.repair("name-field", ".name", f"{message.name!r} goes as {name!r}")
        if name:
            draft.fields["name"] = name

    def _result(self, message: Message, call: ToolCall | None, draft: Draft) -> None:
        call_id = message.tool_call_id or ""
        if draft.role != "function" and call is not None and _form(call) == "function_call":
            draft.role = "function"  # an answer in the form of its call
            draft.fields.setdefault("name", self._name_of(call))
        if draft.role == "function":
            draft.fields.setdefault("name", call_id)
        elif call_id or self._mend:
            draft.fields["tool_call_id"] = call_id
        if message.is_error:
            wrap_first(draft.pieces, failed_result)

    # Blocks --------------------------------------------------------------------------------

    def _block(self, block: Words, message: Message, draft: Draft, where: str) -> None:
        match block:
            case Text():
                self._text(block, draft)
            case ToolCall():
                self._call(block, draft, where)
            case Thinking():
                self._thinking(block, message, draft, where)
            case RedactedThinking():
                code = (
                    "redacted-thinking-dropped" if self._preserve_thinking else "thinking-dropped"
                )
                self._dropped(code, where, "reasoning that only its provider can read")
            case Opaque():
                self._opaque(block, message, draft, where)

    def _text(self, block: Text, draft: Draft) -> None:
        native: Mapping[str, Any] = block.native.get(WIRE, EMPTY)
        if native.get("_field") == "refusal":
            draft.fields["refusal"] = block.text
            return
        fields = self._part_fields(native)
        if fields.pop("type", None) == "refusal" or _refuses(block):
            draft.pieces.append(Piece(part={"type": "refusal", "refusal": block.text, **fields}))
        else:
            generated = block.source is not None
            draft.pieces.append(Piece(text=block.text, fields=fields, generated=generated))

    def _part_fields(self, native: Mapping[str, Any]) -> dict[str, Any]:
        """What a part said beside its content, as far as the model takes it."""
        fields = {key: thaw(value) for key, value in native.items() if key[:1] != "_"}
        if self._official:
            known = {"type", "prompt_cache_breakpoint"} if self._marks else {"type"}
            fields = {key: value for key, value in fields.items() if key in known}
        return fields

    def _call(self, call: ToolCall, draft: Draft, where: str) -> None:
        name = self._name_of(call)
        if _form(call) == "custom":
            entry: dict[str, Any] = {"name": name, "input": call.arguments}
        else:
            text = call.arguments
            if self._mend:
                text = written_arguments(call, self.notes, f"{where}.arguments")
            entry = {"arguments": text, "name": name}
        if _form(call) == "function_call" and "function_call" not in draft.fields:
            draft.fields["function_call"] = entry
            return
        native: Mapping[str, Any] = call.native.get(WIRE, EMPTY)
        kind = "custom" if _form(call) == "custom" else "function"
        entry.update(thaw(native.get("_inner", EMPTY)))
        row = {"id": call.id, "type": kind, kind: entry}
        row.update({k: thaw(v) for k, v in native.items() if k[:1] != "_" and k != "type"})
        calls: list[dict[str, Any]] = draft.fields.get("tool_calls") or []
        draft.fields["tool_calls"] = [*calls, row]

    def _name_of(self, call: ToolCall) -> str:
        return self._names.get(call.name) or wire_name(call.name, WIRE)

    def _thinking(self, block: Thinking, message: Message, draft: Draft, where: str) -> None:
        field = block.native.get(WIRE, EMPTY).get("_field")
        if isinstance(field, str) and not self._official and message.role == "assistant":
            draft.fields[field] = block.text
        elif self._preserve_thinking and message.role == "assistant" and block.text:
            draft.pieces.append(Piece(text=thinking_as_text(block.text), prefix=True))
        else:
            self._dropped("thinking-dropped", where, "reasoning of another model")

    def _opaque(self, block: Opaque, message: Message, draft: Draft, where: str) -> None:
        value = block.value
        if block.provider == WIRE and self._official:
            self._dropped("block-dropped", where, f"OpenAI takes no part `{block.kind}`")
        elif block.provider == WIRE:
            draft.pieces.append(Piece(part=thaw(value)))
        elif block.provider == "anthropic" and block.kind == "compaction":
            summary = value.get("content")
            if isinstance(summary, str) and summary:
                draft.pieces.append(Piece(text=compaction_text(summary), prefix=True))
        elif block.kind == "reasoning":
            words = reasoning_text(value)
            if self._preserve_thinking and words and message.role == "assistant":
                draft.pieces.append(Piece(text=thinking_as_text(words), prefix=True))
            else:
                self._dropped("thinking-dropped", where, "reasoning of the Responses API")
        else:
            self._dropped("block-dropped", where, f"{block.provider} block `{block.kind}`")

    # Media ---------------------------------------------------------------------------------

    def _media(
        self, block: Media, message: Message, call: ToolCall | None, draft: Draft, where: str
    ) -> None:
        media = normal_media(block)
        native: Mapping[str, Any] = media.native.get(WIRE, EMPTY)
        inline = native.get("_inline") is True and not self._official
        piece = self._media_piece(media, where)
        if piece.part is None or message.role == "user" or inline:
            draft.pieces.append(piece)
        elif message.role == "assistant":
            self._dropped("media-dropped", where, f"{media.kind} in an assistant message")
            draft.pieces.append(Piece(text=omission(media, "OpenAI takes none from the assistant")))
        else:
            if not self._media_apart:
                self._media_apart.append(Piece(text=self._label(message, call), generated=True))
            self._media_apart.append(piece)
            note = media_moved(media.kind, media_type=media.media_type, filename=media.filename)
            draft.pieces.append(Piece(text=note, generated=True))

    def _label(self, message: Message, call: ToolCall | None) -> str:
        if message.role != "tool":
            return INSTRUCTION_MEDIA
        named = message.name or (call.name if call is not None else "")
        return result_media_label(named or message.tool_call_id or "tool")

    def _media_piece(self, media: Media, where: str) -> Piece:
        """The part that shows this, or the words that say why it is not shown."""
        native: Mapping[str, Any] = media.native.get(WIRE, EMPTY)
        inner = {k: thaw(v) for k, v in native.items() if k[:1] != "_" and k != "format"}
        beside = self._part_fields(native.get("_part", EMPTY))
        if isinstance(media.source, PlainText):
            text = document_text(media.source.text, filename=media.filename)
            return Piece(text=text, fields=beside, apart=True)
        if not accepted(media, self._profile, wire=WIRE):
            return self._omitted(media, where, "the model does not take it")
        if media.kind == "image" and (url := image_url(media)) is not None:
            detail = media.native.get("openai-responses", EMPTY).get("detail")
            if detail in ("low", "high", "auto"):
                inner = {"detail": detail, **inner}
            part = {"type": "image_url", "image_url": {"url": url, **inner}}
        elif (sound := audio_format(media)) is not None:
            data = getattr(media.source, "data", "")
            part = {"type": "input_audio", "input_audio": {"data": data, "format": sound, **inner}}
        elif media.kind != "image" and (identifier := file_id(media)) is not None:
            file = {"file_id": identifier, **inner}
            if media.filename and native.get("_named"):
                file["filename"] = media.filename
            part = {"type": "file", "file": file}
        elif media.kind in ("document", "file") and (data := file_data(media)) is not None:
            file = {"file_data": data, "filename": filename_of(media), **inner}
            part = {"type": "file", "file": file}
        else:
            return self._omitted(media, where, "OpenAI does not take it in this form")
        return Piece(part={**part, **beside})

    def _omitted(self, media: Media, where: str, why: str) -> Piece:
        self._dropped("media-dropped", where, f"{media.kind}: {why}")
        return Piece(text=omission(media, why), apart=True)

    def _dropped(self, code: str, where: str, message: str) -> None:
        self.notes.diagnose(code, where, message)


def reasoning_text(item: Mapping[str, Any]) -> str:
    """The readable words of a Responses reasoning item: its summary, else its content."""
    for key in ("summary", "content"):
        parts: Any = item.get(key)
        if not isinstance(parts, list):
            continue
        found: list[str] = []
        for part in cast(list[Any], parts):
            words: Any = (
                cast(Mapping[str, Any], part).get("text") if isinstance(part, Mapping) else part
            )
            if isinstance(words, str) and words:
                found.append(words)
        if found:
            return "\n\n".join(found)
    return ""


def _form(call: ToolCall) -> str:
    """`function`, `custom`, or `function_call` for calls of the form before tools."""
    said = call.native.get(WIRE, EMPTY).get("type")
    if said in ("custom", "function_call"):
        return str(said)
    responses = call.native.get("openai-responses", EMPTY).get("type")
    return "custom" if responses == "custom_tool_call" else "function"


def _refuses(block: Text) -> bool:
    return block.native.get("openai-responses", EMPTY).get("type") == "refusal"
