"""Whatever a session did: a snapshot of it, restored in a fresh process, gives the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from context_chef import (
    ChefSnapshot,
    ContextChef,
    MemoryConfig,
    Message,
    OverflowConfig,
    ToolError,
    anchored,
    chain,
    clear,
    reset,
    server,
)
from context_chef import summarize as summarizing
from tests.histories import histories, odd_tool_names, tool_names, words
from tests.properties.restore_worker import TARGETS, answer, compiled, make, summarize
from tests.shared_data import ROOT

NAMES = st.sampled_from(["10", "9", "b", "a", "z"])

TOOLS = st.fixed_dictionaries(
    {"name": tool_names | odd_tool_names.filter(str.strip), "description": words},
    optional={
        "parameters": st.sampled_from(
            [
                {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
                {"path": {"type": "string"}},
                {"type": "string"},
            ]
        ),
        "tags": st.lists(words, max_size=2),
        "defer_loading": st.booleans(),
        "strict": st.booleans(),
    },
)


class Worker:
    """A fresh process, with another hash seed than this one has."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.properties.restore_worker"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "4242"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def answer(self, snapshot: bytes) -> dict[str, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(snapshot.decode()) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@st.composite
def sessions(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """What a program does with a chef, step by step."""
    step = st.one_of(
        st.tuples(st.just("said"), histories(max_turns=3)),
        st.tuples(st.just("compile"), st.sampled_from(list(TARGETS))),
        st.tuples(st.just("compile"), st.just("anthropic")),
        st.tuples(st.just("state"), st.dictionaries(words, words, max_size=3)),
        st.tuples(st.just("announce"), st.tuples(NAMES, words)),
        st.tuples(st.just("retract"), NAMES),
        st.tuples(st.just("remember"), st.tuples(NAMES, words)),
        st.tuples(st.just("forget"), NAMES),
        st.tuples(st.just("tools"), st.lists(TOOLS, max_size=3)),
        st.tuples(st.just("prune"), st.integers(0, 3)),
        st.tuples(st.just("block"), st.lists(NAMES, max_size=2)),
        st.tuples(st.just("toolkits"), st.just(None)),
        st.tuples(st.just("skill"), st.tuples(NAMES, words)),
        st.tuples(st.just("guardrails"), st.sampled_from([None, {"prefill": "<o>"}])),
        st.tuples(st.just("new-context"), st.just(None)),
        st.tuples(st.just("usage"), st.integers(0, 4_000)),
        st.tuples(st.just("rewind"), st.integers(0, 4)),
        st.tuples(st.just("big-result"), st.integers(1_000, 3_000)),
    )
    return draw(st.lists(step, min_size=1, max_size=14))


def play(chef: ContextChef, steps: list[tuple[str, Any]]) -> None:
    for what, given_ in steps:
        match what:
            case "said":
                chef.extend(given_)
            case "compile":
                compiled(chef, given_)
            case "state":
                chef.set_dynamic_state(None, given_)
            case "announce":
                chef.announce(*given_)
            case "retract":
                chef.retract_announcement(given_)
            case "remember":
                chef.get_memory().set_sync(*given_)
            case "forget":
                chef.get_memory().delete_sync(given_)
            case "tools":
                own = {"context", "new_context", "create_memory", "modify_memory", "recall_context"}
                unique = {tool["name"]: tool for tool in given_}
                with suppress(ToolError):  # what cannot be registered leaves what was there
                    chef.register_tools([tool for name, tool in unique.items() if name not in own])
            case "prune":
                pruner = chef.get_pruner()
                names = [tool.name for tool in pruner.all_tools][:given_]
                pruner.apply(pruner.allow_only(names))
            case "block":
                chef.get_pruner().set_blocked_tools(given_)
            case "toolkits":
                kit = {"name": "kit", "description": "d", "tools": [{"name": "inner"}]}
                chef.register_toolkits([kit])
            case "skill":
                name, text = given_
                chef.register_skills([{"name": name, "description": "d", "instructions": text}])
                chef.activate_skill(name)
            case "guardrails":
                chef.with_guardrails(given_)
            case "new-context":
                chef.request_new_context()
            case "usage":
                chef.report_token_usage(given_)
            case "rewind":
                chef.set_history(chef.history[: max(0, len(chef.history) - given_)])
            case "big-result":
                call = {"id": "big", "type": "function"}
                call = {**call, "function": {"name": "run", "arguments": "{}"}}
                chef.append({"role": "assistant", "content": "", "tool_calls": [call]})
                chef.append(Message.tool("line\n" * (given_ // 5), tool_call_id="big", name="run"))
            case _:
                raise AssertionError(what)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(sessions())
@example([("skill", ("10", "0")), ("compile", "anthropic")])  # restored with its words alone
def test_a_restored_session_gives_the_same_bytes_in_a_fresh_process(
    worker: Worker, steps: list[tuple[str, Any]]
) -> None:
    chef = make().set_system_prompt("Rules.")
    play(chef, steps)
    snapshot = chef.snapshot_sync(include=["notes", "vfs"])
    data = snapshot.to_json()

    there = worker.answer(data)

    for target in TARGETS:
        assert compiled(chef.fork_sync(), target) == there[target], target
    assert answer(data.decode()) == there
    assert ChefSnapshot.from_json(data) == snapshot


def often_down(messages: Any) -> str:
    """A summariser that fails for some conversations, always for the same ones."""
    summary = summarize(messages)
    if int(summary.removeprefix("<summary>")[:1], 16) < 6:
        raise OSError("the model is down")
    return summary


STRATEGIES = {
    "reset": reset,
    "summarize": lambda: summarizing(compression_model=summarize),
    "summarize, often down": lambda: summarizing(compression_model=often_down),
    "anchored, often down": lambda: anchored(compression_model=often_down),
    "chain": lambda: chain(clear(), summarizing(compression_model=often_down), reset()),
    "server": lambda: server(fallback=reset()),
}


@st.composite
def configurations(draw: st.DrawFn) -> Callable[[], dict[str, Any]]:
    """Settings that change what a session keeps between compiles, made anew for each chef."""
    strategy = STRATEGIES[draw(st.sampled_from(list(STRATEGIES)))]
    keep = draw(st.sampled_from(["chef", "caller"]))
    ttl = draw(st.integers(1, 4))
    chosen = {
        "tail": draw(st.sampled_from(["auto", "append", "replace"])),
        "cache": draw(st.sampled_from([None, "auto"])),
        "tool_changes": draw(st.sampled_from(["report", "inline"])),
        "tools": draw(st.sampled_from(["legacy", "unified"])),
        "skill_placement": draw(st.sampled_from(["after_system", "tail"])),
        "deferred_tools": draw(st.sampled_from(["send", "omit"])),
    }
    return lambda: {
        **chosen,
        "janitor": {"context_window": 3_000, "trigger_ratio": 0.5, "tokenizer": len},
        "overflow": OverflowConfig(strategy=strategy(), archive="vfs", keep=keep),
        "memory": MemoryConfig(default_ttl={"turns": ttl}),
    }


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(configurations(), sessions(), sessions())
def test_a_restored_session_goes_on_as_the_first_one_does(
    configured: Callable[[], dict[str, Any]],
    before: list[tuple[str, Any]],
    after: list[tuple[str, Any]],
) -> None:
    first = make(**configured()).set_system_prompt("Rules.")
    play(first, before)
    data = first.snapshot_sync(include=["notes", "vfs", "archive"]).to_json()

    second = make(**configured())
    second.restore_sync(ChefSnapshot.from_json(data), skills="snapshot")

    assert second.snapshot_sync(include=["notes", "vfs", "archive"]).to_json() == data
    for step, target in zip([*after, *after], [*TARGETS] * 7, strict=False):
        assert compiled(first, target) == compiled(second, target), (step, target)
        play(first, [step])
        play(second, [step])
