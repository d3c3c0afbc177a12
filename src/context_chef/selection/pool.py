"""Janitors for many sessions: one for each key, the least recently used go first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from context_chef.bridge import settle
from context_chef.errors import SettingsError
from context_chef.given import check_callable, check_text
from context_chef.ir.message import Message
from context_chef.selection.janitor import Janitor
from context_chef.selection.janitor_config import (
    JanitorConfig,
    OverflowConfig,
    UsagePreference,
    optional_callable,
    read_section,
    whole,
)
from context_chef.selection.overflow_pass import CompressDetails
from context_chef.selection.strategy import Logger
from context_chef.selection.warning_log import log_of

T = TypeVar("T")
_CALLED: Final = (
    "on_compress",
    "on_before_compress",
    "to_host_messages",
    "persistence_warning",
    "new_window_id",
)

DEFAULT_SESSION: Final = "__default__"
MAX_SESSIONS: Final = 256
_WARN_AT: Final = 3
_FALLS_BACK: Final = (
    "`usage_preference='tokenizerFirst'` needs a tokenizer; without one the pool uses 'max'."
)


class SessionPool(Generic[T]):
    """One thing for each session key, made on demand."""

    def __init__(self, create: Callable[[str], T], *, max_size: int = MAX_SESSIONS) -> None:
        whole("max_sessions", max_size, least=1)
        check_callable(create, "create", optional=False)
        self._create = create
        self._max_size = max_size
        self._sessions: dict[str, T] = {}

    def get(self, key: str) -> T:
        """The session's own. Beyond the size, the least recently used is dropped."""
        check_text(key, "key")
        session = self._sessions.pop(key) if key in self._sessions else self._create(key)
        self._sessions[key] = session
        while len(self._sessions) > self._max_size:
            del self._sessions[next(iter(self._sessions))]
        return session

    def drop(self, key: str) -> None:
        """Forget a session."""
        check_text(key, "key")
        self._sessions.pop(key, None)

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._sessions


@dataclass(frozen=True, kw_only=True)
class CompressTuning:
    """How the pool's own strategy compresses."""

    preserve_ratio: float | None = None
    trigger_ratio: float = 0.7
    min_shrink_ratio: float | None = None
    tool_result_stub_threshold: int | None = None
    usage_preference: Any = "max"


@dataclass(frozen=True, kw_only=True)
class JanitorPoolConfig:
    """What an integration sets for its sessions."""

    context_window: float | None = None
    compress: CompressTuning | Mapping[str, Any] | None = None
    compression_model: Any = None
    tokenizer: Any = None
    estimate: Any = None
    on_compress: Callable[..., Any] | None = None
    """Called with the summary text, the number of messages, and their host form in a mapping."""
    on_before_compress: Callable[..., Any] | None = None
    to_host_messages: Callable[[Sequence[Message]], Any] | None = None
    persistence_warning: Callable[[int], str] | None = None
    logger: Any = None
    max_sessions: int = MAX_SESSIONS
    overflow: OverflowConfig | Mapping[str, Any] | None = None
    new_window_id: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        compress, overflow = self.compress, self.overflow
        if compress is not None and not isinstance(compress, CompressTuning):
            compress = read_section(CompressTuning, compress, "compress")
            object.__setattr__(self, "compress", compress)
        if overflow is not None and not isinstance(overflow, OverflowConfig):
            # A pool serves hosts that keep their own histories.
            given = {"keep": "caller", **overflow} if isinstance(overflow, Mapping) else overflow  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from JSON
            overflow = read_section(OverflowConfig, given, "overflow")
            object.__setattr__(self, "overflow", overflow)
        whole("max_sessions", self.max_sessions, least=1)
        for name in _CALLED:
            optional_callable(name, getattr(self, name))

    @property
    def wanted(self) -> bool:
        """Whether anything here asks for compression. An archive alone does not."""
        overflow = cast("OverflowConfig | None", self.overflow)
        strategy = overflow.strategy if overflow is not None else None
        intents = (self.compress, self.on_compress, self.on_before_compress, strategy)
        return any(intent is not None for intent in intents)


class JanitorPool:
    """A janitor for each session key. Warnings of construction are shown once for the pool."""

    def __init__(self, config: JanitorPoolConfig | Mapping[str, Any]) -> None:
        if not isinstance(config, JanitorPoolConfig):
            config = read_section(JanitorPoolConfig, config, "pool")
        if config.context_window is None:
            raise SettingsError(
                "`context_window` is needed to compress: give the tokens that the model takes."
            )
        self._config = config
        self._logger = log_of(config.logger)
        self._compressions = 0
        self._warned = False
        self._sessions: SessionPool[Janitor] = SessionPool(
            dedupe_construction_warnings(self._logger, self._janitor),
            max_size=config.max_sessions,
        )

    def get(self, key: str) -> Janitor:
        """The session's janitor."""
        return self._sessions.get(key)

    def drop(self, key: str) -> None:
        """Forget a session."""
        self._sessions.drop(key)

    def __len__(self) -> int:
        return len(self._sessions)

    def _janitor(self, logger: Logger, key: str) -> Janitor:
        config = self._config
        tuning = cast("CompressTuning | None", config.compress) or CompressTuning()
        with_tokenizer = config.tokenizer is not None
        usage: Any = tuning.usage_preference
        if usage in ("tokenizerFirst", "tokenizer_first") and not with_tokenizer:
            logger.warning(_FALLS_BACK)
            usage = "max"
        overflow = cast("OverflowConfig | None", config.overflow)
        own = overflow is None or overflow.strategy is None
        return Janitor(
            JanitorConfig(
                context_window=cast(float, config.context_window),
                trigger_ratio=tuning.trigger_ratio,
                tokenizer=config.tokenizer,
                estimate=config.estimate,
                usage_preference=cast(UsagePreference, usage),
                compression_model=config.compression_model if own else None,
                preserve_ratio=tuning.preserve_ratio if own and with_tokenizer else None,
                min_shrink_ratio=tuning.min_shrink_ratio if own else None,
                tool_result_stub_threshold=tuning.tool_result_stub_threshold if own else None,
                on_before_compress=config.on_before_compress,
                on_compress=self._compressed,
                logger=logger,
            ),
            overflow or OverflowConfig(keep="caller"),
            new_window_id=config.new_window_id,
        )

    async def _compressed(self, summary: Message, count: int, details: CompressDetails) -> None:
        config = self._config
        self._compressions += 1
        if config.on_compress is not None:
            span: Any = details.compressed_messages
            if config.to_host_messages is not None:
                span = config.to_host_messages(details.compressed_messages)
            await settle(config.on_compress(summary.text, count, {"compressed_messages": span}))
            return
        if self._compressions >= _WARN_AT and not self._warned:
            self._warned = True
            if config.persistence_warning is not None:
                self._logger.warning(config.persistence_warning(_WARN_AT))


class _OnceEach:
    """Passes warnings on. While something is built, each text passes once."""

    def __init__(self, logger: Logger, shown: set[str]) -> None:
        self._logger = logger
        self._shown = shown
        self.building = True

    def warning(self, message: str, *details: Any) -> None:
        if self.building:
            text = str(message) % details if details else str(message)
            if text in self._shown:
                return
            self._shown.add(text)
        self._logger.warning(message, *details)

    warn = warning


def dedupe_construction_warnings(logger: Any, create: Callable[..., T]) -> Callable[..., T]:
    """A factory around `create(logger, …)` for many instances of one thing.

    Warnings that are raised while an instance is built are shown once for each text; what the
    instance warns of later is shown every time.
    """
    check_callable(create, "create", optional=False)
    target, shown = log_of(logger), set[str]()

    def build(*arguments: Any) -> T:
        once = _OnceEach(target, shown)
        made = create(once, *arguments)
        once.building = False
        return made

    return build


def create_janitor_pool(
    config: JanitorPoolConfig | Mapping[str, Any],
) -> JanitorPool | None:
    """A pool of janitors, or None when nothing in the configuration asks for compression.

    Raises SettingsError when compression is asked for without a `context_window`.
    """
    if not isinstance(config, JanitorPoolConfig):
        config = read_section(JanitorPoolConfig, config, "pool")
    return JanitorPool(config) if config.wanted else None


def normalize_session_key(raw: object, on_invalid: Callable[[object], object] | None = None) -> str:
    """The key of a session: text that is not empty as it is, the default for none.

    Anything else is reported to `on_invalid` and shares the default session.
    """
    if isinstance(raw, str) and raw:
        return raw
    check_callable(on_invalid, "on_invalid")
    if raw is not None and on_invalid is not None:
        on_invalid(raw)
    return DEFAULT_SESSION


__all__ = [
    "DEFAULT_SESSION",
    "CompressTuning",
    "JanitorPool",
    "JanitorPoolConfig",
    "SessionPool",
    "create_janitor_pool",
    "dedupe_construction_warnings",
    "normalize_session_key",
]
