"""Tool names that every target takes, and the way back to the names the caller gave."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from context_chef.ir.blocks import Provider
from context_chef.ir.digest import sha256_hex
from context_chef.patterns import regex

NAME_LIMIT: Final = 64
_LEGAL: Final[dict[Provider, re.Pattern[str]]] = {
    "anthropic": regex(r"[a-zA-Z0-9_-]{1,64}", re.ASCII),
    "openai": regex(r"[a-zA-Z0-9_-]{1,64}", re.ASCII),
    "openai-responses": regex(r"[a-zA-Z0-9_-]{1,64}", re.ASCII),
    "gemini": regex(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", re.ASCII),
}
_ILLEGAL: Final = regex(r"[^a-zA-Z0-9_-]+", re.ASCII)
_DIGITS: Final = 8


def is_legal_name(name: str, target: Provider) -> bool:
    """Whether the target takes a tool of that name as it is."""
    return _LEGAL[target].fullmatch(name) is not None


def wire_name(name: str, target: Provider, *, attempt: int = 0) -> str:
    """The name under which the target hears of the tool `name`: the same where it is legal.

    An illegal one is cleaned, cut and marked with a digest of the whole original, so that names
    which differ anywhere stay different, in every process. `attempt` gives another one.
    """
    if not attempt and is_legal_name(name, target):
        return name
    seed = name if not attempt else f"{name}\n{attempt}"
    digest = sha256_hex(seed.encode("utf-8", "replace"))[:_DIGITS]
    stem = _ILLEGAL.sub("_", name)[: NAME_LIMIT - _DIGITS - 2].strip("_-")
    if stem[:1].isdigit():
        stem = f"_{stem}"
    return f"{stem or 'tool'}_{digest}"


def map_names(
    names: Iterable[str], target: Provider, *, taken: Collection[str] = ()
) -> dict[str, str]:
    """Every name with its wire name; no two of them share one, and none is in `taken`."""
    originals = list(dict.fromkeys(names))
    mapped = {name: name for name in originals if is_legal_name(name, target)}
    taken = {*taken, *mapped}
    for name in originals:
        if name in mapped:
            continue
        attempt = 0
        while (candidate := wire_name(name, target, attempt=attempt)) in taken:
            attempt += 1
        mapped[name] = candidate
        taken.add(candidate)
    return {name: mapped[name] for name in originals}
