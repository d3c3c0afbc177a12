"""What the Gemini models accept, cache and cost."""

from __future__ import annotations

from typing import Any

from context_chef.adaptation.model_profile import CacheRules, ModelProfile, Prices, PriceTier

_MODEL_PAGES = "ai.google.dev/gemini-api/docs models pages, as of 2026-11"
_PRICING = "ai.google.dev pricing, as of 2026-11"
_CACHING = "ai.google.dev/gemini-api/docs/caching, as of 2026-10-13"
_CLOUD = "docs.cloud.google.com models guides, as of 2026-11"
_TABLE = "github/docs models-and-pricing, as of 2026-09"

_WINDOW = 1_048_576
_OUTPUT = 65_536
_MEDIA = (
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "audio/*",
    "video/*",
    "application/pdf",
    "text/*",
)


def _cache(minimum: int | None) -> CacheRules:
    return CacheRules(mode="automatic", minimum_tokens=minimum)


def _prices(price: float, read: float, output: float | None = None, **more: Any) -> Prices:
    """Implicit caching writes for nothing: a written token costs what any input costs."""
    return Prices(input=price, read=read, write=price, output=output, **more)


def _above_200k(price: float, read: float, output: float) -> tuple[PriceTier, ...]:
    return (PriceTier(above_tokens=200_000, input=price, read=read, write=price, output=output),)


def _gemini(name: str, **fields: Any) -> ModelProfile:
    return ModelProfile(
        provider="gemini",
        name=name,
        context_window=fields.pop("context_window", _WINDOW),
        max_output_tokens=fields.pop("max_output_tokens", _OUTPUT),
        reasoning=fields.pop("reasoning", True),
        sampling="free",
        media_types=fields.pop("media_types", _MEDIA),
        cache=fields.pop("cache", _cache(4096)),
        sources={
            "*": _MODEL_PAGES,
            "prices": _PRICING,
            "cache": _CACHING,
            **fields.pop("sources", {}),
        },
        **fields,
    )


def _three(name: str, **fields: Any) -> ModelProfile:
    """Gemini 3 to 3.5 Flash: signatures are asked for, a trailing model turn is accepted."""
    return _gemini(
        name,
        prefill=True,
        thought_signatures=fields.pop("thought_signatures", True),
        function_ids=True,
        tool_combination=True,
        thinking_levels=fields.pop("thinking_levels", ("minimal", "low", "medium", "high")),
        thinking_budget=True,
        **fields,
    )


def _strict(name: str, **fields: Any) -> ModelProfile:
    """3.6 Flash, 3.5 Flash-Lite and later: responses stand alone, the last turn is the user's."""
    return _gemini(
        name,
        response_alone=True,
        thought_signatures=True,
        function_ids=True,
        tool_combination=True,
        thinking_budget=fields.pop("thinking_budget", True),
        sources={
            "response_alone": "envoyproxy/ai-gateway#2686, anomalyco/opencode#43479, 2026-08",
            "prefill": "langchain-ai/langchain-google#1897, danny-avila/agents#323, 2026-07",
            **fields.pop("sources", {}),
        },
        sureness={"response_alone": "A", "prefill": "A", **fields.pop("sureness", {})},
        **fields,
    )


def _four(name: str, **fields: Any) -> ModelProfile:
    """Gemini 4: one limit for input and output together, no thinking budget."""
    return _strict(
        name,
        thinking_budget=False,
        sources={
            "thinking_levels": _CLOUD,
            "context_window": f"{_CLOUD}: input and output share it",
            "max_output_tokens": f"{_CLOUD}: of one answer; longer ones are continued",
            "response_alone": "reports are about 3.6 and 3.7, as of 2026-11; taken as the same",
            "cache": f"{_CACHING}: 4,096; the Vertex AI guide says 6,144",
            **fields.pop("sources", {}),
        },
        sureness={"response_alone": "C", "cache": "C"},
        **fields,
    )


_LEVELS = ("low", "medium", "high")
_INTRODUCTORY = Prices(
    input=2,
    read=0.10,
    write=2,
    output=10,
    until="2026-11-30",
    then=Prices(input=4, read=0.20, write=4, output=20),
)

GEMINI_PROFILES: tuple[ModelProfile, ...] = (
    _four(
        "gemini-4-neon",
        thinking_levels=(*_LEVELS, "xhigh"),
        prices=_prices(3, 0.15, 15),
        sources={"thinking_levels": "Vertex AI guide to Gemini 4 Neon, 2026-11-18"},
    ),
    _four("gemini-4-carbon", thinking_levels=_LEVELS, prices=_INTRODUCTORY),
    _four("gemini-4-argon", thinking_levels=_LEVELS, prices=_INTRODUCTORY),
    _four(
        "gemini-4-hydrogen",
        thinking_levels=None,
        prices=_prices(1.50, 0.075, 7.50),
        sources={
            "prices": "iyulab/TokenMeter v0.17.0, 2026-11",
            "thinking_levels": "not found as of 2026-11",
        },
    ),
    *(
        _strict(
            name,
            thinking_levels=_LEVELS,
            prices=_prices(0.75, 0.075, 3.75, until="2026-12-31"),
            sources={"prices": source},
            sureness={"prices": "C"},
        )
        for name, source in (
            (
                "gemini-3.8-flash",
                "ai.google.dev pricing, as of 2026-11; reads taken as 0.1 times, output as 3.7",
            ),
            ("gemini-3.7-flash", f"{_TABLE}; requests are routed to 3.8 Flash"),
        )
    ),
    _strict(
        "gemini-3.6-flash",
        thinking_levels=("minimal", *_LEVELS),
        prices=_prices(1.50, 0.15, 7.50),
        sources={"prices": "simstudioai/sim#5812, 2026-07-21; half of it in a promotion since"},
    ),
    _strict(
        "gemini-3.5-flash-lite",
        thinking_levels=("minimal", *_LEVELS),
        prices=_prices(0.30, 0.03, 2.50),
        sources={"prices": "simstudioai/sim#5812, 2026-07-21"},
    ),
    _three("gemini-3.5-flash", prices=_prices(1.50, 0.15, 9), sources={"prices": _TABLE}),
    _three(
        "gemini-3.1-pro",
        thinking_levels=_LEVELS,
        prices=_prices(2, 0.20, 12, tiers=_above_200k(4, 0.40, 18)),
        sources={"prices": _TABLE},
    ),
    _three(
        "gemini-3.1-flash-lite",
        cache=_cache(None),
        sources={"prices": "not found as of 2026-11", "cache": "its minimum was not found"},
    ),
    _three(
        "gemini-3-pro",
        thinking_levels=None,
        prices=_prices(2, 0.20, 12, tiers=_above_200k(4, 0.40, 18)),
        sources={
            "prices": "ai.google.dev pricing, 2026-02",
            "thinking_levels": "sources differ on medium as of 2026-11",
        },
    ),
    _three(
        "gemini-3-flash",
        cache=_cache(1024),
        prices=_prices(0.50, 0.05, 3),
        sources={
            "prices": "ai.google.dev pricing, 2026-02",
            "cache": "ai.google.dev/gemini-api/docs/caching, 2026-05-07",
        },
    ),
    *(
        _three(
            name,
            thought_signatures=False,
            thinking_levels=None,
            context_window=None,
            max_output_tokens=None,
            cache=CacheRules(),
            sources={"*": "image model: its limits were not looked up", "prices": "not found"},
        )
        for name in ("gemini-3-pro-image", "gemini-3.1-flash-image")
    ),
    *(
        _gemini(
            name,
            prefill=True,
            thinking_levels=(),
            thinking_budget=True,
            cache=_cache(minimum),
            prices=prices,
            sources={"prices": "ai.google.dev pricing, 2026-02"},
        )
        for name, minimum, prices in (
            (
                "gemini-2.5-pro",
                2048,
                _prices(1.25, 0.125, 10, tiers=_above_200k(2.50, 0.25, 15)),
            ),
            ("gemini-2.5-flash", 2048, _prices(0.30, 0.03, 2.50)),
            ("gemini-2.5-flash-lite", None, _prices(0.10, 0.01, 0.40)),
        )
    ),
    *(
        _gemini(
            name,
            prefill=True,
            reasoning=False,
            max_output_tokens=8_192,
            thinking_levels=(),
            thinking_budget=None,
            cache=CacheRules(),
            prices=prices,
            sources={"prices": "ai.google.dev pricing, 2025", "cache": "no implicit caching"},
        )
        for name, prices in (
            ("gemini-2.0-flash", _prices(0.10, 0.025, 0.40)),
            ("gemini-2.0-flash-lite", _prices(0.075, 0.075, 0.30)),
            ("gemini-1.5-flash", None),
            ("gemini-1.5-pro", None),
        )
    ),
)
"""Newest first. The prefill of a Gemini model is a trailing model turn that it goes on from."""
