"""The stand-ins of `overflow.md`: tokenizers, models, validators, hooks, archives, strategies."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import context_chef
from context_chef import Message, OverflowInput, OverflowResult, contract_estimate_object, flat_row
from context_chef.ir.tokens import utf16_length
from tests.parity.overflow_masks import OverflowMasks

Trace = Callable[[dict[str, Any]], None]


def expanded(value: Any) -> Any:
    """Inputs and expectations with `$repeat` and `RUN` written out."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {key: expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"\{\{RUN:(.):(\d+)\}\}", lambda m: m[1] * int(m[2]), value, flags=re.DOTALL)
    return value


def row(message: Message) -> dict[str, Any]:
    """The flat form, without what only our own blocks have."""
    flat = flat_row(message)
    flat.pop("blocks", None)
    return flat


def tokenizer(spec: dict[str, Any]) -> Callable[[Sequence[Message]], float]:
    """A tokenizer on lists of messages."""
    kind = spec["$fn"]
    if kind == "chars":
        return lambda messages: sum(utf16_length(m.text) for m in messages)
    if kind == "chars_div_4":
        return lambda messages: sum(math.ceil(utf16_length(m.text) / 4) for m in messages)
    if kind == "per_message":
        return lambda messages: spec["n"] * len(messages)
    assert kind == "greek"
    return lambda messages: sum(len(re.findall("[\u0370-\u03ff]", m.text)) for m in messages)


class ScriptedModel:
    """Answers a script. With `hold` every call waits for the next release."""

    def __init__(self, spec: dict[str, Any], world: World) -> None:
        self._spec = spec
        self._world = world
        self._calls = 0

    async def __call__(self, messages: Sequence[Message]) -> Any:
        spec, world = self._spec, self._world
        world.model_calls += 1
        world.trace(world.model_entry(messages))
        number, self._calls = self._calls, self._calls + 1
        if spec.get("hold"):
            gate = asyncio.Event()
            world.gates.append(gate)
            await gate.wait()
        if spec["$fn"] == "echo_count":
            return f"n={len(messages)}"
        outputs = spec["outputs"]
        answer = outputs[min(number, len(outputs) - 1)]
        if isinstance(answer, dict) and "throw" in answer:
            raise RuntimeError(answer["throw"])
        return answer


class Throwing:
    """The custom strategy that raises."""

    name = "throwing"

    def __init__(self, world: World) -> None:
        self._world = world

    async def apply(self, input: OverflowInput) -> OverflowResult:
        self._world.trace({"hook": "throwing.apply"})
        raise RuntimeError("thrown by the strategy")


class DropLast:
    """The custom strategy that takes out the last message that is not pinned."""

    name = "drop_last"

    async def apply(self, input: OverflowInput) -> OverflowResult:
        free = [at for at in range(len(input.history)) if at not in input.pinned]
        if not free:
            return input.unchanged(self.name)
        gone = (input.history[free[-1]],)
        kept = tuple(m for at, m in enumerate(input.history) if at != free[-1])
        return OverflowResult(
            history=kept,
            evicted=gone,
            span=gone,
            strategy=self.name,
            window_id=input.window.current,
            changed=True,
        )


class World:
    """What stand-ins share: the trace, the gates of held calls, the masks."""

    def __init__(self, want: Sequence[str]) -> None:
        self.want = want
        self.entries: list[dict[str, Any]] = []
        self.model_calls = 0
        self.gates: list[asyncio.Event] = []
        self.masks = OverflowMasks()
        self._stored = 0

    def trace(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)

    def taken(self) -> list[dict[str, Any]]:
        """The entries so far; the next call begins anew."""
        entries, self.entries = self.entries, []
        return entries

    def rows(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        return [self.masks.value(row(message)) for message in messages]

    def model_entry(self, messages: Sequence[Message]) -> dict[str, Any]:
        entry: dict[str, Any] = {"hook": "compression_model", "messages": len(messages)}
        if "model_inputs" in self.want:
            entry["input"] = [
                {**shown, "content": self.masks.attachments(shown["content"])}
                for shown in self.rows(messages)
            ]
        return entry

    async def release(self) -> None:
        """Let held calls answer, and whatever waits for them go on."""
        gates, self.gates = self.gates, []
        for gate in gates:
            gate.set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(30):
            await asyncio.sleep(0)

    # Parts of a configuration

    def model(self, spec: Any) -> Any:
        return ScriptedModel(spec, self) if isinstance(spec, dict) else None

    def validator(self, spec: dict[str, Any]) -> Any:
        def validate(summary: str, check: Any) -> Any:
            self.trace(
                {
                    "hook": "validate_compression",
                    "summary": summary,
                    "compressed": len(check.compressed),
                    "kept": len(check.kept),
                }
            )
            if spec["$fn"] == "throws":
                raise RuntimeError("validator")
            return spec.get("value")

        return validate

    def before_hook(self, spec: dict[str, Any]) -> Any:
        def hook(history: Sequence[Message], info: Any) -> Any:
            self.trace(
                {
                    "hook": "on_before_compress",
                    "messages": len(history),
                    "current_tokens": figure(info.current_tokens),
                    "limit": figure(info.limit),
                }
            )
            kind = spec["$fn"]
            if kind == "throws":
                raise RuntimeError("before hook")
            answers: dict[str, Any] = {
                "return_null": None,
                "identity": history,
                "empty": [],
                "keep_last": list(history)[-spec.get("n", 1) :],
            }
            return answers[kind]

        return hook

    def sink(self, spec: dict[str, Any]) -> Any:
        def hook(summary: Message, count: int, details: Any) -> None:
            span = details.compressed_messages
            self.trace({"hook": "on_compress", "count": count, "compressed_messages": len(span)})
            if spec["$fn"] == "throws":
                raise RuntimeError("sink")

        return hook

    def archive(self, spec: Any) -> Any:
        if spec == "vfs":
            return "vfs"

        def store(serialized: str, info: Any) -> str:
            stored = json.loads(serialized)
            for message in stored["messages"]:
                message.pop("blocks", None)
            self.trace(
                {
                    "hook": "archive_store",
                    "message_count": info.message_count,
                    "stored": self.masks.value(stored),
                }
            )
            if spec["$fn"] == "throws":
                raise RuntimeError("archive")
            self._stored += 1
            return f"{spec.get('prefix', 'mem')}://{self._stored}"

        return {"store": store}

    def strategy(self, spec: dict[str, Any]) -> Any:
        kind, options = spec["$strategy"], spec.get("options") or {}
        if kind in ("summarize", "anchored"):
            return getattr(context_chef, kind)(**self.compression(options), **REFERENCE_SPAN)
        if kind == "reset":
            return context_chef.reset(options.get("notice"), keep_open_turn=False)
        if kind == "server":
            fallback = spec.get("fallback")
            return context_chef.server(
                spec.get("config"), fallback=self.strategy(fallback) if fallback else None
            )
        if kind == "chain":
            return context_chef.chain(*(self.strategy(step) for step in spec["steps"]))
        if kind == "background":
            return context_chef.background(self.strategy(spec["inner"]))
        return Throwing(self) if kind == "throwing" else DropLast()

    def compression(self, options: dict[str, Any]) -> dict[str, Any]:
        made = dict(options)
        if "compression_model" in made:
            made["compression_model"] = self.model(made["compression_model"])
        if "validate_compression" in made:
            made["validate_compression"] = self.validator(made["validate_compression"])
        return made

    def janitor(self, config: dict[str, Any], *, explicit: bool) -> dict[str, Any]:
        """The options of a session's janitor, with the recorded defaults where ours differ."""
        made = self.compression(config)
        if made.get("context_window") == "infinity":
            made["context_window"] = math.inf
        if made.get("tokenizer") is not None:
            made["tokenizer"] = tokenizer(made["tokenizer"])
        else:
            made["estimate"] = contract_estimate_object
        for name, make in (
            ("on_before_compress", self.before_hook),
            ("on_compress", self.sink),
            ("archive", self.archive),
            ("strategy", self.strategy),
        ):
            if made.get(name) is not None:
                made[name] = make(made[name])
        return made if explicit or "strategy" in made else {**made, **REFERENCE_SPAN}

    def overflow(self, config: dict[str, Any]) -> dict[str, Any]:
        made = {**config, **REFERENCE_OVERFLOW}
        if made.get("strategy") is not None:
            made["strategy"] = self.strategy(made["strategy"])
        if made.get("archive") is not None:
            made["archive"] = self.archive(made["archive"])
        return made


REFERENCE_SPAN = {"mark_dropped": False, "keep_open_request": False, "compression_window": math.inf}
"""Settings by which a span is treated as recorded, where our defaults are better."""
REFERENCE_OVERFLOW = {"keep": "caller", "oversize": "send"}
"""The recorded session stores nothing and sends whatever is left."""


def figure(value: float) -> Any:
    """A budget's figure as the records write it."""
    if value == math.inf:
        return "infinity"
    return int(value) if value == int(value) else value
