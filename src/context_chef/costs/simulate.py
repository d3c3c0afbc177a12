"""Plays the requests of a session through its provider's cache and price list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from context_chef.adaptation.http_body import http_body
from context_chef.adaptation.model_profile import CacheRules
from context_chef.adaptation.profiles import Profiles, profile_for
from context_chef.costs.bill import Bill, BilledRequest, Bust, BustCause, RequestKind, SentRequest
from context_chef.costs.caches import ProviderCache, Taken, cache_for
from context_chef.costs.prices import (
    PRICES_AS_OF,
    Money,
    PriceSettings,
    PriceTable,
    money_for,
)
from context_chef.costs.prompt import Prompt, PromptReader
from context_chef.costs.usage import Usage, read_usage
from context_chef.errors import InputError, SettingsError, nearest, shown
from context_chef.given import check_instance, check_mapping, check_text, read_list
from context_chef.ir.blocks import Provider
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.payload import Payload
from context_chef.selection.counting import TokenizerLike, resolve_tokenizer

TARGETS: Final = ("anthropic", "openai", "openai-responses", "gemini")
_UNKNOWN_MODEL: Final[Mapping[str, CacheRules]] = {
    "anthropic": CacheRules(
        mode="breakpoints", minimum_tokens=1024, lookback_blocks=20, max_breakpoints=4
    ),
    "openai": CacheRules(mode="automatic", minimum_tokens=1024, step_tokens=128),
    "openai-responses": CacheRules(mode="automatic", minimum_tokens=1024, step_tokens=128),
    "gemini": CacheRules(mode="automatic", minimum_tokens=4096),
}
"""What is taken where the model is not known, and said in a diagnostic."""
_UNKNOWN_MINIMUM: Final[Mapping[str, int]] = {"gemini": 4096}


def cache_rules(
    model: str | None, target: str, *, profiles: Profiles = ()
) -> tuple[CacheRules, list[Diagnostic]]:
    """How that model caches, and what of it is only assumed."""
    profile = profile_for(model, target, profiles=profiles)
    if profile is None:
        rules = _UNKNOWN_MODEL[target]
        said = (
            f"nothing is known of the model {model!r}: its cache is taken to be {rules.mode} from "
            f"{rules.minimum_tokens} tokens on. Describe it in `profiles`."
        )
        return rules, [_note("unknown-model", said)]
    if profile.cache.mode != "none" and profile.cache.minimum_tokens is None:
        minimum = _UNKNOWN_MINIMUM.get(target, 1024)
        said = f"the smallest prompt that {model!r} caches is not known; taken as {minimum}."
        rules = msgspec.structs.replace(profile.cache, minimum_tokens=minimum)
        return rules, [_note("unknown-minimum", said)]
    return profile.cache, []


class _Last(NamedTuple):
    """The request before, of one model and kind."""

    prompt: Prompt
    taken: Taken


class _ModelSide:
    """What one model remembers, and how its requests are read."""

    def __init__(self, reader: PromptReader, cache: ProviderCache, notes: list[Diagnostic]) -> None:
        self.reader = reader
        self.cache = cache
        self.notes = notes
        self.last: dict[RequestKind, _Last] = {}


class CacheModel:
    """A provider's prompt caches, fed one request after the other.

    Each model has a cache of its own. Costs what is new in a request, plus a walk over its blocks.
    """

    def __init__(
        self,
        *,
        target: str,
        model: str | None = None,
        prices: PriceTable | PriceSettings | str | Path | None = None,
        tokenizer: TokenizerLike = None,
        profiles: Profiles = (),
        on: date | None = None,
        cached_contents: Mapping[str, int] | None = None,
    ) -> None:
        """`model` is the one asked where a request names none.

        `prices` are a table, changes to the built-in one, or a TOML file. `on` is the day whose
        prices count (built in: `PRICES_AS_OF`). `cached_contents` are the tokens of Gemini's
        `cachedContents` by name. Raises SettingsError for a target that is none of the four.
        """
        if target not in TARGETS:
            raise SettingsError(
                f"`target` cannot be {shown(target)}: costs are known for {', '.join(TARGETS)}. "
                + nearest(target, TARGETS)
            )
        if cached_contents is not None:
            check_mapping(cached_contents, "cached_contents")
        check_instance(on, "on", date, optional=True)
        check_text(model, "model", optional=True)
        self.target: Provider = target  # pyright: ignore[reportAttributeAccessIssue]  # looked at above
        self.model = model
        self.prices = (
            PriceTable.default(profiles=profiles) if prices is None else PriceTable.read(prices)
        )
        self.on = on or PRICES_AS_OF
        self._counter = resolve_tokenizer(tokenizer, provider=self.target)
        self._profiles = profiles
        self._resources = dict(cached_contents or {})
        self._sides: dict[str, _ModelSide] = {}
        self._asked: dict[RequestKind, str] = {}
        self._now = float("-inf")
        self._billed: list[BilledRequest] = []

    @property
    def bill(self) -> Bill:
        """Everything that was sent so far."""
        return Bill(
            requests=tuple(self._billed), target=self.target, prices_as_of=self.on.isoformat()
        )

    def send(self, request: SentRequest, *, prompt: Prompt | None = None) -> BilledRequest:
        """What this request reads, writes and costs after all that was sent before.

        `prompt` is its body as a `PromptReader` read it, where somebody did already.
        Raises InputError for a request that is older than the one before it, or sent at no time.
        """
        check_instance(request, "request", SentRequest)
        check_instance(prompt, "prompt", Prompt, optional=True)
        _check_figures(request)
        if not request.at >= self._now:
            raise InputError(
                f"a request sent at {shown(request.at)} comes after one sent at "
                f"{shown(self._now)}: requests "
                "are played in the order of their time.",
                path="$.at",
            )
        self._now = request.at
        body = self._body(request)
        named = body.get("model")
        model = (named if isinstance(named, str) and named else None) or request.model or self.model
        side = self._side(model)
        last = side.last.get(request.kind)
        if prompt is None:
            prompt = side.reader.read(body, after=None if last is None else last.prompt)
        taken = side.cache.send(prompt, body, request.at)
        simulated = Usage(
            input=prompt.tokens,
            read=taken.read,
            written=taken.written,
            output=request.output_tokens or 0,
        )
        parts = None if last is None else prompt.parts_from(last.prompt)
        bust = self._bust(request, model, prompt, taken, last, parts)
        where = None if parts is None or last is None else _place(parts, prompt, last.prompt)
        side.last[request.kind] = _Last(prompt, taken)
        self._asked[request.kind] = model or ""
        billed = self._billed_request(request, model, simulated, bust, where, side.notes)
        self._billed.append(billed)
        return billed

    def _body(self, request: SentRequest) -> Mapping[str, Any]:
        if not isinstance(request.body, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise InputError(
                f"`body` is a request body or a `Payload`, not {shown(request.body)}.",
                path="$.body",
            )
        if isinstance(request.body, Payload):
            return request.body.body
        sdk_only = "config" if self.target == "gemini" else "extra_body"
        if sdk_only in request.body:
            return http_body(self.target, request.body)
        return request.body

    def _count(self, text: str) -> int:
        return int(self._counter.count(text))

    def _side(self, model: str | None) -> _ModelSide:
        known = self._sides.get(model or "")
        if known is None:
            profile = profile_for(model, self.target, profiles=self._profiles)
            rules, notes = cache_rules(model, self.target, profiles=self._profiles)
            reader = PromptReader(
                self.target, count=self._count, profile=profile, resources=self._resources
            )
            known = self._sides[model or ""] = _ModelSide(reader, cache_for(rules), notes)
        return known

    def _bust(
        self,
        request: SentRequest,
        model: str | None,
        prompt: Prompt,
        taken: Taken,
        last: _Last | None,
        parts: int | None,
    ) -> Bust | None:
        asked = self._asked.get(request.kind)
        if asked is not None and asked != (model or "") and not taken.read:
            before = self._sides[asked].last.get(request.kind)
            held = 0 if before is None else before.prompt.upto(before.taken.kept)
            lost = min(held, prompt.tokens)
            return Bust(tokens=lost, cause="model") if lost else None
        if last is None:
            return None
        held = last.prompt.upto(last.taken.kept)
        lost = min(held, prompt.tokens) - taken.read
        cause: BustCause
        if parts is not None and parts <= last.taken.kept:
            cause = "changed"
        elif request.at > last.taken.until:
            cause = "expired"
        else:
            cause = "out-of-reach"
        step = 128 if self.target.startswith("openai") else 1
        if lost < step:
            return None
        where = (
            _place(parts, prompt, last.prompt) if cause == "changed" and parts is not None else None
        )
        return Bust(tokens=lost, cause=cause, where=where)

    def _billed_request(
        self,
        request: SentRequest,
        model: str | None,
        simulated: Usage,
        bust: Bust | None,
        where: str | None,
        side_notes: list[Diagnostic],
    ) -> BilledRequest:
        reported = read_usage(request.usage)
        used = simulated if reported is None else reported
        notes = list(side_notes)
        output = used.output if reported is not None or request.output_tokens is not None else None
        money, plain_cost = self._money(model, used, output or 0, notes)
        return BilledRequest(
            at=request.at,
            kind=request.kind,
            model=model,
            input=used.input,
            read=used.read,
            written=used.written,
            uncached=used.uncached,
            output=output,
            money=money,
            without_cache=plain_cost,
            bust=bust,
            parts_at=where,
            reported=reported,
            simulated=None if reported is None else simulated,
            diagnostics=tuple(notes),
        )

    def _money(
        self, model: str | None, used: Usage, output: int, notes: list[Diagnostic]
    ) -> tuple[Money | None, float | None]:
        entry = self.prices.of(model, target=self.target)
        if entry is None:
            notes.append(
                _note(
                    "unknown-price",
                    f"no price is known for the model {model!r}; give one in `prices`.",
                )
            )
            return None, None
        if entry.ended(self.on):
            notes.append(
                _note(
                    "price-ended",
                    f"the prices of {entry.model!r} ended on {entry.on(self.on).until}; what came "
                    "after is not known, so they are used on.",
                )
            )
        prices = entry.on(self.on)
        money = money_for(
            prices, uncached=used.uncached, read=used.read, written=used.written, output=output
        )
        if money.total is None:
            notes.append(
                _note(
                    "unknown-price-part",
                    f"the price list has no {_missing(money)} price for {entry.model!r}.",
                )
            )
        plain_cost = money_for(prices, uncached=used.input, read=0, output=output).total
        return money, plain_cost


def simulate(
    requests: Iterable[SentRequest],
    *,
    target: str,
    model: str | None = None,
    prices: PriceTable | PriceSettings | str | Path | None = None,
    tokenizer: TokenizerLike = None,
    profiles: Profiles = (),
    on: date | None = None,
    cached_contents: Mapping[str, int] | None = None,
) -> Bill:
    """The bill of a session: what each request reads, writes and costs, by the provider's rules.

    Reported `usage` wins over what the rules say, and the difference is stated. The arguments are
    those of `CacheModel`.
    """
    cache = CacheModel(
        target=target,
        model=model,
        prices=prices,
        tokenizer=tokenizer,
        profiles=profiles,
        on=on,
        cached_contents=cached_contents,
    )
    for request in read_list(requests, "requests", SentRequest):
        cache.send(request)
    return cache.bill


def _place(index: int, prompt: Prompt, before: Prompt) -> str:
    return prompt.path(index) if index < len(prompt.blocks) else before.path(index)


def _missing(money: Money) -> str:
    parts = {"input": money.input, "read": money.read, "write": money.write, "output": money.output}
    return ", ".join(name for name, part in parts.items() if part is None)


def _note(code: str, message: str) -> Diagnostic:
    return Diagnostic(code=code, where="costs", message=message)


def _check_figures(request: SentRequest) -> None:
    """Callers are not all typed, and a figure that is none would only show in the bill."""
    at: Any = request.at
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not -inf < at < inf:
        raise InputError(f"a number of seconds was expected, not {shown(at)}.", path="$.at")
    output: Any = request.output_tokens
    if output is None:
        return
    if isinstance(output, bool) or not isinstance(output, int) or output < 0:
        raise InputError(
            f"a number of tokens, 0 or more, was expected, not {shown(output)}.",
            path="$.output_tokens",
        )
