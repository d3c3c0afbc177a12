"""The operations of the store scenarios on tools, compiles, the pruner and skills."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from context_chef.ir.frozen import thaw
from context_chef.retrieval import (
    get_context_tool_definition,
    get_new_context_tool_definition,
    get_recall_tool_definition,
)
from tests.parity.store_values import ABSENT
from tests.parity.store_world import World

Operation = Callable[[World, dict[str, Any]], Awaitable[dict[str, Any]]]
TOOL_OPERATIONS: dict[str, Operation] = {}
DONE: dict[str, Any] = {"done": True}


def operation(*names: str) -> Callable[[Operation], Operation]:
    def register(function: Operation) -> Operation:
        for name in names:
            TOOL_OPERATIONS[name] = function
        return function

    return register


# ── Tools of the store ────────────────────────────────────────────────────────────────────────


@operation("owns_tool")
async def owns_tool(world: World, op: dict[str, Any]) -> dict[str, Any]:
    owns = world.chef.owns_tool(op["name"])
    return {"_also": {"owns": owns, "owned": owns, "owns_tool": owns}}


@operation("handle_tool")
async def handle_tool(world: World, op: dict[str, Any]) -> dict[str, Any]:
    call = {"name": op.get("name", "context")}
    if op.get("arguments", ABSENT) is not ABSENT:
        call["arguments"] = op["arguments"]
    text = await world.chef.handle_tool(call)
    if "save" in op:
        world.saved[op["save"]] = text
    is_error = text.startswith("Error: ")
    return {"is_error": is_error, "text": text, "_text": text}


@operation("tool_definition")
async def tool_definition(world: World, op: dict[str, Any]) -> dict[str, Any]:
    if op["which"] == "memory":
        memory = world.chef.get_memory()
        first, second = memory.get_tool_definitions(), memory.get_tool_definitions()
        same = all(left is right for left, right in zip(first, second, strict=True))
        return {
            "definitions": [definition(item) for item in first],
            "same_array_each_call": first is second,
            "same_objects_each_call": same,
        }
    get = {
        "context": get_context_tool_definition,
        "new_context": get_new_context_tool_definition,
        "recall_context": get_recall_tool_definition,
    }[op["which"]]
    found = get()
    return {
        **definition(found),
        "same_object_each_call": found is get(),
        "frozen": _frozen(found),
    }


def definition(tool: Any) -> dict[str, Any]:
    """A tool definition as it is recorded, descriptions left to their author."""
    if isinstance(tool, Mapping):
        name, description = tool["name"], tool.get("description", "")
        parameters: Any = tool.get("parameters")
    else:
        name, description, parameters = tool.name, tool.description, tool.parameters
    shape = None
    if parameters is not None:
        schema = thaw(parameters)
        properties = []
        for key, value in schema.get("properties", {}).items():
            row = {"name": key, "type": value.get("type")}
            if "enum" in value:
                row["enum"] = value["enum"]
            properties.append(row)
        shape = {
            "type": schema.get("type"),
            "properties": properties,
            "required": schema.get("required"),
            "keys": list(schema),
        }
    return {"name": name, "has_description": bool(description), "parameters": shape}


def _frozen(tool: Any) -> bool:
    try:
        if isinstance(tool, Mapping):
            tool["name"] = tool["name"]  # type: ignore[index]  # whether it can be changed is the question
        else:
            tool.name = tool.name
    except (AttributeError, TypeError):
        return True
    return False


@operation("requested_new_context")
async def requested_new_context(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"pending": world.chef.new_context_requested}


# ── Compiles ──────────────────────────────────────────────────────────────────────────────────


@operation("set_system_prompt")
async def set_system_prompt(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.set_system_prompt(op["messages"])
    return DONE


@operation("set_history")
async def set_history(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.set_history(op["messages"])
    return DONE


@operation("compile")
async def compile_chef(world: World, op: dict[str, Any]) -> dict[str, Any]:
    payload = await world.chef.compile(target="openai")
    meta = {
        "injected_memory_keys": list(payload.meta.injected_memory_keys),
        "memory_expired_keys": list(payload.meta.memory_expired_keys),
    }
    if payload.meta.active_skill_name is not None:
        meta["active_skill_name"] = payload.meta.active_skill_name
    tools = [tool.get("function", tool).get("name") for tool in payload.get("tools", [])]
    outcome: dict[str, Any] = {
        "messages": [_message(message) for message in payload["messages"]],
        "meta": meta,
    }
    if tools:
        outcome["tools"] = tools
    return outcome


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        # Blocks of one message are joined by a blank line where the wire has one string.
        content = "\n\n".join(part["text"] for part in content if part.get("type") == "text")
    row: dict[str, Any] = {"role": message["role"], "content": content or ""}
    if message.get("tool_calls"):
        row["tool_calls"] = [call["id"] for call in message["tool_calls"]]
    if message.get("tool_call_id"):
        row["tool_call_id"] = message["tool_call_id"]
    return row


# ── Pruner ────────────────────────────────────────────────────────────────────────────────────


@operation("register_tools")
async def register_tools(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.register_tools(op["tools"])
    return DONE


@operation("register_namespaces")
async def register_namespaces(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.register_namespaces(op["groups"])
    return DONE


@operation("register_toolkits")
async def register_toolkits(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.register_toolkits(op["groups"])
    return DONE


@operation("allow_only")
async def allow_only(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return _pruned(world.chef.get_pruner().allow_only(op["names"]))


@operation("prune_by_task")
async def prune_by_task(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return _pruned(world.chef.get_pruner().prune_by_task(op["task"]))


@operation("prune_by_task_and_allowlist")
async def prune_by_task_and_allowlist(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return _pruned(world.chef.get_pruner().prune_by_task_and_allowlist(op["task"], op["names"]))


def _pruned(result: Any) -> dict[str, Any]:
    return {
        "tools": [tool.name for tool in result.tools],
        "removed": list(result.removed),
        "kept": result.kept,
        "total": result.total,
    }


@operation("all_tools")
async def all_tools(world: World, op: dict[str, Any]) -> dict[str, Any]:
    pruner = world.chef.get_pruner()
    tools = pruner.all_tools() if callable(pruner.all_tools) else pruner.all_tools
    return {"tools": [tool.name for tool in tools]}


@operation("pruner_compile")
async def pruner_compile(world: World, op: dict[str, Any]) -> dict[str, Any]:
    from context_chef.prompts import tools as wording

    compiled = world.chef.get_pruner().compile()
    groups = {group.name for group in world.chef.get_pruner().namespaces}
    rows = []
    for tool in compiled.tools:
        row = definition(tool)
        if tool.name in groups:
            row["description"] = tool.description.replace(
                wording.ACTIONS_LABEL, "{{ACTIONS_LABEL}}"
            )
        rows.append(row)
    return {"tools": rows, "directory_xml": compiled.directory_xml}


@operation("resolve_namespace")
async def resolve_namespace(world: World, op: dict[str, Any]) -> dict[str, Any]:
    call = {"name": op["name"]}
    if op.get("arguments", ABSENT) is not ABSENT:
        call["arguments"] = op["arguments"]
    resolved = world.chef.get_pruner().resolve_namespace(call)
    group = getattr(resolved.group, "name", resolved.group)
    return {"group": group, "tool_name": resolved.tool_name, "args": thaw(resolved.args)}


@operation("is_namespace_call")
async def is_namespace_call(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"is_namespace": world.chef.get_pruner().is_namespace_call({"name": op["name"]})}


@operation("is_toolkit_loader")
async def is_toolkit_loader(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"is_loader": world.chef.get_pruner().is_toolkit_loader({"name": op["name"]})}


@operation("extract_toolkit")
async def extract_toolkit(world: World, op: dict[str, Any]) -> dict[str, Any]:
    tools = world.chef.get_pruner().extract_toolkit(op["name"])
    return {"tools": [tool.name for tool in tools]}


@operation("set_blocked_tools")
async def set_blocked_tools(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.get_pruner().set_blocked_tools(op["names"])
    return DONE


@operation("get_blocked_tools")
async def get_blocked_tools(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"names": list(world.chef.get_pruner().get_blocked_tools())}


@operation("check_tool_call")
async def check_tool_call(world: World, op: dict[str, Any]) -> dict[str, Any]:
    verdict = await world.chef.check_tool_call(op["call"])
    if verdict.allowed:
        return {"allowed": True}
    return {"allowed": False, "_text": verdict.reason or ""}


@operation("pruner_snapshot")
async def pruner_snapshot(world: World, op: dict[str, Any]) -> dict[str, Any]:
    state = world.chef.get_pruner().snapshot_state()
    if "save" in op:
        world.saved[op["save"]] = state
    names = ("flat_tools", "namespaces", "lazy_toolkits")
    return {
        **{name: [item["name"] for item in state[name]] for name in names},
        "blocked_tools": list(state["blocked_tools"]),
    }


@operation("pruner_restore")
async def pruner_restore(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.get_pruner().restore_state(op["from"])
    return DONE


# ── Skills ────────────────────────────────────────────────────────────────────────────────────


@operation("register_skills")
async def register_skills(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.register_skills(op["skills"])
    return DONE


@operation("registered_skills")
async def registered_skills(world: World, op: dict[str, Any]) -> dict[str, Any]:
    skills = world.chef.get_registered_skills()
    return {
        "_also": {
            "skills": [_skill(skill) for skill in skills],
            "names": [skill.name for skill in skills],
        }
    }


@operation("activate_skill")
async def activate_skill(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.chef.activate_skill(op["skill"])
    return DONE


@operation("get_active_skill")
async def get_active_skill(world: World, op: dict[str, Any]) -> dict[str, Any]:
    skill = world.chef.get_active_skill()
    return {"skill": skill and _skill(skill)}


@operation("load_skill")
async def load_skill(world: World, op: dict[str, Any]) -> dict[str, Any]:
    from context_chef.placement.skill_files import load_skill as load

    return {"skill": _skill(load(op["path"]))}


@operation("load_skills_dir")
async def load_skills_dir(world: World, op: dict[str, Any]) -> dict[str, Any]:
    from context_chef.placement.skill_files import load_skills_dir as load

    return _loaded(world, load(op["dir"]))


@operation("load_skills_dirs")
async def load_skills_dirs(world: World, op: dict[str, Any]) -> dict[str, Any]:
    from context_chef.placement.skill_files import load_skills_dirs as load

    options = {}
    if op.get("precedence", ABSENT) not in (ABSENT, None):
        options["precedence"] = op["precedence"]
    prefixes = op.get("namespace", op.get("namespaces"))
    if isinstance(prefixes, dict):
        options["namespace"] = lambda directory: prefixes.get(str(directory), "")
    elif isinstance(prefixes, str):
        options["namespace"] = lambda directory: Path(directory).name
    return _loaded(world, load(op["dirs"], **options))


def _loaded(world: World, loaded: Any) -> dict[str, Any]:
    return {
        "skills": [_skill(skill) for skill in loaded.skills],
        "errors": [_relative(world, problem.path) for problem in loaded.errors],
        "warnings": [
            {"path": _relative(world, warning.path), "rule": warning.rule}
            for warning in loaded.warnings
        ],
    }


def _relative(world: World, path: str) -> str:
    return os.path.relpath(Path(path), world.root) if os.path.isabs(path) else str(path)


def _skill(skill: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": skill.name,
        "description": skill.description,
        "instructions": skill.instructions,
    }
    if skill.when_to_use is not None:
        row["when_to_use"] = skill.when_to_use
    if skill.allowed_tools is not None:
        row["allowed_tools"] = list(skill.allowed_tools)
    if skill.metadata:
        row["metadata"] = thaw(skill.metadata)
    if skill.base_dir is not None:
        row["base_dir"] = skill.base_dir
    return row


@operation("render_skill")
async def render_skill(world: World, op: dict[str, Any]) -> dict[str, Any]:
    from context_chef.placement.skill_render import render_skill as render
    from context_chef.placement.skills import Skill

    skill = Skill(**{"name": "skill", "description": "", **op["skill"]})
    options = {k: v for k, v in (op.get("options") or {}).items() if v is not ABSENT}
    return {"instructions": render(skill, **options).instructions}


@operation("format_skill_listing")
async def format_skill_listing(world: World, op: dict[str, Any]) -> dict[str, Any]:
    from context_chef.placement.skill_render import format_skill_listing as listing
    from context_chef.placement.skills import Skill

    skills = [Skill(**{"instructions": "", **skill}) for skill in op["skills"]]
    options = {k: v for k, v in (op.get("options") or {}).items() if v is not ABSENT}
    return {"text": listing(skills, **options)}
