"""A fuzzed session as plain data: how a chef is set up, and what happens to it, step by step."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from context_chef.testing.fuzz.handlers import AFTER_ADAPT, AFTER_ASSEMBLE, STRATEGIES
from context_chef.testing.fuzz.speaking import Row, Speaker
from context_chef.testing.fuzz.words import MODELS, TARGETS


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a session depends on. Plain data: it can be written down and cut short."""

    seed: int = 0
    case: int = 0
    settings: dict[str, Any] = {}
    handlers: tuple[dict[str, Any], ...] = ()
    steps: tuple[dict[str, Any], ...] = ()

    @property
    def compiles(self) -> int:
        """How many requests it makes."""
        return sum(step["do"] == "compile" for step in self.steps)


def make_recipe(seed: int, case: int) -> Recipe:
    """Session number `case` of this seed: the same in every process."""
    chance = random.Random(f"{seed}/{case}")
    odd = chance.choice((0.0, 0.05, 0.2, 0.5))
    speaker = Speaker(chance, odd)
    return Recipe(
        seed=seed,
        case=case,
        settings=_settings(chance),
        handlers=_handlers(chance, odd),
        steps=tuple(_steps(chance, speaker)),
    )


def _settings(chance: random.Random) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if chance.random() < 0.5:
        settings["window"] = chance.choice((1_500, 3_000, 6_000))
        settings["strategy"] = chance.choice(STRATEGIES)
        settings["oversize"] = chance.choice(("clip", "clip", "send"))
        if chance.random() < 0.3:
            settings["archive"] = True
        if chance.random() < 0.15:
            settings["keep"] = "caller"
        if chance.random() < 0.2:
            settings["handoff"] = 400
    if chance.random() < 0.5:
        settings["cache"] = "auto"
    for name, share, values in (
        ("tail", 0.5, ("append", "replace")),
        ("tools", 0.4, ("unified",)),
        ("memory", 0.25, ("after_system", "before_history_tail")),
        ("skill_placement", 0.2, ("tail",)),
        ("tool_changes", 0.3, ("inline",)),
        ("preserve_thinking_as_text", 0.15, (True,)),
        ("cache_audit", 0.1, (True,)),
        ("transform", 0.1, ("shorter", "blank")),
    ):
        if chance.random() < share:
            settings[name] = chance.choice(values)
    return settings


def _handlers(chance: random.Random, odd: float) -> tuple[dict[str, Any], ...]:
    found: list[dict[str, Any]] = []
    if chance.random() < 0.3:
        many = chance.choice((1, 1, 2))
        for _ in range(many):
            gentle = odd == 0 and chance.random() < 0.7
            name = chance.choice(AFTER_ASSEMBLE[:3] if gentle else AFTER_ASSEMBLE)
            found.append({"slot": "after-assemble", "name": name, "seed": chance.randrange(1000)})
    if chance.random() < 0.12:
        found.append({"slot": "before-assemble", "name": "inject"})
    if chance.random() < 0.15:
        name = chance.choice(AFTER_ADAPT)
        found.append({"slot": "after-adapt", "name": name, "seed": chance.randrange(1000)})
    return tuple(found)


def _steps(chance: random.Random, speaker: Speaker) -> list[dict[str, Any]]:
    target = chance.choice(TARGETS)
    model = chance.choice(MODELS[target])
    speaker.target = target
    steps: list[dict[str, Any]] = []
    if chance.random() < 0.8:
        steps.append({"do": "system", "rows": [_system(chance, speaker)]})
    if chance.random() < 0.6:
        steps.append({"do": "tools", "tools": speaker.tools()})
    if chance.random() < 0.15:
        steps.append({"do": "guard", "options": _guard(chance, speaker)})
    begin = [speaker.user()] if chance.random() < 0.85 else []
    for _ in range(chance.choice((0, 1, 2, 4, 8))):
        begin += speaker.some()
    steps.append({"do": "extend", "rows": begin})
    wanders = chance.random() < 0.3
    for _ in range(chance.choice((1, 3, 5, 8, 12))):
        steps += _happening(chance, speaker)
        if wanders and chance.random() < 0.35:
            target = chance.choice(TARGETS)
            model = chance.choice(MODELS[target])
            speaker.target = target
        steps.append({"do": "compile", "target": target, "model": model})
    return steps


def _system(chance: random.Random, speaker: Speaker) -> Row:
    row: Row = {"role": "system", "blocks": [{"type": "text", "text": speaker.text()}]}
    if chance.random() < 0.15:
        row["cache"] = chance.choice(({}, {"ttl": "1h"}))
    return row


def _guard(chance: random.Random, speaker: Speaker) -> dict[str, Any]:
    options: dict[str, Any] = {"placement": chance.choice(("system", "last_user"))}
    if chance.random() < 0.6:
        options["enforce_xml"] = {"output_tag": "out"}
    if chance.random() < 0.6:
        options["prefill"] = chance.choice(("<out>", "So: ", speaker.text()))
    return options


def _happening(chance: random.Random, speaker: Speaker) -> list[dict[str, Any]]:
    """What a user, a model, a tool or a program does between two compiles."""
    at = chance.randrange(1_000)
    kind = chance.random()
    if kind < 0.66:
        rows = speaker.some()
        if chance.random() < 0.3:
            rows += speaker.some()
        return [{"do": "extend", "rows": rows}]
    rare: tuple[dict[str, Any], ...] = (
        {"do": "cut", "at": at},
        {"do": "drop", "at": at},
        {"do": "edit", "at": at, "row": speaker.user()},
        {"do": "insert", "at": at, "rows": speaker.some()},
        {"do": "swap", "at": at},
        {"do": "again"},
        {"do": "state", "value": {"n": at, "note": speaker.text()}},
        {"do": "announce", "id": "a", "text": speaker.text(), "channel": "auto"},
        {"do": "announce", "id": "b", "text": speaker.text(), "channel": "system"},
        {"do": "retract", "id": "a"},
        {"do": "tools", "tools": speaker.tools()},
        {"do": "system", "rows": [_system(chance, speaker)]},
        {"do": "guard", "options": _guard(chance, speaker) if at % 2 else None},
        {"do": "skill", "text": speaker.text() if at % 3 else None},
        {"do": "remember", "key": f"k{at % 3}", "text": speaker.text()},
        {"do": "new-context"},
        {"do": "usage", "tokens": at * 4},
        {"do": "restore"},
        {"do": "mood", "mood": chance.choice(("good", "failing", "blank", "odd"))},
    )
    return [chance.choice(rare)]
