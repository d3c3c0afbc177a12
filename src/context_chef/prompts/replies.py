"""What the `context` tool answers: one sentence for each thing that can happen, mistakes included.

A mistake says what was wrong, with the value, and how to do it right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_chef.patterns import regex

ERROR: Final = "Error: "
NUMBER_WIDTH: Final = 6
_LONGEST_QUOTE: Final = 300
_BREAKS: Final = regex("[\x00-\x1f\x7f\x85\u2028\u2029]")


def error(text: str) -> str:
    """A mistake as the model reads it."""
    return ERROR + text


def quoted(value: object) -> str:
    """Something the model sent, between quotes, cut when it is very long."""
    text = value if isinstance(value, str) else repr(value)
    if len(text) > _LONGEST_QUOTE:
        text = f"{text[:_LONGEST_QUOTE]}… ({len(text)} characters)"
    return f'"{text}"'


def row(text: str) -> str:
    """One line of a list, whatever the name of an entry holds, so that none forges another."""
    return _BREAKS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


# ── Arguments ─────────────────────────────────────────────────────────────────────────────────


def not_an_object(what: str) -> str:
    return f'the arguments must be one JSON object, such as {{"command": "view", …}}, not {what}.'


def not_json(reason: str) -> str:
    return (
        f"the arguments are not complete, valid JSON ({reason}). Send the whole call again as one "
        "JSON object."
    )


def missing_argument(name: str) -> str:
    return f"`{name}` is missing; it must be a non-empty string."


def wrong_argument(name: str, value: object, wanted: str) -> str:
    return f"`{name}` must be {wanted}, not {quoted(value)}."


def unknown_command(value: object, commands: Sequence[str]) -> str:
    return f"`command` cannot be {quoted(value)}; it is one of {', '.join(commands)}."


def missing_command(commands: Sequence[str]) -> str:
    return f"`command` is missing; it is one of {', '.join(commands)}."


def wrong_view_range(value: object) -> str:
    return (
        f"`view_range` must be two line numbers such as [1, 200] ([1, -1] for all), "
        f"not {quoted(value)}."
    )


def range_outside(address: str, first: int, total: int, unit: str) -> str:
    return (
        f"{address} has {count(total, unit)}, so nothing begins at {unit} {first}. "
        f"Ask for a range from 1 to {total}."
    )


# ── Addresses ─────────────────────────────────────────────────────────────────────────────────


def bad_address(given: str, why: str) -> str:
    return f"{quoted(given)} is not an address: {why}. Use `context://<namespace>/<path>`."


def not_found(address: str, root: str) -> str:
    return f"{address} does not exist. View {root} to see what does."


def is_directory(address: str, command: str) -> str:
    return (
        f"{address} is a directory, and {command} needs an entry; give the address of one, such as "
        f"{address.rstrip('/')}/<name>."
    )


def not_writable(address: str, writable: Sequence[str]) -> str:
    where = ", ".join(f"context://{ns}/" for ns in writable)
    return f"{address} is read-only for you. " + (
        f"You can write under {where}." if where else "Nothing in the store can be written here."
    )


def no_memory() -> str:
    return (
        "context://memory/ is not available: this session has no memory. The host has to configure "
        "a memory store."
    )


# ── Views ─────────────────────────────────────────────────────────────────────────────────────


def numbered(lines: Sequence[str], first: int = 1) -> str:
    """Lines with their numbers, right-aligned, a tab between."""
    return "\n".join(
        f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, start=first)
    )


def lines_shown(address: str, first: int, last: int, total: int) -> str:
    """Stands below a part of an entry, and says how to go on."""
    here = f"[Lines {first} to {last} of {total}."
    return f"{here} To go on, view {address}#L{last + 1}]" if last < total else f"{here}]"


def characters_shown(address: str, first: int, last: int, total: int) -> str:
    here = f"[Characters {first} to {last} of {total}."
    return f"{here} To go on, view {address}#C{last + 1}]" if last < total else f"{here}]"


def empty_listing(root: str) -> str:
    return f"{root} is empty."


def listing(root: str, rows: Sequence[str], total: int, first: int) -> str:
    """Header and one line for each entry; of many, a part and how to see the rest."""
    entries = "1 entry" if total == 1 else f"{total} entries"
    text = f"{root} ({entries}):\n" + "\n".join(f"- {row(each)}" for each in rows)
    last = first + len(rows) - 1
    if len(rows) == total:
        return text
    return f"{text}\n{entries_shown(root, first, last, total)}"


def entries_shown(root: str, first: int, last: int, total: int) -> str:
    """Stands below a part of a listing, and says how to go on."""
    more = f" To go on, view {root}#L{last + 1}" if last < total else ""
    return f"[Entries {first} to {last} of {total}.{more}]"


# ── Searches ──────────────────────────────────────────────────────────────────────────────────


def no_matches(query: str, root: str) -> str:
    return f"No matches for {quoted(query)} under {root}."


def matches(query: str, root: str, rows: Sequence[str], *, first: int, more: int | None) -> str:
    """Header and one line for each hit. `more` is how many are left out, None for unknown."""
    shown = "1 match" if len(rows) == 1 else f"{len(rows)} matches"
    text = f"{shown} for {quoted(query)} under {root}:\n" + "\n".join(
        f"- {row(each)}" for each in rows
    )
    if more == 0:
        return text
    left = "more" if more is None else f"{more} more"
    return (
        f"{text}\n[There are {left}. Use a narrower path or query, or search "
        f"{root}#L{first + len(rows)} for the next ones.]"
    )


def query_cut(used: int, total: int) -> str:
    """Stands below an answer that was made of the beginning of a query."""
    return f"[Only the first {used} of the query's {total} characters were searched for.]"


# ── Changes ───────────────────────────────────────────────────────────────────────────────────


def created(address: str) -> str:
    return f"Created {address}."


def replaced(address: str, line: int) -> str:
    return f"Replaced the passage at line {line} of {address}."


def inserted(address: str, added: int, after: int) -> str:
    return f"Inserted {count(added, 'line')} after line {after} of {address}."


def updated(address: str) -> str:
    return f"Updated {address}."


def deleted(address: str) -> str:
    return f"Deleted {address}."


def renamed(address: str, target: str) -> str:
    return f"Renamed {address} to {target}."


def already_exists(address: str, command: str) -> str:
    how = (
        "Choose another name, or change it with str_replace or insert."
        if command == "create"
        else "Choose a target where nothing is, or delete that entry first."
    )
    return f"{address} exists already. {how}"


def memory_exists(address: str) -> str:
    return (
        f"{address} exists already. Change it with `modify_memory` (action `update`) or with "
        "`context` (str_replace), or choose another key."
    )


def passage_not_found(address: str, hint: str = "") -> str:
    return (
        f"old_str was not found in {address}, so nothing was changed. {hint}"
        "View the entry again and copy the passage exactly, since it may have changed."
    )


HINT_NUMBERS: Final = "The line numbers that view shows are not part of the text. "
HINT_ENTITIES: Final = (
    "The memory block writes &lt; and &amp; for < and &; use the characters themselves. "
)
HINT_LINE_ENDINGS: Final = "Its lines end in CRLF. "


def passage_not_unique(address: str, times: int, lines: Sequence[int]) -> str:
    where = ", ".join(str(line) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
    return (
        f"old_str occurs {times} times in {address} (at lines {where}), so nothing was changed. "
        "It matches more than once; give more of the text around the one you mean."
    )


def line_outside(address: str, given: int, total: int) -> str:
    return (
        f"insert_line {given} is outside {address}, which has {count(total, 'line')}; "
        f"it must be 0 to {total}."
    )


def other_namespace(address: str, target: str, hint: str) -> str:
    return (
        f"{address} cannot be renamed to {target}: a rename stays in its namespace. "
        f"The full new address is needed, such as {hint}."
    )


def changed_meanwhile(address: str) -> str:
    return (
        f"{address} was changed by somebody else while this was being done, so nothing was "
        "changed. View it again and decide anew."
    )


def immutable(address: str) -> str:
    return (
        f"{address} names its content, so it cannot be changed. Create a new entry with the "
        "changed text instead."
    )


def vetoed(address: str) -> str:
    return f"the host refused to change {address}; nothing was changed."


def key_not_allowed(address: str, allowed: Sequence[str]) -> str:
    if not allowed:
        return f"{address} is not allowed: no memory keys are allowed here."
    return f"{address} is not allowed. The allowed memory keys are: {', '.join(allowed)}."


def kept_after_rename(address: str, target: str) -> str:
    return f"Created {target}, but the host refused to delete {address}: the original remains."


def wrong_action(value: object) -> str:
    return f"`action` cannot be {quoted(value)}; it is update or delete."


# ── What the host or the store could not do ───────────────────────────────────────────────────


def damaged(address: str) -> str:
    return (
        f"{address} is stored but damaged and cannot be read. It was left as it is; the host has "
        "to repair or remove it. Use another name meanwhile."
    )


def not_supported(address: str, what: str) -> str:
    return f"{address}: the store behind this namespace cannot do that ({what})."


def refused_by_store(address: str, why: str) -> str:
    return f"{address}: {why}"


def failed(address: str, why: str) -> str:
    return f"{address}: the host could not do this ({why}). Nothing more is known; try another way."


def count(number: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
