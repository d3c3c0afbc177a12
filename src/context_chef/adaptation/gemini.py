"""To Gemini: a finished window as a generateContent request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.gemini_parts import Made, Part, PartWriter
from context_chef.adaptation.gemini_sdk import sdk_arguments
from context_chef.adaptation.message_memo import Memos, MessageMemo, fresh
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.prefill import prefill_index
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import convert_tools
from context_chef.adaptation.wire_naming import way_of_naming
from context_chef.ir.blocks import ToolCall
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import read_messages, read_system
from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.guardrails import prefill_enforcement

SKIP_SIGNATURE: Final = "skip_thought_signature_validator"
"""Documented to stand in for the signature of a call that another model made."""


class GeminiAdapter:
    """Writes generateContent requests.

    What is adapted is written down as it stands: pairing and the like are mended before, by
    `make_sendable`. With `preserve_thinking_as_text`, reasoning that Gemini cannot read goes as
    text in front of the answer instead of being left out.
    """

    def __init__(self, preserve_thinking_as_text: bool = False) -> None:
        self._thinking_as_text = preserve_thinking_as_text
        self._memos: Memos[Made] = Memos()

    def adapt(self, request: AdaptRequest) -> Adapted:
        """`systemInstruction`, `contents`, `tools`, `toolConfig`; empty keys are absent."""
        notes = Notes("gemini")
        tools = convert_tools(request.tools, target="gemini", profile=request.profile)
        as_text = self._thinking_as_text or request.preserve_thinking_as_text
        parts = PartWriter(tools, request.profile, thinking_as_text=as_text)
        memo = self._memos.of((as_text, request.profile, way_of_naming(tools)))
        writer = _Writer(parts, memo, notes, request.profile)
        writer.write(request.messages)
        body: dict[str, Any] = {}
        if writer.system:
            body["systemInstruction"] = {"parts": writer.system, **writer.system_fields}
        body["contents"] = writer.contents
        if tools.wire:
            body["tools"] = tools.wire
        if tools.tool_config:
            body["toolConfig"] = thaw(tools.tool_config)
        return Adapted(
            body=body,
            repairs=(*tools.repairs, *notes.repairs),
            diagnostics=(*tools.diagnostics, *notes.diagnostics),
        )

    def sdk_arguments(self, adapted: Adapted) -> dict[str, Any]:
        """What `client.models.generate_content(model=…, **arguments)` takes: contents, config."""
        return sdk_arguments(adapted.body)

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


class _Call(msgspec.Struct):
    """A call of the model's latest turn, and whether it was answered."""

    id: str
    name: str
    wire_id: str | None
    answered: bool = False


class _Writer:
    """Puts parts into turns: neighbours of one role joined, responses in front, in call order."""

    def __init__(
        self,
        parts: PartWriter,
        memo: MessageMemo[Made],
        notes: Notes,
        profile: ModelProfile | None,
    ) -> None:
        self.system: list[Part] = []
        self.system_fields: dict[str, Any] = {}
        self.contents: list[dict[str, Any]] = []
        self._writer = parts
        self._memo = memo
        self._notes = notes
        self._profile = profile
        self._calls: list[_Call] = []
        self._names: dict[str, str] = {}
        self._answers: dict[int, int] = {}
        """By identity of the part: which of the calls before it that part answers."""
        self._foreign: set[int] = set()
        """By identity of the part: calls that Gemini did not make."""

    def write(self, messages: Sequence[Message]) -> None:
        prefill = prefill_index(messages)
        started = False
        for index, message in enumerate(messages):
            where = f"messages[{index}]"
            if message.role == "system" and not (message.positional and started):
                self._instruct(message, where)
                continue
            started = True
            if index == prefill:
                self._open_answer(message, where)
            elif message.role == "assistant":
                self._answer(message, where)
            elif message.role == "tool":
                self._respond(message, where)
            else:
                # A system message inside the conversation has no role of its own here.
                self._join("user", self._parts(message, where, "said")[0])
        self._sign()
        self._arrange()

    def _parts(
        self, message: Message, where: str, *way: str | None
    ) -> tuple[list[Part], list[tuple[ToolCall, Part]]]:
        """The message's parts, built freshly, and the calls among them.

        They are written once as long as the message lives.
        """
        made = self._memo.get(message)
        if made is None or made.way != way:
            made = self._writer.make(message, way)
            self._memo.put(message, made)
        self._notes.include(made.notes, where)
        parts: list[Part] = fresh(made.parts)
        return parts, [(call, parts[at]) for call, at in made.calls]

    def _instruct(self, message: Message, where: str) -> None:
        if not self.system:
            self.system_fields = thaw(message.native.get("gemini") or {})
        self.system.extend(self._parts(message, where, "system")[0])

    def _answer(self, message: Message, where: str) -> None:
        parts, calls = self._parts(message, where, "said")
        if parts and (not self.contents or self.contents[-1]["role"] == "user"):
            self._calls = []
        for call, part in calls:
            name = part["functionCall"]["name"]
            self._names[call.id] = name
            self._calls.append(_Call(call.id, name, part["functionCall"].get("id")))
            if "gemini" not in call.native:
                self._foreign.add(id(part))
        self._join("model", parts)

    def _respond(self, message: Message, where: str) -> None:
        call_id = message.tool_call_id or ""
        at = self._called(call_id)
        if at is not None:
            call = self._calls[at]
            call.answered = True
            name, wire_id = call.name, call.wire_id
        else:
            said = message.name and self._writer.wire_name(message.name)
            name = self._names.get(call_id) or said or call_id or "unknown"
            native: Mapping[str, Any] = message.native.get("gemini") or {}
            own: Mapping[str, Any] = native.get("functionResponse") or {}
            wire_id = own.get("id")
        parts, _ = self._parts(message, where, "result", name, wire_id)
        if at is not None:
            self._answers[id(parts[0])] = at
        self._join("user", parts)

    def _called(self, call_id: str) -> int | None:
        """The open call of that id in the model's latest turn."""
        if not self.contents or not self._calls:
            return None
        for index, call in enumerate(self._calls):
            if call.id == call_id and not call.answered:
                return index
        return None

    def _join(self, role: str, parts: list[Part]) -> None:
        if not parts:
            return
        if self.contents and self.contents[-1]["role"] == role:
            self.contents[-1]["parts"].extend(parts)
        else:
            self.contents.append({"role": role, "parts": parts})

    def _open_answer(self, message: Message, where: str) -> None:
        """The guardrail's opening: as one where the model takes it, else as an instruction."""
        opening = message.text
        if self._profile is not None and self._profile.prefill:
            if opening.rstrip():
                self._join("model", [{"text": opening.rstrip()}])
        elif opening.strip():
            self._join("user", [{"text": prefill_enforcement(opening)}])
            said = "this model takes no opening of its answer: it is told to begin with it"
            self._notes.diagnose("prefill-degraded", where, said)

    def _sign(self) -> None:
        """The first call of a step needs a signature; one that is missing is stood in for.

        For calls of other models always, so that the request does not change as it grows; for
        Gemini's own only in the turn in progress, where they would be refused without.
        """
        if self._profile is None or not self._profile.thought_signatures:
            return
        current = 0
        for index, content in enumerate(self.contents):
            if content["role"] == "user" and not any(
                "functionResponse" in p for p in content["parts"]
            ):
                current = index
        for index, content in enumerate(self.contents):
            if content["role"] != "model":
                continue
            first = next((part for part in content["parts"] if "functionCall" in part), None)
            if first is None or first.get("thoughtSignature"):
                continue
            if id(first) in self._foreign or index > current:
                first["thoughtSignature"] = SKIP_SIGNATURE
                said = "a call of another model carries the documented stand-in"
                self._notes.repair("thought-signature", f"contents[{index}]", said)

    def _arrange(self) -> None:
        alone = self._profile is None or self._profile.response_alone
        arranged: list[dict[str, Any]] = []
        for content in self.contents:
            parts: list[Part] = content["parts"]
            if content["role"] != "user" or not any(id(part) in self._answers for part in parts):
                arranged.append(content)
                continue
            answers = self._in_call_order([part for part in parts if id(part) in self._answers])
            others = [part for part in parts if id(part) not in self._answers]
            if alone and others:
                arranged.append({"role": "user", "parts": answers})
                arranged.append({"role": "user", "parts": others})
            else:
                arranged.append({"role": "user", "parts": [*answers, *others]})
        self.contents = arranged

    def _in_call_order(self, answers: list[Part]) -> list[Part]:
        """As they came, unless two of one name would be taken for each other."""
        last: dict[str, int] = {}
        for part in answers:
            response, at = part["functionResponse"], self._answers[id(part)]
            if not response.get("id") and at < last.get(response["name"], -1):
                return sorted(answers, key=lambda part: self._answers[id(part)])
            last[response["name"]] = at
        return answers
