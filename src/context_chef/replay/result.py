"""What a replay found out: plain, frozen data that goes to JSON and back without loss.

`ReplayResult` holds one `SessionReplay` per recorded session, and that one `Run` per configuration.
A run holds one `ReplayedRequest` per point at which the recorded agent asked the model. Texts are
stored once per session, in `SessionReplay.texts`; requests refer to them by index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

RESULT_VERSION: Final = 1

SourceGroup: TypeAlias = Literal[
    "tools", "system", "summary", "user", "assistant", "tool results", "tail"
]
SOURCES: Final[tuple[SourceGroup, ...]] = (
    "tools", "system", "summary", "user", "assistant", "tool results", "tail"
)  # fmt: skip
"""What a request is made of, in the order in which a picture stacks it.

`summary` is what overflow put in place of messages that left (summaries, notices), `tail` is state,
memory, announcements and everything else that is put behind the conversation for one turn.
"""

FactKind: TypeAlias = Literal["identifier", "number", "path", "url", "error", "rule"]
FACT_KINDS: Final[tuple[FactKind, ...]] = (
    "identifier", "number", "path", "url", "error", "rule"
)  # fmt: skip

Fate: TypeAlias = Literal["window", "uri", "search", "lost"]
FATES: Final[tuple[Fate, ...]] = ("window", "uri", "search", "lost")
"""Where a fact of evicted text is: still in the window, behind an address that the window shows,
found by searching the store, or nowhere that the model could reach."""


class SpanText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stretch of a request: a tool definition, or one message's own or generated blocks."""

    source: str
    """Who brought it, as in `Span.source`: `system_prompt`, `history`, `fold`, `tool:NAME`, …"""
    group: SourceGroup
    role: str | None = None
    text: str = ""
    """What it says, for people: thinking, calls and media are told in words."""
    tokens: int = 0


class BustRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The prompt cache could not serve what it held: something in the prefix changed."""

    cause: str
    """What kind of thing changed, as `diff()` names it (`fold`, `tool`, `setter`, `repair`, …), or
    `expired`, `out-of-reach`, `model` where nothing did."""
    name: str = ""
    """Which one, where there are several: a tool's name, a setter, a memory key."""
    message: str = ""
    rebilled: int = 0
    """Tokens that the last request held as well and that are paid for again."""


class FoldRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Messages left the window in this request."""

    strategy: str
    left: tuple[int, ...] = ()
    """The messages that left: indexes into `SessionReplay.texts`."""
    uris: tuple[str, ...] = ()
    """Where they are stored in full; empty when they are not."""
    summary: int | None = None
    """What stands for them: an index into `SessionReplay.texts`."""
    tokens_left: int = 0
    calls: int = 0
    """How often the summariser was asked."""
    facts: Mapping[Fate, int] = {}
    """Facts of the messages that left, by where they were right afterwards."""


class MendedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A repair: something was changed so that the provider accepts the request."""

    rule: str
    where: str
    message: str


class FoundFault(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the provider that a request breaks: it would be refused."""

    rule: str
    where: str
    message: str


class RecordedUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the provider counted when the session was recorded, in tokens."""

    prompt: int = 0
    """The whole prompt, what came out of the cache included."""
    cache_read: int = 0
    cache_written: int = 0
    output: int = 0


class ReplayedRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request, as it would have been sent."""

    number: int
    """From 1."""
    at: float = 0.0
    """Seconds since the session began."""
    messages: int = 0
    """How many messages had been said by then."""
    tokens: int = 0
    """The whole request, as counted by the configuration's own counter."""
    sources: Mapping[str, int] = {}
    """The same tokens by what they are; keys are `SOURCES`, those of zero left out."""
    limit: int | None = None
    """The window without the reserve for the answer; None when it is infinite."""
    trigger: int | None = None
    """Above this, history overflows."""
    kept: int = 0
    """How many spans at the front are those of the request before this one, unchanged …"""
    added: tuple[int, ...] = ()
    """… and the spans behind them: indexes into `SessionReplay.texts`."""
    cache_read: int = 0
    cache_written: int = 0
    uncached: int = 0
    output: int = 0
    """Tokens of the recorded answer."""
    cost: float = 0.0
    """Money for this request and the summariser calls it made, in the price list's currency."""
    summarizer_cost: float = 0.0
    """The part of `cost` that went to the summariser."""
    folds: tuple[FoldRecord, ...] = ()
    repairs: tuple[MendedPlace, ...] = ()
    """What was mended in this request, and not in the one before already."""
    busts: tuple[BustRecord, ...] = ()
    faults: tuple[FoundFault, ...] = ()
    checked: bool = False
    """Whether the provider's rules were run over this request."""
    size: int = 0
    """Bytes of the HTTP body."""
    digest: str = ""
    """SHA-256 of the HTTP body, the first 16 hex digits."""
    recorded: RecordedUsage | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One thing said in text that left the window."""

    kind: FactKind
    text: str
    fate: Fate
    message: int
    """The message of the transcript that said it first, from 0."""


class Retention(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of the facts in everything that left the window, at the end of the session."""

    counts: Mapping[FactKind, Mapping[Fate, int]] = {}
    lost: tuple[Fact, ...] = ()
    """Examples of what is lost, rules and errors first; at most 40."""
    kept_examples: tuple[Fact, ...] = ()
    """Examples of what left and can still be reached, at most 12."""
    evicted_messages: int = 0
    """How many messages of the transcript no longer stand in the window word for word."""

    def total(self, *fates: Fate) -> int:
        """How many facts have one of these fates; all of them without any."""
        wanted = fates or FATES
        return sum(by.get(fate, 0) for by in self.counts.values() for fate in wanted)

    @property
    def share(self) -> float:
        """The share of facts that the model can still reach, 1 when nothing left."""
        return 1.0 if not self.total() else self.total("window", "uri", "search") / self.total()

    @property
    def in_window(self) -> float:
        """The share of facts that are still in front of the model, 1 when nothing left."""
        return 1.0 if not self.total() else self.total("window") / self.total()


class Totals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run in figures."""

    requests: int = 0
    sent: int = 0
    """Tokens of all requests."""
    peak: int = 0
    """Tokens of the largest request."""
    above: int = 0
    """Requests that are larger than the window."""
    folds: int = 0
    summarizer_calls: int = 0
    summarizer_tokens: int = 0
    """Tokens that the summariser was shown."""
    cache_read: int = 0
    cache_written: int = 0
    uncached: int = 0
    output: int = 0
    cost: float = 0.0
    summarizer_cost: float = 0.0
    busts: int = 0
    rebilled: int = 0
    repairs: int = 0
    faults: int = 0
    checked: int = 0

    @property
    def hit_share(self) -> float:
        """The share of prompt tokens that came out of the cache."""
        prompt = self.cache_read + self.cache_written + self.uncached
        return self.cache_read / prompt if prompt else 0.0


class ConfigurationInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The configuration of a run, as it can be written down again."""

    name: str
    target: str
    model: str | None = None
    window: int | None = None
    """Tokens; None is no limit."""
    strategy: str = ""
    """In words: `clear, then summarize`."""
    settings: Mapping[str, Any] = {}
    """The plain settings, ready for `ContextChef.from_settings`."""


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session under one configuration."""

    configuration: ConfigurationInfo
    requests: tuple[ReplayedRequest, ...] = ()
    totals: Totals = Totals()
    retention: Retention = Retention()
    sequence_faults: tuple[FoundFault, ...] = ()
    """Rules over the turns of the session that are broken; paths begin with the request's index."""
    prices: str = ""
    """Which price list the cost is by; empty when the model has no known price."""
    currency: str = "USD"
    notes: tuple[str, ...] = ()
    """What has to be known to read the figures: warnings of the chef, what was left out."""
    error: str | None = None
    """Why the run ended early: what the compile raised."""

    def spans(self, number: int) -> list[int]:
        """The spans of request `number` (from 1), in order: indexes into the session's texts."""
        spans: list[int] = []
        for request in self.requests[:number]:
            del spans[request.kept :]
            spans.extend(request.added)
        return spans


class SessionReplay(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recorded session under every configuration."""

    name: str
    format: str
    """What kind of recording it was read from."""
    messages: int = 0
    requests: int = 0
    model: str | None = None
    """The model that the recorded agent used, when the recording says so."""
    recorded: RecordedUsage | None = None
    """The sum of what the provider counted, when the recording says so."""
    recorded_requests: int = 0
    """How many requests that sum is of."""
    texts: tuple[SpanText, ...] = ()
    runs: tuple[Run, ...] = ()
    notes: tuple[str, ...] = ()
    """What was found odd while reading: a torn last line, messages that could not be carried."""


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every session under every configuration."""

    version: int = RESULT_VERSION
    summarizer: str = ""
    """Who wrote the summaries, in a sentence for people."""
    counter: str = ""
    """How tokens were counted, in a few words."""
    pauses: str = ""
    """Where the times between requests come from, in a sentence."""
    sessions: tuple[SessionReplay, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, every field and default written out."""
        return _whole(self)

    def to_json(self) -> bytes:
        """The result as JSON. Equal inputs give equal bytes."""
        return msgspec.json.encode(self.to_dict())

    @classmethod
    def from_json(cls, data: bytes | str) -> ReplayResult:
        """A result that was written by `to_json`. Raises `msgspec.ValidationError`."""
        return msgspec.json.decode(data, type=cls)


def _whole(value: Any) -> Any:
    """Plain data with defaults and derived figures written out: readers need no table of them."""
    if isinstance(value, msgspec.Struct):
        data = {name: _whole(getattr(value, name)) for name in value.__struct_fields__}
        if isinstance(value, Retention):
            data |= {"share": value.share, "in_window": value.in_window}
        if isinstance(value, Totals):
            data["hit_share"] = value.hit_share
        return data
    if isinstance(value, Mapping):
        return {str(key): _whole(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # settings are of any kind
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_whole(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  # settings are of any kind
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None
    return value


def added_up(requests: Sequence[ReplayedRequest], **more: Any) -> Totals:
    """The figures of a run; `more` gives those that no request holds."""
    return Totals(
        requests=len(requests),
        sent=sum(r.tokens for r in requests),
        peak=max((r.tokens for r in requests), default=0),
        above=sum(r.limit is not None and r.tokens > r.limit for r in requests),
        folds=sum(len(r.folds) for r in requests),
        cache_read=sum(r.cache_read for r in requests),
        cache_written=sum(r.cache_written for r in requests),
        uncached=sum(r.uncached for r in requests),
        output=sum(r.output for r in requests),
        cost=sum((r.cost for r in requests), 0.0),
        summarizer_cost=sum((r.summarizer_cost for r in requests), 0.0),
        busts=sum(len(r.busts) for r in requests),
        rebilled=sum(bust.rebilled for r in requests for bust in r.busts),
        repairs=sum(len(r.repairs) for r in requests),
        faults=sum(len(r.faults) for r in requests),
        checked=sum(r.checked for r in requests),
        **more,
    )
