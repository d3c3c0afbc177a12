"""What a wire rule is: an id, a checker, where it comes from, what can be done, two examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from context_chef.adaptation.model_profile import ModelProfile, Sureness
from context_chef.adaptation.wire_rules.json_access import as_list, as_map

Target: TypeAlias = Literal["openai", "openai-responses", "anthropic", "gemini"]
Severity: TypeAlias = Literal["error", "warning"]

ANTHROPIC_VERSION = "2026-10-21"
"""The API version that the Anthropic SDK sends; what is judged when nothing else is said."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a payload."""

    rule: str
    """The rule's id, as `anthropic/tool-result-missing`."""
    path: str
    """Where in the payload, as `messages[2].content[0]`; empty for the payload itself."""
    message: str
    severity: Severity = "error"
    """An error is answered with 400. A warning is accepted but pointless, or sources disagree."""

    def __str__(self) -> str:
        return f"{self.severity} {self.rule} at {self.path or '(payload)'}: {self.message}"


class Finding(NamedTuple):
    """What a checker yields: a fault without its rule."""

    path: str
    message: str
    severity: Severity = "error"


class Request:
    """A payload ready to be judged: the plain HTTP body and what is known about its surroundings.

    Its shape is right, so a checker may rely on keys and types, but for what the shape leaves open.
    """

    def __init__(
        self,
        body: Mapping[str, Any],
        *,
        model: str | None = None,
        profile: ModelProfile | None = None,
        betas: frozenset[str] = frozenset(),
        api_version: str = ANTHROPIC_VERSION,
    ) -> None:
        self.body = body
        self.model = model
        self.profile = profile
        self.betas = betas
        self.api_version = api_version

    def list_of(self, key: str) -> list[Any]:
        """The list under that key of the body; empty when absent or null."""
        return as_list(self.body.get(key))

    def map_of(self, key: str) -> Mapping[str, Any]:
        """The object under that key of the body; empty when absent or null."""
        return as_map(self.body.get(key))

    @cached_property
    def shared(self) -> dict[str, Any]:
        """What the checkers of one target work out once for all of them."""
        return {}


Check: TypeAlias = Callable[[Any], Iterable[Finding]]
"""A checker takes a `Request` (over turns: a sequence of them) and yields what it finds."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A payload that shows a rule. Over turns: the payloads of successive requests."""

    payloads: tuple[Mapping[str, Any], ...]
    model: str | None = None
    api_version: str | None = None


class WireRule(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a provider refuses, as data."""

    id: str
    target: Target
    summary: str
    """What has to hold."""
    gist: str
    """The gist of the provider's message, not its exact text; empty where none is known."""
    source: str
    sureness: Sureness
    repair: str
    """How a compile mends it, or why it cannot be mended."""
    repairable: bool
    check: Check
    passing: Example
    failing: Example
    over_turns: bool = False
    """Judged over the payloads of successive turns, not over one."""
    warns: bool = False
    """What it finds in its failing example is a warning: accepted but pointless, or disputed."""


class RuleBook:
    """Collects the rules of one target in the order in which they are written down."""

    def __init__(self, target: Target) -> None:
        self.target: Target = target
        self._rules: list[WireRule] = []

    def rule(
        self,
        name: str,
        summary: str,
        *,
        gist: str = "",
        source: str,
        sureness: Sureness,
        passing: Example | Mapping[str, Any],
        failing: Example | Mapping[str, Any],
        repair: str = "",
        beyond_repair: str = "",
        over_turns: bool = False,
        warns: bool = False,
    ) -> Callable[[Check], Check]:
        """The decorator that makes a checker a rule. Either `repair` says how a compile mends it,
        or `beyond_repair` why it cannot."""

        def enter(check: Check) -> Check:
            self._rules.append(
                WireRule(
                    id=f"{self.target}/{name}",
                    target=self.target,
                    summary=summary,
                    gist=gist,
                    source=source,
                    sureness=sureness,
                    repair=repair or beyond_repair,
                    repairable=bool(repair),
                    check=check,
                    passing=passing if isinstance(passing, Example) else one(passing),
                    failing=failing if isinstance(failing, Example) else one(failing),
                    over_turns=over_turns,
                    warns=warns,
                )
            )
            return check

        return enter

    @property
    def rules(self) -> tuple[WireRule, ...]:
        return tuple(self._rules)


def one(
    payload: Mapping[str, Any], *, model: str | None = None, api_version: str | None = None
) -> Example:
    """An example of a single payload."""
    return Example(payloads=(payload,), model=model, api_version=api_version)


def turns(*payloads: Mapping[str, Any], model: str | None = None) -> Example:
    """An example of successive payloads."""
    return Example(payloads=payloads, model=model)


def run(rule: WireRule, subject: Any) -> Iterator[Fault]:
    """What that rule finds, as faults."""
    for finding in rule.check(subject):
        yield Fault(
            rule=rule.id, path=finding.path, message=finding.message, severity=finding.severity
        )
