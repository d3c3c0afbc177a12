"""Everything this library raises on purpose, as one tree."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence


class ContextChefError(Exception):
    """Anything this library raises on purpose.

    ContextChefError
    ├── SettingsError         a setting cannot mean anything
    ├── InputError            a message, body or state that cannot be read; names index and field
    ├── UnsendableError       no valid request exists for this input; lists every fault
    ├── WindowFullError       the least that has to be sent does not fit; says what takes the room
    ├── StoreError
    │   ├── AddressError          not an address, or one that leads outside
    │   ├── CorruptStoreError     the stored bytes are not what was written
    │   ├── ConflictError         somebody else changed the entry in between
    │   └── StoreCapabilityError  the backend does not offer that
    │       └── VFSCleanupNotSupportedError
    ├── SkillError            a skill that cannot be loaded, found or shown
    ├── ToolError             a tool definition or group that cannot be used
    │   └── UnknownToolError      a tool call that is not ours
    ├── UnusableAnswerError   a summarising model's answer that is cut off, empty or refused
    ├── CompileAborted        a passed-in token asked the compile to stop
    ├── AsyncRequiredError    a `*_sync()` call met a part that has to wait
    └── MissingExtraError     an optional dependency is not installed
    """


class SettingsError(ContextChefError, ValueError):
    """A setting cannot mean anything. Raised while the object is built, never later."""


class InputError(ContextChefError, ValueError):
    """Input that cannot be read.

    `path` says where, as in `$[3].content[0].type`.
    """

    def __init__(self, message: str, *, path: str = "$") -> None:
        self.path = path
        self.reason = message
        super().__init__(f"{path if len(path) <= 400 else path[:400] + '…'}: {message}")

    def under(self, path: str) -> InputError:
        """The same error about a value that stands at `path`."""
        return InputError(self.reason, path=path + self.path[1:])


class UnsendableError(ContextChefError):
    """No valid request can be made of this input. `faults` lists every reason, not the first."""

    def __init__(self, target: str, faults: Sequence[str]) -> None:
        self.target = target
        self.faults = tuple(faults)
        lines = "".join(f"\n- {fault}" for fault in self.faults)
        super().__init__(f"No request for `{target}` can be made of this input:{lines}")


class WindowFullError(ContextChefError):
    """Even the least that has to be sent does not fit the window.

    `limit` and `needed` are tokens; `parts` says what takes them.
    """

    def __init__(self, *, limit: float, needed: float, parts: Mapping[str, float]) -> None:
        self.limit = limit
        self.needed = needed
        self.parts = dict(parts)
        what = ", ".join(f"{name} {tokens:.0f}" for name, tokens in parts.items() if tokens)
        super().__init__(
            f"Nothing more can leave, and about {needed:.0f} tokens do not fit the {limit:.0f} "
            f"that the window has for a request: {what}. Shorten what is largest, unpin messages, "
            "or raise `context_window`."
        )


class StoreError(ContextChefError):
    """Something about stored entries.

    The message is for the host and may name files. `told` is the reason as a model may read it,
    without any place on this machine; None when there is no more to tell than the kind of error.
    """

    def __init__(self, message: str, *, told: str | None = None) -> None:
        self.told = told
        super().__init__(message)


class AddressError(StoreError, ValueError):
    """Not an address, or one that leads outside its namespace."""


class CorruptStoreError(StoreError):
    """The stored bytes are not what was written. The message names the file."""


class ConflictError(StoreError):
    """Somebody else changed the entry in between. Read it again and decide anew."""


class StoreCapabilityError(StoreError):
    """The backend does not offer `missing` in namespace `ns`."""

    def __init__(self, ns: str, missing: Sequence[str]) -> None:
        self.ns = ns
        self.missing = tuple(missing)
        super().__init__(
            f"The backend of namespace {shown(ns)} does not offer {', '.join(self.missing)}; "
            "use a backend that does."
        )


class VFSCleanupNotSupportedError(StoreCapabilityError):
    """The offloader's store cannot list and delete, so it cannot be cleaned up."""


class SkillError(ContextChefError, ValueError):
    """A skill that cannot be loaded, found or shown.

    `path` and `line` (from 1) say where in which file, when a file is to blame.
    """

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        self.reason = message
        where = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(where + message)


class ToolError(ContextChefError, ValueError):
    """A tool definition, group or choice that cannot be used."""


class UnknownToolError(ToolError, LookupError):
    """A tool call that is not ours."""


class UnusableAnswerError(ContextChefError):
    """A summarising model's answer that cannot stand for anything.

    `reason` is `truncated`, `empty`, `refused` or `unfinished`.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class CompileAborted(ContextChefError):
    """A passed-in token asked the compile to stop. The chef is as it was before."""


class AsyncRequiredError(ContextChefError):
    """A `*_sync()` call met a part that has to wait."""

    def __init__(self, part: str) -> None:
        self.part = part
        super().__init__(
            f"`{part}` has to wait, which a `*_sync()` call cannot do; "
            "await the async method instead."
        )


class MissingExtraError(ContextChefError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f"{feature} needs the extra `{extra}`: pip install 'context-chef[{extra}]'."
        )


class RenamedWarning(UserWarning):
    """An old name was used. A `UserWarning`, so that people see it without flags."""


def nearest(value: object, known: Iterable[str]) -> str:
    """The hint that ends an error about a name: the closest right one, or all of them."""
    names = list(known)
    said = value[:100] if isinstance(value, str) else shown(value)
    close = difflib.get_close_matches(said, names, n=1)
    if close:
        return f"Did you mean `{close[0]}`?"
    return f"Known: {', '.join(f'`{name}`' for name in names) or '(none)'}."


class _Shown(reprlib.Repr):
    """Short, whatever the value is: errors are written about the strangest ones."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 8
        self.maxstring = self.maxother = 160


_SHOWN = _Shown()


def shown(value: object) -> str:
    """The value for an error's text: its `repr`, cut where it is long, deep or inside itself."""
    try:
        text = _SHOWN.repr(value)
    except Exception:  # noqa: BLE001  # a number too long, a value too deep, a `__repr__` that fails
        text = f"<a {type(value).__name__} too large to show>"
    return text if len(text) <= 400 else f"{text[:400]}…"
