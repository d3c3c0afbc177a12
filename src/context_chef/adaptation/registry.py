"""Targets by name: the four built-in ones, and whatever a caller registers over or beside them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias, cast

from context_chef.adaptation.adapter import TargetAdapter, WireAdapter
from context_chef.adaptation.anthropic import AnthropicAdapter
from context_chef.adaptation.gemini import GeminiAdapter
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter
from context_chef.errors import SettingsError, shown

Adapter: TypeAlias = TargetAdapter | WireAdapter

BUILTIN: Final = "builtin"
"""The source id of the adapters that are there from the start."""


class _Entry(NamedTuple):
    adapter: Adapter
    source_id: str | None


class AdapterRegistry:
    """Adapters by target name.

    A name may be registered again: the latest adapter answers to it, at the place of the first, and
    taking it away brings back the one before.
    """

    def __init__(self) -> None:
        self._entries: dict[str, list[_Entry]] = {}

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
        self._entries.setdefault(name, []).append(_Entry(adapter, source_id))

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
    registry = AdapterRegistry()
    registry.register("openai", OpenAIAdapter(), BUILTIN)
    registry.register("anthropic", AnthropicAdapter(), BUILTIN)
    registry.register("gemini", GeminiAdapter(), BUILTIN)
    registry.register("openai-responses", OpenAIResponsesAdapter(), BUILTIN)
    return registry


def get_adapter(name: str) -> Adapter:
    """A new built-in adapter of that name. Raises SettingsError for any other name."""
    return builtin_registry().get(name)
