"""What the model may write, and how much of the store one answer shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from context_chef.errors import SettingsError, shown
from context_chef.persistence.address import fault_of_namespace

if TYPE_CHECKING:
    from context_chef.retrieval.location import Location

MEMORY_NAMESPACE: Final = "memory"
NOTES_NAMESPACE: Final = "notes"
VFS_NAMESPACE: Final = "vfs"
ARCHIVE_NAMESPACE: Final = "archive"
DEFAULT_WRITABLE_NAMESPACES: Final = (MEMORY_NAMESPACE, NOTES_NAMESPACE)


@dataclass(frozen=True, kw_only=True)
class ContextToolConfig:
    """How the `context` tool behaves.

    `writable` replaces the default list; reading is never limited. `view_chars`, `listed_entries`
    and `search_hits` cap one answer, which then says how to go on; None lifts a cap. `search` asks
    the backend for its ranking (`"backend"`), or looks for the query letter by letter in the order
    of the listing (`"scan"`). With `exact_line_endings`, an `old_str` with plain line ends does not
    match text whose lines end in CRLF. `native_memory` answers Anthropic's own memory tool as well,
    under its name `memory`.
    """

    writable: Sequence[str] = DEFAULT_WRITABLE_NAMESPACES
    view_chars: int | None = 24_000
    listed_entries: int | None = 500
    search_hits: int | None = 20
    search: Literal["backend", "scan"] = "backend"
    exact_line_endings: bool = False
    native_memory: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "writable", _checked_namespaces(self.writable))
        for name in ("view_chars", "listed_entries", "search_hits"):
            value = getattr(self, name)
            least = 100 if name == "view_chars" else 1
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < least
            ):
                raise SettingsError(
                    f"`{name}` must be a whole number of {least} or more, or None, not "
                    f"{shown(value)}."
                )
        if self.search not in ("backend", "scan"):
            raise SettingsError(f"`search` is 'backend' or 'scan', not {shown(self.search)}.")


def _checked_namespaces(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise SettingsError(f"`writable` is a list of namespaces, not {shown(value)}.")
    names = cast("Sequence[Any]", value)
    for name in names:
        if fault := fault_of_namespace(name):
            raise SettingsError(f"`writable` holds {shown(name)}, but {fault}.")
    return tuple(names)


def check_writable(location: Location, config: ContextToolConfig) -> None:
    """Refuse a write where the model may only read."""
    from context_chef.prompts import replies
    from context_chef.retrieval.arguments import Mistake

    if location.ns not in config.writable:
        raise Mistake(replies.not_writable(location.address, config.writable))
