"""Counting messages: every message once, whatever was configured as the tokenizer."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, cast

from context_chef.errors import SettingsError, shown
from context_chef.ir.blocks import (
    Block,
    Media,
    Opaque,
    Provider,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message
from context_chef.ir.message_memo import ObjectMemo
from context_chef.ir.running import RunningSum, Starts
from context_chef.ir.tokens import Tokenizer, estimate
from context_chef.ir.tools import ToolDefinition
from context_chef.selection.exact import exact_tokenizer, from_tiktoken
from context_chef.selection.media_cost import media_tokens

HistoryTokenizer: TypeAlias = Callable[[Sequence[Message]], float]
"""Counts a whole list of messages, as the contract's `tokenizer` does."""

TokenizerLike: TypeAlias = "str | Tokenizer | HistoryTokenizer | Callable[[str], Any] | None"
"""A name, a `Tokenizer`, a tiktoken encoding, or a callable on messages or on text."""

_LISTS: Final = 4
"""So many lists are remembered: the history, the whole request, and what is tried out."""
_SHORT: Final = 4
_MESSAGE_OVERHEAD: Final = 4
_CALL_OVERHEAD: Final = 8
_RESULT_OVERHEAD: Final = 6
_TOOL_OVERHEAD: Final = 12
_SEALED_KEYS: Final = frozenset({"encrypted_content", "signature", "data", "thoughtSignature"})
_SEALED_CHARACTERS_A_TOKEN: Final = 5


class Counter(Protocol):
    """What budgets are counted with."""

    @property
    def measured(self) -> bool:
        """Whether a tokenizer was configured; False for the estimate."""
        ...

    @property
    def calibrates(self) -> bool:
        """Whether reported usage may correct the counts; a caller's own figures stand."""
        ...

    def count(self, text: str, /) -> float: ...
    def count_message(self, message: Message, /) -> float: ...
    def count_messages(self, messages: Sequence[Message], /) -> float: ...
    def count_tools(self, tools: Iterable[ToolDefinition], /) -> float: ...


class MessageCounter:
    """Counts messages with a text tokenizer, each message object once.

    Counted are texts, thinking, calls with their names and arguments, results, and media by its
    provider's rule, with a few tokens for every message, call and tool that wire formats add.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | None = None,
        *,
        provider: Provider | None = None,
    ) -> None:
        self.measured = tokenizer is not None
        self.calibrates = True
        self._count: Callable[[str], int] = tokenizer.count if tokenizer else estimate
        self._provider: Provider | None = provider
        self._counts = ObjectMemo[Message | ToolDefinition, int]()
        self._lists: list[RunningSum] = []
        self.starts = Starts()
        """Where the lists part that are counted."""

    def adopt(self, other: MessageCounter) -> None:
        """Know what another counter of the same tokenizer has counted."""
        self._counts = other._counts

    def forget(self) -> None:
        """Let go of the lists that were counted. What was counted of a message lives as long."""
        self._lists = []
        self.starts.forget()

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._count(text) if text else 0

    def count_message(self, message: Message) -> int:
        """Tokens of a message. The same object is counted once, as long as it lives."""
        known = self._counts.get(message)
        if known is None:
            known = self._message(message)
            self._counts.put(message, known)
        return known

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a list. What was counted before and only grew costs what is new."""
        if len(messages) < _SHORT:
            return sum(map(self.count_message, messages))
        first = messages[0]
        known = next((each for each in self._lists if each.begins_with(first)), None)
        known = known or RunningSum(self.count_message, self.starts)
        lists = self._lists
        if not lists or lists[0] is not known:
            # The latest in front, since the last one is forgotten.
            others = [each for each in lists if each is not known]
            self._lists = [known, *others[: _LISTS - 1]]
        return int(known.total(messages))

    __call__ = count_messages

    def count_tools(self, tools: Iterable[ToolDefinition]) -> int:
        """Tokens of tool definitions: names, descriptions and schemas."""
        total = 0
        for tool in tools:
            known = self._counts.get(tool)
            if known is None:
                known = self._tool(tool)
                self._counts.put(tool, known)
            total += known
        return total

    def _message(self, message: Message) -> int:
        total = _MESSAGE_OVERHEAD
        for block in message.content:
            if type(block) is Text:  # as nearly all are
                total += self._count(block.text) if block.text else 0
            else:
                total += self._block(block)
        if message.name:
            total += self.count(message.name)
        return total + (_RESULT_OVERHEAD if message.role == "tool" else 0)

    def _block(self, block: Block) -> int:
        match block:
            case Text(text=text) | Thinking(text=text):
                return self.count(text)
            case ToolCall(name=name, arguments=arguments):
                return _CALL_OVERHEAD + self.count(name) + self.count(arguments)
            case Media():
                return media_tokens(block, self.count, self._provider)
            case RedactedThinking(data=data):
                return _sealed(data)
            case Opaque(value=value):
                plain, sealed = _unsealed(value)
                return self.count(compact_json(plain)) + sealed

    def _tool(self, tool: ToolDefinition) -> int:
        # Keys of our own (tags, extra) are on no wire; the native form of a server tool is.
        text = f"{tool.name} {tool.description} "
        if tool.parameters is not None:
            text += compact_json(thaw(tool.parameters))
        if tool.native:
            text += compact_json(thaw(tool.native))
        return _TOOL_OVERHEAD + self.count(text)


class CallableCounter:
    """Counts with a caller's function on lists of messages, whose figures stand as they are."""

    measured = True
    calibrates = False

    def __init__(self, function: HistoryTokenizer) -> None:
        self._function = function

    def count(self, text: str) -> float:
        """The function's figure for a user message of this text."""
        return self._function([Message.user(text)]) if text else 0

    def count_message(self, message: Message) -> float:
        """The function's figure for a list of this message."""
        return self._function([message])

    def count_messages(self, messages: Sequence[Message]) -> float:
        """The function's figure for this list."""
        return self._function(list(messages))

    def count_tools(self, tools: Iterable[ToolDefinition]) -> float:
        """The function knows no tools: the figure for their JSON as text."""
        texts = [
            f"{tool.name} {tool.description} {compact_json(thaw(tool.parameters or {}))}"
            for tool in tools
        ]
        return sum(self.count(text) for text in texts)


class EstimateCounter(CallableCounter):
    """A caller's own estimate, used when there is no tokenizer."""

    measured = False


class _TextFunction:
    """A function on text that answers a count, tokens, or anything with a length or `ids`."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function

    def count(self, text: str, /) -> int:
        answer = self._function(text)
        if isinstance(answer, (int, float)):
            return math.ceil(answer)
        return len(getattr(answer, "ids", answer))


def resolve_tokenizer(spec: TokenizerLike, *, provider: Provider | None = None) -> Counter:
    """A counter of messages for what a user calls a tokenizer.

    - None: the script-aware estimate, which does not undercount.
    - `"o200k_base"`, `"cl100k_base"` or an OpenAI model's name: exact, offline (extra `tokens`).
    - an object with `count(text)`, tiktoken's `encode_ordinary(text)` or `encode(text)`.
    - a callable. One whose first parameter is annotated `str`, or named like a text, counts texts;
      any other is given lists of messages, as in the contract. `text_tokenizer()` says it outright.
    """
    if spec is None:
        return MessageCounter(provider=provider)
    if isinstance(spec, str):
        return MessageCounter(exact_tokenizer(spec), provider=provider)
    if isinstance(spec, (MessageCounter, CallableCounter)):
        return spec
    unknown = cast(Any, spec)
    if callable(getattr(unknown, "count_messages", None)):
        return CallableCounter(unknown.count_messages)
    if callable(getattr(unknown, "count", None)):
        return MessageCounter(unknown, provider=provider)
    if callable(getattr(unknown, "encode_ordinary", None)):
        return MessageCounter(from_tiktoken(unknown), provider=provider)
    if callable(getattr(unknown, "encode", None)):
        return MessageCounter(_TextFunction(unknown.encode), provider=provider)
    if not callable(unknown):
        raise SettingsError(
            f"`tokenizer` cannot be {shown(spec)}; give a name such as 'o200k_base', an object "
            "with "
            "`count(text)`, or a callable."
        )
    if _takes_text(unknown):
        return MessageCounter(_TextFunction(unknown), provider=provider)
    return CallableCounter(cast(HistoryTokenizer, unknown))


def text_tokenizer(function: Callable[[str], Any]) -> Tokenizer:
    """A tokenizer out of a function on text that answers a count or tokens."""
    return _TextFunction(function)


def _takes_text(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    if not parameters:
        return False
    annotation = parameters[0].annotation
    if annotation is not inspect.Parameter.empty:
        return annotation in (str, "str")
    return parameters[0].name in ("text", "string", "prompt", "s")


def _sealed(data: str) -> int:
    return len(data) // _SEALED_CHARACTERS_A_TOKEN + 1


def _unsealed(value: Any) -> tuple[Any, int]:
    """A JSON-like value without what only its provider can read, and the tokens of that."""
    if isinstance(value, Mapping):
        plain: dict[str, Any] = {}
        total = 0
        for key, item in cast(Mapping[str, Any], value).items():
            if key in _SEALED_KEYS and isinstance(item, str):
                total += _sealed(item)
            else:
                plain[key], sealed = _unsealed(item)
                total += sealed
        return plain, total
    if isinstance(value, (list, tuple)):
        parts = [_unsealed(item) for item in cast(Sequence[Any], value)]
        return [part for part, _ in parts], sum(sealed for _, sealed in parts)
    return value, 0
