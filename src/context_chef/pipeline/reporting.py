"""The report of a compile: every span of the window with its source, place and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from context_chef.ir.blocks import Block, Media, Opaque, RedactedThinking, Text, Thinking, ToolCall
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message
from context_chef.ir.report import Place, Report, Span
from context_chef.pipeline.tool_changes import prefix_changes
from context_chef.pipeline.turn import CompileTurn

_PREVIEW = 60


def report_of(turn: CompileTurn) -> Callable[[], Report]:
    """The report, counted when it is asked for: every part of it is fixed already."""

    def report() -> Report:
        # The provider's rules and the readers of all targets, for those who ask for a report.
        from context_chef.pipeline.finished import refused
        from context_chef.pipeline.model_doubts import model_doubts

        spans = (*_tool_spans(turn), *_message_spans(turn), *_evicted_spans(turn))
        tokens = sum(span.tokens for span in spans if span.place != "out")
        return Report(
            target=turn.target_name,
            model=turn.inputs.model,
            spans=spans,
            repairs=(*turn.inputs.tool_repairs, *turn.repairs),
            diagnostics=(
                *turn.diagnostics,
                *_replaced_characters(turn),
                *refused(turn),
                *model_doubts(turn, tokens),
            ),
            budget=turn.budget,
            prefix_changes=prefix_changes(turn),
        )

    return report


def _replaced_characters(turn: CompileTurn) -> list[Diagnostic]:
    """Where U+FFFD stands for what no request can carry. It may have come with the text, too."""
    return [
        Diagnostic(
            code="characters-replaced",
            where=f"messages[{index}]",
            message="U+FFFD stands in its text: for half of a surrogate pair or a NUL, which no "
            "request can carry, unless it was in the text before",
        )
        for index, message in enumerate(turn.messages)
        if any("\ufffd" in _words(block) for block in message.content)
    ]


def _tool_spans(turn: CompileTurn) -> list[Span]:
    count = turn.parts.janitor.count_tools
    return [
        Span(
            source=f"tool:{tool.name}",
            place="tools",
            tokens=int(count([tool])),
            preview=_short(tool.description),
        )
        for tool in turn.inputs.tools
    ]


def _message_spans(turn: CompileTurn) -> list[Span]:
    spans: list[Span] = []
    for message in turn.messages:
        source = turn.sources.name(message)
        generated = [block for block in message.content if _generated(block)]
        own = [block for block in message.content if not _generated(block)]
        if own or not generated:
            place: Place = "system" if message.role == "system" else "history"
            spans.append(_span(turn, message.replace(content=tuple(own)), source, place))
        spans.extend(_generated_spans(turn, message, generated, source))
    return spans


def _evicted_spans(turn: CompileTurn) -> list[Span]:
    return [
        msgspec.structs.replace(_span(turn, message, source, "out"), reason=reason, uri=uri)
        for message, source, reason, uri in turn.evicted
    ]


def _generated_spans(
    turn: CompileTurn, message: Message, blocks: Sequence[Block], source: str
) -> list[Span]:
    spans: list[Span] = []
    for block in blocks:
        name = block.source if isinstance(block, Text) and block.source else source
        if name == "skill" and turn.state.skill is not None:
            name = f"skill:{turn.state.skill.name}"
        hoisted = message.role == "system" and not message.positional
        place: Place = "system" if hoisted else "tail"
        spans.append(_span(turn, message.replace(content=(block,)), name, place))
    return spans


def _span(turn: CompileTurn, message: Message, source: str, place: Place) -> Span:
    return Span(
        source=source,
        place=place,
        tokens=int(turn.parts.janitor.count([message])),
        role=message.role,
        preview=_short(" ".join(_words(block) for block in message.content)),
    )


def _generated(block: Block) -> bool:
    return isinstance(block, Text) and block.source is not None


def _words(block: Block) -> str:
    match block:
        case Text(text=text) | Thinking(text=text):
            return text
        case ToolCall(name=name, arguments=arguments):
            return f"{name}({arguments})"
        case Media(kind=kind, filename=filename):
            return f"[{kind}{f' {filename}' if filename else ''}]"
        case RedactedThinking():
            return "[redacted thinking]"
        case Opaque():
            return f"[{block.kind}]"


def _short(text: str) -> str:
    words = " ".join(text[: _PREVIEW * 4].split())
    return words if len(words) <= _PREVIEW else words[: _PREVIEW - 1] + "…"
