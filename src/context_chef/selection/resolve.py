"""Which strategy a session has: the explicit one, or the one that its options describe."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from context_chef.errors import SettingsError, shown
from context_chef.selection.janitor_config import JanitorConfig, OverflowConfig
from context_chef.selection.strategies.summarize import Summarize
from context_chef.selection.strategy import OverflowStrategy

Warn = Callable[[str], object]

_POLICY: Final = (
    "compression_mode",
    "compression_scheduling",
    "compression_model",
    "compression_guidelines",
    "validate_compression",
    "min_shrink_ratio",
    "preserve_ratio",
    "preserve_recent_messages",
    "tool_result_stub_threshold",
    "compression_window",
    "mark_dropped",
    "keep_open_request",
)

ALIAS_CONFLICT: Final = (
    "An overflow strategy was given, so these options of `janitor` are not used: {names}. "
    "Set them on the strategy, or leave the strategy out."
)
SERVER_AND_MODEL: Final = (
    "`context_management` has the server shorten the conversation: `janitor.compression_model` is "
    "used only on targets other than Anthropic."
)
NO_COMPRESSION_MODEL: Final = (
    "No `compression_model` was given: when history overflows, everything in front of {kept} "
    "leaves the window without a summary, and a marker stands for it. Give one, keep more with "
    "`preserve_ratio` or `preserve_recent_messages`, or choose a strategy such as chain(clear(), "
    "reset())."
)
VFS_NEEDS_CHEF: Final = (
    "`archive='vfs'` needs a ContextChef, whose store holds the spans; this janitor archives "
    "nothing. Give a callable instead."
)


def resolve_overflow_strategy(
    config: JanitorConfig,
    overflow: OverflowConfig | None = None,
    *,
    context_management: Mapping[str, Any] | None = None,
    warn: Warn | None = None,
) -> OverflowStrategy:
    """The strategy of a session. `warn` is told what is set and not used."""
    warn = warn or (lambda _: None)
    managed = _server_management(context_management)
    explicit = (overflow.strategy if overflow else None) or config.strategy
    if explicit is not None:
        unused = [name for name in _POLICY if getattr(config, name) is not None]
        if config.custom_compression_instructions:
            unused.append("custom_compression_instructions")
        if managed is not None:
            unused.append("context_management")
        if unused:
            warn(ALIAS_CONFLICT.replace("{names}", ", ".join(f"`{name}`" for name in unused)))
        return explicit
    strategy = _from_options(config)
    if managed is not None:
        if config.compression_model is not None:
            warn(SERVER_AND_MODEL)
        from context_chef.selection.strategies.server import server

        return server(managed.get("server"), fallback=strategy)
    bounded = math.isfinite(config.context_window)
    if bounded and config.compression_model is None and config.tokenizer is None:
        warn(NO_COMPRESSION_MODEL.replace("{kept}", _kept(config)))
    return strategy


def _from_options(config: JanitorConfig) -> OverflowStrategy:
    """The strategy that the options describe, the deprecated ones included."""
    options = config.compression_options()
    counted = config.tokenizer is not None or options.preserve_ratio is not None
    options = replace(options, split="ratio" if counted else "recent-turns")
    # Each strategy is loaded by those who choose it.
    if config.compression_mode == "incremental-anchored":
        from context_chef.selection.strategies.anchored import Anchored

        strategy: OverflowStrategy = Anchored(options=options)
    else:
        strategy = Summarize(options=options)
    if config.compression_scheduling == "background":
        from context_chef.selection.strategies.background import background

        return background(strategy)
    return strategy


def _kept(config: JanitorConfig) -> str:
    """What stays when the span is dropped, in words."""
    if config.preserve_ratio is not None:
        return f"the newest {config.preserve_ratio:.0%} of the trigger"
    turns = config.preserve_recent_messages or 1
    return "the newest turn" if turns == 1 else f"the newest {turns} turns"


def _server_management(management: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if management is None or management.get("strategy") != "server":
        return None
    config = management.get("server")
    if config is not None and not isinstance(config, Mapping):
        raise SettingsError(
            f"`context_management.server` is a mapping with `edits`, not {shown(config)}."
        )
    return management
