"""Standing statements that ride at the end of the window until they are retracted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from context_chef.errors import SettingsError, nearest, shown
from context_chef.ir.text import clean_text
from context_chef.prompts.xml import escape_attribute, fence

Channel: TypeAlias = Literal["auto", "system", "user_tail"]
CHANNELS: Final[tuple[Channel, ...]] = ("auto", "system", "user_tail")
HANDOFF_ID: Final = "__handoff__"


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """Something that holds until it is retracted."""

    id: str
    content: str
    channel: Channel = "auto"


def announcement(id: str, content: str, channel: str = "auto") -> Announcement:
    """A checked announcement. Raises SettingsError for an unknown channel or an empty id."""
    if channel not in CHANNELS:
        raise SettingsError(f"`channel` cannot be {shown(channel)}. {nearest(channel, CHANNELS)}")
    for field, words in (("id", id), ("content", content)):
        if not isinstance(cast(Any, words), str):
            raise SettingsError(f"An announcement's `{field}` has to be text, not {shown(words)}.")
    id, content = clean_text(id), clean_text(content)
    if not id:
        raise SettingsError("An announcement needs an `id`, so that it can be retracted.")
    return Announcement(id=id, content=content, channel=channel)


def announced(standing: Sequence[Announcement], new: Announcement) -> tuple[Announcement, ...]:
    """The standing set with one more, or with the one of the same id replaced in place."""
    if any(item.id == new.id for item in standing):
        return tuple(new if item.id == new.id else item for item in standing)
    return (*standing, new)


def render_announcements(items: Sequence[Announcement]) -> str:
    """One block for all of them; nothing for none. Contents cannot leave their tag."""
    if not items:
        return ""
    rendered = "\n\n".join(
        f'<announcement id="{escape_attribute(item.id)}">\n{fence(item.content)}\n</announcement>'
        for item in items
    )
    return f"<announcements>\n{rendered}\n</announcements>"


def by_channel(
    items: Sequence[Announcement], *, auto: Literal["system", "user_tail"]
) -> tuple[tuple[Announcement, ...], tuple[Announcement, ...]]:
    """The items of the system channel and those of the user tail, `auto` decided by the target."""
    channels = [(auto if item.channel == "auto" else item.channel, item) for item in items]
    system = tuple(item for channel, item in channels if channel == "system")
    tail = tuple(item for channel, item in channels if channel == "user_tail")
    return system, tail
