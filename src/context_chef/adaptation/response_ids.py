"""Responses items in the making, and their ids: one with an id drags its neighbours along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from context_chef.adaptation.message_memo import fresh
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.openai_content import Piece, marked_part

_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_ID_OF_THE_SERVER: Final = frozenset(
    {
        "file_search_call", "web_search_call", "image_generation_call", "code_interpreter_call",
        "mcp_list_tools", "mcp_approval_request", "mcp_call", "item_reference",
    }
)  # fmt: skip
"""Items that say nothing without their id, and that no other item answers."""
_ID_NEEDED: Final = frozenset(
    {"computer_call", "local_shell_call", "local_shell_call_output", "program", "program_output"}
)
"""Items with an answer, or that are one: the id cannot go, and neither can the item."""
_NOT_FROM_THE_MODEL: Final = frozenset(
    {"compaction_trigger", "additional_tools", "mcp_approval_response", "item_reference"}
)


@dataclass(slots=True)
class Item:
    """One input item in the making: its fields, and the pieces of its content. Never changed."""

    fields: dict[str, Any]
    pieces: list[Piece] = field(default_factory=list[Piece])
    spelled: str = "parts"
    """`string` or `input`: one text was a plain string. `text`: it may be one. Else parts."""
    key: str = "content"
    after: str | None = None
    """The id of the reasoning item that this one came from."""
    last: bool = False
    """Reasoning that nothing followed when it was read."""
    marks: bool = False
    """The model reads cache breakpoints."""
    _row: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        """The item's type; messages and references may leave it out."""
        said = self.fields.get("type")
        if isinstance(said, str):
            return said
        return "message" if "role" in self.fields else "item_reference"

    @property
    def id(self) -> str | None:
        """The item's id, if it has one."""
        value = self.fields.get("id")
        return value if isinstance(value, str) and value else None

    def row(self) -> dict[str, Any]:
        """The finished item, built freshly."""
        if self._row is None:
            whole = self.key not in self.fields or (not self.pieces and self.fields[self.key] != "")
            self._row = self.fields if whole else {**self.fields, self.key: self._content()}
        return fresh(self._row)

    def changed(self, **changes: Any) -> Item:
        """The same item with some fields changed."""
        return replace(self, _row=None, **changes)

    def _content(self) -> Any:
        marked = self.marks and any(piece.marked for piece in self.pieces)
        if not self.pieces:
            if self.key == "output" or self.spelled in ("string", "input"):
                return ""
            return [{"type": "input_text", "text": ""}]
        plain = len(self.pieces) == 1 and not self.pieces[0].part and not self.pieces[0].fields
        if plain and not marked and self.spelled in ("string", "input", "text"):
            return self.pieces[0].text
        return [self._part(piece) for piece in self.pieces]

    def _part(self, piece: Piece) -> dict[str, Any]:
        if piece.part is not None:
            part = piece.part
        else:
            kind = "output_text" if self.fields.get("role") == "assistant" else "input_text"
            part = {"type": kind, "text": piece.text, **piece.fields}
        return marked_part(part) if self.marks and piece.marked else part


def mend_items(
    items: list[Item],
    notes: Notes,
    *,
    strict: bool = True,
    store: Any = None,
    stateful: bool = False,
) -> list[Item]:
    """The same items without the ids that would make the provider ask for what is not there.

    `strict` holds them to all of OpenAI's rules; without it only what has changed since the items
    were read is mended, which leaves the liberties alone that another server may allow. `store` is
    the request's own setting, None when it is not known: then what is right for both is chosen.
    `stateful` says that earlier items are stored with the provider.
    """
    if strict:
        items = _known_ids(items, notes, store)
    while True:
        items = _reasoning_with_followers(items, notes, store, strict)
        if stateful:
            return items
        found = _without_lost_reasoning(items, notes)
        if all(a is b for a, b in zip(found, items, strict=False)) and len(found) == len(items):
            return items
        items = found  # an id that went may be the one that reasoning before it asks for


def take_off_ids(
    rows: Sequence[dict[str, Any]], places: Mapping[int, str], notes: Notes, *, store: Any
) -> list[dict[str, Any]]:
    """Finished items without the ids at those places, which stand there with the reason.

    An item that says nothing without its id goes; reasoning that led to one is mended with it.
    """
    kept: list[Item] = []
    taken = {row["id"] for row in rows if isinstance(row.get("id"), str)}
    for index, row in enumerate(rows):
        item = Item(row, spelled="string")
        if index in places:
            where = f"input[{index}]"
            if item.kind in _ID_OF_THE_SERVER:
                said = f"{item.id!r} is left out: {places[index]}"
                notes.repair("reasoning-dropped", where, said)
                continue
            item = _strip(item, notes, "reasoning-dropped", where, places[index], taken)
        kept.append(item)
    return [item.row() for item in mend_items(kept, notes, store=store)]


def _known_ids(items: list[Item], notes: Notes, store: Any) -> list[Item]:
    seen: set[str] = set()
    kept: list[Item] = []
    for index, item in enumerate(items):
        where = f"input[{index}]"
        if item.kind == "item_reference":
            if store is False:
                message = f"nothing is stored, so {item.id!r} refers to nothing"
                notes.diagnose("block-dropped", where, message)
                continue
        elif item.id is not None and item.id in seen:
            if item.kind == "reasoning" or item.kind in _ID_OF_THE_SERVER:
                notes.repair("item-id-duplicate", where, f"{item.id!r} stood here a second time")
                continue
            item = _strip(item, notes, "item-id-duplicate", where, "another item has it", seen)
        elif item.id is not None:
            seen.add(item.id)
            prefix = _PREFIXES.get(item.kind)
            if prefix is not None and not item.id.startswith(prefix):
                why = f"it does not begin with {prefix!r}"
                item = _strip(item, notes, "item-id-prefix", where, why)
        kept.append(item)
    return kept


def _reasoning_with_followers(
    items: list[Item], notes: Notes, store: Any, strict: bool
) -> list[Item]:
    kept: list[Item] = []
    # From the end, so that what follows is judged as it will be sent.
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if item.kind != "reasoning" or item.id is None:
            kept.append(item)
            continue
        follower = kept[-1] if kept else None
        where = f"input[{index}]"
        sealed = bool(item.fields.get("encrypted_content"))
        as_read = not strict and (item.last or _may_follow(follower, need_id=False))
        if as_read:
            kept.append(item)
        elif store is False and not sealed:
            notes.repair("not-stored", where, f"{item.id!r} is stored nowhere and holds nothing")
        elif _may_follow(follower, need_id=store is not False):
            kept.append(item)
        elif sealed:
            why = "the item it led to is not behind it"
            kept.append(_strip(item, notes, "reasoning-follower", where, why))
        else:
            message = f"{item.id!r} is left out: the item it led to is not behind it"
            notes.repair("reasoning-follower", where, message)
    kept.reverse()
    return kept


def _may_follow(item: Item | None, *, need_id: bool) -> bool:
    if item is None or (need_id and item.id is None):
        return False
    if item.kind == "message":
        return item.fields.get("role") == "assistant"
    return not item.kind.endswith("_call_output") and item.kind not in _NOT_FROM_THE_MODEL


def _without_lost_reasoning(items: list[Item], notes: Notes) -> list[Item]:
    present = {item.id for item in items if item.kind == "reasoning"}
    kept: list[Item] = []
    for index, item in enumerate(items):
        if item.after is not None and item.id is not None and item.after not in present:
            why = f"its reasoning item {item.after!r} is not there"
            where = f"input[{index}]"
            if item.kind in _ID_OF_THE_SERVER:
                notes.repair("reasoning-dropped", where, f"{item.id!r} is left out: {why}")
                continue
            item = _strip(item, notes, "reasoning-dropped", where, why)
        kept.append(item)
    return kept


def _strip(
    item: Item, notes: Notes, rule: str, where: str, why: str, taken: set[str] | None = None
) -> Item:
    """The item without its id; with another one where it cannot be without."""
    if item.kind in _ID_NEEDED:
        taken = taken if taken is not None else set()
        fresh_id = next(
            made for n in range(2, len(taken) + 3) if (made := f"{item.id}_{n}") not in taken
        )
        taken.add(fresh_id)
        notes.repair(rule, where, f"the id {item.id!r} becomes {fresh_id!r}: {why}")
        return item.changed(fields={**item.fields, "id": fresh_id}, after=None)
    notes.repair(rule, where, f"the id {item.id!r} is taken off: {why}")
    return item.changed(fields={key: value for key, value in item.fields.items() if key != "id"})
