"""`ChefOptions`: every setting of a chef, by name, checked before anything is built."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from context_chef.compat.options import warn_of_old_options
from context_chef.errors import SettingsError, nearest, shown
from context_chef.persistence.memory_config import MemoryConfig
from context_chef.persistence.offload_config import OffloadConfig
from context_chef.retrieval.policy import ContextToolConfig
from context_chef.selection.janitor_config import JanitorConfig, OverflowConfig
from context_chef.selection.pruner import PrunerConfig
from context_chef.wiring.checks import callable_or_none, configured, flag, one_of


@dataclass(frozen=True, kw_only=True)
class ChefOptions:
    """Every setting of a chef, checked."""

    janitor: JanitorConfig | Mapping[str, Any] | None = None
    overflow: OverflowConfig | Mapping[str, Any] | None = None
    memory: MemoryConfig | Mapping[str, Any] | None = None
    vfs: OffloadConfig | Mapping[str, Any] | None = None
    pruner: PrunerConfig | Mapping[str, Any] | None = None
    store: Any = None
    tools: str = "legacy"
    context_tool: ContextToolConfig | Mapping[str, Any] | None = None
    skill_placement: str = "after_system"
    default_target: object = None
    model: str | None = None
    profiles: Any = ()
    tail: str = "auto"
    cache: str | None = None
    tool_changes: str = "report"
    deferred_tools: str = "send"
    cache_audit: bool = False
    pipeline_checks: bool = False
    preserve_thinking_as_text: bool = False
    transform_tool_result: Any = None
    logger: Any = None
    clock: Callable[[], int] | None = None
    new_window_id: Callable[[], str] | None = None
    on_before_compile: Any = None
    transform_context: Any = None
    context_management: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> ChefOptions:
        """Options by name. Raises SettingsError with the nearest right name for an unknown one."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in options:
            if name not in known:
                raise SettingsError(
                    f"`ContextChef` has no setting {shown(name)}. {_right_place(name, known)}"
                )
        read = cls(**options)
        warn_of_old_options(options, configured(JanitorConfig, read.janitor, name="janitor"))
        return read

    def __post_init__(self) -> None:
        one_of("tools", self.tools, ("legacy", "unified"))
        one_of("skill_placement", self.skill_placement, ("after_system", "tail"))
        one_of("tail", self.tail, ("auto", "replace", "append"))
        one_of("cache", self.cache, (None, "auto"))
        one_of("tool_changes", self.tool_changes, ("report", "inline"))
        one_of("deferred_tools", self.deferred_tools, ("send", "omit"))
        for name in ("cache_audit", "pipeline_checks", "preserve_thinking_as_text"):
            flag(name, getattr(self, name))
        for name in (
            "transform_tool_result", "clock", "new_window_id", "on_before_compile",
            "transform_context",
        ):  # fmt: skip
            callable_or_none(name, getattr(self, name))
        if self.model is not None and not isinstance(self.model, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
            raise SettingsError(f"`model` is a model's id, not {shown(self.model)}.")


_SECTIONS: Final[Mapping[str, type[Any]]] = {
    "janitor": JanitorConfig,
    "overflow": OverflowConfig,
    "memory": MemoryConfig,
    "vfs": OffloadConfig,
    "context_tool": ContextToolConfig,
}


def _right_place(name: str, known: Sequence[str]) -> str:
    """The hint for a name that is no setting of the chef, or one of a section of it."""
    for section, kind in _SECTIONS.items():
        if any(field.name == name for field in dataclasses.fields(kind)):
            return f'Write `{section}={{"{name}": …}}`.'
    return nearest(name, known)
