"""Values of the store scenarios: their notation read, outcomes compared with what was recorded."""

from __future__ import annotations

import hashlib
import math
import re
from itertools import chain
from typing import Any

from context_chef.prompts.vocabulary import LEGACY_VOCABULARY, UNIFIED_VOCABULARY, Vocabulary
from tests.parity.outcome import RAISED, Difference, aligned

ABSENT: Any = object()
"""An argument that was not passed, which is not the same as null."""

BLANKS = " \t\n\r\v\f\ufeff\xa0"

_KEYS = re.compile(r"\{\{(LEGACY|UNIFIED)_(EXISTING|ALLOWED)_KEYS_GUIDANCE: (.*?)\}\}", re.DOTALL)
_LOOSE_LOGS = ("on_memory_expired", "on_evicted", "on_vfs_evicted", "warning")
"""Log records of hooks, compared by what the record has: ours say more about the entry."""


def resolve(value: Any, saved: dict[str, Any], root: str) -> Any:
    """A value in the notation of the scenarios as the value that it stands for."""
    if isinstance(value, str):
        return value.replace("{{ROOT}}", root)
    if isinstance(value, list):
        return [resolve(item, saved, root) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$repeat": [text, times], **rest} if not rest:
            return resolve(text, saved, root) * times
        case {"$lines": [prefix, count], **rest} if not rest:
            return "\n".join(f"{prefix}{number}" for number in range(1, count + 1))
        case {"$concat": parts, **rest} if not rest:
            return "".join(resolve(part, saved, root) for part in parts)
        case {"$saved": name, **rest} if not rest:
            return saved[name]
        case {"$inf": True, **rest} if not rest:
            return math.inf
        case {"$absent": True, **rest} if not rest:
            return ABSENT
        case {"$codepoints": points, **rest} if not rest:
            return "".join(chr(int(str(point), 16)) for point in points)
        case _:
            return {key: resolve(item, saved, root) for key, item in value.items()}


def words(value: Any, *, skip: bool = False) -> Any:
    """Recorded text with our own wording in the place of the placeholders for the library's."""
    if isinstance(value, str) and "{{" in value:
        for token, text in (
            ("{{MEMORY_INSTRUCTION}}", LEGACY_VOCABULARY.memory_instruction),
            ("{{CONTEXT_STORE_INSTRUCTION}}", UNIFIED_VOCABULARY.memory_instruction),
            ("{{MEMORY_BLOCK_HEADER}}", LEGACY_VOCABULARY.memory_block_header),
            ("{{CONTEXT_MEMORY_BLOCK_HEADER}}", UNIFIED_VOCABULARY.memory_block_header),
        ):
            value = value.replace(token, text)
        return _KEYS.sub(_guidance, value)
    if isinstance(value, list):
        return [words(item) for item in value]
    if isinstance(value, dict):
        return {key: words(item) for key, item in value.items()}
    return value


def _guidance(match: re.Match[str]) -> str:
    speaks: Vocabulary = LEGACY_VOCABULARY if match[1] == "LEGACY" else UNIFIED_VOCABULARY
    template = speaks.existing_keys if match[2] == "EXISTING" else speaks.allowed_keys
    return template.replace("{keys}", match[3])


def outcome_differences(expected: Any, actual: Any, path: str = "$") -> list[Difference]:
    """Every place where an outcome parts from what was recorded.

    `_text` in an outcome is what must mention something; `_also` says the same in other shapes.
    """
    if isinstance(expected, dict) and "$digest" in expected:
        found = digest(actual) if isinstance(actual, str) else actual
        return outcome_differences(expected["$digest"], found, path)
    if isinstance(expected, dict) and set(expected) == {"$number"}:
        same = isinstance(actual, float) and math.isnan(actual)
        return [] if same else [Difference(at=path, kind="changed", was="NaN", now=actual)]
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _dicts(expected, actual, path)
    if isinstance(expected, list) and isinstance(actual, list):
        if path.endswith(".outcomes") and len(expected) == len(actual):
            pairs: list[tuple[int | None, int | None]] = [(i, i) for i in range(len(expected))]
        else:
            pairs = aligned(expected, actual)
        return list(chain.from_iterable(_pair(expected, actual, path, *pair) for pair in pairs))
    if isinstance(expected, bool) is isinstance(actual, bool) and expected == actual:
        return []
    return [Difference(at=path, kind="changed", was=expected, now=actual)]


def _pair(
    expected: list[Any], actual: list[Any], path: str, left: int | None, right: int | None
) -> list[Difference]:
    if left is None:
        assert right is not None
        return [Difference(at=f"{path}[{right}]", kind="unexpected", now=actual[right])]
    if right is None:
        return [Difference(at=f"{path}[{left}]", kind="missing", was=expected[left])]
    return outcome_differences(expected[left], actual[right], f"{path}[{left}]")


def _dicts(expected: dict[str, Any], actual: dict[str, Any], path: str) -> list[Difference]:
    message = actual.get("_text", "")
    error = actual.get(RAISED)
    if error is not None and not expected.get("raises"):
        return [Difference(at=path, kind="raised", was=expected, now=error)]
    if expected.get("raises") and not actual.get("raises"):
        return [Difference(at=path, kind="changed", was=expected, now=_visible(actual))]
    found: list[Difference] = []
    loose = expected.get("kind") in _LOOSE_LOGS
    for key, wanted in expected.items():
        at = f"{path}.{key}"
        if key == "must_mention":
            lacking = [token for token in wanted if token not in message]
            if lacking:
                found.append(Difference(at=at, kind="changed", was=lacking, now=message))
        elif key in ("about", "raised"):
            continue  # our own wording; ours never raises later than it can
        elif key in ("empty_listing_of", "no_matches_for"):
            if wanted not in message or "- context://" in message:
                found.append(Difference(at=at, kind="changed", was=wanted, now=message))
        elif key == "under":
            if wanted not in message:
                found.append(Difference(at=at, kind="changed", was=wanted, now=message))
        elif key not in actual and key in actual.get("_also", {}):
            found += outcome_differences(wanted, actual["_also"][key], at)
        elif key not in actual:
            found.append(Difference(at=at, kind="missing", was=wanted, now=message or None))
        else:
            found += outcome_differences(wanted, actual[key], at)
    if not loose and not set(expected) & {"must_mention", "empty_listing_of", "no_matches_for"}:
        extra = [key for key in actual if key not in expected and not key.startswith("_")]
        found += [
            Difference(at=f"{path}.{key}", kind="unexpected", now=actual[key]) for key in extra
        ]
    return found


def _visible(actual: dict[str, Any]) -> dict[str, Any]:
    shown = {key: item for key, item in actual.items() if not key.startswith("_")}
    return {**shown, "text": actual["_text"]} if "_text" in actual else shown


def digest(text: str) -> dict[str, Any]:
    """What is recorded of a long text."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    return {
        "utf16_units": len(encoded) // 2,
        "code_points": len(text),
        "sha256_utf8": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "starts_with": text[:60],
        "ends_with": text[-60:],
    }
