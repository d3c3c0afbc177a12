"""LiteLLM: `trim_messages` with its own settings."""

from __future__ import annotations

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no look-up of prices over the network

from litellm import token_counter
from litellm.utils import trim_messages
from trimming import Row, drive

MODEL = "gpt-4o"


def trimmed(rows: list[Row], room: float) -> Any:
    opening = [row for row in rows[:1] if row["role"] == "system"]
    around = token_counter(model=MODEL, messages=opening) if opening else 0
    talk = token_counter(model=MODEL, messages=rows[len(opening) :])
    most = around + int(talk * room)
    return trim_messages(rows, model=MODEL, max_tokens=most)


if __name__ == "__main__":
    drive(("litellm",), trimmed)
