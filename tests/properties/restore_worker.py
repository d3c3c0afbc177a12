"""A process that knows nothing but a snapshot: restores it and answers the payloads' digests.

One line of JSON in, one out, until there are no more.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from context_chef import (
    ChefSnapshot,
    ContextChef,
    HandoffConfig,
    InMemoryBackend,
    MemoryConfig,
    OverflowConfig,
    WindowFullError,
    anchored,
    chain,
    reset,
)

TARGETS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-2.5-flash",
}


def count(text: str) -> int:
    """A tokenizer that every process agrees on."""
    return len(text)


def summarize(messages: Any) -> str:
    """A summariser that says the same of the same, in every process."""
    said = "|".join(message.text for message in messages)
    return f"<summary>{hashlib.sha256(said.encode()).hexdigest()}</summary>"


def make(**settings: Any) -> ContextChef:
    """The chef of this property: the same settings on both sides, as a host's program has them."""
    ours: dict[str, Any] = {
        "janitor": {"context_window": 12_000, "trigger_ratio": 0.3, "tokenizer": count},
        "overflow": OverflowConfig(
            strategy=chain(anchored(compression_model=summarize), reset()),
            archive="vfs",
            handoff=HandoffConfig(budget_tokens=300),
        ),
        "store": InMemoryBackend(),
        "memory": MemoryConfig(default_ttl={"turns": 40}),
        "vfs": {"automatic": True, "threshold": 900},
        "tools": "unified",
        "tool_changes": "inline",
        # A restored chef opens the next window as the first would.
        "new_window_id": lambda: "window",
        "clock": lambda: 1_700_000_000_000,
    }
    return ContextChef(**{**ours, **settings})


def compiled(chef: ContextChef, target: str) -> str:
    """The payload's bytes in short, the betas that go beside them included; or the refusal."""
    try:
        payload = chef.compile_sync(target, model=TARGETS[target])
    except WindowFullError as error:
        return str(error)
    return hashlib.sha256(payload.to_json() + repr(payload.meta.betas).encode()).hexdigest()


def answer(snapshot: str) -> dict[str, str]:
    """The payload for every target, each compiled from the snapshot itself."""
    digests: dict[str, str] = {}
    for target in TARGETS:
        chef = make().restore_sync(ChefSnapshot.from_json(snapshot))
        digests[target] = compiled(chef, target)
    return digests


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
