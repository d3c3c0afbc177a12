"""`Explanation`: every part of a request, who brought it and why, its tokens, and the cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

import msgspec

from context_chef.costs.bill import BilledRequest, SentRequest
from context_chef.costs.caches import cache_for
from context_chef.costs.prompt import Prompt, PromptBlock
from context_chef.costs.simulate import TARGETS, CacheModel, cache_rules
from context_chef.errors import InputError
from context_chef.explaining.pieces import Piece
from context_chef.explaining.rules import rule_of
from context_chef.explaining.sections import Known, sections
from context_chef.explaining.tracing import Stretch
from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.report import Place, Span

_PREVIEW: Final = 60
_IN_PROMPT: Final = frozenset(
    {
        "tools", "system", "messages", "instructions", "input", "systemInstruction",
        "system_instruction", "contents", "cachedContent", "cached_content", "response_format",
    }
)  # fmt: skip
"""Keys of bodies whose values stand in the prompt."""


class CacheView(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider keeps of this request for the next one."""

    mode: str
    """As in `CacheRules.mode`."""
    minimum_tokens: int | None = None
    marks: tuple[tuple[str, str], ...] = ()
    """The breakpoints: path and lifetime."""
    kept_tokens: int = 0
    kept_until: str | None = None
    """The path of the last block that is kept; None when nothing is."""
    note: str = ""
    """Why nothing, or not more, is kept."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A request, taken apart: every part of it, and everything that was left out.

    The spans of `spans` together are the whole request, in the order in which the provider reads
    and hashes it; the settings of the body come last.
    """

    target: str
    model: str | None
    body: Mapping[str, Any]
    """The HTTP body that is explained."""
    spans: tuple[Span, ...]
    out: tuple[Span, ...] = ()
    """What is not in the request: why, and where it can be read."""
    repairs: tuple[Repair, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    cache: CacheView | None = None
    """None for a target whose cache nobody knows."""
    prompt: Prompt = field(repr=False)
    counted: Counted = field(repr=False)
    """What its tokens were counted with."""
    profiles: Any = field(default=(), repr=False)
    _texts: Mapping[str, str] = field(repr=False)

    @cached_property
    def price(self) -> BilledRequest | None:
        """What the request costs when nothing of it is cached; None where no rules are known."""
        if self.target not in TARGETS:
            return None
        model = CacheModel(
            target=self.target,
            model=self.model,
            tokenizer=self.counted,
            profiles=self.profiles,
        )
        return model.send(SentRequest(body=self.body, model=self.model), prompt=self.prompt)

    @property
    def tokens(self) -> int:
        """Tokens of everything that is in."""
        return sum(span.tokens for span in self.spans)

    @property
    def by_source(self) -> dict[str, int]:
        """Tokens of what is in by source, the largest first."""
        totals: dict[str, int] = {}
        for span in self.spans:
            totals[span.source] = totals.get(span.source, 0) + span.tokens
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    @property
    def by_place(self) -> dict[str, int]:
        """Tokens of what is in by place: tools, system, history, tail, settings."""
        totals: dict[str, int] = {}
        for span in self.spans:
            totals[span.place] = totals.get(span.place, 0) + span.tokens
        return totals

    def words(self, span: Span) -> str:
        """The words of a span, whole."""
        return self._texts.get(span.path, "")[span.start : span.end]

    def to_dict(self, *, words: bool = False) -> dict[str, Any]:
        """The explanation as plain data; `words` adds the whole words of every span."""
        spans: list[dict[str, Any]] = []
        for span in self.spans:
            row = msgspec.to_builtins(span)
            spans.append({**row, "words": self.words(span)} if words else row)
        return {
            "target": self.target,
            "model": self.model,
            "tokens": self.tokens,
            "by_place": self.by_place,
            "by_source": self.by_source,
            "cache": None if self.cache is None else msgspec.to_builtins(self.cache),
            "price": None if self.price is None else self.price.to_dict(),
            "spans": spans,
            "out": [msgspec.to_builtins(span) for span in self.out],
            "repairs": [msgspec.to_builtins(repair) for repair in self.repairs],
            "diagnostics": [msgspec.to_builtins(one) for one in self.diagnostics],
        }

    def to_json(self, *, words: bool = False) -> str:
        """The explanation as JSON, indented for people."""
        return json.dumps(self.to_dict(words=words), ensure_ascii=False, indent=2)

    def text(self, *, every_span: bool = True) -> str:
        """The explanation as plain text, for a terminal."""
        from context_chef.explaining.as_text import explanation_text

        return explanation_text(self, every_span=every_span)

    def html(self) -> str:
        """The explanation as one self-contained HTML page: no scripts or styles from elsewhere."""
        from context_chef.explaining.as_html import explanation_html

        return explanation_html(self)

    def __str__(self) -> str:
        return self.text()


def short(text: str) -> str:
    """The first words of a text, on one line."""
    words = " ".join(text[: _PREVIEW * 4].split())
    return words if len(words) <= _PREVIEW else words[: _PREVIEW - 1] + "…"


class Explainer:
    """Puts an explanation together from what is known of a request."""

    def __init__(
        self,
        *,
        target: str,
        model: str | None,
        body: Mapping[str, Any],
        prompt: Prompt,
        counted: Counted,
        known: Known | None = None,
        tool_names: Mapping[str, str] | None = None,
        profiles: Any = (),
    ) -> None:
        """`tool_names` are the tools' own names by those on the wire."""
        self._target = target
        self._model = model
        self._body = body
        self._prompt = prompt
        self._counted = counted
        self._known = known or Known()
        self._tool_names = tool_names or {}
        self._profiles = profiles

    def explanation(
        self,
        stretches: Sequence[Sequence[Stretch]],
        *,
        settings: Callable[[str], str] | None = None,
        out: Iterable[Span] = (),
        repairs: Iterable[Repair] = (),
        diagnostics: Iterable[Diagnostic] = (),
    ) -> Explanation:
        """The explanation. `stretches` are those of every block, `settings` who set a key."""
        cache, kept = self._cache()
        spans: list[Span] = []
        texts: dict[str, str] = {}
        for index, block in enumerate(self._prompt.blocks):
            if block.setting and not block.tokens:
                continue
            path = self._prompt.path(index)
            texts[path] = block.text
            cached = None if kept is None else index <= kept
            spans.extend(self._block_spans(path, block, stretches[index], cached))
        spans.extend(self._settings(settings, texts))
        return Explanation(
            target=self._target,
            model=self._model,
            body=self._body,
            spans=tuple(spans),
            out=tuple(out),
            repairs=tuple(repairs),
            diagnostics=tuple(diagnostics),
            cache=cache,
            prompt=self._prompt,
            counted=self._counted,
            profiles=self._profiles,
            _texts=texts,
        )

    def _block_spans(
        self, path: str, block: PromptBlock, stretches: Sequence[Stretch], cached: bool | None
    ) -> list[Span]:
        if block.setting:
            return [self._span("provider", "tools", path, block, 0, 0, block.tokens, cached)]
        if block.label.startswith("tool "):
            source = f"tool:{self._tool_name(path)}"
            end = len(block.text)
            return [self._span(source, "tools", path, block, 0, end, block.tokens, cached)]
        if block.label.startswith("format "):
            source, end = f"setting:{path}", len(block.text)
            return [self._span(source, "settings", path, block, 0, end, block.tokens, cached)]
        cut: list[tuple[str, int, int, Piece | None]] = []
        for stretch in stretches or [Stretch(0, len(block.text), None)]:
            piece = stretch.piece
            source = "adapter" if piece is None else piece.source
            text = block.text[stretch.start : stretch.end]
            for section in sections(source, text, self._known):
                start, end = stretch.start + section.start, stretch.start + section.end
                cut.append((section.source, start, end, piece))
        counts = self._shares(block, [(start, end) for _, start, end, _ in cut])
        return [
            self._span(source, _place(path, piece), path, block, start, end, tokens, cached, piece)
            for (source, start, end, piece), tokens in zip(cut, counts, strict=True)
        ]

    def _shares(self, block: PromptBlock, cuts: Sequence[tuple[int, int]]) -> list[int]:
        """The block's tokens, shared out among its parts by their own counts."""
        if len(cuts) == 1:
            return [block.tokens]
        counts = [
            self._counted.count(block.text[start:end]) if end > start else 0 for start, end in cuts
        ]
        counts[counts.index(max(counts))] += block.tokens - sum(counts)
        if min(counts) < 0:  # parts count for more than the whole: in proportion then
            total = sum(max(0, end - start) for start, end in cuts) or 1
            counts = [block.tokens * (end - start) // total for start, end in cuts]
            counts[0] += block.tokens - sum(counts)
        return counts

    def _span(
        self,
        source: str,
        place: Place,
        path: str,
        block: PromptBlock,
        start: int,
        end: int,
        tokens: int,
        cached: bool | None,
        piece: Piece | None = None,
    ) -> Span:
        return Span(
            source=source,
            place=place,
            tokens=tokens,
            role=piece.role if piece is not None else _role(block, path),
            preview=short(block.text[start:end]),
            rule=(piece.rule if piece is not None else "") or rule_of(source),
            path=path,
            start=start,
            end=end,
            cached=cached,
            repairs=piece.repairs if piece is not None else (),
        )

    def _tool_name(self, path: str) -> str:
        named = tool_name(value_at(self._body, path))
        return self._tool_names.get(named, named)

    def _settings(
        self, settings: Callable[[str], str] | None, texts: dict[str, str]
    ) -> Iterable[Span]:
        for key, value in self._body.items():
            if key in _IN_PROMPT:
                continue
            source = settings(key) if settings is not None else f"setting:{key}"
            texts[key] = json.dumps(value, ensure_ascii=False, default=str)
            yield Span(
                source=source,
                place="settings",
                tokens=0,
                preview=short(f"{key}: {texts[key]}"),
                rule=rule_of(source),
                path=key,
                end=len(texts[key]),
            )

    def _cache(self) -> tuple[CacheView | None, int | None]:
        if self._target not in TARGETS:
            return None, None
        rules, notes = cache_rules(self._model, self._target, profiles=self._profiles)
        taken = cache_for(rules).send(self._prompt, self._body, 0.0)
        prompt = self._prompt
        note = "; ".join(one.message for one in notes)
        if taken.kept < 0:
            if rules.mode == "breakpoints" and not prompt.marks:
                note = "nothing is kept: no breakpoint stands in the request"
            elif rules.minimum_tokens and rules.mode != "none":
                note = f"nothing is kept: {rules.minimum_tokens:,} tokens are the least"
            else:
                note = "the model caches nothing"
        view = CacheView(
            mode=rules.mode,
            minimum_tokens=rules.minimum_tokens,
            marks=tuple((prompt.path(at), ttl) for at, ttl in sorted(prompt.marks.items())),
            kept_tokens=prompt.upto(taken.kept),
            kept_until=prompt.path(taken.kept) if taken.kept >= 0 else None,
            note=note,
        )
        return view, taken.kept


class Counted:
    """A tokenizer out of a count, which counts every text once."""

    def __init__(self, count: Callable[[str], float]) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def count(self, text: str, /) -> int:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = int(self._count(text))
        return known


def _place(path: str, piece: Piece | None) -> Place:
    if piece is not None:
        return piece.place
    return "system" if path.startswith(("system", "instructions")) else "history"


def _role(block: PromptBlock, path: str) -> str | None:
    role = block.label.partition(" ")[2]
    return role or ("system" if path.startswith(("system", "instructions")) else None)


def tool_name(value: Any) -> str:
    """The name of a tool in any provider's form; its type, or `tool`, where it has none."""
    if not isinstance(value, Mapping):
        return "tool"
    tool = cast("Mapping[str, Any]", value)
    function = tool.get("function")
    named = cast("Mapping[str, Any]", function) if isinstance(function, Mapping) else tool
    if named.get("name"):
        return str(named["name"])
    return str(tool.get("type") or next(iter(tool), "tool"))


def value_at(body: Mapping[str, Any], path: str) -> Any:
    """What stands at a path of a body, as `messages[2].content[0]`; None where nothing does."""
    value: Any = body
    for part in path.replace("]", "").replace("[", ".").split("."):
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(part)
        elif (
            isinstance(value, list) and part.isdigit() and int(part) < len(cast("list[Any]", value))
        ):
            value = cast("list[Any]", value)[int(part)]
        else:
            return None
    return value


def needs_body(value: Any) -> Mapping[str, Any]:
    """The value as a body. Raises InputError for what is none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    raise InputError(f"a request body is a mapping, not {type(value).__name__}.")
