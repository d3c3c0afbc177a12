"""`context-chef explain` and `context-chef diff`, from the outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_chef.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "session.json"
BODY: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 9,
    "system": [
        {"type": "text", "text": "Be brief. " * 900, "cache_control": {"type": "ephemeral"}}
    ],
    "messages": [{"role": "user", "content": "hi"}],
}


def written(folder: Path, name: str, data: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(data), "utf-8")
    return str(path)


def test_a_session_is_compiled_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["explain", str(EXAMPLE), "--target", "anthropic", "--model", "claude-sonnet-4-5"])

    said = capsys.readouterr().out
    assert code == 0
    assert "system_prompt" in said
    assert "history[0]" in said
    assert "breakpoint at" in said


def test_a_body_is_explained_as_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", written(tmp_path, "a.json", BODY), "--json"]) == 0

    data = json.loads(capsys.readouterr().out)
    assert data["target"] == "anthropic"
    assert data["cache"]["kept_until"] == "system[0]"


def test_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"

    assert main(["explain", written(tmp_path, "a.json", BODY), "--html", str(page)]) == 0

    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert "written to" in capsys.readouterr().err


def test_two_bodies_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = {**BODY, "system": [{"type": "text", "text": "Be long."}]}
    a, b = written(tmp_path, "a.json", BODY), written(tmp_path, "b.json", other)

    assert main(["diff", a, b]) == 0
    said = capsys.readouterr().out
    assert "part at system[0]" in said
    assert "Billed again" in said
    assert main(["diff", a, b, "--json", "--seconds", "9"]) == 0
    assert json.loads(capsys.readouterr().out)["first"]["path"] == "system[0]"
    assert main(["diff", a, a]) == 0
    assert capsys.readouterr().out == "The two requests are the same.\n"


def test_compiled_first_causes_have_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    a = written(tmp_path, "a.json", rows)
    b = written(tmp_path, "b.json", [{**rows[0], "content": "Be long."}, rows[1]])

    assert main(["diff", a, b, "--target", "gemini", "--json"]) == 0

    cause = json.loads(capsys.readouterr().out)["first"]["cause"]
    assert cause["name"] == "set_system_prompt"


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        ([1], [], "--target"),
        ({"prompt": "hi"}, [], "no request found"),
        (BODY, ["--window", "9"], "--target"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    data: Any,
    options: list[str],
    said: str,
) -> None:
    code = main(["explain", written(tmp_path, "a.json", data), *options])

    error = capsys.readouterr().err
    assert code == 1
    assert said in error
    assert error.count("\n") == 1
