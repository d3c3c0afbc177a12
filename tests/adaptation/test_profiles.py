"""Model profiles: which id means which model, and how a user adds to them."""

from __future__ import annotations

from datetime import date

import msgspec
import pytest

from context_chef.adaptation.profiles import (
    BUILTIN_PROFILES,
    CacheRules,
    ModelProfile,
    Prices,
    PriceTier,
    plain_model_id,
    profile_for,
    read_profiles,
    with_profile,
)
from context_chef.errors import SettingsError


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("anthropic.claude-haiku-5-5", "claude-haiku-5-5"),
        ("vertex_ai/claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("Claude-Opus-5", "claude-opus-5"),
        ("gpt-5.6-2026-07-09", "gpt-5.6-sol"),
        ("openai.gpt-5.6-luna", "gpt-5.6-luna"),
        ("openai/o4-mini-2025-04-16", "o4-mini"),
        ("azure/gpt-4o", "gpt-4o"),
        ("gpt-35-turbo", "gpt-3.5-turbo"),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc123", "gpt-4o-mini"),
        ("models/gemini-3.8-flash", "gemini-3.8-flash"),
        ("gemini-2.5-flash-preview-05-20", "gemini-2.5-flash"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("gemini-3-pro-image-preview", "gemini-3-pro-image"),
        (
            "projects/p/locations/global/publishers/google/models/gemini-3-flash-preview",
            "gemini-3-flash",
        ),
    ],
)
def test_every_spelling_of_an_id_finds_its_model(model: str, name: str) -> None:
    profile = profile_for(model)
    assert profile is not None
    assert profile.name == name


@pytest.mark.parametrize(
    "model",
    [
        "",
        None,
        "gpt-5.2-proo",
        "gpt-5.7",
        "gpt-oss-120b",
        "claude-sonnet-4-7",
        "claude-2.1",
        "claude-sonnet-4-5-thinking-extra",
        "my-claude-sonnet-4-5",
        "gemini-2.5-flash-image",
        "gemini-embedding-2-preview",
        "gpt-4o-realtime",
        "o3-deep-research",
        "llama-3.3-70b",
    ],
)
def test_a_name_that_only_resembles_a_known_one_is_unknown(model: str | None) -> None:
    assert profile_for(model) is None


def test_the_target_decides_whose_models_are_meant() -> None:
    assert profile_for("gpt-4o", "openai-responses") == profile_for("gpt-4o", "openai")
    assert profile_for("gpt-4o", "anthropic") is None
    assert profile_for("gemini-2.5-pro", "google") == profile_for("gemini-2.5-pro", "gemini")
    assert profile_for("gpt-4o", "my-own-target") is None


def test_the_plain_id_drops_route_date_and_release() -> None:
    assert plain_model_id("us.anthropic.claude-sonnet-4-5-20250929-v1:0") == "claude-sonnet-4-5"
    assert plain_model_id(" GPT-4o-2024-08-06 ") == "gpt-4o"


def test_names_and_aliases_are_unique_within_a_provider() -> None:
    seen: set[tuple[str, str]] = set()
    for profile in BUILTIN_PROFILES:
        for name in (profile.name, *profile.aliases):
            assert (profile.provider, name) not in seen
            seen.add((profile.provider, name))
            assert profile_for(name, profile.provider) == profile


def test_every_figure_has_a_dated_source() -> None:
    for profile in BUILTIN_PROFILES:
        figures = ["context_window", "max_output_tokens", "cache"]
        if profile.prices is not None:
            figures.append("prices")
        for figure in figures:
            source = profile.source_of(figure)
            assert source, (profile.name, figure)
        assert set(profile.sources) <= {*ModelProfile.__struct_fields__, "*"}
        assert set(profile.sureness) <= {*ModelProfile.__struct_fields__, "*"}


def test_figures_are_of_a_possible_size() -> None:
    for profile in BUILTIN_PROFILES:
        window = profile.context_window
        assert window is None or 4_000 < window <= 2_000_000
        if window is not None and profile.max_output_tokens is not None:
            assert profile.max_output_tokens <= window
        if (prices := profile.prices) is not None:
            assert prices.read <= prices.input
            assert prices.write is None or prices.input <= prices.write <= 1.25 * prices.input
            assert prices.output is None or prices.output > prices.input
        if profile.cache.mode == "breakpoints":
            assert profile.cache.lookback_blocks == 20
            assert profile.cache.max_breakpoints == 4


def test_the_models_that_differ_most_are_described_rightly() -> None:
    fable = profile_for("claude-fable-5-2")
    assert fable is not None
    assert fable.prefix_bound_thinking
    assert not fable.prefill
    assert fable.prices is not None
    assert fable.prices.read == pytest.approx(0.2)
    old = profile_for("claude-sonnet-4-5")
    assert old is not None
    assert old.prefill
    assert not old.inline_system
    assert old.cache.minimum_tokens == 1024
    chat = {
        name: profile.chat_tools
        for name in ("gpt-5.1", "gpt-5.4", "gpt-5.6", "gpt-6.2-sol")
        if (profile := profile_for(name)) is not None
    }
    assert chat == {
        "gpt-5.1": "always",
        "gpt-5.4": "without_effort",
        "gpt-5.6": "effort_none",
        "gpt-6.2-sol": "never",
    }
    newest, older = profile_for("gemini-3.8-flash"), profile_for("gemini-2.5-pro")
    assert newest is not None
    assert older is not None
    assert (newest.response_alone, newest.prefill, newest.thought_signatures) == (True, False, True)
    assert (older.response_alone, older.prefill, older.thought_signatures) == (False, True, False)


def test_what_is_only_inferred_says_so() -> None:
    sonnet = profile_for("claude-sonnet-5")
    assert sonnet is not None
    assert sonnet.how_sure("inline_system") == "C"
    assert sonnet.how_sure("prefill") == "A"
    assert sonnet.how_sure("efforts") == "B"


def test_announced_prices_change_on_their_day() -> None:
    argon = profile_for("gemini-4-argon")
    assert argon is not None
    assert argon.prices is not None
    assert argon.prices.on(date(2026, 11, 30)).input == 2
    assert argon.prices.on(date(2026, 12, 1)).input == 4


def test_a_long_prompt_has_its_own_prices() -> None:
    haiku = profile_for("claude-haiku-5-5")
    assert haiku is not None
    assert haiku.prices is not None
    assert haiku.prices.for_prompt(100_000).input == 0.10
    assert haiku.prices.for_prompt(100_001).input == 0.50
    several = Prices(
        input=1,
        read=1,
        tiers=(
            PriceTier(above_tokens=10, input=2, read=1),
            PriceTier(above_tokens=20, input=3, read=1),
        ),
    )
    assert [several.for_prompt(tokens).input for tokens in (10, 15, 25)] == [1, 2, 3]


def test_media_are_accepted_by_type_or_by_kind() -> None:
    gemini, claude = profile_for("gemini-2.5-pro"), profile_for("claude-opus-5")
    assert gemini is not None
    assert claude is not None
    assert gemini.accepts_media("audio/wav") is True
    assert claude.accepts_media("audio/wav") is False
    assert claude.accepts_media("IMAGE/PNG; charset=binary") is True
    assert ModelProfile(provider="openai", name="x").accepts_media("image/png") is None


def test_a_users_profile_wins_over_the_built_in_one() -> None:
    own = ModelProfile(provider="openai", name="gpt-4o", context_window=9)
    found = profile_for("gpt-4o-2024-08-06", "openai", profiles=[own])
    assert found is own
    assert profile_for("gpt-4.1", "openai", profiles=[own]) == profile_for("gpt-4.1")


def test_a_mapping_names_only_what_differs() -> None:
    profiles = {
        "claude-opus-5": {"context_window": 500_000, "cache": {"minimum_tokens": 9}},
        "acme-1": {"like": "gpt-4.1", "max_output_tokens": 7},
        "acme-2": {"provider": "openai", "prices": {"input": 1.0, "read": 0.5}},
        "acme-3": ModelProfile(provider="gemini", name="whatever", context_window=5),
    }
    opus = profile_for("claude-opus-5", profiles=profiles)
    assert opus is not None
    assert opus.context_window == 500_000
    assert opus.cache == CacheRules(
        mode="breakpoints",
        minimum_tokens=9,
        lookback_blocks=20,
        max_breakpoints=4,
        ttls=("5m", "1h"),
        guaranteed=True,
    )
    acme = profile_for("acme-1", "openai", profiles=profiles)
    assert acme is not None
    assert (acme.max_output_tokens, acme.context_window) == (7, 1_047_576)
    third = profile_for("acme-3", "my-own-target", profiles=profiles)
    assert third is not None
    assert third.name == "acme-3"
    second = profile_for("acme-2", profiles=profiles)
    assert second is not None
    assert second.prices == Prices(input=1, read=0.5)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"like": "gpt-4.1x"}, "Did you mean `gpt-4.1`"),
        ({"provider": "openai", "context_windows": 1}, "Did you mean `context_window`"),
        ({"context_window": 1}, "set `provider`"),
        ({"provider": "openai", "context_window": "big"}, "context_window"),
        ({"provider": "acme"}, "provider"),
    ],
)
def test_a_profile_that_cannot_be_read_is_named(value: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=r"profiles\['acme'\]") as raised:
        read_profiles({"acme": value})
    assert message in str(raised.value)


def test_adding_a_profile_replaces_the_one_of_its_name() -> None:
    first = ModelProfile(provider="openai", name="a", context_window=1)
    second = first.with_changes(context_window=2)
    other = ModelProfile(provider="openai", name="b")
    assert with_profile([first, other], second) == (second, other)


def test_profiles_go_into_json_and_back() -> None:
    for profile in BUILTIN_PROFILES:
        assert msgspec.json.decode(msgspec.json.encode(profile), type=ModelProfile) == profile
