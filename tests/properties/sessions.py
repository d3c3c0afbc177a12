"""Random sessions through a chef, and what has to hold of every request on the way."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_chef import (
    CancelToken,
    CompileAborted,
    ContextChef,
    InMemoryBackend,
    Message,
    Payload,
    Thinking,
    ToolCall,
    anchored,
    background,
    chain,
    clear,
    from_anthropic,
    from_gemini,
    from_openai,
    from_openai_responses,
    reset,
    summarize,
)
from context_chef.testing.doubles import CharacterTokenizer, RecordingLogger, numbered_windows
from tests.properties.provider_check import problems, sequence_problems
from tests.shared_data import HAVE_DATA

WINDOW, RESERVE = 9_000, 1_500
HARD = WINDOW - RESERVE

MODELS: dict[str, tuple[str, ...]] = {
    "openai": ("gpt-4o",),
    "openai-responses": ("gpt-5.6",),
    "anthropic": ("claude-sonnet-4-5", "claude-opus-5-5"),
    "gemini": ("gemini-3.8-flash",),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "openai": from_openai,
    "openai-responses": from_openai_responses,
    "anthropic": from_anthropic,
    "gemini": from_gemini,
}


def marks(text: str) -> Counter[str]:
    """The numbers that texts of a session begin with."""
    return Counter(set(re.findall(r"<\d+>", text)))


class Summariser:
    """A model that answers, fails, is blank or is slow, as its session wants it."""

    def __init__(self) -> None:
        self.mood = "good"
        self.answered: list[str] = []
        """What it was shown in the calls that it answered."""
        self.beside: Counter[str] = Counter()
        """What it was shown though the window did not hold it any more."""
        self.window: Callable[[], Sequence[Message]] = tuple

    async def __call__(self, messages: Sequence[Message]) -> str:
        if self.mood == "slow":
            await asyncio.sleep(0.002)
        if self.mood == "failing":
            raise RuntimeError("the model is down")
        if self.mood == "blank":
            return " \n"
        shown = "\n".join(message.text for message in messages[:-1])
        self.answered.append(shown)
        self.beside += marks(shown) - marks("\n".join(m.text for m in self.window()))
        return f"<summary>Part {len(self.answered)} of the work went well.</summary>"


STRATEGIES: dict[str, Callable[[Any], Any]] = {
    "summarize": lambda ask: summarize(compression_model=ask, preserve_ratio=0.5),
    "anchored": lambda ask: anchored(compression_model=ask, preserve_ratio=0.5),
    "dropping": lambda ask: summarize(preserve_ratio=0.4),
    "reset": lambda ask: reset(),
    "clear": lambda ask: clear(keep_recent=2, min_gain=0.0),
    "chain": lambda ask: chain(
        clear(keep_recent=2), summarize(compression_model=ask, preserve_ratio=0.5), reset()
    ),
    "background": lambda ask: background(summarize(compression_model=ask, preserve_ratio=0.5)),
}


@dataclass
class Session:
    """A chef, what was said to it, and what it has sent."""

    seed: int
    strategy: str
    tail: str = "auto"
    stable: bool = False
    """Only grow, and keep target and model."""
    number: int = 0
    rows: list[Message] = field(default_factory=list[Message])
    sent: dict[tuple[str, str], list[Payload]] = field(
        default_factory=dict[tuple[str, str], list[Payload]]
    )
    stored: set[str] = field(default_factory=set[str])
    faults: list[str] = field(default_factory=list[str])
    last: tuple[tuple[str, str], Payload, str] | None = None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.model = Summariser()
        self.failing = False
        self.tokenizer = CharacterTokenizer()
        self.target = ("openai", "gpt-4o")
        self.chef = ContextChef(
            janitor={
                "context_window": WINDOW,
                "reserve_output": RESERVE,
                "tokenizer": self.tokenizer,
                "breaker_cooldown_seconds": 0,
            },
            overflow={"strategy": STRATEGIES[self.strategy](self.model), "archive": "vfs"},
            store=InMemoryBackend(),
            tail=self.tail,
            new_window_id=numbered_windows(),
            logger=RecordingLogger(),
            clock=lambda: 1_000,
        )
        self.chef.set_system_prompt("You are an assistant. " * 5)
        self.chef.use("before-adapt", self._maybe_fail)
        # What an emergency cut stands for is still the summariser's to see.
        self.model.window = lambda: self.chef.snapshot_sync().transcript.settled.window

    def _maybe_fail(self, context: Any) -> None:
        if self.failing:
            raise RuntimeError("the handler failed")

    # What happens in it

    async def play(self, steps: int) -> None:
        """Play that many steps."""
        self.say("user")
        for _ in range(steps):
            await self.step()

    async def step(self) -> None:
        """One thing that a user, a model or a program does, then a compile."""
        kinds = ["grow"] * 9 + ["round"] * 9
        if not self.stable:
            kinds += ["rewind", "edit", "set", "switch", "mood", "cancel", "fail", "state"]
        kind = self.chance.choice(kinds)
        match kind:
            case "grow":
                self.say("assistant")
                self.say("user")
            case "round":
                self.round()
            case "rewind":
                del self.rows[max(1, len(self.rows) - self.chance.randint(1, 6)) :]
                self.chef.set_history(self.rows)
            case "edit":
                at = self.chance.randrange(len(self.rows))
                if self.rows[at].role in ("user", "assistant") and not self.rows[at].tool_calls:
                    self.rows[at] = self.rows[at].with_text(self.words())
                self.chef.set_history(self.rows)
            case "set":
                self.chef.set_history([message.replace() for message in self.rows])
            case "switch":
                name = self.chance.choice(list(MODELS))
                self.target = (name, self.chance.choice(MODELS[name]))
            case "mood":
                self.model.mood = self.chance.choice(["good", "good", "failing", "slow", "blank"])
            case "cancel":
                await self.cancelled()
            case "fail":
                await self.failed()
            case _:
                self.chef.set_dynamic_state(None, {"step": self.number, "note": "x" * 40})
        if self.stable:
            self.chef.set_dynamic_state(None, {"step": self.number})
        await self.compile()

    def words(self) -> str:
        """A text that no other message has."""
        self.number += 1
        size = self.chance.choice([20, 200, 600, 900, 2_000])
        if self.chance.random() < 0.03:
            size = 15_000
        return f"<{self.number}> " + ("lorem ipsum " * (size // 12 + 1))[:size]

    def add(self, *messages: Message) -> None:
        """Say it, in one of the two ways."""
        self.rows.extend(messages)
        if self.chance.random() < 0.5:
            self.chef.extend(messages)
        else:
            self.chef.set_history(self.rows)

    def say(self, role: Any) -> None:
        """A message; now and then a pinned one."""
        pinned = role == "user" and self.chance.random() < 0.06
        text = self.words()
        if pinned:
            text = text[:80] + " PINNED"
        blocks: list[Any] = []
        if role == "assistant" and self.target[1] == "claude-opus-5-5":
            thought = f"sig{self.number}"
            blocks.append(Thinking(text="hm", signature=thought, origin="anthropic"))
        message = Message.user(text) if role == "user" else Message.assistant(text)
        content = (*blocks, *message.content)
        self.add(message.replace(content=content, pinned=pinned))

    def round(self) -> None:
        """A round of calls, with the results in any order."""
        calls = [
            ToolCall(
                id=f"call_{self.number}_{n}",
                name="look",
                arguments=json.dumps({"q": f"{self.number}.{n}"}),
            )
            for n in range(self.chance.randint(1, 3))
        ]
        blocks: list[Any] = []
        if self.target[1] == "claude-opus-5-5":
            blocks = [Thinking(text="hm", signature=f"tsig{self.number}", origin="anthropic")]
        asked = Message(role="assistant", content=(*blocks, *calls))
        results = [Message.tool(self.words(), tool_call_id=c.id, name="look") for c in calls]
        self.chance.shuffle(results)
        self.add(asked, *results)

    async def cancelled(self) -> None:
        """A compile that is cancelled while a summariser may be at work."""
        mood, self.model.mood = self.model.mood, "slow"
        token = CancelToken()
        by_token = self.chance.random() < 0.5
        task = asyncio.ensure_future(self._compiled(signal=token if by_token else None))
        for _ in range(self.chance.randint(1, 12)):
            await asyncio.sleep(0)
        if by_token:
            token.cancel()
        else:
            task.cancel()
        try:
            await task
        except (asyncio.CancelledError, CompileAborted):
            pass
        else:
            self._after(task.result())
        self.model.mood = mood

    async def failed(self) -> None:
        """A compile that fails at its end leaves the chef as it was."""
        before = self._state()
        self.failing = True
        try:
            await self._compiled()
        except RuntimeError:
            pass
        else:
            self.faults.append("a failing handler failed nothing")
        finally:
            self.failing = False
        if self._state() != before and self.model.mood not in ("failing", "blank"):
            self.faults.append("the chef changed in a compile that failed")

    def _state(self) -> Any:
        snapshot = self.chef.snapshot_sync()
        return (snapshot.transcript, snapshot.janitor, snapshot.sent_tails, snapshot.sent_prefixes)

    async def _compiled(self, signal: Any = None) -> Payload:
        target, model = self.target
        return await self.chef.compile(target, model=model, signal=signal)

    async def compile(self) -> None:
        """Compile and look at what came out."""
        self._after(await self._compiled())

    # What has to hold

    def _after(self, payload: Payload) -> None:
        key = self.target
        self.sent.setdefault(key, []).append(payload)
        where = (
            f"seed {self.seed}, {self.strategy}, {key}, request {sum(map(len, self.sent.values()))}"
        )
        for check in (
            self.fits,
            self.is_valid,
            self.keeps_pins,
            self.loses_nothing,
            self.stands_still,
        ):
            self.faults += [f"{where}: {fault}" for fault in check(payload)]
        self.last = (key, payload, self.chef.window_id)

    def fits(self, payload: Payload) -> list[str]:
        """Read back from the wire, the request is within the window."""
        read = READERS[self.target[0]](payload.body)
        size = sum(self.size(message) for message in read.messages)
        return [f"{size} characters in {HARD}"] if size > HARD else []

    def size(self, message: Message) -> int:
        """What the budget counts of a message, without what is added for its frame."""
        texts = len(message.text) + sum(len(c.arguments) + len(c.name) for c in message.tool_calls)
        return texts + sum(len(b.text) for b in message.content if isinstance(b, Thinking))

    def is_valid(self, payload: Payload) -> list[str]:
        """Both checkers have nothing to say."""
        target, model = self.target
        found = [d.code for d in payload.report.diagnostics if d.code.startswith("refused")]
        if HAVE_DATA:
            found += problems(target, payload, model)
        return found

    def keeps_pins(self, payload: Payload) -> list[str]:
        """Every pinned message is there word for word, in order."""
        text = json.dumps(payload.body, ensure_ascii=False)
        places = [text.find(m.text) for m in self.rows if m.pinned]
        if -1 in places:
            return ["a pin is gone"]
        return [] if places == sorted(places) else ["pins changed places"]

    def loses_nothing(self, payload: Payload) -> list[str]:
        """What is not in the window is in the archive, where the report says."""
        faults: list[str] = []
        for span in payload.report.spans:
            if span.place != "out":
                continue
            kept = None if span.uri is None else self.chef.resolve_recall_sync(span.uri)
            if kept is None:
                faults.append(f"{span.source} left for {span.uri}, where nothing is")
            else:
                self.stored.add(kept)
        whole = "\n".join(message.text for message in self.chef.window)
        archive = "\n".join(self.stored)
        for message in self.rows:
            said = message.text[:60]
            if message.text and message.text not in whole and json.dumps(said)[1:-1] not in archive:
                faults.append(f"{said[:12]!r} is neither in the window nor in the archive")
        return faults

    def stands_still(self, payload: Payload) -> list[str]:
        """While only new things were said, what stood before the last tail is as it was."""
        last = self.last
        if not self.stable or last is None or last[2] != self.chef.window_id:
            return []
        before, now = wire_list(last[1]), wire_list(payload)
        end = len(before) - 1
        while end > 0 and before[end].get("role") != "user":
            end -= 1
        same = [json.dumps(item) for item in before[:end]] == [json.dumps(i) for i in now[:end]]
        front = {key: value for key, value in last[1].body.items() if key not in _CONVERSATION}
        steady = {key: payload.body.get(key) for key in front} == front
        return [] if same and steady else ["the prefix moved between two folds"]

    def finish(self) -> list[str]:
        """What has to hold of the session as a whole."""
        faults = list(self.faults)
        if HAVE_DATA and not faults:
            for (target, model), payloads in self.sent.items():
                found = sequence_problems(target, payloads, model)
                faults += [f"seed {self.seed}, {target} {model}: {fault}" for fault in found]
        if self.stable:
            twice = [text for text, times in Counter(self.model.answered).items() if times > 1]
            faults += [f"seed {self.seed}: {text[:40]!r} was summarised twice" for text in twice]
            faults += [f"seed {self.seed}: {m} was summarised again" for m in self.model.beside]
        return faults


_CONVERSATION = ("messages", "input", "contents")


def wire_list(payload: Payload) -> list[dict[str, Any]]:
    """The conversation on the wire."""
    body = payload.body
    return next(body[key] for key in _CONVERSATION if key in body)


def play(session: Session, steps: int = 14) -> list[str]:
    """Play a session to its end; answers everything that did not hold."""
    asyncio.run(session.play(steps))
    return session.finish()
