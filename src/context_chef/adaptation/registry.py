"""Targets by name: the four built-in ones, and whatever a caller registers over or beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from context_chef.adaptation.adapter import TargetAdapter, WireAdapter
from context_chef.errors import SettingsError, shown

Adapter: TypeAlias = TargetAdapter | WireAdapter

BUILTIN: Final = "builtin"
"""The source id of the adapters that are there from the start."""


# A program mostly speaks to one provider: the code of the others is not loaded.


def _openai() -> Adapter:
    from context_chef.adaptation.openai_chat import OpenAIAdapter

    return OpenAIAdapter()


def _anthropic() -> Adapter:
    from context_chef.adaptation.anthropic import AnthropicAdapter

    return AnthropicAdapter()


def _gemini() -> Adapter:
    from context_chef.adaptation.gemini import GeminiAdapter

    return GeminiAdapter()


def _openai_responses() -> Adapter:
    from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter

    return OpenAIResponsesAdapter()


_MAKERS: Final[Mapping[str, Callable[[], Adapter]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "openai-responses": _openai_responses,
}
BUILTIN_TARGETS: Final = tuple(_MAKERS)
"""The names of the built-in targets."""


class _Entry:
    """An adapter, made when it is first asked for, and who registered it."""

    def __init__(self, make: Callable[[], Adapter], source_id: str | None) -> None:
        self._make = make
        self._made: Adapter | None = None
        self.source_id = source_id

    @property
    def adapter(self) -> Adapter:
        if self._made is None:
            # Two threads may both come here: what an adapter remembers it can make again.
            self._made = self._make()
        return self._made


class AdapterRegistry:
    """Adapters by target name.

    A name may be registered again: the latest adapter answers to it, at the place of the first, and
    taking it away brings back the one before.
    """

    def __init__(self) -> None:
        self._entries: dict[str, list[_Entry]] = {}

    @classmethod
    def of_builtins(cls) -> AdapterRegistry:
        """See `builtin_registry()`."""
        registry = cls()
        registry._entries = {name: [_Entry(make, BUILTIN)] for name, make in _MAKERS.items()}
        return registry

    def register(self, name: str, adapter: Adapter, source_id: str | None = None) -> None:
        """Let `adapter` answer to `name`. `source_id` groups what is taken away together.

        An adapter needs `compile(messages)`, sync or async; ours also have `adapt(request)`.
        """
        if not isinstance(cast(Any, name), str) or not name.strip():
            raise SettingsError(f"`name` has to be the target's name, not {shown(name)}.")
        able = (getattr(adapter, ability, None) for ability in ("compile", "adapt"))
        if not any(callable(ability) for ability in able):
            raise SettingsError(
                f"`adapter` needs a method `compile(messages)`; {shown(adapter)} has none."
            )
        self._entries.setdefault(name, []).append(_Entry(lambda: adapter, source_id))

    def adopt(self, other: AdapterRegistry) -> None:
        """Hold what another registry holds; later registrations on either side stay there."""
        self._entries = {name: list(entries) for name, entries in other._entries.items()}

    def unregister(self, name: str) -> None:
        """Take the adapter that answers to `name` away; the one it replaced is back."""
        entries = self._entries.get(name) if self.has(name) else None
        if entries:
            entries.pop()
            if not entries:
                del self._entries[name]

    def unregister_by_source(self, source_id: str) -> None:
        """Take away everything that was registered under `source_id`; what it replaced is back."""
        for name in tuple(self._entries):
            kept = [entry for entry in self._entries[name] if entry.source_id != source_id]
            if kept:
                self._entries[name] = kept
            else:
                del self._entries[name]

    def get(self, name: str) -> Adapter:
        """The adapter of that target. Raises SettingsError naming the targets there are."""
        entries = self._entries.get(name) if self.has(name) else None
        if entries:
            return entries[-1].adapter
        known = ", ".join(f"`{known}`" for known in self._entries) or "(none)"
        raise SettingsError(
            f"There is no adapter for the target {shown(name)}. Registered: {known}. "
            "Use one of these, or `register()` your own."
        )

    def has(self, name: str) -> bool:
        """Whether there is an adapter of that name."""
        return isinstance(cast(Any, name), str) and name in self._entries

    def names(self) -> list[str]:
        """The target names in the order in which they were first registered."""
        return [*self._entries]

    def list(self) -> list[str]:
        """The same as `names()`."""
        return self.names()


def builtin_registry() -> AdapterRegistry:
    """A new registry with the built-in targets, all under the source id `builtin`."""
    return AdapterRegistry.of_builtins()


def builtin_name_of(adapter: object) -> str | None:
    """The target whose built-in adapter this is, or is derived from."""
    from context_chef.adaptation.anthropic import AnthropicAdapter
    from context_chef.adaptation.gemini import GeminiAdapter
    from context_chef.adaptation.openai_chat import OpenAIAdapter
    from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter

    kinds: tuple[tuple[type, str], ...] = (
        (AnthropicAdapter, "anthropic"),
        (GeminiAdapter, "gemini"),
        (OpenAIResponsesAdapter, "openai-responses"),
        (OpenAIAdapter, "openai"),
    )
    return next((name for kind, name in kinds if isinstance(adapter, kind)), None)


def get_adapter(name: str) -> Adapter:
    """A new built-in adapter of that name. Raises SettingsError for any other name."""
    return builtin_registry().get(name)
