"""Anthropic: editing and compacting of the context, and the betas of features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_examples import ENABLED
from context_chef.adaptation.wire_rules.anthropic_messages import HELLO, asking, said
from context_chef.adaptation.wire_rules.anthropic_view import (
    ASSISTANT,
    SYSTEM,
    all_blocks,
    messages_of,
    thinking_type,
    tools_of,
)
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_number, as_text
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("anthropic")


_CLEAR_TOOLS: dict[str, Any] = {"type": "clear_tool_uses_20250919"}


_CLEAR_THINKING: dict[str, Any] = {"type": "clear_thinking_20251015"}


_CONTEXT_BETA = "context-management-2025-06-27"


_COMPACT_BETA = "compact-2026-01-12"


_SUMMARIZE_BETA = "compact-2026-09-04"


def _editing(*edits: Any, **settings: Any) -> dict[str, Any]:
    return asking(
        context_management={"edits": list(edits)},
        betas=[_CONTEXT_BETA, _COMPACT_BETA],
        **settings,
    )


@BOOK.rule(
    "context-edits",
    "Each edit once; `clear_thinking_20251015` first, only while thinking is on, `keep` at least "
    "1; `compact_20260112` from 50,000 input tokens on, not with `task_budget.remaining`.",
    source="docs: context editing, compaction",
    sureness="B",
    repair="`context_management` is left out.",
    passing=_editing(_CLEAR_THINKING, _CLEAR_TOOLS, thinking=ENABLED),
    failing=_editing(_CLEAR_TOOLS, _CLEAR_THINKING, thinking=ENABLED),
)
def context_edits(request: Request) -> Iterator[Finding]:
    path = "context_management.edits"
    edits = [as_map(edit) for edit in as_list(request.map_of("context_management").get("edits"))]
    kinds = [as_text(edit.get("type")) for edit in edits]
    for kind, count in Counter(kinds).items():
        if count > 1:
            yield Finding(path, f"`{kind}` appears {count} times")
    for index, (kind, edit) in enumerate(zip(kinds, edits, strict=True)):
        where = f"{path}[{index}]"
        if kind == "clear_thinking_20251015":
            kept = as_number(as_map(edit.get("keep")).get("value"))
            if index and index == kinds.index(kind):
                yield Finding(where, "this edit comes first")
            if _thinks_not(request):
                yield Finding(where, "this edit goes only with thinking")
            if kept is not None and kept < 1:
                yield Finding(f"{where}.keep.value", "at least 1 is kept")
        elif kind == "compact_20260112":
            trigger = as_number(as_map(edit.get("trigger")).get("value"))
            budget = as_map(request.map_of("output_config").get("task_budget"))
            if trigger is not None and trigger < 50_000:
                yield Finding(f"{where}.trigger.value", "the trigger is at least 50,000")
            if budget.get("remaining") is not None:
                yield Finding(where, "compaction does not go with `task_budget.remaining`")


def _thinks_not(request: Request) -> bool:
    """Whether thinking is off for sure: newer models think unless they are told not to."""
    kind, profile = thinking_type(request), request.profile
    types = profile.thinking_types if profile is not None else None
    return kind == "disabled" or (not kind and types is not None and "enabled" in types)


@BOOK.rule(
    "compaction-combined",
    "Top-level `compaction` excludes `context_management`.",
    source="docs",
    sureness="B",
    repair="`context_management` is left out.",
    passing=asking(compaction={"type": "summarize"}, betas=[_SUMMARIZE_BETA]),
    failing=asking(
        compaction={"type": "summarize"},
        context_management={"edits": [_CLEAR_TOOLS]},
        betas=[_SUMMARIZE_BETA, _CONTEXT_BETA],
    ),
)
def compaction_combined(request: Request) -> Iterator[Finding]:
    both = (request.body.get("compaction"), request.body.get("context_management"))
    if None not in both:
        yield Finding("compaction", "it does not go with `context_management`")


def _summary(**more: Any) -> dict[str, Any]:
    return {"type": "compaction", "content": "So far: a greeting.", **more}


@BOOK.rule(
    "compaction-block",
    "A compaction block has no empty text as content; a signed one is the first block of the "
    "conversation and the only signed one.",
    gist="compaction_block_misplaced, …_ambiguous, …_content_mismatch, …_signature_invalid",
    source="SDK error types; docs",
    sureness="B",
    repair="The last one is moved to the front, the others are left out.",
    passing=asking(said("assistant", _summary(signature="c2ln")), HELLO, betas=[_SUMMARIZE_BETA]),
    failing=asking(
        HELLO, said("assistant", _summary(signature="c2ln")), HELLO, betas=[_SUMMARIZE_BETA]
    ),
)
def compaction_block(request: Request) -> Iterator[Finding]:
    signed = 0
    first = True
    for _, role, blocks in messages_of(request):
        for at in blocks:
            if at.kind == "compaction" and role == ASSISTANT:
                if at.block.get("content") == "":
                    yield Finding(f"{at.path}.content", "the summary is empty")
                if at.block.get("signature"):
                    signed += 1
                    if not first:
                        yield Finding(at.path, "a signed summary is the conversation's first block")
            first = False
    if signed > 1:
        yield Finding("messages", f"{signed} signed summaries; only the last one is sent")


@BOOK.rule(
    "beta-missing",
    "A beta feature comes with its beta header.",
    gist="Extra inputs are not permitted",
    source="docs",
    sureness="A",
    repair="The header is added to what the payload says about betas.",
    passing=asking(context_management={"edits": [_CLEAR_TOOLS]}, betas=[_CONTEXT_BETA]),
    failing=asking(context_management={"edits": [_CLEAR_TOOLS]}),
)
def beta_missing(request: Request) -> Iterator[Finding]:
    for path, feature, betas in beta_features(request):
        if not request.betas.intersection(betas):
            yield Finding(path, f"{feature} needs the beta {' or '.join(betas)}")


_TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"


_INLINE_TOOLS = "inline-tools-2026-09-15"


_ADVISOR = "advisor-tool-2026-03-01"


_TOP_LEVEL = {
    "compaction": (_SUMMARIZE_BETA,),
    "mcp_servers": ("mcp-client-2025-11-20", "mcp-client-2026-09-15", "mcp-client-2025-04-04"),
    "fallbacks": ("server-side-fallback-2026-07-01", "server-side-fallback-2026-06-01"),
    "thread": ("message-threads-2026-08-12",),
}


def beta_features(request: Request) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every use of a beta feature: where, what, and the betas of which one is needed."""
    for key, betas in _TOP_LEVEL.items():
        if request.body.get(key):
            yield key, f"`{key}`", betas
    if as_map(request.map_of("output_config").get("task_budget")):
        yield "output_config.task_budget", "`task_budget`", ("task-budgets-2026-03-13",)
    if request.map_of("thinking").get("block_binding") is not None:
        beta = ("thinking-binding-controls-2026-08-01",)
        yield "thinking.block_binding", "`block_binding`", beta
    edits = as_list(request.map_of("context_management").get("edits"))
    for index, edit in enumerate(edits):
        kind = as_text(as_map(edit).get("type"))
        beta = _COMPACT_BETA if kind.startswith("compact") else _CONTEXT_BETA
        yield f"context_management.edits[{index}]", f"`{kind}`", (beta,)
    for at in tools_of(request):
        if at.kind == "advisor_20260301":
            yield at.path, "the advisor tool", (_ADVISOR,)
    for index, message in enumerate(request.list_of("messages")):
        message = as_map(message)
        if message.get("role") != SYSTEM:
            continue
        if message.get("clear_at") is not None:
            beta = ("mid-conversation-system-clear-at-2026-08-21",)
            yield f"messages[{index}]", "`clear_at`", beta
        if message.get("output_config") is not None:
            beta = ("mid-conversation-output-config-2026-07-01",)
            yield f"messages[{index}]", "`output_config` of a message", beta
    for _, at in all_blocks(request):
        if at.kind == "compaction":
            signed = bool(at.block.get("signature"))
            betas = (_SUMMARIZE_BETA,) if signed else (_COMPACT_BETA, _SUMMARIZE_BETA)
            yield at.path, "a compaction block", betas
        elif at.kind in ("tool_addition", "tool_removal"):
            inline = as_map(at.block.get("tool")).get("type") == "tool_definition"
            betas = (_INLINE_TOOLS,) if inline else (_TOOL_CHANGES, _INLINE_TOOLS)
            yield at.path, f"`{at.kind}`", betas
        elif at.kind == "advisor_tool_result":
            yield at.path, "an advisor block", (_ADVISOR,)
