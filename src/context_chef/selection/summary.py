"""One summarisation: show, ask (in parts where it has to be), read the answer, judge it."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

import msgspec

from context_chef.bridge import settle, stepping
from context_chef.errors import AsyncRequiredError, CompileAborted
from context_chef.ir.message import Message
from context_chef.ir.tokens import utf16_length
from context_chef.ir.turns import group_into_turns
from context_chef.prompts.compaction import earlier_part, read_summary
from context_chef.selection.flatten import flatten_for_compression, for_summary
from context_chef.selection.janitor_config import CompressionModel, CompressionOptions
from context_chef.selection.strategy import Runner

GUARD_FLOOR: Final = 2_000
_SHORT_SUMMARY: Final = 400
_FILL: Final = 0.9
_ANSWER_TOKENS: Final = 4_000


class CompressionCheck(NamedTuple):
    """What a validator may compare a summary with."""

    compressed: tuple[Message, ...]
    kept: tuple[Message, ...]


@dataclass(frozen=True, kw_only=True)
class SummaryRequest:
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
    grown_from: int = 0
    """Length of the document that the answer continues; only growth is judged then."""
    signal: Any = None


async def summarize_span(request: SummaryRequest, runner: Runner) -> str | None:
    """The summary, or None after a failure, which is reported to the runner.

    An accepted summary is kept with the runner until the compile succeeds, so that a compile that
    fails later, or is cancelled while the model works, does not pay for it twice.
    """
    options = request.options
    model = options.compression_model
    assert model is not None
    shown = for_summary(request.span, stub_threshold=options.tool_result_stub_threshold)
    key = _key(shown, request.instruction)
    kept = runner.recall(key)
    if isinstance(kept, str):
        return kept
    try:
        summary = await _ask_for(request, shown, model, runner, key)
    except (AsyncRequiredError, CompileAborted):
        raise
    except Exception as error:  # noqa: BLE001  # whatever a user's model raises is one failure
        runner.fail("model", error)
        return None
    if summary is None:
        runner.fail("blank", "the answer was blank, no text, or cut off inside a tag")
        return None
    if not _shrinks(request, summary):
        runner.fail(
            "shrink", f"{utf16_length(summary)} characters for a span of {span_size(request.span)}"
        )
        return None
    if not await _valid(request, summary, runner):
        runner.fail("validation", "`validate_compression` did not accept it")
        return None
    runner.keep(key, summary)
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
    runner: Runner,
    key: str,
) -> str | None:
    instruction = Message.user(request.instruction)
    room = _room(request, instruction)
    if request.tokenizer(shown) <= room:
        return _read(await _ask(model, [*shown, instruction], runner, key))
    summary: str | None = None
    for number, part in enumerate(_parts(shown, room * 0.75, request.tokenizer)):
        raise_if_stopped(request.signal)
        opening = [] if summary is None else [Message.user(earlier_part(summary))]
        messages = [*opening, *part, instruction]
        summary = _read(await _ask(model, messages, runner, f"{key}:{number}"))
        if summary is None:
            return None
    return summary


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


async def _ask(
    model: CompressionModel, messages: Sequence[Message], runner: Runner, key: str
) -> object:
    working = runner.recall(f"{key}/working")
    if isinstance(working, asyncio.Future) and not stepping():
        future = cast("asyncio.Future[Any]", working)
        if future.get_loop() is asyncio.get_running_loop() and not future.cancelled():
            return await asyncio.shield(future)
    answer: Any = model(list(messages))
    if not inspect.isawaitable(answer) or stepping():
        return await settle(answer)
    return await _shielded(asyncio.ensure_future(answer), runner, f"{key}/working")


async def _shielded(task: asyncio.Future[Any], runner: Runner, key: str) -> object:
    """Wait for the model. When the compile is cancelled meanwhile, its paid answer is kept."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise RuntimeError("the model's own task was cancelled") from None
        runner.keep(key, task)
        # An error nobody waits for any more is looked at here, so that asyncio does not report it.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise


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


def _key(shown: Sequence[Message], instruction: str) -> str:
    digest = hashlib.sha256(instruction.encode("utf-8", "surrogatepass"))
    for message in shown:
        digest.update(msgspec.json.encode(message))
    return digest.hexdigest()


def raise_if_stopped(signal: Any) -> None:
    """Raise CompileAborted once the compile's signal was given."""
    set_ = getattr(signal, "is_set", None)
    if getattr(signal, "cancelled", False) is True or (callable(set_) and set_()):
        raise CompileAborted("The compile was cancelled through its `signal`.")
