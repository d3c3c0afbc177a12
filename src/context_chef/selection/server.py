"""`server()`: leave overflow to the provider where it can, and to a fallback elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, cast

from context_chef.errors import SettingsError
from context_chef.ir.window import OverflowInput, OverflowResult, WindowLineage
from context_chef.selection import strategy as abilities
from context_chef.selection.janitor_config import check_strategy
from context_chef.selection.strategy import OverflowStrategy, Runner

COMPACT_EDIT: Final = "compact_20260112"
COMPACT_BETA: Final = "compact-2026-01-12"
EDITING_BETA: Final = "context-management-2025-06-27"


class ServerFields(NamedTuple):
    """What server-managed overflow adds to an Anthropic request."""

    context_management: Mapping[str, Any]
    betas: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Server:
    """Anthropic shortens the conversation itself. See `server()`."""

    config: Mapping[str, Any] | None = None
    fallback: OverflowStrategy | None = None
    kind: Literal["server"] = field(default="server", init=False)

    def __post_init__(self) -> None:
        if self.config is not None and not isinstance(self.config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from JSON
            raise SettingsError(
                f"`server(config)` takes a mapping with `edits`, not {self.config!r}."
            )
        if self.fallback is not None:
            check_strategy("server.fallback", self.fallback)

    @property
    def name(self) -> str:
        """`server`, or `server(fallback: …)`."""
        return "server" if self.fallback is None else f"server(fallback: {self.fallback.name})"

    def attach(self, runner: Runner) -> OverflowStrategy:
        """A copy whose fallback reports to this runner."""
        if self.fallback is None:
            return self
        return dataclasses.replace(self, fallback=abilities.attach(self.fallback, runner))

    async def apply(self, input: OverflowInput) -> OverflowResult:
        """What the fallback answers: only asked where no server does the work."""
        if self.fallback is None:
            return input.unchanged(self.name, "no_server_target")
        return await abilities.ask(self.fallback, input)

    def commit(self, result: OverflowResult, lineage: WindowLineage) -> None:
        """The fallback's business."""
        if self.fallback is not None:
            abilities.commit(self.fallback, result, lineage)

    def moved(self, lineage: WindowLineage) -> None:
        """The fallback's business."""
        if self.fallback is not None:
            abilities.moved(self.fallback, lineage)

    def pending(self) -> bool:
        """The fallback's business."""
        return self.fallback is not None and abilities.pending(self.fallback)

    def snapshot(self) -> Any:
        """The fallback's state."""
        return None if self.fallback is None else abilities.snapshot(self.fallback)

    def restore(self, state: Any) -> None:
        """The fallback's state."""
        if self.fallback is not None:
            abilities.restore(self.fallback, state)


def server(
    config: Mapping[str, Any] | None = None, *, fallback: OverflowStrategy | None = None
) -> Server:
    """Have Anthropic shorten the conversation, as `config` says (`{"edits": […]}`).

    Without a config it is asked to compact. On other targets `fallback` works; without one history
    is left alone there. Nested in `chain()` or `background()` it is found too.
    """
    return Server(config=config, fallback=fallback)


def find_server(strategy: object) -> Server | None:
    """The server strategy that this strategy is, or holds."""
    if isinstance(strategy, Server):
        return strategy
    inner: object = getattr(strategy, "inner", None)
    steps: object = getattr(strategy, "steps", ())
    candidates = [inner, *cast("tuple[object, ...]", steps if isinstance(steps, tuple) else ())]
    for candidate in candidates:
        if candidate is not None and (found := find_server(candidate)) is not None:
            return found
    return None


def is_server_strategy(strategy: object) -> bool:
    """Whether this strategy leaves overflow to Anthropic where that is the target."""
    return find_server(strategy) is not None


def anthropic_server_context_management(
    config: Mapping[str, Any] | OverflowStrategy | None = None,
) -> ServerFields:
    """The two fields that a server-managed request carries, for a config or for a strategy.

    Betas are one for each kind of edit, in the order in which they come.
    """
    if config is not None and not isinstance(config, Mapping):
        found = find_server(config)
        config = None if found is None else found.config
    if config is None:
        config = {"edits": [{"type": COMPACT_EDIT}]}
    betas: list[str] = []
    edits = config.get("edits")
    for edit in cast(list[Any], edits) if isinstance(edits, (list, tuple)) else []:
        kind = cast(Mapping[str, Any], edit).get("type") if isinstance(edit, Mapping) else None
        if isinstance(kind, str) and kind:
            beta = COMPACT_BETA if kind == COMPACT_EDIT else EDITING_BETA
            if beta not in betas:
                betas.append(beta)
    return ServerFields(config, tuple(betas))
