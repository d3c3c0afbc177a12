"""The cache model says what the independent cache simulator says, over random sessions."""

from __future__ import annotations

import importlib
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from context_chef.costs import SentRequest, simulate
from tests.checker import HAVE_CHECKER, provider_check

needs_simulator = pytest.mark.skipif(
    not HAVE_CHECKER, reason="the independent cache simulator lies beside the shared data"
)
SEEDS = range(5)
TURNS = 14
UNIT = 100_000
"""Tokens a word counts here: the few tokens that formats add are lost in the rounding."""


def tokens(text: str) -> int:
    """Counts the words of our making, whatever JSON they stand in."""
    return UNIT * text.count("w")


def rounded(figure: int) -> int:
    return round(figure / UNIT)


def words(rng: random.Random, most: int = 12) -> str:
    size = rng.randint(1, most)
    return " ".join(f"w{rng.randrange(10_000)}" for _ in range(size))


class Session:
    """A conversation that grows, and now and then changes somewhere."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.system = [words(self.rng, 40) for _ in range(2)]
        self.tools = [words(self.rng) for _ in range(3)]
        self.turns: list[list[str]] = []
        self.now = 0.0

    def step(self) -> None:
        rng = self.rng
        self.now += rng.choice([1.0, 20.0, 200.0, 400.0, 2_000.0, 4_000.0])
        for _ in range(rng.choice([1, 2, 2, 4, 12])):
            self.turns.append([words(rng) for _ in range(rng.choice([1, 1, 2, 3]))])
        if len(self.turns) % 2 == 0:
            self.turns.append([words(rng)])
        change = rng.random()
        if change < 0.1:
            self.system[rng.randrange(2)] = words(rng, 40)
        elif change < 0.2:
            self.tools[rng.randrange(3)] = words(rng)
        elif change < 0.35:
            self.turns[rng.randrange(len(self.turns))] = [words(rng)]
        elif change < 0.4:
            del self.turns[: len(self.turns) // 2 * 2 - 2]


def anthropic(session: Session) -> dict[str, Any]:
    rng = session.rng
    tools = [
        {"name": f"t{i}", "description": text, "input_schema": {"type": "object"}}
        for i, text in enumerate(session.tools)
    ]
    system = [{"type": "text", "text": text} for text in session.system]
    messages = [
        {
            "role": "assistant" if index % 2 else "user",
            "content": [{"type": "text", "text": text} for text in blocks],
        }
        for index, blocks in enumerate(session.turns)
    ]
    body: dict[str, Any] = {
        "model": rng.choice(["claude-opus-5"] * 6 + ["claude-sonnet-4-6"]),
        "max_tokens": 9,
        "tools": tools,
        "system": system,
        "messages": messages,
    }
    every: list[dict[str, Any]] = [*tools, *system]
    every += [block for message in messages for block in message["content"]]  # type: ignore[misc]  # plain JSON
    marked = sorted({rng.randrange(len(every)) for _ in range(rng.randint(0, 3))})
    long = rng.randint(0, len(marked))
    for number, index in enumerate(marked):
        mark = {"type": "ephemeral", "ttl": "1h"} if number < long else {"type": "ephemeral"}
        every[index]["cache_control"] = mark
    if rng.random() < 0.7:
        body["cache_control"] = {"type": "ephemeral"}
    if rng.random() < 0.2:
        body["tool_choice"] = {"type": rng.choice(["any", "none"])}
    if rng.random() < 0.2:
        body["thinking"] = {"type": "disabled"}
    return body


def chat(model: str) -> Callable[[Session], dict[str, Any]]:
    def body(session: Session) -> dict[str, Any]:
        rng = session.rng
        tools = [
            {"type": "function", "function": {"name": f"t{i}", "description": text}}
            for i, text in enumerate(session.tools)
        ]
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": [{"type": "text", "text": text}]}
            for text in session.system
        ]
        for index, blocks in enumerate(session.turns):
            parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in blocks]
            role = "assistant" if index % 2 else "user"
            messages.append({"role": role, "content": parts})
        if model.startswith("gpt-6") and rng.random() < 0.5:
            rng.choice(messages)["content"][0]["prompt_cache_breakpoint"] = {"mode": "explicit"}
        return {"model": model, "tools": tools, "messages": messages}

    return body


def responses(session: Session) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for index, blocks in enumerate(session.turns):
        kind = "output_text" if index % 2 else "input_text"
        parts = [{"type": kind, "text": text} for text in blocks]
        items.append({"role": "assistant" if index % 2 else "user", "content": parts})
    tools = [
        {"type": "function", "name": f"t{i}", "description": text}
        for i, text in enumerate(session.tools)
    ]
    return {
        "model": "gpt-6.2-sol",
        "instructions": "\n".join(session.system),
        "tools": tools,
        "input": items,
    }


def gemini(session: Session) -> dict[str, Any]:
    return {
        "model": "gemini-3.6-flash",
        "systemInstruction": {"parts": [{"text": text} for text in session.system]},
        "tools": [
            {"functionDeclarations": [{"name": "t", "description": text}]} for text in session.tools
        ],
        "contents": [
            {"role": "model" if i % 2 else "user", "parts": [{"text": text} for text in blocks]}
            for i, blocks in enumerate(session.turns)
        ],
    }


@needs_simulator
@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("anthropic", anthropic),
        ("openai", chat("gpt-4.1")),
        ("openai", chat("gpt-6.2-sol")),
        ("openai-responses", responses),
        ("gemini", gemini),
    ],
    ids=["anthropic", "openai-automatic", "openai-exact", "responses", "gemini"],
)
def test_reads_and_writes_are_those_of_the_independent_simulator(
    target: str, body: Callable[[Session], dict[str, Any]]
) -> None:
    provider_check()
    cache_sim = importlib.import_module("provider_check.cache_sim")
    read = 0
    for seed in SEEDS:
        session = Session(seed)
        requests: list[SentRequest] = []
        for _ in range(TURNS):
            session.step()
            requests.append(SentRequest(body=body(session), at=session.now))
        gaps = [b.at - a.at for a, b in itertools.pairwise(requests)]

        bill = simulate(requests, target=target, tokenizer=_Words())

        theirs = cache_sim.simulate(
            target, [dict(r.body) for r in requests], counter=tokens, gaps=[requests[0].at, *gaps]
        )
        before = None
        for ours, other in zip(bill.requests, theirs, strict=True):
            assert rounded(ours.input) == rounded(other.prefix_tokens)
            if before == ours.model:
                assert (ours.parts_at or "").startswith(other.diverged_at or "")
                assert bool(ours.parts_at) == bool(other.diverged_at)
            before = ours.model
            assert rounded(ours.read) == pytest.approx(rounded(other.cache_read), abs=1)
            assert rounded(sum(ours.written.values())) == pytest.approx(
                rounded(other.cache_write), abs=1
            )
        read += bill.read
    assert read > 100 * UNIT, "the sessions have to hit the cache now and then"


class _Words:
    def count(self, text: str, /) -> int:
        return tokens(text)
