"""`replay()`: every session through every configuration, over the cores, put together in order."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeAlias, cast

import msgspec

from context_chef.costs import PriceTable
from context_chef.errors import ContextChefError, InputError, SettingsError, shown
from context_chef.replay.configuration import (
    COMPARED,
    NO_LIMIT,
    ReplayConfiguration,
    configuration,
)
from context_chef.replay.lines import row_of
from context_chef.replay.player import DEFAULT_PAUSE, PlayOptions, play
from context_chef.replay.read import read_sessions_of, session_files
from context_chef.replay.result import (
    RecordedUsage,
    ReplayedRequest,
    ReplayResult,
    Run,
    SessionReplay,
    SpanText,
)
from context_chef.replay.retention import FactBook
from context_chef.replay.session import RecordedSession
from context_chef.replay.spans import TextTable
from context_chef.replay.summarizers import Model, summarizing

Progress: TypeAlias = Callable[[int, int], object]
"""Told how many requests of how many are done."""
SessionLike: TypeAlias = RecordedSession | str | Path

_CHECKS: Final = ("auto", "all", "none")
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """How sessions are played, whatever the configuration.

    `summarizer` is `"extractive"` (a stand-in that copies out what matters), `"scripted"` (one that
    keeps nothing), `"PROVIDER:MODEL"` (a real model, with a key in the environment), or a
    `compression_model` of your own. `prices` is a TOML file over the built-in price list. `pause`
    is the time between requests, in seconds, where a recording does not tell. `check` says which
    requests are held to the provider's rules: `"auto"` takes all of a session of up to 200
    requests, else those in which something happened and every tenth.
    """

    summarizer: str | Model = "extractive"
    prices: str | Path | None = None
    pause: float = DEFAULT_PAUSE
    check: str = "auto"

    def __post_init__(self) -> None:
        if self.check not in _CHECKS:
            raise SettingsError(
                f"`check` cannot be {shown(self.check)}; it is one of {', '.join(_CHECKS)}."
            )
        if isinstance(self.pause, bool) or not 0 <= self.pause < inf:
            raise SettingsError(
                f"`pause` is a number of seconds, 0 or more, not {shown(self.pause)}."
            )


def replay(
    sessions: SessionLike | Iterable[SessionLike],
    configurations: Sequence[ReplayConfiguration | str] = (),
    *,
    options: ReplayOptions | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> ReplayResult:
    """What each session would have done under each configuration. Calls no provider.

    Sessions are files, folders, or what `read_session` answered. A configuration that is a string
    is a strategy by name, in the model's whole window; without any, sending everything, dropping
    and summarising are compared. `jobs` is the number of processes; 0 takes every core. Equal
    inputs give an equal result, to the byte, however many there are.

    Raises RecordingError for what cannot be read, SettingsError for settings that mean nothing.
    """
    given = [sessions] if isinstance(sessions, (RecordedSession, str, Path)) else list(sessions)
    read: list[RecordedSession] = []
    for one in given:
        read += [one] if isinstance(one, RecordedSession) else read_all([one])[0]
    return play_all(read, _configurations(configurations), options=options, jobs=jobs,
                    progress=progress)  # fmt: skip


def _configurations(given: Sequence[ReplayConfiguration | str]) -> list[ReplayConfiguration]:
    chosen: Sequence[ReplayConfiguration | str] = given or COMPARED
    return [configuration(each) if isinstance(each, str) else each for each in chosen]


def read_all(
    paths: Iterable[str | Path], format: str = "auto", *, only: str | None = None
) -> tuple[list[RecordedSession], list[str]]:
    """The sessions in files and folders, and a line for each file of a folder that holds none.

    `only` takes the sessions whose name contains it. Raises RecordingError for a named file that
    cannot be read, and when nothing is found.
    """
    found: list[RecordedSession] = []
    skipped: list[str] = []
    given = [Path(path) for path in paths]
    for path, name, inside in session_files(given):
        try:
            found += read_sessions_of(path, format, name=name)
        except InputError as error:
            if not inside:
                raise
            skipped.append(f"skipped {error}")
    if only:
        found = [session for session in found if only in session.name]
    if not found:
        where = ", ".join(map(str, given))
        why = f" whose name contains {only!r}" if only else ""
        raise InputError(f"there is no recorded session{why} in it.", path=where)
    return found, skipped


def play_all(
    sessions: Sequence[RecordedSession],
    configurations: Sequence[ReplayConfiguration],
    *,
    options: ReplayOptions | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> ReplayResult:
    """The same for sessions that were read. See `replay()`."""
    chosen = options or ReplayOptions()
    if jobs < 0:
        raise SettingsError(
            f"`jobs` is a number of processes, 0 for every core, not {shown(jobs)}."
        )
    _distinct(configurations)
    summary = _described(chosen)
    units = [(at, one) for at in range(len(sessions)) for one in configurations]
    total = sum(len(sessions[at].requests) for at, _ in units)
    workers = min(jobs if jobs > 0 else _cores(), len(units))
    if workers > 1 and isinstance(chosen.summarizer, str):
        played = _in_processes(sessions, units, chosen, workers, total, progress)
    else:
        played = _here(sessions, units, chosen, total, progress)
    return ReplayResult(
        summarizer=summary,
        counter=_counter_said(configurations),
        pauses=_pauses(sessions, chosen),
        sessions=tuple(
            _session_replay(
                session, played[at * len(configurations) :][: len(configurations)], configurations
            )
            for at, session in enumerate(sessions)
        ),
    )


def _distinct(configurations: Sequence[ReplayConfiguration]) -> None:
    names = [each.name for each in configurations]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(
                f"two configurations are named {shown(name)}; give each a `name` of its own."
            )


_Played: TypeAlias = tuple[Run, tuple[SpanText, ...]]


def _here(
    sessions: Sequence[RecordedSession],
    units: Sequence[tuple[int, ReplayConfiguration]],
    options: ReplayOptions,
    total: int,
    progress: Progress | None,
) -> list[_Played]:
    books: dict[int, FactBook] = {}
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return [
        _play_one(sessions[at], one, books.setdefault(at, FactBook()), options, step)
        for at, one in units
    ]


def _play_one(
    session: RecordedSession,
    one: ReplayConfiguration,
    book: FactBook,
    options: ReplayOptions,
    step: Callable[[], object] | None,
) -> _Played:
    texts = TextTable()
    if isinstance(options.summarizer, str):
        made = summarizing(options.summarizer)
        model, paid = made.model, made.paid
    else:
        model, paid = options.summarizer, None
    how = PlayOptions(
        summarize=model,
        summarizer_model=paid,
        prices=None if options.prices is None else PriceTable.read(Path(options.prices)),
        pause=options.pause,
        check=options.check,
        progress=step,
    )
    info = one.for_session(session)
    run = asyncio.run(play(session, info, texts, book, how))
    return run, tuple(texts.rows)


def _in_processes(
    sessions: Sequence[RecordedSession],
    units: Sequence[tuple[int, ReplayConfiguration]],
    options: ReplayOptions,
    workers: int,
    total: int,
    progress: Progress | None,
) -> list[_Played]:
    """The same in processes of their own. What takes longest begins first."""
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    pickled = [pickle.dumps(session) for session in sessions]
    order = sorted(range(len(units)), key=lambda n: (*_work_in(sessions, units[n]), n))
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(counter,))
    futures: dict[int, Future[bytes]] = {}
    others = set(multiprocessing.active_children())
    try:
        with _interrupts_held():
            for number in order:
                at, one = units[number]
                futures[number] = pool.submit(_work, at, pickled[at], one, options)
        waiting = set(futures.values())
        while waiting:
            done, waiting = wait(waiting, timeout=_POLL_SECONDS)
            for future in done:
                future.result()
            if progress is not None:
                progress(min(counter.value, total), total)
    except BrokenProcessPool as error:
        raise ContextChefError(
            "A process of the replay died, perhaps for want of memory; use fewer (`jobs=1`)."
        ) from error
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()  # nobody waits for what they were at
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    decoder = msgspec.msgpack.Decoder(tuple[Run, tuple[SpanText, ...]])
    return [decoder.decode(futures[number].result()) for number in range(len(units))]


@contextmanager
def _interrupts_held() -> Generator[None]:
    """Ctrl-C waits for the block to end. Processes that begin in it never hear of one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work_in(
    sessions: Sequence[RecordedSession], unit: tuple[int, ReplayConfiguration]
) -> tuple[int, bool, int]:
    """Sorts what takes longest to the front: long sessions, no limit, strategies of many parts."""
    at, one = unit
    unlimited = row_of(one.settings.get("janitor")).get("context_window") == NO_LIMIT
    parts = _parts(row_of(one.settings.get("overflow")).get("strategy"))
    return -len(sessions[at].requests), not unlimited, -parts


def _parts(strategy: Any) -> int:
    """Of how many strategies that one is made."""
    if isinstance(strategy, list):
        return sum(map(_parts, cast("list[Any]", strategy)))
    inner = row_of(strategy).get("inner")
    return 1 if inner is None else 1 + _parts(inner)


_counter: Any = None
_held: dict[int, tuple[RecordedSession, FactBook]] = {}
"""What a worker process knows: set up by `_begin`, never in the process that asks."""


def _begin(counter: Any) -> None:
    global _counter
    _counter = counter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked ends us
    Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _end_with(parent: Any) -> None:
    """End this process when the one that asked is gone: killed, it can tell nobody to."""
    parent.join()
    os._exit(1)


def _work(at: int, pickled: bytes, one: ReplayConfiguration, options: ReplayOptions) -> bytes:
    if at not in _held:
        _held.clear()  # a session and its facts at a time
        _held[at] = (pickle.loads(pickled), FactBook())  # our own parent wrote it
    session, book = _held[at]
    try:
        played = _play_one(session, one, book, options, _count)
    except ContextChefError as error:
        # Errors with arguments of their own do not cross processes.
        raise SettingsError(str(error)) from None
    return msgspec.msgpack.encode(played)


def _count() -> None:
    with _counter.get_lock():
        _counter.value += 1


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _session_replay(
    session: RecordedSession,
    played: Sequence[_Played],
    configurations: Sequence[ReplayConfiguration],
) -> SessionReplay:
    """The runs of one session, their spans in one table."""
    texts: dict[SpanText, int] = {}
    runs: list[Run] = []
    for run, rows in played:
        places = [texts.setdefault(row, len(texts)) for row in rows]
        runs.append(_moved(run, places))
    stand_ins = dict.fromkeys(note for one in configurations if (note := one.stand_in(session)))
    usage = [request.usage for request in session.requests if request.usage is not None]
    recorded = RecordedUsage(
        prompt=sum(each.input for each in usage),
        cache_read=sum(each.read for each in usage),
        cache_written=sum(sum(each.written.values()) for each in usage),
        output=sum(each.output for each in usage),
    )
    return SessionReplay(
        name=session.name,
        format=session.format,
        messages=len(session.messages),
        requests=len(session.requests),
        model=session.model,
        recorded=recorded if usage else None,
        recorded_requests=len(usage),
        texts=tuple(texts),
        runs=tuple(runs),
        notes=(*session.notes, *stand_ins),
    )


def _moved(run: Run, places: Sequence[int]) -> Run:
    if all(place == at for at, place in enumerate(places)):
        return run
    return msgspec.structs.replace(
        run, requests=tuple(_moved_request(request, places) for request in run.requests)
    )


def _moved_request(request: ReplayedRequest, places: Sequence[int]) -> ReplayedRequest:
    folds = tuple(
        msgspec.structs.replace(
            fold,
            left=tuple(places[at] for at in fold.left),
            summary=None if fold.summary is None else places[fold.summary],
        )
        for fold in request.folds
    )
    return msgspec.structs.replace(
        request, added=tuple(places[at] for at in request.added), folds=folds
    )


def _described(options: ReplayOptions) -> str:
    if isinstance(options.summarizer, str):
        return summarizing(options.summarizer).said
    return "Summaries were made by a function of yours."


def _counter_said(configurations: Sequence[ReplayConfiguration]) -> str:
    names = {
        str(row_of(each.settings.get("janitor")).get("tokenizer") or "an estimate")
        for each in configurations
    }
    return " and ".join(sorted(names))


def _pauses(sessions: Sequence[RecordedSession], options: ReplayOptions) -> str:
    timed = sum(session.timed for session in sessions)
    if timed == len(sessions):
        return "Times between requests are those of the recording."
    assumed = f"{options.pause:g} seconds between requests are assumed"
    if not timed:
        return f"The recording does not say when requests were made: {assumed}."
    return f"Where a recording does not say when requests were made, {assumed}."
