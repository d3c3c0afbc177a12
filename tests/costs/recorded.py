"""The cost model beside what providers reported: recorded requests and sessions with their usage.

`python -m tests.costs.recorded` prints the table that docs/costs.md speaks of.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from context_chef.adaptation.profiles import profile_for
from context_chef.costs import BilledRequest, SentRequest, Usage, simulate
from context_chef.ir.tokens import estimate
from tests.shared_data import DATA

TARGETS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai_responses": "openai-responses",
    "gemini": "gemini",
}
_BEYOND_WORDS = re.compile(
    r"image|document|file|pdf|audio|video|server|mcp|web|code|compact|search|cached|url|schema|google",
    re.IGNORECASE,
)
"""Features whose tokens are not in the request: files elsewhere, and what the provider adds."""


class Recorded(NamedTuple):
    """A request of a cassette, billed alone and billed after it was sent once before."""

    name: str
    target: str
    model: str
    cold: BilledRequest
    warm: BilledRequest


class Turn(NamedTuple):
    """A turn of a recorded session: what was read and what the model says would be."""

    session: str
    billed: BilledRequest
    before: BilledRequest | None
    """The turn before."""

    @property
    def hit(self) -> bool:
        """The provider read most of the prompt before."""
        return _reads(self.billed.reported, self.before and self.before.reported)

    @property
    def expected(self) -> bool:
        """The rules say it would."""
        return _reads(self.billed.simulated, self.before and self.before.simulated)


def _reads(usage: Usage | None, before: Usage | None) -> bool:
    if usage is None or before is None:
        return False
    held = before.read + sum(before.written.values())
    return held > 0 and usage.read >= 0.9 * held


def cassettes(tokenizer: str | None = None) -> Iterator[Recorded]:
    """The accepted requests of known models whose tokens are all in the request."""
    folder = DATA / "cassettes"
    for row in json.loads((folder / "index.json").read_text("utf-8")):
        family, status, name = row["file"].split("/")
        model = str(row["model"] or "")
        target = TARGETS[family]
        if status != "accepted" or not row.get("usage") or profile_for(model, target) is None:
            continue
        if _BEYOND_WORDS.search(json.dumps(row["features"])) or row["masked"]:
            continue
        data = json.loads((folder / row["file"]).read_text("utf-8"))
        request = SentRequest(body=data["request"], usage=data["usage"], model=model)
        bill = simulate([request, request], target=target, tokenizer=tokenizer)
        if bill.requests[0].reported is not None:
            yield Recorded(name, target, model, *bill.requests)


class _WithHiddenPart:
    """Counts like the estimate, and a text that stands for so many tokens by its number."""

    def count(self, text: str, /) -> int:
        if text.startswith("hidden:"):
            return int(text.removeprefix("hidden:"))
        return estimate(text)


def sessions() -> Iterator[Turn]:
    """The turns of the recorded agent sessions that tell the usage of each request.

    Their system prompt and tools are not recorded: a text of as many tokens stands for them. They
    tell no times either, so that nothing expires here.
    """
    for path in sorted((DATA / "traces" / "anthropic").glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        given: list[dict[str, Any]] = data.get("usage") or []
        # After a compaction of its own the agent sent something else than the file holds.
        compactions: list[dict[str, Any]] = data.get("compactions") or []
        until = min((row["before_message"] for row in compactions), default=10**9)
        rows = [row for row in given if "cache_read" in row and row["message"] < until]
        if len(rows) < 3 or data.get("system"):
            continue
        first = _request(data, rows[0], 0)
        [alone] = simulate([first], target="anthropic", tokenizer=_WithHiddenPart()).requests
        assert alone.reported is not None
        assert alone.simulated is not None
        hidden = max(0, alone.reported.input - alone.simulated.input)
        requests = [_request(data, row, hidden) for row in rows if row["message"] > 0]
        bill = simulate(requests, target="anthropic", tokenizer=_WithHiddenPart())
        before = None
        for billed in bill.requests:
            yield Turn(path.stem, billed, before)
            before = billed


def _request(data: Mapping[str, Any], row: Mapping[str, Any], hidden: int) -> SentRequest:
    messages = [dict(message) for message in data["messages"][: row["message"]]]
    last = messages[-1]
    content = last["content"]
    blocks: list[dict[str, Any]] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    )
    blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
    messages[-1] = {**last, "content": blocks}
    mark = {"type": "ephemeral"}
    system = [{"type": "text", "text": f"hidden:{hidden}", "cache_control": mark}]
    body: dict[str, Any] = {"model": data["model"], "max_tokens": 9, "messages": messages}
    return SentRequest(body={**body, "system": system} if hidden else body, usage=row)


def _median(figures: list[float]) -> str:
    return f"{statistics.median(figures):6.1%} of {len(figures)}" if figures else "-"


def error(said: int, seen: int) -> float:
    """How far off a figure is, of what was reported."""
    return abs(said - seen) / seen


def table(tokenizer: str | None) -> Iterator[str]:
    """How far off the model is on single requests, one line a target."""
    every = list(cassettes(tokenizer))
    for target in TARGETS.values():
        pairs = [(one.cold, one.warm) for one in every if one.target == target]
        cold = [(c.simulated, c.reported) for c, _ in pairs if c.simulated and c.reported]
        warm = [(w.simulated, w.reported) for _, w in pairs if w.simulated and w.reported]
        sized = [error(said.input, seen.input) for said, seen in cold if seen.input >= 500]
        written = [
            error(sum(said.written.values()), sum(seen.written.values()))
            for said, seen in cold
            if seen.written and not seen.read
        ]
        read = [
            error(said.read, seen.read) for said, seen in warm if seen.read and not seen.written
        ]
        figures = f"input {_median(sized)}, written {_median(written)}, read {_median(read)}"
        yield f"{target:17} {figures}"


def main() -> None:
    """Print the tables."""
    for tokenizer in (None, "o200k_base"):
        print(f"median error of recorded requests, input of 500 tokens and more, by {tokenizer}")
        print("\n".join(table(tokenizer)))
    turns = [turn for turn in sessions() if turn.before is not None]
    for name in sorted({turn.session for turn in turns}):
        mine = [turn for turn in turns if turn.session == name]
        alike = sum(turn.hit == turn.expected for turn in mine)
        off = [
            error(turn.billed.simulated.read, turn.billed.reported.read)
            for turn in mine
            if turn.hit and turn.expected and turn.billed.simulated and turn.billed.reported
        ]
        missed = sum(not turn.hit for turn in mine)
        print(f"{name:32} {alike}/{len(mine)} turns alike, {missed} missed, read {_median(off)}")


if __name__ == "__main__":
    main()
