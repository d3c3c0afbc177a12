"""What memory asks of the host and tells the outside: veto, hooks, events, in their fixed order."""

from __future__ import annotations

from context_chef.bridge import settle
from context_chef.errors import AsyncRequiredError
from context_chef.events import Logger, MemoryChanged, MemoryExpired
from context_chef.persistence.memory_config import HookErrors, MemoryConfig
from context_chef.persistence.memory_entry import MemoryEntry
from context_chef.persistence.notices import Emit, tell


class MemoryHooks:
    """The hooks of a configuration and the events that follow them."""

    def __init__(self, config: MemoryConfig, emit: Emit, logger: Logger) -> None:
        self._config = config
        self._emit = emit
        self._logger = logger

    async def accepts(self, key: str, value: str | None, old_value: str | None) -> bool:
        """Whether the host lets a validated change happen."""
        if self._config.on_memory_update is None:
            return True
        return bool(await settle(self._config.on_memory_update(key, value, old_value)))

    async def changed(self, change: MemoryChanged, hook_errors: HookErrors = "raise") -> None:
        """After a change: the hook, then the event."""
        if self._config.on_memory_changed is not None:
            try:
                await settle(self._config.on_memory_changed(change))
            except AsyncRequiredError:
                raise
            except Exception as error:
                if hook_errors == "raise":
                    raise
                self._logger.warning(
                    f"`on_memory_changed` raised after memory {change.key!r} was changed: {error!r}"
                )
        await tell(self._emit, change)

    async def expires(self, entry: MemoryEntry) -> None:
        """Before an expired entry goes: the hook, then the event."""
        if self._config.on_memory_expired is not None:
            await settle(self._config.on_memory_expired(entry))
        await tell(self._emit, MemoryExpired(entry=entry))
