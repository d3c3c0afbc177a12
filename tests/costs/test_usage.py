"""Usage in every provider's form comes out as one."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.costs import Usage, read_usage


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 30,
                "cache_read_input_tokens": 200,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 10,
                    "ephemeral_1h_input_tokens": 20,
                },
                "output_tokens": 5,
            },
            Usage(input=233, read=200, written={"5m": 10, "1h": 20}, output=5),
        ),
        ({"input_tokens": 7, "output_tokens": 1}, Usage(input=7, output=1)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 20},
            },
            Usage(input=100, read=64, written={"30m": 20}, output=9),
        ),
        (
            {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 2},
            Usage(input=50, read=40, output=2),
        ),
        (
            {"promptTokenCount": 80, "cachedContentTokenCount": 70, "candidatesTokenCount": 4,
             "thoughtsTokenCount": 6},
            Usage(input=80, read=70, output=10),
        ),
        (
            {"input": 2, "cache_read": 90, "cache_write": 8, "output": 3},
            Usage(input=100, read=90, written={"5m": 8}, output=3),
        ),
        # What a server in between makes up is no report: it would bill 0, or less.
        ({"input_tokens": 0, "output_tokens": 0}, None),
        ({"input_tokens": "7", "output_tokens": 1}, None),
        ({"input_tokens": None, "output_tokens": 12}, None),
        ({"prompt_tokens": -5, "completion_tokens": 1}, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 500}}, None),
        ({"promptTokenCount": 9, "candidatesTokenCount": -1}, None),
        ({"input": 10**400, "output": 3}, None),
        (Usage(input=-1), None),
        ({"anything": 1}, None),
        (None, None),
        ("much", None),
    ],
)  # fmt: skip
def test_a_report_is_understood(reported: Any, usage: Usage | None) -> None:
    assert read_usage(reported) == usage


def test_what_is_neither_read_nor_written_is_left() -> None:
    assert Usage(input=100, read=60, written={"5m": 30}).uncached == 10
