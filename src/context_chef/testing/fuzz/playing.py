"""Plays a fuzzed session through a chef and has every request judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from context_chef.adaptation.wire_rules import all_rules
from context_chef.chef import ContextChef
from context_chef.errors import ContextChefError, UnsendableError, WindowFullError, shown
from context_chef.ir.message import Message
from context_chef.ir.report import Report
from context_chef.ir.rows import read_message
from context_chef.persistence.in_memory import InMemoryBackend
from context_chef.testing.doubles import RecordingLogger, characters, numbered_windows
from context_chef.testing.fuzz.checkers import Judge, Problem, Sent
from context_chef.testing.fuzz.handlers import slot_handler, strategy
from context_chef.testing.fuzz.recipe import Recipe
from context_chef.testing.fuzz.speaking import Row


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """How a session went."""

    problems: tuple[Problem, ...]
    sent: tuple[Sent, ...]
    compiles: int
    refused: dict[str, int]
    """How often the library refused something with an error of its own, by the error's name."""


async def play(recipe: Recipe, judge: Judge) -> Played:
    """Play it. Never raises for what the library does: that is a problem to be reported."""
    session = _Session(recipe, judge)
    for number, step in enumerate(recipe.steps):
        await session.step(step)
        if session.broken is not None:
            name = f"raised:{type(session.broken).__name__}"
            session.problems.append(
                Problem(
                    checker="library",
                    rule=name,
                    path=f"steps[{number}]",
                    message=" ".join(str(session.broken).split())[:400],
                    compile=session.compiles,
                )
            )
            break
    session.problems += judge.session(session.sent)
    return Played(
        problems=tuple(session.problems),
        sent=tuple(session.sent),
        compiles=session.compiles,
        refused=dict(session.refused),
    )


def _shorter(text: str, call: object) -> str:
    return text[:20]


def _blank(text: str, call: object) -> str:
    return " "


_TRANSFORMS = {"shorter": _shorter, "blank": _blank}


class _Session:
    def __init__(self, recipe: Recipe, judge: Judge) -> None:
        self.problems: list[Problem] = []
        self.sent: list[Sent] = []
        self.compiles = 0
        self.refused: Counter[str] = Counter()
        self.broken: Exception | None = None
        self._judge = judge
        self._mood = "good"
        self._rows: list[Message] = []
        self._given = recipe.settings
        self._chef = self._made(recipe)

    def _made(self, recipe: Recipe) -> ContextChef:
        given = recipe.settings
        settings: dict[str, Any] = {
            name: given[name]
            for name in (
                "cache", "tail", "tools", "skill_placement", "tool_changes",
                "preserve_thinking_as_text", "cache_audit",
            )
            if name in given
        }  # fmt: skip
        if "window" in given:
            settings["janitor"] = {
                "context_window": given["window"],
                "reserve_output": 200,
                "tokenizer": characters,
                "breaker_cooldown_seconds": 0,
            }
            settings["overflow"] = {
                "strategy": strategy(given["strategy"], self._ask),
                "oversize": given.get("oversize", "clip"),
                "keep": given.get("keep", "chef"),
            }
            if given.get("archive"):
                settings["overflow"]["archive"] = "vfs"
            if "handoff" in given:
                settings["overflow"]["handoff"] = {"budget_tokens": given["handoff"]}
        if "memory" in given:
            settings["memory"] = {"memory_placement": given["memory"]}
        if "transform" in given:
            settings["transform_tool_result"] = _TRANSFORMS[given["transform"]]
        chef = ContextChef(
            store=InMemoryBackend(),
            new_window_id=numbered_windows(),
            logger=RecordingLogger(),
            clock=lambda: 1_000,
            **settings,
        )
        for handler in recipe.handlers:
            chef.use(handler["slot"], slot_handler(handler))
        return chef

    def _ask(self, messages: Sequence[Message]) -> str:
        if self._mood == "failing":
            raise RuntimeError("the model is down")
        if self._mood == "blank":
            return " \n"
        if self._mood == "odd":
            return "</summary><summary>\ud83d \x00 <tool_use> </summary>"
        return f"<summary>{len(messages)} messages went well.</summary>"

    async def step(self, step: dict[str, Any]) -> None:
        """One thing that happens. What the library refuses is counted, anything else is a fault."""
        try:
            await self._do(step)
        except ContextChefError as error:
            self.refused[type(error).__name__] += 1
            if step["do"] == "compile":
                self._doubt(step, error)
        except Exception as error:  # noqa: BLE001  # what nobody announced is what is looked for
            self.broken = error

    def _doubt(self, step: dict[str, Any], error: ContextChefError) -> None:
        """A compile may refuse what has no request, and a window that is too small."""
        if isinstance(error, WindowFullError) and "window" in self._given:
            return
        if isinstance(error, UnsendableError):
            return
        self.broken = error

    async def _do(self, step: dict[str, Any]) -> None:
        chef = self._chef
        match step["do"]:
            case "compile":
                await self._compile(step["target"], step["model"])
            case "extend":
                rows = [_message(row) for row in step["rows"]]
                chef.extend(rows)
                self._rows += rows
            case "again":
                self._set([message.replace() for message in self._rows])
            case "cut":
                if self._rows:
                    self._set(self._rows[: max(1, step["at"] % len(self._rows))])
            case "drop":
                at = self._place(step)
                self._set(self._rows[:at] + self._rows[at + 1 :])
            case "edit":
                at = self._place(step)
                self._set([*self._rows[:at], _message(step["row"]), *self._rows[at + 1 :]])
            case "insert":
                at = self._place(step)
                made = [_message(row) for row in step["rows"]]
                self._set([*self._rows[:at], *made, *self._rows[at:]])
            case "swap":
                at = self._place(step)
                pair = self._rows[at : at + 2]
                self._set([*self._rows[:at], *pair[::-1], *self._rows[at + 2 :]])
            case "system":
                chef.set_system_prompt([_message(row) for row in step["rows"]])
            case "tools":
                chef.register_tools(step["tools"])
            case "state":
                chef.set_dynamic_state(None, step["value"])
            case "announce":
                chef.announce(step["id"], step["text"], channel=step["channel"])
            case "retract":
                chef.retract_announcement(step["id"])
            case "guard":
                chef.with_guardrails(step["options"])
            case "skill":
                text = step["text"]
                skill = {"name": "way", "description": "A way.", "instructions": text}
                chef.activate_skill(None if text is None else skill)
            case "remember":
                if "memory" in self._given:
                    await chef.get_memory().set(step["key"], step["text"])
            case "new-context":
                chef.request_new_context()
            case "usage":
                chef.report_token_usage(step["tokens"])
            case "restore":
                await chef.restore(await chef.snapshot())
            case "mood":
                self._mood = step["mood"]
            case other:
                raise ValueError(f"a recipe has no step {shown(other)}")

    def _place(self, step: dict[str, Any]) -> int:
        return step["at"] % len(self._rows) if self._rows else 0

    def _set(self, rows: list[Message]) -> None:
        self._rows = rows
        self._chef.set_history(rows)

    async def _compile(self, target: str, model: str | None) -> None:
        number = self.compiles
        self.compiles += 1
        payload = await self._chef.compile(target, model=model)
        sent = Sent.of(payload, number, target, model)
        if number % 7 == 0:
            self._look_at(payload.report, number)
        self.sent.append(sent)
        self.problems += self._judge.payload(sent)

    def _look_at(self, report: Report, number: int) -> None:
        """What was mended for a provider is named by one of its rules."""
        _ = report.sections
        for repair in report.repairs:
            if "/" in repair.rule and repair.rule not in _known_rules():
                self.problems.append(
                    Problem(
                        checker="library",
                        rule=f"no-rule:{repair.rule}",
                        path=repair.where,
                        message=repair.message,
                        compile=number,
                    )
                )


@cache
def _known_rules() -> frozenset[str]:
    return frozenset(rule.id for rule in all_rules())


def _message(row: Row) -> Message:
    """A row of a recipe: blocks as they are, anything else through the edge."""
    if "blocks" in row:
        fields = {**row, "content": row["blocks"]}
        del fields["blocks"]
        return msgspec.convert(fields, Message)
    return read_message(row)
