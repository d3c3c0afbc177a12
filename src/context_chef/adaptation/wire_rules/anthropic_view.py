"""A request to Anthropic as the API sees it: neighbours of one role merged, blocks with paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.rule import Request

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"

RESULT_OF = {
    "web_search_tool_result": "server_tool_use",
    "web_fetch_tool_result": "server_tool_use",
    "advisor_tool_result": "server_tool_use",
    "code_execution_tool_result": "server_tool_use",
    "bash_code_execution_tool_result": "server_tool_use",
    "text_editor_code_execution_tool_result": "server_tool_use",
    "tool_search_tool_result": "server_tool_use",
    "mcp_tool_result": "mcp_tool_use",
}
"""Server tool results, and the kind of call that each belongs to."""
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
THINKING = ("thinking", "redacted_thinking")


class At:
    """A block, its type and where it stands."""

    __slots__ = ("block", "kind", "path")

    def __init__(self, path: str, block: Mapping[str, Any]) -> None:
        self.path = path
        self.block = block
        self.kind = as_text(block.get("type"))


class Turn(NamedTuple):
    """A run of messages of one role."""

    role: str
    first: int
    """Index of its first message."""
    last: int
    blocks: list[At]


def blocks_of(content: Any, path: str) -> list[At]:
    """A message's blocks; plain text counts as one text block at the content's own path."""
    if isinstance(content, str):
        return [At(path, {"type": "text", "text": content})] if content else []
    return [At(f"{path}[{i}]", as_map(block)) for i, block in enumerate(as_list(content))]


def messages_of(request: Request) -> list[tuple[str, str, list[At]]]:
    """Path, role and blocks of every message."""
    if "messages" not in request.shared:
        request.shared["messages"] = [
            (
                f"messages[{i}]",
                as_text(as_map(message).get("role")),
                blocks_of(as_map(message).get("content"), f"messages[{i}].content"),
            )
            for i, message in enumerate(request.list_of("messages"))
        ]
    return request.shared["messages"]


def turns_of(request: Request) -> list[Turn]:
    """The messages with neighbours of one role merged, which is how tool results are judged."""
    if "turns" not in request.shared:
        turns: list[Turn] = []
        for index, (_, role, blocks) in enumerate(messages_of(request)):
            if turns and turns[-1].role == role:
                turns[-1].blocks.extend(blocks)
                turns[-1] = turns[-1]._replace(last=index)
            else:
                turns.append(Turn(role, index, index, list(blocks)))
        request.shared["turns"] = turns
    return request.shared["turns"]


def inside(at: At) -> Iterator[At]:
    """The blocks that stand inside that one: a tool result's, a document's."""
    content = at.block.get("content")
    if isinstance(content, list):
        for i, block in enumerate(as_list(content)):
            inner = At(f"{at.path}.content[{i}]", as_map(block))
            yield inner
            yield from inside(inner)
    source = as_map(at.block.get("source"))
    if isinstance(source.get("content"), list):
        for i, block in enumerate(as_list(source["content"])):
            yield At(f"{at.path}.source.content[{i}]", as_map(block))


def all_blocks(request: Request) -> list[tuple[str, At]]:
    """Every block with the role of its message, nested ones after the one that holds them."""
    if "blocks" not in request.shared:
        request.shared["blocks"] = list(_all_blocks(request))
    return request.shared["blocks"]


def _all_blocks(request: Request) -> Iterator[tuple[str, At]]:
    for at in blocks_of(request.body.get("system"), "system"):
        yield SYSTEM, at
    for _, role, blocks in messages_of(request):
        for at in blocks:
            yield role, at
            for inner in inside(at):
                yield role, inner


def tools_of(request: Request) -> list[At]:
    """The tools with their paths; a custom tool's kind is empty or `custom`."""
    return [At(f"tools[{i}]", as_map(tool)) for i, tool in enumerate(request.list_of("tools"))]


def is_custom(tool: At) -> bool:
    """Whether the tool is the user's own, with an `input_schema`."""
    return tool.kind in ("", "custom")


def thinking_type(request: Request) -> str:
    """The `thinking.type` of the request; empty when it says nothing."""
    return as_text(request.map_of("thinking").get("type"))


def thinking_is_on(request: Request) -> bool:
    return thinking_type(request) in ("enabled", "adaptive", "between_tools")


def output_format(request: Request) -> Mapping[str, Any]:
    """The structured output asked for, in its older place too; empty when there is none."""
    return as_map(request.map_of("output_config").get("format")) or request.map_of("output_format")


def prefill_of(request: Request) -> Turn | None:
    """The assistant turn that the conversation ends with and that the answer would go on from.

    None when the user's turn is last, or when the last turn may end in the assistant's for another
    reason: paused server tools, nothing but a compaction block, a fallback credit token.
    """
    turns = turns_of(request)
    if not turns or turns[-1].role != ASSISTANT or request.body.get("fallback_credit_token"):
        return None
    kinds = [at.kind for at in messages_of(request)[-1][2]]
    paused = any(kind in SERVER_CALLS or kind in RESULT_OF for kind in kinds)
    compacted = bool(kinds) and all(kind == "compaction" for kind in kinds)
    return None if paused or compacted else turns[-1]
