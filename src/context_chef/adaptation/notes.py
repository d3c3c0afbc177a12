"""What a writer has to say about a request: collected while it writes, read once it is done."""

from __future__ import annotations

import msgspec

from context_chef.ir.diagnostics import Diagnostic, Repair


class Notes:
    """Diagnostics and repairs of one adaptation."""

    __slots__ = ("_target", "diagnostics", "repairs")

    def __init__(self, target: str) -> None:
        self._target = target
        self.diagnostics: list[Diagnostic] = []
        self.repairs: list[Repair] = []

    def __bool__(self) -> bool:
        return bool(self.diagnostics or self.repairs)

    def diagnose(self, code: str, where: str, message: str) -> None:
        """Something was not carried, or only in another form."""
        self.diagnostics.append(Diagnostic(code=code, where=where, message=message))

    def repair(self, rule: str, where: str, message: str) -> None:
        """Something was changed because the target's `rule` asks for it."""
        self.repairs.append(Repair(rule=f"{self._target}/{rule}", where=where, message=message))

    def tidy(self, rule: str, where: str, message: str) -> None:
        """Something was changed though no rule of the target's asks for it."""
        self.repairs.append(Repair(rule=rule, where=where, message=message))

    def include(self, other: Notes, where: str) -> None:
        """Notes about a part of the whole, whose place goes in front of theirs."""
        replace = msgspec.structs.replace
        for note in other.diagnostics:
            self.diagnostics.append(replace(note, where=f"{where}{note.where}"))
        for repair in other.repairs:
            self.repairs.append(replace(repair, where=f"{where}{repair.where}"))
