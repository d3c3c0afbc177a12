"""The explanation of a compile: what it put where is followed to its place in the request.

Everything here happens when an explanation is asked for. A compile only keeps what it had anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple, cast

import msgspec

from context_chef.adaptation.adapter import AdaptRequest, WireAdapter
from context_chef.adaptation.anthropic import AnthropicAdapter
from context_chef.adaptation.gemini import GeminiAdapter
from context_chef.adaptation.http_body import http_body
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter
from context_chef.adaptation.sendable import mended_from
from context_chef.adaptation.tools import convert_tools
from context_chef.costs.prompt import Prompt, PromptReader
from context_chef.costs.simulate import TARGETS
from context_chef.explaining.explanation import Counted, Explainer, Explanation, short
from context_chef.explaining.pieces import Piece, kind_of, text_of
from context_chef.explaining.rules import rule_of
from context_chef.explaining.sections import Known
from context_chef.explaining.tracing import Marks, Stretch, marked, matched, traced
from context_chef.ir.blocks import Block, Provider, Text
from context_chef.ir.diagnostics import Repair
from context_chef.ir.message import Message
from context_chef.ir.payload import Payload
from context_chef.ir.report import Place, Span
from context_chef.patterns import regex
from context_chef.pipeline import finished
from context_chef.pipeline.tool_changes import inline_tools
from context_chef.pipeline.turn import CompileTurn
from context_chef.prompts.offload import has_marker

_BUILT_IN: Final = (AnthropicAdapter, OpenAIAdapter, OpenAIResponsesAdapter, GeminiAdapter)
_ADDRESS: Final = regex(r"context://[^\s`\"'<>)]+")
_WHERE: Final = regex(r"messages\[(\d+)\]")
_FOLDED: Final = frozenset({"summary", "dropped"})
"""What overflow writes in place of what leaves."""


class _Sent(NamedTuple):
    """A message as it was written down."""

    message: Message
    origin: int
    """The index of the window's message behind it; -1 when only mending brought it."""


def explained(turn: CompileTurn, payload: Payload) -> Explanation:
    """The explanation of `payload`, as it is now, by the compile that made it."""
    body = payload.body
    counter = turn.parts.janitor
    model = turn.inputs.model

    empty = counter.count([Message.user("")])
    counted = Counted(lambda text: counter.count([Message.user(text)]) - empty)
    target = turn.target_name
    known_target = target in TARGETS
    form: Any = target if known_target else "openai"
    reader = PromptReader(form, count=counted.count, profile=turn.profile)
    prompt = reader.read(body) if known_target else reader.read_anything(body)
    trace = _Trace(turn, PromptReader(form, count=len, profile=turn.profile).read)
    stretches = trace.stretches(prompt, body)
    explainer = Explainer(
        target=target,
        model=model,
        body=body,
        prompt=prompt,
        counted=counted,
        known=Known(
            injected=tuple(zip(turn.injected_by, turn.injected, strict=True)),
            state=turn.state.dynamic_state.value,
        ),
        tool_names=turn.tool_names,
        profiles=turn.parts.settings.profiles,
    )
    return explainer.explanation(
        stretches,
        settings=trace.who_set,
        out=_out_spans(turn, trace),
        repairs=(*turn.inputs.tool_repairs, *turn.repairs),
        diagnostics=(*turn.diagnostics, *finished.refused(turn)),
    )


class _Trace:
    """Follows the window's pieces into the request."""

    def __init__(self, turn: CompileTurn, read: Callable[[Mapping[str, Any]], Prompt]) -> None:
        self._turn = turn
        self._read = read
        self.sent = _sent(turn)
        self.pieces = _pieces(turn, self.sent)
        self.removed: list[tuple[str, Stretch, str]] = []
        """Source of who removed it, what it was, and the words of its block."""
        self._plain: Mapping[str, Any] = {}
        self._stages: list[tuple[str, Mapping[str, Any], frozenset[bytes]]] = []

    def stretches(self, prompt: Prompt, body: Mapping[str, Any]) -> list[list[Stretch]]:
        """By block of the request: what of it is whose."""
        turn = self._turn
        written = _written(turn)
        if written is None:
            self._plain = body
            return matched(prompt, self.pieces)
        plain, told, marks = written
        self._plain = plain
        own = self._read(plain)
        found = traced(own, self._read(told), marks, self.pieces)
        if found is None:
            found = matched(own, self.pieces)
        left: list[tuple[str, Any]] = [
            (name, msgspec.json.decode(data)) for name, data in turn.handled
        ]
        if not left or left[0][0]:
            left.insert(0, ("", plain))
        self._stages = [
            (name, then, frozenset(block.digest for block in self._read(then).blocks))
            for name, then in left
        ]
        if own.digests == prompt.digests:
            return found
        return self._carried(own, prompt, found)

    def who_set(self, key: str) -> str:
        """Who is behind a setting of the body."""
        value = self._plain.get(key, _ABSENT)
        now = self._turn.payload
        for name, body, _ in self._stages[1:]:
            if body.get(key, _ABSENT) != value:
                return f"after-adapt:{name}" if name != "repair" else "repair"
            value = body.get(key, _ABSENT)
        if value is _ABSENT and now is not None:
            return "server" if self._turn.server_managed else "caller"
        return "adapter" if value is not _ABSENT else "caller"

    def _carried(
        self, own: Prompt, now: Prompt, found: Sequence[list[Stretch]]
    ) -> list[list[Stretch]]:
        """The stretches of a request that somebody changed after it was written."""
        carried: list[list[Stretch]] = []
        matcher = SequenceMatcher(
            None,
            [block.digest for block in own.blocks],
            [block.digest for block in now.blocks],
            autojunk=False,
        )
        for code, i, i_end, j, j_end in matcher.get_opcodes():
            if code == "equal":
                carried.extend(found[i:i_end])
                continue
            for at in range(j, j_end):
                before = i + (at - j)
                who = self._author(now.blocks[at].digest)
                text = now.blocks[at].text
                if before < i_end and own.blocks[before].label == now.blocks[at].label:
                    old = own.blocks[before].text
                    carried.append(_spliced(found[before], old, text, who))
                else:
                    carried.append([Stretch(0, len(text), _by(who, now, at, text))])
            for at in range(i + (j_end - j), i_end):
                who = self._remover(own.blocks[at].digest)
                self.removed.extend((who, stretch, own.blocks[at].text) for stretch in found[at])
        return carried

    def _author(self, digest: bytes) -> str:
        for (_, _, before), (name, _, after) in zip(self._stages, self._stages[1:], strict=False):
            if digest in after and digest not in before:
                return "repair" if name == "repair" else f"after-adapt:{name}"
        return "caller"

    def _remover(self, digest: bytes) -> str:
        for (_, _, before), (name, _, after) in zip(self._stages, self._stages[1:], strict=False):
            if digest in before and digest not in after:
                return "repair" if name == "repair" else f"after-adapt:{name}"
        return "caller"


_ABSENT: Final = object()


def _by(who: str, prompt: Prompt, index: int, text: str) -> Piece:
    path = prompt.path(index)
    system = path.startswith(("system", "instructions"))
    return Piece(
        source=who,
        place="system" if system else "history",
        role=prompt.blocks[index].label.partition(" ")[2],
        kind="words",
        text=text,
        rule=rule_of(who),
    )


def _spliced(stretches: Sequence[Stretch], old: str, new: str, who: str) -> list[Stretch]:
    """The stretches of a text after somebody changed something in the middle of it."""
    if old == new and stretches:
        piece = stretches[0].piece
        role, place = (piece.role, piece.place) if piece else ("", cast("Place", "history"))
        changed = Piece(source=who, place=place, role=role, kind="words", text=new)
        return [Stretch(0, len(new), changed)]
    head = 0
    limit = min(len(old), len(new))
    while head < limit and old[head] == new[head]:
        head += 1
    foot = 0
    while foot < limit - head and old[-1 - foot] == new[-1 - foot]:
        foot += 1
    grown = len(new) - len(old)
    kept: list[Stretch] = []
    placed = False
    for start, end, piece in stretches:
        if start < head:
            kept.append(Stretch(start, min(end, head), piece))
        if not placed and end >= head:
            place: Place = piece.place if piece else "history"
            changed = Piece(source=who, place=place, role=piece.role if piece else "", kind="words")
            if len(new) - foot > head or not new:
                kept.append(Stretch(head, len(new) - foot, changed))
            placed = True
        if end > len(old) - foot:
            kept.append(Stretch(max(start, len(old) - foot) + grown, end + grown, piece))
    return kept or [Stretch(0, len(new), Piece(source=who, place="history", role="", kind="words"))]


# What was written


def _sent(turn: CompileTurn) -> list[_Sent]:
    """The messages as they were written down, each with the window's message behind it."""
    request = turn.request
    if request is None:
        return [_Sent(message, index) for index, message in enumerate(turn.messages)]
    target = cast("Provider", turn.target_name)
    every = (*turn.inputs.tools, *inline_tools(turn))
    placed, _ = mended_from(
        turn.messages,
        target=target,
        profile=turn.profile,
        names=convert_tools(every, target=target, profile=turn.profile).names,
        preserve_thinking_as_text=turn.parts.settings.preserve_thinking_as_text,
    )
    left = list(placed)
    sent: list[_Sent] = []
    for message in request.messages:
        index = next((i for i, one in enumerate(left) if one.message == message), None)
        if index is None:  # thinking was taken out of it, or it was mended once more
            index = next((i for i, one in enumerate(left) if _within(message, one.message)), None)
        sent.append(_Sent(message, -1 if index is None else left[index].at))
        if index is not None:
            del left[index]
    return sent


def _within(message: Message, whole: Message) -> bool:
    return message.role == whole.role and all(block in whole.content for block in message.content)


def _pieces(turn: CompileTurn, sent: Sequence[_Sent]) -> list[Piece]:
    """Every block that was written down, with who brought it."""
    home = {
        id(block): index for index, message in enumerate(turn.messages) for block in message.content
    }
    mended = _repairs_at(turn.repairs)
    written = _repairs_at(turn.adapted.repairs if turn.adapted is not None else ())
    pieces: list[Piece] = []
    for number, (message, at) in enumerate(sent):
        for block in message.content or (None,):
            origin = home.get(id(block), at)
            source, place = credit(turn, origin, message, block)
            rules = (*mended.get(origin, ()), *written.get(number, ()))
            pieces.append(
                Piece(
                    source=source,
                    place=place,
                    role=message.role,
                    kind="result" if block is None else kind_of(block, message),
                    text="" if block is None else text_of(block),
                    message=origin,
                    repairs=tuple(dict.fromkeys(rules)),
                    rule=_special_rule(turn, source, origin, block),
                )
            )
    return pieces


def credit(
    turn: CompileTurn, origin: int, message: Message, block: Block | None
) -> tuple[str, Place]:
    """Source and place of a block of the request."""
    hoisted = message.role == "system" and not message.positional
    if isinstance(block, Text) and block.source is not None:
        name = block.source
        if name in _FOLDED:
            return "fold", "history"
        if name == "cleared" and origin >= 0:
            return turn.sources.get(id(turn.messages[origin]), "fold"), "history"
        if name == "skill" and turn.state.skill is not None:
            name = f"skill:{turn.state.skill.name}"
        return name, "system" if hoisted else "tail"
    place: Place = "system" if hoisted else "history"
    if origin < 0:
        return "repair", place
    home = turn.messages[origin]
    if home.role != message.role:
        return "repair", place
    source = turn.sources.get(id(home), "slot")
    if source == "fold":
        original = turn.original(home)
        for index, item in enumerate(turn.transcript.items[: turn.transcript.folded]):
            if item is original:
                return f"history[{index}]", place
    return source, place


def _special_rule(turn: CompileTurn, source: str, origin: int, block: Block | None) -> str:
    if origin < 0:
        return ""
    home = turn.messages[origin]
    if source.startswith("history[") and isinstance(block, Text) and has_marker(block.text):
        return "too large to stay: a marker stands for it, the whole is in the store"
    if isinstance(block, Text) and block.source == "cleared":
        return "an old result, cleared; what it said left the window"
    if source.startswith("history[") and turn.sources.get(id(home)) == "fold":
        return "stays word for word while what is around it was folded"
    if source == "fold" and turn.transcript.folds:
        fold = turn.transcript.folds[-1]
        return f"{fold.strategy} put it in place of {fold.span} messages"
    return ""


def _repairs_at(repairs: Iterable[Repair]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for repair in repairs:
        match = _WHERE.match(repair.where)
        if match:
            found.setdefault(int(match[1]), []).append(repair.rule)
    return found


def _written(turn: CompileTurn) -> tuple[dict[str, Any], dict[str, Any], Marks] | None:
    """The body as it was written, and once more with marks. None for an adapter of somebody else:
    it is not run a second time."""
    adapter, request = turn.adapter, turn.request
    if request is None or type(adapter) not in _BUILT_IN or turn.adapted is None:
        return None
    marks = Marks(request.messages)
    told = msgspec.structs.replace(request, messages=marked(request.messages, marks))
    return _body(turn, adapter, request), _body(turn, adapter, told), marks


def _body(turn: CompileTurn, adapter: WireAdapter, request: AdaptRequest) -> dict[str, Any]:
    adapted: Any = adapter.adapt(request)  # ours answer at once
    return http_body(turn.target_name, adapter.sdk_arguments(adapted))


# What was left out


def _out_spans(turn: CompileTurn, trace: _Trace) -> tuple[Span, ...]:
    return (
        *_pruned(turn),
        *_forgotten(turn),
        *_folded(turn),
        *_evicted(turn),
        *_offloaded(turn),
        *_left_to_server(turn),
        *_not_written(turn, trace),
        *_removed(turn, trace),
    )


def _out(
    source: str, reason: str, *, tokens: float = 0, uri: str | None = None, **more: Any
) -> Span:
    return Span(
        source=source,
        place="out",
        tokens=int(tokens),
        reason=reason,
        uri=uri,
        rule=rule_of(source),
        **more,
    )


def _pruned(turn: CompileTurn) -> Iterator[Span]:
    shown = {tool.name for tool in turn.inputs.tools}
    count = turn.parts.janitor.count_tools
    for tool in turn.inputs.registered_tools:
        if tool.name not in shown:
            yield _out(
                f"tool:{tool.name}",
                "pruned: the applied selection of tools does not keep it",
                tokens=count([tool]),
                preview=short(tool.description),
            )


def _forgotten(turn: CompileTurn) -> Iterator[Span]:
    memory = turn.memory
    if memory is None:
        return
    for key in memory.passed_over_keys:
        said = "memory: the selector or the limit left it out"
        yield _out(f"memory:{key}", said, uri=f"context://memory/{key}")
    for failure in memory.failures:
        key = "" if failure.key is None else f":{failure.key}"
        yield _out(f"memory{key}", f"memory: {failure.reason}")
    for key in memory.expired_keys:
        yield _out(f"memory:{key}", "memory: it outlived its time")


def _folded(turn: CompileTurn) -> Iterator[Span]:
    """The items that earlier passes took out of the window."""
    transcript = turn.transcript
    if not transcript.folds:
        return
    now = {source for _, source, _, _ in turn.evicted}
    kept = {id(turn.original(message)) for message in transcript.folds[-1].messages}
    start = 0
    for fold in transcript.folds:
        for index in range(start, fold.end):
            item = transcript.items[index]
            if id(item) in kept or f"history[{index}]" in now:
                continue
            yield _message_out(
                turn, item, f"history[{index}]", f"folded: {fold.strategy}", fold.uri
            )
        start = fold.end


def _evicted(turn: CompileTurn) -> Iterator[Span]:
    for message, source, reason, uri in turn.evicted:
        yield _message_out(turn, message, source, reason, uri)


def _offloaded(turn: CompileTurn) -> Iterator[Span]:
    for message in turn.messages:
        original = turn.original(message)
        if original is message:
            continue
        words = " ".join(text_of(block) for block in message.content)
        before = " ".join(text_of(block) for block in original.content)
        if not has_marker(words) or has_marker(before):
            continue
        found = _ADDRESS.search(words)
        source = turn.sources.get(id(message), "history")
        uri = found[0].partition("#")[0].rstrip(".,;") if found else None
        yield _message_out(turn, original, source, "offloaded: too large to stay", uri)


def _left_to_server(turn: CompileTurn) -> Iterator[Span]:
    transcript = turn.transcript
    for index, item in enumerate(transcript.window[: turn.left_to_server]):
        source = turn.sources.get(id(item), f"window[{index}]")
        yield _message_out(turn, item, source, "server: a compaction item stands for it", None)


def _not_written(turn: CompileTurn, trace: _Trace) -> Iterator[Span]:
    """Blocks of the window that mending or the target's form left out."""
    written: dict[int, list[Piece]] = {}
    for piece in trace.pieces:
        written.setdefault(piece.message, []).append(piece)
    for index, message in enumerate(turn.messages):
        mine = list(written.get(index, ()))
        for block in message.content:
            kind, text = kind_of(block, message), text_of(block)
            same = next((p for p in mine if p.kind == kind and p.text == text), None)
            same = same or next((p for p in mine if p.kind == kind), None)
            if same is not None:
                mine.remove(same)
                continue
            source, _ = credit(turn, index, message, block)
            where = f"messages[{index}]"
            said = next((r for r in turn.repairs if r.where.startswith(where)), None)
            reason = (
                f"mended: {said.message} [{said.rule}]" if said else "the target cannot carry it"
            )
            yield _out(
                source,
                reason,
                tokens=turn.parts.janitor.count([message.replace(content=(block,))]),
                role=message.role,
                preview=short(text),
            )


def _removed(turn: CompileTurn, trace: _Trace) -> Iterator[Span]:
    for who, stretch, words in trace.removed:
        text = words[stretch.start : stretch.end]
        yield _out(
            stretch.piece.source if stretch.piece else "adapter",
            f"removed by {who}",
            tokens=turn.parts.janitor.count([Message.user(text)]),
            preview=short(text),
        )


def _message_out(
    turn: CompileTurn, message: Message, source: str, reason: str, uri: str | None
) -> Span:
    return _out(
        source,
        reason,
        tokens=turn.parts.janitor.count([message]),
        uri=uri,
        role=message.role,
        preview=short(" ".join(text_of(block) for block in message.content)),
    )
