"""Scripted compiles of the `pipeline.json` format: a chef, its handlers, and what they saw."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import msgspec

from context_chef import (
    AnthropicAdapter,
    CancelToken,
    ContextChef,
    InMemoryBackend,
    Message,
    flat_row,
    read_message,
    server,
)
from context_chef.ir.window import OverflowInput, OverflowResult
from tests.parity.masks import WindowNames, masked
from tests.parity.outcome import RAISED, described
from tests.parity.shapes import plain, recorded_payload, same_json_text

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


MODEL = "anything-goes"
"""The one model that the recorded implementation knows: every provider's takes everything."""


def snake(name: str) -> str:
    """`enforceXML` → `enforce_xml`, `outputTag` → `output_tag`."""
    return _CAMEL.sub("_", name).lower()


class KeepLast:
    """The recorded custom strategy: the last n messages stay, the rest is evicted."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.name = "keep_last"

    async def apply(self, window: OverflowInput) -> OverflowResult:
        history = window.history
        gone = history[: max(0, len(history) - self.n)]
        return OverflowResult(
            history=history[len(gone) :],
            evicted=gone,
            span=gone,
            strategy=self.name,
            window_id=window.window.current,
            changed=bool(gone),
        )


class CustomTarget:
    """The recorded custom adapter: roles only, and one key of its own."""

    def compile(self, messages: Any) -> dict[str, Any]:
        return {"messages": [{"r": message.role} for message in messages], "extra": True}


def characters(messages: Any) -> int:
    """The recorded tokenizer: characters of content."""
    return sum(len(flat_row(message)["content"]) for message in messages)


class Warnings:
    """Collects warnings and tells their kind by what they are about."""

    KINDS = (
        ("cache-audit", r"Cache audit at (\S+?):"),
        ("server-with-client-model", r"`janitor.compression_model` is used only on targets"),
        ("server-fallback", r"(?i)server.*(target|fallback|elsewhere)"),
        ("forced-overflow-dropped", r"(?i)(new context|new window|request).*(veto|server|drop)"),
        ("overflow-alias-conflict", r"(?i)strategy.*(ignored|wins|precedence)"),
        ("no-compression-model", r"(?i)compression.?model"),
        ("positional-hoist", r"(?i)system message.*(moved|place|position)"),
        ("announcement-no-tail", r"(?i)announcement.*(no |without)"),
        ("pipeline-invariant", r"Pipeline check"),
        ("event-handler-threw", r"observer of"),
        ("redacted-thinking-dropped", r"(?i)redacted"),
        ("hook-threw", r"(?i)hook"),
    )

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def warning(self, msg: object, *args: object) -> None:
        text = str(msg) % args if args else str(msg)
        for kind, pattern in self.KINDS:
            if found := re.search(pattern, text):
                where = f"@{found[1]}" if kind == "cache-audit" else ""
                self.kinds.append(f"{kind}{where}")
                return
        self.kinds.append("other")

    warn = warning


class Notes:
    """What a scenario's compiles mended."""

    def __init__(self) -> None:
        self.repairs: list[str] = []


class Session:
    """One chef of a recorded config, with what was recorded around it."""

    def __init__(self, config: dict[str, Any], profiles: Any, notes: Notes) -> None:
        self.profiles = profiles
        self.notes = notes
        self.trace: list[dict[str, Any]] = []
        self.log = Warnings()
        self.windows = WindowNames()
        self.custom = CustomTarget()
        self.anthropic = AnthropicAdapter()
        self.handlers: dict[str, Any] = {}
        self.token: CancelToken | None = None
        self.config = config
        self.chef = ContextChef(**self._options(config))

    def _options(self, config: dict[str, Any]) -> dict[str, Any]:
        options: dict[str, Any] = {
            "logger": self.log,
            # What the recorded implementation does where ours has a better default.
            "tail": "replace",
            "profiles": list(self.profiles.values()),
            "default_target": self._target(config.get("defaultTarget")),
        }
        if config.get("store") != "none":
            options["store"] = InMemoryBackend()
        overflow: dict[str, Any] = {"keep": "caller"}
        janitor = config.get("janitor", {"contextWindow": 1_000_000, "tokenizer": "chars"})
        if janitor is not None:
            options["janitor"] = self._janitor(janitor, overflow)
        for key, value in (config.get("overflow") or {}).items():
            overflow[snake(key)] = (
                self._strategy(value) if key == "strategy" else self._plain(value)
            )
        options["overflow"] = overflow
        if config.get("memory") is not None:
            options["memory"] = self._memory(config["memory"])
        management = config.get("contextManagement")
        if management is not None:
            options["context_management"] = dict(management)
        for key in ("tools", "skillPlacement", "cacheAudit", "pipelineChecks"):
            if key in config:
                options[snake(key)] = config[key]
        if "onBeforeCompile" in config:
            options["on_before_compile"] = self._before_compile(config["onBeforeCompile"])
        if "transformContext" in config:
            options["transform_context"] = self._transform_context(config["transformContext"])
        if "transformToolResult" in config:
            options["transform_tool_result"] = self._transform_result(config["transformToolResult"])
        if "contextTool" in config:
            options["context_tool"] = self._plain(config["contextTool"])
        if "pruner" in config:
            options["pruner"] = self._plain(config["pruner"])
        return options

    def _plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {snake(key): self._plain(item) for key, item in value.items()}
        return value

    def _janitor(self, config: dict[str, Any], overflow: dict[str, Any]) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for key, value in config.items():
            if key == "tokenizer":
                options["tokenizer"] = characters
            elif key == "compressionModel":
                options["compression_model"] = lambda messages: "fixed summary"
            elif key == "strategy":
                options["strategy"] = self._strategy(value)
            else:
                options[snake(key)] = float("inf") if value == "Infinity" else value
        return options

    def _strategy(self, value: dict[str, Any]) -> Any:
        if value["kind"] == "keep_last":
            return KeepLast(value["n"])
        fallback = value.get("fallback")
        return server(value.get("config"), fallback=self._strategy(fallback) if fallback else None)

    def _memory(self, config: dict[str, Any]) -> dict[str, Any]:
        options = {"memory_placement": "after_system"}
        for key, value in config.items():
            options[snake(key)] = value
        selector = options.pop("selector", None)
        if selector == "last_only":
            options["selector"] = lambda entries: entries[-1:]
        elif selector == "none":
            options["selector"] = lambda entries: []
        return options

    def _before_compile(self, config: dict[str, Any]) -> Callable[..., Any]:
        def hook(context: Any) -> Any:
            self.trace.append({"at": "onBeforeCompile"})
            if config.get("action") == "throw":
                raise RuntimeError("hook")
            return config.get("text")

        return hook

    def _transform_context(self, config: dict[str, Any]) -> Callable[..., Any]:
        def hook(messages: Any) -> Any:
            self.trace.append({"at": "transformContext"})
            return self._changed(messages, config)

        return hook

    def _transform_result(self, config: dict[str, Any]) -> Callable[..., Any]:
        def transform(content: str, info: Any) -> str:
            self.trace.append(
                {
                    "at": "transformToolResult",
                    "content": content,
                    "toolName": info.tool_name,
                    "toolCallId": info.tool_call_id,
                }
            )
            if config["action"] == "throw":
                raise RuntimeError("transform")
            return content.upper() if config["action"] == "upper" else config["text"] + content

        return transform

    def _target(self, name: Any) -> Any:
        if name == "custom-instance":
            return self.custom
        return self.anthropic if name == "anthropic-instance" else name

    async def compile(self, step: dict[str, Any]) -> dict[str, Any]:
        """Compile as the step says, and give the view it asks for."""
        self.token = CancelToken() if step.get("signal") else None
        target = self._target(step.get("target"))
        payload = await self.chef.compile(target, model=MODEL, signal=self.token)
        self.notes.repairs.extend(repair.rule for repair in payload.report.repairs)
        return self.view(payload, step.get("as"))

    def view(self, payload: Any, view: str | None) -> dict[str, Any]:
        """The payload in the records' form, or the part of it that a step asks for."""
        shaped = masked(recorded_payload(payload.meta.target, payload))
        tools = shaped.pop("tools", None)
        messages = shaped.get("messages", shaped.get("input", []))
        meta = self._meta(payload.meta)
        if view == "messages_json":
            return {"messages_json": _JsonText(messages)}
        if view == "meta":
            return {"meta": meta}
        if view == "keys":
            keys = [*_adapter_keys(shaped), "meta"]
            keys += ["tools"] if tools else []
            keys += [key for key in ("context_management", "betas") if key in shaped]
            return {"keys": keys, "meta_keys": list(meta)}
        if view == "tools":
            return {"tools": self._tools(payload)}
        if view == "tool_names":
            return {"tool_names": [tool["name"] for tool in self._tools(payload)]}
        if view == "last_message":
            return {"last_message": messages[-1]}
        if view == "count":
            return {"count": len(messages), "windowId": meta["windowId"]}
        shaped["meta"] = meta
        if tools:
            shaped["tools"] = self._tools(payload)
        return {"payload": shaped}

    def _tools(self, payload: Any) -> list[dict[str, Any]]:
        """The neutral definitions behind the wire form, library texts behind their token."""
        named = {span.source.removeprefix("tool:") for span in payload.report.spans}
        tools = []
        for tool in self.chef.visible_tools():
            assert tool.name in named
            fields = plain(msgspec.to_builtins(tool))
            row = {key: item for key, item in fields.items() if item != {}}
            if row.pop("defer_loading", False):
                row["deferLoading"] = True
            ours = self.chef.owns_tool(tool.name) or tool.name == self._loader
            tools.append(_library_text(row) if ours else row)
        return tools

    @property
    def _loader(self) -> str | None:
        """The tool that loads toolkits: the library's, though the caller executes it."""
        names = [tool.name for tool in self.chef.visible_tools()]
        pruner = self.chef.get_pruner()
        return next((n for n in names if pruner.is_toolkit_loader({"name": n})), None)

    def _meta(self, meta: Any) -> dict[str, Any]:
        row = {
            "injectedMemoryKeys": list(meta.injected_memory_keys),
            "memoryExpiredKeys": list(meta.memory_expired_keys),
            "windowId": self.windows.name(meta.window_id),
        }
        if meta.active_skill_name is not None:
            row["activeSkillName"] = meta.active_skill_name
        return row

    # Handlers

    def slot_handler(self, step: dict[str, Any]) -> Callable[..., Any]:
        slot, name = step["slot"], step["name"]

        async def handle(context: Any) -> Any:
            self.trace.append({"at": slot, "handler": name, **self._sees(slot, context)})
            return await self._act(slot, name, context, step)

        return self.handlers.setdefault(f"{slot}/{name}", handle)

    def _sees(self, slot: str, context: Any) -> dict[str, Any]:
        if slot == "before-overflow":
            budget = {
                key: _number(getattr(context.budget, key))
                for key in ("limit", "current", "trigger", "remaining")
            }
            return {"budget": budget}
        if slot == "after-overflow":
            result = context.result
            seen = None
            if result is not None:
                seen = {"changed": result.changed, "evicted": len(result.evicted)}
            return {"history_length": len(context.history), "result": seen}
        if slot == "before-assemble":
            return {
                "sees": {
                    "system_prompt": len(context.system_prompt),
                    "history": len(context.history),
                    "dynamic_state": len(context.dynamic_state),
                    "dynamic_state_xml": context.dynamic_state_xml,
                }
            }
        if slot == "after-assemble":
            return {"roles": [message.role for message in context]}
        if slot == "before-adapt":
            return {"roles": [message.role for message in context.messages]}
        shaped = recorded_payload(context.target, context.payload)
        keys = [*_adapter_keys(shaped), "meta"]
        return {"payload_keys": keys + (["tools"] if "tools" in shaped else [])}

    async def _act(self, slot: str, name: str, context: Any, step: dict[str, Any]) -> Any:
        action = step.get("action")
        if action == "inject":
            context.inject(step["text"])
        elif action == "veto":
            return False
        elif action == "return_zero":
            return 0
        elif action == "throw":
            raise RuntimeError(name)
        elif action == "abort":
            assert self.token is not None
            self.token.cancel()
        elif action == "unuse_self":
            self.chef.unuse(slot, self.handlers[f"{slot}/{name}"])
        elif action == "add_handler":
            added = {"slot": slot, "name": step.get("adds", f"{name}-added")}
            self.chef.use(slot, self.slot_handler(added))
        elif action == "compile_inner" and not getattr(self, "_inner_done", False):
            self._inner_done = True
            inner = await self.chef.compile("openai", model=MODEL)
            self.trace.append({"inner_compile_messages": len(inner["messages"])})
        elif action == "wait_macrotask":
            await asyncio.sleep(step.get("ms", 1) / 1000)
            self.trace.append({"at": slot, "handler": name, "resumed": True})
        elif action == "set_history":
            self.chef.set_history(step["messages"])
        elif action == "set_system_prompt":
            self.chef.set_system_prompt(step["messages"])
        elif action == "mutate_payload":
            context.payload.update(step.get("set", {"extra": True}))
        if slot == "after-assemble":
            return self._changed(context, step)
        return None

    def _changed(self, messages: tuple[Message, ...], step: dict[str, Any]) -> Any:
        action = step.get("action")
        if action == "append_message":
            return [*messages, read_message(step["message"])]
        if action == "drop_pinned":
            return [message for message in messages if not message.pinned]
        if action == "drop_role":
            return [message for message in messages if message.role != step["role"]]
        if action == "reverse":
            return list(reversed(messages))
        if action == "clone_all":
            return [message.replace() for message in messages]
        if action == "return_nothing":
            return None
        if action == "mutate_message":
            changed = list(messages)
            index = step.get("index", 0)
            changed[index] = changed[index].with_text(step["content"])
            return changed
        return messages

    def event_handler(self, step: dict[str, Any]) -> Callable[..., Any]:
        topic, name = step["event"], step["name"]

        async def observe(event: Any) -> None:
            self.trace.append({"at": topic, "handler": name, "payload": self._told(topic, event)})
            if step.get("action") == "abort" and self.token is not None:
                self.token.cancel()
            elif step.get("action") == "throw":
                raise RuntimeError(name)
            elif step.get("action"):
                await self._act(topic, name, event, step)

        return self.handlers.setdefault(f"{topic}/{name}", observe)

    def _told(self, topic: str, event: Any) -> Any:
        if topic == "compile:start":
            return {"systemPrompt": len(event.system_prompt), "history": len(event.history)}
        if topic == "compile:done":
            shaped = recorded_payload(
                "gemini" if "contents" in event.payload else "", event.payload
            )
            keys = [*_adapter_keys(shaped), "meta"]
            return {"keys": keys + (["tools"] if "tools" in shaped else [])}
        if topic == "compress:start":
            return {
                "historyLength": event.history_length,
                "currentTokens": _number(event.current_tokens),
                "limit": _number(event.limit),
            }
        if topic == "compress":
            return {
                "truncatedCount": event.truncated_count,
                "compressed": len(event.compressed_messages),
            }
        if topic == "compress:end":
            return {"compressed": event.compressed}
        if topic == "offload:created":
            return {"uri": event.uri}
        if topic == "pruner:tool-blocked":
            return {"name": event.name}
        if topic == "pipeline:invariant":
            return {"phase": event.phase}
        if topic == "memory:changed":
            return {
                "type": event.type,
                "key": event.key,
                "value": event.value,
                "oldValue": event.old_value,
            }
        return {"key": event.entry.key}


class _JsonText(str):
    """A message list as JSON text, in the key order in which it is sent."""

    def __new__(cls, messages: list[Any]) -> _JsonText:
        import json

        return super().__new__(cls, json.dumps(messages, ensure_ascii=False, separators=(",", ":")))


def _adapter_keys(shaped: dict[str, Any]) -> list[str]:
    """The adapter's own keys in the records' order; `system` is a key even when there is none."""
    order = ("system", "messages", "systemInstruction", "input", "instructions")
    return [key for key in order if key in shaped]


def _number(value: float) -> Any:
    if value == float("inf"):
        return "Infinity"
    return int(value) if float(value).is_integer() else value


def _library_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "{{LIBRARY_TEXT}}" if key == "description" and isinstance(item, str) else
            _library_text(item)
            for key, item in value.items()
        }  # fmt: skip
    if isinstance(value, list):
        return [_library_text(item) for item in value]
    return value


async def run_compile(given: dict[str, Any], profiles: Any, notes: Notes) -> Any:
    """One compile of everything that the input names."""
    session = Session(given.get("config") or {}, profiles, notes)
    chef = session.chef
    if "system_prompt" in given:
        chef.set_system_prompt(given["system_prompt"])
    chef.set_history(given.get("history") or [])
    state = given.get("dynamic_state")
    if state is not None:
        placement = state.get("placement") or "last_user"
        chef.set_dynamic_state(None, state["value"], placement=placement)
    if given.get("guardrails") is not None:
        chef.with_guardrails(_snake_keys(given["guardrails"]))
    if given.get("skill") is not None:
        chef.activate_skill(given["skill"])
    for entry in given.get("memory") or []:
        await chef.get_memory().set(
            entry["key"], entry["value"], description=entry.get("description")
        )
    for item in given.get("announcements") or []:
        chef.announce(item["id"], item["content"], channel=item.get("channel") or "auto")
    for kind in ("tools", "namespaces", "toolkits"):
        if given.get(kind) is not None:
            getattr(chef, f"register_{kind}")(given[kind])
    for text in given.get("inject") or []:
        chef.use("before-assemble", lambda context, text=text: context.inject(text))
    result = await session.compile(given)
    if session.log.kinds:
        result["warnings"] = session.log.kinds
    return result


def _snake_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {snake(key): _snake_keys(item) for key, item in value.items()}
    return value


class Script:
    """Runs the steps of one `script` scenario."""

    def __init__(self, given: dict[str, Any], profiles: Any, notes: Notes) -> None:
        self.given = given
        self.notes = notes
        self.profiles = profiles
        self.snapshots: dict[str, Any] = {}
        self.dropped: dict[str, set[str]] = {}

    async def run(self) -> Any:
        config = self.given.get("config") or {}
        try:
            self.session = Session(config, self.profiles, self.notes)
        except Exception as error:  # noqa: BLE001  # a construction that fails is the whole outcome
            return {"results": [{"throws": "Error", RAISED: described(error)}]}
        results = []
        for step in self.given["steps"]:
            try:
                result = await self._step(step)
            except Exception as error:  # noqa: BLE001  # recorded as an outcome
                result = {
                    "op": step["op"], "throws": type(error).__name__, RAISED: described(error)
                }  # fmt: skip
                if "check_mentions" in step:
                    tokens = step["check_mentions"]
                    result["mentions"] = [token for token in tokens if token in str(error)]
            if result is not None:
                results.append(result)
        return _comparable({"results": results})

    async def _step(self, step: dict[str, Any]) -> Any:
        chef, session, op = self.session.chef, self.session, step["op"]
        if op == "history":
            chef.set_history(step["messages"])
        elif op == "system_prompt":
            chef.set_system_prompt(step["messages"])
        elif op == "dynamic_state":
            check = _refuse if step.get("invalid") else None
            chef.set_dynamic_state(
                check, step["value"], placement=step.get("placement") or "last_user"
            )
        elif op == "guardrails":
            chef.with_guardrails(_snake_keys(step["options"]))
        elif op == "announce":
            chef.announce(step["id"], step["content"], channel=step.get("channel") or "auto")
        elif op == "retract":
            return {"retracted": chef.retract_announcement(step["id"])}
        elif op == "announcements":
            return {"announcements": [msgspec.to_builtins(a) for a in chef.get_announcements()]}
        elif op == "skills":
            chef.register_skills(step["skills"])
        elif op == "activate_skill":
            chef.activate_skill(step["skill"])
        elif op == "active_skill":
            skill = chef.get_active_skill()
            return {"active_skill": _skill_row(skill) if skill else None}
        elif op == "get_memory":
            chef.get_memory()
        elif op == "memory_set":
            options = {
                key: step[key] for key in ("ttl", "description", "importance") if key in step
            }
            await chef.get_memory().set(step["key"], step["value"], **options)
        elif op == "memory_delete":
            await chef.get_memory().delete(step["key"])
        elif op in ("tools", "namespaces", "toolkits"):
            getattr(chef, f"register_{op}")(step[op])
        elif op == "block_tools":
            chef.get_pruner().set_blocked_tools(step["names"])
        elif op == "check_tool_call":
            verdict = await chef.check_tool_call(step["call"])
            return {"allowed": verdict.allowed}
        elif op == "clear_history":
            chef.clear_history()
        elif op == "request_new_context":
            chef.request_new_context()
        elif op == "report_token_usage":
            chef.report_token_usage(step.get("tokens", step.get("n")))
        elif op == "use":
            chef.use(step["slot"], session.slot_handler(step))
        elif op == "unuse":
            handler = session.handlers.get(f"{step['slot']}/{step['name']}")
            if handler is not None:
                chef.unuse(step["slot"], handler)
        elif op == "on":
            chef.on(step["event"], session.event_handler(step))
        elif op == "off":
            handler = session.handlers.get(f"{step['event']}/{step['name']}")
            if handler is not None:
                chef.off(step["event"], handler)
        elif op == "compile":
            return await session.compile(step)
        elif op == "compile_pair":
            pair = [chef.compile(step.get("target", "openai")) for _ in range(2)]
            outcomes = await asyncio.gather(*pair, return_exceptions=True)
            return {
                "outcomes": [
                    "rejected" if isinstance(outcome, BaseException) else "fulfilled"
                    for outcome in outcomes
                ]
            }
        elif op == "trace":
            trace, session.trace = session.trace, []
            return {"trace": trace}
        elif op == "warnings":
            kinds, session.log.kinds = session.log.kinds, []
            return {"warnings": kinds}
        elif op == "handle_tool":
            return {"text": masked(await chef.handle_tool(step["call"]))}
        elif op == "owns_tool":
            return {"owns": chef.owns_tool(step["name"])}
        elif op == "fresh_chef":
            self.session = Session(self.given.get("config") or {}, self.profiles, self.notes)
            self.session.windows = session.windows
        elif op == "snapshot":
            self.snapshots[step["name"]] = await chef.snapshot(step.get("label"))
        elif op == "edit_snapshot":
            field = snake(step["remove"])
            edited = msgspec.to_builtins(self.snapshots[step["name"]])
            edited.pop(field, None)
            self.snapshots[step["name"]] = type(self.snapshots[step["name"]]).from_json(
                msgspec.json.encode(edited)
            )
        elif op == "restore":
            await chef.restore(self.snapshots[step["name"]])
        elif op == "snapshot_view":
            return snapshot_view(self.snapshots[step["name"]])
        else:
            raise AssertionError(f"no operation {op!r}")
        return None


def _refuse(value: Any) -> Any:
    raise ValueError(f"{value!r} does not fit")


def _skill_row(skill: Any) -> dict[str, Any]:
    row = {
        "name": skill.name,
        "description": skill.description,
        "instructions": skill.instructions,
        "whenToUse": skill.when_to_use,
        "allowedTools": list(skill.allowed_tools) if skill.allowed_tools is not None else None,
        "baseDir": skill.base_dir,
        "metadata": dict(skill.metadata) or None,
    }
    return {key: value for key, value in row.items() if value is not None}


def _comparable(outcome: dict[str, Any]) -> dict[str, Any]:
    """Error classes of the host are no facts, but for an abort."""
    for result in outcome["results"]:
        if "throws" in result:
            aborted = result["throws"] == "CompileAborted"
            result["throws"] = "AbortError" if aborted else "Error"
    return outcome


def snapshot_view(snapshot: Any) -> dict[str, Any]:
    """What a snapshot holds, in the records' spelling."""
    state = snapshot
    memory = state.memory
    rest: dict[str, Any] = {
        "systemPrompt": [_row(message) for message in state.system_prompt],
        "history": [_row(message) for message in state.transcript.items],
        "dynamicState": masked([_row(message) for message in state.dynamic_state.messages]),
        "dynamicStatePlacement": state.dynamic_state.placement,
        "dynamicStateXml": state.dynamic_state.xml,
        "activeSkillName": state.skill["active_skill_name"],
        "skillInstructions": state.skill["skill_instructions"],
        "guardrailOptions": _guardrail_row(state.guardrails),
        "announcements": [msgspec.to_builtins(item) for item in state.announcements],
        "handoffNoticedWindow": state.handoff_noticed,
        "label": state.label,
    }
    rest = {key: value for key, value in rest.items() if value is not None}
    order = [
        "systemPrompt", "history", "dynamicState", "dynamicStatePlacement", "dynamicStateXml",
        "modules", "activeSkillName", "skillInstructions", "guardrailOptions", "announcements",
        "handoffNoticedWindow", "label", "createdAt",
    ]  # fmt: skip
    held = {*rest, "modules", "createdAt"}
    return {
        "keys": [key for key in order if key in held],
        "module_keys": ["janitor", "memory", "pruner"],
        "janitor_keys": [
            "externalTokenUsage", "suppressNextCompression", "consecutiveFailures", "anchorDoc",
            "window",
        ],
        "pruner_keys": ["flatTools", "namespaces", "lazyToolkits", "blockedTools"],
        "memory": None
        if memory is None
        else {"keys": list(memory.entries), "turnCount": memory.turn_count},
        "created_at_is_number": isinstance(state.created_at, (int, float)),
        "rest": rest,
    }  # fmt: skip


def _row(message: Message) -> dict[str, Any]:
    row = flat_row(message)
    row.pop("blocks", None)
    return row


def _guardrail_row(options: Any) -> dict[str, Any] | None:
    if options is None:
        return None
    row: dict[str, Any] = {}
    if options.enforce_xml is not None:
        row["enforceXML"] = {"outputTag": options.enforce_xml.output_tag}
    if options.prefill is not None:
        row["prefill"] = options.prefill
    if options.placement != "system":
        row["placement"] = options.placement
    return row


def dedupe_construction(given: dict[str, Any]) -> Any:
    """Scripted loggers and factories around `dedupe_construction_warnings`."""
    from context_chef import dedupe_construction_warnings

    log: list[str] = []

    class Log:
        def warning(self, msg: object, *args: object) -> None:
            log.append(str(msg) % args if args else str(msg))

    made: list[Any] = []

    def build(logger: Any) -> Any:
        for text in given.get("construction", given.get("construction_warnings", [])):
            logger.warning(text)
        return logger

    factory = dedupe_construction_warnings(Log(), build)
    for _ in range(given.get("instances", 2)):
        made.append(factory())
    for text in given.get("later", given.get("later_warnings", [])):
        for logger in made:
            logger.warning(text)
    return {"warnings": log}


__all__ = ["CustomTarget", "Script", "Session", "plain", "run_compile", "same_json_text", "snake"]
