"""Anthropic: what messages and their content have to be like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from context_chef.adaptation.anthropic_body import MOST_MESSAGES
from context_chef.adaptation.wire_rules.anthropic_view import (
    ASSISTANT,
    RESULT_OF,
    SERVER_CALLS,
    SYSTEM,
    THINKING,
    USER,
    all_blocks,
    messages_of,
    output_format,
    prefill_of,
    thinking_is_on,
)
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.rule import (
    ANTHROPIC_VERSION,
    Finding,
    Request,
    RuleBook,
    one,
)

BOOK = RuleBook("anthropic")

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
_BASE: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 4096}


def asking(*messages: Any, **settings: Any) -> dict[str, Any]:
    """A small request, for examples."""
    return {**_BASE, "messages": list(messages) or [HELLO], **settings}


def said(role: str, *blocks: Any) -> dict[str, Any]:
    """A message of blocks, for examples."""
    return {"role": role, "content": list(blocks)}


def text(words: str, **more: Any) -> dict[str, Any]:
    """A text block, for examples."""
    return {"type": "text", "text": words, **more}


THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


@BOOK.rule(
    "messages-empty",
    "There is at least one message.",
    gist="at least one message is required",
    source="docs",
    sureness="B",
    beyond_repair="A conversation without messages has nothing to answer.",
    passing=asking(),
    failing={**_BASE, "messages": []},
)
def messages_empty(request: Request) -> Iterator[Finding]:
    if not request.list_of("messages"):
        yield Finding("messages", "at least one message is needed")


@BOOK.rule(
    "messages-limit",
    "There are at most 100,000 messages.",
    source="SDK",
    sureness="B",
    beyond_repair="What to leave out is for the overflow strategy to say.",
    passing=asking(),
    failing=asking(*[HELLO] * (MOST_MESSAGES + 1)),
)
def messages_limit(request: Request) -> Iterator[Finding]:
    if (count := len(request.list_of("messages"))) > MOST_MESSAGES:
        yield Finding("messages", f"{count:,} messages; {MOST_MESSAGES:,} are the most")


@BOOK.rule(
    "empty-content",
    "No message has empty content, except the final assistant one; no tool result an empty list.",
    gist="all messages must have non-empty content except for the optional final assistant message",
    source="recording (mirascope); glowingjade/obsidian-smart-composer#156",
    sureness="A",
    repair="The empty message is left out; an empty result says that there is no output.",
    passing=asking(HELLO, {"role": "assistant", "content": ""}),
    failing=asking(HELLO, {"role": "assistant", "content": ""}, HELLO),
)
def empty_content(request: Request) -> Iterator[Finding]:
    messages = request.list_of("messages")
    for index, message in enumerate(messages):
        message = as_map(message)
        content = message.get("content")
        last = index == len(messages) - 1 and message.get("role") == ASSISTANT
        if content in ("", []) and "content" in message and not last:
            yield Finding(f"messages[{index}].content", "the content is empty")
    for _, at in all_blocks(request):
        if at.kind == "tool_result" and at.block.get("content") == []:
            yield Finding(f"{at.path}.content", "the list is empty")


@BOOK.rule(
    "empty-text",
    "No text block is empty: in messages, in `system`, in tool results.",
    gist="text content blocks must be non-empty; cache_control cannot be set for empty text blocks",
    source="anthropics/claude-code#59812, #50082",
    sureness="A",
    repair="The empty block is left out; its breakpoint moves to the block before.",
    passing=asking(said("user", text("Hello"))),
    failing=asking(said("user", text("Hello"), text(""))),
)
def empty_text(request: Request) -> Iterator[Finding]:
    for _, at in all_blocks(request):
        if at.kind == "text" and at.block.get("text") == "":
            yield Finding(at.path, "the text block is empty")


@BOOK.rule(
    "whitespace-text",
    "A user's text has more than whitespace in it.",
    gist="must contain non-whitespace text",
    source="home-assistant/core#175637",
    sureness="A",
    repair="The blank block is left out.",
    passing=asking(said("user", text("Hello")), said("assistant", text(" ")), HELLO),
    failing=asking({"role": "user", "content": " \n"}),
)
def whitespace_text(request: Request) -> Iterator[Finding]:
    for _, role, blocks in messages_of(request):
        for at in blocks if role == USER else []:
            words = as_text(at.block.get("text"))
            if at.kind == "text" and words and not words.strip():
                yield Finding(at.path, "the text is nothing but whitespace")


_ONLY_ASSISTANT = ("tool_use", *THINKING, *SERVER_CALLS, *RESULT_OF, "compaction", "fallback")
_ONLY_USER = ("tool_result", "container_upload")
_IN_SYSTEM = ("text", "tool_addition", "tool_removal")


@BOOK.rule(
    "block-role",
    "Calls, thinking and server tool blocks stand in assistant messages, tool results in user "
    "messages; system messages hold text and tool changes.",
    gist="`tool_use` blocks can only be in `assistant` messages",
    source="docs; SDK",
    sureness="A",
    repair="The block is carried into a message of its own role.",
    passing=asking(HELLO, said("assistant", THOUGHT, text("Hi")), HELLO),
    failing=asking(said("user", THOUGHT, text("Hi"))),
)
def block_role(request: Request) -> Iterator[Finding]:
    for _, role, blocks in messages_of(request):
        for at in blocks:
            kind = at.kind
            if kind in _ONLY_ASSISTANT and role != ASSISTANT:
                yield Finding(at.path, f"`{kind}` stands only in assistant messages")
            elif kind in _ONLY_USER and role != USER:
                yield Finding(at.path, f"`{kind}` stands only in user messages")
            elif kind in ("tool_addition", "tool_removal") and role != SYSTEM:
                yield Finding(at.path, f"`{kind}` stands only in system messages")


@BOOK.rule(
    "system-role-model",
    'Messages of role "system" are sent only to models that know them.',
    gist="role 'system' is not supported on this model",
    source="docs: mid-conversation-system-messages",
    sureness="A",
    repair="The text goes into the user message next to it, marked as an instruction.",
    passing=one(asking(HELLO, {"role": "system", "content": "Be short."}), model="claude-opus-5"),
    failing=asking(HELLO, {"role": "system", "content": "Be short."}),
)
def system_role_model(request: Request) -> Iterator[Finding]:
    profile = request.profile
    if profile is None or profile.inline_system:
        return
    for path, role, blocks in messages_of(request):
        # A message of nothing but changes of tools has a rule of its own.
        if role == SYSTEM and not (blocks and all(at.kind in _IN_SYSTEM[1:] for at in blocks)):
            disputed = profile.how_sure("inline_system") == "C"
            yield Finding(
                path,
                f"{profile.name} does not take system messages inside the conversation",
                "warning" if disputed else "error",
            )


@BOOK.rule(
    "system-role-placement",
    "A system message is not the first one, follows a user message (or an assistant's that ends "
    "in a server tool), and is the last one or stands before an assistant message.",
    source="docs; recording",
    sureness="B",
    repair="The first instruction goes to `system`, others into the user message next to them.",
    passing=one(asking(HELLO, {"role": "system", "content": "Be short."}), model="claude-opus-5"),
    failing=one(
        asking(HELLO, {"role": "system", "content": "Be short."}, HELLO), model="claude-opus-5"
    ),
)
def system_role_placement(request: Request) -> Iterator[Finding]:
    messages = messages_of(request)
    for index, (path, role, _) in enumerate(messages):
        if role != SYSTEM:
            continue
        before = next((m for m in reversed(messages[:index]) if m[1] != SYSTEM), None)
        after = messages[index + 1][1] if index + 1 < len(messages) else None
        if before is None:
            yield Finding(path, "the first instruction belongs in the top-level `system`")
        elif before[1] == ASSISTANT and not _ends_in_server_tool(before[2]):
            yield Finding(path, "a system message follows a user message")
        if after == USER:
            yield Finding(path, "a system message cannot stand right before a user message")


def _ends_in_server_tool(blocks: list[Any]) -> bool:
    return bool(blocks) and (blocks[-1].kind in SERVER_CALLS or blocks[-1].kind in RESULT_OF)


@BOOK.rule(
    "prefill-unsupported",
    "The conversation ends with a user message on models from 4.6 on, and whenever structured "
    "output is asked for.",
    gist="This model does not support assistant message prefill. The conversation must end with a "
    "user message.",
    source="recording (activeagent); strands-agents/sdk-python#1694, livekit/agents#4907",
    sureness="A",
    repair="A guardrail's prefill becomes an instruction; after anything else the user's turn is "
    "opened.",
    passing=asking(HELLO, said("assistant", text("I"))),
    failing=one(asking(HELLO, said("assistant", text("I"))), model="claude-opus-5"),
)
def prefill_unsupported(request: Request) -> Iterator[Finding]:
    if (turn := prefill_of(request)) is None:
        return
    profile = request.profile
    path = f"messages[{turn.last}]"
    if profile is not None and not profile.prefill:
        yield Finding(path, f"{profile.name} wants the user's message last")
    elif output_format(request):
        yield Finding(path, "with structured output the last message is the user's")


@BOOK.rule(
    "prefill-thinking",
    "There is no prefill while thinking is on, and no thinking in a prefill while it is off.",
    gist="When thinking is disabled, an `assistant` message in the final position cannot contain "
    "`thinking`",
    source="docs; tailcallhq/forgecode#1853",
    sureness="A",
    repair="A guardrail's prefill has no thinking before it; otherwise `thinking` is left out.",
    passing=asking(HELLO, said("assistant", text("I"))),
    failing=asking(
        HELLO,
        said("assistant", text("I")),
        thinking={"type": "enabled", "budget_tokens": 1024},
    ),
)
def prefill_thinking(request: Request) -> Iterator[Finding]:
    turn, profile = prefill_of(request), request.profile
    if turn is None or (profile is not None and not profile.prefill):
        return
    path = f"messages[{turn.last}]"
    if thinking_is_on(request):
        yield Finding(path, "there is no prefill while thinking is on")
    elif any(at.kind in THINKING for at in turn.blocks if at.path.startswith(f"{path}.")):
        yield Finding(path, "with thinking off, a prefill holds no thinking")


@BOOK.rule(
    "prefill-whitespace",
    "A prefill does not end in whitespace.",
    gist="final assistant content cannot end with trailing whitespace",
    source="tailcallhq/forgecode#1872",
    sureness="A",
    repair="The whitespace at its end is cut off.",
    passing=asking(HELLO, said("assistant", text("I am"))),
    failing=asking(HELLO, said("assistant", text("I am "))),
)
def prefill_whitespace(request: Request) -> Iterator[Finding]:
    if (turn := prefill_of(request)) is None or not turn.blocks:
        return
    last = turn.blocks[-1]
    words = as_text(last.block.get("text"))
    if last.kind == "text" and words != words.rstrip():
        yield Finding(last.path, "the prefill ends in whitespace")


_DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Some words."},
}


@BOOK.rule(
    "document-role",
    f"From API version {ANTHROPIC_VERSION} on no document stands in an assistant message.",
    source="docs: api/migration-2026-10-21",
    sureness="B",
    repair="The document goes into a user message.",
    passing=asking(said("user", _DOCUMENT, text("Sum this up."))),
    failing=one(asking(HELLO, said("assistant", _DOCUMENT), HELLO), api_version=ANTHROPIC_VERSION),
)
def document_role(request: Request) -> Iterator[Finding]:
    if request.api_version < ANTHROPIC_VERSION:
        return
    for _, role, blocks in messages_of(request):
        for at in blocks:
            if role == ASSISTANT and at.kind == "document":
                yield Finding(at.path, "no document stands in an assistant message")


_CITATION: dict[str, Any] = {
    "type": "char_location",
    "cited_text": "words",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 5,
}


@BOOK.rule(
    "citations-role",
    f"From API version {ANTHROPIC_VERSION} on text in user messages carries no citations, inside "
    "search results neither.",
    source="docs: api/migration-2026-10-21",
    sureness="B",
    repair="The citations are left out; the text stays.",
    passing=asking(said("user", text("Hello", citations=[]))),
    failing=one(
        asking(said("user", text("Hello", citations=[_CITATION]))), api_version=ANTHROPIC_VERSION
    ),
)
def citations_role(request: Request) -> Iterator[Finding]:
    if request.api_version < ANTHROPIC_VERSION:
        return
    for role, at in all_blocks(request):
        if role == USER and at.kind == "text" and as_list(at.block.get("citations")):
            yield Finding(f"{at.path}.citations", "a user's text carries no citations")
