"""Plays one session through one configuration, request by request, and writes down what happens."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, cast

from context_chef.adaptation.anthropic import AnthropicAdapter
from context_chef.adaptation.gemini import GeminiAdapter
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.wire_rules import Fault, PayloadChecker, check_sequence
from context_chef.bridge import settle
from context_chef.chef import ContextChef
from context_chef.costs import BilledRequest, CacheModel, PriceTable, SentRequest, Usage
from context_chef.errors import ContextChefError
from context_chef.integrations.summarizing import summary_arguments
from context_chef.ir.blocks import Opaque, Provider, RedactedThinking, Thinking
from context_chef.ir.message import Message
from context_chef.ir.payload import Payload
from context_chef.persistence.in_memory import InMemoryBackend
from context_chef.persistence.namespace import NamespaceView
from context_chef.pipeline.turn import CompileTurn
from context_chef.replay.causes import bust_record, parted_by_fold
from context_chef.replay.configuration import plain_settings
from context_chef.replay.result import (
    SOURCES,
    ConfigurationInfo,
    Fate,
    FoldRecord,
    FoundFault,
    MendedPlace,
    RecordedUsage,
    ReplayedRequest,
    Run,
    SourceGroup,
    added_up,
)
from context_chef.replay.retention import FactBook, Judge, retention_of
from context_chef.replay.session import RecordedSession, SessionRequest
from context_chef.replay.spans import TextTable, shared_front
from context_chef.replay.summarizers import Model
from context_chef.selection.counting import Counter, resolve_tokenizer

DEFAULT_PAUSE: Final = 15.0
"""Seconds between requests, where a recording does not say when they were made."""

_EPOCH: Final = 1_767_225_600_000
"""Where the clock of every replay begins: 1 January 2026, in milliseconds."""
_ADAPTERS: Final[Mapping[str, Any]] = {
    "anthropic": AnthropicAdapter,
    "gemini": GeminiAdapter,
    "openai": OpenAIAdapter,
    "openai-responses": OpenAIResponsesAdapter,
}
_CHECK_ALL_UP_TO: Final = 200
"""Sessions of more requests have those checked in which something happened, and every tenth."""
_MOST_BODIES: Final = 400
"""Requests that are kept for the rules over the turns of a session."""


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """How to play, whatever the configuration."""

    summarize: Model
    summarizer_model: str | None = None
    """Who is billed for summaries; None is the configuration's own model."""
    prices: PriceTable | None = None
    pause: float = DEFAULT_PAUSE
    check: str = "auto"
    """`all` holds every request against the provider's rules, `none` no request."""
    progress: Callable[[], object] | None = None
    """Called after every request."""


async def play(
    session: RecordedSession,
    configuration: ConfigurationInfo,
    texts: TextTable,
    book: FactBook,
    options: PlayOptions,
) -> Run:
    """The run of a session under a configuration; its spans are put into `texts`.

    Equal inputs give equal runs, to the byte: clock, ids and times come from the session. Raises
    SettingsError for settings that mean nothing; what a compile raises ends the run, and is in it.
    """
    return await _Player(session, configuration, texts, book, options).run()


class _Clock:
    """The session's own time."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> int:
        return _EPOCH + round(self.at * 1000)


class _Notes:
    """What the chef warned about, each once."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}

    def warning(self, msg: object, *args: object) -> None:
        self.lines[str(msg) % args if args else str(msg)] = None


class _Watcher:
    """Keeps hold of the compile that runs."""

    def __init__(self) -> None:
        self.turn: CompileTurn | None = None

    def compiling(self, turn: CompileTurn) -> AbstractContextManager[object]:
        self.turn = turn
        return nullcontext()

    def stage(self, name: str, turn: CompileTurn) -> AbstractContextManager[object]:
        return nullcontext()


class _Player:
    """One run in the making."""

    def __init__(
        self,
        session: RecordedSession,
        configuration: ConfigurationInfo,
        texts: TextTable,
        book: FactBook,
        options: PlayOptions,
    ) -> None:
        self._session = session
        self._info = configuration
        self._texts = texts
        self._book = book
        self._options = options
        self._clock = _Clock()
        self._notes = _Notes()
        self._watcher = _Watcher()
        self._windows = 0
        self._asked: list[tuple[tuple[Message, ...], str]] = []
        """Calls of the summariser that were not billed yet: what it was shown, what it answered."""
        self._summarizer_tokens = 0
        self._summarizer_calls = 0
        self._spans: list[int] = []
        self._sources: dict[SourceGroup, int] = dict.fromkeys(SOURCES, 0)
        """The tokens of these spans."""
        self._injected: list[str] = []
        self._before: Payload | None = None
        self._mended: set[MendedPlace] = set()
        self._bodies: list[Mapping[str, Any]] = []
        settings = dict(configuration.settings)
        self._counter: Counter = resolve_tokenizer(
            _tokenizer(settings), provider=cast(Provider, configuration.target)
        )
        self._chef = self._made(settings)
        self._judge = Judge(book, _Shelf(self._chef))
        self._cost = CacheModel(
            target=configuration.target,
            model=configuration.model,
            prices=options.prices,
            tokenizer=_tokenizer(settings),
            profiles=settings.get("profiles", ()),
        )
        self._checker = PayloadChecker(
            configuration.target, model=configuration.model, partial=True
        )
        self._bound = _has_thinking(session) and _binds(configuration)

    def _made(self, settings: dict[str, Any]) -> ContextChef:
        """The chef of the settings, with everything taken away that a replay must not touch."""
        parts: dict[str, Any] = {
            "clock": self._clock,
            "logger": self._notes,
            "new_window_id": self._next_window,
            "store": InMemoryBackend(clock=self._clock),
        }
        for section in ("memory", "vfs"):
            given = settings.get(section)
            if isinstance(given, Mapping):
                # A path would lead to real files: everything is kept in memory here.
                own = cast(Mapping[str, Any], given)
                kept = {k: v for k, v in own.items() if k not in ("store", "storage_dir")}
                settings[section] = kept
        settings.pop("store", None)
        chef = ContextChef.from_settings(settings, compression_model=self._summarize, **parts)
        chef.watch_stages(self._watcher)
        chef.use("before-assemble", self._inject)
        return chef

    def _next_window(self) -> str:
        self._windows += 1
        return f"w{self._windows}"

    async def _summarize(self, messages: Sequence[Message]) -> str:
        answer: Any = await settle(self._options.summarize(messages))
        self._asked.append((tuple(messages), str(answer)))
        return answer

    def _inject(self, context: Any) -> None:
        for text in self._injected:
            context.inject(text)

    async def run(self) -> Run:
        done: list[ReplayedRequest] = []
        error: str | None = None
        requests = self._session.requests
        for number, request in enumerate(requests, 1):
            self._take(request, number)
            try:
                payload = await self._chef.compile(self._info.target, model=self._info.model)
            except ContextChefError as failed:
                error = f"request {number}: {' '.join(str(failed).split())}"
                break
            done.append(await self._written(number, request, payload))
            await _quiet()
            if self._options.progress is not None:
                self._options.progress()
        turn = self._watcher.turn
        window = turn.messages if turn is not None and done else ()
        said = self._chef.history if done else ()
        retention = await retention_of(said, window, self._judge, self._book)
        faults = self._sequence_faults()
        notes = [*self._notes.lines]
        notes += [f"{note.message}" for note in self._cost.bill.diagnostics]
        return Run(
            configuration=_plain(self._info),
            requests=tuple(done),
            totals=added_up(
                done,
                summarizer_calls=self._summarizer_calls,
                summarizer_tokens=self._summarizer_tokens,
            ),
            retention=retention,
            sequence_faults=faults,
            prices=f"list prices of {self._cost.on.isoformat()}" if self._priced() else "",
            notes=tuple(notes),
            error=error,
        )

    def _priced(self) -> bool:
        return self._cost.bill.cost is not None

    def _take(self, request: SessionRequest, number: int) -> None:
        """Everything that is new by this request."""
        chef = self._chef
        if request.at is not None:
            self._clock.at = max(self._clock.at, request.at)
        elif number > 1:
            self._clock.at += self._options.pause
        if request.system is not None:
            chef.set_system_prompt(request.system)
        if request.tools is not None:
            chef.register_tools(request.tools)
        if request.keep is not None:
            chef.set_history((*chef.history[: request.keep], *request.add))
        else:
            chef.extend(request.add)
        if request.state is not None:
            self._apply(request.state)

    def _apply(self, state: Mapping[str, Any]) -> None:
        """The volatile inputs of a recording of ours, those that are gone taken back."""
        chef = self._chef
        dynamic = state.get("dynamic_state")
        if isinstance(dynamic, Mapping):
            held = cast(Mapping[str, Any], dynamic)
            chef.set_dynamic_state(
                None, held.get("value"), placement=held.get("placement", "last_user")
            )
        else:
            chef.set_dynamic_state(None, {})
        wanted = {str(item["id"]): item for item in state.get("announcements") or ()}
        for standing in chef.get_announcements():
            if standing.id not in wanted:
                chef.retract_announcement(standing.id)
        for id, item in wanted.items():
            chef.announce(id, item["content"], channel=item.get("channel", "auto"))
        chef.activate_skill(state.get("skill"))
        chef.with_guardrails(state.get("guardrails"))
        self._injected = [str(text) for text in state.get("injected") or ()]

    async def _written(
        self, number: int, request: SessionRequest, payload: Payload
    ) -> ReplayedRequest:
        turn = self._watcher.turn
        assert turn is not None
        spans = self._texts.of_turn(turn)
        kept = shared_front(self._spans, spans)
        added = tuple(spans[kept:])
        before, self._spans = self._spans, spans
        summaries, calls = self._billed_summaries()
        body: Mapping[str, Any] = payload.body if turn.adapted is None else turn.adapted.body
        data = payload.to_json()
        output = self._output(number, request)
        billed = self._cost.send(
            SentRequest(body=body, at=self._clock.at, output_tokens=output, model=self._info.model)
        )
        folds = await self._folds(turn, calls)
        repairs = self._new_repairs(turn)
        busts = bust_record(
            billed,
            self._before,
            payload,
            folds[0].strategy if folds else None,
            # A repair may have changed what stands in front of everything that the fold touched.
            None if repairs or not folds else self._by_fold(before, folds[0], kept, turn),
        )
        happened = bool(folds or repairs or busts)
        faults, checked = self._faults(number, body, happened=happened)
        self._before = payload
        if self._bound and len(self._bodies) < _MOST_BODIES:
            self._bodies.append(body)
        rows, sources = self._texts.rows, self._sources
        for span in before[kept:]:
            sources[rows[span].group] -= rows[span].tokens
        for span in added:
            sources[rows[span].group] += rows[span].tokens
        budget = turn.budget
        summarizer_cost = sum((each.cost or 0.0 for each in summaries), 0.0)
        return ReplayedRequest(
            number=number,
            at=round(self._clock.at, 3),
            messages=len(self._chef.history),
            tokens=sum(sources.values()),
            sources={group: tokens for group, tokens in sources.items() if tokens},
            limit=self._limit(None if budget is None else budget.limit),
            trigger=None if budget is None else _finite(budget.trigger),
            kept=kept,
            added=added,
            cache_read=billed.read,
            cache_written=sum(billed.written.values()),
            uncached=billed.uncached,
            output=output,
            cost=round((billed.cost or 0.0) + summarizer_cost, 10),
            summarizer_cost=round(summarizer_cost, 10),
            folds=folds,
            repairs=repairs,
            busts=busts,
            faults=faults,
            checked=checked,
            size=len(data),
            digest=hashlib.sha256(data).hexdigest()[:16],
            recorded=_recorded(request.usage),
        )

    def _by_fold(
        self, before: Sequence[int], fold: FoldRecord, kept: int, turn: CompileTurn
    ) -> str | None:
        """What the fold changed where the request parts from the one before, if that is why."""
        now = self._spans
        parting = (
            before[kept] if kept < len(before) else None,
            now[kept] if kept < len(now) else None,
        )
        of = self._texts.of_message
        return parted_by_fold(parting, self._texts.rows, fold, turn, lambda one: of(one, turn))

    def _new_repairs(self, turn: CompileTurn) -> tuple[MendedPlace, ...]:
        """What was mended here and not in the request before already."""
        found = [
            MendedPlace(rule=each.rule, where=each.where, message=each.message)
            for each in turn.repairs
        ]
        before, self._mended = self._mended, set(found)
        return tuple(each for each in found if each not in before)

    def _limit(self, limit: float | None) -> int | None:
        finite = None if limit is None else _finite(limit)
        return self._info.window if finite is None else finite

    def _output(self, number: int, request: SessionRequest) -> int:
        """Tokens of the answer, as reported or as counted."""
        if request.usage is not None and request.usage.output:
            return request.usage.output
        following = self._session.requests[number:]
        after = following[0].add if following else self._session.rest
        answer: list[Message] = []
        for message in after:
            if message.role != "assistant":
                break
            answer.append(message)
        return int(self._counter.count_messages(answer)) if answer else 0

    def _billed_summaries(self) -> tuple[list[BilledRequest], int]:
        """What the calls of the summariser since the last request cost."""
        asked, self._asked = self._asked, []
        model = self._options.summarizer_model or self._info.model
        target = cast(Provider, self._info.target)
        billed: list[BilledRequest] = []
        for messages, answer in asked:
            arguments = summary_arguments(
                messages,
                target=target,
                model=model or "",
                adapter=_ADAPTERS[target](),
                system=None,
            )
            sent = self._cost.send(
                SentRequest(
                    body=arguments,
                    at=self._clock.at,
                    output_tokens=int(self._counter.count(answer)),
                    kind="summary",
                    model=model,
                )
            )
            self._summarizer_tokens += sent.input
            billed.append(sent)
        self._summarizer_calls += len(asked)
        return billed, len(asked)

    async def _folds(self, turn: CompileTurn, calls: int) -> tuple[FoldRecord, ...]:
        result = turn.overflow
        left = tuple(message for message, _, _, _ in turn.evicted)
        changed = result is not None and (result.changed or result.clipped > 0)
        if not left and not changed:
            return ()
        assert result is not None
        places = [place for message in left for place in self._texts.of_message(message, turn)]
        facts = dict.fromkeys(fact for message in left for fact in self._book.of(message))
        fates: dict[Fate, int] = {}
        for fate in (await self._judge.fates(facts, turn.messages)).values():
            fates[fate] = fates.get(fate, 0) + 1
        summary = next(
            (
                place
                for message in turn.messages
                for place in self._texts.of_message(message, turn)
                if self._texts.rows[place].source in ("summary", "dropped")
            ),
            None,
        )
        uris = [uri for _, _, _, uri in turn.evicted if uri]
        if result.archive_uri:
            uris.append(result.archive_uri)
        return (
            FoldRecord(
                strategy=_named(result.strategy, self._info),
                left=tuple(places),
                uris=tuple(dict.fromkeys(uris)),
                summary=summary,
                tokens_left=sum(self._texts.rows[place].tokens for place in places),
                calls=calls,
                facts={fate: fates[fate] for fate in sorted(fates)},
            ),
        )

    def _faults(
        self, number: int, body: Mapping[str, Any], *, happened: bool
    ) -> tuple[tuple[FoundFault, ...], bool]:
        match self._options.check:
            case "none":
                return (), False
            case "all":
                pass
            case _:
                total = len(self._session.requests)
                few = total <= _CHECK_ALL_UP_TO
                if not (few or happened or number % 10 == 1 or number == total):
                    return (), False
        return tuple(map(_fault, self._checker.check(body))), True

    def _sequence_faults(self) -> tuple[FoundFault, ...]:
        if not self._bodies:
            return ()
        found = check_sequence(
            self._info.target, self._bodies, model=self._info.model, over_turns_only=True
        )
        return tuple(map(_fault, found))


def _binds(info: ConfigurationInfo) -> bool:
    """Whether what was sent once binds later requests: only there rules over turns can break."""
    if info.target == "openai-responses":
        return True
    profile = profile_for(info.model, cast(Provider, info.target))
    return info.target == "anthropic" and profile is not None and profile.prefix_bound_thinking


class _Shelf:
    """What the model could reach, given the tools that it has."""

    def __init__(self, chef: ContextChef) -> None:
        self._chef = chef
        names = {tool.name for tool in chef.visible_tools()}
        self._reads = bool(names & {"context", "recall_context"})
        self._searches = "context" in names

    async def read(self, address: str) -> str | None:
        if not self._reads:
            return None
        try:
            return await self._chef.resolve_recall(address.partition("#")[0], format="text")
        except ContextChefError:
            return None

    def namespaces(self) -> Sequence[NamespaceView]:
        if not self._searches:
            return ()
        view = self._chef.get_offloader().view
        return (view,) if view.supports("search") else ()


async def _quiet() -> None:
    """Let everything that works between the turns come to its end, so that runs are alike."""
    this = asyncio.current_task()
    while others := [task for task in asyncio.all_tasks() if task is not this and not task.done()]:
        await asyncio.wait(others)


def _tokenizer(settings: Mapping[str, Any]) -> Any:
    janitor = settings.get("janitor")
    return (
        cast(Mapping[str, Any], janitor).get("tokenizer") if isinstance(janitor, Mapping) else None
    )


def _has_thinking(session: RecordedSession) -> bool:
    return any(
        isinstance(block, (Thinking, RedactedThinking))
        or (isinstance(block, Opaque) and block.kind == "reasoning")
        for request in session.requests
        for message in request.add
        for block in message.content
    )


def _finite(value: float) -> int | None:
    return None if value in (float("inf"), float("-inf")) or value != value else int(value)


def _fault(fault: Fault) -> FoundFault:
    return FoundFault(rule=fault.rule, where=fault.path, message=fault.message)


def _recorded(usage: Usage | None) -> RecordedUsage | None:
    if usage is None:
        return None
    return RecordedUsage(
        prompt=usage.input,
        cache_read=usage.read,
        cache_written=sum(usage.written.values()),
        output=usage.output,
    )


def _named(strategy: str, info: ConfigurationInfo) -> str:
    """The strategy of a fold: `drop` is made of one without a model, and is not called by it."""
    return info.strategy if info.strategy == "drop" and strategy == "summarize" else strategy


def _plain(info: ConfigurationInfo) -> ConfigurationInfo:
    return ConfigurationInfo(
        name=info.name,
        target=info.target,
        model=info.model,
        window=info.window,
        strategy=info.strategy,
        settings=plain_settings(info.settings),
    )
