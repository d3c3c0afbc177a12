"""`context://` addresses and the paths in them: parse, build, refuse."""

from __future__ import annotations

from typing import Final

import msgspec

from context_chef.errors import AddressError, shown
from context_chef.ir.digest import sha256_hex
from context_chef.patterns import regex
from context_chef.persistence.backend import sendable

SCHEME: Final = "context://"
MAX_PATH_BYTES: Final = 4096
"""The longest path, in UTF-8 bytes. Longer ones are refused before any backend sees them."""

_CONTENT_PATH: Final = regex(r"(?s)(?P<ns>.*)_(?P<digest>[0-9a-f]{16})\.txt")


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry lives: a namespace, and a path in it."""

    ns: str
    path: str

    @property
    def uri(self) -> str:
        return build_uri(self.ns, self.path)


def build_uri(ns: str, path: str) -> str:
    """The canonical address; nothing is encoded, so it reads like the path."""
    return f"{SCHEME}{ns}/{path}"


def parse_uri(uri: object) -> Address | None:
    """Read a `context://NAMESPACE/PATH` address; None for anything else, never an exception.

    Nothing is trimmed or decoded. An address that climbs out of its namespace is none.
    """
    if not isinstance(uri, str) or not uri.startswith(SCHEME):
        return None
    ns, _, path = uri[len(SCHEME) :].partition("/")
    if not path or fault_of_namespace(ns) or fault_of_path(path):
        return None
    return Address(ns=ns, path=path)


def check_namespace(ns: object) -> None:
    """Refuse, with AddressError, a name that cannot be a namespace."""
    if fault := fault_of_namespace(ns):
        raise AddressError(f"{shown(ns)} cannot be a namespace: {fault}.")


def check_path(path: object, ns: str | None = None) -> None:
    """Refuse, with AddressError, a path that leads out of its namespace or is far too long."""
    if fault := fault_of_path(path):
        where = "" if ns is None else f" in namespace {shown(ns)}"
        raise AddressError(f"{shown(path)} cannot be a path{where}: {fault}.")


def fault_of_namespace(ns: object) -> str | None:
    """Why this cannot be the name of a namespace, or None when it can."""
    if not isinstance(ns, str):
        return "a namespace is a string"
    if ns in ("", ".", ".."):
        return "a namespace needs a name, such as `notes`"
    if "/" in ns or "\\" in ns:
        return "a namespace is one plain name without slashes, such as `notes`"
    if len(ns.encode("utf-8", "surrogatepass")) > 200:
        return "it is longer than 200 bytes"
    return None


def fault_of_path(path: object) -> str | None:
    """Why this path must not reach a backend, or None when it may."""
    if not isinstance(path, str):
        return "a path is a string"
    if len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    if climbs(path):
        return "it climbs out of the namespace; give a path that stays inside"
    return None


def climbs(path: str) -> bool:
    """Whether following the path's `..` segments would at some point leave where it began."""
    if ".." not in path:
        return False
    depth = 0
    for segment in path.split("/"):
        if segment == "..":
            depth -= 1
        elif segment not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False


def content_path(ns: str, content: str) -> str:
    """The content address: `<ns>_<16 hex digits of SHA-256>.txt`, the same in every process."""
    digest = sha256_hex(sendable(content).encode())
    return f"{ns}_{digest[:16]}.txt"


def is_content_path(ns: str, path: str) -> bool:
    """Whether the path is a content address of that namespace."""
    found = _CONTENT_PATH.fullmatch(path)
    return found is not None and found["ns"] == ns


def keeps_promise(ns: str, path: str, content: str) -> bool:
    """Whether the content is what a content address says; any other path promises nothing."""
    return not is_content_path(ns, path) or content_path(ns, content) == path
