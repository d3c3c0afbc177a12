"""What a chef keeps of a conversation: its texts once, whatever is made of them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from context_chef import ContextChef

WORDS = "Grüße aus Köln, 東京も。" * 40


@pytest.mark.parametrize("target", ["openai", "openai-responses", "anthropic", "gemini"])
def test_no_text_of_the_caller_grows_by_being_read(target: str) -> None:
    """CPython keeps the UTF-8 in a `str` that compiled code has read it out of."""
    said, found = f"{WORDS}?", f"{WORDS}!"
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": said},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": found},
    ]
    before = sys.getsizeof(said), sys.getsizeof(found)
    chef = ContextChef(janitor={"context_window": 100_000, "tokenizer": "o200k_base"})

    chef.set_history(rows).compile_sync(target).to_json()

    assert (sys.getsizeof(said), sys.getsizeof(found)) == before
