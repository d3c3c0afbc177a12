"""Who judges a fuzzed session: our own rules always, and an independent checker where one is given.

An independent checker is a module with `check(target, body, *, model=None)` and
`check_sequence(target, bodies)`, each answering problems with `rule`, `path` and `message`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.wire_rules import check_payload
from context_chef.adaptation.wire_rules.checking import check_turns
from context_chef.errors import SettingsError, shown
from context_chef.ir.payload import Payload

CHECKER_VARIABLE = "CONTEXT_CHEF_CHECKER"
"""The environment variable that names an independent checker's folder or file."""
_MAX_TOKENS = 1_000


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that should not be."""

    checker: str
    """`ours`, the independent checker's name, or `library` for an error that nobody announced."""
    rule: str
    path: str
    message: str
    compile: int
    """The number of the request in its session, from 0."""

    def __str__(self) -> str:
        return f"{self.checker}: {self.rule} at [{self.compile}] {self.path}: {self.message}"


class Checker(Protocol):
    """What an independent checker has to offer."""

    def check(self, target: str, body: dict[str, Any], *, model: str | None = None) -> Any: ...

    def check_sequence(self, target: str, bodies: Sequence[dict[str, Any]]) -> Any: ...


@cache
def load_checker(path: str) -> Checker:
    """The module at that path: a package's folder or a file. Raises SettingsError."""
    place = Path(path).resolve()
    try:
        if place.is_dir() and (place / "__init__.py").is_file():
            if str(place.parent) not in sys.path:
                sys.path.append(str(place.parent))
            module: Any = importlib.import_module(place.name)
        else:
            spec = importlib.util.spec_from_file_location(place.stem, place)
            if spec is None or spec.loader is None:
                raise ImportError(f"{place} is no Python file")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    except (ImportError, OSError) as error:
        raise SettingsError(f"The checker {shown(path)} cannot be imported: {error}.") from error
    for name in ("check", "check_sequence"):
        if not callable(getattr(module, name, None)):
            raise SettingsError(f"The checker {shown(path)} has no function `{name}`.")
    return cast(Checker, module)


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it would be sent."""

    number: int
    target: str
    model: str | None
    body: dict[str, Any]
    betas: tuple[str, ...] = ()

    @classmethod
    def of(cls, payload: Payload, number: int, target: str, model: str | None) -> Sent:
        """The request that a caller makes of a payload."""
        body: dict[str, Any] = json.loads(payload.to_json())
        if target == "anthropic":
            body = {"max_tokens": _MAX_TOKENS, **body}
        if target != "gemini":
            body = {"model": model or "unknown", **body}
        return cls(number=number, target=target, model=model, body=body, betas=payload.meta.betas)

    @property
    def request(self) -> dict[str, Any]:
        """The body, with the header for beta features beside it."""
        if not self.betas:
            return self.body
        return {**self.body, "extra_headers": {"anthropic-beta": ",".join(self.betas)}}


class Judge:
    """Asks every checker."""

    def __init__(self, checker: str | None = None) -> None:
        self._other = load_checker(checker) if checker else None
        self._name = Path(checker).name if checker else ""

    def payload(self, sent: Sent) -> list[Problem]:
        """What is wrong with one request."""
        found = check_payload(sent.target, sent.request, model=sent.model)
        problems = [_problem("ours", each, sent.number) for each in found]
        if self._other is not None:
            model = sent.model if sent.target == "gemini" else None
            theirs = self._other.check(sent.target, sent.request, model=model)
            problems += [_problem(self._name, each, sent.number) for each in theirs]
        return problems

    def session(self, requests: Sequence[Sent]) -> list[Problem]:
        """What is wrong over the requests of a session, which are judged one by one elsewhere."""
        problems: list[Problem] = []
        by_target: dict[str, list[Sent]] = {}
        for sent in requests:
            if _remembers(sent):
                by_target.setdefault(sent.target, []).append(sent)
        for target, turns in by_target.items():
            bodies = [sent.request for sent in turns]
            if len(bodies) < 2:
                continue
            found = check_turns(target, bodies)
            problems += [_problem("ours", each, turns[-1].number) for each in found]
            if self._other is not None:
                theirs = self._other.check_sequence(target, bodies)
                problems += [_problem(self._name, each, turns[-1].number) for each in theirs]
        return problems


def _remembers(sent: Sent) -> bool:
    """Whether an earlier request makes a difference: models that bind nothing say nothing of it."""
    if sent.target == "anthropic":
        profile = profile_for(sent.model, "anthropic")
        return profile is None or profile.prefix_bound_thinking
    return sent.target == "openai-responses"


def _problem(checker: str, found: Any, number: int) -> Problem:
    return Problem(
        checker=checker,
        rule=str(found.rule),
        path=str(found.path),
        message=str(found.message),
        compile=number,
    )
