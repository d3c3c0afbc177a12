"""Where the facts of evicted text are: in the window, behind an address, in the store, or lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from context_chef.ir.blocks import Text
from context_chef.ir.message import Message
from context_chef.persistence.namespace import NamespaceView
from context_chef.replay.facts import Said, addresses_in, facts_in, one_line, words_of
from context_chef.replay.result import FACT_KINDS, Fact, FactKind, Fate, Retention

_MOST_SEARCHES: Final = 60
_MOST_LOST_SHOWN: Final = 40
_MOST_KEPT_SHOWN: Final = 12
_FROM_LINES: Final = ("error", "rule")
"""Kinds that are whole lines: they count as kept where the line stands anywhere in a text."""


class Library(Protocol):
    """What retention asks of a chef."""

    async def read(self, address: str) -> str | None:
        """What is stored there, as the model would read it."""
        ...

    def namespaces(self) -> Sequence[NamespaceView]:
        """Where a search looks."""
        ...


class FactBook:
    """Facts by message and by text, each looked for once."""

    def __init__(self) -> None:
        self._by_message: dict[int, tuple[Message, dict[Said, None]]] = {}
        self._by_text: dict[str, dict[Said, None]] = {}
        self._lines: dict[int, tuple[Message, str]] = {}

    def of(self, message: Message) -> dict[Said, None]:
        """The facts of a message; rules only where a person says them."""
        known = self._by_message.get(id(message))
        if known is None:
            found = facts_in(words_of(message), binding=message.role in ("user", "system"))
            known = self._by_message[id(message)] = (message, found)
        return known[1]

    def line_of(self, message: Message) -> str:
        """The words of a message on one line."""
        known = self._lines.get(id(message))
        if known is None:
            known = self._lines[id(message)] = (message, one_line(words_of(message)))
        return known[1]

    def of_text(self, text: str) -> dict[Said, None]:
        """The facts of a stored text."""
        known = self._by_text.get(text)
        if known is None:
            known = self._by_text[text] = facts_in(text, binding=True)
        return known


class Judge:
    """Says where facts are, given what is sent and what is stored."""

    def __init__(self, book: FactBook, library: Library) -> None:
        self._book = book
        self._library = library
        self._stored: dict[str, str] = {}
        self._searched: dict[Said, bool] = {}

    async def fates(self, facts: Iterable[Said], window: Sequence[Message]) -> dict[Said, Fate]:
        """Where each fact is while `window` is what is sent."""
        open_facts = dict.fromkeys(facts)
        fates: dict[Said, Fate] = {}
        self._settle(open_facts, fates, window, "window")
        if open_facts:
            texts = await self._behind(window)
            held = {fact for text in texts for fact in self._book.of_text(text)}
            lines = "\n".join(one_line(text) for text in texts) if _has_lines(open_facts) else ""
            for fact in list(open_facts):
                if fact in held or (fact.kind in _FROM_LINES and fact.text in lines):
                    fates[fact] = "uri"
                    del open_facts[fact]
        if open_facts:
            found = await self._found(open_facts)
            for fact in open_facts:
                fates[fact] = "search" if fact in found else "lost"
        return fates

    def _settle(
        self,
        open_facts: dict[Said, None],
        fates: dict[Said, Fate],
        window: Sequence[Message],
        fate: Fate,
    ) -> None:
        held: set[Said] = set()
        for message in window:
            held.update(self._book.of(message))
        lines: str | None = None
        for fact in list(open_facts):
            kept = fact in held
            if not kept and fact.kind in _FROM_LINES:
                if lines is None:
                    lines = "\n".join(map(self._book.line_of, window))
                kept = fact.text in lines
            if kept:
                fates[fact] = fate
                del open_facts[fact]

    async def _behind(self, window: Sequence[Message]) -> list[str]:
        """The stored texts that the window's addresses lead to, also by way of one another."""
        waiting = list(
            dict.fromkeys(
                address for message in window for address in addresses_in(words_of(message))
            )
        )
        seen: dict[str, None] = {}
        texts: list[str] = []
        while waiting:
            address = waiting.pop(0)
            if address in seen:
                continue
            seen[address] = None
            text = self._stored.get(address)
            if text is None:
                text = await self._library.read(address)
                if text is None:
                    continue
                self._stored[address] = text
            texts.append(text)
            waiting.extend(addresses_in(text))
        return texts

    async def _found(self, facts: Iterable[Said]) -> set[Said]:
        """Facts that a search brings up. What is stored nowhere is not searched for."""
        views = self._library.namespaces()
        entries: dict[tuple[str, str], str] = {}
        for view in views:
            for path, entry in (await view.entries()).items():
                entries[view.ns, path] = entry.content
        stored = {fact for text in entries.values() for fact in self._book.of_text(text)}
        there = [fact for fact in facts if fact in stored]
        asked = there[:: max(1, -(-len(there) // _MOST_SEARCHES))]
        missed = 0
        for fact in asked:
            if fact not in self._searched:
                self._searched[fact] = await self._search(fact, views, entries)
            missed += not self._searched[fact]
        found = {fact for fact in asked if self._searched[fact]}
        if not missed:
            found.update(there)  # a sample was asked for, and every one of it came up
        return found

    async def _search(
        self,
        fact: Said,
        views: Sequence[NamespaceView],
        entries: Mapping[tuple[str, str], str],
    ) -> bool:
        for view in views:
            for hit in await view.search(fact.text, limit=5):
                if fact in self._book.of_text(entries.get((view.ns, hit.path), "")):
                    return True
        return False


def _own(message: Message) -> tuple[str, str | None, str]:
    """What a message says itself: the same with and without a tail behind it."""
    own = [block for block in message.content if not (isinstance(block, Text) and block.source)]
    return message.role, message.tool_call_id, words_of(message.replace(content=tuple(own)))


def _has_lines(facts: Iterable[Said]) -> bool:
    return any(fact.kind in _FROM_LINES for fact in facts)


async def retention_of(
    transcript: Sequence[Message], window: Sequence[Message], judge: Judge, book: FactBook
) -> Retention:
    """What became of everything that was said and no longer stands in the window word for word."""
    live = {_own(message) for message in window}
    first: dict[Said, int] = {}
    evicted = 0
    for at, message in enumerate(transcript):
        if _own(message) in live:
            continue
        evicted += 1
        for fact in book.of(message):
            first.setdefault(fact, at)
    fates = await judge.fates(first, window)
    counts: dict[FactKind, dict[Fate, int]] = {}
    for kind in FACT_KINDS:
        by: dict[Fate, int] = {}
        for fact in first:
            if fact.kind == kind:
                by[fates[fact]] = by.get(fates[fact], 0) + 1
        if by:
            counts[kind] = by
    order = {kind: place for place, kind in enumerate(("rule", "error", "identifier", "path"))}
    facts = sorted(first, key=lambda fact: (order.get(fact.kind, 9), first[fact], fact.text))
    lost = [fact for fact in facts if fates[fact] == "lost"]
    kept = [fact for fact in facts if fates[fact] != "lost"]
    return Retention(
        counts=counts,
        lost=_shown(lost, fates, first, _MOST_LOST_SHOWN),
        kept_examples=_shown(kept, fates, first, _MOST_KEPT_SHOWN),
        evicted_messages=evicted,
    )


def _shown(
    facts: Sequence[Said], fates: Mapping[Said, Fate], first: Mapping[Said, int], most: int
) -> tuple[Fact, ...]:
    return tuple(
        Fact(kind=fact.kind, text=fact.text[:240], fate=fates[fact], message=first[fact])
        for fact in facts[:most]
    )
