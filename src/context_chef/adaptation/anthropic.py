"""To Anthropic: a finished window as a Messages request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.anthropic_blocks import BlockWriter, Made
from context_chef.adaptation.anthropic_body import mend_breakpoints, needed_betas
from context_chef.adaptation.anthropic_writer import ConversationWriter
from context_chef.adaptation.conversation import Conversation, check_written
from context_chef.adaptation.line import Lines
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.offered_tools import offered_tools
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import convert_tools
from context_chef.adaptation.wire_naming import way_of_naming
from context_chef.ir.handed_out import handed_out
from context_chef.ir.message import MessageLike
from context_chef.ir.message_memo import Memos
from context_chef.ir.rows import read_messages, read_system
from context_chef.ir.tools import ToolDefinition

_SDK_ARGUMENTS: Final = frozenset(
    {
        "cache_control", "container", "inference_geo", "max_tokens", "messages", "metadata",
        "model", "output_config", "service_tier", "stop_sequences", "stream", "system", "thinking",
        "tool_choice", "tools",
    }
)  # fmt: skip
"""What every supported version of `client.messages.create` takes by name."""


class AnthropicAdapter:
    """Writes Messages requests.

    What is adapted is written down as it stands: pairing and the like are mended before, by
    `make_sendable`. With `preserve_thinking_as_text`, reasoning that Anthropic cannot read goes as
    text in front of the answer instead of being left out.
    """

    def __init__(self, preserve_thinking_as_text: bool = False) -> None:
        self._thinking_as_text = preserve_thinking_as_text
        self._memos: Memos[Made] = Memos()
        self._lines: Lines[ConversationWriter] = Lines()
        self._refers = False
        """Messages refer to tools, so that what is written depends on those that are offered."""
        self._defines = False
        """Messages define tools."""

    def adapt(self, request: AdaptRequest) -> Adapted:
        """`system`, `messages` and `tools` of the request; keys that would be empty are absent."""
        tools = request.converted
        # Whoever writes a conversation down alone may have its tools elsewhere.
        more = self._defines or tools is None
        if tools is None:
            tools = convert_tools(request.tools, target="anthropic", profile=request.profile)
        converted, profile = tools, request.profile
        as_text = self._thinking_as_text or request.preserve_thinking_as_text
        offered = offered_tools(tools.wire, tools.names, more=more)
        naming = (as_text, way_of_naming(tools), offered if self._refers else None)

        def writer() -> ConversationWriter:
            blocks = BlockWriter(converted, thinking_as_text=as_text)
            return ConversationWriter(blocks, self._memos.of(naming), profile)

        way = (naming, profile)
        line = self._lines.take(way, writer)
        line.offer(offered)
        written = line.write(request.messages, request.starts)
        self._refers = self._refers or line.refers
        self._defines = self._defines or line.defines
        repairs, diagnostics = tuple(line.notes.repairs), tuple(line.notes.diagnostics)
        self._lines.put(way, line)
        body: dict[str, Any] = {}
        if written.system:
            body["system"] = written.system
        body["messages"] = written.messages
        if tools.wire:
            body["tools"] = handed_out(tools.wire)
        notes = Notes("anthropic")
        mend_breakpoints(body, notes, rows=written.marked)
        return Adapted(
            body=body,
            betas=needed_betas(body, verbatim=written.verbatim, rows=written.with_fields),
            repairs=(*tools.repairs, *repairs, *notes.repairs),
            diagnostics=(*tools.diagnostics, *diagnostics),
        )

    def forget(self) -> None:
        """Let go of what was written last."""
        self._lines.clear()

    def sdk_arguments(self, adapted: Adapted) -> dict[str, Any]:
        """What `client.messages.create(model=…, max_tokens=…, **arguments)` takes.

        Keys that only the beta client knows go into `extra_body`, betas into `extra_headers`.
        """
        arguments = {key: value for key, value in adapted.body.items() if key in _SDK_ARGUMENTS}
        extra = {key: value for key, value in adapted.body.items() if key not in _SDK_ARGUMENTS}
        if extra:
            arguments["extra_body"] = extra
        if adapted.betas:
            arguments["extra_headers"] = {"anthropic-beta": ",".join(adapted.betas)}
        return arguments

    def compile(
        self,
        messages: Sequence[MessageLike],
        *,
        tools: Sequence[ToolDefinition] = (),
        model: str | None = None,
        profile: ModelProfile | None = None,
    ) -> dict[str, Any]:
        """The HTTP body of these messages and tools."""
        request = AdaptRequest(
            messages=read_messages(messages),
            tools=tuple(tools),
            profile=profile or profile_for(model, "anthropic"),
        )
        return self.adapt(request).body


def to_anthropic(
    conversation: Conversation | Sequence[MessageLike],
    *,
    system: str | MessageLike | Sequence[MessageLike] | None = None,
    tools: Sequence[ToolDefinition] = (),
    model: str | None = None,
    profile: ModelProfile | None = None,
    preserve_thinking_as_text: bool = False,
) -> dict[str, Any]:
    """The Messages body of a conversation or of messages.

    What `from_anthropic` read comes out as the same conversation, with the other keys of the body
    (`model`, `max_tokens`, `thinking`, …). Without `model` or `profile` the model of the body
    decides what is possible. `system` and `tools` take the place of the conversation's.
    """
    check_written(tools, profile, preserve_thinking_as_text)
    request: dict[str, Any] = {}
    if isinstance(conversation, Conversation):
        request = conversation.request_for("anthropic")
        messages = conversation.messages if system is None else conversation.history
        tools = tools or conversation.tools
    else:
        messages = read_messages(conversation)
    if system is not None:
        messages = (*read_system(system), *messages)
    if model is not None:
        request["model"] = model
    named = request.get("model")
    known = profile or profile_for(named if isinstance(named, str) else None, "anthropic")
    adapter = AnthropicAdapter(preserve_thinking_as_text=preserve_thinking_as_text)
    adapted = adapter.adapt(AdaptRequest(messages=messages, tools=tuple(tools), profile=known))
    body = {**request, **adapted.body}
    mend_breakpoints(body, Notes("anthropic"))
    return body
