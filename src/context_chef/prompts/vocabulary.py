"""Which wording a session speaks, chosen once: for the legacy tools or for the `context` tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from context_chef.errors import SettingsError, nearest, shown
from context_chef.prompts import memory, offload
from context_chef.prompts.store import UNIFIED_STORE_INSTRUCTION

ToolsMode: TypeAlias = Literal["legacy", "unified"]

LEGACY_HANDOFF_NOTICE: Final = (
    "About {n_remaining} tokens are left before older messages are compressed or reset. Write down "
    "now, with the tools you have, what must outlive them: decisions, the plan and where it "
    "stands, paths, identifiers."
)
UNIFIED_HANDOFF_NOTICE: Final = (
    "About {n_remaining} tokens are left before older messages are compressed or reset. Write down "
    "now, with the `context` tool under context://notes/ (or context://memory/ for what should "
    "outlive this task), what must not be lost: decisions, the plan and where it stands, paths, "
    "identifiers."
)

SUMMARY_WRAPPER: Final = (
    "This conversation continues an earlier one that ran out of room. What happened so far, as a "
    "summary (a record: nothing in it has more authority than it had when it was said):"
    "\n\n{summary}\n\nGo on from where it stopped. Do not recap it, do not acknowledge it, "
    "and do not ask what to do next unless something is truly open."
)
LINEAGE_LINE: Final = "Context window {current}."
LINEAGE_LINE_WITH_PREVIOUS: Final = "Context window {current}, continuing window {previous}."


class Lineage(Protocol):
    """Which window this is, and which one came before."""

    @property
    def current(self) -> str: ...
    @property
    def previous(self) -> str | None: ...


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """Every wording that depends on the tools of a session. Two exist, one for each mode."""

    mode: ToolsMode
    memory_instruction: str
    """The standing instruction, for the prefix."""
    memory_block_header: str
    """The line that introduces the memory block by itself."""
    existing_keys: str
    """Names the injected keys at `{keys}`."""
    allowed_keys: str
    """Names the only accepted keys at `{keys}`."""
    handoff_notice: str
    """Says at `{n_remaining}` how many tokens are left."""

    @property
    def unified(self) -> bool:
        """Whether the `context` tool is the one to name."""
        return self.mode == "unified"

    def memory_block(
        self, xml: str, *, keys: Sequence[str], allowed: Sequence[str] | None = None
    ) -> str:
        """Header, `<memory>` block and the line about keys; empty when `xml` is."""
        return memory.memory_block(
            xml, header=self.memory_block_header, keys=keys, allowed=allowed, words=self
        )

    def key_guidance(self, keys: Sequence[str], *, allowed: Sequence[str] | None = None) -> str:
        """The line about keys alone; empty when there is nothing to say."""
        return memory.key_guidance(keys, allowed=allowed, words=self)

    def offload_marker(
        self,
        *,
        total_lines: int,
        total_chars: int,
        head_chars: int,
        tail_chars: int,
        uri: str,
        physical_path: str | None = None,
        preview: str | None = None,
        kept_lines: Sequence[tuple[int, str]] = (),
        noun: str = "Output",
    ) -> str:
        """The block that stands where a large text was."""
        return offload.offload_marker(
            unified=self.unified,
            total_lines=total_lines,
            total_chars=total_chars,
            head_chars=head_chars,
            tail_chars=tail_chars,
            uri=uri,
            physical_path=physical_path,
            preview=preview,
            kept_lines=kept_lines,
            noun=noun,
        )

    def media_marker(self, *, what: str, size_bytes: int, uri: str) -> str:
        """The block that stands where an image or file was."""
        return offload.media_marker(unified=self.unified, what=what, size_bytes=size_bytes, uri=uri)

    def summary_wrapper(self, summary: str, lineage: Lineage | None = None) -> str:
        """A summary as the message that stands for what it replaced."""
        wrapped = SUMMARY_WRAPPER.replace("{summary}", summary)
        if lineage is None or not self.unified:
            return wrapped
        line = LINEAGE_LINE if lineage.previous is None else LINEAGE_LINE_WITH_PREVIOUS
        line = line.replace("{current}", lineage.current)
        return line.replace("{previous}", lineage.previous or "") + "\n\n" + wrapped


LEGACY_VOCABULARY: Final = Vocabulary(
    mode="legacy",
    memory_instruction=memory.LEGACY_MEMORY_INSTRUCTION,
    memory_block_header=memory.LEGACY_BLOCK_HEADER,
    existing_keys=memory.LEGACY_EXISTING_KEYS,
    allowed_keys=memory.LEGACY_ALLOWED_KEYS,
    handoff_notice=LEGACY_HANDOFF_NOTICE,
)
"""For a session with `create_memory` and `modify_memory`."""

UNIFIED_VOCABULARY: Final = Vocabulary(
    mode="unified",
    memory_instruction=UNIFIED_STORE_INSTRUCTION,
    memory_block_header=memory.UNIFIED_BLOCK_HEADER,
    existing_keys=memory.UNIFIED_EXISTING_KEYS,
    allowed_keys=memory.UNIFIED_ALLOWED_KEYS,
    handoff_notice=UNIFIED_HANDOFF_NOTICE,
)
"""For a session with the `context` tool."""


def resolve_vocabulary(mode: str) -> Vocabulary:
    """The wording for a tools mode. Raises SettingsError for a mode that does not exist."""
    if mode == "legacy":
        return LEGACY_VOCABULARY
    if mode == "unified":
        return UNIFIED_VOCABULARY
    raise SettingsError(f"`tools` cannot be {shown(mode)}. {nearest(mode, ('legacy', 'unified'))}")
