"""Writes Responses requests: the items of each message, in the order in which they were said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.conversation import Conversation, check_written
from context_chef.adaptation.item_writer import ItemWriter, Made, is_marked_prompt
from context_chef.adaptation.line import Lines
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.namespaces import NAMESPACED_CALLS, homes_of, loads_tools
from context_chef.adaptation.openai_request import model_first, request_of, sdk_split
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.responses_parts import WIRE
from context_chef.adaptation.tools import convert_tools
from context_chef.adaptation.wire_naming import renamed_tools
from context_chef.ir.diagnostics import Repair
from context_chef.ir.handed_out import handed_out, sealed
from context_chef.ir.message import MessageLike
from context_chef.ir.message_memo import Memos
from context_chef.ir.repair import CONVERSATION_CONTINUES
from context_chef.ir.rows import read_messages
from context_chef.ir.running import RunningSum
from context_chef.ir.tools import ToolDefinition

_SDK_ARGUMENTS: Final = frozenset(
    {
        "access_programs", "background", "background_options", "context_management", "conversation",
        "image", "include", "input", "instructions", "max_output_tokens", "max_tool_calls",
        "metadata", "model", "moderation", "parallel_tool_calls", "previous_response_id", "prompt",
        "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
        "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature",
        "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
        "extra_headers", "extra_query", "extra_body", "timeout",
    }
)  # fmt: skip

_STORED: Final = frozenset({"previous_response_id", "conversation", "prompt"})
"""What can stand in for `input`, being stored with the provider."""


class OpenAIResponsesAdapter:
    """The target `openai-responses`: the Responses API."""

    def __init__(self, preserve_thinking_as_text: bool = False) -> None:
        self._preserve_thinking = preserve_thinking_as_text
        self._memos = Memos[Made]()
        self._lines = Lines[ItemWriter]()
        self._marked = Lines[RunningSum]()
        self._searched = Lines[RunningSum]()

    def compile(
        self,
        messages: Sequence[MessageLike],
        *,
        tools: Sequence[ToolDefinition] = (),
        model: str | None = None,
        profile: ModelProfile | None = None,
    ) -> dict[str, Any]:
        """The body's `input`, and `instructions` and `tools` when there are any, exactly as said.

        Nothing is mended on the way: argument text, ids and reasoning items go out word for word.
        """
        request = AdaptRequest(
            messages=read_messages(messages),
            tools=tuple(tools),
            profile=profile or profile_for(model, WIRE),
        )
        return self._adapted(request, mend=False).body

    def adapt(self, request: AdaptRequest) -> Adapted:
        """The request; ids that would drag in what is not there any more are taken off."""
        return self._adapted(request, mend=True)

    def sdk_arguments(self, adapted: Adapted) -> dict[str, Any]:
        """What `client.responses.create(model=…, **arguments)` takes."""
        return responses_arguments(adapted.body)

    def _adapted(
        self, request: AdaptRequest, *, mend: bool, others: Mapping[str, Any] | None = None
    ) -> Adapted:
        converted = request.converted
        if converted is None:
            converted = convert_tools(request.tools, target=WIRE, profile=request.profile)
        profile = request.profile
        preserve = self._preserve_thinking or request.preserve_thinking_as_text
        marks = profile is not None and profile.cache.explicit_marks
        as_parts = request.moving_breakpoints and marks
        # A string cannot hold a breakpoint: then the whole system prompt goes as items.
        as_items = as_parts or (marks and self._is_prompt_marked(request))
        way = (profile, preserve, mend, renamed_tools(converted), as_items, as_parts)

        def writer() -> ItemWriter:
            return ItemWriter(
                profile=profile,
                preserve_thinking=preserve,
                mend=mend,
                names=converted.names,
                memo=self._memos.of(way),
                system_as_items=as_items,
                as_parts=as_parts,
                request=others,
            )

        line = self._lines.take(way, writer)
        written = line.write(request.messages, request.starts)
        repairs, diagnostics = tuple(line.notes.repairs), tuple(line.notes.diagnostics)
        if others is None:
            self._lines.put(way, line)
        body: dict[str, Any] = {}
        if written.instructions:
            body["instructions"] = written.instructions
        body["input"] = written.input
        if mend and request.messages and not written.input:
            # Reasoning alone, say, that led to nothing.
            said = {"type": "input_text", "text": CONVERSATION_CONTINUES}
            body["input"] = handed_out([{"type": "message", "role": "user", "content": [said]}])
            message = "nothing was left to answer: a user message opens the conversation"
            opened = Repair(rule=f"{WIRE}/input-empty", where="input", message=message)
            repairs = (*repairs, opened)
        if converted.wire:
            body["tools"] = handed_out(converted.wire)
        if mend and self._has_namespaces(request, converted.wire):
            repairs = (*repairs, *_say_namespaces(body))
        return Adapted(
            body=body,
            repairs=(*converted.repairs, *repairs),
            diagnostics=(*converted.diagnostics, *diagnostics),
        )

    def _is_prompt_marked(self, request: AdaptRequest) -> bool:
        marked = self._marked.take((), lambda: RunningSum(is_marked_prompt))
        found = marked.total(request.messages, request.starts) > 0
        self._marked.put((), marked)
        return found

    def _has_namespaces(self, request: AdaptRequest, tools: Sequence[Any]) -> bool:
        searched = self._searched.take((), lambda: RunningSum(loads_tools))
        found = searched.total(request.messages, request.starts) > 0
        self._searched.put((), searched)
        return found or any(tool.get("type") == "namespace" for tool in tools)

    def forget(self) -> None:
        """Let go of what was written last."""
        self._lines.clear()
        self._marked.clear()
        self._searched.clear()

    def body_of(self, request: AdaptRequest, others: Mapping[str, Any] | None) -> dict[str, Any]:
        """The body of a conversation that was read, whose other keys are known."""
        return self._adapted(request, mend=False, others=others).body


def _say_namespaces(body: dict[str, Any]) -> Iterator[Repair]:
    """Calls of functions outside of the default namespace say where those are."""
    rows = body["input"]
    if isinstance(rows, str):
        return
    homes = homes_of(rows, body.get("tools", ()))
    for place, row in enumerate(rows):
        home = homes.get(row.get("name", ""))
        if home is None or row.get("type") not in NAMESPACED_CALLS or row.get("namespace"):
            continue
        rows[place] = sealed({**row, "namespace": home})
        yield Repair(
            rule=f"{WIRE}/tool-search",
            where=f"input[{place}]",
            message=f"the call of {row['name']!r} now names the namespace {home!r} of its tool",
        )


def to_openai_responses(
    conversation: Conversation | Sequence[MessageLike],
    *,
    system: str | MessageLike | Sequence[MessageLike] | None = None,
    tools: Sequence[ToolDefinition] = (),
    model: str | None = None,
    profile: ModelProfile | None = None,
    preserve_thinking_as_text: bool = False,
) -> dict[str, Any]:
    """The Responses body of a conversation or of messages.

    What `from_openai_responses` read comes out as the same conversation, with the other keys of
    the body. `system` and `tools` take the place of the conversation's own. Only item ids whose
    reasoning item has left the conversation since are taken off, and reasoning whose item has left.
    """
    check_written(tools, profile, preserve_thinking_as_text)
    request = request_of(conversation, system=system, tools=tools, model=model, wire=WIRE)
    others = request.others
    body = OpenAIResponsesAdapter(preserve_thinking_as_text).body_of(
        AdaptRequest(
            messages=request.messages,
            tools=request.tools,
            profile=profile or profile_for(model, WIRE),
        ),
        others if request.was_read else None,
    )
    if not body["input"] and "input" not in others and _STORED & others.keys():
        del body["input"]
    return model_first({**others, **body})


def responses_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body as keyword arguments of the SDK; keys it has no name for go into `extra_body`."""
    return sdk_split(body, _SDK_ARGUMENTS)
