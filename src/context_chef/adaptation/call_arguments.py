"""The argument text of a call as the object that Anthropic and Gemini want."""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn, cast

import msgspec

from context_chef.ir.frozen import MAX_DEPTH, freeze, thaw
from context_chef.ir.text import lent

RAW_ARGUMENTS: Final = "raw_arguments"
"""Under this key stands argument text that is no JSON object, word for word."""


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The object that `text` means, and what was wrong with it (None when nothing was).

    Empty text is no arguments. What is not valid JSON comes back whole under `RAW_ARGUMENTS`, and
    so does a JSON value that is not an object: parsed, so that nothing of it is lost.
    """
    if not text.strip():
        return {}, None
    try:
        value = parse_json(text)
    except ValueError:
        return {RAW_ARGUMENTS: text}, "the arguments are not valid JSON"
    if isinstance(value, dict):
        return cast("dict[str, Any]", value), None
    return {RAW_ARGUMENTS: value}, "the arguments are not a JSON object"


def parse_json(text: str) -> Any:
    """The JSON value of `text`. ValueError for whatever could not be written back as JSON."""
    try:
        value = msgspec.json.decode(lent(text))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeEncodeError):
        if "\\u" not in text:
            raise ValueError("no JSON") from None
        # An escaped lone surrogate is JSON, but no request can carry it.
        try:
            value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    if "\\u" in text or text.count("[") + text.count("{") > MAX_DEPTH:
        return thaw(freeze(value))
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} does not fit a float")
    return number
