"""Settings as TOML or JSON has them: strategies by name, stores by path."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from context_chef.errors import SettingsError, nearest, shown
from context_chef.persistence.sqlite import SQLiteBackend
from context_chef.selection.janitor_config import CompressionModel, JanitorConfig
from context_chef.selection.strategies.anchored import anchored
from context_chef.selection.strategies.background import background
from context_chef.selection.strategies.chain import chain
from context_chef.selection.strategies.clear import clear
from context_chef.selection.strategies.reset import reset
from context_chef.selection.strategies.server import server
from context_chef.selection.strategies.summarize import summarize
from context_chef.selection.strategy import OverflowStrategy

_NAMED_STRATEGIES: Final[Mapping[str, Callable[..., OverflowStrategy]]] = {
    "reset": reset,
    "summarize": summarize,
    "anchored": anchored,
    "clear": clear,
    "server": server,
    "background": background,
}
"""Strategies that plain settings can name, alone or as `{"name": …, option: …}`; and `chain`."""

_STRATEGY_OPTIONS: Final = ("inner", "fallback")
"""Options of a strategy that are strategies themselves."""


def settings_of_file(
    settings: Mapping[str, Any], *, compression_model: CompressionModel | None = None
) -> dict[str, Any]:
    """Options as TOML or JSON has them: a strategy by name, a store by path, profiles as tables.

    `compression_model` is what summarises wherever the settings name no model of their own: a file
    cannot hold one. Everything else stays as it is. Raises SettingsError for unknown names.
    """
    if not isinstance(settings, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # comes from a file
        raise SettingsError(f"settings are a mapping of names to values, not {shown(settings)}.")
    options = dict(settings)
    for name in options:
        if not isinstance(cast(Any, name), str):
            raise SettingsError(f"a setting has a text for its name, not {shown(name)}.")
    if isinstance(options.get("store"), (str, os.PathLike)):
        options["store"] = _store_at(options["store"], "store")
    for section in ("memory", "vfs"):
        given = options.get(section)
        if isinstance(given, Mapping):
            given = dict(cast(Mapping[str, Any], given))
            if isinstance(given.get("store"), (str, os.PathLike)):
                given["store"] = _store_at(given["store"], f"{section}.store")
            options[section] = given
    overflow = options.get("overflow")
    if isinstance(overflow, Mapping):
        overflow = dict(cast(Mapping[str, Any], overflow))
        if isinstance(overflow.get("strategy"), (str, Mapping, list, tuple)):
            overflow["strategy"] = _strategy_of(overflow["strategy"], compression_model)
        options["overflow"] = overflow
    if compression_model is not None and not _names_strategy(options):
        options["janitor"] = _with_model(options.get("janitor"), compression_model)
    return options


def _names_strategy(options: Mapping[str, Any]) -> bool:
    overflow = options.get("overflow")
    if isinstance(overflow, Mapping):
        return cast(Mapping[str, Any], overflow).get("strategy") is not None
    return getattr(overflow, "strategy", None) is not None


def _with_model(janitor: Any, model: CompressionModel) -> Any:
    """The section `janitor` with this model, unless it names one or is no section."""
    if janitor is None:
        return {"compression_model": model}
    if isinstance(janitor, JanitorConfig):
        kept = janitor.compression_model or model
        return dataclasses.replace(janitor, compression_model=kept)
    if isinstance(janitor, Mapping):
        return {"compression_model": model, **cast(Mapping[str, Any], janitor)}
    return janitor


def _store_at(path: str | os.PathLike[str], name: str) -> SQLiteBackend:
    text = os.fspath(path)
    if not text.strip():
        raise SettingsError(f"`{name}` is a folder or a database file, not {shown(text)}.")
    is_file = text.endswith((".db", ".sqlite", ".sqlite3"))
    return SQLiteBackend(text if is_file else os.path.join(text, "context.db"))


def _strategy_of(given: Any, model: Any = None) -> OverflowStrategy:
    """A strategy by name, by a table of its name and options, or a list of these: a chain.

    `model` summarises for every strategy that names none of its own.
    """
    if _is_strategy(given):
        return given
    if isinstance(given, (list, tuple)):
        return chain(*(_strategy_of(step, model) for step in cast(Sequence[Any], given)))
    table: dict[str, Any] = {"name": given} if isinstance(given, str) else {}
    if isinstance(given, Mapping):
        table = dict(cast(Mapping[str, Any], given))
    name = table.pop("name", None)
    if name == "chain":
        return chain(*(_strategy_of(step, model) for step in _steps(table)))
    make = _NAMED_STRATEGIES.get(name) if isinstance(name, str) else None
    if make is None:
        raise SettingsError(
            f"`overflow.strategy` cannot be {shown(cast(object, given))}. "
            f"{nearest(name, _NAMED_STRATEGIES)} Give a "
            'name, a mapping `{"name": …, option: …}`, a list of these, or a strategy object.'
        )
    known = list(inspect.signature(make).parameters)
    for option in table:
        if option not in known:
            raise SettingsError(
                f"the strategy {shown(name)} has no setting {shown(option)}. "
                f"{nearest(option, known)}"
            )
    for option in _STRATEGY_OPTIONS:
        if isinstance(table.get(option), (str, Mapping, list, tuple)):
            table[option] = _strategy_of(table[option], model)
    if model is not None and "compression_model" in known:
        table.setdefault("compression_model", model)
    if name == "background" and "inner" not in table:
        raise SettingsError(
            "the strategy 'background' needs `inner`, the strategy that works off the turn, as in "
            '`{"name": "background", "inner": "summarize"}`.'
        )
    return make(**table)


def _is_strategy(given: Any) -> bool:
    return isinstance(getattr(given, "name", None), str) and callable(getattr(given, "apply", None))


def _steps(table: Mapping[str, Any]) -> Sequence[Any]:
    for option in table:
        if option != "steps":
            raise SettingsError(
                f"the strategy 'chain' has no setting {shown(option)}. {nearest(option, ['steps'])}"
            )
    steps = table.get("steps")
    if not isinstance(steps, (list, tuple)):
        raise SettingsError(
            f"the strategy 'chain' needs `steps`, a list of strategies, not {shown(steps)}."
        )
    return cast(Sequence[Any], steps)
