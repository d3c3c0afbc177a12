"""Writes Responses requests: the items of each message, in the order in which they were said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.item_writer import ItemWriter, Made
from context_chef.adaptation.message_memo import Memos
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.openai_request import model_first, request_of, sdk_split
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.responses_parts import WIRE
from context_chef.ir.message import MessageLike
from context_chef.ir.rows import read_messages
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
        writer = self._writer(profile or profile_for(model, WIRE), mend=False)
        return writer.body(read_messages(messages), tools)

    def adapt(self, request: AdaptRequest) -> Adapted:
        """The request; ids that would drag in what is not there any more are taken off."""
        writer = self._writer(
            request.profile,
            mend=True,
            preserve=request.preserve_thinking_as_text,
            moving_breakpoints=request.moving_breakpoints,
        )
        body = writer.body(request.messages, request.tools)
        return Adapted(
            body=body,
            repairs=tuple(writer.notes.repairs),
            diagnostics=tuple(writer.notes.diagnostics),
        )

    def sdk_arguments(self, adapted: Adapted) -> dict[str, Any]:
        """What `client.responses.create(model=…, **arguments)` takes."""
        return responses_arguments(adapted.body)

    def _writer(
        self,
        profile: ModelProfile | None,
        *,
        mend: bool,
        preserve: bool = False,
        moving_breakpoints: bool = False,
    ) -> ItemWriter:
        return ItemWriter(
            profile=profile,
            preserve_thinking=preserve or self._preserve_thinking,
            mend=mend,
            memos=self._memos,
            moving_breakpoints=moving_breakpoints,
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
    request = request_of(conversation, system=system, tools=tools, model=model, wire=WIRE)
    writer = ItemWriter(
        profile=profile or profile_for(model, WIRE),
        preserve_thinking=preserve_thinking_as_text,
        mend=False,
    )
    others = request.others
    body = writer.body(request.messages, request.tools, others if request.was_read else None)
    if not body["input"] and "input" not in others and _STORED & others.keys():
        del body["input"]
    return model_first({**others, **body})


def responses_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body as keyword arguments of the SDK; keys it has no name for go into `extra_body`."""
    return sdk_split(body, _SDK_ARGUMENTS)
