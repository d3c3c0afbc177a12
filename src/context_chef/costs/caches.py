"""What each provider keeps of the prompts it was sent, and what the next one reads of it.

The best case is assumed: every request reaches a server that holds what earlier ones left, and each
is answered before the next is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol, cast

from context_chef.adaptation.model_profile import CacheRules
from context_chef.costs.prompt import Prompt, PromptBlock

_FIVE_MINUTES: Final = 300.0
_HOUR: Final = 3_600.0
_AUTOMATIC_IDLE: Final = 600.0
_DAY: Final = 86_400.0
_EXACT_LIFETIME: Final = 1_800.0
_EXACT_LONG: Final = 43_200.0


class Taken(NamedTuple):
    """What one request read and wrote."""

    read: int
    """Tokens."""
    written: Mapping[str, int]
    """Tokens by the lifetime they were written for; empty where writing is free."""
    kept: int
    """The last block that is in the cache now; -1 when nothing is."""
    until: float
    """When that is forgotten, unless it is read before."""


class ProviderCache(Protocol):
    """The cache of one model."""

    def send(self, prompt: Prompt, body: Mapping[str, Any], now: float) -> Taken: ...


def cache_for(rules: CacheRules) -> ProviderCache:
    """An empty cache that follows these rules."""
    if rules.mode == "breakpoints":
        return MarkedCache(rules)
    if rules.mode == "breakpoints_and_tail":
        return ExactCache(rules)
    if rules.mode == "automatic":
        return PrefixCache(rules)
    return NoCache()


class NoCache:
    """A model that keeps nothing."""

    def send(self, prompt: Prompt, body: Mapping[str, Any], now: float) -> Taken:
        return Taken(0, {}, -1, now)


class MarkedCache:
    """Entries exist only at breakpoints; each breakpoint finds entries a few blocks back."""

    def __init__(self, rules: CacheRules) -> None:
        self._minimum = rules.minimum_tokens or 1024
        self._lookback = rules.lookback_blocks or 20
        self._entries: dict[bytes, tuple[float, float]] = {}
        """By prefix: until when, and the lifetime that a read renews."""

    def send(self, prompt: Prompt, body: Mapping[str, Any], now: float) -> Taken:
        marks = [index for index in sorted(prompt.marks) if prompt.upto(index) >= self._minimum]
        hit = max((self._find(mark, prompt, now) for mark in marks), default=-1)
        if hit >= 0:
            self._keep(prompt.digests[hit], now, self._entries[prompt.digests[hit]][1])
        written: dict[str, int] = {}
        reached = hit
        # What stands before a 1-hour mark is written for an hour, the rest for five minutes.
        for ttl in ("1h", "5m"):
            ends = [mark for mark in marks if mark > reached and _ttl(prompt, mark) == ttl]
            if ends:
                written[ttl] = prompt.upto(ends[-1]) - prompt.upto(reached)
                reached = ends[-1]
        for mark in marks:
            self._keep(prompt.digests[mark], now, _HOUR if _ttl(prompt, mark) == "1h" else None)
        until = self._entries[prompt.digests[reached]][0] if reached >= 0 else now
        return Taken(prompt.upto(hit), {t: n for t, n in written.items() if n}, reached, until)

    def _find(self, mark: int, prompt: Prompt, now: float) -> int:
        looked = 0
        for index in range(mark, -1, -1):
            entry = self._entries.get(prompt.digests[index])
            if entry is not None and entry[0] >= now:
                return index
            looked += not prompt.blocks[index].setting
            if looked >= self._lookback:
                break
        return -1

    def _keep(self, digest: bytes, now: float, lifetime: float | None) -> None:
        lifetime = lifetime or _FIVE_MINUTES
        self._entries[digest] = (now + lifetime, lifetime)


def _ttl(prompt: Prompt, mark: int) -> str:
    return "1h" if prompt.marks[mark] == "1h" else "5m"


class ExactCache:
    """Exact matches at breakpoints, one of them at the end of the newest user or tool message."""

    def __init__(self, rules: CacheRules) -> None:
        self._minimum = rules.minimum_tokens or 1024
        self._tried = rules.lookback_blocks or 80
        self._writes = rules.max_breakpoints or 4
        self._entries: dict[bytes, float] = {}

    def send(self, prompt: Prompt, body: Mapping[str, Any], now: float) -> Taken:
        options = _map(body.get("prompt_cache_options"))
        explicit = sorted(prompt.marks)
        if options.get("mode") == "explicit":
            candidates, writing = explicit, explicit[-self._writes :]
        else:
            ends = [i for i, block in enumerate(prompt.blocks) if block.ends_turn]
            candidates = sorted({*explicit, *ends})
            writing = sorted({*ends[-1:], *explicit[-(self._writes - 1) :]})
        candidates = [i for i in candidates[-self._tried :] if prompt.upto(i) >= self._minimum]
        writing = [i for i in writing if prompt.upto(i) >= self._minimum]
        alive = [i for i in candidates if self._entries.get(prompt.digests[i], -1.0) >= now]
        hit = alive[-1] if alive else -1
        long = str(options.get("ttl") or "") in ("12h", "24h")
        lifetime = _EXACT_LONG if long else _EXACT_LIFETIME
        reached = max((i for i in writing if i > hit), default=hit)
        for i in (*writing, *alive[-1:]):
            self._entries[prompt.digests[i]] = now + lifetime
        written = prompt.upto(reached) - prompt.upto(hit)
        ttl = "12h" if long else "30m"
        return Taken(prompt.upto(hit), {ttl: written} if written else {}, reached, now + lifetime)


class PrefixCache:
    """The longest prefix shared with an earlier prompt, in steps; writing is free."""

    def __init__(self, rules: CacheRules) -> None:
        self._minimum = rules.minimum_tokens or 1024
        self._step = rules.step_tokens or 1
        self._entries: dict[bytes, float] = {}
        self._next: dict[bytes, dict[bytes, tuple[PromptBlock, float]]] = {}
        """By prefix: the blocks that came behind it, one of which the next may begin like."""

    def send(self, prompt: Prompt, body: Mapping[str, Any], now: float) -> Taken:
        shared = self._shared(prompt, now)
        read = shared // self._step * self._step
        if read < self._minimum:
            read = 0
        # What a named resource holds is read whatever its size.
        held = sum(
            block.tokens
            for unit in prompt.units
            if unit.path == "cachedContent"
            for block in unit.blocks
        )
        read = max(read, held)
        lifetime = _DAY if body.get("prompt_cache_retention") == "24h" else _AUTOMATIC_IDLE
        until = now + lifetime
        before = b""
        for index, digest in enumerate(prompt.digests):
            self._entries[digest] = max(until, self._entries.get(digest, until))
            block = prompt.blocks[index]
            self._next.setdefault(before, {})[block.digest] = (block, until)
            before = digest
        enough = prompt.tokens >= self._minimum
        return Taken(read, {}, len(prompt.blocks) - 1 if enough else -1, until)

    def _shared(self, prompt: Prompt, now: float) -> int:
        index = len(prompt.digests) - 1
        while index >= 0 and self._entries.get(prompt.digests[index], -1.0) < now:
            index -= 1
        tokens = prompt.upto(index)
        if index + 1 >= len(prompt.blocks):
            return tokens
        block = prompt.blocks[index + 1]
        others = self._next.get(prompt.digests[index] if index >= 0 else b"", {})
        alike = max(
            (
                _alike(block.text, other.text)
                for other, until in others.values()
                if until >= now and other.label == block.label
            ),
            default=0,
        )
        return tokens + (block.tokens * alike // len(block.text) if block.text else 0)


def _alike(a: str, b: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _map(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
