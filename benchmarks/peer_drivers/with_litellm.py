"""LiteLLM: `trim_messages`, which counts with the tokenizer it carries."""

from __future__ import annotations

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no look-up of prices over the network

from litellm import token_counter
from litellm.utils import trim_messages
from session import ALL, ROOMY, Row, Step, drive

MODEL = "gpt-4"


def opened(system: str, rows: list[Row], room: float) -> Step:
    """`trim_messages`; it is given all of them each turn, and hands back a deep copy."""
    messages = [{"role": "system", "content": system}, *rows]
    most = ROOMY if room > 1 else int(token_counter(model=MODEL, messages=messages) * room)

    def step(row: Row | None) -> Any:
        if row is not None:
            messages.append(row)
        return trim_messages(messages, model=MODEL, max_tokens=most)

    return step


if __name__ == "__main__":
    drive("litellm", {"trim_messages": (opened, ALL)})
