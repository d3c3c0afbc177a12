"""Makes `REJECTED.md`: what becomes of each recorded body that a provider refused.

    python -m tests.cases.rejected

Each body is read and compiled for the model that it was sent to. Reads the shared data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from context_chef import (
    ContextChef,
    Conversation,
    from_anthropic,
    from_gemini,
    from_openai,
    from_openai_responses,
)
from context_chef.errors import ContextChefError
from context_chef.ir.blocks import Provider
from context_chef.testing import check_payload
from context_chef.testing.fuzz import Sent
from tests.adaptation.wire_rules.recorded import Recorded, recordings
from tests.checker import refused
from tests.shared_data import DATA

PAGE = Path(__file__).with_name("REJECTED.md")

Outcome: TypeAlias = Literal["refused", "mended", "named", "elsewhere"]

HEAD: Final = """\
# Bodies that a provider refused

Every refused request of the shared data, read and compiled for the model that it was sent to. Made by
`python -m tests.cases.rejected`; a test holds it to the code.

- **refused**: the input is not taken, and the error says where it is wrong.
- **mended**: the request that is compiled is a good one; the report names what was changed, by rule.
- **named**: the fault is in a setting that the caller sends beside the compiled request (`temperature`, `stop`,
  a response schema …), or in a part that is left as it is because the model is none of OpenAI's and its server may take
  it. `context-chef check`, `check_payload` and, for what is compiled, the report name it before it is sent.
- **elsewhere**: nothing in the request breaks a rule of the four providers: a key, an unknown model, an address that
  cannot be fetched, or a limit of another server that only speaks the same form.

"""

_READERS: Final[dict[str, Any]] = {
    "openai": from_openai,
    "openai-responses": from_openai_responses,
    "anthropic": from_anthropic,
    "gemini": from_gemini,
}


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """A refused body and what becomes of it."""

    name: str
    target: str
    said: str
    """The provider's words."""
    genuine: bool
    """Refused by the provider itself, or quoted from its answer."""
    rules: tuple[str, ...]
    """What our rules find in the body."""
    outcome: Outcome
    why: str
    problems: tuple[str, ...] = ()
    """What is wrong with the compiled request, settings of the caller aside."""


@cache
def rejected() -> tuple[Rejected, ...]:
    """All of them, in the order of their targets and names."""
    found = [_judged(each, said) for each, said in bodies()]
    return tuple(sorted(found, key=lambda each: (each.target, each.name)))


def bodies() -> Iterator[tuple[Recorded, str]]:
    """The refused bodies, and what was said of them."""
    for each in recordings():
        if not each.accepted:
            yield each, each.error
    quoted = json.loads((DATA / "cassettes/rejections_quoted_in_issues.json").read_bytes())
    for entry in quoted["entries"]:
        if entry["request"] is not None:
            target = entry["format"].replace("_", "-")
            model = "gemini-3-flash-preview" if target == "gemini" else entry["request"]["model"]
            yield (
                Recorded(
                    name=entry["id"],
                    target=target,
                    payload=entry["request"],
                    model=model,
                    accepted=False,
                    genuine=True,
                    error=entry["message"],
                ),
                entry["message"],
            )


def chef_for(each: Recorded, *, window: int | None = None) -> ContextChef:
    """A chef that was given the conversation. Raises what reading it raises."""
    conversation = _read(each)
    janitor = {} if window is None else {"context_window": window}
    chef = ContextChef(model=_model(each), janitor=janitor)
    chef.set_system_prompt(conversation.system).register_tools(conversation.tools)
    return chef.set_history(conversation.history)


def _read(each: Recorded) -> Conversation:
    return _READERS[each.target](each.payload)


def _model(each: Recorded) -> str | None:
    return each.model or each.payload.get("model")


def _judged(each: Recorded, said: str) -> Rejected:
    model = _model(each)
    broken = {fault.rule for fault in check_payload(each.target, each.payload, model=model)}
    given: dict[str, Any] = {
        "name": each.name.rpartition("/")[2].removesuffix(".json"),
        "target": each.target,
        "said": _words(said),
        "genuine": each.genuine,
        "rules": tuple(sorted(broken)),
    }
    try:
        conversation = _read(each)
        payload = chef_for(each).compile_sync(each.target)
    except ContextChefError as error:
        return Rejected(**given, outcome="refused", why=str(error))
    body = Sent.of(payload, 0, each.target, model).request
    mended = {
        *(repair.rule for repair in payload.report.repairs),
        *(note.code for note in (*conversation.diagnostics, *payload.report.diagnostics)),
    }
    whole = {**conversation.request_for(cast(Provider, each.target)), **body}
    left = {fault.rule for fault in check_payload(each.target, whole, model=model)} & broken
    problems = refused(each.target, body, model=model if each.target == "gemini" else None)
    outcome: Outcome = "named" if left else "mended" if broken else "elsewhere"
    why = ", ".join(sorted(left or mended - {"model-unknown"} if broken else ()))
    return Rejected(**given, outcome=outcome, why=why, problems=tuple(problems))


def _words(said: str) -> str:
    """The message of an answer."""
    found = re.search(r'"message": "((?:[^"\\]|\\.)*)"', said)
    return " ".join((found[1] if found else said).split())[:110]


def page() -> str:
    """The whole page."""
    lines = [HEAD + "| target | body | rule | outcome | how |", "|---|---|---|---|---|"]
    for each in rejected():
        how = each.why if each.outcome != "elsewhere" else f"“{each.said}”"
        how = how.replace("|", "\\|")[:140]
        rules = ", ".join(f"`{rule}`" for rule in each.rules) or "–"
        lines.append(f"| {each.target} | {each.name[:70]} | {rules} | {each.outcome} | {how} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
