"""Regular expressions compiled when they are first used: importing us pays for none of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, Final, cast

_METHODS: Final = ("fullmatch", "match", "search", "sub", "subn", "split", "findall", "finditer")


class _Unused:
    """Stands for a pattern until it is asked for something, and hands on what is asked."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))  # the next call finds it here
        return getattr(compiled, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile(text, flags)`, put off until it is asked for something."""
    return cast("re.Pattern[AnyStr]", _Unused(text, flags))
