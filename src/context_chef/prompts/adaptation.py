"""What the model reads where a conversation says something that its provider has no form for."""

from __future__ import annotations

from typing import Final

COMPACTION_HEADING: Final = (
    "Summary of the earlier conversation, written by the provider when it was compacted:"
)
_THINKING: Final = "<thinking>\n{text}\n</thinking>"
_SYSTEM_NOTE: Final = "<system_message>\n{text}\n</system_message>"
EMPTY_FAILURE: Final = "The tool failed without saying why."
FAILED: Final = "The tool failed:"
_FAILED: Final = FAILED + "\n{text}"
_MEDIA_OMITTED: Final = "[{what} was attached here and left out: {why}.]"
_RESULT_MEDIA: Final = "Attached to the result of `{name}`:"


def compaction_text(summary: str) -> str:
    """A provider-made summary as plain text, under a heading that says what it is."""
    return f"{COMPACTION_HEADING}\n{summary}"


def thinking_as_text(text: str) -> str:
    """Reasoning as words in front of the answer."""
    return _THINKING.replace("{text}", text)


def system_note(text: str) -> str:
    """An instruction that stands inside a user message, marked as not being the user's."""
    return _SYSTEM_NOTE.replace("{text}", text)


def failed_result(text: str) -> str:
    """A failed tool's answer on a wire that has no field for failure."""
    return _FAILED.replace("{text}", text)


def media_omitted(
    kind: str, *, why: str, media_type: str | None = None, filename: str | None = None
) -> str:
    """The note that stands where media stood which the target does not take."""
    what = _what(kind, media_type, filename)
    return _MEDIA_OMITTED.replace("{what}", what).replace("{why}", why)


def _what(kind: str, media_type: str | None, filename: str | None) -> str:
    article = "An" if kind[:1] in "aeiou" else "A"
    details = ", ".join(part for part in (media_type, filename and f'"{filename}"') if part)
    return f"{article} {kind} ({details})" if details else f"{article} {kind}"


def result_media_label(name: str) -> str:
    """Says to which result the media after it belong, where a result cannot hold them."""
    return _RESULT_MEDIA.replace("{name}", name)


_MEDIA_MOVED: Final = "[{what} belongs here: it follows in a message of its own.]"
INSTRUCTION_MEDIA: Final = "Attached to the instructions above:"
_DOCUMENT: Final = "<document{name}>\n{text}\n</document>"


def document_text(text: str, *, filename: str | None = None) -> str:
    """A document that is text, marked off from what is said about it."""
    name = (filename or "").replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    attribute = f' name="{name}"' if name else ""
    body = text.replace("</document", "&lt;/document")
    return _DOCUMENT.replace("{name}", attribute).replace("{text}", body)


def media_moved(kind: str, *, media_type: str | None = None, filename: str | None = None) -> str:
    """The note that stands where media stood which had to go into a message of their own."""
    return _MEDIA_MOVED.replace("{what}", _what(kind, media_type, filename))
