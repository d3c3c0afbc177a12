"""What made two requests part, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from context_chef.explaining.rules import kind_of_source
from context_chef.ir.report import Span
from context_chef.patterns import regex

CauseKind: TypeAlias = Literal[
    "setter",
    "clock",
    "history",
    "fold",
    "offload",
    "memory",
    "tool",
    "toolkit",
    "skill",
    "state",
    "announcement",
    "handler",
    "repair",
    "target",
    "model",
    "breakpoint",
    "setting",
    "caller",
    "wire",
]
"""What a cause is.

- `setter`: a method of the chef; `name` is the method's.
- `clock`: a date or time of day stands in the prompt; `name` is who wrote it.
- `history`: a message; `name` is `history[4]`, by its index in the transcript.
- `fold`, `offload`: messages left the window, or a large one was stored outside of it.
- `memory`, `tool`, `toolkit`, `skill`, `state`, `announcement`: `name` is its key, name or id.
- `handler`: `name` is the function's name.
- `repair`: `name` is the rule by which something was mended.
- `target`, `model`: the request is for another one.
- `breakpoint`: the same words, and a mark elsewhere.
- `setting`: a key of the body beside the prompt.
- `caller`: changed in the payload after the compile.
- `wire`: all that is known is the place, since the request was not compiled here.
"""
What: TypeAlias = Literal["added", "removed", "changed", "moved"]


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who or what is behind a difference."""

    kind: CauseKind
    name: str = ""
    what: What = "changed"
    source: str = ""
    """As in `Span.source`."""
    message: str = ""
    """The same in a sentence."""


_FRAMES: Final = {
    "memory": "memory",
    "announcements": "announcement",
    "dynamic_state": "dynamic_state",
    "implicit_context": "before-assemble",
    "toolkits": "toolkit",
    "provider": "tool",
}
"""Sources that only stand around others, and the kind of those."""
_SETTERS: Final = {
    "system_prompt": "set_system_prompt",
    "guardrail": "with_guardrails",
    "prefill": "with_guardrails",
    "memory_instruction": "memory",
    "toolkits": "register_toolkits",
}
_KINDS: Final[dict[str, CauseKind]] = {
    "memory": "memory",
    "tool": "tool",
    "toolkit": "toolkit",
    "skill": "skill",
    "dynamic_state": "state",
    "announcement": "announcement",
    "announcements": "announcement",
    "implicit_context": "handler",
    "before-assemble": "handler",
    "after-assemble": "handler",
    "after-adapt": "handler",
    "slot": "handler",
    "fold": "fold",
    "repair": "repair",
    "caller": "caller",
    "history": "history",
    "tool_change": "tool",
    "setting": "setting",
    "settings": "setting",
    "server": "setting",
    "adapter": "wire",
}
_FIRST: Final = ("fold", "skill", "handler", "repair", "caller", "memory", "state", "announcement")
"""Which of two sources that replaced each other is the cause, the surest first."""
_CLOCK: Final = regex(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?"
    r"(?:Z|[+-]\d{2}:?\d{2})?"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    r"|\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:\s?[AaPp][Mm])?"
    r"|\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s\d{1,2}(?:,?\s\d{4})?"
    r"|\d{1,2}\.?\s(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*(?:\s\d{4})?"
    r"|\b1\d{9}(?:\d{3})?\b"
)
_WITH_CLOCK: Final = frozenset(
    {"system_prompt", "tool", "toolkit", "skill", "system", "instructions", "systemInstruction"}
)
"""Sources in which a time of day is a mistake worth naming; others may well tell the time."""


class Part(NamedTuple):
    """A span with its words."""

    span: Span
    words: str


def cause_of(before: Sequence[Part], after: Sequence[Part], names: Names) -> Cause:
    """The cause of the first difference between two runs of parts that begin at one place."""
    old = before[0] if before else None
    new = after[0] if after else None
    if old is None and new is None:
        return Cause(kind="wire", message="something around the words differs")
    if old is None or new is None:
        return _alone(before, after)
    a, b = old.span.source, new.span.source
    if a == b:
        return _changed(old, new)
    gone, fresh = a not in names.after, b not in names.before
    if fresh and not gone:
        return named(_inner(after), "added")
    if gone and not fresh:
        return named(_inner(before), "removed")
    if gone and fresh:
        return _replaced(_inner(before), _inner(after))
    was, now = _inner(before), _inner(after)
    if was.span.source not in names.after:
        return named(was, "removed")
    if now.span.source not in names.before:
        return named(now, "added")
    if now.words not in names.words_before:
        return named(now, "added")
    return _what_moved_it(before, after, names) or named(now, "moved")


def _what_moved_it(before: Sequence[Part], after: Sequence[Part], names: Names) -> Cause | None:
    """What came or went further on, when what stands here only has another place for it."""
    come = [named(part, "added") for part in after if part.span.source not in names.before]
    went = [named(part, "removed") for part in before if part.span.source not in names.after]
    ranked = [cause for cause in (*come, *went) if cause.kind in _FIRST]
    return min(ranked, key=lambda cause: _FIRST.index(cause.kind), default=None)


class Names(NamedTuple):
    """The sources of two requests, and the words of the first."""

    before: frozenset[str]
    after: frozenset[str]
    words_before: frozenset[str]


def _alone(before: Sequence[Part], after: Sequence[Part]) -> Cause:
    if after:
        return named(_inner(after), "added")
    return named(_inner(before), "removed")


def _inner(parts: Sequence[Part]) -> Part:
    """The first part, or what stands in it when it is only a frame around others."""
    first = parts[0]
    kind = _FRAMES.get(first.span.source)
    if kind is not None:
        for part in parts[1:]:
            if part.span.source != first.span.source and kind_of_source(part.span.source) == kind:
                return part
            if part.span.path != first.span.path and first.span.source != "provider":
                break
    return first


def _changed(old: Part, new: Part) -> Cause:
    source = new.span.source
    rules = set(old.span.repairs) ^ set(new.span.repairs)
    if rules:
        rule = min(rules)
        mended = "is mended now" if rule in new.span.repairs else "is not mended any more"
        return Cause(
            kind="repair",
            name=rule,
            source=source,
            message=f"{_called(source)} {mended}, by the rule {rule}",
        )
    if old.words != new.words and old.words.strip() == new.words.strip():
        return Cause(
            kind="breakpoint",
            name=new.span.path,
            source=source,
            message=f"{_called(source)} says the same and is cut into blocks another way, as for a "
            "breakpoint that came or went",
        )
    if (old.span.rule.startswith("too large")) != (new.span.rule.startswith("too large")):
        there = new if new.span.rule.startswith("too large") else old
        what: What = "added" if there is new else "removed"
        said = "is stored outside of the window now" if there is new else "is back in the window"
        return Cause(
            kind="offload", name=source, what=what, source=source, message=f"`{source}` {said}"
        )
    kind = kind_of_source(source)
    if kind in _WITH_CLOCK and only_clock(old.words, new.words):
        return Cause(
            kind="clock",
            name=source,
            source=source,
            message=f"a date or time stands in {_called(source)} and went on",
        )
    return named(new, "changed")


def _replaced(old: Part, new: Part) -> Cause:
    causes = (named(new, "added"), named(old, "removed"))
    ranked = sorted(causes, key=lambda c: _FIRST.index(c.kind) if c.kind in _FIRST else len(_FIRST))
    first = ranked[0]
    if causes[0].kind == causes[1].kind and causes[0].kind in ("tool", "skill", "handler"):
        said = f"{_called(new.span.source)} stands where {_called(old.span.source)} stood"
        return msgspec.structs.replace(causes[0], what="changed", message=said)
    return first


def named(part: Part, what: What) -> Cause:
    """The cause that a part's source means."""
    source = part.span.source
    kind = kind_of_source(source)
    name = source.partition(":")[2]
    said = {"added": "is new", "removed": "is gone", "changed": "changed", "moved": "moved"}[what]
    message = f"{_called(source)} {said}"
    if source in _SETTERS:
        return Cause(
            kind="setter", name=_SETTERS[source], what=what, source=source, message=message
        )
    if kind == "repair" and part.span.repairs:
        name = part.span.repairs[0]
    if kind == "history":
        name = source
    cause = _KINDS.get(kind)
    if cause is None:
        return Cause(kind="wire", name=source, what=what, source=source, message=message)
    return Cause(kind=cause, name=name, what=what, source=source, message=message)


def _called(source: str) -> str:
    """A source as people call it."""
    kind, name = kind_of_source(source), source.partition(":")[2]
    if kind in ("before-assemble", "after-assemble", "after-adapt"):
        return f"what the {kind} handler {name} brings"
    nouns = {
        "memory": "the memory entry",
        "tool": "the tool",
        "toolkit": "the toolkit",
        "skill": "the skill",
        "dynamic_state": "the state's key",
        "announcement": "the announcement",
        "setting": "the setting",
    }
    if name and kind in nouns:
        return f"{nouns[kind]} {name!r}"
    words = {
        "system_prompt": "the system prompt",
        "fold": "the fold of earlier messages",
        "guardrail": "the guardrail",
        "prefill": "the opening of the answer",
        "caller": "what the caller changed after the compile",
        "anchor": "the line about what is current",
    }
    return words.get(source, f"`{source}`")


def difference_of(before: str, after: str) -> tuple[int, int, int]:
    """Where two texts begin to differ, and where in each they are alike again to the end."""
    limit = min(len(before), len(after))
    head = 0
    while head < limit and before[head] == after[head]:
        head += 1
    foot = 0
    while foot < limit - head and before[-1 - foot] == after[-1 - foot]:
        foot += 1
    return head, len(before) - foot, len(after) - foot


def only_clock(before: str, after: str) -> bool:
    """Whether all that two texts differ in is a date or time."""
    a, b = _CLOCK.sub("\0", before), _CLOCK.sub("\0", after)
    return before != after and a == b
