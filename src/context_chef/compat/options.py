"""Options of earlier versions: each still works, and says once a call what has taken its place."""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

from context_chef.errors import RenamedWarning
from context_chef.selection.janitor_config import JanitorConfig
from context_chef.slots import BeforeAssemble, Handler, SlotBoard

OLD_OPTIONS: Final[Mapping[str, str]] = {
    "on_before_compile": "`chef.use(before_assemble, handler)`, where `context.inject(text)` adds",
    "transform_context": "`chef.use(after_assemble, handler)`",
    "context_management": "`overflow={'strategy': server(config, fallback=…)}`",
    "janitor.strategy": "`overflow={'strategy': …}`",
    "janitor.archive": "`overflow={'archive': …}`",
    "janitor.compression_mode": "`overflow={'strategy': summarize(…)}` or `anchored(…)`",
    "janitor.compression_scheduling": "`overflow={'strategy': background(…)}`",
}
"""Options of earlier versions and what to write instead. Each still works and warns."""


_OF_THE_JANITOR: Final = ("strategy", "archive", "compression_mode", "compression_scheduling")


def use_old_hooks(slots: SlotBoard, *, on_before_compile: Any, transform_context: Any) -> None:
    """The two hooks of earlier versions take the first place in their slots."""
    if on_before_compile is not None:
        slots.use("before-assemble", _injecting(on_before_compile))
    if transform_context is not None:
        slots.use("after-assemble", transform_context)


def warn_of_old_options(given: Mapping[str, Any], janitor: JanitorConfig) -> None:
    """Say of every old option that is set what has taken its place."""
    for name in given:
        if name in OLD_OPTIONS and given[name] is not None:
            _warn(name)
    for name in _OF_THE_JANITOR:
        if getattr(janitor, name) is not None:
            _warn(f"janitor.{name}")


def _injecting(hook: Callable[[BeforeAssemble], Any]) -> Handler:
    """The old hook, whose answer is injected, as a handler: plain where the hook is plain."""

    async def when_it_comes(context: BeforeAssemble, answer: Any) -> None:
        text = await answer
        if text:
            context.inject(text)

    def inject(context: BeforeAssemble) -> Any:
        answer = hook(context)
        if inspect.isawaitable(answer):
            return when_it_comes(context, answer)
        if answer:
            context.inject(answer)
        return None

    return inject


def _warn(name: str) -> None:
    """Say once a place in the caller's code what has taken the option's place."""
    warnings.warn(
        f"The option `{name}` goes away in 2.0; use {OLD_OPTIONS[name]}.",
        RenamedWarning,
        stacklevel=_callers_level(),
    )


def _callers_level() -> int:
    """How far up the first frame outside this library is, as `stacklevel` counts for our caller."""
    package, level = os.path.dirname(os.path.dirname(__file__)) + os.sep, 1
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # `inspect` reads source files
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(package) or frame.f_code.co_filename == "<string>"
    ):
        frame, level = frame.f_back, level + 1
    return level
