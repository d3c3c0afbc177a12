"""`read_overflow_error()`: whether an error says that the request is too large for the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.errors import ContextChefError
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
_TEXT_LIMIT: Final = 16_000
_CHAIN_LIMIT: Final = 32
_DEPTH: Final = 8
_PARTS: Final = 200

_ANSWER_KEYS: Final = (
    "error", "errors", "response", "message", "msg", "detail", "details", "reason", "description",
    "metadata", "raw", "body", "code", "type", "status", "errorMessage", "Error", "Message", "Code",
)  # fmt: skip
"""Where an answer says what is wrong. Elsewhere may stand what a user or a model wrote."""

_STATUS_KEYS: Final = ("status_code", "http_status", "HTTPStatusCode", "code", "status")
_ATTRIBUTES: Final = ("body", "details", "response", "message", "code", "type", "status")
_SDKS: Final[Mapping[str, Speaker]] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "google": "gemini",
    "vertexai": "gemini",
}
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
        texts = list(_texts(source))
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
        elif _status(current) is None and not current.__suppress_context__:
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
        _status(source) == 429
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
    if wording is None and (_status(source) == 413 or any(text in SIZE_CODES for text in texts)):
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
    prompt, window = _counted(source) if wording.measure == "tokens" else (None, None)
    size = size if size is not None else prompt
    limit = limit if limit is not None else window
    if excess is None and size is not None and limit is not None:
        excess = max(0, size + (output or 0) - limit) or None
    return ContextOverflow(
        message=said.strip()[:MESSAGE_LIMIT],
        provider=wording.speaker or _provider(source),
        measure=wording.measure,
        size_tokens=size,
        limit_tokens=limit,
        output_tokens=output,
        excess_tokens=excess,
    )


def _texts(source: object) -> Iterator[str]:
    """What an error says, the provider's own words before what was made of them."""
    count = 0
    for text in _said(source):
        if text and count < _PARTS:
            count += 1
            yield text[:_TEXT_LIMIT]


def _said(source: object) -> Iterator[str]:
    if isinstance(source, BaseException):
        for name in _ATTRIBUTES:
            value = _get(source, name)
            yield from _leaves(value, _DEPTH)
            if name == "response" and not isinstance(value, (Mapping, str, bytes)):
                yield from _leaves(_response_text(value), _DEPTH)
        yield _str(source)
    else:
        yield from _leaves(source, _DEPTH)


def _leaves(value: object, depth: int) -> Iterator[str]:
    """The texts of a body, found where an answer has them."""
    if depth <= 0 or value is None:
        return
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value[:_TEXT_LIMIT]).decode("utf-8", "replace")
    if isinstance(value, str):
        body = _json(value)
        if isinstance(body, (dict, list)):
            yield from _leaves(cast("object", body), depth - 1)
        else:
            yield value
    elif isinstance(value, Mapping):
        body = cast("Mapping[Any, Any]", value)
        for key in _ANSWER_KEYS:
            yield from _leaves(_item(body, key), depth - 1)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[object]", value)[:_PARTS]:
            yield from _leaves(item, depth - 1)


def _response_text(response: object) -> object:
    """The body of an HTTP answer that has been read already; nothing is fetched here."""
    if response is None or _get(response, "is_stream_consumed") is False:
        return None
    text = _get(response, "text")
    return text if isinstance(text, str) else None


def _status(source: object, depth: int = _DEPTH) -> int | None:
    """The HTTP status that an error carries, where it does."""
    if depth <= 0:
        return None
    for name in _STATUS_KEYS:
        value = _look(source, name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    for name in ("response", "error", "ResponseMetadata"):
        inner = _look(source, name)
        if inner is not None and not isinstance(inner, (str, bytes)):
            found = _status(inner, depth - 1)
            if found is not None:
                return found
    return None


def _counted(source: object) -> tuple[int | None, int | None]:
    """The figures that llama.cpp gives beside its text."""
    for body in (source, _look(source, "body")):
        if isinstance(body, (str, bytes)):
            body = _json(body)
        inner = _look(body, "error")
        for holder in (inner, body):
            size, limit = _look(holder, "n_prompt_tokens"), _look(holder, "n_ctx")
            if type(size) is int and type(limit) is int:
                return size, limit
    return None, None


def _provider(source: object) -> Speaker | None:
    """Whose answer it is, by the SDK that raised it or by the form of the body."""
    if isinstance(source, BaseException):
        for kind in type(source).__mro__:
            if (speaker := _SDKS.get(str(kind.__module__).partition(".")[0])) is not None:
                return speaker
    for body in (_look(source, "body"), source):
        if isinstance(body, (str, bytes)):
            body = _json(body)
        if not isinstance(body, Mapping):
            continue
        error = _look(cast("object", body), "error")
        if _look(cast("object", body), "type") == "error":
            return "anthropic"
        if isinstance(_look(error, "status"), str):
            return "gemini"
        if isinstance(error, Mapping) and ("param" in error or "code" in error):
            return "openai"
    return None


def _class_name(source: object) -> str:
    return type(source).__name__.lower() if isinstance(source, BaseException) else ""


def _json(text: str | bytes) -> object:
    try:
        return msgspec.json.decode(text) if text.lstrip()[:1] in ("{", "[", b"{", b"[") else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _look(source: object, name: str) -> object:
    return (
        _item(cast("Mapping[Any, Any]", source), name)
        if isinstance(source, Mapping)
        else _get(source, name)
    )


def _item(body: Mapping[Any, Any], key: str) -> object:
    try:
        return body.get(key)
    except Exception:  # noqa: BLE001  # a foreign mapping may do anything; then it says nothing
        return None


def _get(source: object, name: str) -> object:
    try:
        return getattr(source, name, None)
    except Exception:  # noqa: BLE001  # httpx raises for a body that was not read, others as they like
        return None


def _str(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # reading an error must not raise another
        return ""
