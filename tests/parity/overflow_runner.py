"""Runs scenarios of the `overflow.json` format through the public API."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from context_chef import (
    CancelToken,
    CompileAborted,
    ContextChef,
    InMemoryBackend,
    create_janitor_pool,
    flat_row,
    read_message,
    read_messages,
)
from tests.parity.outcome import RAISED, Outcome, described, differences, outcome_of, raised
from tests.parity.overflow_calls import CALLS
from tests.parity.overflow_standins import (
    REFERENCE_OVERFLOW,
    World,
    expanded,
    figure,
    row,
    tokenizer,
)
from tests.parity.shapes import canonical, recorded_payload

_WARNINGS: tuple[tuple[str, str], ...] = (
    (r"Overflow failed \(crash,", "background_crashed"),
    (r"Overflow failed \((\w+), (\d) of 3", "failure:{0}:{1}"),
    (r"`validate_compression` raised", "validator_threw"),
    (r"`on_before_compress` failed", "before_hook_threw"),
    (r"`on_compress` failed", "after_hook_threw"),
    (r"The archive failed", "archive_failed"),
    (r"`archive='vfs'` needs", "vfs_needs_chef"),
    (r"An overflow strategy was given", "alias_conflict"),
    (r"has the server shorten the conversation", "server_and_model"),
    (r"The server strategy leaves overflow", "server_fallback"),
    (r"new window was dropped.*veto", "forced_dropped:veto"),
    (r"new window was dropped.*server's business", "forced_dropped:server"),
    (r"new window was dropped", "forced_dropped:other"),
    (r"'tokenizerFirst'` needs a tokenizer", "tokenizer_first_without_tokenizer"),
    (r"No `compression_model` was given", "no_compression_model"),
    (r"An observer of", "event_handler_threw"),
    (r"^(persistence:\d+)$", "{0}"),
)
_FLOATING = ("compression_model", "throwing.apply", "validate_compression")


class RecordingLog:
    """Warnings become codes in the trace. What has no code is said by us alone."""

    def __init__(self, world: World) -> None:
        self._world = world

    def warning(self, msg: object, *args: object) -> None:
        code = warning_code(str(msg) % args if args else str(msg))
        if code is not None:
            self._world.trace({"warn": code})

    warn = warning


def warning_code(text: str) -> str | None:
    """The record's code for a warning of ours, None for one that it does not know."""
    for pattern, code in _WARNINGS:
        if found := re.search(pattern, text, re.DOTALL):
            return code.format(*found.groups())
    return None


def run(scenario: dict[str, Any], document: dict[str, Any]) -> Outcome:
    """One scenario: what the public API does against what was recorded."""
    given, expected = expanded(scenario["input"]), expanded(scenario["expected"])
    try:
        actual = asyncio.run(KINDS[given["kind"]](given))
    except Exception as error:  # noqa: BLE001  # a crash is an outcome of the run
        return outcome_of(scenario["id"], [raised(error)])
    if _works_in_background(given):
        expected, actual = _floated(expected), _floated(actual)
    return outcome_of(scenario["id"], differences(_shaped(expected), _shaped(actual)))


async def _call(given: dict[str, Any]) -> Any:
    world = World(given.get("want", []))
    return {"result": await CALLS[given["call"]](given["args"], world)}


async def _chef(given: dict[str, Any]) -> Any:
    session = ChefSession(given)
    try:
        session.build()
    except Exception as error:  # noqa: BLE001  # recorded as an outcome
        return {"construct_error": error_name(error), RAISED: described(error)}
    for number, step in enumerate(given["steps"]):
        await session.step(number, step)
    return {"log": session.named_log()}


class ChefSession:
    """One chef of a recorded config, its listeners, and the log of its steps."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._config = given["config"]
        self._want = given.get("want", [])
        self._world = World(self._want)
        self._log: list[dict[str, Any]] = []
        self._windows: list[str] = []
        self._token: CancelToken | None = None
        self._after: Any = None
        self._last_window: Any = ()
        self._snapshots: dict[str, Any] = {}
        self.chef: ContextChef

    def build(self) -> None:
        config, world = self._config, self._world
        overflow = config.get("overflow") or {}
        options: dict[str, Any] = {
            "logger": RecordingLog(world),
            "store": InMemoryBackend(),
            "tail": "replace",
            "overflow": world.overflow(overflow),
            "janitor": world.janitor(
                config.get("janitor") or {}, explicit=overflow.get("strategy") is not None
            ),
        }
        if config.get("context_management") is not None:
            options["context_management"] = config["context_management"]
        if config.get("tools") is not None:
            options["tools"] = config["tools"]
        if config.get("transform_tool_result") is not None:
            options["transform_tool_result"] = lambda content, info: content.upper()
        self.chef = chef = ContextChef(**options)
        self._see_window()
        chef.use("before-overflow", self._before_overflow)
        chef.use("after-overflow", self._after_overflow)
        for topic, seen in _EVENTS.items():
            chef.on(
                topic, lambda event, topic=topic, seen=seen: self._event(topic, seen(self, event))
            )
        if entries := world.taken():
            self._log.append({"op": "construct", "trace": entries})

    async def step(self, number: int, step: dict[str, Any]) -> None:
        op = step["op"]
        record = {"step": number, "op": op}
        operation: Callable[[dict[str, Any]], Any] = getattr(self, f"_{op}")
        seen = await operation(step)
        self._see_window()
        if seen is not None:
            self._log.append({**record, **seen})
        elif entries := self._world.taken():
            self._log.append({**record, "trace": entries})

    def named_log(self) -> list[dict[str, Any]]:
        """The log with windows named in the order in which the session opened them."""
        text = json.dumps(self._log, ensure_ascii=False)
        for number, window_id in enumerate(self._windows, 1):
            text = text.replace(window_id, f"W{number}")
        return json.loads(text)

    def _see_window(self) -> None:
        if self.chef.window_id not in self._windows:
            self._windows.append(self.chef.window_id)

    # Steps

    async def _set_history(self, step: dict[str, Any]) -> None:
        self.chef.set_history(step["messages"])

    async def _append(self, step: dict[str, Any]) -> None:
        self.chef.extend(step["messages"])

    async def _adopt_history(self, step: dict[str, Any]) -> None:
        self.chef.set_history(self._last_window)

    async def _recreate_history(self, step: dict[str, Any]) -> None:
        self.chef.set_history([read_message(flat_row(m)) for m in self.chef.history])

    async def _edit_message(self, step: dict[str, Any]) -> None:
        history = list(self.chef.history)
        history[step["index"]] = history[step["index"]].with_text(step["content"])
        self.chef.set_history(history)

    async def _report_token_usage(self, step: dict[str, Any]) -> None:
        self.chef.report_token_usage(step["tokens"])

    async def _request_new_context(self, step: dict[str, Any]) -> None:
        self.chef.request_new_context()

    async def _clear_history(self, step: dict[str, Any]) -> None:
        self.chef.clear_history()

    async def _call_new_context_tool(self, step: dict[str, Any]) -> None:
        await self.chef.handle_tool({"name": "new_context", "arguments": "{}"})

    async def _veto(self, step: dict[str, Any]) -> None:
        self._veto_on = step["on"]

    async def _snapshot(self, step: dict[str, Any]) -> dict[str, Any]:
        snapshot = self._snapshots[step["as"]] = await self.chef.snapshot()
        ours = ("breaker_opened_at", "calibration", "counted", "learnt", "paid")
        janitor = {key: value for key, value in snapshot.janitor.items() if key not in ours}
        seen: dict[str, Any] = {"janitor": msgspec.to_builtins(janitor)}
        if snapshot.handoff_noticed is not None:
            seen["handoff_noticed_window"] = snapshot.handoff_noticed
        return seen

    async def _restore(self, step: dict[str, Any]) -> None:
        await self.chef.restore(self._snapshots[step["from"]])

    async def _restore_legacy_janitor(self, step: dict[str, Any]) -> dict[str, Any]:
        before = self.chef.window_id
        legacy = {
            "external_token_usage": None,
            "suppress_next_compression": False,
            "consecutive_failures": 0,
            "anchor_doc": step["anchor_doc"],
        }
        snapshot = await self.chef.snapshot()
        await self.chef.restore(msgspec.structs.replace(snapshot, janitor=legacy))
        return {"window_replaced": self.chef.window_id != before}

    async def _release(self, step: dict[str, Any]) -> None:
        await self._world.settle()
        await self._world.release()

    async def _settle(self, step: dict[str, Any]) -> None:
        await self._world.settle()

    async def _compile(self, step: dict[str, Any]) -> dict[str, Any]:
        world, chef = self._world, self.chef
        world.model_calls, self._after = 0, None
        abort = step.get("abort")
        self._token = CancelToken() if abort else None
        if abort == "before" and self._token is not None:
            self._token.cancel()
        seen: dict[str, Any] = {}
        payload = None
        try:
            payload = await chef.compile(step.get("target", "openai"), signal=self._token)
            seen["window"] = payload.meta.window_id
        except Exception as error:  # noqa: BLE001  # recorded as an outcome
            seen |= {"error": error_name(error), RAISED: described(error)}
        finally:
            self._token = None
        await world.settle()
        if self._after is not None:
            seen.update(self._overflow_seen())
        seen["model_calls"] = world.model_calls
        seen["trace"] = world.taken()
        if payload is not None and "payload" in self._want:
            target = step.get("target", "openai")
            shaped = world.masks.value(recorded_payload(target, payload))
            shaped.pop("tools", None)
            seen["payload"] = canonical(shaped)
        if payload is not None and "tool_names" in self._want:
            seen["tool_names"] = [tool.name for tool in chef.visible_tools()]
        return seen

    def _overflow_seen(self) -> dict[str, Any]:
        context = self._after
        result = context.result
        self._last_window = context.history
        overflow = None
        if result is not None:
            overflow = {
                "changed": result.changed,
                "strategy": result.strategy,
                "reason": result.reason,
                "window": result.window_id,
                "evicted": len(result.evicted),
                "span": len(result.span),
            }
            if result.summary is not None:
                overflow["summary"] = self._world.masks.text(result.summary)
        return {
            "overflow": overflow,
            "history_after": self._world.rows(context.history),
            "stored_history_length": len(self.chef.history),
        }

    # Listeners

    _veto_on = False

    def _before_overflow(self, context: Any) -> bool | None:
        if "budget" in self._want:
            budget = {
                name: figure(getattr(context.budget, name))
                for name in ("limit", "current", "trigger", "remaining")
            }
            entry = {"hook": "before-overflow", "messages": len(context.history), "budget": budget}
            self._world.trace(entry)
        return False if self._veto_on else None

    def _after_overflow(self, context: Any) -> None:
        self._after = context

    def _event(self, topic: str, seen: dict[str, Any]) -> None:
        self._world.trace({"event": topic, **seen})
        if topic == "compress" and self._token is not None:
            self._token.cancel()

    def compress_started(self, event: Any) -> dict[str, Any]:
        return {
            "history_length": event.history_length,
            "current_tokens": figure(event.current_tokens),
            "limit": figure(event.limit),
        }

    def compressed(self, event: Any) -> dict[str, Any]:
        return {
            "summary": self._world.rows([event.summary])[0],
            "truncated_count": event.truncated_count,
            "compressed_messages": self._world.rows(event.compressed_messages),
        }

    def invariant(self, event: Any) -> dict[str, Any]:
        causes = ("veto", "server's business", "tried again")
        found = next((cause for cause in causes if cause in event.message), "other")
        cause = found.partition("'")[0]
        return {"phase": event.phase, "about": f"forced_dropped:{cause}"}

    def offloaded(self, event: Any) -> dict[str, Any]:
        return {"uri": self._world.masks.text(event.uri)}


_EVENTS: Mapping[str, Callable[[ChefSession, Any], dict[str, Any]]] = {
    "compile:start": lambda session, event: {},
    "compress:start": ChefSession.compress_started,
    "compress": ChefSession.compressed,
    "compress:end": lambda session, event: {"compressed": event.compressed},
    "offload:created": ChefSession.offloaded,
    "pipeline:invariant": ChefSession.invariant,
    "compile:done": lambda session, event: {},
}


async def _pool(given: dict[str, Any]) -> Any:
    world = World(given.get("want", []))
    try:
        pool = create_janitor_pool(_pool_options(given["config"], world))
    except Exception as error:  # noqa: BLE001  # recorded as an outcome
        return {"construct_error": error_name(error), RAISED: described(error)}
    if pool is None:
        return {"pool": None}
    log: list[dict[str, Any]] = []
    if entries := world.taken():
        log.append({"op": "construct", "trace": entries})
    for number, step in enumerate(given["steps"]):
        record = {"step": number, "op": step["op"]}
        janitor = pool.get(step["session"])
        if step["op"] == "feed_token_usage":
            janitor.report_usage(step["tokens"])
        elif step["op"] == "compress":
            messages = read_messages(step["messages"])
            after = await janitor.compress(messages)
            log.append(
                {
                    **record,
                    "same_reference": after is messages,
                    "history_after": world.rows(after),
                    "trace": world.taken(),
                }
            )
            continue
        if entries := world.taken():
            log.append({**record, "trace": entries})
    return {"log": log}


def _pool_options(config: dict[str, Any], world: World) -> dict[str, Any]:
    options = dict(config)
    options["logger"] = RecordingLog(world)
    options["persistence_warning"] = lambda count: f"persistence:{count}"
    if options.get("compression_model") is not None:
        options["compression_model"] = world.model(options["compression_model"])
    if options.get("tokenizer") is not None:
        options["tokenizer"] = tokenizer(options["tokenizer"])
    else:
        from context_chef import contract_estimate_object

        options["estimate"] = contract_estimate_object
    overflow = world.overflow(options.get("overflow") or {})
    options["overflow"] = {**overflow, **REFERENCE_OVERFLOW}
    if options.get("on_before_compress") is not None:
        options["on_before_compress"] = world.before_hook(options["on_before_compress"])
    if options.pop("on_compress", None):

        def record(summary: str, count: int, details: Any) -> None:
            world.trace(
                {
                    "hook": "on_compress",
                    "summary": world.masks.text(summary),
                    "count": count,
                    "host_messages": details["compressed_messages"],
                }
            )

        options["on_compress"] = record
        options["to_host_messages"] = lambda messages: [
            f"host:{message.role}:{world.masks.text(message.text)}" for message in messages
        ]
    return options


KINDS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "chef": _chef,
    "pool": _pool,
    "call": _call,
}


def error_name(error: Exception) -> str:
    """The class of an error as far as it is a fact across languages."""
    return "AbortError" if isinstance(error, CompileAborted) else "Error"


def _works_in_background(given: dict[str, Any]) -> bool:
    config = json.dumps(given.get("config", {}))
    return '"$strategy": "background"' in config or '"compression_scheduling"' in config


def _floated(outcome: Any) -> Any:
    """Entries of background work in their own order, apart from the steps they were seen in."""
    if not isinstance(outcome, dict) or "log" not in outcome:
        return outcome
    floating: list[Any] = []
    log: list[Any] = []
    for record in outcome["log"]:
        kept = []
        for entry in record.get("trace", []):
            warned = str(entry.get("warn", "")).startswith(("failure:", "background_", "validator"))
            apart = warned or entry.get("hook") in _FLOATING
            (floating if apart else kept).append(entry)
        record = {key: value for key, value in record.items() if key != "model_calls"}
        if "trace" in record:
            record["trace"] = kept
        if set(record) - {"step", "op", "trace"} or kept:
            log.append(record)
    return {"log": log, "in_background": floating}


def _shaped(value: Any) -> Any:
    """Payloads in the one shape of the other runner; names of errors that are facts."""
    if isinstance(value, dict):
        shaped = {key: _shaped(item) for key, item in value.items()}
        if isinstance(shaped.get("payload"), dict):
            shaped["payload"] = canonical(shaped["payload"])
        for key in ("error", "construct_error"):
            if shaped.get(key) in ("TypeError", "RangeError"):
                shaped[key] = "Error"
        return shaped
    if isinstance(value, list):
        return [_shaped(item) for item in value]
    return value


__all__ = ["row", "run"]
