"""Values as the XML that the model reads, and the fence that keeps foreign text inside its tag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from context_chef.errors import InputError, shown
from context_chef.given import check_text, json_alone
from context_chef.ir.canonical import builtin_form
from context_chef.ir.text import clean_text
from context_chef.patterns import regex

TAGS: Final = (
    "announcements",
    "announcement",
    "anchor",
    "available_toolkits",
    "description",
    "dynamic_state",
    "entry",
    "ephemeral_message",
    "history_summary",
    "implicit_context",
    "memory",
    "metadata",
    "persisted-output",
    "skill_instructions",
    "skills",
    "skill",
    "toolkit",
    "value",
)
"""Every tag that gives text a meaning of ours. Matched without regard to case."""

_FORGED: Final = regex(r"<(?=\s*/?\s*(?:" + "|".join(TAGS) + r")(?![\w.-]))", re.IGNORECASE)
_NOT_A_NAME: Final = regex(r"[^A-Za-z0-9_]")
# What XML 1.0 cannot hold: the control characters but tab, newline and return.
_CONTROL: Final = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def fence(text: str) -> str:
    """Text that cannot open or close a tag of ours; everything else is left as it was written."""
    return _FORGED.sub("&lt;", text)


def escape_attribute(text: str) -> str:
    """Text for between double quotes: `&`, `<` and `"` are escaped, line breaks become blanks."""
    plain = " ".join(_CONTROL.sub(" ", text).splitlines())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def escape_text(text: str) -> str:
    """Text for between tags, all five XML characters escaped."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&apos;")
    )


@json_alone
def object_to_xml(value: Any, root: str = "data") -> str:
    """A JSON-like value as XML, one element a key, lists as `item` elements.

    None and empty lists say nothing. Structs, dataclasses, dates and the like are read as their
    JSON form. Keys that are no XML names are spelled with `_`; where two keys would then be one,
    the second and later carry the original as an attribute `key`. Raises InputError for a value
    that holds itself, is nested too deeply, or cannot be put into words.
    """
    check_text(root, "root")
    return _element(_builtin(value), _tag(root))


def _element(value: Any, tag: str, attribute: str = "") -> str:
    if value is None or value == []:
        return ""
    name = tag + attribute
    if isinstance(value, dict):
        body = _children(cast(dict[str, Any], value))
    elif isinstance(value, list):
        items = [_element(item, "item") for item in cast(list[Any], value)]
        body = [item for item in items if item]
        if not body:
            return ""
    else:
        return f"<{name}>{escape_text(_scalar(value))}</{tag}>"
    lines = "".join(f"  {child}\n" for child in body)
    return f"<{name}>\n{lines}</{tag}>"


def _children(value: dict[str, Any]) -> list[str]:
    taken: set[str] = set()
    rendered: list[str] = []
    for key, item in value.items():
        tag = _tag(key)
        attribute = f' key="{escape_attribute(key)}"' if tag in taken else ""
        taken.add(tag)
        if element := _element(item, tag, attribute):
            rendered.append(element)
    return rendered


def _tag(key: str) -> str:
    name = _NOT_A_NAME.sub("_", key)
    return name if name and not name[0].isdigit() else f"_{name}"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e21:
            return str(int(value))
        return _shortest(value)
    return _CONTROL.sub("\ufffd", str(value))


def _shortest(value: float) -> str:
    """The shortest digits that read back as the same number: 1.5, 1e+21, 1e-7."""
    digits = repr(value)
    if "e" not in digits:
        return digits
    mantissa, _, exponent = digits.partition("e")
    power = int(exponent)
    mantissa = mantissa.removesuffix(".0")
    if -7 < power < 0:
        return f"{value:.{len(mantissa.replace('.', '').replace('-', '')) - 1 - power}f}"
    return f"{mantissa}e{'+' if power > 0 else ''}{power}"


def _builtin(value: Any) -> Any:
    return _lists(builtin_form(value, enc_hook=_foreign, str_keys=True))


def _lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value)
        return {clean_text(key): _lists(item) for key, item in items.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_lists(item) for item in cast(Sequence[Any], value)]
    return value


def _foreign(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    return clean_text(value if isinstance(value, str) else _said(value))


def _said(value: object) -> str:
    try:
        return str(value)
    except Exception as error:
        raise InputError(f"{shown(value)} cannot be put into words.") from error
