"""Anthropic: limits, sampling, thinking, caching, context management and beta features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_messages import (
    HELLO,
    THOUGHT,
    asking,
    said,
    text,
)
from context_chef.adaptation.wire_rules.anthropic_tools import call, result, tool
from context_chef.adaptation.wire_rules.anthropic_view import (
    ASSISTANT,
    SYSTEM,
    THINKING,
    USER,
    At,
    all_blocks,
    blocks_of,
    inside,
    messages_of,
    output_format,
    thinking_is_on,
    thinking_type,
    tools_of,
    turns_of,
)
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_number, as_text
from context_chef.adaptation.wire_rules.rule import (
    ANTHROPIC_VERSION,
    Finding,
    Request,
    RuleBook,
    one,
)

BOOK = RuleBook("anthropic")

_OLD_VERSION = "2023-06-01"
_ENABLED: dict[str, Any] = {"type": "enabled", "budget_tokens": 1024}
_EPHEMERAL: dict[str, Any] = {"type": "ephemeral"}
_HOUR: dict[str, Any] = {"type": "ephemeral", "ttl": "1h"}


@BOOK.rule(
    "max-tokens",
    "`max_tokens` is at least 0 and within the model's output limit. 0 warms the cache: not with "
    "`stream`, manual thinking, forced tools or structured output.",
    gist="max_tokens: 200000 > 128000",
    source="docs; anthropics/skills",
    sureness="A",
    repair="It is lowered to the model's limit.",
    passing=one(asking(max_tokens=64_000), model="claude-sonnet-4-5"),
    failing=one(asking(max_tokens=64_001), model="claude-sonnet-4-5"),
)
def max_tokens(request: Request) -> Iterator[Finding]:
    limit = as_number(request.body.get("max_tokens"))
    most = request.profile.max_output_tokens if request.profile is not None else None
    if limit is None:
        return
    if limit < 0:
        yield Finding("max_tokens", f"{limit} is below 0")
    elif most is not None and limit > most:
        yield Finding("max_tokens", f"{limit} > {most}, the most that the model gives out")
    elif limit == 0:
        forced = request.map_of("tool_choice").get("type") in ("any", "tool")
        manual = thinking_type(request) == "enabled"
        if request.body.get("stream") is True or manual or forced or output_format(request):
            yield Finding(
                "max_tokens",
                "0 goes with no `stream`, manual thinking, forced tools or structured output",
            )


@BOOK.rule(
    "sampling",
    f"`temperature`, `top_p`, `top_k`: gone from API version {ANTHROPIC_VERSION} on. Before, "
    "temperature is 0 to 1; from 4.7 on only the defaults; from Opus 4.1 on not temperature and "
    "top_p together; temperature 1 while thinking.",
    gist="temperature: range: 0..1",
    source="recording (rig); docs",
    sureness="A",
    repair="The setting is left out.",
    passing=one(asking(temperature=0.5), api_version=_OLD_VERSION),
    failing=one(asking(temperature=1.5), api_version=_OLD_VERSION),
)
def sampling(request: Request) -> Iterator[Finding]:
    given = [key for key in ("temperature", "top_p", "top_k") if key in request.body]
    if request.api_version >= ANTHROPIC_VERSION:
        for key in given:
            yield Finding(key, f"`{key}` is gone from API version {ANTHROPIC_VERSION} on")
        return
    temperature = as_number(request.body.get("temperature"))
    top_p = as_number(request.body.get("top_p"))
    kind = request.profile.sampling if request.profile is not None else None
    name = request.profile.name if request.profile is not None else ""
    if temperature is not None and not 0 <= temperature <= 1:
        yield Finding("temperature", f"{temperature} is not within 0 to 1")
    elif kind == "default_only":
        for key in given:
            if request.body[key] is not None and not (key == "temperature" and temperature == 1):
                yield Finding(key, f"{name} takes only the default")
    elif kind == "one_of" and temperature is not None and top_p is not None:
        yield Finding("top_p", f"{name} takes `temperature` or `top_p`, not both")
    elif temperature not in (None, 1) and thinking_is_on(request):
        yield Finding("temperature", "while thinking it can only be 1")


@BOOK.rule(
    "thinking-type",
    "The model accepts this `thinking.type`, at this effort.",
    gist='"thinking.type.disabled" is not supported for this model',
    source="docs",
    sureness="A",
    repair="`thinking` is left out.",
    passing=one(asking(thinking={"type": "adaptive"}), model="claude-opus-5"),
    failing=one(asking(thinking={"type": "adaptive"}), model="claude-sonnet-4-5"),
)
def thinking_type_accepted(request: Request) -> Iterator[Finding]:
    profile, kind = request.profile, thinking_type(request)
    if profile is None or not kind:
        return
    effort = as_text(request.map_of("output_config").get("effort"))
    quiet = profile.disabled_thinking_efforts
    if profile.thinking_types is not None and kind not in profile.thinking_types:
        yield Finding("thinking.type", f"{profile.name} does not take {kind!r}")
    elif kind == "disabled" and quiet is not None and effort and effort not in quiet:
        yield Finding("thinking.type", f"thinking cannot be disabled at effort {effort!r}")


@BOOK.rule(
    "thinking-budget",
    "`budget_tokens` is at least 1024 and below `max_tokens` (unless thinking is interleaved).",
    gist="max_tokens must be greater than thinking.budget_tokens",
    source="docs",
    sureness="A",
    repair="`thinking` is left out.",
    passing=asking(thinking=_ENABLED),
    failing=asking(thinking={"type": "enabled", "budget_tokens": 4096}),
)
def thinking_budget(request: Request) -> Iterator[Finding]:
    budget = as_number(request.map_of("thinking").get("budget_tokens"))
    if thinking_type(request) != "enabled" or budget is None:
        return
    interleaved = any(beta.startswith("interleaved-thinking") for beta in request.betas)
    limit = as_number(request.body.get("max_tokens"))
    if budget < 1024:
        yield Finding("thinking.budget_tokens", f"{budget} is below 1024")
    elif limit is not None and budget >= limit and not interleaved:
        yield Finding("thinking.budget_tokens", f"{budget} is not below `max_tokens`, {limit}")


@BOOK.rule(
    "thinking-first",
    "With manual thinking, an assistant message that has thinking starts with it, and so does the "
    "turn that trailing tool results continue.",
    gist="Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    source="pydantic/pydantic-ai#2075, n8n-io/n8n#22550, anthropics/claude-code#20705",
    sureness="A",
    beyond_repair="A signed thought cannot be made up: thinking is switched off for the turn.",
    passing=asking(
        HELLO,
        said("assistant", THOUGHT, call()),
        said("user", result()),
        tools=[tool()],
        thinking=_ENABLED,
    ),
    failing=asking(
        HELLO,
        said("assistant", call()),
        said("user", result()),
        tools=[tool()],
        thinking=_ENABLED,
    ),
)
def thinking_first(request: Request) -> Iterator[Finding]:
    if thinking_type(request) != "enabled":
        return
    turns = turns_of(request)
    told: set[str] = set()
    for _, role, blocks in messages_of(request):
        if role != ASSISTANT or not any(at.kind in THINKING for at in blocks):
            continue
        served = any(at.kind.endswith("tool_result") for at in blocks)
        if blocks[0].kind not in THINKING and blocks[0].kind != "compaction" and not served:
            told.add(blocks[0].path)
            yield Finding(blocks[0].path, f"thinking comes first, not `{blocks[0].kind}`")
    first = _turn_in_progress(request)
    if first is not None and turns[first].blocks:
        opening = turns[first].blocks[0]
        if opening.kind not in (*THINKING, "compaction") and opening.path not in told:
            yield Finding(opening.path, f"the turn starts with thinking, not `{opening.kind}`")


def _turn_in_progress(request: Request) -> int | None:
    """Index of the assistant turn with which the tool loop that the last results go on began."""
    turns = turns_of(request)
    start: int | None = None
    for index in range(len(turns) - 1, 0, -2):
        answers = turns[index]
        if answers.role != USER or turns[index - 1].role != ASSISTANT:
            break
        if not any(at.kind == "tool_result" for at in answers.blocks):
            break
        start = index - 1
    return start


@BOOK.rule(
    "thinking-signature",
    "A thinking block carries its signature.",
    gist="Invalid `signature` in `thinking` block; blocks in the latest assistant message cannot "
    "be modified",
    source="anthropics/claude-code#63267, can1357/oh-my-pi#6379",
    sureness="A",
    repair="Thinking without a signature is left out, or told as text on request.",
    passing=asking(HELLO, said("assistant", THOUGHT, text("Hi")), HELLO),
    failing=asking(HELLO, said("assistant", {**THOUGHT, "signature": ""}, text("Hi")), HELLO),
)
def thinking_signature(request: Request) -> Iterator[Finding]:
    for _, _, blocks in messages_of(request):
        for at in blocks:
            if at.kind == "thinking" and not at.block.get("signature"):
                yield Finding(at.path, "the signature is empty")


@BOOK.rule(
    "thinking-last",
    "The final block of an assistant turn is no thinking.",
    gist="The final block in an assistant message cannot be `thinking`",
    source="tailcallhq/forgecode#2107, NousResearch/hermes-agent#13010",
    sureness="A",
    repair="Thinking that nothing follows is left out.",
    passing=asking(HELLO, said("assistant", THOUGHT, text("Hi")), HELLO),
    failing=asking(HELLO, said("assistant", text("Hi"), THOUGHT), HELLO),
)
def thinking_last(request: Request) -> Iterator[Finding]:
    for turn in turns_of(request):
        if turn.role == ASSISTANT and turn.blocks and turn.blocks[-1].kind in THINKING:
            yield Finding(turn.blocks[-1].path, "the assistant's turn ends in thinking")


@BOOK.rule(
    "effort",
    "The model accepts this `output_config.effort`.",
    gist="This model does not support effort level 'xhigh'",
    source="recording",
    sureness="A",
    repair="It is left out.",
    passing=one(asking(output_config={"effort": "max"}), model="claude-opus-4-6"),
    failing=one(asking(output_config={"effort": "xhigh"}), model="claude-opus-4-6"),
)
def effort(request: Request) -> Iterator[Finding]:
    profile = request.profile
    wanted = as_text(request.map_of("output_config").get("effort"))
    if profile is None or profile.efforts is None or not wanted or wanted in profile.efforts:
        return
    yield Finding("output_config.effort", f"{profile.name} does not take {wanted!r}")


def _marks(request: Request) -> list[tuple[str, Mapping[str, Any]]]:
    """Every `cache_control` in the order in which the prompt is rendered, with the path of what
    carries it."""
    carriers: list[At] = list(tools_of(request))
    carriers += blocks_of(request.body.get("system"), "system")
    for _, _, blocks in messages_of(request):
        for at in blocks:
            # What is nested is rendered before the block that holds it ends.
            carriers += [*inside(at), at]
    found = [(at.path, as_map(at.block.get("cache_control"))) for at in carriers]
    return [(path, mark) for path, mark in found if mark]


@BOOK.rule(
    "cache-breakpoints",
    "There are at most 4 `cache_control` marks, nested ones and the top-level one counted.",
    gist="A maximum of 4 blocks with cache_control may be provided. Found 5.",
    source="agentjido/req_llm#503, tghamm/Anthropic.SDK#50",
    sureness="A",
    repair="The marks that help least are taken away.",
    passing=asking(said("user", *[text("a", cache_control=_EPHEMERAL)] * 4)),
    failing=asking(said("user", *[text("a", cache_control=_EPHEMERAL)] * 5)),
)
def cache_breakpoints(request: Request) -> Iterator[Finding]:
    marks = _marks(request)
    count = len(marks) + bool(request.map_of("cache_control"))
    if count > 4:
        yield Finding(marks[-1][0], f"{count} `cache_control` marks; 4 are the most")


@BOOK.rule(
    "cache-ttl-order",
    "In render order (tools, system, messages) every 1h mark comes before every 5m one.",
    gist="a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    source="agno-agi/agno#8406",
    sureness="A",
    repair="The later mark gets the shorter lifetime.",
    passing=asking(
        said("user", text("Hello", cache_control=_EPHEMERAL)),
        system=[text("Be short.", cache_control=_HOUR)],
    ),
    failing=asking(
        said("user", text("Hello", cache_control=_HOUR)),
        system=[text("Be short.", cache_control=_EPHEMERAL)],
    ),
)
def cache_ttl_order(request: Request) -> Iterator[Finding]:
    marks = [(f"{path}.cache_control.ttl", mark) for path, mark in _marks(request)]
    if automatic := request.map_of("cache_control"):
        marks.append(("cache_control.ttl", automatic))
    short = False
    for path, mark in marks:
        if mark.get("ttl") != "1h":
            short = True
        elif short:
            yield Finding(path, "a 1h mark comes after a 5m one")


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
    passing=_editing(_CLEAR_THINKING, _CLEAR_TOOLS, thinking=_ENABLED),
    failing=_editing(_CLEAR_TOOLS, _CLEAR_THINKING, thinking=_ENABLED),
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
