"""Responses items in the making, and their ids: one with an id drags its neighbours along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from context_chef.adaptation.line import Entries
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.openai_content import Piece, marked_part
from context_chef.ir.frozen import thaw
from context_chef.ir.handed_out import Sealed, sealed

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
MOST_ID: Final = 64
"""Characters of an item's id."""
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
    _row: Sealed | None = None

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

    def row(self) -> Sealed:
        """The finished item, made once."""
        if self._row is None:
            whole = self.key not in self.fields or (not self.pieces and self.fields[self.key] != "")
            row = self.fields if whole else {**self.fields, self.key: self._content()}
            self._row = sealed(row)
        return self._row

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


class _Waiting(NamedTuple):
    """Reasoning whose follower is not known yet."""

    at: int
    item: Item


class ItemMender:
    """Takes off ids that would make the provider ask for what is not there, item by item.

    `strict` holds items to all of OpenAI's rules; without it only what has changed since the items
    were read is mended, which leaves the liberties alone that another server may allow. `store` is
    the request's own setting, None when it is not known: then what is right for both is chosen.
    `stateful` says that earlier items are stored with the provider.
    """

    def __init__(
        self, notes: Notes, *, strict: bool = True, store: Any = None, stateful: bool = False
    ) -> None:
        self.items: list[Item] = []
        """What is settled, as it will be sent."""
        self._notes = notes
        self._strict = strict
        self._store = store
        self._stateful = stateful
        self._taken = 0
        self._known = 0
        self._seen = Entries[bool]()
        self._reasoning = Entries[bool]()
        self._waiting: list[_Waiting] = []

    @property
    def settled(self) -> bool:
        """Whether nothing that was taken depends on what comes next."""
        return not self._waiting

    def state(self) -> tuple[int, ...]:
        """What `go_back` needs to come back to now; only where it is settled."""
        return (
            len(self.items), self._taken, self._known, len(self._seen), len(self._reasoning)
        )  # fmt: skip

    def go_back(self, state: tuple[int, ...]) -> None:
        """Be as it was then."""
        items, self._taken, self._known, seen, reasoning = state
        del self.items[items:]
        self._seen.back_to(seen)
        self._reasoning.back_to(reasoning)
        self._waiting = []

    def take(self, item: Item) -> None:
        """The next item of the conversation."""
        if item.after is None and not self._waiting and item.id is None:
            # It depends on nothing, as nearly all do.
            self._taken += 1
            self._known += 1
            self.items.append(item)
            return
        where = f"input[{self._taken}]"
        self._taken += 1
        checked = self._with_own_id(item, where) if self._strict and item.id is not None else item
        if checked is None:
            return
        index = self._known
        self._known += 1
        if checked.kind == "reasoning" and checked.id is not None:
            self._waiting.append(_Waiting(index, checked))
            return
        self.finish(checked)

    def finish(self, follower: Item | None = None) -> None:
        """Settle the reasoning that waits, and what follows it; None is the conversation's end."""
        repairs = self._notes.repairs
        while True:
            said = len(repairs)
            kept: list[Item] = []
            behind = follower
            # From the end, so that what follows is judged as it will be sent.
            for at, item in reversed(self._waiting):
                reasoning = self._with_follower(item, behind, f"input[{at}]")
                if reasoning is not None:
                    kept.insert(0, reasoning)
                    behind = reasoning
            repairs[said:] = reversed(repairs[said:])
            if follower is None or self._has_its_reasoning(follower, kept):
                break
            # An id that goes may be the one that the reasoning before it asks for.
            del repairs[said:]
            follower = self._without_its_reasoning(follower, len(self.items) + len(kept))
            if follower is None:
                return  # it went: what comes next is the follower
        self._waiting = []
        for item in kept:
            if item.id is not None and item.kind == "reasoning":
                self._reasoning.put(item.id, True)
        self.items.extend(kept)
        if follower is not None:
            self.items.append(follower)

    def _has_its_reasoning(self, item: Item, waiting: Sequence[Item]) -> bool:
        if self._stateful or item.after is None or item.id is None or item.kind == "reasoning":
            return True
        return item.after in self._reasoning or any(item.after == each.id for each in waiting)

    def _without_its_reasoning(self, item: Item, place: int) -> Item | None:
        why = f"its reasoning item {item.after!r} is not there"
        if item.kind in _ID_OF_THE_SERVER:
            self._notes.repair(
                "reasoning-dropped", f"input[{place}]", f"{item.id!r} is left out: {why}"
            )
            return None
        return self.strip(item, "reasoning-dropped", f"input[{place}]", why)

    def _with_own_id(self, item: Item, where: str) -> Item | None:
        notes = self._notes
        if item.kind == "item_reference":
            if self._store is False:
                message = f"nothing is stored, so {item.id!r} refers to nothing"
                notes.diagnose("block-dropped", where, message)
                return None
            return item
        identifier = item.id
        assert identifier is not None
        if identifier in self._seen:
            if item.kind == "reasoning" or item.kind in _ID_OF_THE_SERVER:
                notes.repair("item-id-duplicate", where, f"{item.id!r} stood here a second time")
                return None
            return self.strip(item, "item-id-duplicate", where, "another item has it")
        self._seen.put(identifier, True)
        if len(identifier) > MOST_ID:
            return self._with_short_id(item, where)
        prefix = _PREFIXES.get(item.kind)
        if prefix is not None and not identifier.startswith(prefix):
            why = f"it does not begin with {prefix!r}"
            return self.strip(item, "item-id-prefix", where, why)
        return item

    def _with_short_id(self, item: Item, where: str) -> Item | None:
        """Gateways give ids that OpenAI does not take back."""
        why = f"its id has {len(item.id or '')} characters"
        sealed_up = bool(item.fields.get("encrypted_content"))
        if item.kind in _ID_OF_THE_SERVER or (item.kind == "reasoning" and not sealed_up):
            self._notes.repair("item-id-length", where, f"{item.kind} is left out: {why}")
            return None
        return self.strip(item, "item-id-length", where, why)

    def _with_follower(self, item: Item, follower: Item | None, where: str) -> Item | None:
        notes, store = self._notes, self._store
        sealed_up = bool(item.fields.get("encrypted_content"))
        if not self._strict and (item.last or _may_follow(follower, need_id=False)):
            return item
        if store is False and not sealed_up:
            notes.repair("not-stored", where, f"{item.id!r} is stored nowhere and holds nothing")
            return None
        if _may_follow(follower, need_id=store is not False):
            return item
        if sealed_up:
            why = "the item it led to is not behind it"
            return self.strip(item, "reasoning-follower", where, why)
        message = f"{item.id!r} is left out: the item it led to is not behind it"
        notes.repair("reasoning-follower", where, message)
        return None

    def strip(self, item: Item, rule: str, where: str, why: str) -> Item:
        """The item without its id; with another one where it cannot be without."""
        if item.kind not in _ID_NEEDED:
            return without_id(item, self._notes, rule, where, why)
        number = 2
        stem = (item.id or "")[: MOST_ID - 8]
        while (fresh := f"{stem}_{number}") in self._seen:
            number += 1
        self._seen.put(fresh, True)
        self._notes.repair(rule, where, f"the id {item.id!r} becomes {fresh!r}: {why}")
        return item.changed(fields={**item.fields, "id": fresh}, after=None)


def take_off_ids(
    rows: Sequence[Mapping[str, Any]], places: Mapping[int, str], notes: Notes, *, store: Any
) -> list[Sealed]:
    """Finished items without the ids at those places, which stand there with the reason.

    An item that says nothing without its id goes; reasoning that led to one is mended with it.
    """
    mender = ItemMender(notes, store=store)
    for index, row in enumerate(rows):
        item = Item(thaw(row), spelled="string")
        if index in places:
            where = f"input[{index}]"
            if item.kind in _ID_OF_THE_SERVER:
                said = f"{item.id!r} is left out: {places[index]}"
                notes.repair("reasoning-dropped", where, said)
                continue
            item = mender.strip(item, "reasoning-dropped", where, places[index])
        mender.take(item)
    mender.finish()
    return [item.row() for item in mender.items]


def _may_follow(item: Item | None, *, need_id: bool) -> bool:
    if item is None or (need_id and item.id is None):
        return False
    if item.kind == "message":
        return item.fields.get("role") == "assistant"
    return not item.kind.endswith("_call_output") and item.kind not in _NOT_FROM_THE_MODEL


def without_id(item: Item, notes: Notes, rule: str, where: str, why: str) -> Item:
    """The item without its id, which is reported."""
    notes.repair(rule, where, f"the id {item.id!r} is taken off: {why}")
    return item.changed(fields={key: value for key, value in item.fields.items() if key != "id"})
