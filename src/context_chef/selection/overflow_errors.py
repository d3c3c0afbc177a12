"""`read_overflow_error()`: whether an error says that the request is too large for the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

import msgspec

from context_chef.errors import ContextChefError
from context_chef.selection.error_answers import speaker_of, status_of, texts_of, tokens_of
from context_chef.selection.overflow_texts import (
    OVERFLOW_CODES,
    SIZE_CODES,
    Measure,
    Speaker,
    Wording,
    is_about_rates,
    read_wording,
)

MESSAGE_LIMIT: Final = 2_000
_CHAIN_LIMIT: Final = 32


_NAMED_OVERFLOW: Final = ("contextwindow", "contextlength", "contextoverflow", "contextlimit")
_NAMED_RATE: Final = ("ratelimit", "throttl", "toomanyrequests", "resourceexhausted")


class ContextOverflow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A provider's answer that a request was too large. What it did not say is None."""

    message: str
    """What the provider said, shortened where it is very long."""
    provider: Speaker | None = None
    """Whose answer it is. Servers that speak OpenAI's language mostly count as `openai`."""
    measure: Measure = "tokens"
    """What there was too much of. `bytes`: of the HTTP body, mostly because of media; the tokens
    may well fit. `characters`: of one single text in the request."""
    size_tokens: int | None = None
    """The true size of the request, as the model counts it, without what the answer was to get."""
    limit_tokens: int | None = None
    """What the model takes."""
    output_tokens: int | None = None
    """What was asked for the answer, where it counts toward the same limit."""
    excess_tokens: int | None = None
    """By how much the request has to shrink; `output_tokens` as they are."""

    @property
    def room_tokens(self) -> int | None:
        """What a request may measure with the same `output_tokens`; None when it is not known."""
        if self.limit_tokens is None:
            return None
        return max(0, self.limit_tokens - (self.output_tokens or 0))


def read_overflow_error(error: object) -> ContextOverflow | None:
    """The provider's answer in an error, when it is that the request is too large; else None.

    `error` is an exception of an SDK or of anything that wraps one (causes, contexts and groups are
    followed), or the body of the HTTP answer: a mapping, a string or bytes. Rate limits, quotas, a
    `max_tokens` that the model does not allow and every other rejection are None. An exception with
    an answer of its own is judged by that, not by what was being handled when it was raised.
    Never raises, loads no SDK, changes nothing.
    """
    best: ContextOverflow | None = None
    for source in _chain(error):
        texts = list(texts_of(source))
        if _too_often(source, texts):
            break
        found = _judge(source, texts)
        if found is not None and (best is None or _figures(found) > _figures(best)):
            best = found
    return best


def _figures(found: ContextOverflow) -> int:
    return sum(
        2 if name == "size_tokens" else 1
        for name in ("size_tokens", "limit_tokens", "excess_tokens", "provider")
        if getattr(found, name) is not None
    )


def _chain(error: object) -> Iterator[object]:
    """The error and what lies behind it, the outermost first."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _CHAIN_LIMIT:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if not isinstance(current, BaseException):
            continue
        waiting.extend(_members(current))
        if current.__cause__ is not None:
            waiting.append(current.__cause__)
        elif status_of(current) is None and not current.__suppress_context__:
            # Raised while another was handled: that one is the reason only when this one is no
            # answer of a provider itself (the retry after an overflow may meet a rate limit).
            waiting.append(current.__context__)


def _members(error: BaseException) -> tuple[BaseException, ...]:
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).exceptions
    return ()


def _too_often(source: object, texts: Sequence[str]) -> bool:
    """Whether this is a rate limit, which often talks of a request that is too large as well."""
    name = _class_name(source)
    return (
        status_of(source) == 429
        or any(word in name for word in _NAMED_RATE)
        or any(map(is_about_rates, texts))
    )


def _judge(source: object, texts: Sequence[str]) -> ContextOverflow | None:
    if isinstance(source, ContextChefError):
        return None  # ours: what the provider said is behind it
    name = _class_name(source)
    said, wording = _wording(texts)
    if wording is None and any(text in OVERFLOW_CODES for text in texts):
        wording = Wording("tokens")
    if wording is None and any(word in name for word in _NAMED_OVERFLOW):
        wording = Wording("tokens")
    if wording is None and (status_of(source) == 413 or any(text in SIZE_CODES for text in texts)):
        wording = Wording("bytes")
    if wording is None:
        return None
    return _overflow(source, said or max(texts, key=len, default=name), wording)


def _wording(texts: Sequence[str]) -> tuple[str, Wording | None]:
    """The text that says most, and what it says."""
    best: tuple[str, Wording | None] = ("", None)
    most = -1
    for text in texts:
        wording = read_wording(text)
        if wording is not None:
            figures = (wording.size, wording.limit, wording.output, wording.excess)
            known = sum(figure is not None for figure in figures)
            if known > most:
                best, most = (text, wording), known
    return best


def _overflow(source: object, said: str, wording: Wording) -> ContextOverflow:
    size, limit, output = wording.size, wording.limit, wording.output
    excess = wording.excess
    if wording.measure != "tokens":
        size = limit = output = excess = None
    prompt, window = tokens_of(source) if wording.measure == "tokens" else (None, None)
    size = size if size is not None else prompt
    limit = limit if limit is not None else window
    if excess is None and size is not None and limit is not None:
        excess = max(0, size + (output or 0) - limit) or None
    return ContextOverflow(
        message=said.strip()[:MESSAGE_LIMIT],
        provider=wording.speaker or speaker_of(source),
        measure=wording.measure,
        size_tokens=size,
        limit_tokens=limit,
        output_tokens=output,
        excess_tokens=excess,
    )


def _class_name(source: object) -> str:
    return type(source).__name__.lower() if isinstance(source, BaseException) else ""
