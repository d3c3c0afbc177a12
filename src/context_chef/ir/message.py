"""`Message`: one entry of the conversation, in no provider's dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, Self, TypeAlias, cast

import msgspec

from context_chef.errors import InputError, shown
from context_chef.given import read_list
from context_chef.ir.blocks import (
    BLOCK_TYPES,
    Block,
    CacheBreakpoint,
    Media,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.frozen import EMPTY, FrozenDict, frozen, native_fields
from context_chef.ir.text import clean_fields, is_clean

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: Final = ("system", "user", "assistant", "tool")
_BLOCKS: Final = frozenset(BLOCK_TYPES)
_FLAGS: Final = ("is_error", "pinned", "positional", "prefill")


class Message(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    weakref=True,
):
    """One entry of the conversation. Unchangeable all the way down.

    A tool's answer is a message of role `tool` with `tool_call_id`; everything else that a message
    holds is in `content`, in the order in which it was said.
    """

    role: Role
    content: tuple[Block, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    """The tool's name on a `tool` message; the speaker's elsewhere."""
    is_error: bool = False
    """The tool failed. Every target says so to the model."""
    pinned: bool = False
    """Survives overflow word for word, together with its whole turn."""
    positional: bool = False
    """On a `system` message: stays where it stands in the conversation."""
    prefill: bool = False
    """The guardrail's own opening of the answer: degraded where the model takes none."""
    cache: CacheBreakpoint | None = None
    """A breakpoint behind the last block of this message."""
    id: str | None = None
    """The caller's own name for it. Never on a wire."""
    native: Mapping[str, Any] = EMPTY
    """Fields that only one provider knows, under its name: re-emitted there verbatim."""
    extra: Mapping[str, Any] = EMPTY
    """What came in under a name we have no field for: carried, never read, never on a wire."""

    def __post_init__(self) -> None:
        if not self._is_plain():
            self._hold_to_kinds()

    def _is_plain(self) -> bool:
        """Whether there is nothing to be held to anything, as in nearly all messages."""
        call_id, name = self.tool_call_id, self.name
        content: object = self.content
        return (
            self.role in ROLES
            and type(content) is tuple
            and _BLOCKS.issuperset(map(type, self.content))
            and (call_id is None or is_clean(call_id))
            and (name is None or is_clean(name))
            and self.id is None
            and self.cache is None
            and self.native is EMPTY
            and self.extra is EMPTY
            and self.is_error is False
            and self.pinned is False
            and self.positional is False
            and self.prefill is False
            and type(cast(Any, self.role)) is str
        )

    def _hold_to_kinds(self) -> None:
        clean_fields(self, ("role",), ("tool_call_id", "name", "id"))
        if self.role not in ROLES:
            raise InputError(
                f"the role is {shown(self.role)}; use one of {', '.join(ROLES)}.", path="$.role"
            )
        if type(self.content) is not tuple:
            msgspec.structs.force_setattr(self, "content", blocks_of(self.content))
        else:
            _check_blocks(self.content)
        for flag in _FLAGS:
            value = getattr(self, flag)
            if value is not False and value is not True:
                raise InputError(
                    f"`{flag}` is true or false, not {shown(value)}.", path=f"$.{flag}"
                )
        if self.cache is not None and not isinstance(self.cache, CacheBreakpoint):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise InputError(
                f"`cache` is a `CacheBreakpoint` or None, not {shown(self.cache)}.", path="$.cache"
            )
        if self.native is not EMPTY:
            msgspec.structs.force_setattr(self, "native", native_fields(self.native))
        if type(self.extra) is not FrozenDict:
            try:
                msgspec.structs.force_setattr(self, "extra", frozen(self.extra))
            except InputError as error:
                raise error.under("$.extra") from error

    @property
    def text(self) -> str:
        """The words of all text blocks, joined by a newline."""
        texts = [block.text for block in self.content if isinstance(block, Text)]
        return texts[0] if len(texts) == 1 else "\n".join(texts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls among the blocks, in order."""
        calls = [block for block in self.content if type(block) is ToolCall]
        return tuple(calls) if calls else ()

    @property
    def media(self) -> tuple[Media, ...]:
        """The media among the blocks, in order."""
        return tuple(block for block in self.content if isinstance(block, Media))

    @property
    def thinking(self) -> tuple[Thinking, ...]:
        """The readable reasoning among the blocks, in order."""
        return tuple(block for block in self.content if isinstance(block, Thinking))

    def replace(self, **changes: Any) -> Self:
        """The same message with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def with_text(self, text: str) -> Self:
        """The same message saying `text` instead; everything that is not text stays in place."""
        kept: list[Block] = []
        said = False
        for block in self.content:
            if not isinstance(block, Text):
                kept.append(block)
            elif not said:
                said = True
                kept.append(msgspec.structs.replace(block, text=text))
        if not said and text:
            kept.insert(0, Text(text=text))
        return self.replace(content=tuple(kept))

    @classmethod
    def system(cls, content: Content, **fields: Any) -> Message:
        """An instruction."""
        return cls(role="system", content=blocks_of(content), **fields)

    @classmethod
    def user(cls, content: Content, **fields: Any) -> Message:
        """Something the user said."""
        return cls(role="user", content=blocks_of(content), **fields)

    @classmethod
    def assistant(
        cls, content: Content = "", *, tool_calls: Sequence[ToolCall] = (), **fields: Any
    ) -> Message:
        """Something the model said, and the tools it asked for."""
        calls = read_list(tool_calls, "tool_calls", ToolCall)
        return cls(role="assistant", content=(*blocks_of(content), *calls), **fields)

    @classmethod
    def tool(cls, content: Content, *, tool_call_id: str, **fields: Any) -> Message:
        """What a tool answered to the call `tool_call_id`."""
        return cls(role="tool", content=blocks_of(content), tool_call_id=tool_call_id, **fields)


Content: TypeAlias = str | Block | Iterable[Block]
History: TypeAlias = Sequence[Message]
MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message, or a plain mapping in the chat-completions or the flat shape."""


def blocks_of(content: Content) -> tuple[Block, ...]:
    """Blocks of a string (none when it is empty), a block, or blocks."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if isinstance(content, BLOCK_TYPES):
        return (content,)
    given: Any = content  # callers are not all typed
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise InputError(
            f"content is text, a block or a list of blocks, not {shown(cast(Any, given))}.",
            path="$.content",
        )
    blocks = tuple(cast("Iterable[Block]", given))
    _check_blocks(blocks)
    return blocks


def _check_blocks(content: tuple[Any, ...]) -> None:
    for index, block in enumerate(content):
        if not isinstance(block, BLOCK_TYPES):
            raise InputError(
                f"content holds blocks such as `Text(text=…)`, not {shown(block)}.",
                path=f"$.content[{index}]",
            )
