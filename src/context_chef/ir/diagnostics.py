"""What was lost on the way, and what was mended: never silent, never an exception."""

from __future__ import annotations

import msgspec


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that could not be carried, or only in another form.

    `code` is a stable name such as `thinking-dropped`; `where` is a path into the input.
    """

    code: str
    where: str
    message: str


class Repair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change that made the request acceptable: what, where and which rule asked for it."""

    rule: str
    where: str
    message: str
