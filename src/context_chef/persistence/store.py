"""Store: namespaces, addresses and an access index over one backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_chef.errors import InputError, SettingsError, shown
from context_chef.persistence import address
from context_chef.persistence.address import Address
from context_chef.persistence.backend import (
    Clock,
    StorageBackend,
    StoredEntry,
    check_entries,
    system_clock,
)
from context_chef.persistence.eviction import AccessIndex, EvictionPolicy
from context_chef.persistence.given import check_mapping, check_names
from context_chef.persistence.locks import locks_of
from context_chef.persistence.namespace import NamespaceView
from context_chef.persistence.overlay import OverlayBackend


class Store:
    """One backend, seen as namespaces.

    `eviction` gives a namespace its caps, `uri_scheme` gives one another prefix than
    `context://<ns>/` for its addresses. `clock` answers milliseconds since the epoch. One Store is
    meant to be shared: its views of a namespace share one access index, and it may be used from
    threads and event loops alike.

    Changes of one entry keep each other out in all Stores of this process over the same backend
    object, and between processes where the backend offers `compare_and_swap`. Over another backend
    that several processes share, the last of two changes at the same time wins.
    """

    def __init__(
        self,
        backend: StorageBackend,
        *,
        eviction: Mapping[str, EvictionPolicy | Mapping[str, Any]] | None = None,
        uri_scheme: Mapping[str, str] | None = None,
        clock: Clock = system_clock,
    ) -> None:
        _check_backend(backend)
        if not callable(clock):
            raise SettingsError(
                f"`clock` is a function that answers milliseconds, not {shown(clock)}."
            )
        _check_by_namespace(eviction, "eviction")
        _check_by_namespace(uri_scheme, "uri_scheme")
        self.backend = backend
        self.clock = clock
        self.eviction: dict[str, EvictionPolicy] = {
            ns: EvictionPolicy.of(caps) for ns, caps in (eviction or {}).items()
        }
        self._schemes = dict(uri_scheme or {})
        for ns, scheme in self._schemes.items():
            check_scheme(ns, scheme)
        self._indexes: dict[str, AccessIndex] = {}
        self._locks = locks_of(backend)

    @classmethod
    def wrap(
        cls,
        store_or_backend: Store | StorageBackend,
        *,
        eviction: Mapping[str, EvictionPolicy | Mapping[str, Any]] | None = None,
        uri_scheme: Mapping[str, str] | None = None,
        clock: Clock = system_clock,
    ) -> Store:
        """The same Store when it is one already, whose own settings stay; else one around it."""
        if isinstance(store_or_backend, Store):
            return store_or_backend
        return cls(store_or_backend, eviction=eviction, uri_scheme=uri_scheme, clock=clock)

    def branch(self, owned: Mapping[str, Mapping[str, StoredEntry]] | None = None) -> Store:
        """A store with the same settings whose writes stay in this process. See OverlayBackend."""
        check_mapping(owned or {}, "owned")
        for ns, entries in (owned or {}).items():
            address.check_namespace(ns)
            check_entries(entries)
        overlay = OverlayBackend(self.backend, owned=owned)
        return Store(overlay, eviction=self.eviction, uri_scheme=self._schemes, clock=self.clock)

    @staticmethod
    def uri(ns: str, path: str) -> str:
        """The canonical address, `context://<ns>/<path>`, whatever scheme the namespace has."""
        check_names(ns, path)
        return address.build_uri(ns, path)

    @staticmethod
    def parse_uri(uri: object) -> Address | None:
        """Read a canonical address. None for anything else, and for one that climbs."""
        return address.parse_uri(uri)

    def namespace(self, ns: str, *, uri_scheme: str | None = None) -> NamespaceView:
        """A view of one namespace. `uri_scheme` is for this view only."""
        address.check_namespace(ns)
        scheme = uri_scheme if uri_scheme is not None else self._schemes.get(ns)
        if scheme is None:
            scheme = address.build_uri(ns, "")
        check_scheme(ns, scheme)
        return NamespaceView(
            ns,
            backend=self.backend,
            scheme=scheme,
            policy=self.eviction.get(ns, EvictionPolicy()),
            index=self._indexes.setdefault(ns, AccessIndex()),
            locks=self._locks,
            clock=self.clock,
        )


def check_scheme(ns: str, scheme: object) -> None:
    """Refuse a prefix that would swallow addresses of other namespaces."""
    if not isinstance(scheme, str):
        raise SettingsError(f"`uri_scheme` of {shown(ns)} must be a string, not {shown(scheme)}.")
    own = address.build_uri(ns, "")
    shadows = address.SCHEME.startswith(scheme) or scheme.startswith(address.SCHEME)
    if scheme and shadows and scheme != own:
        raise SettingsError(
            f"`uri_scheme` of {shown(ns)} must not be {shown(scheme)}: it would shadow the "
            "addresses of "
            f"every namespace. Use a scheme of your own, such as '{ns}://', or leave it out."
        )


def _check_by_namespace(value: object, name: str) -> None:
    try:
        check_mapping({} if value is None else value, name)
    except InputError as error:
        raise SettingsError(f"`{name}` is a mapping by namespace, not {shown(value)}.") from error


def _check_backend(backend: object) -> None:
    missing = [
        name
        for name in ("read", "write", "delete", "list")
        if not callable(getattr(backend, name, None))
    ]
    if missing:
        raise SettingsError(
            f"`store` needs a storage backend, but {shown(backend)} has no {', '.join(missing)}; "
            "see `StorageBackend`."
        )
