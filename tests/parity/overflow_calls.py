"""The pure functions of the `overflow.json` format, by the names that scenarios call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import context_chef
from context_chef import (
    Budget,
    HandoffConfig,
    Message,
    OverflowInput,
    WindowLineage,
    anthropic_server_context_management,
    compact_history,
    compact_messages,
    contract_estimate,
    contract_estimate_object,
    create_tokenizer_adapter,
    ensure_valid_history,
    flat_row,
    flatten_for_compression,
    format_compact_summary,
    group_into_turns,
    normalize_session_key,
    plan_compaction,
    read_messages,
    summarize,
    summarize_history,
)
from context_chef.ir.tokens import utf16_length
from context_chef.ir.turns import pinned_indexes
from context_chef.prompts.vocabulary import LEGACY_VOCABULARY
from context_chef.selection import validate_handoff_config
from tests.parity.outcome import RAISED, described
from tests.parity.overflow_standins import World, row, tokenizer

Call = Callable[[dict[str, Any], World], Awaitable[Any]]


async def _group_into_turns(args: dict[str, Any], world: World) -> Any:
    return [[turn.start, turn.end] for turn in group_into_turns(read_messages(args["messages"]))]


async def _estimate(args: dict[str, Any], world: World) -> Any:
    return [contract_estimate(text) for text in args["texts"]]


async def _estimate_object(args: dict[str, Any], world: World) -> Any:
    return [contract_estimate_object(value) for value in args["values"]]


async def _tokenizer_adapter(args: dict[str, Any], world: World) -> Any:
    options = {key: args[key] for key in ("per_message_overhead",) if key in args}
    count = create_tokenizer_adapter(lambda text: range(utf16_length(text)), **options)
    return count(read_messages(args["messages"]))


async def _split_only(args: dict[str, Any], world: World) -> Any:
    return [await _cut(args, history) for history in args["histories"]]


async def _cut(args: dict[str, Any], rows: list[Any]) -> dict[str, Any]:
    history = read_messages(rows)
    count = tokenizer(args["tokenizer"])
    try:
        strategy = summarize(
            compression_model=lambda messages: "S",
            min_shrink_ratio=0,
            keep_open_request=False,
            **args["options"],
        )
    except Exception as error:  # noqa: BLE001  # recorded as an outcome
        return {"error": "Error", RAISED: described(error)}
    result = await strategy.apply(
        OverflowInput(
            history=history,
            budget=Budget(limit=args["limit"], current=count(history), trigger=args["trigger"]),
            tokenizer=count,
            measured=True,
            pinned=pinned_indexes(history),
            window=WindowLineage.begin("w"),
            forced=bool(args.get("forced")),
        )
    )
    if not result.changed:
        return {"cut": None, "reason": result.reason}
    return {"cut": len(result.span)}


async def _compact_messages(args: dict[str, Any], world: World) -> Any:
    before = read_messages(args["messages"])
    after = compact_messages(before, clear=args["clear"])
    return {
        "messages": world.rows(after),
        "untouched": [new is old for new, old in zip(after, before, strict=True)],
    }


async def _plan_compaction(args: dict[str, Any], world: World) -> Any:
    options = {key: args[key] for key in ("keep_recent_turns",) if key in args}
    plan = plan_compaction(read_messages(args["messages"]), **options)
    return {
        "system": world.rows(plan.system),
        "to_summarize": _repaired_rows(plan.to_summarize, world),
        "to_keep": _repaired_rows(plan.to_keep, world),
    }


def _repaired_rows(messages: tuple[Message, ...], world: World) -> list[dict[str, Any]]:
    """The flat form, without the fields that only say that a placeholder is no success."""
    rows = world.rows(messages)
    for shown in rows:
        shown.pop("native", None)
        if shown["content"] == "{{NO_TOOL_RESULT}}":
            shown.pop("is_error", None)
    return rows


async def _compact_history(args: dict[str, Any], world: World) -> Any:
    history = read_messages(args["messages"])
    model = world.model(args["compression_model"])
    options = {key: args[key] for key in ("keep_recent_turns",) if key in args}
    options.update(args.get("options") or {})
    try:
        after = await compact_history(history, model, **options)
    except Exception as error:  # noqa: BLE001  # recorded as an outcome
        return {"error": str(error), "trace": world.taken()}
    rows = _repaired_rows(tuple(after), world)
    return {"same_reference": after is history, "messages": rows, "trace": world.taken()}


async def _summarize_history(args: dict[str, Any], world: World) -> Any:
    messages = read_messages(args["messages"])
    before = [flat_row(message) for message in messages]
    options = dict(args.get("options") or {})
    if "base_instruction" in args:
        options["base_instruction"] = args["base_instruction"]
    model = world.model(args["compression_model"])
    try:
        summary = await summarize_history(messages, model, **options)
    except Exception as error:  # noqa: BLE001  # recorded as an outcome
        return {"error": str(error), "trace": world.taken()}
    unchanged = before == [flat_row(message) for message in messages]
    return {"summary": summary, "input_unchanged": unchanged, "trace": world.taken()}


async def _flatten(args: dict[str, Any], world: World) -> Any:
    return world.rows(flatten_for_compression(read_messages(args["messages"])))


async def _server_payload_fields(args: dict[str, Any], world: World) -> Any:
    fields = [anthropic_server_context_management(config) for config in args["configs"]]
    return [
        {"context_management": dict(made.context_management), "betas": list(made.betas)}
        for made in fields
    ]


async def _handoff_config(args: dict[str, Any], world: World) -> Any:
    results: list[dict[str, Any]] = []
    for config in args["configs"]:
        try:
            made: HandoffConfig = validate_handoff_config(config)
        except Exception:  # noqa: BLE001  # recorded as an outcome
            results.append({"error": "Error"})
            continue
        prompt = made.prompt or LEGACY_VOCABULARY.handoff_notice
        results.append({"budget_tokens": made.budget_tokens, "prompt": world.masks.text(prompt)})
    return results


async def _normalize_session_key(args: dict[str, Any], world: World) -> Any:
    results: list[dict[str, Any]] = []
    for value in args["values"]:
        refused: list[object] = []
        key = normalize_session_key(value, refused.append)
        results.append({"key": key, "invalid": bool(refused)})
    return results


async def _ensure_valid_history(args: dict[str, Any], world: World) -> Any:
    repaired = ensure_valid_history(read_messages(args["messages"]))
    return _repaired_rows(repaired.messages, world)


async def _format_compact_summary(args: dict[str, Any], world: World) -> Any:
    return [format_compact_summary(text) for text in args["texts"]]


async def _session_pool(args: dict[str, Any], world: World) -> Any:
    made: list[str] = []
    pool = context_chef.SessionPool(
        lambda key: made.append(key) or key, max_size=args.get("max_size", 256)
    )
    for key in args.get("keys", []):
        pool.get(key)
    return {"created": made}


CALLS: Mapping[str, Call] = {
    "group_into_turns": _group_into_turns,
    "estimate": _estimate,
    "estimate_object": _estimate_object,
    "tokenizer_adapter": _tokenizer_adapter,
    "split_only": _split_only,
    "compact_messages": _compact_messages,
    "plan_compaction": _plan_compaction,
    "compact_history": _compact_history,
    "summarize_history": _summarize_history,
    "flatten_for_compression": _flatten,
    "server_payload_fields": _server_payload_fields,
    "handoff_config": _handoff_config,
    "normalize_session_key": _normalize_session_key,
    "ensure_valid_history": _ensure_valid_history,
    "format_compact_summary": _format_compact_summary,
    "session_pool": _session_pool,
}

__all__ = ["CALLS", "row"]
