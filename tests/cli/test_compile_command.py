"""`context-chef compile`, from the outside: payloads, tables, exit codes and complaints."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from context_chef.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "session.json"

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "é"}'}}
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is it?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "on the shelf"},
]
RESPONSES = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"type": "message", "role": "user", "content": "Where is it?"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "é"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "on the shelf"},
    ],
}
ANTHROPIC = {
    "model": "m",
    "max_tokens": 5,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Where is it?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "é"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "on the shelf"}],
        },
    ],
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Where is it?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": "é"}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "response": {"output": "on the shelf"}}}
            ],
        },
    ],
}
CONTAINER = {"format": "openai", "system": "Be brief.", "source": "somewhere", "messages": CHAT[1:]}
SOURCES = {
    "openai": {"model": "m", "messages": CHAT},
    "openai (bare list)": CHAT,
    "openai (container)": CONTAINER,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
}


def written(tmp_path: Path, data: Any, *arguments: str) -> dict[str, Any]:
    """The payload that the command writes for `data`."""
    source, out = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(json.dumps(data), "utf-8")
    assert main(["compile", str(source), "--out", str(out), *arguments]) == 0
    return json.loads(out.read_bytes())


def words(value: Any) -> list[str]:
    """Every text of a payload, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [word for item in value.values() for word in words(item)]
    return [word for item in value for word in words(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("target", ["openai", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("source", SOURCES)
def test_any_recording_becomes_a_request_for_any_provider(
    tmp_path: Path, source: str, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = written(tmp_path, SOURCES[source], "--target", target)

    said = words(payload)
    for text in ("Be brief.", "Where is it?", "look", "on the shelf"):
        assert [word for word in said if text in word], text
    shown = capsys.readouterr().out
    assert f"{source.split(' ')[0]} → {target}: " in shown
    assert "Where the tokens go" in shown
    assert "payload written to" in shown


def test_the_format_can_be_named(tmp_path: Path) -> None:
    for name in ("responses", "openai-responses"):
        payload = written(tmp_path, RESPONSES, "--from", name, "--target", "openai")
        assert [message["role"] for message in payload["messages"]] == [
            "system",
            "user",
            "assistant",
            "tool",
        ]


def test_without_out_only_the_payload_is_on_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdin:
        buffer = io.BytesIO(b"\xef\xbb\xbf" + json.dumps(CHAT, ensure_ascii=False).encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert main(["compile", "-", "--target", "gemini"]) == 0
    out, err = capfdbinary.readouterr()
    assert json.loads(out)["contents"][0] == {"role": "user", "parts": [{"text": "Where is it?"}]}
    assert "Where the tokens go" in err.decode()


def test_the_report_shows_every_span(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, CHAT, "--target", "openai", "--report")
    shown = capsys.readouterr().out
    assert "Every span" in shown
    assert "on the" in shown


def test_what_was_mended_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    payload = written(tmp_path, CHAT[:3], "--target", "openai")
    assert payload["messages"][-1]["role"] == "tool"
    shown = " ".join(capsys.readouterr().out.split())
    assert "mended: " in shown
    assert "c1" in shown


def test_a_window_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = [{"role": "user", "content": f"question {n} " * 200} for n in range(20)]
    spaced = [
        message
        for one in long
        for message in (one, {"role": "assistant", "content": "answer " * 200})
    ]
    payload = written(tmp_path, spaced[:-1], "--target", "openai", "--window", "4000")
    assert len(payload["messages"]) < 39
    assert "question 19" in " ".join(words(payload["messages"][-1]))
    shown = " ".join(capsys.readouterr().out.split())
    assert "39 messages in, " in shown
    assert f"{len(payload['messages'])} messages out" in shown
    assert "left out: " in shown


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "holds no JSON"),
        ("[" * 200_000, "holds no JSON"),
        ("3", "a list of messages was expected"),
        ('"words"', "a list of messages was expected"),
        ("{}", "no conversation found"),
        ('{"messages": 5}', "messages"),
        ('{"format": "openai", "system": "x", "messages": {"a": 1}}', "messages"),
        ("[]", "there is no message at all"),
        ('[{"role": "wizard", "content": "x"}]', "wizard"),
    ],
)
def test_what_cannot_be_read_is_named_and_nothing_is_written(
    tmp_path: Path, content: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(content, "utf-8")
    assert main(["compile", str(source), "--target", "openai", "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("context-chef: ")
    assert complaint in said
    assert not out.exists()


def test_files_that_are_not_there_or_are_no_text_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("missing.json", "bytes", "."):
        assert main(["compile", str(tmp_path / name), "--target", "openai"]) == 1
        assert f"cannot read {tmp_path / name}: " in capsys.readouterr().err
    source = tmp_path / "in.json"
    source.write_text(json.dumps(CHAT), "utf-8")
    assert main(["compile", str(source), "--target", "openai", "--out", str(tmp_path)]) == 1
    assert f"cannot write {tmp_path}: " in capsys.readouterr().err


def test_wrong_usage_is_code_2_and_names_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["compile", "x.json", "--target", "cohere"])
    assert stopped.value.code == 2
    assert "openai-responses" in capsys.readouterr().err


def test_the_shipped_example_runs_as_the_readme_says(tmp_path: Path) -> None:
    out = tmp_path / "payload.json"
    command = [sys.executable, "-m", "context_chef", "compile", str(EXAMPLE)]
    command += ["--target", "anthropic", "--model", "claude-sonnet-4-5", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    payload = json.loads(out.read_bytes())
    assert payload["system"][0]["text"].startswith("You are a careful engineer")
    assert payload["messages"][0]["role"] == "user"


@pytest.mark.parametrize(
    ("content", "arguments", "complaint"),
    [
        (b"", (), "in.json is empty"),
        (b" \n", (), "in.json is empty"),
        (b"null", (), "holds JSON null"),
        (b"\xff\xfe\x00", (), "is not UTF-8 text"),
        (b'{"role": "user", "content": "a"}\n{"role": "user", "content": "b"}\n', (), "JSON Lines"),
        (b'{"messages": [{"role": "user", "content": "a"}]}', ("--from", "gemini"), "does not fit"),
        (b'[{"role": "user", "content": 5}]', (), "in.json: [0].content: "),
        (b"3", (), "in.json: a request body"),
    ],
)
def test_a_complaint_is_one_line_that_names_the_file(
    tmp_path: Path,
    content: bytes,
    arguments: tuple[str, ...],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / "in.json"
    source.write_bytes(content)

    assert main(["compile", str(source), "--target", "openai", *arguments]) == 1

    said = capsys.readouterr().err
    assert complaint in said
    assert "$: " not in said
    assert len(said.splitlines()) == 1


def test_one_message_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, [{"role": "user", "content": "hi"}], "--target", "openai")
    assert "1 message in, 1 message out, 0 tools" in " ".join(capsys.readouterr().out.split())


def test_equal_repairs_are_one_line_with_a_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": ""}] * 6
    written(tmp_path, [*empty, {"role": "user", "content": "go"}], "--target", "anthropic")
    mended = [line for line in capsys.readouterr().out.splitlines() if line.startswith("mended: ")]
    assert any(" more: " in line for line in mended)


@pytest.mark.parametrize(
    ("model", "note"),
    [
        ("claude-sonnet-4-5", "not one of openai but of anthropic"),
        ("house-model-1", "is not known here"),
    ],
)
def test_a_doubtful_model_is_noted(
    tmp_path: Path, model: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, CHAT, "--target", "openai", "--model", model)
    assert note in " ".join(capsys.readouterr().out.split())


def test_a_request_beyond_the_models_window_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = [{"role": "user", "content": "many words " * 100_000}]
    written(tmp_path, long, "--target", "openai", "--model", "gpt-4o")
    assert "use --window" in " ".join(capsys.readouterr().out.split())


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("context-chef ")
