"""A request body as its provider hashes it: blocks in the order of the cache, marks set apart.

Tools come first, then the system prompt, then the conversation; a setting stands where a change of
it ends what is cached. Nothing depends on where a breakpoint is but the marks themselves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from context_chef.adaptation.conversation import plain
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.costs.wire_tokens import (
    MESSAGE_TOKENS,
    content_of,
    tool_prompt_tokens,
    wrapping_tokens,
)
from context_chef.ir.blocks import Provider
from context_chef.ir.frozen import thaw
from context_chef.ir.handed_out import HandedOut, Sealed
from context_chef.ir.running import same_start

Count: TypeAlias = Callable[[str], int]

_MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_ENCODE: Final = msgspec.json.Encoder().encode
_THINKING: Final = ("thinking", "redacted_thinking")


class PromptBlock(NamedTuple):
    """One block, or a setting of the request that keys the cache and is no block."""

    suffix: str
    """Its path below the unit it belongs to."""
    digest: bytes
    """Of its content with its role, without marks."""
    text: str
    tokens: int
    label: str = ""
    """What kind of block of which role it is."""
    mark: str | None = None
    """The lifetime asked for, where a breakpoint stands on it."""
    ends_turn: bool = False
    """OpenAI: the end of a user's or a tool's message, where it may mark by itself."""
    setting: bool = False
    thinking: bool = False
    image: bool = False
    citing: bool = False


class Unit(NamedTuple):
    """One tool, message or item of the body."""

    path: str
    blocks: tuple[PromptBlock, ...]


class Prompt:
    """A request in the order of the cache. A block is known by the digest of all up to it."""

    __slots__ = ("_own_marks", "blocks", "digests", "marks", "starts", "sums", "units")

    def __init__(
        self, units: Sequence[Unit], *, after: Prompt | None = None, automatic: str | None = None
    ) -> None:
        """`after` is an earlier request: what this one has in common with it is taken over.

        `automatic` is the lifetime of a mark that the provider places at the end itself.
        """
        shared = 0 if after is None else _shared(units, after.units)
        if after is None or not shared:
            self.starts: list[int] = []
            self.blocks: list[PromptBlock] = []
            self.digests: list[bytes] = []
            self.sums: list[int] = []
            self._own_marks: dict[int, str] = {}
        else:
            until = after.starts[shared] if shared < len(after.starts) else len(after.blocks)
            self.starts = after.starts[:shared]
            self.blocks = after.blocks[:until]
            self.digests = after.digests[:until]
            self.sums = after.sums[:until]
            marks = after._own_marks.items()
            self._own_marks = {index: mark for index, mark in marks if index < until}
        digest = self.digests[-1] if self.digests else b""
        total = self.sums[-1] if self.sums else 0
        for unit in units[shared:]:
            self.starts.append(len(self.blocks))
            for block in unit.blocks:
                digest = blake2b(digest + block.digest, digest_size=16).digest()
                total += block.tokens
                if block.mark:
                    self._own_marks[len(self.blocks)] = block.mark
                self.blocks.append(block)
                self.digests.append(digest)
                self.sums.append(total)
        self.units = units
        self.marks: dict[int, str] = dict(self._own_marks)
        if automatic is not None:
            last = self._last_markable()
            if last is not None:
                self.marks.setdefault(last, automatic)

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self.sums[-1] if self.sums else 0

    def upto(self, index: int) -> int:
        """Tokens up to the end of that block; 0 for -1."""
        return self.sums[index] if index >= 0 else 0

    def path(self, index: int) -> str:
        """Where that block stands in the body."""
        unit = self.units[bisect_right(self.starts, index) - 1]
        return unit.path + self.blocks[index].suffix

    def parts_from(self, before: Prompt) -> int | None:
        """The first block that is not as it was in `before`; None when this only adds to it.

        One past the last block when blocks at the end are gone.
        """
        length = min(len(self.digests), len(before.digests))
        low, high = 0, length
        while low < high:  # everything behind a difference differs too
            middle = (low + high) // 2
            if self.digests[middle] == before.digests[middle]:
                low = middle + 1
            else:
                high = middle
        if low < length:
            return low
        return low if len(before.digests) > length else None

    def _last_markable(self) -> int | None:
        for index in range(len(self.blocks) - 1, -1, -1):
            block = self.blocks[index]
            if block.tokens and not block.setting and not block.thinking:
                return index
        return None


def _shared(units: Sequence[Unit], before: Sequence[Unit]) -> int:
    count = same_start(units, before)
    for unit, other in zip(units[count:], before[count:], strict=False):
        if unit.blocks is not other.blocks or unit.path != other.path:
            break
        count += 1
    return count


class _Rows(NamedTuple):
    """A list of rows that was read last. What is sealed in it cannot have changed since."""

    rows: Sequence[Any]
    sealed: int
    """So many rows at the beginning are sealed."""
    units: Sequence[Unit]
    current: int


class PromptReader:
    """Reads the request bodies of one session. A message that comes again is read once."""

    def __init__(
        self,
        target: Provider,
        *,
        count: Count,
        profile: ModelProfile | None = None,
        resources: Mapping[str, int] | None = None,
    ) -> None:
        """`resources` are the tokens of Gemini's `cachedContents` by name."""
        self.target: Provider = target
        self._count = count
        self._keeps_thinking = profile is None or profile.keeps_thinking
        self._resources = resources or {}
        self._signatures = profile is not None and profile.thought_signatures
        words = tool_prompt_tokens(target, profile.name if profile else None)
        about = PromptBlock("", _digest("about tools", ""), "", words, setting=True)
        self._about_tools = Unit("tools", (about,))
        self._settings: dict[tuple[str, bytes], tuple[PromptBlock, ...]] = {}
        self._read_before: dict[tuple[str, Split], dict[bytes, tuple[PromptBlock, ...]]] = {}
        self._last: dict[str, _Rows] = {}
        self._looked_at: Sequence[Unit] = ()
        self._looks: list[tuple[bool, bool]] = [(False, False)]
        """What `_seen` found up to each unit of the last conversation."""

    def read(self, body: Mapping[str, Any], *, after: Prompt | None = None) -> Prompt:
        """The body in the order of the cache."""
        units = {
            "anthropic": self._anthropic,
            "openai": self._chat,
            "openai-responses": self._responses,
            "gemini": self._gemini,
        }[self.target](body)
        automatic = _map(body.get("cache_control") if self.target == "anthropic" else None)
        ttl = str(automatic.get("ttl") or "5m") if automatic else None
        return Prompt(list(units), after=after, automatic=ttl)

    def read_anything(self, body: Mapping[str, Any], *, after: Prompt | None = None) -> Prompt:
        """A body of a form that nobody knows: its keys in order, lists by element."""
        units: list[Unit] = []
        for name, value in body.items():
            if isinstance(value, list):
                kind = "tool" if name == "tools" else "message"
                split = whole if name == "tools" else by_block
                for index, item in enumerate(_list(value)):
                    plain_item = isinstance(item, Mapping) and "content" in item
                    cut = split if plain_item or name == "tools" else whole
                    units.append(self._unit(f"{name}[{index}]", kind, item, cut))
            else:
                units.append(self._unit(name, "message", value, whole))
        return Prompt(units, after=after)

    # The four wire formats, in the order of their caches

    def _anthropic(self, body: Mapping[str, Any]) -> Iterator[Unit]:
        if body.get("tools"):
            yield self._about_tools
        for index, tool in enumerate(_list(body.get("tools"))):
            if not _map(tool).get("defer_loading"):
                yield self._unit(f"tools[{index}]", "tool", tool, whole)
        messages = _list(body.get("messages"))
        current = 0 if self._keeps_thinking else _start_of_turn(messages)
        conversation = self._rows(
            "messages",
            "message",
            messages,
            lambda index, _: without_thinking if index < current else by_block,
            current,
        )
        citing, images = self._seen(conversation)
        yield self._setting("speed", body.get("speed"))
        yield self._setting("output_config.format", _map(body.get("output_config")).get("format"))
        yield self._setting("citations", citing)
        system = body.get("system")
        if isinstance(system, str):
            yield self._unit("system", "system", {"type": "text", "text": system}, whole)
        for index, block in enumerate(_list(system)):
            yield self._unit(f"system[{index}]", "system", block, whole)
        thinking = _map(body.get("thinking"))
        yield self._setting("tool_choice", body.get("tool_choice"))
        yield self._setting("thinking", [thinking.get("type"), thinking.get("budget_tokens")])
        yield self._setting("images", images)
        yield from conversation

    def _chat(self, body: Mapping[str, Any]) -> Iterator[Unit]:
        if body.get("response_format"):
            yield self._unit("response_format", "format", body["response_format"], whole)
        for index, tool in enumerate(_list(body.get("tools"))):
            yield self._unit(f"tools[{index}]", "tool", tool, whole)
        yield from self._rows(
            "messages", "message", _list(body.get("messages")), lambda _, __: by_block
        )

    def _responses(self, body: Mapping[str, Any]) -> Iterator[Unit]:
        form = _map(body.get("text")).get("format")
        if form:
            yield self._unit("text.format", "format", form, whole)
        for index, tool in enumerate(_list(body.get("tools"))):
            if not _map(tool).get("defer_loading"):
                yield self._unit(f"tools[{index}]", "tool", tool, whole)
        if body.get("instructions"):
            yield self._unit("instructions", "system", body["instructions"], whole)
        items = body.get("input")
        if isinstance(items, str):
            yield self._unit("input", "message", {"role": "user", "content": items}, by_block)
        yield from self._rows("input", "item", _list(items), _split_of_item)

    def _gemini(self, body: Mapping[str, Any]) -> Iterator[Unit]:
        held = body.get("cachedContent") or body.get("cached_content")
        if held:
            size = self._resources.get(str(held), 0)
            block = PromptBlock("", _digest("cachedContent", str(held)), "", size)
            yield Unit("cachedContent", (block,))
        for index, tool in enumerate(_list(body.get("tools"))):
            yield self._unit(f"tools[{index}]", "tool", tool, by_declaration)
        system = _map(body.get("systemInstruction") or body.get("system_instruction"))
        for index, part in enumerate(_list(system.get("parts"))):
            yield self._unit(f"systemInstruction.parts[{index}]", "system", part, whole)
        contents = body.get("contents")
        if isinstance(contents, str):
            contents = [{"role": "user", "parts": [{"text": contents}]}]
        yield from self._rows("contents", "content", _list(contents), lambda _, __: by_part)

    # Blocks

    def _rows(
        self,
        name: str,
        kind: str,
        rows: Sequence[Any],
        split: Callable[[int, Any], Split],
        current: int = 0,
    ) -> Sequence[Unit]:
        """The units of that list. Rows before `current` are not split as those behind it are."""
        last = self._last.get(name)
        same = 0
        units: list[Unit] = []
        if last is not None:
            same = min(same_start(last.rows, rows), last.sealed)
            if last.current != current:
                same = min(same, last.current, current)
            units = list(last.units[:same])
        for index in range(same, len(rows)):
            row = rows[index]
            units.append(self._unit(f"{name}[{index}]", kind, row, split(index, row)))
        sealed = same
        while sealed < len(rows) and rows[sealed].__class__ is Sealed:
            sealed += 1
        self._last[name] = _Rows(rows, sealed, units, current)
        return units

    def _seen(self, units: Sequence[Unit]) -> tuple[bool, bool]:
        """Whether anything in there cites, and whether there are images."""
        same = same_start(self._looked_at, units)
        del self._looks[same + 1 :]
        citing, images = self._looks[-1]
        for unit in units[same:]:
            citing = citing or any(block.citing for block in unit.blocks)
            images = images or any(block.image for block in unit.blocks)
            self._looks.append((citing, images))
        self._looked_at = units
        return citing, images

    def _setting(self, path: str, value: Any) -> Unit:
        key = (path, _encoded(value))
        blocks = self._settings.get(key)
        if blocks is None:
            digest = _digest("setting " + path, value)
            blocks = self._settings[key] = (PromptBlock("", digest, "", 0, setting=True),)
        return Unit(path, blocks)

    def _unit(self, path: str, kind: str, value: Any, split: Split) -> Unit:
        known = self._read_before.get((kind, split))
        if known is None:
            known = self._read_before[kind, split] = {}
        # By its bytes: the caller may have changed the same object since it was read.
        # A sealed row cannot be changed, and keeps them.
        encoded = value.json if value.__class__ is Sealed else _encoded(value)
        blocks = known.get(encoded)
        if blocks is None:
            value = thaw(value) if value.__class__ is Sealed else value
            blocks = known[encoded] = tuple(self._block(kind, piece) for piece in split(value))
        return Unit(path, blocks)

    def _block(self, kind: str, piece: Piece) -> PromptBlock:
        value = _unmarked(piece.value)
        content = content_of(value, self._count, self.target, signatures=self._signatures)
        tokens = (self._count(content.text) if content.text else 0) + content.beside
        tokens += wrapping_tokens(value, self.target, tool=kind == "tool")
        return PromptBlock(
            suffix=piece.suffix,
            digest=_digest(f"{kind} {piece.role}", value),
            text=content.text,
            tokens=tokens + (MESSAGE_TOKENS if piece.first else 0),
            label=f"{kind} {piece.role}",
            mark=_mark(piece.value),
            ends_turn=piece.ends_turn,
            thinking=_map(piece.value).get("type") in _THINKING,
            image=self.target == "anthropic"
            and any(one.get("type") == "image" for one in _with_inner(piece.value)),
            citing=self.target == "anthropic"
            and any(_map(one.get("citations")).get("enabled") for one in _with_inner(piece.value)),
        )


class Piece(NamedTuple):
    """A part of a message before it is counted."""

    suffix: str
    role: str
    value: Any
    ends_turn: bool = False
    first: bool = False


Split: TypeAlias = Callable[[Any], Iterator[Piece]]


def whole(value: Any) -> Iterator[Piece]:
    """A tool or a block of the system prompt."""
    yield Piece("", "", value)


def by_declaration(value: Any) -> Iterator[Piece]:
    """The functions of a tool of Gemini, and then what else the tool offers."""
    tool = _map(value)
    rest: dict[str, Any] = {}
    for name, item in tool.items():
        if name in ("functionDeclarations", "function_declarations") and isinstance(item, list):
            for index, function in enumerate(_list(item)):
                yield Piece(f".{name}[{index}]", "", function)
        else:
            rest[name] = item
    if rest or not tool:
        yield Piece("", "", rest)


def _split_of_item(_: int, item: Any) -> Split:
    return by_block if _map(item).get("type") in (None, "message") else item_whole


def item_whole(value: Any) -> Iterator[Piece]:
    """An item of Responses that is no message."""
    kind = str(_map(value).get("type"))
    yield Piece("", kind, value, ends_turn=kind.endswith("_output"), first=True)


def by_block(value: Any) -> Iterator[Piece]:
    """The blocks of a message, and then what it has beside its content."""
    message = _map(value)
    role = str(message.get("role") or "")
    outside = ("content", "role", "type", "id", "status", *_MARKS)
    rest = {
        name: item for name, item in message.items() if name not in outside and item is not None
    }
    content = message.get("content")
    blocks: list[tuple[str, Any]] = [
        (f".content[{index}]", block) for index, block in enumerate(_list(content))
    ]
    if isinstance(content, str):
        # Plain text and one block of it are the same prompt.
        blocks = [(".content", {"type": "text", "text": content})]
    ends = role in ("user", "tool")
    for index, (suffix, block) in enumerate(blocks):
        last = index == len(blocks) - 1 and not rest
        yield Piece(suffix, role, block, ends_turn=ends and last, first=index == 0)
    if rest:
        yield Piece("", role, rest, ends_turn=ends, first=not blocks)


def without_thinking(value: Any) -> Iterator[Piece]:
    """A message of a finished turn, for a model that is not shown its thinking again."""
    for piece in by_block(value):
        if _map(piece.value).get("type") not in _THINKING:
            yield piece


def by_part(value: Any) -> Iterator[Piece]:
    """The parts of a content of Gemini."""
    content = _map(value)
    parts = content.get("parts")
    many = _list(parts) if isinstance(parts, list) else [parts]
    for index, part in enumerate(many):
        role = str(content.get("role") or "user")
        yield Piece(f".parts[{index}]", role, part, first=index == 0)


def _encoded(value: Any) -> bytes:
    try:
        return _ENCODE(value)
    except (TypeError, ValueError, UnicodeError):
        return _ENCODE(plain(value))


def _digest(kind: str, value: Any) -> bytes:
    # In the order in which the keys stand: providers hash what they are sent.
    return blake2b(kind.encode() + b"\0" + _encoded(value), digest_size=16).digest()


def _unmarked(value: Any) -> Any:
    if value.__class__ is str:
        return value
    if isinstance(value, Mapping):
        fields = cast(Mapping[str, Any], value)
        return {name: _unmarked(item) for name, item in fields.items() if name not in _MARKS}
    if isinstance(value, list):
        return [_unmarked(item) for item in cast(list[Any], value)]
    return value


def _mark(value: Any) -> str | None:
    """The lifetime of the longest mark on a block or inside it."""
    found: str | None = None
    block = _map(value)
    own = block.get("cache_control")
    if isinstance(own, Mapping):
        found = str(cast(Mapping[str, Any], own).get("ttl") or "5m")
    if block.get("prompt_cache_breakpoint"):
        found = "30m"
    inner = block.get("content")
    if inner.__class__ is list:
        for one in _maps(inner):
            found = found or _mark(one)
    return found


def _with_inner(value: Any) -> Iterator[Mapping[str, Any]]:
    """A block, and the blocks in it: those of a tool result."""
    block = _map(value)
    yield block
    yield from _maps(block.get("content"))


def _start_of_turn(messages: Sequence[Any]) -> int:
    """Where the turn in progress begins: the last user message that holds no tool result."""
    for index in range(len(messages) - 1, -1, -1):
        message = _map(messages[index])
        blocks = _maps(message.get("content"))
        if message.get("role") == "user" and all(b.get("type") != "tool_result" for b in blocks):
            return index
    return 0


def _map(value: Any) -> Mapping[str, Any]:
    if value.__class__ is dict or value.__class__ is Sealed:  # much the cheaper test
        return value
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    if value.__class__ is HandedOut:
        return list(value.as_shared())  # rows that nobody else changed are not copied for us
    return cast(list[Any], value) if isinstance(value, list) else []


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [cast(Mapping[str, Any], item) for item in _list(value) if isinstance(item, Mapping)]
