"""`context-chef check`, from the outside: tables, JSON, sessions, exit codes and complaints."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from context_chef.cli import main

GOOD = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
ORPHAN = {
    "model": "gpt-4o",
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "tool", "tool_call_id": "c1", "content": "lost"},
    ],
}
USER = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
THOUGHT = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "text", "text": "yes"},
    ],
}


def _bound(*messages: Any, system: str) -> dict[str, Any]:
    body = {"model": "claude-opus-5-5", "max_tokens": 64, "system": system}
    return {**body, "messages": list(messages)}


CHANGED_PAST = [
    _bound(USER, system="Be brief."),
    _bound(USER, THOUGHT, USER, system="Be long."),
]


def _file(tmp_path: Path, value: Any) -> str:
    path = tmp_path / "body.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def test_a_good_request_is_said_to_be_one(tmp_path: Path, capsys: Any) -> None:
    assert main(["check", _file(tmp_path, GOOD), "--target", "openai"]) == 0
    assert "nothing wrong with the request" in capsys.readouterr().out


def test_a_fault_is_listed_with_rule_place_and_repair(tmp_path: Path, capsys: Any) -> None:
    assert main(["check", _file(tmp_path, ORPHAN), "--target", "openai"]) == 1
    said = capsys.readouterr().out
    assert "messages[1]" in said
    assert "moved to its call" in " ".join(said.replace("│", " ").split()) or "The reply" in said
    assert "1 that would be refused" in said


def test_json_says_everything_that_is_known_of_a_fault(tmp_path: Path, capsys: Any) -> None:
    assert main(["check", _file(tmp_path, ORPHAN), "--target", "openai", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    [problem] = answer["problems"]
    assert problem["rule"] == "openai/tool-reply-orphan"
    assert problem["path"] == "messages[1]" or problem["path"].startswith("messages[1]")
    assert problem["repairable"] is True
    assert problem["repair"].endswith(".")
    assert problem["source"]
    assert answer["payloads"] == 1


@pytest.mark.parametrize("form", ["list", "lines", "container"])
def test_several_bodies_are_the_turns_of_a_session(tmp_path: Path, capsys: Any, form: str) -> None:
    text = {
        "list": json.dumps(CHANGED_PAST),
        "lines": "\n".join(map(json.dumps, CHANGED_PAST)),
        "container": json.dumps({"target": "anthropic", "payloads": CHANGED_PAST}),
    }[form]
    target = [] if form == "container" else ["--target", "anthropic"]
    assert main(["check", _file(tmp_path, text), *target, "--json"]) == 1
    [problem] = json.loads(capsys.readouterr().out)["problems"]
    assert problem["rule"] == "anthropic/preserved-thinking"
    assert problem["path"] == "[1].messages[1].content[0]"


def test_what_a_compile_leaves_to_the_call_is_told(tmp_path: Path, capsys: Any) -> None:
    body = {"messages": [{"role": "user", "content": "q"}]}
    assert main(["check", _file(tmp_path, body), "--target", "anthropic"]) == 1
    assert "add --partial" in capsys.readouterr().out
    assert main(["check", _file(tmp_path, body), "--target", "anthropic", "--partial"]) == 0
    assert "--partial" not in capsys.readouterr().out


def test_standard_input_is_read(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(GOOD).encode())))
    assert main(["check", "-", "--target", "openai"]) == 0


def test_the_model_decides_and_an_unknown_one_is_named(tmp_path: Path, capsys: Any) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "a"}]}, _model_turn()]}
    file = _file(tmp_path, body)
    assert main(["check", file, "--target", "gemini", "--model", "gemini-3.8-flash"]) == 1
    assert main(["check", file, "--target", "gemini", "--model", "gemini-2.5-flash"]) == 0
    assert main(["check", file, "--target", "gemini"]) == 0
    assert "no model is named" in capsys.readouterr().out
    assert main(["check", file, "--target", "gemini", "--model", "mine"]) == 0
    assert "'mine' is not known here" in capsys.readouterr().out


def _model_turn() -> dict[str, Any]:
    return {"role": "model", "parts": [{"text": "b"}]}


def test_a_partial_body_leaves_model_and_limit_to_the_caller(tmp_path: Path) -> None:
    file = _file(tmp_path, {"messages": [USER]})
    assert main(["check", file, "--target", "anthropic"]) == 1
    assert main(["check", file, "--target", "anthropic", "--partial"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{", "holds no JSON"),
        ("{}\n{", "neither JSON nor JSON Lines: line 2"),
        ("[]", "an empty list"),
        ("3", "a JSON object, not a number"),
        ('[{"role": "user", "content": "hi"}]', "is a message, not a request body"),
    ],
)
def test_what_is_no_body_is_a_wrong_question(
    tmp_path: Path, capsys: Any, text: str, said: str
) -> None:
    assert main(["check", _file(tmp_path, text), "--target", "openai"]) == 2
    assert said in capsys.readouterr().err


def test_a_target_is_needed_and_a_missing_file_is_named(tmp_path: Path, capsys: Any) -> None:
    assert main(["check", _file(tmp_path, GOOD)]) == 2
    assert "add --target openai|" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "gone.json"), "--target", "openai"]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_number_that_nobody_can_read_is_a_wrong_question(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "body.json"
    path.write_text('{"model": "gpt-4o", "messages": [], "n": ' + "9" * 5_000 + "}")

    assert main(["check", str(path), "--target", "openai"]) == 2
    assert "holds no JSON" in capsys.readouterr().err


def test_without_the_extra_the_answer_is_not_that_of_a_refused_request(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    monkeypatch.setitem(sys.modules, "rich.console", None)

    assert main(["check", _file(tmp_path, body), "--target", "openai"]) == 2
    assert "context-chef[cli]" in capsys.readouterr().err
    assert main(["check", _file(tmp_path, body), "--target", "openai", "--json"]) == 0
