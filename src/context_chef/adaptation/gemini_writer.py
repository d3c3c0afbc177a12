"""Puts parts into Gemini's turns: neighbours of one role joined, responses in front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
from typing_extensions import override

from context_chef.adaptation.gemini_parts import Made, PartWriter
from context_chef.adaptation.gemini_sdk import sdk_row
from context_chef.adaptation.line import Entries, Line
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.prefill import prefill_index
from context_chef.ir.frozen import FrozenList, thaw
from context_chef.ir.handed_out import HandedOut, Sealed, sealed
from context_chef.ir.message import Message
from context_chef.ir.message_memo import MessageMemo
from context_chef.ir.running import Starts
from context_chef.prompts.guardrails import prefill_enforcement

SKIP_SIGNATURE: Final = "skip_thought_signature_validator"
"""Documented to stand in for the signature of a call that another model made."""


class Written(NamedTuple):
    """The conversation's part of a body. The lists are the receiver's own."""

    system: HandedOut
    system_fields: dict[str, Any]
    contents: HandedOut
    for_sdk: HandedOut
    """The contents as the SDK takes them, not to be handed out; the same list where they are the
    same."""


class _Call(msgspec.Struct):
    """A call of the model's latest turn, and whether it was answered."""

    id: str
    name: str
    wire_id: str | None
    answered: bool = False


class _Unsigned(NamedTuple):
    """A call of Gemini's own without a signature, in a turn that may still be in progress."""

    row: int
    part: int
    where: str


@dataclass(slots=True)
class _Content:
    """A turn that may still grow."""

    role: str
    parts: list[Sealed] = field(default_factory=list[Sealed])
    answers: dict[int, int] = field(default_factory=dict[int, int])
    """By place of the part: which of the calls before it that part answers."""
    foreign: set[int] = field(default_factory=set[int])
    """Places of calls that Gemini did not make."""


class ContentWriter(Line):
    """Writes one conversation, and writes it on as it grows."""

    def __init__(
        self, parts: PartWriter, memo: MessageMemo[Made], profile: ModelProfile | None
    ) -> None:
        super().__init__("gemini")
        self._writer = parts
        self._memo = memo
        self._profile = profile
        self._system: list[Sealed] = []
        self._system_fields: dict[str, Any] = {}
        self._rows: list[Sealed] = []
        self._for_sdk: list[Sealed] = []
        """The same turns as the SDK takes them."""
        self._differ: list[int] = []
        """Places of turns that are not the same there."""
        self._contents = 0
        """How many turns were finished, before responses were parted from what stood beside."""
        self._open: _Content | None = None
        self._calls: list[_Call] = []
        self._names = Entries[str]()
        self._unsigned: list[_Unsigned] = []
        self._started = False

    @override
    def _state(self) -> Any:
        return (
            len(self._system), len(self._rows), self._contents, len(self._names),
            tuple(self._unsigned),
        )  # fmt: skip

    @override
    def _go_back(self, state: Any) -> None:
        system, rows, self._contents, names, unsigned = state or (0, 0, 0, 0, ())
        del self._system[system:], self._rows[rows:], self._for_sdk[rows:]
        while self._differ and self._differ[-1] >= rows:
            self._differ.pop()
        self._names.back_to(names)
        self._unsigned = list(unsigned)
        self._calls = []
        self._open = None
        self._started = state is not None

    def write(self, messages: Sequence[Message], starts: Starts | None = None) -> Written:
        """The system instruction and the contents."""
        prefill = prefill_index(messages)
        for index in range(self._resume(messages, starts), len(messages)):
            message = messages[index]
            where = f"messages[{index}]"
            if message.role == "system" and not (message.positional and self._started):
                self._instruct(message, where)
                continue
            self._started = True
            if index == prefill:
                self._open_answer(message, where)
            elif message.role == "assistant":
                if self._begins_turn(message):
                    self._finish()
                    self._mark(index)
                self._answer(message, where)
            elif message.role == "tool":
                self._respond(message, where)
            else:
                # A system message inside the conversation has no role of its own here.
                self._join("user", self._made(message, where, "said").parts)
        self._finish()
        contents, for_sdk = self._signed()
        return Written(HandedOut(self._system), thaw(self._system_fields), contents, for_sdk)

    def _begins_turn(self, message: Message) -> bool:
        """Whether this answer says something, behind what the user's side said."""
        return (
            self._open is not None
            and self._open.role == "user"
            and bool(self._look_up(message, ("said",)).parts)
        )

    def _look_up(self, message: Message, way: tuple[str | None, ...]) -> Made:
        made = self._memo.get(message)
        if made is None or made.way != way:
            made = self._writer.make(message, way)
            self._memo.put(message, made)
        return made

    def _made(self, message: Message, where: str, *way: str | None) -> Made:
        """What the message becomes; written once as long as the message lives."""
        made = self._look_up(message, way)
        if made.notes is not None:
            self.notes.include(made.notes, where)
        return made

    def _instruct(self, message: Message, where: str) -> None:
        if not self._system:
            self._system_fields = thaw(message.native.get("gemini") or {})
        self._system.extend(self._made(message, where, "system").parts)

    def _answer(self, message: Message, where: str) -> None:
        made = self._made(message, where, "said")
        last = self._open
        if made.parts and (last is None or last.role == "user"):
            self._calls = []
        start = len(last.parts) if last is not None and last.role == "model" else 0
        content = self._join("model", made.parts)
        for call, at in made.calls:
            said: Mapping[str, Any] = made.parts[at]["functionCall"]
            self._names.put(call.id, said["name"])
            self._calls.append(_Call(call.id, said["name"], said.get("id")))
            if content is not None and "gemini" not in call.native:
                content.foreign.add(start + at)

    def _respond(self, message: Message, where: str) -> None:
        call_id = message.tool_call_id or ""
        at = self._called(call_id)
        if at is not None:
            call = self._calls[at]
            call.answered = True
            name, wire_id = call.name, call.wire_id
        else:
            said = message.name and self._writer.wire_name(message.name)
            name = self._names.get(call_id) or said or call_id or "unknown"
            native: Mapping[str, Any] = message.native.get("gemini") or {}
            own: Mapping[str, Any] = native.get("functionResponse") or {}
            wire_id = own.get("id")
        parts = self._made(message, where, "result", name, wire_id).parts
        last = self._open
        start = len(last.parts) if last is not None and last.role == "user" else 0
        content = self._join("user", parts)
        if at is not None and content is not None:
            content.answers[start] = at

    def _called(self, call_id: str) -> int | None:
        """The open call of that id in the model's latest turn."""
        for index, call in enumerate(self._calls):
            if call.id == call_id and not call.answered:
                return index
        return None

    def _join(self, role: str, parts: Sequence[Sealed]) -> _Content | None:
        if not parts:
            return None
        last = self._open
        if last is None or last.role != role:
            self._finish()
            last = self._open = _Content(role)
        last.parts.extend(parts)
        return last

    def _open_answer(self, message: Message, where: str) -> None:
        """The guardrail's opening: as one where the model takes it, else as an instruction."""
        opening = message.text
        if self._profile is not None and self._profile.prefill:
            if opening.rstrip():
                self._join("model", [sealed({"text": opening.rstrip()})])
        elif opening.strip():
            self._join("user", [sealed({"text": prefill_enforcement(opening)})])
            said = "this model takes no opening of its answer: it is told to begin with it"
            self.notes.diagnose("prefill-degraded", where, said)

    def _finish(self) -> None:
        """What was said is a turn."""
        content, self._open = self._open, None
        if content is None:
            return
        where = f"contents[{self._contents}]"
        self._contents += 1
        if content.role == "model":
            self._sign(content, where)
            self._add(_row("model", content.parts))
            return
        if not content.answers and not any("functionResponse" in part for part in content.parts):
            self._unsigned = []  # the turn that was in progress is over
        for row in self._arranged(content):
            self._add(row)

    def _add(self, row: Sealed) -> None:
        if row.sdk is not None:
            self._differ.append(len(self._rows))
        self._rows.append(row)
        self._for_sdk.append(row.sdk or row)

    def _sign(self, content: _Content, where: str) -> None:
        """The first call of a step needs a signature; one that is missing is stood in for.

        For calls of other models always, so that the request does not change as it grows; for
        Gemini's own only in the turn in progress, where they would be refused without.
        """
        if self._profile is None or not self._profile.thought_signatures:
            return
        parts = content.parts
        first = next((at for at, part in enumerate(parts) if "functionCall" in part), None)
        if first is None or parts[first].get("thoughtSignature"):
            return
        if first in content.foreign:
            parts[first] = self._stand_in(parts[first], where)
        else:
            self._unsigned.append(_Unsigned(len(self._rows), first, where))

    def _stand_in(self, part: Sealed, where: str) -> Sealed:
        said = "a call of another model carries the documented stand-in"
        self.notes.repair("thought-signature", where, said)
        return sealed({**part, "thoughtSignature": SKIP_SIGNATURE})

    def _signed(self) -> tuple[HandedOut, HandedOut]:
        """The contents, with what the turn in progress needs, and the same for the SDK."""
        rows = HandedOut(self._rows)
        for_sdk = HandedOut(self._for_sdk) if self._differ or self._unsigned else rows
        for row, at, where in self._unsigned:
            parts: list[Sealed] = list(self._rows[row]["parts"])
            parts[at] = self._stand_in(parts[at], where)
            signed = rows[row] = _row("model", parts)
            for_sdk[row] = signed.sdk or signed
        return rows, for_sdk

    def _arranged(self, content: _Content) -> list[Sealed]:
        parts = content.parts
        if not content.answers or len(parts) == 1:
            return [_row("user", parts)]
        answers = _in_call_order(content)
        others = [part for at, part in enumerate(parts) if at not in content.answers]
        if others and (self._profile is None or self._profile.response_alone):
            return [_row("user", answers), _row("user", others)]
        return [_row("user", [*answers, *others])]


def _in_call_order(content: _Content) -> list[Sealed]:
    """The responses as they came, unless two of one name would be taken for each other."""
    places = content.answers
    last: dict[str, int] = {}
    for place, at in places.items():
        response = content.parts[place]["functionResponse"]
        if not response.get("id") and at < last.get(response["name"], -1):
            return [content.parts[p] for p, _ in sorted(places.items(), key=lambda item: item[1])]
        last[response["name"]] = at
    return [content.parts[place] for place in places]


def _row(role: str, parts: list[Sealed]) -> Sealed:
    row = Sealed({"role": role, "parts": FrozenList(parts)})
    row.sdk = sdk_row(row)
    return row
