"""Text that every JSON encoder and every provider takes."""

from __future__ import annotations

from typing import Any

from msgspec.structs import force_setattr

from context_chef.errors import InputError, shown


def clean_text(text: str) -> str:
    """The same text without what no request can carry.

    Surrogate pairs become the character they mean; a lone surrogate and NUL become U+FFFD. A
    subclass of `str` (an enum's member, marked-up text) becomes the plain text that it holds.
    """
    if type(text) is not str:
        text = str.__str__(text)
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "\ufffd") if "\x00" in text else text


def is_clean(text: object) -> bool:
    """Whether that is plain ASCII text, to which `clean_text` does nothing."""
    return type(text) is str and text.isascii() and "\x00" not in text


def lent(text: str) -> str:
    """The same text, for an encoder that reads the UTF-8 out of it.

    Compiled code that does leaves the UTF-8 in a `str` that is not ASCII for as long as that lives:
    a conversation's own texts would take twice their room. A copy is gone when it was read.
    """
    return text if text.isascii() else text.encode().decode()


def clean_fields(struct: Any, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Hold text fields of a new Struct to text, and clean them in place.

    Raises InputError naming the field that is no text; the optional ones may be None.
    """
    for field in required:
        words = getattr(struct, field)
        if not isinstance(words, str):
            raise InputError(f"`{field}` has to be text, not {shown(words)}.", path=f"$.{field}")
        if (clean := clean_text(words)) is not words:
            force_setattr(struct, field, clean)
    for field in optional:
        words = getattr(struct, field)
        if words is None:
            continue
        if not isinstance(words, str):
            raise InputError(
                f"`{field}` has to be text or None, not {shown(words)}.", path=f"$.{field}"
            )
        if (clean := clean_text(words)) is not words:
            force_setattr(struct, field, clean)
