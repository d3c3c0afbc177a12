"""Text that every JSON encoder and every provider takes."""

from __future__ import annotations


def clean_text(text: str) -> str:
    """The same text without what no request can carry.

    Surrogate pairs become the character they mean; a lone surrogate and NUL become U+FFFD.
    """
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "\ufffd") if "\x00" in text else text
