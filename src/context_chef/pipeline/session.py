"""What one chef knows, and its compiles: one after the other, each from the inputs of its call."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, cast

import msgspec

from context_chef.adaptation.own_calls import OwnCalls
from context_chef.events import FoldDropped
from context_chef.ir.alike import same_json
from context_chef.ir.known_rows import KnownRows
from context_chef.ir.message import MessageLike
from context_chef.ir.payload import Payload
from context_chef.ir.rows import read_messages
from context_chef.ir.transcript import Transcript
from context_chef.persistence.forks import PerProcess
from context_chef.pipeline.again import begun_again, last_request
from context_chef.pipeline.compiler import run_stages
from context_chef.pipeline.last_request import LastRequest
from context_chef.pipeline.queue import CompileQueue
from context_chef.pipeline.state import ChefState, CompileInputs
from context_chef.pipeline.turn import ChefParts, CompileTurn
from context_chef.placement.announcements import Announcement, announced


class Session:
    """The state of one chef, changed by its setters and by what its compiles publish."""

    def __init__(self, parts: ChefParts, state: ChefState) -> None:
        self.state = state
        self._locks = PerProcess(threading.RLock)
        self._parts = parts
        self._queue = CompileQueue()
        self._dropped: list[FoldDropped] = []
        self._rows = KnownRows()
        self.revision = 0
        """How often the caller has changed what is known."""
        self.epoch = 0
        """How often a snapshot was restored."""

    @property
    def changing(self) -> AbstractContextManager[object]:
        """Held while the state is read and replaced."""
        return self._locks.get()

    # Setters

    def change(self, **changes: Any) -> None:
        """Replace these fields. What says the same as what was there is no change."""
        with self.changing:
            state = self.state
            if all(same_json(getattr(state, name), value) for name, value in changes.items()):
                return
            self.state = msgspec.structs.replace(state, last_request=None, **changes)
            self.revision += 1

    def changed(self) -> None:
        """Something beside the state was told that the next request goes by."""
        with self.changing:
            self.state = msgspec.structs.replace(self.state, last_request=None)
            self.revision += 1

    def set_history(self, messages: Iterable[MessageLike], *, own: Callable[[], OwnCalls]) -> None:
        """The conversation, whole: aligned with what it was. Raises InputError."""
        with self.changing:
            before, rows = self._rows.known, self._rows.read(messages)
            read = own().messages(rows)
            state, starts = self.state, self._parts.made.starts
            items = state.transcript.items
            known = read is rows and before is items
            same = self._rows.same if known else 0
            realigned = state.transcript.realigned(read, same=same)
            now = realigned.transcript.items
            if known:
                starts.note(items, now, same)
            self._rows.settle(now)
            changed_at = realigned.changed_at
            for fold in realigned.dropped:
                self._dropped.append(
                    FoldDropped(window_id=fold.window_id, end=fold.end, changed_at=changed_at or 0)
                )
            changes: dict[str, Any] = {"transcript": realigned.transcript}
            if changed_at is not None:
                kept = tuple(tail for tail in state.sent_tails if tail.after <= changed_at)
                changes["sent_tails"] = kept
                anchor = state.cache_anchor
                changes["cache_anchor"] = None if (anchor or 0) >= changed_at else anchor
            self.change(**changes)

    def extend(self, messages: Iterable[MessageLike], *, own: Callable[[], OwnCalls]) -> None:
        """More messages at the end. Raises InputError naming index and field."""
        with self.changing:
            transcript = self.state.transcript
            read = read_messages(messages, start=len(transcript.items))
            read = own().messages(read)
            if read:
                extended = transcript.extended(read)
                self._parts.made.starts.note(
                    transcript.items, extended.items, len(transcript.items)
                )
                self.state = msgspec.structs.replace(
                    self.state, transcript=extended, last_request=None
                )
                self.revision += 1

    def reread(self, own: Callable[[], OwnCalls]) -> None:
        """Calls that were said before their tools were registered get the tools' names too."""
        with self.changing:
            self.change(transcript=self.state.transcript.in_words_of(own().messages))

    def clear_history(self) -> None:
        """No conversation, in a fresh window."""
        with self.changing:
            self._parts.janitor.reset()
            self._rows.forget()
            self._parts.forget()
            self.change(
                transcript=Transcript(),
                sent_tails=(),
                cache_anchor=None,
                new_contexts_done=self.state.new_contexts_requested,
                handoff_noticed=None,
            )
            self.changed()

    def announce(self, new: Announcement) -> None:
        """Say it from now on, in place of what has the same id."""
        with self.changing:
            self.change(announcements=announced(self.state.announcements, new))

    def retract(self, id: str) -> bool:
        """Stop saying it. Answers whether it was said."""
        with self.changing:
            standing = self.state.announcements
            kept = tuple(item for item in standing if item.id != id)
            self.change(announcements=kept)
        return len(kept) < len(standing)

    def request_new_context(self) -> None:
        """Close the window in the next compile."""
        with self.changing:
            self.change(new_contexts_requested=self.state.new_contexts_requested + 1)

    def report_usage(self, tokens: float) -> None:
        """What the provider counted for the last request."""
        with self.changing:
            self._parts.janitor.report_usage(tokens)
            self.changed()

    def recover(self, error: object) -> bool:
        """Learn from a provider's answer that the last request was too large."""
        with self.changing:
            learnt = self._parts.janitor.recover(error)
            if learnt:
                self.changed()
        return learnt

    # Compiles

    async def compile(self, inputs: CompileInputs) -> Payload:
        """Wait for one's turn, then walk the stages. What fails leaves everything as it was."""
        async with self._queue.turn():
            while self._dropped:
                await self._parts.emitter.emit(self._dropped.pop(0))
            again = self._repeated(inputs)
            base = self._with_landed(inputs.state)
            if again is not None:
                base = begun_again(base, again)
            turn = CompileTurn(
                parts=self._parts,
                inputs=inputs,
                publish=self._publish,
                base=base,
                state=base,
                again=again,
            )
            await run_stages(turn)
            return cast(Payload, turn.payload)

    async def restore(self, restored: Callable[[], Awaitable[ChefState]]) -> None:
        """Take the state that `restored()` answers, once compiles are through."""
        async with self._queue.turn():
            state = await restored()
            with self.changing:
                self.epoch += 1
                self.revision += 1
                self.state = state
                self._dropped.clear()

    @property
    def _default_target(self) -> object:
        return self._parts.settings.default_target

    def _repeated(self, inputs: CompileInputs) -> LastRequest | None:
        """The last request, when this is the same one again."""
        with self.changing:
            last = self.state.last_request
            if last is None or inputs.revision != self.revision:
                return None
            return last if last.asked.is_same(inputs.asked(self._default_target)) else None

    def _with_landed(self, captured: ChefState) -> ChefState:
        """The captured inputs with what compiles before this one in the queue have published."""
        now = self.state
        items, live = captured.transcript.items, now.transcript.items
        if live is not items and live[: len(items)] != items:
            return captured
        folds = tuple(fold for fold in now.transcript.folds if fold.end <= len(items))
        return msgspec.structs.replace(
            captured,
            transcript=msgspec.structs.replace(captured.transcript, folds=folds),
            sent_tails=tuple(tail for tail in now.sent_tails if tail.after <= len(items)),
            sent_prefixes=now.sent_prefixes,
            sent_requests=now.sent_requests,
            last_volatile_tokens=now.last_volatile_tokens,
            cache_anchor=now.cache_anchor,
            cache_anchor_before=now.cache_anchor_before,
            handoff_noticed=now.handoff_noticed,
            new_contexts_done=now.new_contexts_done,
            new_contexts_tried=now.new_contexts_tried,
        )

    def _publish(self, turn: CompileTurn) -> None:
        """What the compile changed, at once, and nothing that the caller changed since."""
        with self.changing:
            if turn.inputs.epoch != self.epoch:
                return  # a snapshot was restored meanwhile: this request belongs to another past
            if turn.janitor_turn is not None:
                turn.janitor_turn.publish()
            if turn.sent is not None:
                turn.parts.janitor.note_sent(turn.sent)
            turn.parts.transforms.keep_current()
            now, new, base = self.state, turn.state, turn.base
            transcript, changed_at = now.transcript, None
            if new.transcript.folds != base.transcript.folds and turn.parts.settings.keep == "chef":
                rebased = new.transcript.rebased(now.transcript.items)
                transcript, changed_at = rebased.transcript, rebased.changed_at
            told = turn.again is not None or new.sent_tails is not base.sent_tails
            sent = new.sent_tails if told else now.sent_tails
            if changed_at is not None:
                sent = tuple(tail for tail in sent if tail.after <= changed_at)
            unchanged = turn.inputs.revision == self.revision
            self.state = msgspec.structs.replace(
                now,
                transcript=transcript,
                sent_tails=sent,
                sent_prefixes=new.sent_prefixes,
                sent_requests=new.sent_requests,
                last_volatile_tokens=new.last_volatile_tokens,
                cache_anchor=new.cache_anchor if changed_at is None else None,
                cache_anchor_before=new.cache_anchor_before,
                handoff_noticed=new.handoff_noticed,
                new_contexts_done=max(now.new_contexts_done, new.new_contexts_done),
                new_contexts_tried=max(now.new_contexts_tried, new.new_contexts_tried),
                last_request=last_request(turn) if unchanged else None,
            )
