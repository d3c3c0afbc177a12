"""What a model sent, made into arguments: every mistake becomes a sentence it can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from context_chef.patterns import regex
from context_chef.persistence.backend import sendable
from context_chef.prompts import replies

BLANKS: Final = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What is trimmed from what a model sends: blanks, line ends, and a byte order mark."""

_INTEGER: Final = regex(r"-?[0-9]{1,18}")


class Mistake(Exception):
    """What the model got wrong, as the sentence that is answered."""


class Arguments:
    """The arguments of one call, checked as they are asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def get(self, name: str) -> Any:
        """The value as it was sent, None when it was not."""
        return self._values.get(name)

    def required(self, name: str) -> str:
        """A non-empty string."""
        value = self._values.get(name)
        if value is None or value == "":
            raise Mistake(replies.missing_argument(name))
        if not isinstance(value, str):
            raise Mistake(replies.wrong_argument(name, value, "a non-empty string"))
        return sendable(value)

    def optional(self, name: str) -> str | None:
        """A string, or None when it was left out."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            raise Mistake(replies.wrong_argument(name, value, "a string"))
        return None if value is None else sendable(value)

    def integer(self, name: str) -> int:
        """A whole number, also when it was written as text."""
        value = self._values.get(name)
        number = whole_number(value)
        if number is None:
            raise Mistake(replies.wrong_argument(name, value, "a whole number"))
        return number


def whole_number(value: object) -> int | None:
    """The number, or None for anything that is not a whole number in decimal notation."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 10**18 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 10**15 else None
    if isinstance(value, str):
        text = value.strip(BLANKS)
        return int(text) if _INTEGER.fullmatch(text) else None
    return None


def parse_arguments(raw: object) -> Arguments:
    """Arguments out of an object, JSON text, or nothing at all."""
    if raw is None:
        return Arguments({})
    if isinstance(raw, Mapping):
        values = cast("Mapping[Any, Any]", raw)
        return Arguments({str(key): value for key, value in values.items()})
    if not isinstance(raw, str):
        raise Mistake(replies.not_an_object(_kind(raw)))
    text = raw.strip(BLANKS)
    if not text:
        return Arguments({})
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise Mistake(replies.not_json(reason)) from error
    if not isinstance(value, dict):
        raise Mistake(replies.not_an_object(_kind(value)))
    return Arguments(cast("dict[str, Any]", value))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"
