"""The same request again, as after a network error, is the same bytes, whatever the settings."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_chef import (
    ChefSnapshot,
    ContextChef,
    InMemoryBackend,
    Message,
    WindowFullError,
    anchored,
    background,
    chain,
    clear,
    reset,
    summarize,
)
from context_chef.testing.doubles import CharacterTokenizer, RecordingLogger, numbered_windows

MODELS = [
    ("openai", None),
    ("openai", "gpt-5.6"),
    ("openai-responses", "gpt-5.6"),
    ("anthropic", None),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-5-5"),
    ("gemini", "gemini-3-pro-preview"),
]


def _summary(messages: Any) -> str:
    return f"<summary>{len(messages)} messages went well.</summary>"


STRATEGIES = {
    "clear": lambda: clear(keep_recent=1, min_gain=0.0),
    "reset": lambda: reset(),
    "summarize": lambda: summarize(compression_model=_summary),
    "dropping": lambda: summarize(preserve_ratio=0.4),
    "anchored": lambda: anchored(compression_model=_summary),
    "chain": lambda: chain(clear(keep_recent=1), summarize(compression_model=_summary), reset()),
    "background": lambda: background(summarize(compression_model=_summary)),
}
TOOLS = [{"name": f"tool_{n}", "description": "does it " * 20, "parameters": {}} for n in range(3)]

steps = st.one_of(
    st.tuples(st.just("say"), st.integers(0, 400)),
    st.tuples(st.just("call"), st.integers(0, 900)),
    st.tuples(st.just("state"), st.integers(0, 60)),
    st.tuples(st.just("announce"), st.integers(0, 3)),
    st.tuples(st.just("retract"), st.integers(0, 3)),
    st.tuples(st.just("remember"), st.integers(0, 80)),
    st.tuples(st.just("guard"), st.integers(0, 3)),
    st.tuples(st.just("tools"), st.integers(0, 3)),
    st.tuples(st.just("skill"), st.integers(0, 2)),
    st.tuples(st.just("new window"), st.just(0)),
    st.tuples(st.just("usage"), st.integers(100, 3_000)),
    st.tuples(st.just("rewind"), st.integers(1, 3)),
    st.tuples(st.just("target"), st.integers(0, len(MODELS) - 1)),
)
configs = st.fixed_dictionaries(
    {
        "tail": st.sampled_from(["auto", "append", "replace"]),
        "cache": st.sampled_from([None, "auto"]),
        "tools": st.sampled_from(["legacy", "unified"]),
        "tool_changes": st.sampled_from(["report", "inline"]),
        "skill_placement": st.sampled_from(["after_system", "tail"]),
        "memory_placement": st.sampled_from(["after_system", "before_history_tail"]),
        "window": st.sampled_from([3_000, 5_000, 12_000]),
        "handoff": st.booleans(),
        "strategy": st.sampled_from(sorted(STRATEGIES)),
    }
)


def chef_of(config: dict[str, Any]) -> ContextChef:
    handoff = {"budget_tokens": 1_500} if config["handoff"] and config["tail"] == "append" else None
    chef = ContextChef(
        janitor={"context_window": config["window"], "tokenizer": CharacterTokenizer()},
        overflow={
            "strategy": STRATEGIES[config["strategy"]](),
            "archive": "vfs",
            "oversize": "clip",
            "handoff": handoff,
        },
        memory={"memory_placement": config["memory_placement"]},
        store=InMemoryBackend(),
        new_window_id=numbered_windows(),
        logger=RecordingLogger(),
        clock=lambda: 1_000,
        **{
            name: config[name]
            for name in ("tail", "cache", "tools", "tool_changes", "skill_placement")
        },
    )
    skills = [{"name": f"skill{n}", "description": "d", "instructions": "do " * 20} for n in (0, 1)]
    return chef.register_skills(skills).set_system_prompt("Keep to the rules. " * 8)


def play(chef: ContextChef, what: str, size: int, number: int) -> None:
    match what:
        case "say":
            chef.append(Message.user(f"<{number}> question " + "q" * size))
        case "call":
            call = {"id": f"c{number}", "function": {"name": "look", "arguments": "{}"}}
            chef.append({"role": "assistant", "content": "", "tool_calls": [call]})
            chef.append(Message.tool("r" * size, tool_call_id=f"c{number}", name="look"))
        case "state":
            chef.set_dynamic_state(None, {"turn": number, "note": "x" * size})
        case "announce":
            chef.announce(f"a{size}", f"said at {number}")
        case "retract":
            chef.retract_announcement(f"a{size}")
        case "remember":
            chef.get_memory().set_sync(f"key{size % 4}", "m" * size)
        case "guard":
            forms: list[Any] = [None, {"prefill": "{"}, {"enforce_xml": {"output_tag": "out"}}]
            chef.with_guardrails(
                [*forms, {"prefill": "<o>", "enforce_xml": {"output_tag": "o"}}][size]
            )
        case "tools":
            chef.register_tools(TOOLS[:size])
        case "skill":
            chef.activate_skill([None, "skill0", "skill1"][size])
        case "new window":
            chef.request_new_context()
        case "usage":
            chef.report_token_usage(size)
        case "rewind":
            chef.set_history(chef.history[:-size] or [Message.user("from the start")])
        case _:
            raise AssertionError(what)


def outcome(chef: ContextChef, target: str, model: str | None) -> bytes | str:
    """The request as bytes; the refusal where none fits."""
    try:
        return chef.compile_sync(target, model=model).to_json()
    except WindowFullError as error:
        return str(error)


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck), derandomize=True)
@given(config=configs, script=st.lists(steps, min_size=3, max_size=22))
def test_three_compiles_of_the_same_inputs_are_the_same_bytes(
    config: dict[str, Any], script: list[tuple[str, int]]
) -> None:
    chef = chef_of(config)
    chef.append(Message.user("hello"))
    target, model = MODELS[0]
    for number, (what, size) in enumerate(script):
        if what == "target":
            target, model = MODELS[size]
        else:
            play(chef, what, size, number)
        first, again = (outcome(chef, target, model) for _ in range(2))
        if number % 3 == 0:
            saved = ChefSnapshot.from_json(chef.snapshot_sync().to_json())
            chef.restore_sync(saved)
        third = outcome(chef, target, model)

        assert again == first, (number, what)
        assert third == first, (number, what)
        if what == "say":
            chef.append(Message.assistant(f"answer {number} " + "a" * 80))
