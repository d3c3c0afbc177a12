"""Cases about pairing, counting, compaction, cancelling, concurrency and cut-off summaries."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from context_chef import (
    ContextChef,
    FileSystemBackend,
    InMemoryBackend,
    Message,
    Payload,
    ToolCall,
    clear,
    from_anthropic,
    reset,
    resolve_tokenizer,
    summarize,
)
from context_chef.testing.doubles import CharacterTokenizer, RecordingLogger, ScriptedModel
from tests.cases.notation import case

Rows = list[Any]


def plain_turns(count: int, size: int = 200) -> Rows:
    rows: Rows = []
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        rows.append({"role": role, "content": f"turn {number} " + "w" * size})
    return rows


def tool_rounds(count: int, size: int = 800) -> Rows:
    rows: Rows = []
    for number in range(count):
        call = ToolCall(id=f"c{number}", name="run", arguments=f'{{"n":{number}}}')
        rows.append(Message.assistant("", tool_calls=[call]))
        rows.append(Message.tool(f"out {number} " + "o" * size, tool_call_id=call.id, name="run"))
    return rows


def over(window: int = 4_000, *, model: Any = None, **overflow: Any) -> ContextChef:
    """A chef whose window is counted in characters."""
    if model is not None:
        overflow["strategy"] = summarize(compression_model=model, preserve_ratio=0.5)
    return ContextChef(
        janitor={"context_window": window, "tokenizer": CharacterTokenizer()},
        overflow={"archive": "vfs", **overflow},
        store=InMemoryBackend(),
        logger=RecordingLogger(),
    )


def pairs_are_whole(payload: Payload) -> bool:
    calls = [c["id"] for m in payload["messages"] for c in m.get("tool_calls") or []]
    results = [m["tool_call_id"] for m in payload["messages"] if m["role"] == "tool"]
    return calls == results


# Pairing ---------------------------------------------------------------------------------------


def test_br_003_the_newest_result_is_shortened_and_its_call_stays() -> None:
    given = case("BR-003")["input"]
    chef = ContextChef(janitor={"context_window": given["window_tokens"]})

    payload = chef.set_history(given["history"]).compile_sync()

    assert [message["role"] for message in payload["messages"]][-2:] == ["assistant", "tool"]
    assert pairs_are_whole(payload)
    assert any(m["role"] == "user" and m["content"] == "task" for m in payload["messages"])
    assert payload.report.budget is not None
    assert payload.report.budget.current <= given["window_tokens"]


# Tokens ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", [None, "o200k_base", "cl100k_base"])
def test_br_045_control_words_are_ordinary_text(tokenizer: str | None) -> None:
    counter = resolve_tokenizer(tokenizer)
    for text in case("BR-045")["input"]["texts"]:
        call = ToolCall(id="c1", name="read", arguments="{}")
        chef = ContextChef(janitor={"tokenizer": tokenizer, "context_window": 10_000})
        chef.set_history(
            [
                Message.user("read"),
                Message.assistant("", tool_calls=[call]),
                Message.tool(text, tool_call_id="c1", name="read"),
            ]
        )

        assert counter.count(text) > 0
        assert chef.compile_sync()["messages"][-1]["content"] == text


def test_br_046_an_image_costs_what_an_image_costs() -> None:
    def tokens(size: int) -> float:
        given = case("BR-046")["input"]["history"]
        source = given[0]["content"][0]["source"]
        source["data"] = source["data"][: size // 3 * 4]
        image = from_anthropic(given).messages[0]
        words = image.replace(content=image.content[1:])
        counter = resolve_tokenizer(None)
        return counter.count_message(image) - counter.count_message(words)

    large, small = tokens(3_000_000), tokens(39_999)
    assert 1 <= small <= 10_000
    assert 1 <= large <= 10_000
    assert max(large, small) < 10 * min(large, small)

    given = case("BR-046")["input"]
    chef = ContextChef(janitor={"context_window": given["window_tokens"]})
    chef.set_history(from_anthropic(given["history"]).messages)
    payload = chef.compile_sync("anthropic")
    assert payload.report.budget is not None
    assert not payload.report.budget.over
    assert chef.window == chef.history


def test_br_048_tools_and_system_prompt_are_in_the_budget() -> None:
    chef = ContextChef(janitor={"context_window": 20_000})
    chef.register_tools(
        [
            {
                "name": f"tool_{n}",
                "description": "Looks it up in a table. " * 50,
                "parameters": {"type": "object"},
            }
            for n in range(60)
        ]
    )
    chef.set_history([{"role": "user", "content": "hi"}])

    bare = ContextChef(janitor={"context_window": 20_000})
    bare.set_history([{"role": "user", "content": "hi"}])
    budget = chef.compile_sync().report.budget
    least = bare.compile_sync().report.budget
    chef.set_system_prompt("Follow the rules. " * 100)
    prompted = chef.compile_sync().report.budget

    assert budget is not None
    assert least is not None
    assert prompted is not None
    assert least.current < 100 < 5_000 < budget.current < prompted.current


# Compaction ------------------------------------------------------------------------------------


def test_br_052_what_is_not_history_does_not_start_a_summary_every_time() -> None:
    given = case("BR-052")["input"]
    model = ScriptedModel("<summary>S</summary>")
    logger = RecordingLogger()
    chef = ContextChef(
        janitor={
            "context_window": given["window_tokens"],
            "trigger_ratio": given["trigger"],
            "tokenizer": CharacterTokenizer(),
        },
        overflow={"strategy": summarize(compression_model=model)},
        logger=logger,
    )
    chef.set_system_prompt("s" * given["fixed_overhead_tokens"]).set_history(given["history"])

    for _ in range(5):
        payload = chef.compile_sync()
        chef.report_token_usage(3_700)

    assert len(model.calls) <= 1
    assert any("not history" in warning for warning in logger.warnings)
    assert payload["messages"][-1]["content"] == "next"


def test_br_053_a_history_above_the_window_is_summarised_in_parts_or_cut() -> None:
    given = case("BR-053")["input"]
    counter = resolve_tokenizer("o200k_base")

    def model(messages: Sequence[Message]) -> str:
        if counter.count_messages(messages) > given["window_tokens"]:
            raise ValueError("too large for the summariser")
        return "<summary>The user has a task; grep found abc.</summary>"

    chef = ContextChef(
        janitor={"context_window": given["window_tokens"], "tokenizer": "o200k_base"},
        overflow={"strategy": summarize(compression_model=model), "archive": "vfs"},
        store=InMemoryBackend(),
    ).set_history(given["history"])

    payload = chef.compile_sync()

    assert counter.count_messages(chef.window) <= given["window_tokens"]
    assert "task" in str(payload)
    assert payload["messages"][-1]["content"] == "go on"
    stored = [
        chef.resolve_recall_sync(span.uri) or ""
        for span in payload.report.spans
        if span.uri is not None
    ]
    assert any("abc " * 40_000 in text for text in stored)
    assert payload.to_json() == chef.compile_sync().to_json()


@pytest.mark.parametrize("answer", case("BR-056")["input"]["summariser_returns"])
def test_br_056_a_blank_answer_changes_nothing_and_counts(answer: Any) -> None:
    logger = RecordingLogger()
    chef = ContextChef(
        janitor={"context_window": 10_000, "tokenizer": CharacterTokenizer()},
        overflow={"strategy": summarize(compression_model=ScriptedModel(answer))},
        logger=logger,
    )
    rows = plain_turns(30, size=230)

    payload = chef.set_history(rows).compile_sync()

    assert [message["content"] for message in payload["messages"]] == [
        row["content"] for row in rows
    ]
    assert chef.snapshot_sync().janitor["consecutive_failures"] == 1
    assert any("failed" in warning for warning in logger.warnings)


def test_br_057_ten_rounds_leave_one_wrapper_and_one_size() -> None:
    def model(messages: Sequence[Message]) -> str:
        return f"<summary>{' '.join(m.text for m in messages)[:500]}</summary>"

    chef = over(4_000, model=model)
    sizes: list[int] = []
    number = 0
    for _ in range(10):
        for _ in range(20):
            number += 1
            role = "assistant" if number % 2 else "user"
            chef.append({"role": role, "content": f"short turn {number} " + "s" * 150})
        text = str(chef.compile_sync())
        sizes.append(len(text))
        assert text.count("continues an earlier one that ran out of room") == 1

    assert max(sizes[2:]) < 1.5 * min(sizes[2:])


def test_br_059_a_run_with_one_user_message_is_cut_between_its_rounds() -> None:
    chef = ContextChef(
        janitor={"context_window": 6_000, "tokenizer": "o200k_base"},
        overflow={"strategy": summarize(compression_model=ScriptedModel("S"))},
    )
    chef.set_history(
        [Message.system("be brief"), Message.user("TASK"), *tool_rounds(60, size=1_100)]
    )

    payload = chef.compile_sync()

    assert resolve_tokenizer("o200k_base").count_messages(chef.window) <= 6_000
    assert "TASK" in [message["content"] for message in payload["messages"]]
    assert pairs_are_whole(payload)
    assert "out 59" in payload["messages"][-1]["content"]
    assert "out 3 " not in str(payload)


@pytest.mark.parametrize("place", ["system prompt", "pinned"])
def test_br_060_the_rule_stands_word_for_word(place: str) -> None:
    rule = case("BR-060")["input"]["history"][0]["content"]
    chef = over(model=ScriptedModel("S"))
    rows = plain_turns(40)
    if place == "pinned":
        rows.insert(0, {"role": "user", "content": rule, "pinned": True})
    else:
        chef.set_system_prompt(rule)

    payload = chef.set_history(rows).compile_sync()

    assert len(chef.window) < 40
    assert rule in [message["content"] for message in payload["messages"]]


def test_br_063_an_old_figure_starts_nothing_again() -> None:
    model = ScriptedModel("<summary>S</summary>")
    chef = ContextChef(
        janitor={"context_window": 200_000, "tokenizer": "o200k_base"},
        overflow={"strategy": summarize(compression_model=model, preserve_recent_messages=2)},
    ).set_history(plain_turns(20))
    chef.report_token_usage(180_000)
    chef.compile_sync()
    assert len(model.calls) == 1

    chef.append({"role": "user", "content": "short"}).compile_sync()

    assert len(model.calls) == 1


@pytest.mark.parametrize(
    "strategy",
    [
        summarize(compression_model=ScriptedModel("S"), preserve_ratio=0.5),
        reset(),
        clear(keep_recent=2, min_gain=0.0),
    ],
    ids=lambda strategy: strategy.name,
)
def test_br_065_the_task_survives_every_way_of_making_room(strategy: Any) -> None:
    given = case("BR-065")["input"]["history"]
    chef = over(20_000, strategy=strategy).set_history([*given, *tool_rounds(50)])

    payload = chef.compile_sync()

    texts = [message.get("content") for message in payload["messages"]]
    assert "ORIGINAL TASK" in texts
    newer = [at for at, text in enumerate(texts) if text and text.startswith("out ")]
    assert texts.index("ORIGINAL TASK") < min(newer)
    assert pairs_are_whole(payload)


# Cancelling ------------------------------------------------------------------------------------


async def test_br_133_a_cancelled_overflow_is_not_recorded_as_done() -> None:
    slow = asyncio.Event()
    answers = 0

    async def model(messages: Sequence[Message]) -> str:
        nonlocal answers
        answers += 1
        if answers == 2:
            await slow.wait()
        return f"<summary>S{answers}</summary>"

    chef = over(4_000, model=model).set_history(plain_turns(20))
    await chef.compile()
    chef.extend(plain_turns(20))
    before = await chef.snapshot()
    task = asyncio.ensure_future(chef.compile())
    while answers < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    after = await chef.snapshot()

    assert (after.transcript, after.janitor) == (before.transcript, before.janitor)
    slow.set()
    payload = await chef.compile()

    assert payload.report.budget is not None
    assert payload.report.budget.current <= 4_000
    stored = [span.uri for span in payload.report.spans if span.place == "out"]
    assert stored
    assert all(uri and chef.resolve_recall_sync(uri) for uri in stored)


async def _never(*_: object) -> Any:
    await asyncio.sleep(10)


class _SlowBackend(InMemoryBackend):
    async def write(self, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(10)


def _slow_chef(where: str) -> ContextChef:
    options: dict[str, Any] = {"compression_model": ScriptedModel("<summary>S</summary>")}
    if where == "summariser":
        options["compression_model"] = _never
    if where == "validate hook":
        options["validate_compression"] = _never
    chef = ContextChef(
        janitor={"context_window": 4_000, "tokenizer": CharacterTokenizer()},
        overflow={"strategy": summarize(**options), "archive": "vfs"},
        store=_SlowBackend() if where == "store backend await" else InMemoryBackend(),
    )
    if where == "before-assemble hook":
        chef.use("before-assemble", _never)
    return chef.set_history(plain_turns(20))


@pytest.mark.parametrize("by", ["timeout", "cancel"])
@pytest.mark.parametrize("where", case("BR-135")["input"]["where"])
async def test_br_135_a_cancellation_reaches_the_caller(where: str, by: str) -> None:
    chef = _slow_chef(where)
    before = await chef.snapshot()

    if by == "timeout":
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(chef.compile(), 0.02)
    else:
        task = asyncio.ensure_future(chef.compile())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    after = await chef.snapshot()
    janitor = dict(after.janitor)
    # An answer that came before the cancellation is paid for: it waits for the next compile.
    assert list(janitor.pop("paid", {}).values()) == (["S"] if where != "summariser" else [])
    assert janitor["consecutive_failures"] == 0
    assert (after.transcript, janitor) == (before.transcript, before.janitor)


# Concurrency -----------------------------------------------------------------------------------


async def test_br_128_two_calls_at_once_do_not_mix() -> None:
    async def slow(messages: Sequence[Message]) -> str:
        await asyncio.sleep(0.01)
        marker = "AAA" if any("AAA" in m.text for m in messages) else "BBB"
        return f"<summary>about {marker}</summary>"

    def rows(marker: str) -> Rows:
        return [{**row, "content": f"{marker} {row['content']}"} for row in plain_turns(20)]

    chef = over(4_000, model=slow)
    one = asyncio.ensure_future(chef.set_history(rows("AAA")).compile())
    await asyncio.sleep(0.001)
    two = asyncio.ensure_future(chef.set_history(rows("BBB")).compile())
    first, second = await asyncio.gather(one, two)
    last = await chef.compile()
    fresh = await over(4_000, model=slow).set_history(rows("BBB")).compile()

    for payload in (first, second, last):
        assert ("AAA" in str(payload)) != ("BBB" in str(payload))
    assert last["messages"] == second["messages"]
    assert [m["role"] for m in last["messages"]] == [m["role"] for m in fresh["messages"]]
    assert last["messages"][1:] == fresh["messages"][1:]


def _edit(command: dict[str, Any], folder: str) -> str:
    chef = ContextChef(store=FileSystemBackend(folder), tools="unified")
    return chef.handle_tool_sync({"name": "context", "arguments": command})


PATH = "context://notes/entry.txt"
EDITS = [
    {"command": "str_replace", "path": PATH, "old_str": f"{side}=1", "new_str": f"{side}=2"}
    for side in ("left", "right")
]


def _by_threads(folder: str) -> list[str]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda edit: _edit(edit, folder), EDITS))


def _by_processes(folder: str) -> list[str]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        return pool.starmap(_edit, [(edit, folder) for edit in EDITS])


def _by_gather(folder: str) -> list[str]:
    chef = ContextChef(store=FileSystemBackend(folder), tools="unified")

    async def both() -> list[str]:
        calls = [{"name": "context", "arguments": edit} for edit in EDITS]
        return list(await asyncio.gather(*map(chef.handle_tool, calls)))

    return asyncio.run(both())


@pytest.mark.parametrize(
    ("at_once", "times"), [(_by_gather, 50), (_by_threads, 50), (_by_processes, 2)]
)
def test_br_129_no_edit_is_lost(
    at_once: Callable[[str], list[str]], times: int, tmp_path: Path
) -> None:
    for number in range(times):
        folder = str(tmp_path / str(number))
        made = _edit({"command": "create", "path": PATH, "file_text": "left=1\nright=1\n"}, folder)
        assert not made.startswith("Error")

        answers = at_once(folder)

        text = _edit({"command": "view", "path": PATH}, folder)
        for side, answer in zip(("left", "right"), answers, strict=True):
            assert (f"{side}=2" in text) or answer.startswith("Error"), (answers, text)


# Streams ---------------------------------------------------------------------------------------


def _breaks_off(messages: Sequence[Message]) -> str:
    text = "".join(["The user", " wants"])
    raise ConnectionError(f"the stream ended after {text!r}")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (_breaks_off, {}),
        (ScriptedModel("<summary>The user wants"), {}),
        (
            ScriptedModel("The user wants"),
            {"validate_compression": lambda summary, check: summary.endswith(".")},
        ),
    ],
    ids=["raises", "tag left open", "rejected by the caller"],
)
def test_br_137_half_a_summary_replaces_nothing(model: Any, options: dict[str, Any]) -> None:
    chef = ContextChef(
        janitor={"context_window": 10_000, "tokenizer": CharacterTokenizer()},
        overflow={"strategy": summarize(compression_model=model, **options)},
        logger=RecordingLogger(),
    ).set_history(plain_turns(30, size=230))

    payload = chef.compile_sync()

    assert "The user wants" not in str(payload)
    assert len(payload["messages"]) == 30
    assert chef.snapshot_sync().janitor["consecutive_failures"] == 1
