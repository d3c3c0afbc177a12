"""The lines that frame what the chef itself adds to a window."""

from __future__ import annotations

from typing import Final

ANCHOR_LINE: Final = (
    "The state above is current as of this message. Base your next step on it, "
    "not on older versions of it further up."
)
STATE_HEADING: Final = "Current state of the task:"
SUPERSEDED_STATE: Final = "This replaces the state given earlier."
RETRACTED_ANNOUNCEMENT: Final = "This announcement no longer holds."
WITHDRAWN_PART: Final = "What was given earlier under `{part}` no longer holds."
