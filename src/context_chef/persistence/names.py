"""File names for the segments of a path: ordinary ones stay as they are, awkward ones can be read
back.

An ordinary segment is its own file name, as in every earlier version of the layout. A name that
some system hides, reserves, trims or cannot hold is written with `%XX` for what is awkward in it:

| on disk         | stands for                                                             |
|-----------------|------------------------------------------------------------------------|
| `%2Ehidden`     | `.hidden`                                                              |
| `%6Eul`         | `nul`, a device elsewhere                                              |
| `%-`            | the empty segment, as at the end of `k/`                               |
| `long…%+/rest`  | a name too long for one directory entry, cut into pieces               |
| `a%~1f2e3d4c`   | the entry `a`, where a folder or another spelling took the plain name  |
| `a%~1f2e3d4cd`  | the folder `a`, where an entry or another spelling took the plain name |

A segment that by itself looks like one of these is escaped too, so no two segments share a name.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final

from context_chef.patterns import regex

LONGEST_NAME: Final = 200
"""UTF-8 bytes of one name; leaves room for a mark below the usual limit of 255."""

LOCK_NAME: Final = ".lock"
TEMPORARY: Final = regex(r"\.tmp_[0-9a-f]{16}")

_EMPTY: Final = "%-"
_MORE: Final = "%+"
_ALTERNATE: Final = regex(r"(?s)(?P<base>.+)%~(?P<hash>[0-9a-f]{8})(?P<folder>d?)")
_ESCAPE: Final = regex(r"%([0-9A-F]{2})")
_ALWAYS_AWKWARD: Final = regex(r"[\x00-\x1f\x7f\ud800-\udfff]")
_FORBIDDEN_ON_WINDOWS: Final = regex(r'[<>:"|?*]')
_DEVICES: Final = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
    + [f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"]
)


def names_of(segment: str, *, windows: bool = os.name == "nt") -> tuple[str, ...]:
    """The name on disk; several, one folder inside the other, for a name that is too long."""
    name = _escaped(segment, windows=windows) if _is_special(segment, windows) else segment
    if len(name.encode()) <= LONGEST_NAME:
        return (name,)
    # In pieces every odd character is escaped, so no piece is hidden, trimmed or reserved.
    return _pieces(_escaped(segment, windows=windows, thorough=True))


def alternate(names: tuple[str, ...], segment: str, *, folder: bool) -> tuple[str, ...]:
    """Where the segment goes when something else already has its name."""
    return (*names[:-1], f"{names[-1]}%~{_fingerprint(segment)}{'d' if folder else ''}")


def verbatim(segment: str, *, folder: bool) -> str | None:
    """The segment as its own name where earlier versions would have used it but we do not."""
    awkward = segment in ("", ".", "..", LOCK_NAME) or segment.startswith(".tmp_")
    if awkward or os.name == "nt" or _ALWAYS_AWKWARD.search(segment):
        return None
    if len(segment.encode()) > 255 or names_of(segment) == (segment,):
        return None
    if folder and is_piece(segment):
        return None
    # A name that stands for another segment is that one's.
    return segment if segment_of((segment,), folder=folder) == segment else None


def segment_of(names: tuple[str, ...], *, folder: bool) -> str | None:
    """The segment that these names stand for, or None when they stand for none of ours."""
    found = _ALTERNATE.fullmatch(names[-1])
    if found is not None:
        segment = _plain_segment_of((*names[:-1], found["base"]))
        if (
            segment is not None
            and _fingerprint(segment) == found["hash"]
            and bool(found["folder"]) == folder
        ):
            return segment
    return _plain_segment_of(names)


def is_piece(name: str) -> bool:
    """Whether a folder of this name holds the rest of a long name."""
    return name.endswith(_MORE)


def _plain_segment_of(names: tuple[str, ...]) -> str | None:
    if names[1:]:
        joined = "".join(name.removesuffix(_MORE) for name in names[:-1]) + names[-1]
        segment = _unescaped(joined)
        return segment if segment is not None and names_of(segment) == names else None
    name = names[-1]
    if any("\ud800" <= char <= "\udfff" for char in name):
        return None  # bytes on disk that are no text: nothing of ours
    meant = _unmarked(name)
    return name if meant is None else meant


def _is_special(segment: str, windows: bool) -> bool:
    return _is_awkward(segment, windows) or _unmarked(segment) is not None or _looks_ours(segment)


def _is_awkward(segment: str, windows: bool) -> bool:
    return (
        not segment
        or segment[0] == "."
        or segment[-1] in ". "
        or _ALWAYS_AWKWARD.search(segment) is not None
        or segment.partition(".")[0].rstrip(" ").upper() in _DEVICES
        or (windows and _FORBIDDEN_ON_WINDOWS.search(segment) is not None)
    )


def _looks_ours(segment: str) -> bool:
    return segment.endswith(_MORE) or _ALTERNATE.fullmatch(segment) is not None


def _unmarked(name: str) -> str | None:
    """What an escaped name stands for; None when it is no name that escaping would give."""
    if name == _EMPTY:
        return ""
    if "%" not in name:
        return None
    segment = _unescaped(name)
    if segment is None:
        return None
    # A directory may have come from a system with other forbidden characters.
    for windows in (False, True):
        if _is_special(segment, windows) and _escaped(segment, windows=windows) == name:
            return segment
    return None


def _escaped(segment: str, *, windows: bool, thorough: bool = False) -> str:
    if not segment:
        return _EMPTY
    device = segment.partition(".")[0].rstrip(" ").upper() in _DEVICES
    last = len(segment) - 1
    out: list[str] = []
    for position, char in enumerate(segment):
        odd = (
            char == "%"
            or _ALWAYS_AWKWARD.match(char) is not None
            or (position == 0 and (char == "." or device))
            or (position == last and char in ". ")
            or (windows and _FORBIDDEN_ON_WINDOWS.match(char) is not None)
            or (thorough and char in ". ")
        )
        out.append(_percent(char) if odd else char)
    return "".join(out)


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _unescaped(name: str) -> str | None:
    """Undo every `%XX`; None when a `%` begins none, or the bytes are no text."""
    if name.count("%") != len(_ESCAPE.findall(name)):
        return None
    out = bytearray()
    end = 0
    for found in _ESCAPE.finditer(name):
        out += name[end : found.start()].encode() + bytes.fromhex(found[1])
        end = found.end()
    out += name[end:].encode()
    try:
        return out.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None


def _pieces(name: str) -> tuple[str, ...]:
    count = -(-len(name.encode()) // (LONGEST_NAME - 10))
    target = -(-len(name.encode()) // count)
    pieces: list[str] = []
    piece, size = "", 0
    for char in name:
        width = len(char.encode())
        if piece and size + width > target + 4:
            pieces.append(piece + _MORE)
            piece, size = "", 0
        piece += char
        size += width
    return (*pieces, piece)


def _fingerprint(segment: str) -> str:
    return hashlib.sha256(segment.encode("utf-8", "surrogatepass")).hexdigest()[:8]
