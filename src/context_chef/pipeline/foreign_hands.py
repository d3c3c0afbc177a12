"""What handlers and custom adapters leave in a request is held to JSON, and they are named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from context_chef.adaptation.conversation import plain
from context_chef.errors import InputError, shown
from context_chef.ir.handed_out import HandedOut
from context_chef.ir.text import clean_text
from context_chef.slots import name_of


def hold_to_json(payload: dict[str, Any], target: str, author: object) -> None:
    """Raise InputError naming `author` and the place of what no request can carry.

    Texts that no encoder takes are mended in place. Objects of the SDKs stay what they are.
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
        for key, value in [*payload.items()]:
            del payload[key]
            payload[_cleaned(key)] = _cleaned(value)


def _is_config(config: Any) -> bool:
    return config is None or isinstance(config, Mapping) or hasattr(config, "model_dump")


def _name(author: Any) -> str:
    return f"`{name_of(author)}`"


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value) if type(value) is str else value
    if type(value) is dict:
        fields = cast(dict[Any, Any], value)
        return {_cleaned(key): _cleaned(item) for key, item in fields.items()}
    if type(value) in (list, tuple, HandedOut):
        return [_cleaned(item) for item in cast("list[Any]", value)]
    return value
