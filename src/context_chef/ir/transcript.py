"""What the caller said, what is folded away, and the window they make together.

The transcript is never rewritten. A landed overflow pass becomes a fold: from then on the first
`end` items of the transcript are represented by the fold's messages. Folds are stacked, so that an
edit inside one gives back the window that was there before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from context_chef.ir.alike import alike_start
from context_chef.ir.message import Message


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """The transcript items `[0, end)` are represented in the window by `messages`."""

    end: int
    messages: tuple[Message, ...]
    strategy: str
    window_id: str
    """The window that this fold opened."""
    span: int
    """How many messages the pass took out of the window it saw."""
    uri: str | None = None
    """Where the messages that left are stored in full."""
    provisional: bool = False
    """An emergency cut, made while the strategy could not work. It is what is sent until then; the
    strategy is shown what stood before it."""


class Realigned(msgspec.Struct, frozen=True, kw_only=True):
    """How a new full list related to the transcript that was there."""

    transcript: Transcript
    dropped: tuple[Fold, ...] = ()
    """Folds that an edit or a rewind invalidated, oldest first."""
    changed_at: int | None = None
    """The first item that is not what it was; None when the list only grew."""


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable value: every change answers a new one."""

    items: tuple[Message, ...] = ()
    folds: tuple[Fold, ...] = ()

    @property
    def folded(self) -> int:
        """How many items of the transcript the newest fold represents."""
        return self.folds[-1].end if self.folds else 0

    @property
    def window(self) -> tuple[Message, ...]:
        """What is sent of the conversation: the newest fold's messages, then the live items."""
        if not self.folds:
            return self.items
        fold = self.folds[-1]
        return fold.messages + self.live

    @property
    def live(self) -> tuple[Message, ...]:
        """The items that no fold represents."""
        return self.items[self.folds[-1].end :] if self.folds else self.items

    @property
    def standing(self) -> Fold | None:
        """The emergency cut that is sent for now, if there is one."""
        return self.folds[-1] if self.folds and self.folds[-1].provisional else None

    @property
    def settled(self) -> Transcript:
        """The same transcript without an emergency cut: what a strategy is shown."""
        folds = tuple(fold for fold in self.folds if not fold.provisional)
        return self if len(folds) == len(self.folds) else msgspec.structs.replace(self, folds=folds)

    def extended(self, messages: Sequence[Message]) -> Transcript:
        """The same transcript with more said. Costs what is new."""
        return msgspec.structs.replace(self, items=self.items + tuple(messages))

    def with_fold(self, fold: Fold) -> Transcript:
        """The same transcript after an overflow pass landed."""
        return msgspec.structs.replace(self, folds=(*self.folds, fold))

    def folded_to(
        self,
        window: Sequence[Message],
        *,
        strategy: str,
        window_id: str,
        span: int,
        uri: str | None = None,
        provisional: bool = False,
    ) -> Transcript:
        """The same transcript, represented by `window` from now on.

        The longest run at the end of `window` that stands unchanged in the transcript stays live;
        everything before it becomes the fold's messages.
        """
        live = len(self.items) - self.folded
        kept = 0
        while kept < min(live, len(window)) and window[-1 - kept] is self.items[-1 - kept]:
            kept += 1
        fold = Fold(
            end=len(self.items) - kept,
            messages=tuple(window[: len(window) - kept]),
            strategy=strategy,
            window_id=window_id,
            span=span,
            uri=uri,
            provisional=provisional,
        )
        return self.with_fold(fold)

    def realigned(self, messages: Sequence[Message], *, same: int = 0) -> Realigned:
        """What this transcript becomes when the caller sets the whole list again.

        The unchanged prefix keeps its folds, new messages at the end are new, and a change inside
        a fold drops exactly the folds that reach past it. So does a rewind that leaves the newest
        request to a summary: what is to be answered is sent word for word. A list that begins with
        the window of this transcript is the window fed back, and is understood as that.
        `same` messages at the beginning are known to be the items themselves.
        """
        known = same == len(self.items)
        if not known:
            same = _common(self.items, messages)
        if same == len(self.items):
            # What is only equal gives way to the objects that were there.
            if same == len(messages):
                items = self.items
            elif known:
                items = tuple(messages)
            else:
                items = self.items + tuple(messages[same:])
            return Realigned(transcript=msgspec.structs.replace(self, items=items))
        if same < self.folded and (fed_back := self._fed_back(messages)) is not None:
            return fed_back
        return self._changed(messages, same)

    def in_words_of(self, read: Callable[[tuple[Message, ...]], tuple[Message, ...]]) -> Transcript:
        """The same transcript with every message read anew, one to one; itself if none changes."""
        items = read(self.items)
        folds = tuple(
            fold
            if (messages := read(fold.messages)) is fold.messages
            else msgspec.structs.replace(fold, messages=messages)
            for fold in self.folds
        )
        if items is self.items and all(a is b for a, b in zip(folds, self.folds, strict=True)):
            return self
        return Transcript(items=items, folds=folds)

    def rebased(self, items: tuple[Message, ...]) -> Realigned:
        """This transcript's folds under `items`, as far as they still say what was folded."""
        same = _common(self.items, items)
        if same < len(self.items):
            return self._changed(items, same)
        return Realigned(transcript=msgspec.structs.replace(self, items=items))

    def _changed(self, messages: Sequence[Message], same: int) -> Realigned:
        # A fold that hides what has to be answered now was made when something else had to be.
        request = next(
            (at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "user"), None
        )
        depth = len(self.folds)
        while depth and not (
            self.folds[depth - 1].end <= min(same, len(messages) - 1)
            and (
                request is None
                or request >= self.folds[depth - 1].end
                or _holds(self.folds[depth - 1], messages[request])
            )
        ):
            depth -= 1
        kept = self.folds[:depth]
        return Realigned(
            transcript=Transcript(items=(*self.items[:same], *messages[same:]), folds=kept),
            dropped=self.folds[len(kept) :],
            changed_at=same,
        )

    def _fed_back(self, messages: Sequence[Message]) -> Realigned | None:
        for depth in range(len(self.folds) - 1, -1, -1):
            fold = self.folds[depth]
            head = len(fold.messages)
            if not head or _common(fold.messages, messages) < head:
                continue
            live = self.items[fold.end :]
            same = _common(live, messages[head:])
            items = (*self.items[: fold.end + same], *messages[head + same :])
            folds = self.folds[: depth + 1]
            return Realigned(
                transcript=Transcript(items=items, folds=folds),
                dropped=self.folds[depth + 1 :],
                changed_at=fold.end + same if same < len(live) else None,
            )
        return None


def _holds(fold: Fold, request: Message) -> bool:
    """Whether a fold has a request word for word, as while tools are at work on it."""
    return any(message == request for message in fold.messages)


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many leading messages say the same."""
    return alike_start(tuple(one), tuple(other))
