"""Runs scenarios of the `pipeline.json` format through the public API."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

import context_chef
from context_chef import (
    AdaptRequest,
    AnthropicAdapter,
    Conversation,
    GeminiAdapter,
    Guardrail,
    Message,
    OpenAIAdapter,
    OpenAIResponsesAdapter,
    SessionPool,
    anthropic_server_context_management,
    audit_anthropic_cache_placement,
    builtin_registry,
    contract_estimate,
    contract_estimate_object,
    create_tokenizer_adapter,
    ensure_valid_history,
    flat_row,
    from_anthropic,
    from_gemini,
    from_openai,
    from_openai_responses,
    normalize_session_key,
    object_to_xml,
    read_message,
    read_messages,
    stringify_payload,
)
from context_chef.adaptation import ModelProfile
from context_chef.events import Emitter
from context_chef.prompts.vocabulary import resolve_vocabulary
from context_chef.selection import render_handoff_notice
from tests.parity.masks import masked
from tests.parity.outcome import RAISED, Outcome, described, differences, outcome_of, raised
from tests.parity.script import Notes, Script, run_compile, snake
from tests.parity.shapes import canonical, plain, recorded_payload

PERMISSIVE = ModelProfile(
    provider="anthropic", name="anything-goes", prefill=True, inline_system=True
)
"""The recorded adapter asks no model what it takes: this one takes everything."""

LENIENT = ModelProfile(provider="gemini", name="anything-goes")
"""A Gemini model that wants no signatures, as those of the records were."""
PROFILES: Mapping[str, ModelProfile] = {"anthropic": PERMISSIVE, "gemini": LENIENT}

ADAPTERS: Mapping[str, type[Any]] = {
    "openai": OpenAIAdapter,
    "anthropic": AnthropicAdapter,
    "gemini": GeminiAdapter,
    "openai-responses": OpenAIResponsesAdapter,
}
READERS: Mapping[str, Callable[..., Conversation]] = {
    "openai": lambda messages, system: from_openai(messages, repair=True),
    "anthropic": lambda messages, system: from_anthropic(messages, system, repair=True),
    "gemini": lambda messages, system: from_gemini(messages, system, repair=True),
    "openai-responses": lambda messages, system: from_openai_responses(
        messages, system, repair=True
    ),
}


def run(scenario: dict[str, Any], document: dict[str, Any]) -> Outcome:
    """One scenario: what the public API does against what was recorded."""
    expected = scenario["expected"]
    notes = Notes()
    try:
        actual = KINDS[scenario["kind"]](scenario["input"], notes)
    except Exception as error:  # noqa: BLE001  # a recorded failure is an outcome like any other
        if not (isinstance(expected, dict) and "throws" in expected):
            return outcome_of(scenario["id"], [raised(error)])
        text = str(error)
        mentions = expected.get("mentions", [])
        actual = {
            "throws": expected["throws"],
            RAISED: described(error),
            **({"mentions": [token for token in mentions if token in text]} if mentions else {}),
        }
    found = differences(_shaped(expected), _shaped(actual))
    return outcome_of(scenario["id"], found)


def _shaped(value: Any) -> Any:
    """Every payload inside an outcome in the one shape; library texts behind their tokens."""
    if isinstance(value, dict):
        shaped = {key: _shaped(item) for key, item in value.items()}
        if "throws" in shaped:  # only an abort is a fact across languages
            shaped["throws"] = "AbortError" if shaped["throws"] == "AbortError" else "Error"
        return canonical(shaped) if "messages" in shaped or "input" in shaped else shaped
    if isinstance(value, list):
        return [_shaped(item) for item in value]
    return value


def _xml(given: dict[str, Any]) -> Any:
    return object_to_xml(given["value"], given.get("root", "data"))


def _stringify(given: dict[str, Any]) -> Any:
    return stringify_payload(given["value"])


def _tokenizer(given: dict[str, Any]) -> Any:
    options = {} if given.get("overhead") is None else {"per_message_overhead": given["overhead"]}
    return create_tokenizer_adapter(list, **options)(read_messages(given["messages"]))


def _ensure_valid_history(given: dict[str, Any]) -> Any:
    repaired = ensure_valid_history(read_messages(given["messages"]))
    return masked([_flat(message, given) for message in repaired.messages])


def _flat(message: Message, given: dict[str, Any]) -> dict[str, Any]:
    """The flat form, without the fields that only say that a placeholder is no success."""
    row = flat_row(message)
    for ours in ("blocks", "native", "is_error"):  # the flat form has no such fields
        row.pop(ours, None)
    return row


def _adapter(given: dict[str, Any]) -> Any:
    target = given["target"]
    options = {snake(key): value for key, value in (given.get("options") or {}).items()}
    adapter = ADAPTERS[target](**options)
    messages = mark_prefill(read_messages(given["messages"]))
    profile = PROFILES.get(target)
    body = adapter.compile(messages, profile=profile)
    noted = adapter.adapt(AdaptRequest(messages=messages, profile=profile)).diagnostics
    dropped = any(note.code == "redacted-thinking-dropped" for note in noted)
    return {
        "payload": masked(recorded_payload(target, body)),
        "warnings": ["redacted-thinking-dropped"] if dropped else [],
    }


def mark_prefill(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The recorded adapters took a plain assistant message at the end for a prefill; ours are told."""
    if not messages:
        return messages
    last = messages[-1]
    if last.role != "assistant" or last.tool_calls or not messages:
        return messages
    return (*messages[:-1], last.replace(prefill=True))


def _input(given: dict[str, Any]) -> Any:
    conversation = READERS[given["provider"]](given["messages"], given.get("system"))
    return {
        "system": masked([_flat(message, given) for message in conversation.system]),
        "history": masked([_flat(message, given) for message in conversation.history]),
    }


def _convert(given: dict[str, Any]) -> Any:
    provider = given["provider"]
    target = given.get("target", provider)
    conversation = READERS[provider](given["messages"], given.get("system"))
    profile = PROFILES.get(target)
    messages = mark_prefill(conversation.messages)
    body = ADAPTERS[target]().compile(messages, profile=profile)
    payload = masked(recorded_payload(target, body))
    outcome: dict[str, Any] = {"payload": payload, "warnings": []}
    if target == provider:
        written = payload.get("messages", payload.get("input"))
        outcome["messages_identical_to_input"] = written == given["messages"]
    return outcome


def _server_context_management(given: dict[str, Any]) -> Any:
    managed = anthropic_server_context_management(given["config"])
    return {
        "context_management": plain(managed.context_management),
        "betas": list(managed.betas),
    }


def _handoff_config(given: Any) -> Any:
    configs = given["configs"] if isinstance(given, dict) and "configs" in given else [given]
    results = []
    for config in configs:
        try:
            checked = context_chef.HandoffConfig(
                **{snake(key): value for key, value in config.items()}
            )
        except Exception as error:  # noqa: BLE001  # recorded as an outcome
            results.append({"throws": "Error", RAISED: described(error)})
        else:
            results.append(masked(msgspec.to_builtins(checked)))
    return results


def _handoff_render(given: dict[str, Any]) -> Any:
    return [
        render_handoff_notice(given["prompt"], math.inf if value == "Infinity" else value)
        for value in given["values"]
    ]


def _emitter(given: dict[str, Any]) -> Any:
    warnings: list[str] = []

    class Log:
        def warning(self, msg: object, *args: object) -> None:
            warnings.append("event-handler-threw")

    trace: list[str] = []
    emitter = Emitter(Log())
    observers: dict[str, Callable[[Any], None]] = {}
    topics = {"e": "compile:start", "none": "compile:done", "f": "compress:end"}

    class Happened(msgspec.Struct):
        topic: str
        payload: Any

    def observer(name: str, op: dict[str, Any]) -> Callable[[Any], None]:
        def observe(event: Any) -> None:
            trace.append(f"{name}:{event.payload}")
            action = op.get("action")
            if action == "add":
                emitter.on(event.topic, observer(op["adds"], {}))
            elif action == "remove":
                emitter.off(event.topic, observers[op["removes"]])
            elif action == "throw":
                raise RuntimeError(name)

        return observers.setdefault(name, observe)

    for op in given["ops"]:
        topic = topics.setdefault(op["event"], "compress:start")
        if op["op"] == "on":
            emitter.on(topic, observer(op["handler"], op))
        elif op["op"] == "off":
            emitter.off(topic, observers.get(op["handler"], lambda event: None))
        else:
            asyncio.run(emitter.emit(Happened(topic=topic, payload=op.get("payload"))))  # type: ignore[arg-type]
    return {"trace": trace, "warnings": warnings}


def _session_pool(given: dict[str, Any]) -> Any:
    created: list[str] = []

    def create(key: str) -> Any:
        created.append(key)
        return object()

    options = {} if "max_size" not in given else {"max_size": given["max_size"]}
    pool = SessionPool(create, **options)
    for key in given["gets"]:
        pool.get(key)
    return {"created_count": len(created), "created_last": created[-6:], "size": len(pool)}


def _session_key(given: dict[str, Any]) -> Any:
    results = []
    for value in given["values"]:
        invalid: list[Any] = []
        key = normalize_session_key(value, invalid.append)
        results.append({"value": value, "key": key, "reported_invalid": bool(invalid)})
    return results


def _vocabulary(given: dict[str, Any]) -> Any:
    results = []
    for mode in given["modes"]:
        try:
            words = resolve_vocabulary(mode)
        except Exception as error:  # noqa: BLE001  # recorded as an outcome
            results.append({"requested": mode, "throws": "Error", RAISED: described(error)})
            continue
        lineage = context_chef.WindowLineage(first="w_0", current="w_now", previous="w_before")
        marker = {"total_lines": 120, "total_chars": 9000, "uri": "context://vfs/x.txt"}

        def carried(words: Any = words, marker: Any = marker, **options: Any) -> dict[str, Any]:
            head, tail = options.pop("head", ""), options.pop("tail", "")
            block = words.offload_marker(
                head_chars=len(head), tail_chars=len(tail), **marker, **options
            )
            facts = ["120", "9000", "4", "/disk/x.txt", "context://vfs/x.txt"]
            found = [fact for fact in facts if fact in block]
            return {
                "before_block": head,
                "after_block": tail,
                "block_carries": sorted(found, key=block.index) if options else found,
                "names_context_tool": "`context`" in block,
            }

        def said(text: str, tokens: list[str]) -> list[str]:
            return sorted((token for token in tokens if token in text), key=text.index)

        tokens = ["w_now", "w_before", "SUMMARY-BODY"]
        results.append(
            {
                "requested": mode,
                "mode": words.mode,
                "memory_instruction": words.memory_instruction,
                "memory_block": words.memory_block("<memory>\nM\n</memory>", keys=["k1", "k2"]),
                "memory_block_allowed": words.memory_block(
                    "<memory>\nM\n</memory>", keys=["k1"], allowed=["k9", "k8"]
                ),
                "memory_block_no_keys": words.memory_block("<memory>\nM\n</memory>", keys=[]),
                "handoff": words.handoff_notice.replace("{n_remaining}", "1235"),
                "summary": said(words.summary_wrapper("SUMMARY-BODY", lineage), tokens),
                "summary_without_lineage": said(words.summary_wrapper("SUMMARY-BODY"), tokens),
                "offload_both": carried(head="HEAD", tail="TAIL", physical_path="/disk/x.txt"),
                "offload_tail_only": carried(tail="TAIL"),
                "offload_bare": carried(),
            }
        )
    return masked(results)


def _guardrail_apply(given: dict[str, Any]) -> Any:
    options = snake_keys(given["options"])
    applied = Guardrail.apply(given["state"], options)
    rows = [flat_row(message) for message in applied]
    for row in rows:
        row.pop("blocks", None)
        row.pop("prefill", None)
    return masked(rows)


def snake_keys(value: Any) -> Any:
    """Option names in the spelling of Python."""
    if isinstance(value, dict):
        return {snake(key): snake_keys(item) for key, item in value.items()}
    return value


def _cache_audit(given: dict[str, Any]) -> Any:
    payload = json.loads(
        json.dumps(given["payload"])
        .replace("{{MEMORY_BLOCK_HEADER}}", resolve_vocabulary("legacy").memory_block_header)
        .replace(
            "{{CONTEXT_MEMORY_BLOCK_HEADER}}", resolve_vocabulary("unified").memory_block_header
        )
    )
    return [
        {"location": issue.location, "dedupeKey": issue.dedupe_key}
        for issue in audit_anthropic_cache_placement(payload)
    ]


def _script(given: dict[str, Any], notes: Notes) -> Any:
    return asyncio.run(Script(given, PROFILES, notes).run())


def _compile(given: dict[str, Any], notes: Notes) -> Any:
    return asyncio.run(run_compile(given, PROFILES, notes))


def _dedupe(given: dict[str, Any]) -> Any:
    from tests.parity.script import dedupe_construction

    return dedupe_construction(given)


def _alone(run: Callable[[Any], Any]) -> Callable[[Any, Notes], Any]:
    """A kind that has nothing to note."""
    return lambda given, notes: run(given)


KINDS: Mapping[str, Callable[[Any, Notes], Any]] = {
    "xml": _alone(_xml),
    "stringify": _alone(_stringify),
    "estimate": _alone(lambda given: contract_estimate(given["text"])),
    "estimate_object": _alone(lambda given: contract_estimate_object(given.get("value"))),
    "tokenizer": _alone(_tokenizer),
    "ensure_valid_history": _alone(_ensure_valid_history),
    "adapter": _alone(_adapter),
    "input": _alone(_input),
    "convert": _alone(_convert),
    "compile": _compile,
    "script": _script,
    "guardrail_apply": _alone(_guardrail_apply),
    "cache_audit": _alone(_cache_audit),
    "server_context_management": _alone(_server_context_management),
    "vocabulary": _alone(_vocabulary),
    "handoff_config": _alone(_handoff_config),
    "handoff_render": _alone(_handoff_render),
    "registry": _alone(lambda given: _registry(given)),
    "builtin_registry": _alone(lambda given: list(builtin_registry().names())),
    "emitter": _alone(_emitter),
    "session_pool": _alone(_session_pool),
    "session_key": _alone(_session_key),
    "dedupe_construction_warnings": _alone(_dedupe),
}


def _registry(given: dict[str, Any]) -> Any:
    """Scripted calls on an empty registry, each answer recorded."""
    from context_chef import AdapterRegistry

    registry = AdapterRegistry()
    adapters: dict[str, Any] = {}

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def compile(self, messages: Any) -> dict[str, Any]:
            return {"messages": [], "adapter": self.name}

    results: list[Any] = []
    for op in given.get("ops", given.get("steps", [])):
        name = op.get("name")
        kind = op["op"]
        try:
            if kind == "register":
                made = adapters.setdefault(op.get("adapter", name), Named(op.get("adapter", name)))
                source = op.get("source_id", op.get("sourceId", op.get("source")))
                registry.register(name, made, **({"source_id": source} if source else {}))
            elif kind == "unregister":
                registry.unregister(name)
            elif kind in ("unregister_by_source", "unregisterBySource"):
                registry.unregister_by_source(
                    op.get("source_id", op.get("sourceId", op.get("source")))
                )
            elif kind == "get":
                results.append({"get": getattr(registry.get(name), "name", None)})
            elif kind == "has":
                results.append({"has": registry.has(name)})
            elif kind == "list":
                results.append({"list": list(registry.names())})
        except Exception as error:  # noqa: BLE001  # recorded as an outcome
            mentions = [token for token in op.get("check_mentions", []) if token in str(error)]
            results.append(
                {"op": kind, "throws": "Error", "mentions": mentions, RAISED: described(error)}
            )
    return {"results": results}


__all__ = ["PERMISSIVE", "mark_prefill", "read_message", "run", "snake_keys"]
