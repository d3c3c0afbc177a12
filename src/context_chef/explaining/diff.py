"""`diff(a, b)`: where two requests part, what made them, and what a cache makes of it."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from math import inf
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.profiles import Profiles
from context_chef.costs.bill import BilledRequest, SentRequest
from context_chef.costs.prices import PriceSettings, PriceTable
from context_chef.costs.simulate import TARGETS, CacheModel
from context_chef.errors import InputError, SettingsError, shown
from context_chef.explaining.bodies import explain_body
from context_chef.explaining.causes import Cause, Names, Part, cause_of, difference_of
from context_chef.explaining.explanation import Explanation
from context_chef.ir.payload import Payload
from context_chef.ir.report import Place
from context_chef.selection.counting import TokenizerLike

_AROUND: Final = 40
_SHOWN: Final = 160


class Difference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One place in which two requests are not the same."""

    path: str
    """Where in the body; in the second one, unless it is only in the first."""
    place: Place
    cause: Cause
    before: str = ""
    """The words that differ, cut short, with a few around them; empty when there were none."""
    after: str = ""


@dataclass(frozen=True, kw_only=True)
class PayloadDiff:
    """What two requests have not in common."""

    first: Difference | None
    """The first difference in the order in which the provider hashes a prompt (tools, system,
    messages); after that come breakpoints and settings. None for the same request twice."""
    differences: tuple[Difference, ...]
    """Every difference, the first one in front."""
    rebilled_tokens: int
    """Tokens that the cache holds after the first request and that the second is billed for."""
    rebilled_cost: float | None
    """US$ that they cost more than being read; None when the price is not known."""
    requests: tuple[BilledRequest, BilledRequest] | None
    """Both requests, sent one after the other, by the cost model; None where it knows no rules."""
    note: str = ""
    """What is to be known about the re-billed tokens."""
    before: Explanation = field(repr=False)
    after: Explanation = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether there is no difference at all."""
        return self.first is None

    @property
    def cause(self) -> Cause | None:
        """The cause of the first difference."""
        return None if self.first is None else self.first.cause

    def to_dict(self) -> dict[str, Any]:
        """The difference as plain data."""
        return {
            "same": self.same,
            "first": None if self.first is None else msgspec.to_builtins(self.first),
            "differences": [msgspec.to_builtins(one) for one in self.differences],
            "rebilled_tokens": self.rebilled_tokens,
            "rebilled_cost": None if self.rebilled_cost is None else round(self.rebilled_cost, 8),
            "note": self.note,
            "requests": None
            if self.requests is None
            else [request.to_dict() for request in self.requests],
        }

    def to_json(self) -> str:
        """The difference as JSON, indented for people."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def text(self) -> str:
        """The difference as plain text, for a terminal."""
        from context_chef.explaining.as_text import diff_text

        return diff_text(self)

    def html(self) -> str:
        """The difference as one self-contained HTML page."""
        from context_chef.explaining.as_html import diff_html

        return diff_html(self)

    def __str__(self) -> str:
        return self.text()


def diff(
    a: Payload | Explanation | Mapping[str, Any],
    b: Payload | Explanation | Mapping[str, Any],
    *,
    target: str | None = None,
    model: str | None = None,
    seconds: float = 0.0,
    prices: PriceTable | PriceSettings | str | Path | None = None,
    tokenizer: TokenizerLike = None,
    profiles: Profiles = (),
) -> PayloadDiff:
    """Where two requests part, the cause by its name, and the tokens that are billed again for it.

    `a` was sent first, `b` `seconds` later. Compiled payloads know their causes; of a bare body
    (`target` tells its form where its shape does not, `model` its model) the cause is the place.
    Raises InputError for what is no request, and SettingsError for `seconds` that are no time.
    """
    later: Any = seconds  # callers are not all typed
    if isinstance(later, bool) or not isinstance(later, (int, float)) or not 0 <= later < inf:
        raise SettingsError(f"`seconds` is a number of seconds, 0 or more, not {shown(later)}.")
    options: dict[str, Any] = {"tokenizer": tokenizer, "profiles": profiles}
    before = _explained(a, target, model, options)
    after = _explained(b, target, model, options)
    found = _differences(before, after)
    requests, cost, note = _billed(before, after, seconds, prices, options)
    bust = requests[1].bust if requests is not None else None
    return PayloadDiff(
        first=found[0] if found else None,
        differences=tuple(found),
        rebilled_tokens=bust.tokens if bust is not None else 0,
        rebilled_cost=cost,
        requests=requests,
        note=note,
        before=before,
        after=after,
    )


def _explained(
    value: Any, target: str | None, model: str | None, options: Mapping[str, Any]
) -> Explanation:
    if isinstance(value, Explanation):
        return value
    if isinstance(value, Payload):
        return value.explain()
    if isinstance(value, Mapping):
        return explain_body(cast("Mapping[str, Any]", value), target, model=model, **options)
    raise InputError(f"`diff` compares payloads and request bodies, not {shown(value)}.")


def _differences(before: Explanation, after: Explanation) -> list[Difference]:
    found: list[Difference] = []
    if before.target != after.target:
        found.append(_facts("target", before.target, after.target))
    if before.model != after.model:
        found.append(_facts("model", before.model, after.model))
    first = _first(before, after) if before.target == after.target else None
    if first is not None:
        found.append(first)
    for one in (*_others(before, after), *_marks(before, after), *_settings(before, after)):
        if not any(_same_place(one, other) for other in found):
            found.append(one)
    return found


def _same_place(one: Difference, other: Difference) -> bool:
    return one.path == other.path and one.cause.source == other.cause.source


def _facts(kind: Any, before: str | None, after: str | None) -> Difference:
    said = f"the {kind} was {before!r} and is {after!r}"
    cause = Cause(kind=kind, name=str(after), source=kind, message=said)
    return Difference(
        path=kind, place="settings", cause=cause, before=str(before), after=str(after)
    )


# The first point of difference


class _Side:
    """The parts of a request in the order of the prompt, and where each block's begin."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        prompt = explanation.prompt
        places = {prompt.path(index): index for index in range(len(prompt.blocks))}
        self.parts: list[Part] = []
        self.blocks: list[int] = []
        for span in explanation.spans:
            if span.path in places and (span.place != "settings" or span.tokens):
                self.parts.append(Part(span, explanation.words(span)))
                self.blocks.append(places[span.path])

    def from_block(self, index: int) -> list[Part]:
        return self.parts[bisect_left(self.blocks, index) :]


def _first(before: Explanation, after: Explanation) -> Difference | None:
    old, new = before.prompt, after.prompt
    index = new.parts_from(old)
    if index is None:
        index = len(old.blocks)
        if len(new.blocks) == index:
            return None
    index = _behind_settings(before, after, index)
    if index is None:
        return None
    a, b = _Side(before), _Side(after)
    parts_a, parts_b = a.from_block(index), b.from_block(index)
    skip = 0
    for one, other in zip(parts_a, parts_b, strict=False):
        alike = one.words == other.words and one.span.source == other.span.source
        if not alike or one.span.path != other.span.path:
            break
        if skip and one.span.path != parts_a[0].span.path:
            skip = 0  # the words of the block are the same: something around them differs
            break
        skip += 1
    else:
        if len(parts_a) == len(parts_b):
            skip = 0
    parts_a, parts_b = parts_a[skip:], parts_b[skip:]
    names = Names(
        frozenset(part.span.source for part in a.parts),
        frozenset(part.span.source for part in b.parts),
        frozenset(part.words for part in a.parts),
    )
    cause = cause_of(parts_a, parts_b, names)
    return _difference(cause, parts_a[:1], parts_b[:1])


def _behind_settings(before: Explanation, after: Explanation, index: int) -> int | None:
    """The first block from there on that is no setting and differs; None when none does."""
    old, new = before.prompt.blocks, after.prompt.blocks
    for at in range(index, max(len(old), len(new))):
        if at >= len(old) or at >= len(new):
            return at
        setting = old[at].setting and new[at].setting
        about_tools = bool(old[at].tokens or new[at].tokens)
        if old[at].digest != new[at].digest and (not setting or about_tools):
            return at
    return None


def _difference(cause: Cause, before: Sequence[Part], after: Sequence[Part]) -> Difference:
    shown_part = (after or before)[0]
    old = before[0].words if before else ""
    new = after[0].words if after else ""
    if cause.what == "added":
        old = ""
        shown_part = next((p for p in after if p.span.source == cause.source), shown_part)
        new = shown_part.words
    elif cause.what == "removed":
        new = ""
        shown_part = next((p for p in before if p.span.source == cause.source), shown_part)
        old = shown_part.words
    head, end_old, end_new = difference_of(old, new)
    return Difference(
        path=shown_part.span.path,
        place=shown_part.span.place,
        cause=cause,
        before=_cut(old, head, end_old),
        after=_cut(new, head, end_new),
    )


def _cut(text: str, start: int, end: int) -> str:
    """The differing words with a few around them."""
    left, right = max(0, start - _AROUND), min(len(text), max(end, start) + _AROUND)
    if right - left > _SHOWN:
        right = left + _SHOWN
    return ("…" if left else "") + text[left:right] + ("…" if right < len(text) else "")


# All others


def _others(before: Explanation, after: Explanation) -> Iterator[Difference]:
    a, b = _Side(before).parts, _Side(after).parts
    names = Names(
        frozenset(part.span.source for part in a),
        frozenset(part.span.source for part in b),
        frozenset(part.words for part in a),
    )
    matcher = SequenceMatcher(
        None, [_key(part) for part in a], [_key(part) for part in b], autojunk=False
    )
    for code, i, i_end, j, j_end in matcher.get_opcodes():
        if code == "equal":
            continue
        olds, news = list(a[i:i_end]), list(b[j:j_end])
        for part in news:
            twin = next((p for p in olds if p.span.source == part.span.source), None)
            if twin is not None:
                olds.remove(twin)
                yield _difference(cause_of([twin], [part], names), [twin], [part])
            else:
                yield _difference(cause_of([], [part], names), [], [part])
        for part in olds:
            yield _difference(cause_of([part], [], names), [part], [])


def _key(part: Part) -> tuple[str, str, tuple[str, ...]]:
    return part.span.source, part.words, part.span.repairs


def _marks(before: Explanation, after: Explanation) -> Iterator[Difference]:
    if before.cache is None or after.cache is None or before.cache.marks == after.cache.marks:
        return
    old, new = dict(before.cache.marks), dict(after.cache.marks)
    fresh = [path for path in new if new[path] != old.get(path)]
    gone = [path for path in old if path not in new]
    path = (fresh or gone)[0]
    said = f"breakpoints stood at {_listed(old)} and stand at {_listed(new)}"
    yield Difference(
        path=path,
        place="settings",
        cause=Cause(kind="breakpoint", name=path, source="breakpoint", message=said),
        before=_listed(old),
        after=_listed(new),
    )


def _listed(marks: Mapping[str, str]) -> str:
    return ", ".join(f"{path} ({ttl})" for path, ttl in marks.items()) or "no place"


def _settings(before: Explanation, after: Explanation) -> Iterator[Difference]:
    old, new = _values(before), _values(after)
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            setter = next((s.source for s in after.spans if s.path == key), "setting")
            said = f"the setting `{key}` differs"
            yield Difference(
                path=key,
                place="settings",
                cause=Cause(kind="setting", name=key, source=setter, message=said)
                if not setter.startswith("after-adapt:")
                else Cause(
                    kind="handler",
                    name=setter.partition(":")[2],
                    source=setter,
                    message=f"the handler {setter.partition(':')[2]} set `{key}`",
                ),
                before=old.get(key, ""),
                after=new.get(key, ""),
            )


def _values(explanation: Explanation) -> dict[str, str]:
    return {
        span.path: explanation.words(span)
        for span in explanation.spans
        if span.place == "settings" and span.path in explanation.body and span.path != "model"
    }


# What it costs


def _billed(
    before: Explanation,
    after: Explanation,
    seconds: float,
    prices: PriceTable | PriceSettings | str | Path | None,
    options: Mapping[str, Any],
) -> tuple[tuple[BilledRequest, BilledRequest] | None, float | None, str]:
    if before.target != after.target or after.target not in TARGETS:
        return None, None, "no cache is shared between them"
    model = CacheModel(target=after.target, prices=prices, **options)
    first = model.send(SentRequest(body=before.body, model=before.model), prompt=before.prompt)
    second = model.send(
        SentRequest(body=after.body, model=after.model, at=seconds), prompt=after.prompt
    )
    note = ""
    if before.cache is not None and not before.cache.kept_tokens:
        note = before.cache.note
    elif second.bust is not None:
        note = {
            "changed": "what stands behind the first difference is processed again",
            "expired": "the cache had forgotten the first request",
            "out-of-reach": "no breakpoint of the second request finds what the first one left",
            "model": "no model reads another's cache",
        }[second.bust.cause]
    if second.bust is None:
        return (first, second), 0.0 if second.money is not None else None, note
    entry = model.prices.of(after.model, target=after.target)
    if entry is None:
        return (first, second), None, note
    rates = entry.on(model.on).for_prompt(second.input)
    written = sum(second.written.values()) > second.uncached
    price = rates.write if written and rates.write is not None else rates.input
    cost = second.bust.tokens * (price - rates.read) / 1_000_000
    return (first, second), cost, note
