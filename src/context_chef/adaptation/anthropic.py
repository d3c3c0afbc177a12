"""To Anthropic: a finished window as a Messages request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.anthropic_blocks import BlockWriter, Kind, Made, Wire, is_compaction
from context_chef.adaptation.anthropic_body import mend_breakpoints, needed_betas
from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.message_memo import Memos, MessageMemo, fresh
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.prefill import prefill_index
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import convert_tools
from context_chef.adaptation.wire_naming import way_of_naming
from context_chef.ir.blocks import Text
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import read_messages, read_system
from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.adaptation import system_note
from context_chef.prompts.guardrails import prefill_enforcement

_THINKING: Final = ("thinking", "redacted_thinking")
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

    def adapt(self, request: AdaptRequest) -> Adapted:
        """`system`, `messages` and `tools` of the request; keys that would be empty are absent."""
        notes = Notes("anthropic")
        tools = convert_tools(request.tools, target="anthropic", profile=request.profile)
        as_text = self._thinking_as_text or request.preserve_thinking_as_text
        blocks = BlockWriter(tools, thinking_as_text=as_text)
        memo = self._memos.of((as_text, way_of_naming(tools)))
        conversation = _Writer(blocks, memo, notes, request.profile)
        conversation.write(request.messages)
        body: dict[str, Any] = {}
        if conversation.system:
            body["system"] = conversation.system
        body["messages"] = conversation.messages
        if tools.wire:
            body["tools"] = tools.wire
        mend_breakpoints(body, notes)
        return Adapted(
            body=body,
            betas=needed_betas(body, verbatim=conversation.verbatim),
            repairs=(*tools.repairs, *notes.repairs),
            diagnostics=(*tools.diagnostics, *notes.diagnostics),
        )

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


class _Writer:
    """Puts blocks into turns: neighbours of one role joined, results first, systems in place."""

    def __init__(
        self,
        blocks: BlockWriter,
        memo: MessageMemo[Made],
        notes: Notes,
        profile: ModelProfile | None,
    ) -> None:
        self.system: list[Wire] = []
        self.messages: list[Wire] = []
        self.verbatim: list[Wire] = []
        """Blocks that went out as they came in."""
        self._writer = blocks
        self._memo = memo
        self._notes = notes
        self._profile = profile
        self._waiting: list[tuple[str, Wire]] = []
        """System messages that wait for a place where they may stand."""

    def write(self, messages: Sequence[Message]) -> None:
        prefill = prefill_index(messages)
        started = False
        for index, message in enumerate(messages):
            where = f"messages[{index}]"
            if message.role == "system":
                if message.positional and started:
                    self._instruct(message, where)
                else:
                    self.system.extend(self._blocks(message, where, "system"))
                continue
            started = True
            if index == prefill:
                self._open_answer(message, where)
            elif message.role == "assistant":
                self._answer(message, where)
            else:
                said = message.role == "user"
                blocks = self._blocks(message, where, "said" if said else "result")
                self._ask(blocks, _fields(message) if said else {})
        self._flush()
        self._tidy()

    def _blocks(self, message: Message, where: str, kind: Kind) -> list[Wire]:
        """The message's blocks, built freshly; written once as long as the message lives."""
        made = self._memo.get(message)
        if made is None or made.kind != kind:
            made = self._writer.make(message, kind)
            self._memo.put(message, made)
        self._notes.include(made.notes, where)
        blocks: list[Wire] = fresh(made.blocks)
        self.verbatim.extend(blocks[at] for at in made.verbatim)
        return blocks

    def _ask(self, blocks: list[Wire], fields: Wire | None = None) -> None:
        self._join("user", blocks, fields or {})

    def _answer(self, message: Message, where: str) -> None:
        blocks = self._blocks(message, where, "said")
        if blocks:
            self._flush()
            apart = bool(message.content) and any(map(is_compaction, message.content))
            self._join("assistant", blocks, _fields(message), apart=apart)

    def _join(self, role: str, blocks: list[Wire], fields: Wire, *, apart: bool = False) -> None:
        if not blocks:
            return
        last = self.messages[-1] if self.messages else None
        if last is None or last["role"] != role or apart or fields or len(last) > 2:
            self.messages.append({"role": role, "content": blocks, **fields})
        else:
            last["content"].extend(blocks)

    def _instruct(self, message: Message, where: str) -> None:
        """A system message inside the conversation."""
        native: Mapping[str, Any] = message.native.get("anthropic") or {}
        inline = native.get("role") == "system"
        if self._profile is not None:
            inline = self._profile.inline_system
        blocks = self._blocks(message, where, "inline_system" if inline else "system")
        if not blocks:
            return
        if inline:
            self._waiting.append((where, {"role": "system", "content": blocks, **_fields(message)}))
        else:
            self._note(where, blocks, "this model takes no system message inside the conversation")

    def _flush(self) -> None:
        """System messages may stand behind a user's turn, when an answer or nothing follows."""
        waiting, self._waiting = self._waiting, []
        for where, wire in waiting:
            if self._may_instruct():
                self.messages.append(wire)
            else:
                self._note(where, wire["content"], "no system message may stand here")

    def _may_instruct(self) -> bool:
        last = self.messages[-1] if self.messages else None
        if last is None or last["role"] != "assistant":
            return last is not None
        kind = str(last["content"][-1]["type"])
        return kind.endswith("_tool_result") or kind in ("server_tool_use", "mcp_tool_use")

    def _note(self, where: str, blocks: list[Wire], why: str) -> None:
        notes = [
            {**block, "text": system_note(block["text"])}
            for block in blocks
            if block["type"] == "text"
        ]
        self._ask(notes)
        said = f"{why}: it goes as a marked part of a user message"
        self._notes.diagnose("system-message-moved", where, said)

    def _open_answer(self, message: Message, where: str) -> None:
        """The guardrail's opening: as one where the model takes it, else as an instruction."""
        opening = message.text
        if self._profile is not None and self._profile.prefill:
            if opening.rstrip():
                text = Text(text=opening.rstrip())
                self._answer(message.replace(content=(text,), cache=None), where)
        elif opening.strip():
            self._ask([{"type": "text", "text": prefill_enforcement(opening)}])
            said = "this model takes no opening of its answer: it is told to begin with it"
            self._notes.diagnose("prefill-degraded", where, said)

    def _tidy(self) -> None:
        for index, message in enumerate(self.messages):
            blocks: list[Wire] = message["content"]
            if message["role"] == "user":
                blocks.sort(key=lambda block: block["type"] != "tool_result")
            while message["role"] == "assistant" and blocks and blocks[-1]["type"] in _THINKING:
                blocks.pop()
                said = "an answer does not end in reasoning"
                self._notes.repair("thinking-last", f"messages[{index}]", said)
        self.messages = [message for message in self.messages if message["content"]]


def _fields(message: Message) -> Wire:
    """What stands beside the content of a message that came from Anthropic."""
    native: Mapping[str, Any] = message.native.get("anthropic") or {}
    return {key: thaw(value) for key, value in native.items() if key != "role"}
