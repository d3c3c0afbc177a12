"""What a pass has to tell besides its result: warned of at once, and read by the report later."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.selection.strategy import Logger

WHERE = "overflow"


class PassNotes:
    """The diagnostics and repairs of one pass, in the order in which they came up."""

    def __init__(self, logger: Logger, untold: Sequence[Diagnostic] = ()) -> None:
        self._logger = logger
        self.diagnostics: list[Diagnostic] = list(untold)
        self.repairs: list[Repair] = []

    def warn(self, code: str, message: str, *, where: str = WHERE) -> None:
        """Something did not go as it should: a warning, and a diagnostic of the report."""
        self._logger.warning("%s", message)
        self.diagnostics.append(Diagnostic(code=code, where=where, message=message))

    def tell(self, code: str, message: str, *, where: str = WHERE) -> None:
        """Something for the report alone."""
        self.diagnostics.append(Diagnostic(code=code, where=where, message=message))

    def mended(self, rule: str, message: str, *, where: str = WHERE) -> None:
        """Something was put right: a warning, and a repair of the report."""
        self._logger.warning("%s", message)
        self.repairs.append(Repair(rule=rule, where=where, message=message))

    def repaired(self, repairs: Sequence[Repair]) -> None:
        """Repairs that somebody else made."""
        self.repairs.extend(repairs)

    def take(self) -> tuple[list[Diagnostic], list[Repair]]:
        """What was not taken yet."""
        taken = (self.diagnostics[:], self.repairs[:])
        self.diagnostics.clear()
        self.repairs.clear()
        return taken
