"""What models cost, as dated data that a user can override, and what a request costs by it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec

from context_chef.adaptation.model_profile import ModelProfile, Prices
from context_chef.adaptation.profiles import (
    BUILTIN_PROFILES,
    Profiles,
    plain_model_id,
    profile_for,
    read_profiles,
)
from context_chef.errors import SettingsError, nearest, shown
from context_chef.given import check_mapping, check_text, read_list
from context_chef.ir.frozen import EMPTY
from context_chef.patterns import regex

PRICES_AS_OF: Final = date(2026, 11, 30)
"""The day that the built-in prices were looked up for; requests are priced as of it by default."""

_DATE: Final = regex(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
_OWN: Final = ("source", "date", "like")


class ModelPrices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The prices of one model, and where they come from."""

    model: str
    """The model's plain id."""
    prices: Prices
    """US$ per million tokens."""
    source: str = ""
    """Where the figures come from, with their date."""
    aliases: tuple[str, ...] = ()

    @property
    def date(self) -> str | None:
        """The date of the figures (ISO; a month or a year where nothing finer is known)."""
        found = _DATE.findall(self.source)
        return found[-1] if found else None

    def on(self, day: date) -> Prices:
        """The prices of that day, with announced changes made."""
        return self.prices.on(day)

    def ended(self, day: date) -> bool:
        """Whether these prices were announced to end before that day, with none known after it."""
        prices = self.prices.on(day)
        return prices.until is not None and day.isoformat() > prices.until


PriceSettings: TypeAlias = "Mapping[str, Prices | Mapping[str, Any]]"
"""By model: prices, or the fields of them that differ from what is known of the model."""


class PriceTable:
    """Prices by model. A model that nobody priced has none: never those of a similar name."""

    def __init__(self, entries: Iterable[ModelPrices] = ()) -> None:
        """Of two entries of one model the first counts."""
        self._entries: dict[str, ModelPrices] = {}
        for entry in read_list(entries, "entries", ModelPrices):
            for name in (entry.model, *entry.aliases):
                self._entries.setdefault(name.lower(), entry)

    def __repr__(self) -> str:
        return f"PriceTable({len(self.entries)} models)"

    @classmethod
    def default(cls, *, profiles: Profiles = ()) -> PriceTable:
        """The built-in prices, each with its dated source. The user's `profiles` come first."""
        return cls(_priced((*read_profiles(profiles), *BUILTIN_PROFILES)))

    @classmethod
    def read(cls, given: PriceTable | PriceSettings | str | Path | None) -> PriceTable:
        """The table that a setting means: a table, a mapping by model or a TOML file.

        A mapping and a file are laid over the built-in prices. None is the built-in table.
        """
        if isinstance(given, PriceTable):
            return given
        if given is None:
            return cls.default()
        if isinstance(given, (str, Path)):
            return cls.from_toml(given)
        if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
            raise SettingsError(f"`prices` is a table, a mapping or a file, not {shown(given)}.")
        return cls.default().with_prices(given)

    @classmethod
    def from_toml(cls, path: str | Path) -> PriceTable:
        """The built-in prices with those of a TOML file laid over them.

        One table a model, under `prices` or at the top: `[prices."my-model"]` with `input`,
        `read`, `write`, `write_long`, `output` in US$ per million tokens, `tiers`,
        `source` and `date`.
        """
        if not isinstance(path, (str, Path)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise SettingsError(f"`prices` is read from a file, not from {shown(path)}.")
        try:
            data = tomllib.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or str(error)[:300]
            raise SettingsError(
                f"`prices` cannot be read from {shown(str(path))}: {reason}"
            ) from error
        held = data.get("prices", data)
        if not isinstance(held, Mapping):
            raise SettingsError(f"`prices` in {shown(str(path))} is no table of models.")
        return cls.default().with_prices(cast("PriceSettings", held))

    def with_prices(self, changes: PriceSettings) -> PriceTable:
        """The same table with these models priced anew.

        A value names the fields that differ: the others stay as they are known of that model, or of
        the one named by `like`. A model that is not known needs `input` and `output`; without
        `read` its cached input costs what any input costs. Raises SettingsError, naming model and
        field.
        """
        check_mapping(changes, "prices")
        new = [self._changed(name, value) for name, value in changes.items()]
        return PriceTable((*new, *self.entries))

    def of(self, model: str | None, *, target: str | None = None) -> ModelPrices | None:
        """The prices of that model, under any of its spellings; None when nobody priced it."""
        check_text(model, "model", optional=True)
        if not model:
            return None
        for name in (model.strip().lower(), plain_model_id(model)):
            if name in self._entries:
                return self._entries[name]
        profile = profile_for(model, target)
        if profile is None and target is not None:
            profile = profile_for(model)
        return None if profile is None else self._entries.get(profile.name.lower())

    @property
    def entries(self) -> tuple[ModelPrices, ...]:
        """Every entry, in the order in which they came."""
        return tuple({id(entry): entry for entry in self._entries.values()}.values())

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data: prices, source and date by model."""
        return {
            entry.model: {
                **msgspec.to_builtins(entry.prices),
                "source": entry.source,
                "date": entry.date,
            }
            for entry in self.entries
        }

    def _changed(self, name: str, value: Prices | Mapping[str, Any]) -> ModelPrices:
        if isinstance(value, Prices):
            return ModelPrices(model=name, prices=value, source="given by the user")
        if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
            raise SettingsError(
                f"`prices[{shown(name)}]` is a table of prices, not {shown(value)}."
            )
        fields = dict(value)
        like, source = fields.pop("like", name), fields.pop("source", "given by the user")
        check_text(like, f"prices.{name}.like")
        check_text(source, f"prices.{name}.source")
        known = self.of(like)
        dated = fields.pop("date", None)
        names = Prices.__struct_fields__
        for field in fields:
            if field not in names:
                raise SettingsError(
                    f"`prices[{shown(name)}]` has an unknown field {shown(field)}. "
                    f"{nearest(field, (*names, *_OWN))}"
                )
        base: dict[str, Any] = {} if known is None else msgspec.to_builtins(known.prices)
        if {"input", "read", "write"} & set(fields):
            # Prices of long prompts and of a later day were those of the old price.
            base = {key: base[key] for key in ("input", "read", "write", "output") if key in base}
        merged = {**base, **fields}
        if "input" in fields and known is None:
            merged.setdefault("read", fields["input"])
            merged.setdefault("write", fields["input"])
        if "input" not in merged:
            raise SettingsError(
                f"`prices[{shown(name)}]` is no model with a known price: set `input` and "
                "`output`, in "
                "US$ per million tokens, or name a similar model in `like`."
            )
        try:
            prices = msgspec.convert(merged, Prices)
        except msgspec.ValidationError as error:
            raise SettingsError(f"`prices[{shown(name)}]`: {error}") from error
        _hold_to_sense(name, prices)
        return ModelPrices(
            model=name, prices=prices, source=source if dated is None else f"{source}, {dated}"
        )


def _priced(profiles: Iterable[ModelProfile]) -> Iterable[ModelPrices]:
    for profile in profiles:
        if profile.prices is not None:
            yield ModelPrices(
                model=profile.name,
                prices=profile.prices,
                source=profile.source_of("prices"),
                aliases=profile.aliases,
            )


def _hold_to_sense(name: str, prices: Prices) -> None:
    for field in ("input", "read", "write", "write_long", "output"):
        value = getattr(prices, field)
        if value is not None and not 0 <= value < float("inf"):
            raise SettingsError(
                f"`prices[{shown(name)}].{field}` cannot be {shown(value)}; it is US$ per "
                "million tokens, "
                "0 or more."
            )


class Money(msgspec.Struct, frozen=True, kw_only=True):
    """US$ by part. None where the price of a part that was used is not known."""

    input: float | None = 0.0
    """Input that was neither read from the cache nor written to it."""
    read: float | None = 0.0
    write: float | None = 0.0
    output: float | None = 0.0

    @property
    def total(self) -> float | None:
        """Everything; None when a part is not known."""
        total = 0.0
        for part in (self.input, self.read, self.write, self.output):
            if part is None:
                return None
            total += part
        return total

    def __add__(self, other: Money) -> Money:
        return Money(
            input=_sum(self.input, other.input),
            read=_sum(self.read, other.read),
            write=_sum(self.write, other.write),
            output=_sum(self.output, other.output),
        )

    def to_dict(self) -> dict[str, float | None]:
        """The parts and `total`, rounded to a millionth of a cent."""
        parts = {
            "input": self.input,
            "read": self.read,
            "write": self.write,
            "output": self.output,
            "total": self.total,
        }
        return {name: None if part is None else round(part, 8) for name, part in parts.items()}


def money_for(
    prices: Prices,
    *,
    uncached: int,
    read: int,
    written: Mapping[str, int] = EMPTY,
    output: int = 0,
    long_lifetimes: Iterable[str] = ("1h", "12h", "24h"),
) -> Money:
    """What so many tokens cost. `written` are tokens by lifetime; all input decides on the tier."""
    prompt = uncached + read + sum(written.values())
    rates = prices.for_prompt(prompt)
    long = sum(tokens for ttl, tokens in written.items() if ttl in long_lifetimes)
    short = sum(written.values()) - long
    return Money(
        input=_cost(uncached, rates.input),
        read=_cost(read, rates.read),
        write=_sum(_cost(short, rates.write), _cost(long, rates.write_long)),
        output=_cost(output, rates.output),
    )


def _cost(tokens: int, price: float | None) -> float | None:
    if not tokens:
        return 0.0
    return None if price is None else tokens * price / 1_000_000


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b
