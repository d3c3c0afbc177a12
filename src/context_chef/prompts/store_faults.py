"""Why a store could not do something, in words for a model: without any place on the host."""

from __future__ import annotations

from typing import Final

BUSY: Final = "the store is busy with another change right now; try again in a moment"
FULL: Final = "the store has no room left; delete what is no longer needed, or write less"
READ_ONLY: Final = "the host lets nothing be changed here; it can be read only"
DISK: Final = "the disk of the store failed; nothing was changed, and only the host can mend it"
DAMAGED: Final = "what is stored there is damaged, and only the host can repair it"
LINK: Final = "a link is in that place on the host, and links are not followed; use another name"
IN_THE_WAY: Final = "something else has that name already; use another name"
