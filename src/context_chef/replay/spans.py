"""What a request is made of, span by span: texts kept once, requests as indexes into them."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.ir.blocks import (
    Block,
    Media,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.message import Message
from context_chef.ir.running import equal_start, same_start
from context_chef.ir.tools import ToolDefinition
from context_chef.pipeline.turn import CompileTurn
from context_chef.replay.result import SourceGroup, SpanText

_SUMMARIES = ("summary", "dropped", "cleared")
"""Sources of the blocks that stand for messages which left."""


class TextTable:
    """Every distinct span once, in the order in which it was first seen."""

    def __init__(self) -> None:
        self.rows: list[SpanText] = []
        self._places: dict[SpanText, int] = {}
        self._messages: dict[int, tuple[object, str, tuple[int, ...]]] = {}
        self._before: Sequence[Message] = ()
        """The messages of the last turn, and who brought those that are not the conversation's."""
        self._credited: dict[int, str] = {}
        self._said: list[int] = []
        """Their spans, and where those of each end."""
        self._ends: list[int] = []

    def place(self, row: SpanText) -> int:
        """The index of this span, new or known."""
        at = self._places.get(row)
        if at is None:
            at = self._places[row] = len(self.rows)
            self.rows.append(row)
        return at

    def of_turn(self, turn: CompileTurn) -> list[int]:
        """The spans of a finished compile: tools, then messages in their order."""
        spans = [self._tool(tool, turn) for tool in turn.inputs.tools]
        self._read_on(turn)
        return spans + self._said

    def _read_on(self, turn: CompileTurn) -> None:
        """Read what is not as it was in the turn before: another message, another source."""
        messages, credited = turn.messages, turn.sources.credited()
        same = same_start(self._before, messages)
        changed = {identity for identity, _ in self._credited.items() ^ credited.items()}
        if changed:
            # What left the window may have been where something else is now: that is read again.
            same = min((at for at in range(same) if id(messages[at]) in changed), default=same)
        del self._ends[same:]
        del self._said[self._ends[-1] if self._ends else 0 :]
        for message in messages[same:]:
            self._said.extend(self.of_message(message, turn))
            self._ends.append(len(self._said))
        self._before, self._credited = messages, credited

    def of_message(self, message: Message, turn: CompileTurn) -> tuple[int, ...]:
        """The spans of a message: what somebody said, then each block that was put there."""
        source = turn.sources.get(id(message), "history")
        known = self._messages.get(id(message))
        if known is not None and known[0] is message and known[1] == source:
            return known[2]
        own = tuple(block for block in message.content if not _generated(block))
        found: list[int] = []
        if own or not message.content:
            said = message if len(own) == len(message.content) else message.replace(content=own)
            found.append(self._row(said, source, _group_of(message), turn))
        for block in message.content:
            if isinstance(block, Text) and block.source is not None:
                alone = message.replace(content=(block,))
                group = _group_of_generated(block.source, message)
                found.append(self._row(alone, block.source, group, turn))
        self._messages[id(message)] = (message, source, tuple(found))
        return tuple(found)

    def _row(self, message: Message, source: str, group: SourceGroup, turn: CompileTurn) -> int:
        return self.place(
            SpanText(
                source=source.partition("[")[0],
                group=group,
                role=message.role,
                text=text_of(message.content),
                tokens=int(turn.parts.janitor.count_message(message)),
            )
        )

    def _tool(self, tool: ToolDefinition, turn: CompileTurn) -> int:
        known = self._messages.get(id(tool))
        if known is not None and known[0] is tool:
            return known[2][0]
        at = self.place(
            SpanText(
                source=f"tool:{tool.name}",
                group="tools",
                text=f"{tool.name}: {tool.description}".strip(),
                tokens=int(turn.parts.janitor.count_tools([tool])),
            )
        )
        self._messages[id(tool)] = (tool, "", (at,))
        return at


def _generated(block: Block) -> bool:
    return isinstance(block, Text) and block.source is not None


def _group_of(message: Message) -> SourceGroup:
    match message.role:
        case "system":
            return "system"
        case "user":
            return "user"
        case "assistant":
            return "assistant"
        case _:
            return "tool results"


def _group_of_generated(source: str, message: Message) -> SourceGroup:
    if source in _SUMMARIES:
        return "summary"
    return "system" if message.role == "system" and not message.positional else "tail"


def text_of(blocks: Sequence[Block]) -> str:
    """Blocks in words, for people."""
    return "\n".join(_words(block) for block in blocks)


def _words(block: Block) -> str:
    match block:
        case Text(text=text):
            return text
        case Thinking(text=text):
            return f"[thinking] {text}"
        case ToolCall(name=name, arguments=arguments):
            return f"{name}({arguments})"
        case Media(kind=kind, filename=filename):
            return f"[{kind}{f' {filename}' if filename else ''}]"
        case RedactedThinking():
            return "[redacted thinking]"
        case Opaque():
            return f"[{block.kind}]"


def shared_front(one: list[int], other: list[int]) -> int:
    """How many spans at the front are the same."""
    return equal_start(one, other)
