"""What a caller hands to a public function, judged where it enters: the kind of it, no more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

from context_chef.errors import ContextChefError, InputError, SettingsError, nearest, shown

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

LARGEST: Final = 2**63
"""Whole numbers beyond this mean nothing here, and no float may hold them."""


def check_text(value: object, name: str, *, optional: bool = False) -> None:
    """Refuse, with InputError, what is no text."""
    if not isinstance(value, str) and not (optional and value is None):
        raise InputError(f"`{name}` is text, not {shown(value)}.", path=f"$.{name}")


def check_whole(value: object, name: str) -> None:
    """Refuse, with InputError, what is no whole number that fits in 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= LARGEST:
        raise InputError(f"`{name}` is a whole number, not {shown(value)}.", path=f"$.{name}")


def check_callable(value: object, name: str, *, optional: bool = True) -> None:
    """Refuse, with InputError, what cannot be called."""
    if not callable(value) and not (optional and value is None):
        raise InputError(f"`{name}` is a function, not {shown(value)}.", path=f"$.{name}")


def check_mapping(value: object, name: str) -> None:
    """Refuse, with InputError, what does not lead from texts to something."""
    given: object = value
    keys = cast("Mapping[object, object]", value) if isinstance(value, Mapping) else (None,)
    if not all(isinstance(key, str) for key in keys):
        raise InputError(
            f"`{name}` is a mapping with text for keys, not {shown(given)}.", path=f"$.{name}"
        )


def read_list(value: Iterable[T], name: str, of: type[Any] = object) -> tuple[T, ...]:
    """The items. InputError for what holds none, or others than these. Text is no list."""
    given: Any = value  # callers are not all typed
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InputError(
            f"`{name}` is a list, not {shown(cast('object', given))}.", path=f"$.{name}"
        )
    items = tuple(value)
    for index, item in enumerate(items):
        if not isinstance(item, of):
            raise InputError(
                f"`{name}` holds {_kind(of)}, not {shown(item)}.", path=f"$.{name}[{index}]"
            )
    return items


def check_instance(value: object, name: str, kind: type[Any], *, optional: bool = False) -> None:
    """Refuse, with InputError, anything but one of `kind`."""
    if not isinstance(value, kind) and not (optional and value is None):
        raise InputError(f"`{name}` is {_kind(kind)}, not {shown(value)}.", path=f"$.{name}")


def check_choice(value: object, name: str, choices: Sequence[object]) -> None:
    """Refuse, with SettingsError, what is not among the choices, with the nearest right one."""
    if not any(
        value is choice or (isinstance(value, str) and value == choice) for choice in choices
    ):
        names = [str(choice) for choice in choices if choice is not None]
        raise SettingsError(f"`{name}` cannot be {shown(value)}. {nearest(value, names)}")


def file_path(value: object, name: str = "path") -> str:
    """The path as text. SettingsError for what can name no file."""
    try:
        path = os.fspath(cast("os.PathLike[Any]", value))
        if isinstance(path, str) and "\0" not in path:
            os.fsencode(path)
            return path
    except (TypeError, UnicodeError):
        pass
    raise SettingsError(f"`{name}` must name a file or folder, not {shown(value)}.")


def _kind(kind: type[Any]) -> str:
    return "text" if kind is str else f"a `{kind.__name__}`"


def json_alone(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, where what no JSON can be made of is refused with InputError."""

    @wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ContextChefError:
            raise
        except RecursionError as error:
            raise InputError("nested too deeply for JSON, or inside itself.") from error
        except (TypeError, ValueError) as error:
            raise InputError(f"no JSON can be made of this: {str(error)[:300]}.") from error

    return told
