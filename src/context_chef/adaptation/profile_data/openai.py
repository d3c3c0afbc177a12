"""What the OpenAI models accept, cache and cost."""

from __future__ import annotations

from typing import Any

from context_chef.adaptation.model_profile import CacheRules, ModelProfile, Prices, PriceTier

_MODEL_PAGES = "developers.openai.com/api/docs models pages, as of 2026-11"
_PRICING = "developers.openai.com/api/docs/pricing, as of 2026-11"
_TABLE = "github/docs models-and-pricing, as of 2026-09"
_METER = "iyulab/TokenMeter v0.17.0, 2026-11"
_OLD_PRICING = "openai.com/api/pricing, 2025"

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MEDIA = (*_IMAGES, "application/pdf")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")

_AUTOMATIC = CacheRules(mode="automatic", minimum_tokens=1024, step_tokens=128, ttls=("5m", "24h"))
_EXACT = CacheRules(
    mode="breakpoints_and_tail",
    minimum_tokens=1024,
    lookback_blocks=80,
    max_breakpoints=4,
    ttls=("30m", "12h"),
)


def _prices(price: float, read: float, output: float | None, *, writes: bool = False) -> Prices:
    """`read` is the factor of a read. Writing costs the input price, or 1.25 times it."""
    return Prices(
        input=price,
        read=round(price * read, 6),
        write=round(price * 1.25, 6) if writes else price,
        output=output,
    )


def _tiered(prices: Prices, above: int = 272_000, *, long_write: float | None = None) -> Prices:
    """Above the threshold input and cache cost twice, output one and a half times as much."""
    return Prices(
        input=prices.input,
        read=prices.read,
        write=prices.write,
        write_long=long_write,
        output=prices.output,
        tiers=(
            PriceTier(
                above_tokens=above,
                input=prices.input * 2,
                read=prices.read * 2,
                write=None if prices.write is None else prices.write * 2,
                write_long=None if long_write is None else long_write * 2,
                output=None if prices.output is None else prices.output * 1.5,
            ),
        ),
    )


def _gpt(name: str, *, window: int | None, output: int | None, **fields: Any) -> ModelProfile:
    """Models that answer without reasoning first."""
    return ModelProfile(
        provider="openai",
        name=name,
        context_window=window,
        max_output_tokens=output,
        inline_system=True,
        efforts=(),
        sampling="free",
        web_search_options=fields.pop("web_search_options", False),
        media_types=fields.pop("media_types", _MEDIA),
        cache=fields.pop("cache", _AUTOMATIC),
        sources={"*": _MODEL_PAGES, "prices": _OLD_PRICING, **fields.pop("sources", {})},
        **fields,
    )


def _thinker(name: str, *, window: int | None, output: int | None, **fields: Any) -> ModelProfile:
    """Models that reason before they answer."""
    return ModelProfile(
        provider="openai",
        name=name,
        context_window=window,
        max_output_tokens=output,
        inline_system=fields.pop("inline_system", True),
        reasoning=True,
        sampling=fields.pop("sampling", "default_only"),
        stop=fields.pop("stop", False),
        web_search_options=False,
        media_types=fields.pop("media_types", _MEDIA),
        cache=fields.pop("cache", _AUTOMATIC),
        sources={
            "*": _MODEL_PAGES,
            "prices": _PRICING,
            "tool_search": _TOOL_SEARCH,
            "tool_additions": _TOOL_ADDITIONS,
            **fields.pop("sources", {}),
        },
        sureness={"tool_additions": "C", **fields.pop("sureness", {})},
        **fields,
    )


def _five(name: str, **fields: Any) -> ModelProfile:
    """GPT-5 to 5.3: a window of 400,000 tokens, 272,000 of them input."""
    return _thinker(
        name,
        tool_additions=True,
        window=fields.pop("window", 400_000),
        max_input_tokens=272_000,
        output=128_000,
        **fields,
    )


def _large(name: str, *, none: bool = True, **fields: Any) -> ModelProfile:
    """GPT-5.4 and later: a window of 1,050,000 tokens, and tools that wait to be searched for."""
    efforts = ("none", *_EFFORTS) if none else _EFFORTS
    return _thinker(
        name,
        window=fields.pop("window", 1_050_000),
        output=128_000,
        max_input_tokens=fields.pop("max_input_tokens", 922_000),
        efforts=efforts,
        sampling="effort_none" if none else "default_only",
        tool_search=fields.pop("tool_search", True),
        tool_additions=True,
        **fields,
    )


_TOOL_SEARCH = "developers.openai.com/api/docs guides/tools-tool-search, as of 2026-11"
_TOOL_ADDITIONS = "recordings (pydantic-ai) on gpt-5 and gpt-5.6, 2026; the models between alike"
_EFFORTS_UNLISTED = "no list found as of 2026-11: all but none and minimal taken as accepted"
_TOOLS_REFUSED = "BerriAI/litellm#34569, openai/openai-openapi#541, 2026-07"

OPENAI_PROFILES: tuple[ModelProfile, ...] = (
    *(
        _large(
            name,
            none=False,
            chat_tools="never",
            cache=_EXACT,
            prices=prices,
            sources={"prices": source, "efforts": _EFFORTS_UNLISTED},
            sureness={"efforts": "C"},
        )
        for name, prices, source in (
            (
                "gpt-6.2-sol",
                _tiered(_prices(2, 0.05, 10, writes=True), long_write=5),
                f"developers.openai.com models/gpt-6.2-sol, 2026-11-17; {_METER}",
            ),
            (
                "gpt-6.2-astra",
                _tiered(_prices(8, 0.05, 40, writes=True)),
                f"developers.openai.com models/gpt-6.2-astra, 2026-11-17; {_METER}",
            ),
            (
                "gpt-6.1-terra",
                _tiered(_prices(1, 0.05, 5, writes=True)),
                "TheKrush/PromptFuel v1.0.24, 2026-10-26",
            ),
            (
                "gpt-6.1-sol",
                _tiered(_prices(2, 0.05, 10, writes=True)),
                "as gpt-6.2-sol, which replaced it at the same price, 2026-11-18 "
                "(docs.laozhang.ai); the price of reads is taken as the same",
            ),
            ("gpt-6.1", None, "not found as of 2026-11"),
            (
                "gpt-6-astra",
                _tiered(_prices(10, 0.1, 50, writes=True)),
                "vercel.com/ai-gateway/models/gpt-6-astra, 2026-09; reads taken as 0.1 times",
            ),
        )
    ),
    *(
        _large(
            name,
            chat_tools="effort_none",
            cache=_EXACT,
            prices=prices,
            sources={"prices": source, "efforts": _EFFORTS_UNLISTED, "chat_tools": _TOOLS_REFUSED},
            sureness={"efforts": "C", "chat_tools": "A"},
        )
        for name, prices, source in (
            (
                "gpt-6-sol",
                _tiered(_prices(2, 0.1, 10, writes=True)),
                "TheKrush/PromptFuel v1.0.21, 2026-09-22",
            ),
            (
                "gpt-6-luna",
                _tiered(_prices(0.10, 0.1, 0.50, writes=True)),
                "TheKrush/PromptFuel v1.0.21, 2026-09-22",
            ),
            ("gpt-6", None, "not found as of 2026-11"),
        )
    ),
    *(
        _large(
            name,
            aliases=aliases,
            chat_tools="effort_none",
            cache=_EXACT,
            prices=prices,
            sources={"prices": source, "chat_tools": _TOOLS_REFUSED},
            sureness={"chat_tools": "A", "sampling": "C"},
        )
        for name, aliases, prices, source in (
            ("gpt-5.6-sol", ("gpt-5.6",), _tiered(_prices(5, 0.1, 30, writes=True)), _TABLE),
            ("gpt-5.6-terra", (), _tiered(_prices(2, 0.1, 12, writes=True)), _TABLE),
            (
                "gpt-5.6-luna",
                (),
                _tiered(_prices(0.20, 0.1, 1.20, writes=True)),
                "developers.openai.com models/gpt-5.6-luna, as of 2026-11",
            ),
        )
    ),
    _large(
        "gpt-5.5",
        chat_tools="without_effort",
        prices=_tiered(_prices(5, 0.1, 30)),
        sources={"prices": _TABLE, "chat_tools": "reports name 5.2 and 5.4 only, as of 2026-11"},
        sureness={"chat_tools": "C"},
    ),
    _large(
        "gpt-5.4",
        aliases=("gpt-5.4-pro",),
        chat_tools="without_effort",
        prices=_tiered(_prices(2.50, 0.1, 15)),
        sources={"prices": _TABLE, "chat_tools": "danny-avila/LibreChat#14355, 2026-06"},
        sureness={"chat_tools": "A"},
    ),
    *(
        _large(
            name,
            window=400_000,
            max_input_tokens=272_000,
            chat_tools="without_effort",
            tool_search=search,
            prices=prices,
            sources={"prices": _TABLE, "tool_search": "Oaklight/llm-rosetta#394, 2026-07-27"},
            sureness={"tool_search": "A"},
        )
        for name, prices, search in (
            ("gpt-5.4-mini", _prices(0.75, 0.1, 4.50), True),
            ("gpt-5.4-nano", _prices(0.20, 0.1, 1.25), False),
        )
    ),
    *(
        _five(
            name,
            efforts=("none", *_EFFORTS),
            sampling="effort_none",
            chat_tools="without_effort",
            prices=prices,
            sources={"prices": _TABLE},
            sureness={"chat_tools": sure},
        )
        for name, prices, sure in (
            ("gpt-5.3", None, "C"),
            ("gpt-5.3-codex", _prices(1.75, 0.1, 14), "C"),
            ("gpt-5.2", _prices(1.75, 0.1, 14), "A"),
            ("gpt-5.2-codex", _prices(1.75, 0.1, 14), "A"),
            ("gpt-5.2-pro", None, "C"),
        )
    ),
    *(
        _five(
            name,
            efforts=("none", *_EFFORTS),
            sampling="effort_none",
            prices=_prices(*prices),
            sources={"prices": _OLD_PRICING},
        )
        for name, prices in (
            ("gpt-5.1", (1.25, 0.1, 10)),
            ("gpt-5.1-codex", (1.25, 0.1, 10)),
            ("gpt-5.1-codex-max", (1.25, 0.1, 10)),
            ("gpt-5.1-codex-mini", (0.25, 0.1, 2)),
        )
    ),
    *(
        _five(
            name,
            efforts=("minimal", *_EFFORTS),
            prices=prices,
            sources={"prices": _OLD_PRICING},
            sureness={"efforts": "C"},
        )
        for name, prices in (
            ("gpt-5", _prices(1.25, 0.1, 10)),
            ("gpt-5-mini", _prices(0.25, 0.1, 2)),
            ("gpt-5-nano", _prices(0.05, 0.1, 0.40)),
            ("gpt-5-codex", _prices(1.25, 0.1, 10)),
            ("gpt-5-pro", None),
        )
    ),
    *(
        _gpt(
            name,
            aliases=aliases,
            window=128_000,
            output=16_384,
            prices=prices,
            sources={"prices": _OLD_PRICING},
        )
        for name, aliases, prices in (
            ("gpt-5.3-chat", ("gpt-5.3-chat-latest",), None),
            ("gpt-5.2-chat", ("gpt-5.2-chat-latest",), _prices(1.75, 0.1, 14)),
            ("gpt-5.1-chat", ("gpt-5.1-chat-latest",), _prices(1.25, 0.1, 10)),
            ("gpt-5-chat", ("gpt-5-chat-latest",), _prices(1.25, 0.1, 10)),
        )
    ),
    *(
        _thinker(
            name,
            window=200_000,
            output=100_000,
            efforts=("low", "medium", "high"),
            stop=stop,
            media_types=media,
            prices=prices,
            sources={"prices": _OLD_PRICING},
        )
        for name, stop, media, prices in (
            ("o4-mini", False, _MEDIA, _prices(1.10, 0.25, 4.40)),
            ("o3", False, _MEDIA, _prices(2, 0.25, 8)),
            ("o3-pro", False, _MEDIA, None),
            ("o3-mini", True, (), _prices(1.10, 0.5, 4.40)),
            ("o1", False, _MEDIA, _prices(15, 0.5, 60)),
            ("o1-pro", False, _MEDIA, None),
        )
    ),
    *(
        _thinker(
            name,
            window=128_000,
            output=output,
            efforts=("low", "medium", "high"),
            leading_system=False,
            inline_system=False,
            chat_tools="never",
            media_types=(),
            prices=_prices(*prices),
            sources={"prices": _OLD_PRICING, "leading_system": "recording (rig), 2025"},
            sureness={"leading_system": "A"},
        )
        for name, output, prices in (
            ("o1-mini", 65_536, (1.10, 0.5, 4.40)),
            ("o1-preview", 32_768, (15, 0.5, 60)),
        )
    ),
    *(
        _gpt(name, window=1_047_576, output=32_768, prices=_prices(*prices))
        for name, prices in (
            ("gpt-4.1", (2, 0.25, 8)),
            ("gpt-4.1-mini", (0.40, 0.25, 1.60)),
            ("gpt-4.1-nano", (0.10, 0.25, 0.40)),
        )
    ),
    _gpt("gpt-4.5-preview", window=128_000, output=16_384, prices=_prices(75, 0.5, 150)),
    *(
        _gpt(name, aliases=aliases, window=128_000, output=16_384, prices=prices)
        for name, aliases, prices in (
            ("gpt-4o", (), _prices(2.50, 0.5, 10)),
            ("gpt-4o-mini", (), _prices(0.15, 0.5, 0.60)),
            ("chatgpt-4o", ("chatgpt-4o-latest",), None),
        )
    ),
    *(
        _gpt(name, window=128_000, output=16_384, web_search_options=True, media_types=_IMAGES)
        for name in ("gpt-4o-search-preview", "gpt-4o-mini-search-preview")
    ),
    _gpt(
        "gpt-5-search-api",
        window=None,
        output=None,
        web_search_options=True,
        sources={"*": "SDK, 2026-11; its limits were not found"},
    ),
    *(
        _gpt(
            name,
            window=128_000,
            output=16_384,
            media_types=("audio/wav", "audio/mpeg", "audio/mp3"),
        )
        for name in (
            "gpt-4o-audio-preview",
            "gpt-4o-mini-audio-preview",
            "gpt-audio",
            "gpt-audio-mini",
            "gpt-audio-1.5",
        )
    ),
    *(
        _gpt(
            name,
            aliases=aliases,
            window=window,
            output=4_096,
            media_types=media,
            cache=CacheRules(),
            prices=prices,
        )
        for name, aliases, window, media, prices in (
            ("gpt-3.5-turbo-0613", ("gpt-3.5-turbo-0301",), 4_096, (), _prices(1.50, 1, 2)),
            (
                "gpt-3.5-turbo-16k",
                ("gpt-3.5-turbo-16k-0613",),
                16_385,
                (),
                _prices(3, 1, 4),
            ),
            ("gpt-4-32k", ("gpt-4-32k-0613", "gpt-4-32k-0314"), 32_768, (), _prices(60, 1, 120)),
            (
                "gpt-4-turbo",
                ("gpt-4-turbo-preview", "gpt-4-1106-preview", "gpt-4-0125-preview"),
                128_000,
                _IMAGES,
                _prices(10, 1, 30),
            ),
            ("gpt-4-vision-preview", (), 128_000, _IMAGES, _prices(10, 1, 30)),
            ("gpt-4", ("gpt-4-0613", "gpt-4-0314"), 8_192, (), _prices(30, 1, 60)),
            (
                "gpt-3.5-turbo",
                ("gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106"),
                16_385,
                (),
                _prices(0.50, 1, 1.50),
            ),
        )
    ),
)
"""Newest first. What none of these sources names is None."""
