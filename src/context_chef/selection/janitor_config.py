"""What a user sets about counting, overflow and handoff: every figure judged when it is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

from context_chef.bridge import MaybeAwaitable
from context_chef.errors import SettingsError, nearest, shown
from context_chef.given import LARGEST
from context_chef.ir.message import Message
from context_chef.prompts.compaction import trim
from context_chef.prompts.handoff import MAX_PROMPT_BYTES
from context_chef.selection.strategy import OverflowStrategy

UsagePreference: TypeAlias = Literal["max", "feedFirst", "tokenizerFirst"]
SplitRule: TypeAlias = Literal["ratio", "recent-turns"]
Oversize: TypeAlias = Literal["clip", "refuse", "send"]
Keep: TypeAlias = Literal["chef", "caller"]
CompressionModel: TypeAlias = Callable[[Sequence[Message]], MaybeAwaitable[str]]
"""Given the messages to summarise and one user message with the instruction; answers the text."""

ArchiveLike: TypeAlias = Any
"""`"vfs"`, a callable from messages to an address, or an object (or mapping) with `store`."""

USAGE_PREFERENCES: Final = ("max", "feedFirst", "tokenizerFirst")
SPLIT_RULES: Final = ("ratio", "recent-turns")
_USAGE_ALIASES: Final = {"feed_first": "feedFirst", "tokenizer_first": "tokenizerFirst"}
_SPLIT_ALIASES: Final = {"recent_turns": "recent-turns"}
C = TypeVar("C")


@dataclass(frozen=True, kw_only=True)
class CompressionOptions:
    """How a span is summarised. The options of `summarize()` and `anchored()`."""

    compression_model: CompressionModel | None = None
    """Without one, a span is dropped and a marker stands for it."""
    preserve_ratio: float | None = None
    """Share of the trigger that the newest turns may keep. 0.8 when it is not set."""
    preserve_recent_messages: int | None = None
    """Turns to keep where turns are not counted in tokens. 1 when it is not set."""
    split: SplitRule | None = None
    """How the cut is found. None counts tokens wherever that is possible."""
    min_shrink_ratio: float = 0.5
    """A summary of 2000 characters or more has to be this much shorter. 0 switches it off."""
    tool_result_stub_threshold: int | None = None
    """Longer tool results are shown to the summarising model as one line."""
    compression_guidelines: Sequence[str] = ()
    custom_compression_instructions: str | None = None
    validate_compression: Callable[[str, Any], MaybeAwaitable[object]] | None = None
    """Given the summary and `CompressionCheck`; anything but a true answer rejects the summary."""
    compression_window: float | None = None
    """Tokens that the summarising model takes. None is the window of the session; a longer span is
    summarised in parts."""
    mark_dropped: bool = True
    """Whether a marker stands in the window for a span that was dropped without a summary."""
    keep_open_request: bool = True
    """Whether the request that tools are still at work on stays verbatim."""

    def __post_init__(self) -> None:
        optional_callable("compression_model", self.compression_model)
        optional_callable("validate_compression", self.validate_compression)
        if self.preserve_ratio is not None:
            share("preserve_ratio", self.preserve_ratio, above_zero=True)
        if self.preserve_recent_messages is not None:
            whole("preserve_recent_messages", self.preserve_recent_messages, least=1)
        if self.split is not None:
            split = _spelled(self.split, _SPLIT_ALIASES)
            choice("split", split, SPLIT_RULES)
            object.__setattr__(self, "split", split)
        share("min_shrink_ratio", self.min_shrink_ratio)
        if self.tool_result_stub_threshold is not None:
            whole("tool_result_stub_threshold", self.tool_result_stub_threshold, least=0)
        if isinstance(self.compression_guidelines, str):
            raise SettingsError(
                "`compression_guidelines` is a list of lines, not "
                f"{shown(self.compression_guidelines)}; put a single one in a list."
            )
        if self.compression_window is not None:
            positive("compression_window", self.compression_window)
        for name in ("mark_dropped", "keep_open_request"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"`{name}` is True or False, not {shown(getattr(self, name))}.")


@dataclass(frozen=True, kw_only=True)
class JanitorConfig:
    """The window, how it is counted, and how the default strategy summarises."""

    context_window: float = math.inf
    """Tokens that the model takes. Infinite: nothing ever overflows."""
    reserve_output: float = 0
    """Tokens of the window that are kept free for the answer."""
    trigger_ratio: float = 0.7
    """Above this share of the room, history overflows."""
    tokenizer: Any = None
    """See `resolve_tokenizer`: a name, a tokenizer, a callable; None estimates."""
    estimate: Callable[[Sequence[Message]], float] | None = None
    """Used instead of the built-in estimate when there is no tokenizer."""
    usage_preference: UsagePreference = "max"
    """Which figure counts when both a tokenizer and reported usage are there."""
    compression_model: CompressionModel | None = None
    preserve_ratio: float | None = None
    preserve_recent_messages: int | None = None
    min_shrink_ratio: float | None = None
    tool_result_stub_threshold: int | None = None
    compression_guidelines: Sequence[str] | None = None
    custom_compression_instructions: str | None = None
    validate_compression: Callable[[str, Any], MaybeAwaitable[object]] | None = None
    compression_window: float | None = None
    mark_dropped: bool | None = None
    keep_open_request: bool | None = None
    on_before_compress: Callable[..., MaybeAwaitable[Sequence[Message] | None]] | None = None
    """Called with the history and `BeforeCompress` before a strategy runs. A list that it answers
    takes the history's place in this pass."""
    on_compress: Callable[..., MaybeAwaitable[object]] | None = None
    """Called with the summary message, the number of messages and `CompressDetails`."""
    breaker_cooldown_seconds: float = 60
    """After three failures in a row overflow rests this long, then one attempt is made."""
    logger: Any = None
    strategy: OverflowStrategy | None = None
    """Deprecated: use `OverflowConfig.strategy`."""
    archive: ArchiveLike = None
    """Deprecated: use `OverflowConfig.archive`."""
    compression_mode: str | None = None
    """Deprecated: use `summarize()` or `anchored()`."""
    compression_scheduling: str | None = None
    """Deprecated: use `background()`."""

    def __post_init__(self) -> None:
        positive("context_window", self.context_window)
        number("reserve_output", self.reserve_output)
        if self.reserve_output < 0 or self.reserve_output >= self.context_window:
            raise SettingsError(
                f"`reserve_output` has to be 0 or more and less than `context_window` "
                f"({shown(self.context_window)}), not {shown(self.reserve_output)}."
            )
        share("trigger_ratio", self.trigger_ratio, above_zero=True)
        usage = _spelled(self.usage_preference, _USAGE_ALIASES)
        choice("usage_preference", usage, USAGE_PREFERENCES)
        object.__setattr__(self, "usage_preference", usage)
        number("breaker_cooldown_seconds", self.breaker_cooldown_seconds)
        if self.breaker_cooldown_seconds < 0:
            raise SettingsError(
                "`breaker_cooldown_seconds` cannot be negative, as in "
                f"{shown(self.breaker_cooldown_seconds)}; 0 tries again every time."
            )
        for name in ("on_before_compress", "on_compress", "estimate"):
            optional_callable(name, getattr(self, name))
        if self.strategy is not None:
            check_strategy("janitor.strategy", self.strategy)
        if self.archive is not None:
            check_archive("janitor.archive", self.archive)
        self.compression_options()

    def compression_options(self) -> CompressionOptions:
        """The options of the default strategy. Raises SettingsError for a meaningless one."""
        given = {
            field.name: value
            for field in fields(CompressionOptions)
            if (value := getattr(self, field.name, None)) is not None
        }
        return CompressionOptions(**given)


@dataclass(frozen=True, kw_only=True)
class HandoffConfig:
    """Tell the model once that the window is about to end, so that it writes down what matters."""

    budget_tokens: int
    """The notice goes out when this many tokens, or fewer, are left before the trigger."""
    prompt: str | None = None
    """The notice; `{n_remaining}` stands for the tokens left. None takes the session's wording."""

    def __post_init__(self) -> None:
        whole("handoff.budget_tokens", self.budget_tokens, least=1)
        if self.prompt is None:
            return
        if not isinstance(self.prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from JSON
            raise SettingsError(f"`handoff.prompt` is a text, not {shown(self.prompt)}.")
        prompt = trim(self.prompt)
        if not prompt:
            raise SettingsError(
                f"`handoff.prompt` cannot be blank, as in {shown(self.prompt)}; "
                "leave it out to use the default wording."
            )
        size = len(prompt.encode("utf-8", "surrogatepass"))
        if size > MAX_PROMPT_BYTES:
            raise SettingsError(
                f"`handoff.prompt` may have {MAX_PROMPT_BYTES} UTF-8 bytes, not {size}; "
                "put standing guidance in the system prompt."
            )
        object.__setattr__(self, "prompt", prompt)


@dataclass(frozen=True, kw_only=True)
class OverflowConfig:
    """What happens when history overflows."""

    strategy: OverflowStrategy | None = None
    """None summarises as `JanitorConfig` says."""
    archive: ArchiveLike = None
    handoff: HandoffConfig | Mapping[str, Any] | None = None
    keep: Keep = "chef"
    """`"chef"` remembers what was compressed. `"caller"` leaves that to the caller: every compile
    starts from the stored history again, and the evaluation after a landed pass is skipped once."""
    oversize: Oversize = "clip"
    """What becomes of history that no strategy made fit the window: clipped and archived, refused
    with an error, or sent as it is."""

    def __post_init__(self) -> None:
        choice("overflow.keep", self.keep, ("chef", "caller"))
        choice("overflow.oversize", self.oversize, ("clip", "refuse", "send"))
        if self.strategy is not None:
            check_strategy("overflow.strategy", self.strategy)
        if self.archive is not None:
            check_archive("overflow.archive", self.archive)
        if self.handoff is not None:
            handoff = validate_handoff_config(self.handoff)
            object.__setattr__(self, "handoff", handoff)


def validate_handoff_config(config: HandoffConfig | Mapping[str, Any]) -> HandoffConfig:
    """A handoff configuration, checked. Raises SettingsError naming the value."""
    if isinstance(config, HandoffConfig):
        return config
    if not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from JSON
        raise SettingsError(
            f"`overflow.handoff` is a `HandoffConfig` or mapping, not {shown(config)}."
        )
    return read_section(HandoffConfig, config, "overflow.handoff", required=("budget_tokens",))


def section(kind: type[C], given: C | Mapping[str, Any] | None, name: str) -> C:
    """The section as its dataclass; None gives the defaults. Raises SettingsError."""
    if isinstance(given, kind):
        return given
    return read_section(kind, {} if given is None else cast("Mapping[str, Any]", given), name)


def read_section(
    kind: type[C], values: Mapping[str, Any], name: str, *, required: Sequence[str] = ()
) -> C:
    """A section of settings out of a mapping. Raises SettingsError with the nearest right name."""
    if not isinstance(values, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from JSON
        raise SettingsError(f"`{name}` is a mapping of settings, not {shown(values)}.")
    known = [field.name for field in fields(cast(Any, kind))]
    for key in values:
        if not isinstance(cast(Any, key), str) or key not in known:
            raise SettingsError(f"`{name}` has no setting {shown(key)}. {nearest(key, known)}")
    for key in required:
        if key not in values:
            raise SettingsError(f"`{name}` needs `{key}`.")
    return kind(**values)


def _spelled(value: Any, aliases: Mapping[str, str]) -> Any:
    """The name that an alias stands for; anything else as it is."""
    return aliases.get(value, value) if isinstance(value, str) else value


def check_strategy(name: str, value: object) -> None:
    """Refuse what is no strategy: it needs a name and an `apply`."""
    if isinstance(getattr(value, "name", None), str) and callable(getattr(value, "apply", None)):
        return
    raise SettingsError(
        f"`{name}` cannot be {shown(value)}: a strategy has a `name` and an `apply(input)`. "
        "Built in: "
        "summarize(), anchored(), reset(), server(), chain(), background() and clear()."
    )


def check_archive(name: str, value: object) -> None:
    """Refuse what cannot store a span."""
    store = cast(Any, value).get("store") if isinstance(value, Mapping) else value
    if value == "vfs" or callable(store) or callable(getattr(store, "store", None)):
        return
    raise SettingsError(
        f"`{name}` is 'vfs', a callable from messages to an address, or an object with "
        f"`store(serialized, info)`, not {shown(cast(object, value))}."
    )


def number(name: str, value: object) -> None:
    """Refuse anything but a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise SettingsError(f"`{name}` is a number, not {shown(value)}.")
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise SettingsError(f"`{name}` is too large a number; `math.inf` means without a limit.")


def positive(name: str, value: object) -> None:
    """Refuse anything but a number above zero; infinity is one."""
    number(name, value)
    if cast(float, value) <= 0:
        raise SettingsError(f"`{name}` has to be above 0, not {shown(value)}.")


def share(name: str, value: object, *, above_zero: bool = False) -> None:
    """Refuse anything but a number from 0 to 1."""
    number(name, value)
    figure = cast(float, value)
    if not (0 < figure <= 1 if above_zero else 0 <= figure <= 1):
        least = "above 0 and at most 1" if above_zero else "from 0 to 1"
        raise SettingsError(f"`{name}` is a share {least}, not {shown(value)}.")


def whole(name: str, value: object, *, least: int) -> None:
    """Refuse anything but a whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < LARGEST:
        raise SettingsError(f"`{name}` is a whole number, {least} or more, not {shown(value)}.")


def choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value outside a closed set, with the nearest right one."""
    if value not in choices:
        raise SettingsError(f"`{name}` cannot be {shown(value)}. {nearest(value, choices)}")


def optional_callable(name: str, value: object) -> None:
    """Refuse anything but None and something that can be called."""
    if value is not None and not callable(value):
        raise SettingsError(f"`{name}` must be callable, not {shown(value)}.")
