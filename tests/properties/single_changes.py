"""Two compiles that differ in one thing, and what `diff` has to call it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from context_chef import ContextChef, InMemoryBackend, Message, Payload, reset

MODELS = {
    "anthropic": ("claude-sonnet-4-5", "claude-opus-5", "claude-haiku-4-5"),
    "openai": ("gpt-4.1", "gpt-5.1", "gpt-4o"),
    "openai-responses": ("gpt-6-sol", "gpt-5.4", "gpt-4.1"),
    "gemini": ("gemini-3.8-flash", "gemini-2.5-pro", "gemini-3.1-pro"),
}
WORDS = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
    *("order", "refund", "harbour", "ticket", "deploy", "branch", "merge", "failing", "retry"),
)


class WordTokenizer:
    """Fast. Its prompts are either far below or far above what any cache takes."""

    def __init__(self, scale: float) -> None:
        self._scale = scale

    def count(self, text: str) -> int:
        return int((text.count(" ") + text.count("\n") + 1) * self._scale) + 1


Config = dict[str, Any]
Expected = tuple[str, str]
"""Kind and name of the cause."""


class Change(NamedTuple):
    """One kind of single change."""

    name: str
    apply: Callable[[Config, random.Random], Expected | None]
    """Changes the configuration, and answers what the cause is; None where it does not apply."""


def words(rng: random.Random, least: int = 2, most: int = 9) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most))).capitalize() + "."


def tool(rng: random.Random, name: str) -> dict[str, Any]:
    fields = {rng.choice(WORDS): {"type": "string"} for _ in range(rng.randint(0, 3))}
    schema = {"type": "object", "properties": fields}
    return {"name": name, "description": words(rng), "parameters": schema}


def conversation(rng: random.Random) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    calls = 0
    for turn in range(rng.randint(1, 3)):
        rows.append({"role": "user", "content": f"{turn} {words(rng)}"})
        if rng.random() < 0.6:
            calls += 1
            call = {
                "id": f"call_{calls}",
                "type": "function",
                "function": {"name": "tool_0", "arguments": f'{{"q": "{rng.choice(WORDS)}"}}'},
            }
            rows.append({"role": "assistant", "content": words(rng), "tool_calls": [call]})
            said = words(rng) if rng.random() < 0.7 else f'{{"found": {rng.randint(1, 99)}}}'
            rows.append({"role": "tool", "tool_call_id": f"call_{calls}", "content": said})
        rows.append({"role": "assistant", "content": f"{turn} {words(rng)}"})
    return [*rows, {"role": "user", "content": "last " + words(rng)}]


def base(rng: random.Random) -> Config:
    target = rng.choice(list(MODELS))
    return {
        "target": target,
        "scale": rng.choice([0.2, 60]),
        "model": rng.choice(MODELS[target]),
        "settings": {
            "cache": rng.choice(["auto", None]),
            "tail": rng.choice(["auto", "append", "replace"]),
            "skill_placement": rng.choice(["after_system", "tail"]),
        },
        "memory_placement": rng.choice(["after_system", "before_history_tail"]),
        "system": f"You help with {words(rng)} It is 2026-11-{rng.randint(10, 29)}T10:00:00Z now. "
        + " ".join(words(rng) for _ in range(rng.choice([1, 12]))),
        "history": conversation(rng),
        "tools": [tool(rng, f"tool_{number}") for number in range(rng.randint(1, 3))],
        "memory": {f"key-{n}": words(rng) for n in range(rng.randint(1, 3))},
        "state": {f"slot_{n}": words(rng) for n in range(rng.randint(1, 3))},
        "state_placement": rng.choice(["last_user", "system"]),
        "announcements": {f"note-{n}": words(rng) for n in range(rng.randint(1, 3))},
        "skill": rng.choice([None, ("reviewer", words(rng))]),
        "guardrail": rng.choice([None, "answer"]),
        "injected": rng.choice([None, words(rng)]),
    }


def compiled(config: Config) -> Payload:
    """The payload that a configuration means; always by a chef of its own."""
    chef = ContextChef(
        store=InMemoryBackend(),
        janitor={"context_window": 900_000, "tokenizer": WordTokenizer(config["scale"])},
        memory={"memory_placement": config["memory_placement"]},
        clock=lambda: 1_700_000_000_000,
        new_window_id=iter(f"window-{n}" for n in range(9)).__next__,
        **config["settings"],
    )
    chef.set_system_prompt(config["system"]).set_history(config["history"])
    chef.register_tools(config["tools"])
    chef.register_toolkits(config.get("toolkits", ()))
    for key, value in config["memory"].items():
        chef.get_memory().set_sync(key, value)
    chef.set_dynamic_state(None, config["state"], placement=config["state_placement"])
    for id, content in config["announcements"].items():
        chef.announce(id, content)
    if config["skill"] is not None:
        name, instructions = config["skill"]
        chef.activate_skill({"name": name, "description": "d", "instructions": instructions})
    if config["guardrail"] is not None:
        chef.with_guardrails({"enforce_xml": {"output_tag": config["guardrail"]}})
    if config["injected"] is not None:
        text = config["injected"]

        def inject_context(moment: Any) -> None:
            moment.inject(text)

        chef.use("before-assemble", inject_context)
    for handler in config.get("assembling", ()):
        chef.use("after-assemble", handler)
    for handler in config.get("adapting", ()):
        chef.use("after-adapt", handler)
    if config.get("fold"):
        chef.request_new_context()
    payload = chef.compile_sync(config["target"], model=config["model"])
    if "after" in config:
        config["after"](payload)
    return payload


def single_change(seed: int) -> tuple[str, Config, Config, Expected]:
    """The change of that seed: its name, the two configurations, and the cause."""
    rng = random.Random(seed)
    change = CHANGES[seed % len(CHANGES)]
    while True:
        before = base(rng)
        after = copy.deepcopy(before)
        expected = change.apply(after, rng)
        if expected is not None:
            if "both" in after:
                before.update(after.pop("both"))
            return change.name, before, after, expected


# The kinds of change


def memory_value(config: Config, rng: random.Random) -> Expected:
    key = rng.choice(list(config["memory"]))
    config["memory"][key] += " changed"
    return "memory", key


def memory_added(config: Config, rng: random.Random) -> Expected:
    config["memory"]["key-new"] = words(rng)
    return "memory", "key-new"


def memory_removed(config: Config, rng: random.Random) -> Expected:
    key = rng.choice(list(config["memory"]))
    del config["memory"][key]
    return "memory", key


def tool_added(config: Config, rng: random.Random) -> Expected:
    config["tools"].insert(rng.randint(0, len(config["tools"])), tool(rng, "tool_new"))
    return "tool", "tool_new"


def tool_removed(config: Config, rng: random.Random) -> Expected:
    gone = config["tools"].pop(rng.randrange(len(config["tools"])))
    return "tool", gone["name"]


def tool_changed(config: Config, rng: random.Random) -> Expected:
    changed = rng.choice(config["tools"])
    changed["description"] += " More."
    return "tool", changed["name"]


def tools_reordered(config: Config, rng: random.Random) -> Expected | None:
    if len(config["tools"]) < 2:
        return None
    config["tools"].insert(0, config["tools"].pop())
    return "tool", config["tools"][0]["name"]


def timestamp(config: Config, rng: random.Random) -> Expected:
    config["system"] = config["system"].replace("T10:00:00Z", f"T10:{rng.randint(10, 59)}:07Z")
    return "clock", "system_prompt"


def system_prompt(config: Config, rng: random.Random) -> Expected:
    config["system"] += " " + words(rng)
    return "setter", "set_system_prompt"


def injected(config: Config, rng: random.Random) -> Expected | None:
    if config["injected"] is None:
        return None
    config["injected"] += " " + rng.choice(WORDS)
    return "handler", "compiled.<locals>.inject_context"


def injected_first(config: Config, rng: random.Random) -> Expected:
    config["both"] = {"injected": None}
    config["injected"] = words(rng)
    return "handler", "compiled.<locals>.inject_context"


def add_reminder(messages: list[Message]) -> list[Message]:
    return [*messages[:-1], Message.user("Remember the harbour."), messages[-1]]


def assembling(config: Config, rng: random.Random) -> Expected:
    config["assembling"] = [add_reminder]
    return "handler", "add_reminder"


def adapting(config: Config, rng: random.Random) -> Expected:
    config["adapting"] = [shout_first, leave_alone] if rng.random() < 0.5 else [shout_first]
    return "handler", "shout_first"


def leave_alone(moment: Any) -> None:
    """Looks, and changes nothing."""


def shout_first(moment: Any) -> None:
    """Change the words of the first thing that the user said."""
    payload = moment.payload
    rows = payload.get("contents") or payload.get("messages") or payload.get("input")
    row = next(row for row in rows if row.get("role") == "user")
    key = "parts" if "parts" in row else "content"
    if isinstance(row[key], str):
        row[key] += "!!!"
    else:
        row[key][0]["text"] += "!!!"


def adapting_setting(config: Config, rng: random.Random) -> Expected:
    def lower_effort(moment: Any) -> None:
        key, value = {
            "anthropic": ("metadata", {"user_id": "u"}),
            "openai": ("logit_bias", {"50256": -100}),
            "openai-responses": ("metadata", {"team": "a"}),
            "gemini": ("config", {"labels": {"team": "a"}}),
        }[moment.target]
        moment.payload[key] = {**moment.payload.get(key, {}), **value}

    config["adapting"] = [lower_effort]
    return "handler", lower_effort.__qualname__


def repaired_id(config: Config, rng: random.Random) -> Expected | None:
    rows = config["history"]
    calls = [row for row in rows if "tool_calls" in row]
    if config["target"] != "anthropic" or not calls:
        return None
    call = rng.choice(calls)
    old = call["tool_calls"][0]["id"]
    call["tool_calls"][0]["id"] = f"{old} !"
    for row in rows:
        if row.get("tool_call_id") == old:
            row["tool_call_id"] = f"{old} !"
    return "repair", "anthropic/tool-use-id"


def repaired_result(config: Config, rng: random.Random) -> Expected | None:
    rows = config["history"]
    answers = [index for index, row in enumerate(rows) if row["role"] == "tool"]
    if not answers:
        return None
    del rows[rng.choice(answers)]
    rule = {
        "anthropic": "anthropic/tool-result-missing",
        "openai": "openai/tool-reply-missing",
        "openai-responses": "openai-responses/call-unanswered",
        "gemini": "gemini/response-count",
    }[config["target"]]
    return "repair", rule


def skill_activated(config: Config, rng: random.Random) -> Expected:
    config["both"] = {"skill": None}
    config["skill"] = ("deployer", words(rng))
    return "skill", "deployer"


def skill_changed(config: Config, rng: random.Random) -> Expected:
    config["both"] = {"skill": ("deployer", "Deploy slowly.")}
    config["skill"] = ("deployer", "Deploy slowly. " + words(rng))
    return "skill", "deployer"


def skill_replaced(config: Config, rng: random.Random) -> Expected:
    config["both"] = {"skill": ("deployer", words(rng))}
    config["skill"] = ("planner", words(rng))
    return "skill", "planner"


def skill_put_away(config: Config, rng: random.Random) -> Expected:
    config["both"] = {"skill": ("deployer", words(rng))}
    config["skill"] = None
    return "skill", "deployer"


def fold(config: Config, rng: random.Random) -> Expected | None:
    if len(config["history"]) < 5:
        return None
    config["settings"]["overflow"] = {"strategy": reset()}
    config["both"] = {"settings": config["settings"]}
    config["fold"] = True
    return "fold", ""


def state_key(config: Config, rng: random.Random) -> Expected:
    key = rng.choice(list(config["state"]))
    config["state"][key] += " changed"
    return "state", key


def state_added(config: Config, rng: random.Random) -> Expected:
    config["state"]["slot_new"] = words(rng)
    return "state", "slot_new"


def guardrail(config: Config, rng: random.Random) -> Expected:
    config["both"] = {"guardrail": rng.choice([None, "answer"])}
    config["guardrail"] = "reply"
    return "setter", "with_guardrails"


def announcement_changed(config: Config, rng: random.Random) -> Expected:
    id = rng.choice(list(config["announcements"]))
    config["announcements"][id] += " changed"
    return "announcement", id


def announcement_added(config: Config, rng: random.Random) -> Expected:
    config["announcements"]["note-new"] = words(rng)
    return "announcement", "note-new"


def announcement_retracted(config: Config, rng: random.Random) -> Expected:
    id = rng.choice(list(config["announcements"]))
    del config["announcements"][id]
    return "announcement", id


def target_changed(config: Config, rng: random.Random) -> Expected:
    other = rng.choice([name for name in MODELS if name != config["target"]])
    config["target"], config["model"] = other, MODELS[other][0]
    return "target", other


def model_changed(config: Config, rng: random.Random) -> Expected:
    others = [name for name in MODELS[config["target"]] if name != config["model"]]
    config["model"] = rng.choice(others)
    return "model", config["model"]


def breakpoint_moved(config: Config, rng: random.Random) -> Expected | None:
    if config["target"] != "anthropic":
        return None
    config["settings"]["cache"] = None
    before = copy.deepcopy(config["history"])
    said = [row for row in config["history"] if row["role"] == "user"]
    if len(said) < 2:
        return None
    said[0]["cache"] = {}
    before[len(before) - 1]["cache"] = {}
    config["both"] = {"history": before, "settings": config["settings"]}
    return "breakpoint", ""


def history_edited(config: Config, rng: random.Random) -> Expected:
    said = [index for index, row in enumerate(config["history"]) if row["role"] == "user"]
    index = rng.choice(said)
    config["history"][index]["content"] += " Edited."
    return "history", f"history[{index}]"


def history_grown(config: Config, rng: random.Random) -> Expected:
    count = len(config["history"])
    config["history"].append({"role": "assistant", "content": "Grown. " + words(rng)})
    config["history"].append({"role": "user", "content": "More. " + words(rng)})
    return "history", f"history[{count}]"


def toolkits(config: Config, rng: random.Random) -> Expected:
    group = {"name": "files", "description": words(rng), "tools": [tool(rng, "open_file")]}
    config["toolkits"] = [group]
    return "tool", "load_toolkit"


def offloaded(config: Config, rng: random.Random) -> Expected | None:
    answers = [i for i, row in enumerate(config["history"]) if row["role"] == "tool"]
    if not answers:
        return None
    config["history"][answers[0]]["content"] = "\n".join(words(rng) for _ in range(60))
    config["both"] = {"history": copy.deepcopy(config["history"])}
    config["settings"]["vfs"] = {"automatic": True, "threshold": 500, "tail_chars": 100}
    return "offload", f"history[{answers[0]}]"


def by_caller(config: Config, rng: random.Random) -> Expected:
    def after(payload: Payload) -> None:
        shout_first(type("Moment", (), {"payload": payload}))

    config["after"] = after
    return "caller", ""


CHANGES = tuple(
    Change(function.__name__, function)
    for function in (
        memory_value,
        memory_added,
        memory_removed,
        tool_added,
        tool_removed,
        tool_changed,
        tools_reordered,
        timestamp,
        system_prompt,
        injected,
        injected_first,
        assembling,
        adapting,
        adapting_setting,
        repaired_id,
        repaired_result,
        skill_activated,
        skill_changed,
        skill_replaced,
        skill_put_away,
        fold,
        state_key,
        state_added,
        guardrail,
        announcement_changed,
        announcement_added,
        announcement_retracted,
        target_changed,
        model_changed,
        breakpoint_moved,
        history_edited,
        history_grown,
        toolkits,
        offloaded,
        by_caller,
    )
)
