"""One summarisation: show, ask (in parts where it has to be), read the answer, judge it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from context_chef.bridge import settle
from context_chef.errors import AsyncRequiredError, CompileAborted
from context_chef.ir.message import Message
from context_chef.ir.tokens import utf16_length
from context_chef.ir.turns import group_into_turns
from context_chef.prompts.compaction import earlier_part, read_summary
from context_chef.selection.flatten import flatten_for_compression, for_summary
from context_chef.selection.janitor_config import CompressionModel, CompressionOptions
from context_chef.selection.paid import Beginning, PaidAnswers
from context_chef.selection.strategy import Runner, stopped

GUARD_FLOOR: Final = 2_000
_SHORT_SUMMARY: Final = 400
_FILL: Final = 0.9
_ANSWER_TOKENS: Final = 4_000


class CompressionCheck(NamedTuple):
    """What a validator may compare a summary with."""

    compressed: tuple[Message, ...]
    kept: tuple[Message, ...]


class SummaryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be summarised, and how the answer is judged."""

    span: tuple[Message, ...]
    kept: tuple[Message, ...]
    instruction: str
    options: CompressionOptions
    tokenizer: Callable[[Sequence[Message]], float]
    capacity: float
    """Tokens that the summarising model takes."""
    capacity_known: bool = True
    """False when `capacity` is only the session's window."""
    stays: frozenset[int] = frozenset()
    """Identities of the messages of the span that stay in the window word for word."""
    grown_from: int = 0
    """Length of the document that the answer continues; only growth is judged then."""
    signal: Any = None


async def summarize_span(request: SummaryRequest, runner: Runner) -> str | None:
    """The summary, or None after a failure, which is reported to the runner.

    What was paid for is kept with the runner until it is in the window: an accepted summary, the
    parts of one that failed later, and the answer that comes after the compile was cancelled.
    """
    options = request.options
    model = options.compression_model
    assert model is not None
    shown = for_summary(
        request.span, stub_threshold=options.tool_result_stub_threshold, stays=request.stays
    )
    paid = PaidAnswers(runner, request.instruction, shown, _read)
    try:
        beginning = await paid.beginning()
        if beginning.accepted and beginning.covers == len(shown):
            return beginning.summary
        summary = await _ask_for(request, shown, model, beginning, paid)
    except (AsyncRequiredError, CompileAborted):
        raise
    except Exception as error:  # noqa: BLE001  # whatever a user's model raises is one failure
        runner.fail("model", error)
        return None
    if summary is None:
        runner.fail("blank", "the answer was blank, no text, or cut off inside a tag")
        return None
    if not _shrinks(request, summary):
        paid.forget_parts()
        runner.fail(
            "shrink", f"{utf16_length(summary)} characters for a span of {span_size(request.span)}"
        )
        return None
    try:
        valid = await _valid(request, summary, runner)
    except BaseException:
        paid.hold(summary)
        raise
    if not valid:
        paid.forget_parts()
        runner.fail("validation", "`validate_compression` did not accept it")
        return None
    paid.keep(summary)
    return summary


def span_size(span: Sequence[Message]) -> int:
    """Characters that a summary replaces: texts, thinking, and the arguments of calls."""
    return sum(
        utf16_length(message.text)
        + sum(utf16_length(block.text) for block in message.thinking)
        + sum(utf16_length(call.arguments) for call in message.tool_calls)
        for message in span
    )


async def _ask_for(
    request: SummaryRequest,
    shown: Sequence[Message],
    model: CompressionModel,
    beginning: Beginning,
    paid: PaidAnswers,
) -> str | None:
    """The summary of what is shown, from what there is of it already."""
    summary, covers = beginning.summary, beginning.covers
    rest = shown[covers:]
    if not rest:
        return summary
    instruction = Message.user(request.instruction)
    room = _room(request, instruction)
    opening = _opening(summary)
    if request.tokenizer([*opening, *rest]) <= room:
        return await paid.whole(lambda: model([*opening, *rest, instruction]))
    for part in _parts(rest, room * 0.75, request.tokenizer):
        raise_if_stopped(request.signal)
        messages = [*_opening(summary), *part, instruction]
        summary = await paid.part(covers, part, lambda asked=messages: model(asked))
        if summary is None:
            return None
    return summary


def _opening(summary: str | None) -> list[Message]:
    return [] if summary is None else [Message.user(earlier_part(summary))]


def _read(answer: object) -> str | None:
    return read_summary(answer) if isinstance(answer, str) else None


def _room(request: SummaryRequest, instruction: Message) -> float:
    asked = request.tokenizer([instruction])
    # No summarising model is as small as the windows that people try things out with.
    capacity = request.capacity if request.capacity_known else max(request.capacity, 4 * asked)
    room = capacity * _FILL - min(_ANSWER_TOKENS, capacity / 8) - asked
    return max(room, capacity / 8)


def _parts(
    shown: Sequence[Message], room: float, tokenizer: Callable[[Sequence[Message]], float]
) -> list[list[Message]]:
    """The messages as text, packed into parts that fit; a message that alone does not is split."""
    parts: list[list[Message]] = [[]]
    filled = 0.0
    for turn in group_into_turns(shown):
        for message in flatten_for_compression(shown[turn.start : turn.end]):
            for piece in _pieces(message, room, tokenizer):
                cost = tokenizer([piece])
                if parts[-1] and filled + cost > room:
                    parts.append([])
                    filled = 0.0
                parts[-1].append(piece)
                filled += cost
    return parts


def _pieces(
    message: Message, room: float, tokenizer: Callable[[Sequence[Message]], float]
) -> list[Message]:
    if tokenizer([message]) <= room or len(message.text) < 2:
        return [message]
    half = len(message.text) // 2
    cut = message.text.rfind("\n", half // 2, half) + 1 or half
    head, tail = message.text[:cut], message.text[cut:]
    return [
        piece
        for text in (head, tail)
        for piece in _pieces(message.with_text(text), room, tokenizer)
    ]


def _shrinks(request: SummaryRequest, summary: str) -> bool:
    size = utf16_length(summary) - request.grown_from
    replaced = span_size(request.span)
    ratio = request.options.min_shrink_ratio
    if ratio <= 0:
        return True
    if replaced >= GUARD_FLOOR:
        return size <= (1 - ratio) * replaced
    # A small span may be told in as many words, but a long answer to it must not grow the window.
    return size <= max(replaced, _SHORT_SUMMARY)


async def _valid(request: SummaryRequest, summary: str, runner: Runner) -> bool:
    validate = request.options.validate_compression
    if validate is None:
        return True
    check = CompressionCheck(request.span, request.kept)
    try:
        return bool(await settle(validate(summary, check)))
    except AsyncRequiredError:
        raise
    except Exception as error:  # noqa: BLE001  # a user's validator may raise anything
        runner.logger.warning("`validate_compression` raised %r; the summary is rejected.", error)
        return False


def raise_if_stopped(signal: Any) -> None:
    """Raise CompileAborted once the compile's signal was given."""
    if stopped(signal):
        raise CompileAborted("The compile was cancelled through its `signal`.")
