"""Anthropic: thinking and effort."""

from __future__ import annotations

from collections.abc import Iterator

from context_chef.adaptation.wire_rules.anthropic_examples import ENABLED, call, result, tool
from context_chef.adaptation.wire_rules.anthropic_messages import HELLO, THOUGHT, asking, said, text
from context_chef.adaptation.wire_rules.anthropic_view import (
    ASSISTANT,
    THINKING,
    USER,
    messages_of,
    thinking_type,
    turns_of,
)
from context_chef.adaptation.wire_rules.json_access import as_number, as_text
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook, one

BOOK = RuleBook("anthropic")


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
    passing=asking(thinking=ENABLED),
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
        thinking=ENABLED,
    ),
    failing=asking(
        HELLO,
        said("assistant", call()),
        said("user", result()),
        tools=[tool()],
        thinking=ENABLED,
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
