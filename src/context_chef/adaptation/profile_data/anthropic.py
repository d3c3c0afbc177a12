"""What the Claude models accept, cache and cost."""

from __future__ import annotations

from typing import Any

from context_chef.adaptation.model_profile import CacheRules, ModelProfile, Prices, PriceTier

_MODEL_PAGES = "platform.claude.com model pages, as of 2026-11"
_LIMITS = "platform.claude.com/docs models/*/overview, as of 2026-11"
_PRICING = "platform.claude.com/docs pricing, as of 2026-11"
_OLD_LIMITS = "platform.claude.com/docs about-claude/models/overview, as of 2026-02"
_CACHING = "platform.claude.com/docs prompt-caching, as of 2026-08"
_TOOL_SEARCH = "platform.claude.com/docs tool-search-tool, model compatibility, as of 2026-08"
_TOOL_SEARCH_SEEN = "recording (pydantic-ai), 2026"
_MINIMUM_UNKNOWN = "not published as of 2026-11; taken as its predecessor's"

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MEDIA = (*_IMAGES, "application/pdf", "text/plain")
_ALL_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def _cache(minimum: int) -> CacheRules:
    return CacheRules(
        mode="breakpoints",
        minimum_tokens=minimum,
        lookback_blocks=20,
        max_breakpoints=4,
        ttls=("5m", "1h"),
        guaranteed=True,
    )


def _prices(price: float, output: float, read: float = 0.1, **more: Any) -> Prices:
    """Writes cost 1.25 times the input, 2 times for an hour; `read` is the factor of a read."""
    return Prices(
        input=price,
        read=round(price * read, 6),
        write=round(price * 1.25, 6),
        write_long=price * 2,
        output=output,
        **more,
    )


def _claude(name: str, **fields: Any) -> ModelProfile:
    sources = {
        "*": _MODEL_PAGES,
        "context_window": _LIMITS,
        "max_output_tokens": _LIMITS,
        "prices": _PRICING,
        "cache": _CACHING,
        "tool_search": _TOOL_SEARCH,
        **fields.pop("sources", {}),
    }
    return ModelProfile(
        provider="anthropic",
        name=name,
        chat_tools="always",
        media_types=fields.pop("media_types", _MEDIA),
        sources=sources,
        **fields,
    )


def _newest(name: str, *, minimum: int = 512, unsure_minimum: bool = False, **fields: Any) -> Any:
    """The generation that binds thinking to everything before it."""
    sources = dict(fields.pop("sources", {}))
    sureness = dict(fields.pop("sureness", {}))
    if unsure_minimum:
        sources["cache"] = _MINIMUM_UNKNOWN
        sureness["cache"] = "C"
    return _claude(
        name,
        context_window=1_000_000,
        max_output_tokens=128_000,
        reasoning=True,
        keeps_thinking=True,
        prefix_bound_thinking=fields.pop("prefix_bound_thinking", True),
        inline_system=True,
        tool_search=True,
        tool_additions=True,
        thinking_types=fields.pop("thinking_types", ("adaptive",)),
        efforts=_ALL_EFFORTS,
        forced_tool_choice=fields.pop("forced_tool_choice", False),
        sampling="default_only",
        cache=_cache(minimum),
        sources=sources,
        sureness={"prefix_bound_thinking": "B", **sureness},
        **fields,
    )


def _older(name: str, *, output: int, window: int = 200_000, **fields: Any) -> ModelProfile:
    """The generations that take a prefill and a thinking budget."""
    return _claude(
        name,
        context_window=window,
        max_output_tokens=output,
        prefill=True,
        reasoning=True,
        thinking_types=("enabled", "disabled"),
        efforts=fields.pop("efforts", ()),
        sampling=fields.pop("sampling", "free"),
        cache=_cache(fields.pop("minimum", 1024)),
        sources={
            "context_window": _OLD_LIMITS,
            "max_output_tokens": _OLD_LIMITS,
            **fields.pop("sources", {}),
        },
        **fields,
    )


ANTHROPIC_PROFILES: tuple[ModelProfile, ...] = (
    _newest(
        "claude-fable-5-2",
        unsure_minimum=True,
        prices=_prices(8, 40, 0.025),
        sources={"prices": "archid21/rightsize v0.10.2, 2026-11"},
    ),
    _newest(
        "claude-fable-5-1",
        prices=_prices(10, 50, 0.025),
        sources={"prices": "platform.claude.com/docs pricing, 2026-09-01"},
    ),
    _newest(
        "claude-mythos-5-2",
        unsure_minimum=True,
        sources={"prices": "not found as of 2026-11"},
    ),
    _newest("claude-mythos-5-1", sources={"prices": "not found as of 2026-11"}),
    _newest(
        "claude-opus-5-5",
        unsure_minimum=True,
        prices=_prices(4, 20, 0.05),
        refused_tools=("computer_20251124",),
        sources={
            "prices": "platform.claude.com/docs pricing, 2026-09-22",
            "refused_tools": "platform.claude.com/docs whats-new-opus-5-5, 2026-09-22",
        },
    ),
    _newest(
        "claude-sonnet-5-5",
        minimum=1024,
        unsure_minimum=True,
        thinking_types=("adaptive", "between_tools"),
        prices=_prices(2, 10, 0.05),
        sources={"prices": "TheKrush/PromptFuel v1.0.23, 2026-10-07"},
    ),
    _newest(
        "claude-haiku-5-5",
        minimum=1024,
        unsure_minimum=True,
        thinking_types=("adaptive", "disabled"),
        disabled_thinking_efforts=("low", "medium", "high"),
        forced_tool_choice=True,
        prices=_prices(
            0.10,
            0.50,
            tiers=(
                PriceTier(
                    above_tokens=100_000,
                    input=0.50,
                    read=0.05,
                    write=0.625,
                    write_long=1.00,
                    output=2.50,
                ),
            ),
        ),
        sources={"prices": "TheKrush/PromptFuel v1.0.23, kurofune/claudit v1.9.2, 2026-10-07"},
    ),
    _newest(
        "claude-fable-5",
        prefix_bound_thinking=False,
        prices=_prices(10, 50),
        sources={"prices": "github/docs models-and-pricing, as of 2026-09"},
    ),
    _newest(
        "claude-mythos-5",
        prefix_bound_thinking=False,
        sources={"prices": "not found as of 2026-11"},
    ),
    _newest(
        "claude-opus-5",
        prefix_bound_thinking=False,
        thinking_types=("adaptive", "disabled"),
        disabled_thinking_efforts=("low", "medium", "high"),
        forced_tool_choice=True,
        prices=_prices(5, 25),
    ),
    _claude(
        "claude-sonnet-5",
        tool_search=True,
        context_window=1_000_000,
        max_output_tokens=128_000,
        reasoning=True,
        keeps_thinking=True,
        thinking_types=("adaptive", "disabled"),
        efforts=_ALL_EFFORTS,
        sampling="default_only",
        cache=_cache(1024),
        prices=_prices(2, 10),
        sources={
            "prices": "TheKrush/PromptFuel v1.0.22, 2026-09",
            "inline_system": "docs and SDK notes disagree as of 2026-11; taken as refused",
            "prefill": "recording (activeagent), 2026-07",
        },
        sureness={"inline_system": "C", "prefill": "A"},
    ),
    _claude(
        "claude-opus-4-8",
        tool_search=True,
        tool_additions=True,
        context_window=1_000_000,
        max_output_tokens=128_000,
        reasoning=True,
        keeps_thinking=True,
        inline_system=True,
        thinking_types=("adaptive", "disabled"),
        efforts=_ALL_EFFORTS,
        sampling="default_only",
        cache=_cache(1024),
        prices=_prices(5, 25),
        sources={
            "inline_system": "recording (pydantic-ai), 2026-06",
            "tool_search": _TOOL_SEARCH_SEEN,
            "tool_additions": _TOOL_SEARCH_SEEN,
        },
        sureness={"inline_system": "A", "tool_search": "A", "tool_additions": "A"},
    ),
    _claude(
        "claude-opus-4-7",
        tool_search=True,
        context_window=1_000_000,
        max_output_tokens=128_000,
        reasoning=True,
        keeps_thinking=True,
        thinking_types=("adaptive", "disabled"),
        efforts=_ALL_EFFORTS,
        sampling="default_only",
        cache=_cache(2048),
        prices=_prices(5, 25),
    ),
    _claude(
        "claude-opus-4-6",
        tool_search=True,
        context_window=1_000_000,
        max_output_tokens=128_000,
        reasoning=True,
        keeps_thinking=True,
        thinking_types=("adaptive", "enabled", "disabled"),
        efforts=("low", "medium", "high", "max"),
        sampling="one_of",
        cache=_cache(4096),
        prices=_prices(5, 25),
        sources={"efforts": "recording (pydantic-ai), 2026-03"},
        sureness={"efforts": "A", "forced_tool_choice": "A"},
    ),
    _claude(
        "claude-sonnet-4-6",
        tool_search=True,
        context_window=1_000_000,
        max_output_tokens=128_000,
        reasoning=True,
        keeps_thinking=True,
        thinking_types=("adaptive", "enabled", "disabled"),
        efforts=("low", "medium", "high", "max"),
        sampling="one_of",
        cache=_cache(1024),
        prices=_prices(3, 15),
        sources={
            "context_window": "perstack-ai/perstack#801, 2026-02",
            "max_output_tokens": "sources name 64,000 and 128,000 as of 2026-11; the larger taken",
            "tool_search": _TOOL_SEARCH_SEEN,
        },
        sureness={"max_output_tokens": "C", "tool_search": "A"},
    ),
    _older(
        "claude-opus-4-5",
        tool_search=True,
        output=64_000,
        keeps_thinking=True,
        efforts=("low", "medium", "high"),
        sampling="one_of",
        minimum=4096,
        prices=_prices(5, 25),
    ),
    _older(
        "claude-haiku-4-5",
        tool_search=True,
        output=64_000,
        sampling="one_of",
        minimum=4096,
        prices=_prices(1, 5),
    ),
    _older(
        "claude-sonnet-4-5",
        tool_search=True,
        output=64_000,
        sampling="one_of",
        prices=_prices(3, 15),
        sources={
            "context_window": "platform.claude.com/docs models/overview, as of 2026-02: 200,000; "
            "1,000,000 only with a beta header",
            "tool_search": _TOOL_SEARCH_SEEN,
        },
        sureness={"tool_search": "A"},
    ),
    _older("claude-opus-4-1", output=32_000, sampling="one_of", prices=_prices(15, 75)),
    _older("claude-opus-4-0", aliases=("claude-opus-4",), output=32_000, prices=_prices(15, 75)),
    _older("claude-sonnet-4-0", aliases=("claude-sonnet-4",), output=64_000, prices=_prices(3, 15)),
    _older(
        "claude-3-7-sonnet",
        output=128_000,
        prices=_prices(3, 15),
        sources={
            "max_output_tokens": "platform.claude.com/docs models/overview, 2025: 64,000, and "
            "128,000 with a beta header; the larger taken"
        },
    ),
    *(
        _claude(
            name,
            context_window=200_000,
            max_output_tokens=output,
            prefill=True,
            thinking_types=("disabled",),
            efforts=(),
            sampling="free",
            cache=_cache(minimum),
            prices=prices,
            media_types=media,
            sources={"*": _OLD_LIMITS, "cache": "platform.claude.com/docs prompt-caching, 2026-02"},
        )
        for name, output, minimum, prices, media in (
            ("claude-3-5-sonnet", 8_192, 1024, _prices(3, 15), _MEDIA),
            ("claude-3-5-haiku", 8_192, 2048, _prices(0.80, 4), _MEDIA),
            ("claude-3-opus", 4_096, 1024, _prices(15, 75), _IMAGES),
            ("claude-3-sonnet", 4_096, 1024, _prices(3, 15), _IMAGES),
            ("claude-3-haiku", 4_096, 2048, _prices(0.25, 1.25), _IMAGES),
        )
    ),
)
"""Newest first."""
