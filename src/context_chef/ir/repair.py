"""`ensure_valid_history()`: calls and results paired again, whatever happened to the list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from context_chef.ir.blocks import (
    Block,
    Opaque,
    Provider,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import as_messages

# The model reads these two. `prompts/repair.py` lists them with the others; they stand here because
# messages know no wording.
MISSING_RESULT: Final = (
    "No result of this tool call was recorded: it may have been interrupted, or its output was "
    "lost. Do not take it for done."
)
CONVERSATION_CONTINUES: Final = "(The conversation continues here.)"

ORPHAN: Final = "tool-result-orphan"
DUPLICATE: Final = "tool-result-duplicate"
MISSING: Final = "tool-result-missing"
MOVED: Final = "tool-result-order"
FIRST_ROLE: Final = "first-role"

_EXCERPT: Final = 60


class RepairedHistory(NamedTuple):
    """A history in which every call has its results right behind it, and what that took."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]


class KnownIds(Protocol):
    """The ids of calls so far: a set of them will do."""

    def add(self, element: str, /) -> None: ...

    def __contains__(self, element: object, /) -> bool: ...


class Placed(NamedTuple):
    """A message and the index that it has, or that its cause has, in the list that came in."""

    at: int
    message: Message


def ensure_valid_history(messages: Sequence[MessageLike]) -> RepairedHistory:
    """The same history, mended where no provider would take it. Nothing is changed in place.

    Results stand directly behind the message that called, in call order: late ones are moved back,
    duplicates and results that nobody asked for go (each reported with its first words), missing
    ones are replaced by a note that is marked as an error. Calls and results belong together by
    position and id, so an id may come again in a later turn, and empty ids pair in order. The first
    message that is no system message is a user's. Untouched messages are the same objects; a valid
    history comes back equal, with no repairs.
    """
    repairs: list[Repair] = []
    placed = [Placed(at, message) for at, message in enumerate(as_messages(messages))]
    paired = pair_results(placed, repairs, keep_unnamed=True)
    mended = [entry.message for entry in paired]
    first = next((i for i, message in enumerate(mended) if message.role != "system"), None)
    if first is None and messages and not mended:
        first = 0
    if first is not None and (first == len(mended) or mended[first].role != "user"):
        mended.insert(first, Message.user(CONVERSATION_CONTINUES))
        where = f"messages[{paired[first].at if paired else 0}]"
        repairs.append(
            Repair(
                rule=FIRST_ROLE, where=where, message="a user message now opens the conversation"
            )
        )
    return RepairedHistory(tuple(mended), tuple(repairs))


def pair_results(
    placed: Sequence[Placed],
    repairs: list[Repair],
    *,
    keep_unnamed: bool = False,
    keep_orphans: bool = False,
    tight: bool = False,
    merged: bool = False,
    known: KnownIds | None = None,
) -> list[Placed]:
    """The same messages with every result behind its call.

    `keep_unnamed` leaves tool messages without an id where no call is open, `keep_orphans` all
    results without a call (the call may be stored with the provider). `tight` lets nothing
    stand between a call and its results, not even system messages. `merged` takes assistant
    messages in a row for one, as providers do that merge neighbours of one role. `known` holds the
    ids of calls further up, so that a second result of theirs is told from that of no call at all;
    those of this stretch are added.
    """
    return _Pairing(placed, repairs, (keep_unnamed, keep_orphans), tight, merged, known).run()


class _Round:
    """The calls of one assistant turn, and the results found for them."""

    __slots__ = ("calls", "end", "open", "results", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        """Position of the last assistant message of the turn."""
        self.calls: list[ToolCall] = []
        self.results: list[int | None] = []
        self.open = 0

    def add(self, calls: Iterable[ToolCall]) -> None:
        for call in calls:
            self.calls.append(call)
            self.results.append(None)
            self.open += 1

    def answer(self, number: int, position: int) -> None:
        self.results[number] = position
        self.open -= 1


class _Pairing:
    """One run over one history."""

    def __init__(
        self,
        placed: Sequence[Placed],
        repairs: list[Repair],
        keep: tuple[bool, bool],
        tight: bool,
        merged: bool,
        known: KnownIds | None,
    ) -> None:
        self._placed = placed
        self._repairs = repairs
        self._keep_unnamed, self._keep_orphans = keep
        self._tight = tight
        self._merged = merged
        self._rounds: list[_Round] = []
        self._by_id: dict[str, list[tuple[_Round, int]]] = {}
        """Calls by id that are still open, oldest first."""
        self._known: KnownIds = set[str]() if known is None else known
        self._dropped: set[int] = set()

    def run(self) -> list[Placed]:
        if not self._match():
            return list(self._placed)
        return self._rebuilt()

    # Who belongs to whom -------------------------------------------------------------------

    def _match(self) -> bool:
        """Find the call of every result. False when there is neither a call nor a result."""
        seen = False
        unnamed: list[tuple[int, Message, _Round | None]] = []
        previous: _Round | None = None  # the turn that a further assistant message may continue
        for position, (_, message) in enumerate(self._placed):
            role = message.role
            if role == "assistant":
                calls = message.tool_calls
                if previous is not None and self._merged:
                    turn = previous
                    turn.end = position
                elif calls:
                    turn = _Round(position)
                    self._rounds.append(turn)
                else:
                    continue
                if calls:
                    seen = True
                    self._open(turn, calls)
                previous = turn
            elif role == "tool":
                seen = True
                previous = None
                if not self._place(position, message):
                    unnamed.append((position, message, self._rounds[-1] if self._rounds else None))
            elif role == "user":
                previous = None
        # Only now: a result that names its call, however late, has it before one that names none.
        for position, message, turn in unnamed:
            self._place_by_order(position, message, turn)
        return seen

    def _open(self, turn: _Round, calls: Sequence[ToolCall]) -> None:
        first = len(turn.calls)
        turn.add(calls)
        for number, call in enumerate(calls, first):
            self._known.add(call.id)
            self._by_id.setdefault(call.id, []).append((turn, number))

    def _place(self, position: int, message: Message) -> bool:
        """Give a result to the call it names. False for one that names none and has no place."""
        identifier = message.tool_call_id or ""
        found = self._take(identifier)
        if found is not None:
            turn, number = found
            turn.answer(number, position)
        elif not identifier:
            return False
        elif identifier in self._known:
            self._drop(position, DUPLICATE, "a second result of one call was left out")
        elif not self._keep_orphans:
            self._drop(position, ORPHAN, "the result of a call that is not there was left out")
        return True

    def _place_by_order(self, position: int, message: Message, turn: _Round | None) -> None:
        """Give a result without an id to a call of the turn before it that is still open."""
        number = None if turn is None else self._take_by_order(turn, message)
        if turn is not None and number is not None:
            turn.answer(number, position)
        elif not (self._keep_orphans or self._keep_unnamed):
            self._drop(position, ORPHAN, "the result of a call that is not there was left out")

    def _take(self, identifier: str) -> tuple[_Round, int] | None:
        """The open call with that id: of the latest turn that has one, the first of that turn."""
        waiting = self._by_id.get(identifier)
        if not waiting:
            return None
        latest = waiting[-1][0]
        at = len(waiting) - 1
        while at > 0 and waiting[at - 1][0] is latest:
            at -= 1
        return waiting.pop(at)

    def _take_by_order(self, turn: _Round, message: Message) -> int | None:
        """An open call of the turn, by name where the result has one."""
        if not turn.open:
            return None
        free = [number for number, result in enumerate(turn.results) if result is None]
        named = [
            number for number in free if message.name and turn.calls[number].name == message.name
        ]
        number = (named or free)[0]
        waiting = self._by_id[turn.calls[number].id]
        waiting.remove((turn, number))
        return number

    def _drop(self, position: int, rule: str, why: str) -> None:
        self._dropped.add(position)
        at, message = self._placed[position]
        said = message.text
        excerpt = said if len(said) <= _EXCERPT else f"{said[:_EXCERPT]}…"
        self._repairs.append(
            Repair(rule=rule, where=f"messages[{at}]", message=f"{why}: {excerpt!r}")
        )

    # The list again ------------------------------------------------------------------------

    def _rebuilt(self) -> list[Placed]:
        placed = self._placed
        ends = {turn.end: turn for turn in self._rounds if turn.calls}
        answers = {result for turn in self._rounds for result in turn.results if result is not None}
        inside = self._systems_inside()
        held: list[Placed] = []
        out: list[Placed] = []
        position = 0
        while position < len(placed):
            if position in answers or position in self._dropped:
                position += 1
                continue
            (held if position in inside else out).append(placed[position])
            turn = ends.get(position)
            position += 1
            if turn is None:
                continue
            if self._in_order(turn):  # as it should be already: the stretch is kept as it stands
                last = turn.results[-1]
                while last is not None and position <= last:
                    if position not in self._dropped:
                        out.append(self._linked(turn, position))
                    position += 1
            else:
                self._report(turn)
                out.extend(self._results(turn))
            out.extend(held)
            held.clear()
        return out

    def _systems_inside(self) -> set[int]:
        """System messages among the assistant messages of one turn, whose results are to come."""
        inside: set[int] = set()
        for turn in self._rounds if self._tight and self._merged else ():
            found = [
                position
                for position in range(turn.start + 1, turn.end)
                if self._placed[position].message.role == "system"
            ]
            if turn.calls and found:
                inside.update(found)
                where = f"messages[{self._placed[turn.end].at}]"
                said = "system messages now stand behind the results of the turn"
                self._repairs.append(Repair(rule=MOVED, where=where, message=said))
        return inside

    def _in_order(self, turn: _Round) -> bool:
        """Every result is there, in call order, with nothing but system messages in between."""
        position = turn.end
        for result in turn.results:
            if result is None:
                return False
            position += 1
            while position < result:
                role = self._placed[position].message.role
                if position not in self._dropped and (role != "system" or self._tight):
                    return False
                position += 1
            if position != result:
                return False
        return True

    def _report(self, turn: _Round) -> None:
        found = [result for result in turn.results if result is not None]
        where = f"messages[{self._placed[turn.end].at}]"
        for call, result in zip(turn.calls, turn.results, strict=True):
            if result is None:
                said = f"the call {call.id!r} of {call.name!r} has no result; a note says so"
                self._repairs.append(Repair(rule=MISSING, where=where, message=said))
        last = max(found, default=turn.end)
        between = any(
            position not in self._dropped and position not in found
            for position in range(turn.end + 1, last + 1)
        )
        if between or found != sorted(found):
            said = "results now stand right behind their calls, in call order"
            self._repairs.append(Repair(rule=MOVED, where=where, message=said))

    def _results(self, turn: _Round) -> Iterable[Placed]:
        at = self._placed[turn.end].at
        for call, result in zip(turn.calls, turn.results, strict=True):
            if result is not None:
                yield self._link(call, self._placed[result])
            else:
                note = Message.tool(
                    MISSING_RESULT, tool_call_id=call.id, name=call.name or None, is_error=True
                )
                yield Placed(at, note)

    def _linked(self, turn: _Round, position: int) -> Placed:
        if position not in turn.results:
            return self._placed[position]
        return self._link(turn.calls[turn.results.index(position)], self._placed[position])

    def _link(self, call: ToolCall, entry: Placed) -> Placed:
        """A result that came without an id gets that of its call."""
        if (entry.message.tool_call_id or "") == call.id:
            return entry
        said = f"the result now names its call {call.id!r}"
        self._repairs.append(Repair(rule=MOVED, where=f"messages[{entry.at}]", message=said))
        return Placed(entry.at, entry.message.replace(tool_call_id=call.id))


# Reasoning that cannot stay ----------------------------------------------------------------


def without_reasoning(message: Message, provider: Provider | None = None) -> Message:
    """The same message without reasoning, and without item ids that would ask for it.

    With `provider`, only that provider's reasoning goes. The message may be left empty.
    """
    kept: list[Block] = []
    changed = False
    for block in message.content:
        if is_reasoning(block, provider):
            changed = True
            continue
        bare = _without_item_id(block) if provider in (None, "openai-responses") else block
        changed = changed or bare is not block
        kept.append(bare)
    return message.replace(content=tuple(kept)) if changed else message


def is_reasoning(block: Block, provider: Provider | None = None) -> bool:
    """Whether that is reasoning (of that provider)."""
    match block:
        case Thinking() | RedactedThinking():
            return provider is None or block.origin == provider
        case Opaque(provider=owner):
            return block.kind == "reasoning" and provider in (None, owner)
        case _:
            return False


def _without_item_id(block: Block) -> Block:
    """OpenAI asks for the reasoning before an item that it knows by its id."""
    native = block.native.get("openai-responses")
    if not isinstance(block, (Text, ToolCall)) or not native or "id" not in native:
        return block
    fields = {key: value for key, value in thaw(native).items() if key not in ("id", "item_id")}
    rest = {key: value for key, value in block.native.items() if key != "openai-responses"}
    if fields:
        rest["openai-responses"] = fields
    return msgspec.structs.replace(block, native=rest)
