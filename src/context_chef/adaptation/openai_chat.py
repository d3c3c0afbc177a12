"""Writes Chat Completions requests: one message of ours is one of theirs, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.chat_writer import WIRE, ChatWriter, Made, judge_tools
from context_chef.adaptation.conversation import Conversation, check_written
from context_chef.adaptation.line import Lines
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.openai_request import model_first, request_of, sdk_split
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import convert_tools
from context_chef.adaptation.wire_naming import renamed_tools
from context_chef.ir.handed_out import handed_out
from context_chef.ir.message import MessageLike
from context_chef.ir.message_memo import Memos
from context_chef.ir.rows import read_messages
from context_chef.ir.tools import ToolDefinition

_SDK_ARGUMENTS: Final = frozenset(
    {
        "messages", "model", "audio", "frequency_penalty", "function_call", "functions",
        "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities",
        "moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty",
        "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort",
        "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
        "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user",
        "verbosity", "web_search_options", "extra_headers", "extra_query", "extra_body", "timeout",
    }
)  # fmt: skip


class OpenAIAdapter:
    """The target `openai`: Chat Completions, and servers that speak its language."""

    def __init__(self, preserve_thinking_as_text: bool = False) -> None:
        self._preserve_thinking = preserve_thinking_as_text
        self._memos = Memos[Made]()
        self._lines = Lines[ChatWriter]()

    def compile(
        self,
        messages: Sequence[MessageLike],
        *,
        tools: Sequence[ToolDefinition] = (),
        model: str | None = None,
        profile: ModelProfile | None = None,
    ) -> dict[str, Any]:
        """The body's `messages` (and `tools`, when there are any), exactly as they were said.

        Nothing is mended on the way: argument text goes out word for word.
        """
        request = AdaptRequest(
            messages=read_messages(messages),
            tools=tuple(tools),
            profile=profile or profile_for(model, WIRE),
        )
        return self._adapted(request, mend=False).body

    def adapt(self, request: AdaptRequest) -> Adapted:
        """The request, with argument text that is no JSON object mended."""
        return self._adapted(request, mend=True)

    def sdk_arguments(self, adapted: Adapted) -> dict[str, Any]:
        """What `client.chat.completions.create(model=…, **arguments)` takes.

        A reasoning effort of ours goes into `extra_body`: an argument of the caller's own beside it
        is no conflict then, and what the model needs with tools holds.
        """
        arguments = chat_arguments(adapted.body)
        if "reasoning_effort" in arguments:
            effort = arguments.pop("reasoning_effort")
            extra = arguments.get("extra_body", {})
            arguments["extra_body"] = {**extra, "reasoning_effort": effort}
        return arguments

    def _adapted(self, request: AdaptRequest, *, mend: bool) -> Adapted:
        converted = request.converted
        if converted is None:
            converted = convert_tools(request.tools, target=WIRE, profile=request.profile)
        profile = request.profile
        preserve = self._preserve_thinking or request.preserve_thinking_as_text
        as_parts = (
            request.moving_breakpoints and profile is not None and profile.cache.explicit_marks
        )
        way = (profile, preserve, mend, renamed_tools(converted), as_parts)

        def writer() -> ChatWriter:
            return ChatWriter(
                profile=profile,
                preserve_thinking=preserve,
                mend=mend,
                names=converted.names,
                memo=self._memos.of(way),
                as_parts=as_parts,
            )

        line = self._lines.take(way, writer)
        body: dict[str, Any] = {"messages": line.write(request.messages, request.starts)}
        repairs, diagnostics = tuple(line.notes.repairs), tuple(line.notes.diagnostics)
        self._lines.put(way, line)
        notes = Notes(WIRE)
        if converted.wire:
            tools = body["tools"] = handed_out(converted.wire)
            if judge_tools(tools.raw(), profile, notes, mend=mend):
                body["reasoning_effort"] = "none"
        return Adapted(
            body=body,
            repairs=(*converted.repairs, *repairs, *notes.repairs),
            diagnostics=(*converted.diagnostics, *diagnostics, *notes.diagnostics),
        )

    def forget(self) -> None:
        """Let go of what was written last."""
        self._lines.clear()


def to_openai(
    conversation: Conversation | Sequence[MessageLike],
    *,
    system: str | MessageLike | Sequence[MessageLike] | None = None,
    tools: Sequence[ToolDefinition] = (),
    model: str | None = None,
    profile: ModelProfile | None = None,
    preserve_thinking_as_text: bool = False,
) -> dict[str, Any]:
    """The Chat Completions body of a conversation or of messages.

    What `from_openai` read comes out as the same conversation, with the other keys of the body.
    `system` and `tools` take the place of the conversation's own. Nothing is mended, and without
    `model` or `profile` nothing is left out for the model's sake.
    """
    check_written(tools, profile, preserve_thinking_as_text)
    request = request_of(conversation, system=system, tools=tools, model=model, wire=WIRE)
    body = OpenAIAdapter(preserve_thinking_as_text).compile(
        request.messages, tools=request.tools, model=model, profile=profile
    )
    return model_first({**request.others, **body})


def chat_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body as keyword arguments of the SDK; keys it has no name for go into `extra_body`."""
    return sdk_split(body, _SDK_ARGUMENTS)
