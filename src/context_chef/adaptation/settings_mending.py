"""Settings of a finished request that its provider would refuse: left out, or put right.

A compile makes no such settings itself; slot handlers and adapters put them into a request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.wire_rules import Fault
from context_chef.prompts.repair import ANSWER_IN_JSON, PART_OMITTED

Body: TypeAlias = dict[str, Any]
Path: TypeAlias = list[str | int]
Fix: TypeAlias = Callable[[Body, Path, ModelProfile | None], None]


def mend_settings(body: Body, faults: Iterable[Fault], profile: ModelProfile | None) -> None:
    """Put right in place what the faults name, as far as it is a matter of settings."""
    # From behind, so that what goes moves no place that is still to come.
    for fault in sorted(faults, key=lambda each: _steps(each.path), reverse=True):
        fix = _FIXES.get(fault.rule)
        if fix is not None:
            fix(body, _path(fault.path), profile)


def _path(path: str) -> Path:
    steps = re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)
    return [int(number) if number else name for name, number in steps]


def _steps(path: str) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in _path(path)]


def _at(body: Any, path: Path) -> Any:
    """What stands there; None where nothing does."""
    for step in path:
        if isinstance(step, int):
            rows = cast("list[Any]", body) if isinstance(body, list) else []
            body = rows[step] if step < len(rows) else None
        else:
            body = cast("Body", body).get(step) if isinstance(body, dict) else None
    return body


def _leave_out(body: Body, path: Path, profile: ModelProfile | None = None) -> None:
    parent: Any = _at(body, path[:-1])
    last = path[-1]
    if isinstance(parent, dict):
        cast("Body", parent).pop(cast(str, last), None)
    elif isinstance(parent, list) and isinstance(last, int) and last < len(cast("Any", parent)):
        del cast("list[Any]", parent)[last]
    if parent in ({}, []) and len(path) > 1:
        _leave_out(body, path[:-1])


def _leave_out_whole(body: Body, path: Path, profile: ModelProfile | None) -> None:
    body.pop(cast(str, path[0]), None)


def _without(*names: str) -> Fix:
    def fix(body: Body, path: Path, profile: ModelProfile | None) -> None:
        for name in names:
            body.pop(name, None)

    return fix


def _set(body: Body, path: Path, value: Any) -> None:
    parent: Any = _at(body, path[:-1])
    if isinstance(parent, (dict, list)):
        cast("Any", parent)[path[-1]] = value


def _legal_name(body: Body, path: Path, profile: ModelProfile | None) -> None:
    _set(body, path, re.sub(r"[^a-zA-Z0-9_-]", "_", str(_at(body, path)))[:64] or "answer")


def _reasoning_params(body: Body, path: Path, profile: ModelProfile | None) -> None:
    if path == ["max_tokens"] and "max_completion_tokens" not in body:
        body["max_completion_tokens"] = body["max_tokens"]
    _leave_out(body, path)


def _ask_for_json(body: Body, path: Path, profile: ModelProfile | None) -> None:
    if isinstance(messages := body.get("messages"), list):
        role = "user" if profile is not None and not profile.leading_system else "system"
        cast("list[Any]", messages).insert(0, {"role": role, "content": ANSWER_IN_JSON})
    elif isinstance(items := body.get("input"), list):
        said = {"type": "message", "role": "developer", "content": ANSWER_IN_JSON}
        cast("list[Any]", items).insert(0, said)
    elif isinstance(body.get("input"), str):
        body["input"] = f"{body['input']}\n\n{ANSWER_IN_JSON}"


def _not_forced(body: Body, path: Path, profile: ModelProfile | None) -> None:
    body["tool_choice"] = {"type": "auto"}


def _most_tokens(body: Body, path: Path, profile: ModelProfile | None) -> None:
    limit = profile.max_output_tokens if profile is not None else None
    given: Any = body.get("max_tokens")
    if limit is not None and isinstance(given, int) and given > limit:
        body["max_tokens"] = limit


def _as_users(body: Body, path: Path, profile: ModelProfile | None) -> None:
    _set(body, path, "user")


def _as_note(body: Body, path: Path, profile: ModelProfile | None) -> None:
    place = path[: path.index("parts") + 2] if "parts" in path else path
    _set(body, place, {"text": PART_OMITTED})


def _as_json_schema(body: Body, path: Path, profile: ModelProfile | None) -> None:
    for old, new in (
        ("parameters", "parametersJsonSchema"),
        ("response", "responseJsonSchema"),
        ("responseSchema", "responseJsonSchema"),
    ):
        if old in path:
            parent: Any = _at(body, path[: path.index(old)])
            if isinstance(parent, dict) and old in parent:
                fields = cast("Body", parent)
                fields[new] = fields.pop(old)
            return


def _into_list(body: Body, path: Path, profile: ModelProfile | None) -> None:
    """Tools that come inside the conversation are there from the start."""
    given: Any = _at(body, path)
    _leave_out(body, path)
    row = cast("Body", given) if isinstance(given, dict) else {}
    added: Any = row.get("tools")
    if row.get("type") == "tool_addition":
        added = [_at(row, ["tool", "definition"])]
    listed: Any = body.get("tools") or []
    if not isinstance(listed, list) or not isinstance(added, list):
        return
    tools, more = cast("list[Any]", listed), cast("list[Any]", added)
    names = {_at(tool, ["name"]) for tool in tools}
    if new := [tool for tool in more if tool and _at(tool, ["name"]) not in names]:
        body["tools"] = [*tools, *new]


def _no_allowed_names(body: Body, path: Path, profile: ModelProfile | None) -> None:
    config: Any = _at(body, ["toolConfig", "functionCallingConfig"])
    if isinstance(config, dict):
        cast("Body", config).pop("allowedFunctionNames", None)


def _json_answer(body: Body, path: Path, profile: ModelProfile | None) -> None:
    config: Any = body.get("generationConfig")
    if isinstance(config, dict):
        config["responseMimeType"] = "application/json"


_FIXES: Final[Mapping[str, Fix]] = {
    "openai/tool-choice": _without("tool_choice", "parallel_tool_calls"),
    "openai/search-model": _leave_out,
    "openai/reasoning-params": _reasoning_params,
    "openai/reasoning-effort": _leave_out,
    "openai/json-mode": _ask_for_json,
    "openai/format-name": _legal_name,
    "openai/range": _leave_out,
    "openai/dependent-option": _leave_out,
    "openai/cache-options": _leave_out,
    "openai-responses/not-stored": _leave_out,
    "openai-responses/tool-choice": _without("tool_choice"),
    "openai-responses/state-conflict": _without("previous_response_id"),
    "openai-responses/json-mode": _ask_for_json,
    "openai-responses/format-name": _legal_name,
    "openai-responses/range": _leave_out,
    "openai-responses/reasoning-params": _leave_out,
    "openai-responses/reasoning-model": _leave_out_whole,
    "openai-responses/cache-options": _leave_out,
    "anthropic/prefill-thinking": _without("thinking"),
    "anthropic/tool-choice": _without("tool_choice"),
    "anthropic/tool-choice-forced": _not_forced,
    "anthropic/defer-search-tool": _leave_out,
    "anthropic/tool-reference-unknown": _leave_out,
    "anthropic/mcp-pairing": _leave_out,
    "anthropic/tool-changes-model": _into_list,
    "openai-responses/tool-changes-model": _into_list,
    "anthropic/max-tokens": _most_tokens,
    "anthropic/sampling": _leave_out,
    "anthropic/thinking-type": _without("thinking"),
    "anthropic/thinking-budget": _without("thinking"),
    "anthropic/effort": _leave_out,
    "anthropic/context-edits": _without("context_management"),
    "anthropic/compaction-combined": _without("context_management"),
    "gemini/role": _as_users,
    "gemini/part-data": _as_note,
    "gemini/schema": _as_json_schema,
    "gemini/tool-config": _no_allowed_names,
    "gemini/cached-content": _leave_out_whole,
    "gemini/response-format": _json_answer,
    "gemini/thinking": _leave_out,
    "gemini/range": _leave_out,
    "gemini/inline-data": _as_note,
    "gemini/file-data": _as_note,
}
