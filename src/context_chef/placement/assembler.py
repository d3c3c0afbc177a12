"""The sandwich: stable prefix, history, and what stands behind it; the tail comes later."""

from __future__ import annotations

import msgspec

from context_chef.ir.message import Message


class Sandwich(msgspec.Struct, frozen=True, kw_only=True):
    """The layers of a window, in the order in which they are sent."""

    system_prompt: tuple[Message, ...] = ()
    skill: tuple[Message, ...] = ()
    toolkits: tuple[Message, ...] = ()
    memory: tuple[Message, ...] = ()
    history: tuple[Message, ...] = ()
    dynamic_state: tuple[Message, ...] = ()
    guardrail: tuple[Message, ...] = ()
    prefill: tuple[Message, ...] = ()

    @property
    def layers(self) -> tuple[tuple[Message, ...], ...]:
        """The layers in the order in which they are sent."""
        return (
            self.system_prompt,
            self.skill,
            self.toolkits,
            self.memory,
            self.history,
            self.dynamic_state,
            self.guardrail,
            self.prefill,
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        """All layers as one list."""
        return tuple(message for layer in self.layers for message in layer)

    @property
    def history_start(self) -> int:
        """How many messages stand before the history."""
        return len(self.system_prompt) + len(self.skill) + len(self.toolkits) + len(self.memory)
