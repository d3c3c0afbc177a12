"""Reads `field-cases.json`: the cases by id, and the directives in their inputs expanded."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.histories import PNG

FILE = Path(__file__).with_name("field-cases.json")


@cache
def _cases() -> dict[str, dict[str, Any]]:
    found = json.loads(FILE.read_text(encoding="utf-8"))
    cases: list[dict[str, Any]] = found["cases"] if isinstance(found, dict) else found
    return {case["id"]: case for case in cases}


def case(identifier: str, *, file: str = PNG) -> dict[str, Any]:
    """A case with its input expanded. `file` is the base64 of what `$base64_bytes` begins with."""
    found = _cases()[identifier]
    return {**found, "input": expand(found["input"], file)}


def case_ids() -> list[str]:
    """The ids of all cases."""
    return list(_cases())


def expand(value: Any, file: str = PNG) -> Any:
    """The value with every directive replaced by what it stands for."""
    if isinstance(value, list):
        return [expand(item, file) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, argument),) = value.items()
        match key:
            case "$repeat":
                text, count = argument
                return text * count
            case "$concat":
                return "".join(expand(part, file) for part in argument)
            case "$codepoints":
                return "".join(chr(int(number, 16)) for number in argument)
            case "$base64_bytes":
                # A real file of about that size: what follows its end is not read.
                raw = base64.b64decode(file)
                return base64.b64encode(raw + bytes(max(0, argument - len(raw)))).decode("ascii")
            case "$python":
                return eval(argument, {})
            case _:
                pass
    return {key: expand(item, file) for key, item in value.items()}
