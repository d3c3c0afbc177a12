"""What stands in the window where something left it: notices, markers, citations and stubs."""

from __future__ import annotations

from typing import Final

ARCHIVE_CITATION: Final = (
    "The {count} messages that this stands for are stored in full at {uri}. Retrieve them when you "
    "need an exact detail."
)
RESET_NOTICE: Final = (
    "The context window was reset: window {window} was closed and its conversation cleared."
)
RESET_NOTICE_WITH_PREVIOUS: Final = (
    "The context window was reset: window {window} (which had followed window {previous}) was "
    "closed and its conversation cleared."
)
DROPPED_NOTICE: Final = (
    "<history_summary>\n"
    '<ephemeral_message type="history_truncated">\n'
    "{count} earlier messages left the window without a summary.{citation}\n"
    "</ephemeral_message>\n"
    "</history_summary>"
)
TOOL_STUB: Final = "[Result of {name}: {chars} characters, left out]"
TOOL_CALL_TEXT: Final = "[Called {name} with {arguments}]"
TOOL_RESULT_TEXT: Final = "[Tool result]\n{text}"
TOOL_RESULT_TEXT_WITH_ID: Final = "[Tool result for call {id}]\n{text}"
TOOL_ERROR_TEXT: Final = "[Tool error]\n{text}"
TOOL_ERROR_TEXT_WITH_ID: Final = "[Tool error for call {id}]\n{text}"

STAYS_NOTE: Final = (
    " [… {left_out} more characters. This message stays in the conversation word for word: tell "
    "only what came of it]"
)
"""Behind the beginning of a message that the summarising model needs for its context alone."""

CLEARED_TOOL_RESULT: Final = "[This old tool result was cleared to make room]"
CLEARED_TOOL_RESULT_AT: Final = (
    "[This old tool result was cleared to make room; it is stored at {uri}]"
)
CLEARED_INSTRUCTION: Final = (
    "Some tool results read `" + CLEARED_TOOL_RESULT + "`, perhaps with an address. Those calls "
    "succeeded; their output was removed only to make room. Go by the recent results, read the "
    "address where there is one, and call a tool again only when you need what it said."
)
"""For the system prompt of whoever clears tool results."""

CLIPPED: Final = "[… {left_out} characters left out: too large for this window{where} …]"
CLIPPED_ARGUMENTS_KEY: Final = "clipped"
MEDIA_LEFT_OUT: Final = "[{what} left out: too large for this window{where}]"


def stays_note(*, left_out: int) -> str:
    """What stands for the rest of a message that stays in the window."""
    return STAYS_NOTE.replace("{left_out}", str(left_out))


def archive_citation(*, uri: str, count: int) -> str:
    """The line that says where the messages behind a summary are stored."""
    return ARCHIVE_CITATION.replace("{count}", str(count)).replace("{uri}", uri)


def reset_notice(*, window: str, previous: str | None = None) -> str:
    """What the model reads after a reset. It claims nothing about an archive."""
    template = RESET_NOTICE if previous is None else RESET_NOTICE_WITH_PREVIOUS
    return template.replace("{window}", window).replace("{previous}", previous or "")


def dropped_notice(*, count: int, uri: str | None = None) -> str:
    """What stands for messages that were dropped without a model to summarise them."""
    citation = "" if uri is None else f" They are stored in full at {uri}."
    return DROPPED_NOTICE.replace("{count}", str(count)).replace("{citation}", citation)


def tool_stub(*, name: str, chars: int) -> str:
    """What the summarising model sees of a long tool result."""
    return TOOL_STUB.replace("{chars}", str(chars)).replace("{name}", name)


def attachment_line(kind: str, filename: str | None = None) -> str:
    """What the summarising model sees of a piece of media."""
    return f"[{kind}: {filename}]" if filename else f"[{kind}]"


def tool_call_text(*, name: str, arguments: str) -> str:
    """A call, told as text."""
    return TOOL_CALL_TEXT.replace("{name}", name).replace("{arguments}", arguments)


def tool_result_text(text: str, *, call_id: str | None = None, failed: bool = False) -> str:
    """A result, told as text; a failure is told as one."""
    template = TOOL_RESULT_TEXT_WITH_ID if call_id else TOOL_RESULT_TEXT
    if failed:
        template = TOOL_ERROR_TEXT_WITH_ID if call_id else TOOL_ERROR_TEXT
    return template.replace("{id}", call_id or "").replace("{text}", text)


def cleared_tool_result(uri: str | None = None) -> str:
    """What stands where an old tool result was."""
    return CLEARED_TOOL_RESULT if uri is None else CLEARED_TOOL_RESULT_AT.replace("{uri}", uri)


def is_cleared(text: str) -> bool:
    """Whether a tool result is a stub of ours already."""
    head, _, tail = CLEARED_TOOL_RESULT_AT.partition("{uri}")
    return text == CLEARED_TOOL_RESULT or (text.startswith(head) and text.endswith(tail))


def clipped_notice(*, left_out: int, uri: str | None = None) -> str:
    """What stands in the middle of a text that was too large for the window."""
    return CLIPPED.replace("{left_out}", str(left_out)).replace("{where}", _where(uri))


def media_left_out(what: str, *, uri: str | None = None) -> str:
    """What stands where media was too large for the window."""
    return MEDIA_LEFT_OUT.replace("{what}", what).replace("{where}", _where(uri))


def _where(uri: str | None) -> str:
    return "" if uri is None else f"; all of it is stored at {uri}"
