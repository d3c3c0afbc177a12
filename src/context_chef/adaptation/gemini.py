"""To Gemini: a finished window as a generateContent request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.conversation import Conversation, check_written
from context_chef.adaptation.gemini_parts import Made, PartWriter
from context_chef.adaptation.gemini_sdk import sdk_arguments
from context_chef.adaptation.gemini_writer import SKIP_SIGNATURE, ContentWriter
from context_chef.adaptation.line import Lines
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import convert_tools
from context_chef.adaptation.wire_naming import way_of_naming
from context_chef.ir.frozen import thaw
from context_chef.ir.handed_out import handed_out
from context_chef.ir.message import MessageLike
from context_chef.ir.message_memo import Memos
from context_chef.ir.rows import read_messages, read_system
from context_chef.ir.tools import ToolDefinition

__all__ = ["SKIP_SIGNATURE", "GeminiAdapter", "to_gemini"]


class GeminiAdapter:
    """Writes generateContent requests.

    What is adapted is written down as it stands: pairing and the like are mended before, by
    `make_sendable`. With `preserve_thinking_as_text`, reasoning that Gemini cannot read goes as
    text in front of the answer instead of being left out.
    """

    def __init__(self, preserve_thinking_as_text: bool = False) -> None:
        self._thinking_as_text = preserve_thinking_as_text
        self._memos: Memos[Made] = Memos()
        self._lines: Lines[ContentWriter] = Lines()

    def adapt(self, request: AdaptRequest) -> Adapted:
        """`systemInstruction`, `contents`, `tools`, `toolConfig`; empty keys are absent."""
        tools = request.converted
        if tools is None:
            tools = convert_tools(request.tools, target="gemini", profile=request.profile)
        converted, profile = tools, request.profile
        as_text = self._thinking_as_text or request.preserve_thinking_as_text
        way = (as_text, profile, way_of_naming(tools))

        def writer() -> ContentWriter:
            parts = PartWriter(converted, profile, thinking_as_text=as_text)
            return ContentWriter(parts, self._memos.of(way), profile)

        line = self._lines.take(way, writer)
        written = line.write(request.messages, request.starts)
        repairs = (*tools.repairs, *line.notes.repairs)
        diagnostics = (*tools.diagnostics, *line.notes.diagnostics)
        self._lines.put(way, line)
        body: dict[str, Any] = {}
        if written.system:
            body["systemInstruction"] = {"parts": written.system, **written.system_fields}
        body["contents"] = written.contents
        if tools.wire:
            body["tools"] = handed_out(tools.wire)
        if tools.tool_config:
            body["toolConfig"] = thaw(tools.tool_config)
        return Adapted(
            body=body,
            repairs=repairs,
            diagnostics=diagnostics,
            for_sdk={"contents": written.for_sdk},
        )

    def forget(self) -> None:
        """Let go of what was written last."""
        self._lines.clear()

    def sdk_arguments(self, adapted: Adapted) -> dict[str, Any]:
        """What `client.models.generate_content(model=…, **arguments)` takes: contents, config."""
        return sdk_arguments(adapted.body, adapted.for_sdk.get("contents"))

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
            profile=profile or profile_for(model, "gemini"),
        )
        return self.adapt(request).body


def to_gemini(
    conversation: Conversation | Sequence[MessageLike],
    *,
    system: str | MessageLike | Sequence[MessageLike] | None = None,
    tools: Sequence[ToolDefinition] = (),
    model: str | None = None,
    profile: ModelProfile | None = None,
    preserve_thinking_as_text: bool = False,
) -> dict[str, Any]:
    """The generateContent body of a conversation or of messages.

    What `from_gemini` read comes out as the same conversation, with the other keys of the body
    (`generationConfig`, `safetySettings`, …). The URL carries the model: `model` (or a `profile`)
    only decides what is possible. `system` and `tools` take the place of the conversation's.
    """
    check_written(tools, profile, preserve_thinking_as_text)
    request: dict[str, Any] = {}
    accepted: Conversation | None = None
    if isinstance(conversation, Conversation):
        request = conversation.request_for("gemini")
        messages = conversation.messages if system is None else conversation.history
        accepted = conversation if conversation.source == "gemini" and not tools else None
        tools = tools or conversation.tools
    else:
        messages = read_messages(conversation)
    if system is not None:
        messages = (*read_system(system), *messages)
    named = model if model is not None else request.get("model")
    known = profile or profile_for(named if isinstance(named, str) else None, "gemini")
    adapter = GeminiAdapter(preserve_thinking_as_text=preserve_thinking_as_text)
    body = adapter.adapt(AdaptRequest(messages=messages, tools=tuple(tools), profile=known)).body
    if accepted is not None:
        # Its tools were sent with the tool config that they have: Vertex AI refuses any other.
        body.pop("toolConfig", None)
        if not accepted.history:
            del body["contents"]  # what is put into a cache may be a system prompt alone
    own: Mapping[str, Any] = request.get("toolConfig") or {}
    if "toolConfig" in body:
        body["toolConfig"] = {**body["toolConfig"], **own}
    return {**request, **body}
