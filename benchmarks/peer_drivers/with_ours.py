"""ContextChef itself, both ways of feeding it; token counts are exact."""

from __future__ import annotations

from typing import Any

from session import ALL, ROOMY, Open, Row, Step, drive

from context_chef import ContextChef, reset
from context_chef.selection.exact import exact_tokenizer


def _chef(system: str, rows: list[Row], room: float) -> ContextChef:
    settings: dict[str, Any] = {"janitor": {"context_window": ROOMY}}
    if room < 1:
        count = exact_tokenizer("o200k_base").count
        size = sum(count(row["content"] or "") for row in rows)
        settings = {
            "janitor": {"context_window": int(size * room)},
            "overflow": {"strategy": reset()},
        }
    settings["janitor"]["tokenizer"] = "o200k_base"
    return ContextChef(**settings).set_system_prompt(system)


def appended(system: str, rows: list[Row], room: float) -> Step:
    """The chef keeps the conversation, each new message is appended."""
    chef = _chef(system, rows, room).set_history(rows)

    def step(row: Row | None) -> Any:
        if row is not None:
            chef.append(row)
        return chef.compile_sync("openai", model="gpt-4o")

    return step


def whole_list(system: str, rows: list[Row], room: float) -> Step:
    """The caller keeps the conversation and gives all of it each turn."""
    chef = _chef(system, rows, room)

    def step(row: Row | None) -> Any:
        if row is not None:
            rows.append(row)
        return chef.set_history(rows).compile_sync("openai", model="gpt-4o")

    return step


def to_bytes(opener: Open) -> Open:
    """The same, and the request's bytes."""

    def opened(system: str, rows: list[Row], room: float) -> Step:
        step = opener(system, rows, room)
        return lambda row: step(row).to_json()

    return opened


if __name__ == "__main__":
    drive(
        "context-chef",
        {
            "append": (appended, ALL),
            "append, to bytes": (to_bytes(appended), ("turn",)),
            "whole list": (whole_list, ("turn", "full")),
            "whole list, to bytes": (to_bytes(whole_list), ("turn",)),
        },
    )
