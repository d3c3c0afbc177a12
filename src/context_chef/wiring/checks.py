"""What every setting is held to: its kind, its choices, its section."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from context_chef.errors import SettingsError, nearest, shown

T = TypeVar("T")


def configured(kind: type[T], value: T | Mapping[str, Any] | None, *, name: str) -> T:
    """The section as its dataclass. None gives the defaults.

    Raises SettingsError naming the section and the nearest right name for an unknown setting.
    """
    if value is None:
        return kind()
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise SettingsError(
            f"`{name}` is a `{kind.__name__}` or a mapping of its settings, not {shown(value)}."
        )
    settings = cast(Mapping[str, Any], value)
    known = [field.name for field in dataclasses.fields(cast(Any, kind))]
    for setting in settings:
        if not isinstance(cast(Any, setting), str) or setting not in known:
            raise SettingsError(
                f"`{name}` has no setting {shown(setting)}. {nearest(setting, known)}"
            )
    return kind(**settings)


def one_of(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value outside a closed set, with the nearest right one."""
    if value not in choices:
        names = [str(choice) for choice in choices if choice is not None]
        raise SettingsError(f"`{name}` cannot be {shown(value)}. {nearest(value, names)}")


def flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise SettingsError(f"`{name}` is True or False, not {shown(value)}.")


def callable_or_none(name: str, value: object) -> None:
    """Refuse anything but None and something that can be called."""
    if value is not None and not callable(value):
        raise SettingsError(f"`{name}` must be callable, not {shown(value)}.")
