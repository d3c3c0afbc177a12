"""Reads any error, of an SDK or not, or an HTTP body: what it says, its status, whose it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.selection.overflow_texts import Speaker

_TEXT_LIMIT: Final = 16_000
_DEPTH: Final = 8
_ALL_TEXTS: Final = 64_000
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


def texts_of(source: object) -> Iterator[str]:
    """What an error says, the provider's own words before what was made of them.

    Long texts come shortened in the middle, and of very many only the first.
    """
    room = _ALL_TEXTS
    for text in _said(source):
        if not text:
            continue
        if len(text) > _TEXT_LIMIT:
            text = f"{text[: _TEXT_LIMIT // 2]}\n{text[-_TEXT_LIMIT // 2 :]}"
        room -= len(text)
        if room < 0:
            return
        yield text


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


def status_of(source: object, depth: int = _DEPTH) -> int | None:
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
            found = status_of(inner, depth - 1)
            if found is not None:
                return found
    return None


def tokens_of(source: object) -> tuple[int | None, int | None]:
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


def speaker_of(source: object) -> Speaker | None:
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
