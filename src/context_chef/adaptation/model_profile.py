"""What one model accepts, what it caches and what it costs, as data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final, Literal, Self, TypeAlias

import msgspec

from context_chef.given import check_text
from context_chef.ir.frozen import EMPTY, FrozenDict, frozen
from context_chef.patterns import regex

_OPENAIS_OWN: Final = regex(r"(?:gpt-|chatgpt-|o\d)")

Provider: TypeAlias = Literal["anthropic", "openai", "gemini"]

CacheMode: TypeAlias = Literal["breakpoints", "breakpoints_and_tail", "automatic", "none"]
"""How a provider decides what to keep of a prompt.

- `breakpoints`: only what ends at a mark in the request (Anthropic).
- `breakpoints_and_tail`: at marks, and at one that the provider itself puts at the end of the
  newest user or tool message; there is no fallback to a shorter prefix (GPT-5.6 and later).
- `automatic`: the longest prefix shared with a recent prompt; marks mean nothing.
- `none`: nothing is cached.
"""

Sampling: TypeAlias = Literal["free", "one_of", "effort_none", "default_only"]
"""What the model makes of `temperature`, `top_p` and the like.

- `free`: accepted within their range.
- `one_of`: `temperature` or `top_p`, not both.
- `effort_none`: only the defaults, unless the reasoning effort is `none`.
- `default_only`: only the defaults.
"""

ChatTools: TypeAlias = Literal["always", "effort_none", "without_effort", "never"]
"""Function tools on Chat Completions: always; only with `reasoning_effort: "none"` given; only
without an effort or with `none`; never (use Responses)."""

Sureness: TypeAlias = Literal["A", "B", "C"]
"""A: seen in an answer of the real API. B: documented. C: inferred, or sources disagree."""


class PriceTier(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US$ per million tokens, where the whole prompt is larger than `above_tokens`."""

    above_tokens: int
    input: float
    read: float
    write: float | None = None
    write_long: float | None = None
    output: float | None = None


class Prices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US$ per million tokens. None means: not known."""

    input: float
    read: float
    """Input that came from the cache."""
    write: float | None = None
    """Input that was written to the cache, instead of the input price; equal to `input` where
    writing is free."""
    write_long: float | None = None
    """The same for the longer lifetime (1 hour on Anthropic, 12 hours on OpenAI)."""
    output: float | None = None
    tiers: tuple[PriceTier, ...] = ()
    """Prices of long prompts, smallest first. They hold for the whole request, not for the rest."""
    until: str | None = None
    """The last day (ISO) of these prices, when a change is announced."""
    then: Prices | None = None
    """The prices after `until`."""

    def on(self, day: date) -> Prices:
        """The prices of that day."""
        if self.until is None or self.then is None or day.isoformat() <= self.until:
            return self
        return self.then.on(day)

    def for_prompt(self, tokens: int) -> Prices:
        """The prices of a prompt of so many tokens, tiers resolved."""
        fitting = [tier for tier in self.tiers if tokens > tier.above_tokens]
        if not fitting:
            return msgspec.structs.replace(self, tiers=())
        tier = max(fitting, key=lambda tier: tier.above_tokens)
        return Prices(
            input=tier.input,
            read=tier.read,
            write=tier.write,
            write_long=tier.write_long,
            output=tier.output,
        )


class CacheRules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the model's provider caches prompts."""

    mode: CacheMode = "none"
    minimum_tokens: int | None = None
    """Shorter prefixes are not cached, and nothing says so. None: not known."""
    lookback_blocks: int | None = None
    """How many blocks before a mark are searched for an earlier entry, the marked one included."""
    max_breakpoints: int = 0
    """Marks in one request; 0 where there are none."""
    ttls: tuple[str, ...] = ()
    """Lifetimes that can be asked for, the default first (`5m`, `1h`; `30m`; `24h`)."""
    step_tokens: int = 1
    """Prefixes are matched in steps of so many tokens."""
    guaranteed: bool = False
    """A second identical prefix within the lifetime is read for sure, not at best."""

    @property
    def explicit_marks(self) -> bool:
        """Whether marks in the request mean anything."""
        return self.max_breakpoints > 0


class ModelProfile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one model accepts, caches and costs.

    A field that is None is not known. Wherever something depends on the profile, an unknown profile
    or field means the choice that every model of the provider accepts.
    """

    provider: Provider
    name: str
    """The model's plain id, without date or suffix: `claude-sonnet-4-5`."""
    aliases: tuple[str, ...] = ()
    """Other plain ids of the same model."""
    context_window: int | None = None
    """Tokens of input and output together."""
    max_input_tokens: int | None = None
    """Where the input alone is limited below the window."""
    max_output_tokens: int | None = None

    prefill: bool = False
    """The last message may be the assistant's, and the answer goes on from it."""
    inline_system: bool = False
    """`role: "system"` (or developer) is understood inside the conversation too."""
    leading_system: bool = True
    """There is a place for a system prompt at all (o1-mini has none)."""
    prefix_bound_thinking: bool = False
    """A thinking block is refused once anything before it has changed."""
    keeps_thinking: bool = False
    """Thinking of finished turns stays in the prompt and is paid for."""
    reasoning: bool = False
    """The model thinks before it answers; what that forbids is in the fields around."""
    thinking_types: tuple[str, ...] | None = None
    """Accepted `thinking.type` values (Anthropic)."""
    disabled_thinking_efforts: tuple[str, ...] | None = None
    """The efforts that go with `thinking.type: "disabled"`; None: every one."""
    efforts: tuple[str, ...] | None = None
    """Accepted effort values; empty: the setting itself is refused."""
    forced_tool_choice: bool = True
    """The model can be made to call a tool."""
    sampling: Sampling | None = None
    stop: bool = True
    """Stop sequences are accepted."""
    chat_tools: ChatTools = "always"
    refused_tools: tuple[str, ...] = ()
    """Types of provider tools that the model refuses."""
    tool_search: bool = False
    """Tools can be held back until the model searches for them (`defer_loading` with the
    provider's own search tool; on OpenAI in Responses only)."""
    tool_additions: bool = False
    """Tools can be added inside the conversation (`tool_addition` on Anthropic,
    `additional_tools` on OpenAI Responses)."""

    thinking_levels: tuple[str, ...] | None = None
    """Accepted `thinkingLevel` values (Gemini); empty: refused."""
    thinking_budget: bool | None = None
    """`thinkingBudget` is accepted (Gemini)."""
    response_alone: bool = False
    """A content with function responses holds nothing else (Gemini)."""
    thought_signatures: bool = False
    """The first call of each step of the turn in progress needs its `thoughtSignature` (Gemini)."""
    function_ids: bool = False
    """Function calls carry ids, which their responses repeat (Gemini)."""
    tool_combination: bool = False
    """Built-in tools and functions may be offered together (Gemini)."""

    media_types: tuple[str, ...] | None = None
    """Accepted media, as `image/png` or `audio/*`. None: not known."""
    web_search_options: bool | None = None
    """`web_search_options` is accepted (Chat Completions)."""
    cache: CacheRules = CacheRules()
    prices: Prices | None = None
    sources: Mapping[str, str] = EMPTY
    """Where each figure comes from and as of when: field name to a dated source. The entry `*`
    stands for every field that has none of its own."""
    sureness: Mapping[str, Sureness] = EMPTY
    """How sure each figure is, `*` as above. What is only C is warned of, never refused."""

    def __post_init__(self) -> None:
        for field in ("sources", "sureness"):
            value = getattr(self, field)
            if type(value) is not FrozenDict:
                msgspec.structs.force_setattr(self, field, frozen(value))

    def source_of(self, field: str) -> str:
        """Where that figure comes from, with its date; empty when nothing is recorded."""
        check_text(field, "field")
        return self.sources.get(field) or self.sources.get("*", "")

    def how_sure(self, field: str) -> Sureness:
        """How sure that figure is: A, B or C."""
        check_text(field, "field")
        return self.sureness.get(field) or self.sureness.get("*", "B")

    def accepts_media(self, media_type: str) -> bool | None:
        """Whether media of that type can be sent; None when it is not known."""
        check_text(media_type, "media_type")
        if self.media_types is None:
            return None
        kind = media_type.partition("/")[0]
        plain = media_type.partition(";")[0].strip().lower()
        return plain in self.media_types or f"{kind.lower()}/*" in self.media_types

    @property
    def openais_own(self) -> bool:
        """Whether OpenAI serves it, by its name: it takes what OpenAI knows, and nothing else."""
        return bool(_OPENAIS_OWN.match(self.name))

    def with_changes(self, **changes: Any) -> Self:
        """The same profile with some fields replaced."""
        return msgspec.structs.replace(self, **changes)
