"""What handlers and custom adapters leave in a request is held to JSON, and they are named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from context_chef.adaptation.conversation import plain
from context_chef.errors import InputError, shown
from context_chef.ir.diagnostics import Repair
from context_chef.ir.handed_out import HandedOut
from context_chef.ir.text import clean_text
from context_chef.slots import name_of


def hold_to_json(payload: dict[str, Any], target: str, author: object) -> list[Repair]:
    """Raise InputError naming `author` and the place of what no request can carry.

    Texts that no encoder takes are mended in place, which is reported. Objects of the SDKs stay
    what they are.
    """
    config = payload.get("config")
    if target == "gemini" and not _is_config(config):
        raise InputError(
            f"{_name(author)} left {shown(config)} as the request's `config`, which is a mapping "
            "or a `GenerateContentConfig`.",
            path="$.config",
        )
    try:
        json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        try:
            plain(payload)
        except InputError as error:
            raise InputError(
                f"{_name(author)} left something in the request that cannot be sent: "
                f"{error.reason}",
                path=error.path,
            ) from error
        torn: list[str] = []
        for key, value in [*payload.items()]:
            del payload[key]
            clean = _cleaned(key, key, torn)
            payload[clean] = _cleaned(value, clean, torn)
        said = f"{_name(author)} left text that is no Unicode: it goes with U+FFFD"
        return [Repair(rule=f"{target}/json-text", where=where, message=said) for where in torn]
    return []


def _is_config(config: Any) -> bool:
    return config is None or isinstance(config, Mapping) or hasattr(config, "model_dump")


def _name(author: Any) -> str:
    return f"`{name_of(author)}`"


def _cleaned(value: Any, where: str, torn: list[str]) -> Any:
    if type(value) is str:
        clean = clean_text(value)
        if clean is not value and not _is_whole(value):
            torn.append(clean_text(where))
        return clean
    if type(value) is dict:
        fields = cast(dict[Any, Any], value)
        return {
            _cleaned(key, where, torn): _cleaned(item, f"{where}.{key}", torn)
            for key, item in fields.items()
        }
    if type(value) in (list, tuple, HandedOut):
        items = enumerate(cast("list[Any]", value))
        return [_cleaned(item, f"{where}[{index}]", torn) for index, item in items]
    return value


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
