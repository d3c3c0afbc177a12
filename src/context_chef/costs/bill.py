"""What the requests of a session read from the cache, wrote to it and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from context_chef.costs.prices import Money
from context_chef.costs.usage import Usage
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.frozen import EMPTY

RequestKind: TypeAlias = Literal["answer", "summary"]
"""What a request was sent for: the agent's next answer, or a summary of what leaves the window."""

BustCause: TypeAlias = Literal["changed", "expired", "out-of-reach", "model"]
"""Why something that was in the cache was not read.

- `changed`: the prompt parts from the one before, at `where`.
- `expired`: nobody read it for longer than it lives.
- `out-of-reach`: it is still there and the prompt begins alike, but no breakpoint looks at it.
- `model`: another model was asked, and no model reads another's cache.
"""


class SentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a session, as it was sent."""

    body: Mapping[str, Any]
    """The HTTP body, the arguments of the SDK's call, or a `Payload`."""
    at: float = 0.0
    """When it was sent, in seconds on any clock that does not run backwards."""
    output_tokens: int | None = None
    """The answer's tokens, where no `usage` tells them."""
    usage: Any = None
    """What the provider reported, in any form that `read_usage` takes."""
    kind: RequestKind = "answer"
    model: str | None = None
    """The model asked, where neither the body nor the session names it."""


class Bust(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens that the cache held and that had to be processed again."""

    tokens: int
    cause: BustCause
    where: str | None = None
    """The path in the body where the prompt parts from the one before."""


class BilledRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one request."""

    at: float
    kind: RequestKind
    model: str | None
    input: int
    """Tokens of the whole prompt."""
    read: int
    """Of these, read from the cache."""
    written: Mapping[str, int] = EMPTY
    """Of these, written to the cache at a price, by lifetime (`5m`, `1h`, `30m`, `12h`)."""
    uncached: int
    """Of these, processed at the price of plain input."""
    output: int | None = None
    """Tokens of the answer; None when nobody said."""
    money: Money | None = None
    """US$ by part; None when the model has no known price."""
    without_cache: float | None = None
    """US$ that the same request costs where nothing is cached."""
    bust: Bust | None = None
    parts_at: str | None = None
    """Where the prompt parts from the request before; None when it only adds to it."""
    reported: Usage | None = None
    """What the provider reported. Where it did, the figures above are these."""
    simulated: Usage | None = None
    """What the rules say, where the provider reported something."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def hit_share(self) -> float:
        """The part of the prompt that was read from the cache, 0 to 1."""
        return self.read / self.input if self.input else 0.0

    @property
    def cost(self) -> float | None:
        """US$ of everything; None when a price or a part is not known."""
        return None if self.money is None else self.money.total

    @property
    def differences(self) -> dict[str, int]:
        """What was reported less what the rules say, where they differ; empty without a report."""
        if self.reported is None or self.simulated is None:
            return {}
        pairs = {
            "input": (self.reported.input, self.simulated.input),
            "read": (self.reported.read, self.simulated.read),
            "written": (
                sum(self.reported.written.values()),
                sum(self.simulated.written.values()),
            ),
        }
        return {name: seen - said for name, (seen, said) in pairs.items() if seen != said}

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""
        row: dict[str, Any] = {
            "at": self.at,
            "kind": self.kind,
            "model": self.model,
            "input": self.input,
            "read": self.read,
            "written": dict(self.written),
            "uncached": self.uncached,
            "output": self.output,
            "hit_share": round(self.hit_share, 4),
            "money": None if self.money is None else self.money.to_dict(),
            "without_cache": _rounded(self.without_cache),
            "bust": None if self.bust is None else msgspec.to_builtins(self.bust),
            "parts_at": self.parts_at,
            "reported": self.reported is not None,
        }
        if self.reported is not None:
            row["differences"] = self.differences
        if self.diagnostics:
            row["diagnostics"] = [msgspec.to_builtins(one) for one in self.diagnostics]
        return row


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of a session, and what they come to together."""

    requests: tuple[BilledRequest, ...] = ()
    target: str = ""
    prices_as_of: str | None = None
    """The day (ISO) whose prices were used."""

    def only(self, kind: RequestKind) -> Bill:
        """The same bill with the requests of one kind."""
        kept = tuple(request for request in self.requests if request.kind == kind)
        return msgspec.structs.replace(self, requests=kept)

    @property
    def input(self) -> int:
        """Tokens of all prompts together."""
        return sum(request.input for request in self.requests)

    @property
    def read(self) -> int:
        return sum(request.read for request in self.requests)

    @property
    def written(self) -> dict[str, int]:
        """Tokens written to the cache at a price, by lifetime."""
        totals: dict[str, int] = {}
        for request in self.requests:
            for ttl, tokens in request.written.items():
                totals[ttl] = totals.get(ttl, 0) + tokens
        return totals

    @property
    def uncached(self) -> int:
        return sum(request.uncached for request in self.requests)

    @property
    def output(self) -> int:
        """Tokens of the answers that are known."""
        return sum(request.output or 0 for request in self.requests)

    @property
    def hit_share(self) -> float:
        """The part of all input that was read from the cache, 0 to 1."""
        return self.read / self.input if self.input else 0.0

    @property
    def money(self) -> Money | None:
        """US$ by part; None when a request has no known price."""
        total = Money()
        for request in self.requests:
            if request.money is None:
                return None
            total = total + request.money
        return total

    @property
    def cost(self) -> float | None:
        """US$ of everything; None when the price of a part is not known."""
        money = self.money
        return None if money is None else money.total

    @property
    def without_cache(self) -> float | None:
        """US$ of the same requests where nothing is cached."""
        return _total(request.without_cache for request in self.requests)

    @property
    def busts(self) -> tuple[BilledRequest, ...]:
        """The requests that paid again for something that the cache held."""
        return tuple(request for request in self.requests if request.bust is not None)

    @property
    def rebilled(self) -> int:
        """Tokens that the cache held and that were paid for again."""
        return sum(request.bust.tokens for request in self.requests if request.bust is not None)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What stands in the way of exact figures, each said once."""
        every = (one for request in self.requests for one in request.diagnostics)
        return tuple({(one.code, one.message): one for one in every}.values())

    def to_dict(self, *, requests: bool = True) -> dict[str, Any]:
        """The bill as plain data, with its requests unless they are not wanted."""
        money = self.money
        totals: dict[str, Any] = {
            "requests": len(self.requests),
            "input": self.input,
            "read": self.read,
            "written": self.written,
            "uncached": self.uncached,
            "output": self.output,
            "hit_share": round(self.hit_share, 4),
            "busts": len(self.busts),
            "rebilled": self.rebilled,
            "money": None if money is None else money.to_dict(),
            "without_cache": _rounded(self.without_cache),
        }
        summaries = self.only("summary").requests
        if summaries:
            spent = _total(request.cost for request in summaries)
            totals["summaries"] = {"requests": len(summaries), "cost": _rounded(spent)}
        answer: dict[str, Any] = {
            "target": self.target,
            "prices_as_of": self.prices_as_of,
            "totals": totals,
            "diagnostics": [msgspec.to_builtins(one) for one in self.diagnostics],
        }
        if requests:
            answer["requests"] = [request.to_dict() for request in self.requests]
        return answer


def _total(figures: Iterable[float | None]) -> float | None:
    total = 0.0
    for figure in figures:
        if figure is None:
            return None
        total += figure
    return total


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 8)
