"""Why something is in a request, in a sentence for people."""

from __future__ import annotations

from typing import Final

_BY_SOURCE: Final = {
    "system_prompt": "set by `set_system_prompt`; stands in front of everything but the tools",
    "memory": "the memory block, rendered for each request",
    "memory_instruction": "says how memory works, whenever memory is configured",
    "toolkits": "the directory of `register_toolkits`; stands in the prefix",
    "dynamic_state": "set by `set_dynamic_state`; may change by the turn, so it goes to the end",
    "implicit_context": "what `before-assemble` handlers injected; lives for one compile",
    "announcements": "what `announce` says in every request until it is retracted",
    "anchor": "says that what stands around it is current",
    "guardrail": "the rule of `with_guardrails`",
    "prefill": "the opening of the answer that `with_guardrails` asked for",
    "fold": "stands for messages that left the window",
    "sent_tail": 'a tail of an earlier request, which stays where it was sent (`tail="append"`)',
    "tool_change": "tools that came or went, said in the conversation",
    "slot": "a handler brought it",
    "repair": "only mending brought it: without it the provider answers 400",
    "adapter": "the target's own form needs it",
    "caller": "changed in the payload after the compile",
    "settings": "a setting of the request",
    "server": "asks the provider to manage the window itself",
    "provider": "the provider's own words about tools",
}
_BY_KIND: Final = {
    "history": "said in the conversation: `set_history`, `append` or `extend`",
    "tool": "offered by `register_tools` or by the chef; stands in front of everything",
    "skill": "the active skill (`activate_skill`)",
    "memory": "a memory entry",
    "announcement": "said by `announce` in every request until it is retracted",
    "toolkit": "a toolkit of `register_toolkits`",
    "dynamic_state": "a key of the state of `set_dynamic_state`",
    "before-assemble": "injected by this handler for this compile",
    "after-assemble": "this handler put it into the window",
    "after-adapt": "this handler changed the finished request",
    "system": "stands in the system prompt of the body",
    "systemInstruction": "stands in the system prompt of the body",
    "instructions": "stands in the system prompt of the body",
    "messages": "stands in the conversation of the body",
    "contents": "stands in the conversation of the body",
    "input": "stands in the conversation of the body",
    "setting": "a setting of the request",
}


def kind_of_source(source: str) -> str:
    """`history` of `history[4]`, `tool` of `tool:look`; a source without a name is its own kind."""
    return source.partition(":")[0].partition("[")[0].partition(".")[0]


def rule_of(source: str) -> str:
    """Why something of that source is there."""
    named = ":" in source or "[" in source
    if not named and source in _BY_SOURCE:
        return _BY_SOURCE[source]
    return _BY_KIND.get(kind_of_source(source), "")
