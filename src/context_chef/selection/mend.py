"""What a strategy answers is read and checked: pins and the open turn stand, pairs are whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.errors import InputError, SettingsError, shown
from context_chef.ir.diagnostics import Repair
from context_chef.ir.message import Message
from context_chef.ir.repair import Placed, pair_results
from context_chef.ir.rows import read_messages
from context_chef.ir.turns import group_into_turns
from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.selection.cut import open_turn
from context_chef.selection.pass_notes import PassNotes
from context_chef.selection.summary_message import is_synthetic

_LISTS: Final = ("history", "evicted", "span")


def read_answer(answer: object, input: OverflowInput, name: str) -> OverflowResult:
    """What a strategy answered, its messages read: plain dicts are taken like anywhere else.

    A message that is equal to one of the input is that very message. Raises SettingsError naming
    the strategy and what it answered.
    """
    if not isinstance(answer, OverflowResult):
        raise SettingsError(
            f"The strategy {shown(name)} answered {shown(answer)}; `apply` has to answer an "
            "`OverflowResult` (`input.unchanged(name)` leaves everything as it is)."
        )
    if not answer.changed:
        return answer
    if answer.summary is not None and not isinstance(cast(Any, answer.summary), str):
        raise SettingsError(
            f"The strategy {shown(name)} answered the summary {shown(answer.summary)}; it is "
            "text, or "
            "None when there is none."
        )
    known = {id(message): message for message in input.history}
    equal: dict[Message, list[Message]] = {}
    lists: dict[str, Any] = {}
    for field in _LISTS:
        given: Any = getattr(answer, field)
        if type(given) is tuple and all(id(item) in known for item in cast(Sequence[Any], given)):
            continue
        given = cast(object, given)
        try:
            read = read_messages(given)
        except InputError as error:
            raise SettingsError(
                f"The strategy {shown(name)} answered {shown(given)} as `{field}`; it is a list of "
                f"messages: {error}"
            ) from error
        if not equal:
            for message in input.history:
                equal.setdefault(message, []).append(message)
        lists[field] = _recognised(read, known, equal)
    return msgspec.structs.replace(answer, **lists) if lists else answer


def mended(result: OverflowResult, input: OverflowInput, notes: PassNotes) -> OverflowResult:
    """A changed result in which what has to stand does, and what left is accounted for.

    Every pin stands verbatim, the turn that waits for an answer is there, no call is parted from
    its result, and whatever is not in the history any more is among the evicted and in the span.
    The built-in strategies need no mending; what a custom one needed is a repair of the report.
    """
    name = result.strategy
    pins = [input.history[at] for at in sorted(input.pinned)]
    history = _with(result, input, _missing(pins, result.history))
    if history is not result.history:
        notes.mended(
            "overflow-pins",
            f"The strategy {name!r} took out or changed pinned messages; they are back.",
        )
    if not result.drops_open_turn:
        history = _with_open_turn(result, history, input, notes)
    whole = _with(
        msgspec.structs.replace(result, history=history), input, _parted(history, input.history)
    )
    if not whole and input.history:
        last = group_into_turns(input.history)[-1]
        whole = input.history[last.start : last.end]
        notes.mended(
            "overflow-empty",
            f"The strategy {name!r} left nothing to send; the last turn is back.",
        )
    whole, repairs = _paired(whole, input.history)
    notes.repaired(repairs)
    if repairs or len(whole) > len(history) > 0:
        notes.mended(
            "overflow-pairs",
            f"The strategy {name!r} parted tool calls from their results; they are mended.",
        )
    if whole is not result.history:
        result = _after_mending(result, whole, input)
    return _accounted(result, input, notes)


def _after_mending(
    result: OverflowResult, whole: tuple[Message, ...], input: OverflowInput
) -> OverflowResult:
    present = set(map(id, whole))
    said = set(map(id, input.history))
    lost = tuple(m for m in result.history if id(m) not in present and id(m) in said)
    head_stands = bool(whole and result.history) and whole[0] is result.history[0]
    return msgspec.structs.replace(
        result,
        history=whole,
        evicted=(*(m for m in result.evicted if id(m) not in present), *lost),
        span=(*result.span, *lost),
        summary=result.summary if head_stands else None,
    )


def _accounted(result: OverflowResult, input: OverflowInput, notes: PassNotes) -> OverflowResult:
    """The result with everything that left among the evicted and in the span: it is archived."""
    accounted = {id(m) for m in (*result.history, *result.evicted, *result.span)}
    silent = tuple(m for m in input.history if id(m) not in accounted and not is_synthetic(m))
    if not silent:
        return result
    notes.mended(
        "overflow-span",
        f"The strategy {result.strategy!r} left out {len(silent)} messages without saying so; they "
        "count as evicted and are archived.",
    )
    gone = set(map(id, silent))
    known = {id(m): m for m in (*result.evicted, *result.span)}
    ordered = [m for m in input.history if id(m) in gone or id(m) in known]
    said = set(map(id, input.history))
    span = {*map(id, result.span), *gone}
    evicted = {*map(id, result.evicted), *gone}
    return msgspec.structs.replace(
        result,
        evicted=(
            *(m for m in result.evicted if id(m) not in said),
            *(m for m in ordered if id(m) in evicted),
        ),
        span=(
            *(m for m in result.span if id(m) not in said),
            *(m for m in ordered if id(m) in span),
        ),
    )


def _recognised(
    read: tuple[Message, ...], known: dict[int, Message], equal: dict[Message, list[Message]]
) -> tuple[Message, ...]:
    """The messages, with those of the input in the place of equal ones.

    Of several equal ones the newest are meant: what strategies keep is the end of a history.
    """
    used: dict[Message, int] = {}
    found: list[Message] = []
    for message in reversed(read):
        originals = equal.get(message, [message])
        at = used.get(message, 0)
        used[message] = at + 1
        if id(message) not in known:
            message = originals[max(0, len(originals) - 1 - at)]
        found.append(message)
    return tuple(reversed(found))


def _with_open_turn(
    result: OverflowResult,
    history: tuple[Message, ...],
    input: OverflowInput,
    notes: PassNotes,
) -> tuple[Message, ...]:
    """The history with the turn that waits for an answer. Another form of it will do."""
    waits = [input.history[at] for at in sorted(open_turn(input.history))]
    calls = {call.id for message in history for call in message.tool_calls}
    answered = {message.tool_call_id for message in history if message.role == "tool"}
    present = set(map(id, history))
    missing = [
        message
        for message in waits
        if id(message) not in present
        and not (message.role == "tool" and message.tool_call_id in answered)
        and not any(call.id in calls for call in message.tool_calls)
    ]
    if not missing:
        return history
    notes.mended(
        "overflow-open-turn",
        f"The strategy {result.strategy!r} took out the turn that waits for an answer; it is back.",
    )
    return _with(msgspec.structs.replace(result, history=history), input, missing)


def _missing(wanted: Iterable[Message], history: tuple[Message, ...]) -> list[Message]:
    present = {id(message) for message in history}
    return [m for m in wanted if id(m) not in present and m not in history]


def _parted(history: tuple[Message, ...], before: tuple[Message, ...]) -> list[Message]:
    """Members of a tool turn that left while others of the same turn stayed."""
    present = {id(message) for message in history}
    calls = {call.id for message in history for call in message.tool_calls}
    answered = {message.tool_call_id for message in history if message.role == "tool"}
    parted: list[Message] = []
    for turn in group_into_turns(before):
        members = before[turn.start : turn.end]
        if len(members) < 2 or not any(id(member) in present for member in members):
            continue
        # A member may have given way to another form of itself: a stub has the same call id.
        parted += [
            member
            for member in members
            if id(member) not in present
            and (
                member.tool_call_id not in answered
                if member.role == "tool"
                else not any(call.id in calls for call in member.tool_calls)
            )
        ]
    return parted


def _with(
    result: OverflowResult, input: OverflowInput, missing: list[Message]
) -> tuple[Message, ...]:
    """The history with these messages back, each before what followed it and is still there."""
    if not missing:
        return result.history
    history = list(result.history)
    present = {id(message) for message in history}
    lost = set(map(id, missing))
    at = len(history)
    for message in reversed(input.history):
        if id(message) in lost:
            history.insert(at, message)
        elif id(message) in present:
            at = next(i for i, kept in enumerate(history) if kept is message)
    if result.summary is not None and result.history and history[0] is not result.history[0]:
        head = result.history[0]
        history = [head, *(message for message in history if message is not head)]
    return tuple(history)


def _paired(
    history: tuple[Message, ...], before: tuple[Message, ...]
) -> tuple[tuple[Message, ...], list[Repair]]:
    """The history with pairs whole, and what that took, when this pass has broken any."""
    old: list[Repair] = []
    new: list[Repair] = []
    pair_results(_placed(before), old, keep_unnamed=True)
    paired = pair_results(_placed(history), new, keep_unnamed=True)
    if len(new) <= len(old):
        return history, []
    known = {repair.message for repair in old}
    fresh = [repair for repair in new if repair.message not in known] or new
    return tuple(entry.message for entry in paired), fresh


def _placed(history: tuple[Message, ...]) -> list[Placed]:
    return [Placed(at, message) for at, message in enumerate(history)]
