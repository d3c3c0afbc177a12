"""`server()`: leave overflow to the provider where it can, and to a fallback elsewhere.

Three forms: Anthropic's `context_management` with edits, which work while it answers; Anthropic's
`compaction`, a request of its own that answers one signed block; and the `context_management` of
OpenAI Responses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, cast

from context_chef.errors import SettingsError, shown
from context_chef.ir.window import OverflowInput, OverflowResult, WindowLineage
from context_chef.selection import strategy as abilities
from context_chef.selection.janitor_config import check_strategy
from context_chef.selection.strategy import OverflowStrategy, Runner

COMPACT_EDIT: Final = "compact_20260112"
COMPACT_BETA: Final = "compact-2026-01-12"
EDITING_BETA: Final = "context-management-2025-06-27"
SUMMARIZE_BETA: Final = "compact-2026-09-04"


class ServerFields(NamedTuple):
    """What server-managed overflow adds to an Anthropic request."""

    context_management: Mapping[str, Any]
    betas: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Server:
    """The provider shortens the conversation itself. See `server()`."""

    config: Mapping[str, Any] | None = None
    compaction: Mapping[str, Any] | bool | None = None
    responses: Sequence[Mapping[str, Any]] | Mapping[str, Any] | int | bool | None = None
    fallback: OverflowStrategy | None = None
    kind: Literal["server"] = field(default="server", init=False)

    def __post_init__(self) -> None:
        if self.config is not None and not isinstance(self.config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from JSON
            raise SettingsError(
                f"`server(config)` takes a mapping with `edits`, not {shown(self.config)}."
            )
        if self.fallback is not None:
            check_strategy("server.fallback", self.fallback)
        if self.compaction and self.config is not None:
            raise SettingsError(
                "`server(config)` and `server(compaction=…)` exclude each other: Anthropic takes "
                "either `context_management` or `compaction`."
            )
        object.__setattr__(self, "compaction", _compaction(self.compaction))
        object.__setattr__(self, "responses", _responses(self.responses))

    def manages(self, target: str) -> bool:
        """Whether the provider of this target does the work."""
        if target == "openai-responses":
            return self.responses is not None
        return target == "anthropic"

    def on_request(self, target: str) -> bool:
        """Whether the work is a request of its own, to be sent when the window is full."""
        return target == "anthropic" and self.compaction is not None

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
    config: Mapping[str, Any] | None = None,
    *,
    compaction: Mapping[str, Any] | bool | None = None,
    responses: Sequence[Mapping[str, Any]] | Mapping[str, Any] | int | bool | None = None,
    fallback: OverflowStrategy | None = None,
) -> Server:
    """Have the provider shorten the conversation.

    On Anthropic as `config` says (`{"edits": […]}`); without one it is asked to compact. With
    `compaction` (True, or `{"instructions": "…"}`) the compile that is over its trigger answers a
    request for a summary instead (`payload.meta.compacting`): append the message that comes back
    and compile again. On OpenAI Responses it works with `responses`: True, the threshold in
    tokens, or the entries of `context_management`.

    On other targets `fallback` works; without one history is left alone there, up to the window.
    Nested in `chain()` or `background()` it is found too. Raises SettingsError.
    """
    return Server(config=config, compaction=compaction, responses=responses, fallback=fallback)


def _compaction(value: Any) -> Mapping[str, Any] | None:
    if value is None or value is False:
        return None
    if value is True:
        return {"type": "summarize"}
    if isinstance(value, Mapping):
        given = cast(Mapping[str, Any], value)
        if given.get("type", "summarize") == "summarize":
            return {"type": "summarize", **given}
    raise SettingsError(
        "`server(compaction=…)` is True or a mapping of `type` 'summarize', not "
        f"{shown(cast(object, value))}."
    )


def _responses(value: Any) -> tuple[Mapping[str, Any], ...] | None:
    if value is None or value is False:
        return None
    if value is True:
        return ({"type": "compaction"},)
    if isinstance(value, int):
        value = {"compact_threshold": value}
    entries: Any = [value] if isinstance(value, Mapping) else value
    if isinstance(entries, (list, tuple)) and entries:
        found = [_entry(entry) for entry in cast(Sequence[Any], entries)]
        if all(entry is not None for entry in found):
            return tuple(entry for entry in found if entry is not None)
    raise SettingsError(
        f"`server(responses=…)` is True, a threshold in tokens, or entries such as "
        f"{{'type': 'compaction', 'compact_threshold': 200000}}, not {shown(cast(object, value))}."
    )


def _entry(entry: Any) -> Mapping[str, Any] | None:
    if not isinstance(entry, Mapping):
        return None
    given = {"type": "compaction", **cast(Mapping[str, Any], entry)}
    threshold = given.get("compact_threshold")
    sound = threshold is None or (type(threshold) is int and threshold > 0)
    return given if sound else None


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
    """Whether this strategy leaves overflow to a provider where that is the target."""
    return find_server(strategy) is not None


def server_request(
    strategy: object, target: str, *, compacting: bool = False
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields that a server-managed request carries on this target, and the betas for them."""
    found = find_server(strategy)
    if found is None or not found.manages(target):
        return {}, ()
    if target == "openai-responses":
        entries = cast("tuple[Mapping[str, Any], ...]", found.responses)
        return {"context_management": [dict(entry) for entry in entries]}, ()
    if found.on_request(target):
        if not compacting:
            return {}, ()
        return {"compaction": dict(cast(Mapping[str, Any], found.compaction))}, (SUMMARIZE_BETA,)
    managed = anthropic_server_context_management(found)
    return {"context_management": managed.context_management}, managed.betas


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
