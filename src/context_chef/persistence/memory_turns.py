"""The turn counter that lifetimes in turns are measured by; it survives a restart."""

from __future__ import annotations

from context_chef.errors import AsyncRequiredError, CorruptStoreError
from context_chef.events import Logger
from context_chef.persistence.backend import StoredEntry
from context_chef.persistence.namespace import NamespaceView

TURNS_NAMESPACE = "memory_state"
TURNS_PATH = "turn"


class TurnCounter:
    """Counts compiles, and writes the count down for as long as an entry lives by it.

    While one does, everybody on the same store shares the count; otherwise nothing is written.
    An absent record means 0. A store that cannot keep it leaves the count in this process.
    """

    def __init__(self, view: NamespaceView, logger: Logger) -> None:
        self._view = view
        self._logger = logger
        self._durable = True
        self._recorded = False
        self.value = 0

    async def load(self) -> int:
        """The shared count, for judging entries that live by turns."""
        if self._durable:
            try:
                entry = await self._view.get(TURNS_PATH, touch=False)
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001 - a store without room for it is no failure
                self._give_up(error)
            else:
                self._recorded = entry is not None
                self.value = _number(entry)
        return self.value

    async def begin(self) -> int:
        """The count from which a new lifetime in turns starts; written down from now on."""
        if self._durable and not self._recorded:
            known = self.value
            if await self.load() == 0 and known > 0 and not self._recorded:
                await self.put(known)
        return self.value

    async def advance(self, *, shared: bool) -> None:
        """One turn more. `shared` says that some entry lives by the count."""
        if not shared:
            self.value += 1
            await self._forget()
            return

        def step(before: StoredEntry | None) -> StoredEntry:
            return StoredEntry(content=str(_number(before) + 1))

        if self._durable:
            try:
                after = await self._view.update(TURNS_PATH, step)
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001 - as in load()
                self._give_up(error)
            else:
                self._recorded = True
                self.value = _number(after)
                return
        self.value += 1

    async def put(self, value: int, *, shared: bool = True) -> None:
        """Set the count, as after restoring a snapshot."""
        self.value = value
        if not shared:
            await self._forget(unseen=True)
        elif self._durable:
            try:
                await self._view.put(TURNS_PATH, str(value))
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001 - as in load()
                self._give_up(error)
            else:
                self._recorded = True

    async def _forget(self, *, unseen: bool = False) -> None:
        if not self._durable or not (self._recorded or unseen):
            return
        self._recorded = False
        if self._view.supports("delete"):
            try:
                await self._view.delete(TURNS_PATH)
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001 - as in load()
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if isinstance(error, CorruptStoreError):
            self._logger.warning(f"The turn counter of memory is damaged and starts at 0: {error}")
        else:
            self._logger.warning(
                f"Lifetimes in turns will not survive a restart: the store of memory cannot keep "
                f"the turn counter ({error})."
            )
        self._durable = False


def _number(entry: StoredEntry | None) -> int:
    text = "" if entry is None else entry.content.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
