"""`context-chef replay` and `context-chef tune`, as a shell sees them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from tests.replay.sessions import chat, write

from context_chef import ContextChef
from context_chef.cli import main
from context_chef.replay import ReplayResult

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "agent_session.jsonl"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write(tmp_path / "session.json", chat(14))


def test_the_command_of_the_readme_says_what_happens_in_plain_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["replay", str(EXAMPLE), "--window", "8k", "--jobs", "1"]) == 0

    said = capsys.readouterr().out
    assert "agent_session (recording, gpt-4.1): 172 messages, 78 requests" in said
    lines = [line.strip() for line in said.splitlines()]
    short = lines[lines.index("In short") + 1 :][:3]
    assert short[0].startswith("everything: 78 requests")
    assert "requests would not fit the window and be refused" in short[0]
    for line in short[1:]:
        assert "Every request fits the window of 8,000 tokens." in line
    assert "No model was asked" in said
    assert "\x1b" not in said
    assert all(character not in said for character in "│┃┏")


def test_the_whole_result_is_json_on_standard_output_or_in_a_file(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", str(session), "--window", "4000", "--strategy", "reset", "--jobs", "1"]

    assert main([*arguments, "--json"]) == 0
    printed = capsys.readouterr().out
    assert main([*arguments, "--json", str(tmp_path / "out.json")]) == 0

    assert (tmp_path / "out.json").read_text("utf-8") == printed
    run = ReplayResult.from_json(printed).sessions[0].runs[0]
    assert (run.configuration.name, run.configuration.window) == ("reset", 4000)


def test_targets_and_windows_that_are_repeated_are_all_compared(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", str(session), "--strategy", "reset", "--json", "--jobs", "1"]
    arguments += ["--target", "openai", "--target", "anthropic", "--window", "4k", "--window", "8k"]

    assert main(arguments) == 0

    runs = ReplayResult.from_json(capsys.readouterr().out).sessions[0].runs
    assert [run.configuration.name for run in runs] == [
        "reset openai 4k", "reset openai 8k", "reset anthropic 4k", "reset anthropic 8k",
    ]  # fmt: skip
    assert [run.configuration.window for run in runs] == [4000, 8000, 4000, 8000]


def test_a_configuration_file_is_played_beside_named_strategies(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('store = "never-made"\n[overflow]\nstrategy = "reset"\n', "utf-8")

    assert main(["replay", str(session), "--config", str(config), "--window", "4k", "--json",
                 "--jobs", "1"]) == 0  # fmt: skip

    runs = ReplayResult.from_json(capsys.readouterr().out).sessions[0].runs
    assert [(run.configuration.name, run.totals.above) for run in runs] == [("mine", 0)]
    assert not Path("never-made").exists()


def test_files_of_one_name_are_told_apart_by_where_they_lie(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / folder / "chef.toml" for folder in ("old", "new")]
    for file in files:
        file.parent.mkdir()
        file.write_text("janitor = {context_window = 4000}", "utf-8")

    arguments = ["replay", str(session), "--jobs", "1", "--json"]
    assert main([*arguments, "--config", str(files[0]), "--config", str(files[1])]) == 0

    result = ReplayResult.from_json(capsys.readouterr().out)
    assert [run.configuration.name for run in result.sessions[0].runs] == [
        f"chef ({file})" for file in files
    ]


def test_a_folder_is_added_up_and_what_is_skipped_is_named(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(session.parent / "other.json", chat(3))
    write(session.parent / "index.json", {"files": []})

    assert main(["replay", str(session.parent), "--window", "4k", "--jobs", "1"]) == 0

    said = capsys.readouterr().out
    assert "All 2 sessions" in said
    assert "skipped " in said
    assert "index.json" in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["replay", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["replay", "{session}", "--strategy", "rest"], "Did you mean `reset`?"),
        (["replay", "{session}", "--window", "half"], "`window`"),
        (["replay", "{session}", "--config", "no.toml"], "cannot read no.toml"),
        (["replay", "{session}", "--summarizer", "me"], "`summarizer` cannot be 'me'"),
        (["replay", "{session}", "--only", "x9"], "whose name contains 'x9'"),
        (["replay", "{session}", "--json", "{session}"], "holds a recorded session"),
        (["replay", "{session}", "--html", "{session}"], "holds a recorded session"),
        (["replay", "{session}", "--html", "no/where.html"], "there is no folder no."),
        (["tune", "{session}", "--out", "{session}", "--force"], "holds a recorded session"),
        (["tune", "{session}", "--min-retention", "much"], "`--min-retention`"),
        (["tune", "{session}", "--out", "{session}"], "is there already"),
    ],
)
def test_a_complaint_is_one_line(
    session: Path,
    arguments: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = session.read_bytes()

    assert main([each.replace("{session}", str(session)) for each in arguments]) == 1

    assert session.read_bytes() == before
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_tune_writes_the_settings_that_keep_to_what_was_asked_for_and_a_picture(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "chef.toml", tmp_path / "tuning.svg"
    arguments = ["tune", str(session), "--window", "5k", "--out", str(out), "--plot", str(plot)]
    arguments += ["--strategy", "clear+reset", "--jobs", "1"]

    assert main([*arguments, "--min-retention", "40%"]) == 0

    said = capsys.readouterr().out
    assert "9 configurations over 1 session" in said
    assert "The best" in said
    settings = tomllib.loads(out.read_text("utf-8"))
    assert settings["overflow"]["strategy"] == ["clear", "reset"]
    assert ContextChef.from_settings(settings)
    picture = plot.read_text("utf-8")
    assert picture.startswith("<svg")
    assert "clear+reset" in picture
    assert main([*arguments, "--min-retention", "1", "--max-cost", "0.0001", "--force"]) == 1
    assert "The cheapest costs $" in (complaint := capsys.readouterr().err)
    assert "The most that is kept is" in complaint
    assert json.loads(json.dumps(settings))["default_target"] == "openai"


def test_what_a_session_says_is_shown_and_never_obeyed_by_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x1b]0;owned\x07\x9b31m\u202e"
    body = {"model": f"gpt-4.1{hostile}", "messages": chat(14)["messages"]}
    body["messages"][1] = {"role": "user", "content": f"You must never {hostile} do that."}
    path = write(tmp_path / "session.json", body)

    assert main(["replay", str(path), "--window", "3k", "--strategy", "drop", "--jobs", "1"]) == 0

    said = capsys.readouterr().out
    assert "gpt-4.1\u241b" in said
    assert not set(said) & {"\x1b", "\x07", "\x9b", "\u202e"}
