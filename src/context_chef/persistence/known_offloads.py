"""What is known of a conversation that is offloaded again as it grows."""

from __future__ import annotations

from context_chef.ir.message import Message
from context_chef.ir.running import Messages, Starts


class KnownOffloads:
    """A conversation that is offloaded again as it grows: what was left alone stays so.

    What went to the store is looked at each time, since it may not be there any more.
    """

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self.forget()

    def forget(self) -> None:
        """Know nothing any more."""
        self.messages: Messages = ()
        self.answer: Messages = ()
        self.tools: dict[str, str] = {}
        """The names of the tools that were called, by the id of the call."""
        self.made: dict[int, tuple[Message, str | None]] = {}
        """What became of those that were not left alone, and the tool, by place."""

    def begin(self, messages: Messages) -> int:
        """How many messages at the beginning are known. Until `keep`, nothing is."""
        last = self.messages
        if not last or self._starts.same(last, messages) < len(last):
            self.forget()
        known, self.messages = len(self.messages), ()
        return known

    def keep(self, messages: Messages, answer: Messages, same: int) -> None:
        """Remember what was made of these; `same` are as they were in the last answer."""
        if self.answer and answer is not messages:
            self._starts.note(self.answer, answer, same)
        self.messages, self.answer = messages, answer
