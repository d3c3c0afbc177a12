"""Prices are dated data that a user can override, and never those of a similar model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_chef import PriceTable, SettingsError
from context_chef.adaptation.profiles import BUILTIN_PROFILES


def test_every_built_in_price_has_a_source_with_a_date() -> None:
    entries = PriceTable.default().entries

    assert len(entries) > 50
    assert all(entry.source and entry.date for entry in entries)
    assert len(entries) == sum(profile.prices is not None for profile in BUILTIN_PROFILES)


@pytest.mark.parametrize(
    ("model", "figures"),
    [
        ("claude-fable-5-2", (8, 0.20, 10, 16, 40)),
        ("claude-fable-5-1", (10, 0.25, 12.50, 20, 50)),
        ("claude-opus-5-5", (4, 0.20, 5, 8, 20)),
        ("claude-opus-5", (5, 0.50, 6.25, 10, 25)),
        ("claude-sonnet-5-5", (2, 0.10, 2.50, 4, 10)),
        ("claude-haiku-5-5", (0.10, 0.01, 0.125, 0.20, 0.50)),
        ("gpt-6.2-sol", (2, 0.10, 2.50, 5, 10)),
        ("gpt-6.2-astra", (8, 0.40, 10, None, 40)),
        ("gpt-6-luna", (0.10, 0.01, 0.125, None, 0.50)),
        ("gemini-4-neon", (3, 0.15, 3, None, 15)),
    ],
)
def test_the_published_figures(model: str, figures: tuple[float | None, ...]) -> None:
    entry = PriceTable.default().of(model)

    assert entry is not None
    prices = entry.prices
    found = (prices.input, prices.read, prices.write, prices.write_long, prices.output)
    assert found == pytest.approx(figures)


def test_an_override_changes_what_it_names_and_nothing_else() -> None:
    table = PriceTable.default().with_prices({"claude-opus-5": {"output": 20}})

    entry = table.of("claude-opus-5")
    assert entry is not None
    assert (entry.prices.input, entry.prices.output) == (5, 20)
    assert entry.source == "given by the user"
    other = PriceTable.default().of("claude-opus-5")
    assert other is not None
    assert other.prices.output == 25


def test_a_new_price_ends_tiers_and_announced_changes_of_the_old_one() -> None:
    table = PriceTable.default().with_prices({"claude-haiku-5-5": {"input": 1, "read": 0.1}})

    entry = table.of("claude-haiku-5-5")
    assert entry is not None
    assert entry.prices.tiers == ()


def test_a_model_of_ones_own_is_priced_by_itself_or_like_another() -> None:
    table = PriceTable.default().with_prices(
        {
            "my-model": {"input": 1, "output": 2},
            "my-claude": {"like": "claude-opus-5", "source": "our contract", "date": "2026-10-01"},
        }
    )

    own, like = table.of("my-model"), table.of("my-claude")
    assert own is not None
    assert (own.prices.read, own.prices.write) == (1, 1)
    assert like is not None
    assert (like.prices.input, like.date) == (5, "2026-10-01")


def test_prices_are_read_from_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('[prices."gpt-4.1"]\ninput = 9\nread = 1\noutput = 3\n', "utf-8")

    entry = PriceTable.read(path).of("gpt-4.1")

    assert entry is not None
    assert (entry.prices.input, entry.prices.read) == (9, 1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gpt-4.1": {"inptu": 1}}, "inptu"),
        ({"nobody": {"output": 1}}, "nobody"),
        ({"gpt-4.1": {"input": -1}}, "input"),
        ({"gpt-4.1": {"input": "much"}}, "gpt-4.1"),
        ({"gpt-4.1": 3}, "table of prices"),
    ],
)
def test_meaningless_prices_are_refused_with_model_and_field(given: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        PriceTable.default().with_prices(given)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nowhere"):
        PriceTable.from_toml(tmp_path / "nowhere.toml")


def test_a_similar_name_is_no_known_model() -> None:
    assert PriceTable.default().of("claude-opus-55") is None
    assert PriceTable.default().of(None) is None
