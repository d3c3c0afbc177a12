"""Results to make pages of: a small real one, a hostile one, a large one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from context_chef.replay import (
    BustRecord,
    ConfigurationInfo,
    Fact,
    FoldRecord,
    FoundFault,
    MendedPlace,
    ReplayedRequest,
    ReplayResult,
    Retention,
    Run,
    SessionReplay,
    SpanText,
    configuration,
    read_session,
    replay,
)
from context_chef.replay.result import added_up
from tests.replay.sessions import chat, write

HARM = (
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 2'>",
    "\u2028window.harmed = 3\u2029",
    '"><svg onload=window.harmed=4>',
    "<!--<script>",
    "]]>&lt;b&gt; \x00 \ud800 \u202e desrever",
    "javascript:window.harmed=5",
)


@cache
def small() -> ReplayResult:
    """A real session of a dozen requests under two strategies that fold."""
    with TemporaryDirectory() as folder:
        session = read_session(write(Path(folder) / "agent.json", chat(12, words=300)))
    return replay(
        session,
        [configuration(name, window="35%") for name in ("drop", "clear+summarize")],
    )


def hostile() -> ReplayResult:
    """Harm in every place where a session or a setting can put text."""
    texts = tuple(
        SpanText(source=harm, group="user", role=harm, text=harm, tokens=10) for harm in HARM
    )
    every = "".join(HARM)
    place = {"rule": every, "where": every, "message": every}
    requests = tuple(
        ReplayedRequest(
            number=number, tokens=70, sources={"user": 70}, limit=60, messages=7,
            kept=0 if number == 1 else 7, added=tuple(range(7)) if number == 1 else (),
            uncached=70, digest=every, checked=True,
            folds=(FoldRecord(strategy=every, left=tuple(range(7)), uris=HARM, summary=0,
                              facts={"lost": 2}),),
            busts=(BustRecord(cause=every, name=every, message=every, rebilled=5),),
            repairs=(MendedPlace(**place),),
            faults=(FoundFault(**place),),
        )
        for number in (1, 2)
    )  # fmt: skip
    runs = tuple(
        Run(
            configuration=ConfigurationInfo(
                name=name, target=every, model=every, strategy=every, window=60
            ),
            requests=requests,
            totals=added_up(requests),
            retention=Retention(
                counts={"rule": {"lost": 7}},
                lost=tuple(Fact(kind="rule", text=harm, fate="lost", message=0) for harm in HARM),
                evicted_messages=7,
            ),
            sequence_faults=(FoundFault(**place),),
            notes=HARM,
            error=every,
            prices=every,
        )
        for name in HARM[:2]
    )
    session = SessionReplay(
        name=every, format=every, model=every, requests=2, messages=7, texts=texts, runs=runs,
        notes=HARM,
    )  # fmt: skip
    return ReplayResult(summarizer=every, counter=every, pauses=every, sessions=(session,))


def large(*, requests: int, runs: int) -> ReplayResult:
    """Long sessions whose system prompt changes in every request."""
    body = "A line of a file that the agent read. " * 60
    prompts = [
        SpanText(source="system_prompt", group="system", text=f"It is {n}.", tokens=50)
        for n in range(requests)
    ]
    said = [
        SpanText(source="history", group="tool results", role="tool", text=f"{n}: {body}",
                 tokens=500)
        for n in range(requests)
    ]  # fmt: skip
    rows: list[ReplayedRequest] = []
    for number in range(1, requests + 1):
        tokens = 50 + 500 * number
        spans = (number - 1, *range(requests, requests + number))
        rows.append(
            ReplayedRequest(
                number=number, at=15.0 * number, messages=2 * number, tokens=tokens, added=spans,
                sources={"system": 50, "tool results": tokens - 50}, limit=10**9,
                cache_read=tokens // 2, uncached=tokens - tokens // 2, cost=tokens / 1e6,
                digest=f"{number:016x}", size=4 * tokens,
                busts=(BustRecord(cause="setter", name="system_prompt", rebilled=tokens),),
            )
        )  # fmt: skip
    session = SessionReplay(
        name="long", format="openai", messages=2 * requests, requests=requests,
        texts=(*prompts, *said),
        runs=tuple(
            Run(
                configuration=ConfigurationInfo(name=f"c{n}", target="openai"),
                requests=tuple(rows), totals=added_up(rows), prices="list prices",
            )
            for n in range(runs)
        ),
    )  # fmt: skip
    return ReplayResult(sessions=(session,))
