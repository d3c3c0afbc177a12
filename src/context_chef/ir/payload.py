"""`Payload`: keyword arguments for the official SDK call, and everything known about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex

import msgspec
from typing_extensions import override

from context_chef.errors import SettingsError
from context_chef.given import check_callable, check_instance, check_mapping
from context_chef.ir.handed_out import json_of
from context_chef.ir.report import Report

if TYPE_CHECKING:
    from context_chef.explaining.explanation import Explanation


class CompileMeta(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one compile, beside the request."""

    target: str
    window_id: str
    model: str | None = None
    injected_memory_keys: tuple[str, ...] = ()
    memory_expired_keys: tuple[str, ...] = ()
    active_skill_name: str | None = None
    betas: tuple[str, ...] = ()
    """Beta features the request needs; the payload already asks for them."""
    tool_names: Mapping[str, str] = {}
    """A tool's own name, by the name on the wire: for tools whose own name the target refuses.

    For code that reads the provider's answer itself: what `append`, `extend` and `set_history` take
    is named as the caller names it.
    """
    compacting: bool = False
    """This request asks the server for a summary: append what it answers, and compile again."""


class Payload(dict[str, Any]):
    """What the official SDK call takes, and nothing else: `client.messages.create(**payload)`.

    The dict is yours: changing it changes nothing inside the chef. Copies are payloads too, and a
    pickled one is the whole of it but for `explain()`, which needs the chef.
    """

    __slots__ = ("_body", "_explain", "_report", "meta")

    def __init__(
        self,
        arguments: Mapping[str, Any],
        *,
        meta: CompileMeta,
        body: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        report: Callable[[], Report],
        explain: Callable[[Payload], Explanation] | None = None,
    ) -> None:
        check_mapping(arguments, "arguments")
        check_instance(meta, "meta", CompileMeta)
        for name, part in (("body", body), ("report", report)):
            check_callable(part, name, optional=False)
        check_callable(explain, "explain")
        super().__init__(arguments)
        self.meta = meta
        self._body = body
        self._report: Callable[[], Report] | Report = report
        self._explain = explain

    @property
    def report(self) -> Report:
        """Where every token went, and what was repaired. Counted when first asked for."""
        if not isinstance(self._report, Report):
            self._report = self._report()
        return self._report

    def explain(self) -> Explanation:
        """For every part of the request who brought it, why, what it costs and if it is cached.

        Of the request as it is now: what was changed after the compile is told as such. Worked out
        when it is asked for; a compile does nothing for it.
        """
        if self._explain is None:
            raise SettingsError(
                "This payload was not made by a compile in this process; use "
                "`explain_body(payload.body, target)`."
            )
        return self._explain(self)

    @property
    def body(self) -> dict[str, Any]:
        """The HTTP body as plain data: what the SDK makes of the arguments, as they are now."""
        return dict(self._body(self))

    def __copy__(self) -> Payload:
        return self._with(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Payload:
        from copy import deepcopy

        return self._with({key: deepcopy(value, memo) for key, value in self.items()})

    def _with(self, arguments: Mapping[str, Any]) -> Payload:
        return Payload(
            arguments,
            meta=self.meta,
            body=self._body,
            report=lambda: self.report,
            explain=self._explain,
        )

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (dict(self), self.meta, self._body, self.report))

    @override
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return self.__reduce__()

    def to_json(self) -> bytes:
        """The HTTP body's bytes (UTF-8, compact). Equal inputs give equal bytes."""
        return json_of(self._body(self))


def _unpickled(
    arguments: dict[str, Any],
    meta: CompileMeta,
    body: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    report: Report,
) -> Payload:
    """A payload that comes from elsewhere: the chef that could explain it is not here."""
    return Payload(arguments, meta=meta, body=body, report=lambda: report)
