"""What a provider's refusal teaches: how much a request may hold, how far off our counts are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from context_chef.ir.message import Message

if TYPE_CHECKING:
    from context_chef.selection.overflow_errors import ContextOverflow

_SHRINK: Final = 0.8
"""Without a figure from the provider, the next request has at most this share of the refused."""
_SHORT: Final = 1.05
"""Where the size is not told, a refused request was at least so many times its limit."""
_WILDEST: Final = 20.0
"""A size above this many times our count is not of the request that we counted."""


class Learnt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Ceilings that refusals taught, and whether the next pass has to make good for one."""

    tokens: float | None = None
    """The largest request in tokens as the provider counts them, without the answer."""
    bytes: float | None = None
    """Of media and text in the conversation."""
    characters: float | None = None
    """Of one single text."""
    recovering: bool = False
    """The last request was refused: the next pass runs, whatever rests or is skipped."""


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """The last request as we saw it, for an answer to be compared with."""

    tokens: float
    """Counted, without correction."""
    messages: tuple[Message, ...] = ()


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """What a refusal changes."""

    learnt: Learnt
    factor: float
    reported: float | None = None
    """A size that could not be compared with any count of ours."""


def lesson_of(
    refusal: ContextOverflow,
    *,
    learnt: Learnt,
    factor: float,
    sent: Sent | None,
    limit: float,
    reserve: float,
) -> Lesson | None:
    """What to go by from now on. `limit` is the room of now in tokens, `reserve` what is kept free.

    None when no shorter request helps: the answer alone asks for more than the model takes.
    """
    if refusal.measure != "tokens":
        return Lesson(learnt=_lighter(refusal, learnt, sent), factor=factor)
    room = refusal.limit_tokens
    if room is not None:
        room -= max(reserve, refusal.output_tokens or 0)
        if room <= 0:
            return None
    size = _size(refusal)
    if sent is None:
        ceiling = _least(learnt.tokens, room)
        if room is None and size is not None:
            ceiling = _least(ceiling, size * _SHRINK)
        return Lesson(
            learnt=msgspec.structs.replace(learnt, tokens=ceiling, recovering=True),
            factor=factor,
            reported=size,
        )
    if size is not None and sent.tokens and factor < size / sent.tokens <= _WILDEST:
        factor = size / sent.tokens
    if room is None:
        said = size if size is not None else sent.tokens * factor
        room = min(said, limit) * _SHRINK
    elif size is None and sent.tokens and sent.tokens * factor <= room:
        factor = room * _SHORT / sent.tokens
    elif sent.tokens * factor <= room:
        # By its figures what was refused would pass again: only something shorter can help.
        room = sent.tokens * factor * _SHRINK
    return Lesson(
        learnt=msgspec.structs.replace(learnt, tokens=_least(learnt.tokens, room), recovering=True),
        factor=factor,
    )


def _size(refusal: ContextOverflow) -> int | None:
    if refusal.size_tokens is not None:
        return refusal.size_tokens
    if refusal.limit_tokens is None or refusal.excess_tokens is None:
        return None
    return refusal.limit_tokens + refusal.excess_tokens - (refusal.output_tokens or 0)


def _lighter(refusal: ContextOverflow, learnt: Learnt, sent: Sent | None) -> Learnt:
    """Half of what was refused, in the measure that it was refused for."""
    from context_chef.selection.weight import byte_weight, longest_text

    if refusal.measure == "bytes":
        ceiling = None if sent is None else byte_weight(sent.messages) / 2
        return msgspec.structs.replace(learnt, bytes=_least(learnt.bytes, ceiling), recovering=True)
    ceiling = None if sent is None else longest_text(sent.messages) / 2
    return msgspec.structs.replace(
        learnt, characters=_least(learnt.characters, ceiling), recovering=True
    )


def _least(*figures: float | None) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return min(known) if known else None
