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
    An absent record means 0. Turns that the store cannot take are counted in this process, and
    written down once it can.
    """

    def __init__(self, view: NamespaceView, logger: Logger) -> None:
        self._view = view
        self._logger = logger
        self._recorded = False
        self._stored = 0
        self._ahead = 0
        self._warned: set[bool] = set()
        self.value = 0

    async def load(self) -> int:
        """The shared count, for judging entries that live by turns."""
        try:
            entry = await self._view.get(TURNS_PATH, touch=False)
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001 - a store without room for it is no failure
            self._warn(error)
        else:
            self._know(entry)
            self.value = self._stored + self._ahead
        return self.value

    async def is_kept(self) -> bool:
        """Whether the count is written down, because somebody's entry lives by it."""
        await self.load()
        return self._recorded

    async def begin(self) -> int:
        """The count from which a new lifetime in turns starts; written down from now on."""
        if not self._recorded:
            known = self.value
            await self.load()
            if known > 0 and not self._recorded:
                await self.put(known)
        return self.value

    async def advance(self, *, shared: bool) -> None:
        """One turn more. `shared` says that some entry lives by the count."""
        if not shared:
            self.value += 1
            self._ahead = 0
            await self._forget()
            return
        ahead = self._ahead + 1

        def step(before: StoredEntry | None) -> StoredEntry:
            return StoredEntry(content=str(_number(before) + ahead))

        try:
            after = await self._view.update(TURNS_PATH, step)
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001 - as in load()
            self._warn(error)
            self._ahead = ahead
            self.value += 1
        else:
            self._know(after)
            self._ahead = 0
            self.value = self._stored

    async def put(self, value: int, *, shared: bool = True) -> None:
        """Set the count, as after restoring a snapshot."""
        self.value = value
        if not shared:
            self._ahead = 0
            await self._forget(unseen=True)
            return
        try:
            await self._view.put(TURNS_PATH, str(value))
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001 - as in load()
            self._warn(error)
            self._ahead = value - self._stored
        else:
            self._recorded, self._stored, self._ahead = True, value, 0

    async def _forget(self, *, unseen: bool = False) -> None:
        if not (self._recorded or unseen):
            return
        self._know(None)
        if self._view.supports("delete"):
            try:
                await self._view.delete(TURNS_PATH)
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001 - as in load()
                self._warn(error)

    def _know(self, entry: StoredEntry | None) -> None:
        self._recorded = entry is not None
        self._stored = _number(entry)

    def _warn(self, error: Exception) -> None:
        damaged = isinstance(error, CorruptStoreError)
        if damaged in self._warned:
            return
        self._warned.add(damaged)
        if damaged:
            self._logger.warning(f"The turn counter of memory is damaged and starts at 0: {error}")
        else:
            self._logger.warning(
                f"Lifetimes in turns will not survive a restart: the store of memory cannot keep "
                f"the turn counter ({error})."
            )


def _number(entry: StoredEntry | None) -> int:
    text = "" if entry is None else entry.content.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
