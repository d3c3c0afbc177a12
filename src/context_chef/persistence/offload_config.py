"""`OffloadConfig`: what is too large for the window, what is still shown of it, where it goes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from context_chef.errors import SettingsError, nearest, shown
from context_chef.persistence.address import SCHEME
from context_chef.persistence.backend import StorageBackend
from context_chef.persistence.given import is_cap
from context_chef.persistence.namespace import EvictionHook
from context_chef.persistence.store import Store, check_scheme

VFS_NAMESPACE = "vfs"
ARCHIVE_NAMESPACE = "archive"


@dataclass(frozen=True, kw_only=True)
class ToolOffload:
    """How one tool's output is treated. What is None is as everywhere else."""

    name: str
    never: bool = False
    """Always shown in full."""
    threshold: int | None = None
    threshold_tokens: int | None = None
    head_chars: int | None = None
    tail_chars: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
            raise SettingsError(f"`per_tool` needs the `name` of a tool, not {shown(self.name)}.")
        for name in ("threshold", "threshold_tokens", "head_chars", "tail_chars"):
            _check_count(f"per_tool[{shown(self.name)}].{name}", getattr(self, name), optional=True)

    @classmethod
    def of(cls, item: str | ToolOffload | Mapping[str, Any]) -> ToolOffload:
        """The settings, also as a plain mapping; a bare name means never."""
        if isinstance(item, ToolOffload):
            return item
        if isinstance(item, str):
            return cls(name=item, never=True)
        if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
            raise SettingsError(f"`per_tool` holds names and settings, not {shown(item)}.")
        known = [field.name for field in fields(cls)]
        for name in item:
            if name not in known:
                raise SettingsError(
                    f"{shown(name)} is no setting of `per_tool`. {nearest(name, known)}"
                )
        if "name" not in item:
            raise SettingsError(f"`per_tool` needs the `name` of a tool in {shown(dict(item))}.")
        return cls(**item)


@dataclass(frozen=True, kw_only=True)
class OffloadConfig:
    """What leaves the window for the store, leaving a marker behind.

    A text longer than `threshold` characters goes; with `threshold_tokens` set, tokens are counted
    instead. `head_chars` and `tail_chars` of it stay visible, cut at line ends where there are any;
    nothing goes when they would show everything. `kept_error_lines` lines that look like errors are
    kept from the rest. Nothing goes either when the marker would be no shorter than the text,
    unless `only_if_shorter` is False. `per_tool` holds names of tools whose output is never
    offloaded, and settings for others; the last entry for a name wins.

    `automatic` does it at every compile: to tool results, to texts longer than
    `argument_threshold` in the arguments of calls, and to media larger than `media_bytes` (None
    leaves those alone). Otherwise it happens only by calling `offload`.

    `store`, else `adapter` (a legacy one, wrapped by `context_chef.compat.from_vfs_adapter`), else
    `storage_dir` says where; without any, the chef's store. `max_age`
    (milliseconds), `max_files` and `max_bytes` are for `cleanup`, which never runs by itself.
    """

    threshold: int = 5000
    threshold_tokens: int | None = None
    head_chars: int = 0
    tail_chars: int = 2000
    kept_error_lines: int = 12
    only_if_shorter: bool = True
    preview: bool = True
    automatic: bool = False
    argument_threshold: int | None = 20_000
    media_bytes: int | None = 5_000_000
    per_tool: Sequence[str | ToolOffload | Mapping[str, Any]] = ()
    store: Store | StorageBackend | None = None
    adapter: StorageBackend | None = None
    storage_dir: str | os.PathLike[str] | None = None
    uri_scheme: str = f"{SCHEME}{VFS_NAMESPACE}/"
    max_age: float | None = None
    max_files: float | None = None
    max_bytes: float | None = None
    on_vfs_evicted: EvictionHook | None = None

    def __post_init__(self) -> None:
        for name in ("threshold", "kept_error_lines"):
            _check_count(name, getattr(self, name))
        for name in ("threshold_tokens", "argument_threshold", "media_bytes"):
            _check_count(name, getattr(self, name), optional=True)
        for name in ("head_chars", "tail_chars"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise SettingsError(f"`{name}` must be a whole number, not {shown(value)}.")
        for name in ("preview", "only_if_shorter", "automatic"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise SettingsError(f"`{name}` must be True or False, not {shown(value)}.")
        for name in ("max_age", "max_files", "max_bytes"):
            _check_cap(name, getattr(self, name))
        if not self.uri_scheme:
            raise SettingsError(
                "`uri_scheme` cannot be empty: no address would be recognised. Leave it out for "
                f"{SCHEME}{VFS_NAMESPACE}/."
            )
        check_scheme(VFS_NAMESPACE, self.uri_scheme)
        _check_adapter(self.adapter)
        if self.on_vfs_evicted is not None and not callable(self.on_vfs_evicted):
            raise SettingsError(
                f"`on_vfs_evicted` must be callable, not {shown(self.on_vfs_evicted)}."
            )
        items = cast("Any", self.per_tool)
        if isinstance(items, str) or not isinstance(items, Sequence):
            raise SettingsError(
                f"`per_tool` is a list of names and settings, not {shown(self.per_tool)}; "
                "write {'name': …, 'threshold': …} for each tool."
            )
        listed = cast("Sequence[Any]", items)
        object.__setattr__(self, "per_tool", tuple(ToolOffload.of(item) for item in listed))

    def for_tool(self, name: str | None) -> OffloadConfig | None:
        """The settings for the output of that tool; None when it is never offloaded."""
        found: ToolOffload | None = None
        for item in cast("tuple[ToolOffload, ...]", self.per_tool):
            if item.name == name:
                found = item
        if found is None:
            return self
        return None if found.never else self.overridden(found)

    def overridden(self, changes: ToolOffload) -> OffloadConfig:
        """The same settings with what `changes` gives in their place."""
        given = {
            name: getattr(changes, name)
            for name in ("threshold", "threshold_tokens", "head_chars", "tail_chars")
            if getattr(changes, name) is not None
        }
        if "threshold" in given and "threshold_tokens" not in given:
            given["threshold_tokens"] = None
        return replace(self, **given)


def _check_adapter(adapter: object) -> None:
    """Refuse a file adapter of earlier versions that was not wrapped: it knows no namespaces."""
    if adapter is None or isinstance(adapter, Store):
        return
    try:
        inspect.signature(cast("Any", adapter).read).bind(VFS_NAMESPACE, "name")
    except ValueError:  # a compiled method that does not say what it takes
        return
    except (AttributeError, TypeError):
        pass
    else:
        return
    raise SettingsError(
        f"`adapter` must be a storage backend, not {shown(adapter)}. Wrap a file adapter "
        "of earlier "
        "versions: `adapter=context_chef.compat.from_vfs_adapter(…)`."
    )


def _check_count(name: str, value: object, *, optional: bool = False) -> None:
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        kind = "a whole number of 0 or more" + (", or None" if optional else "")
        raise SettingsError(f"`{name}` must be {kind}, not {shown(value)}.")


def _check_cap(name: str, value: object) -> None:
    if value is None:
        return
    if not is_cap(value):
        raise SettingsError(f"`{name}` must be a number, infinity or None, not {shown(value)}.")
    if cast("float", value) < 0:
        raise SettingsError(
            f"`{name}` must not be negative, but is {shown(value)}; "
            "0 lets nothing stay, None sets no cap."
        )
