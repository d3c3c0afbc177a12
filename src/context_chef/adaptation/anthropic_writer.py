"""Puts blocks into Anthropic's turns: neighbours of one role joined, results first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from typing_extensions import override

from context_chef.adaptation.anthropic_blocks import BlockWriter, Kind, Made, Wire
from context_chef.adaptation.anthropic_body import is_compaction
from context_chef.adaptation.line import Line
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.offered_tools import OfferedTools
from context_chef.adaptation.prefill import prefill_index
from context_chef.ir.blocks import Text
from context_chef.ir.frozen import FrozenList, thaw
from context_chef.ir.handed_out import HandedOut, Sealed, sealed
from context_chef.ir.message import Message
from context_chef.ir.message_memo import MessageMemo
from context_chef.ir.running import Starts
from context_chef.prompts.adaptation import system_note
from context_chef.prompts.guardrails import prefill_enforcement

_THINKING: Final = ("thinking", "redacted_thinking")


class Written(NamedTuple):
    """The conversation's part of a body. The lists of rows are the receiver's own."""

    system: HandedOut
    messages: HandedOut
    marked: Sequence[int]
    """The messages that carry breakpoints."""
    with_fields: Sequence[int]
    """The messages that have fields beside role and content."""
    verbatim: Sequence[Wire]
    """Blocks that went out as they came in."""


class ConversationWriter(Line):
    """Writes one conversation, and writes it on as it grows."""

    def __init__(
        self, blocks: BlockWriter, memo: MessageMemo[Made], profile: ModelProfile | None
    ) -> None:
        super().__init__("anthropic")
        self._writer = blocks
        self._memo = memo
        self._profile = profile
        self._system: list[Sealed] = []
        self._rows: list[Sealed] = []
        """Finished turns."""
        self._turns = 0
        """How many turns were finished, those that came to nothing included."""
        self._open: Wire | None = None
        """The turn that may still grow."""
        self._marked: list[int] = []
        self._with_fields: list[int] = []
        self._verbatim: list[Wire] = []
        self._waiting: list[tuple[str, Wire]] = []
        """System messages that wait for a place where they may stand."""
        self._started = False

    @override
    def _state(self) -> tuple[int, ...]:
        return (
            len(self._system), len(self._rows), self._turns, len(self._marked),
            len(self._with_fields), len(self._verbatim),
        )  # fmt: skip

    @override
    def _go_back(self, state: Any) -> None:
        system, rows, self._turns, marked, with_fields, verbatim = state or (0,) * 6
        del self._system[system:], self._rows[rows:]
        del self._marked[marked:], self._with_fields[with_fields:], self._verbatim[verbatim:]
        self._open = None
        self._waiting = []
        self._started = state is not None

    def offer(self, tools: OfferedTools) -> None:
        """Say which tools the request offers."""
        self._writer.offered = tools

    @property
    def refers(self) -> bool:
        """Whether what was written refers to tools."""
        return self._writer.refers

    @property
    def defines(self) -> bool:
        """Whether tools were defined on the way."""
        return self._writer.defines

    def write(self, messages: Sequence[Message], starts: Starts | None = None) -> Written:
        """The system prompt and the turns."""
        prefill = prefill_index(messages)
        for index in range(self._resume(messages, starts), len(messages)):
            message = messages[index]
            where = f"messages[{index}]"
            if message.role == "system":
                if message.positional and self._started:
                    self._instruct(message, where)
                else:
                    self._system.extend(self._blocks(self._made(message, "system"), where))
                continue
            self._started = True
            if index == prefill:
                self._open_answer(message, where)
                continue
            made = self._made(message, "result" if message.role == "tool" else "said")
            if not self._waiting and made.blocks and self._ends_turn(message):
                self._finish()
                self._mark(index)
            if message.role == "assistant":
                self._answer(message, made, where)
            else:
                fields = _fields(message) if message.role == "user" else {}
                self._join("user", self._blocks(made, where), fields)
        self._flush()
        self._finish()
        return Written(
            HandedOut(self._system),
            HandedOut(self._rows),
            tuple(self._marked),
            tuple(self._with_fields),
            tuple(self._verbatim),
        )

    def _ends_turn(self, message: Message) -> bool:
        """Whether what came before this message was said in another role."""
        if self._open is None:
            return False
        return (self._open["role"] == "assistant") != (message.role == "assistant")

    def _made(self, message: Message, kind: Kind) -> Made:
        """What the message becomes; written once as long as the message lives."""
        made = self._memo.get(message)
        if made is None or made.kind != kind:
            made = self._writer.make(message, kind)
            self._memo.put(message, made)
        return made

    def _blocks(self, made: Made, where: str) -> Sequence[Sealed]:
        """A message's blocks, with what is to be said about them."""
        if made.notes is not None:
            self.notes.include(made.notes, where)
        if made.verbatim:
            self._verbatim.extend(made.blocks[at] for at in made.verbatim)
        return made.blocks

    def _answer(self, message: Message, made: Made, where: str) -> None:
        blocks = self._blocks(made, where)
        if blocks:
            self._flush()
            apart = bool(message.content) and any(map(is_compaction, message.content))
            self._join("assistant", blocks, _fields(message), apart=apart)

    def _join(
        self, role: str, blocks: Sequence[Sealed], fields: Wire, *, apart: bool = False
    ) -> None:
        if not blocks:
            return
        last = self._open
        if last is None or last["role"] != role or apart or fields or len(last) > 2:
            self._begin({"role": role, "content": list(blocks), **fields})
        else:
            last["content"].extend(blocks)

    def _begin(self, turn: Wire) -> None:
        self._finish()
        self._open = turn

    def _finish(self) -> None:
        """What was said is a turn: results first, and no reasoning at the end of an answer."""
        turn, self._open = self._open, None
        if turn is None:
            return
        blocks: list[Sealed] = turn["content"]
        if turn["role"] == "user" and len(blocks) > 1:
            blocks.sort(key=lambda block: block["type"] != "tool_result")
        while turn["role"] == "assistant" and blocks and blocks[-1]["type"] in _THINKING:
            blocks.pop()
            said = "an answer does not end in reasoning"
            self.notes.repair("thinking-last", f"messages[{self._turns}]", said)
        self._turns += 1
        if not blocks:
            return
        if any(map(_is_marked, blocks)):
            self._marked.append(len(self._rows))
        if len(turn) > 2:
            self._with_fields.append(len(self._rows))
        turn["content"] = FrozenList(blocks)
        self._rows.append(sealed(turn))

    def _instruct(self, message: Message, where: str) -> None:
        """A system message inside the conversation."""
        native: Mapping[str, Any] = message.native.get("anthropic") or {}
        inline = native.get("role") == "system"
        if self._profile is not None:
            inline = self._profile.inline_system
        made = self._made(message, "inline_system" if inline else "system")
        blocks = self._blocks(made, where)
        if not blocks:
            return
        if inline:
            wire = {"role": "system", "content": list(blocks), **_fields(message)}
            self._waiting.append((where, wire))
        else:
            self._note(where, blocks, "this model takes no system message inside the conversation")

    def _flush(self) -> None:
        """System messages may stand behind a user's turn, when an answer or nothing follows."""
        waiting, self._waiting = self._waiting, []
        for where, wire in waiting:
            if self._may_instruct():
                self._begin(wire)
            else:
                self._note(where, wire["content"], "no system message may stand here")

    def _may_instruct(self) -> bool:
        last = self._open
        if last is None or last["role"] != "assistant":
            return last is not None
        kind = str(last["content"][-1]["type"])
        return kind.endswith("_tool_result") or kind in ("server_tool_use", "mcp_tool_use")

    def _note(self, where: str, blocks: Sequence[Sealed], why: str) -> None:
        notes = [
            Sealed({**block, "text": system_note(block["text"])})
            for block in blocks
            if block["type"] == "text"
        ]
        self._join("user", notes, {})
        said = f"{why}: it goes as a marked part of a user message"
        self.notes.diagnose("system-message-moved", where, said)

    def _open_answer(self, message: Message, where: str) -> None:
        """The guardrail's opening: as one where the model takes it, else as an instruction."""
        opening = message.text
        if self._profile is not None and self._profile.prefill:
            if opening.rstrip():
                text = Text(text=opening.rstrip())
                answer = message.replace(content=(text,), cache=None)
                self._answer(answer, self._made(answer, "said"), where)
        elif opening.strip():
            note = Sealed({"type": "text", "text": prefill_enforcement(opening)})
            self._join("user", [note], {})
            said = "this model takes no opening of its answer: it is told to begin with it"
            self.notes.diagnose("prefill-degraded", where, said)


def _is_marked(block: Mapping[str, Any]) -> bool:
    if block.get("cache_control"):
        return True
    content: Any = block.get("content") if block["type"] == "tool_result" else None
    if not isinstance(content, list):
        return False
    inner = cast("list[Any]", content)
    return any(isinstance(each, dict) and "cache_control" in each for each in inner)


def _fields(message: Message) -> Wire:
    """What stands beside the content of a message that came from Anthropic."""
    native = message.native.get("anthropic")
    if not native:
        return {}
    return {key: thaw(value) for key, value in native.items() if key != "role"}
