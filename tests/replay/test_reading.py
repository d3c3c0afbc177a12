"""Sessions are read out of everything that agents write, and what is odd is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_chef import to_anthropic, to_gemini, to_openai_responses
from context_chef.replay import RecordedSession, RecordingError, read_all, read_session
from tests.replay.sessions import EXAMPLE, chat, claude_code, result, said, use, write, write_lines
from tests.shared_data import DATA, needs_data


def _roles(session: RecordedSession) -> str:
    return "".join(message.role[0] for message in session.messages)


def test_a_body_is_a_request_in_front_of_every_answer(tmp_path: Path) -> None:
    session = read_session(write(tmp_path / "body.json", chat(3)))

    assert (session.format, session.model, len(session.requests)) == ("openai", "gpt-4.1", 4)
    assert [len(request.add) for request in session.requests] == [1, 2, 2, 2]
    assert session.requests[0].tools
    assert session.requests[1].tools is None
    assert session.rest[0].text.startswith("Done")


def test_successive_bodies_are_one_session_with_what_each_added(tmp_path: Path) -> None:
    body = chat(3)
    cut = [2, 4, 6, 8]
    rows = [
        {
            "request": {**body, "messages": body["messages"][:end]},
            "usage": {"prompt_tokens": 100 * end, "completion_tokens": 7},
            "timestamp": f"2026-01-01T00:00:{end:02d}Z",
        }
        for end in cut
    ]
    rows[-1]["response"] = {"choices": [{"message": body["messages"][-1]}]}

    session = read_session(write_lines(tmp_path / "log.jsonl", rows))

    assert [len(request.add) for request in session.requests] == [1, 2, 2, 2]
    assert [request.at for request in session.requests] == [0, 2, 4, 6]
    assert [request.usage.input for request in session.requests if request.usage] == [
        200, 400, 600, 800,
    ]  # fmt: skip
    assert session.timed
    assert session.rest[0].text.startswith("Done")


def test_a_body_that_was_rewritten_keeps_what_still_stands(tmp_path: Path) -> None:
    body = chat(3)
    said = body["messages"]
    rewritten = [*said[:2], {"role": "user", "content": "Summary of all so far"}, *said[7:8]]
    rows = [{**body, "messages": said[:2]}, {**body, "messages": said[:6]}]
    rows.append({**body, "messages": [*rewritten[:3], {"role": "user", "content": "Go on"}]})

    session = read_session(write_lines(tmp_path / "log.jsonl", rows))

    assert session.requests[2].keep == 1
    assert [message.text for message in session.messages][1:] == ["Summary of all so far", "Go on"]


def test_unrelated_bodies_are_sessions_of_their_own(tmp_path: Path) -> None:
    other = {"messages": [{"role": "user", "content": "Make a title"}]}
    path = write_lines(tmp_path / "log.jsonl", [chat(1), other, chat(2)])

    sessions, _ = read_all([path])

    assert [len(session.requests) for session in sessions] == [3, 1]


@pytest.mark.parametrize("target", ["anthropic", "openai-responses", "gemini"])
def test_bodies_of_every_provider_are_told_apart(tmp_path: Path, target: str) -> None:
    write_body = {
        "anthropic": to_anthropic, "openai-responses": to_openai_responses, "gemini": to_gemini,
    }[target]  # fmt: skip
    messages = read_session(EXAMPLE).messages
    body = dict(write_body(messages))

    session = read_session(write(tmp_path / "body.json", body))

    assert session.format == session.target == target
    assert len(session.requests) == 9


@pytest.mark.parametrize("name", ["cut.json", "cut.jsonl"])
def test_text_that_was_cut_inside_of_an_emoji_is_read(tmp_path: Path, name: str) -> None:
    said = [
        {"role": "user", "content": "sold \ud83d"},
        {"role": "assistant", "content": "\ud83d\ude00"},
    ]
    line = json.dumps({"model": "gpt-4.1", "messages": said})
    (tmp_path / name).write_text(f"{line}\n" * (2 if name.endswith("l") else 1))

    session = read_session(tmp_path / name)

    assert session.requests[0].add[0].text == "sold \ufffd"


@pytest.mark.parametrize(
    "value", ['{"a": "\\ud83d", "n": NaN}', '{"a": "\\ud83d"', '{"a": "\\udzzz"}']
)
def test_half_an_emoji_excuses_nothing_else(tmp_path: Path, value: str) -> None:
    (tmp_path / "bad.json").write_text(value)

    with pytest.raises(RecordingError, match="neither JSON"):
        read_session(tmp_path / "bad.json")


def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [chat(1), chat(2)])
    path.write_bytes(path.read_bytes() + b'{"messages": [{"role": "us')

    session = read_session(path)

    assert len(session.messages) == 6
    assert "(3) is torn" in session.notes[0]


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("", "", "empty"),
        ("{]", "", "neither JSON nor JSON Lines"),
        ('{"messages": []}\n{"messages": \n{"messages": []}\n', "line 2", "no JSON"),
        ('{"a": 1}', "", "no recorded session"),
        ("[1, 2]", "", "no recorded session"),
        ('{"messages": [{"role": "user", "content": "a"}]}\n{"b": 1}\n', "line 2", "`messages`"),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', "", "no point"),
        ('{"context_chef": "recording", "version": 99}\n{"kind": "request"}\n', "line 1", "99"),
    ],
)
def test_what_is_no_session_is_named_with_file_and_line(
    tmp_path: Path, text: str, place: str, hint: str
) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(text, "utf-8")

    with pytest.raises(RecordingError) as refused:
        read_session(path)

    assert f"{path}{f', {place}' if place else ''}: " in str(refused.value)
    assert hint in str(refused.value)


def test_a_folder_is_read_in_order_and_names_what_it_skips(tmp_path: Path) -> None:
    write(tmp_path / "b.json", chat(1))
    (tmp_path / "a").mkdir()
    write(tmp_path / "a" / "z.json", chat(2))
    write(tmp_path / "index.json", {"files": ["b.json"]})

    sessions, skipped = read_all([tmp_path])

    assert [session.name for session in sessions] == ["a/z", "b"]
    assert len(skipped) == 1
    assert "index.json" in skipped[0]


def test_a_claude_code_log_joins_the_parts_of_an_answer_and_keeps_parallel_results(
    tmp_path: Path,
) -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    rows = claude_code(
        {"type": "summary", "summary": "A title", "leafUuid": "x"},
        said("user", "Fix it"),
        said("assistant", "Reading.", id="m1", model="claude-sonnet-4-5", usage=usage),
        said("assistant", use("t1"), id="m1", model="claude-sonnet-4-5", usage=usage),
        {**said("user", result("t1", "one")), "parentUuid": "u3"},
        {
            **said("assistant", use("t2"), id="m1", model="claude-sonnet-4-5", usage=usage),
            "parentUuid": "u3",
        },
        {**said("user", result("t2", "two")), "parentUuid": "u5"},
        said("assistant", "Done", id="m2", model="claude-sonnet-4-5", usage=usage),
        said("assistant", "API Error", id="m3", model="<synthetic>"),
    )

    session = read_session(write_lines(tmp_path / "log.jsonl", rows))

    assert (session.format, session.target, session.model) == (
        "claude-code", "anthropic", "claude-sonnet-4-5",
    )  # fmt: skip
    assert _roles(session) == "uatta"
    assert [len(request.add) for request in session.requests] == [1, 3]
    assert session.requests[1].at == 300
    assert session.requests[0].usage is not None
    assert (session.requests[0].usage.input, session.requests[0].usage.read) == (100, 90)


def test_a_claude_code_log_follows_the_last_branch_past_a_compaction(tmp_path: Path) -> None:
    rows = claude_code(
        said("user", "Begin"),
        said("assistant", "Wrong way", id="m1"),
        {**said("user", "Begin better"), "parentUuid": None},
        said("assistant", "Right way", id="m2"),
        {"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "u3",
         "parentUuid": None},
        {**said("user", "This session goes on from …"), "isCompactSummary": True},
        said("user", "And now?"),
        said("assistant", "Now this", id="m3"),
    )  # fmt: skip
    side = claude_code(said("user", "Look around"), said("assistant", "I see", id="s1"))
    rows += [{**row, "uuid": f"side{row['uuid']}", "isSidechain": True,
              "parentUuid": row["parentUuid"] and f"side{row['parentUuid']}"}
             for row in side]  # fmt: skip

    sessions, _ = read_all([write_lines(tmp_path / "log.jsonl", rows)])

    assert [message.text for message in sessions[0].messages] == [
        "Begin better", "Right way", "And now?", "Now this",
    ]  # fmt: skip
    assert "compacted its conversation once" in sessions[0].notes[0]
    assert [message.text for message in sessions[1].messages] == ["Look around", "I see"]


def _long_log() -> list[dict[str, Any]]:
    return claude_code(
        said("user", "Begin"),
        said("assistant", use("t1"), id="m1"),
        said("user", result("t1", "one")),
        said("assistant", "Half way", id="m2"),
        said("user", "Go on"),
        said("assistant", use("t2"), id="m3"),
        said("user", result("t2", "two")),
        said("assistant", "Done", id="m4"),
    )


@pytest.mark.parametrize("agent", [None, "a1"])
def test_what_stands_before_a_lost_line_of_an_agents_log_is_not_lost_with_it(
    tmp_path: Path, agent: str | None
) -> None:
    """A crash tears a line, and the agent goes on behind it: its log is a tree with a gap."""
    rows = _long_log()
    if agent:
        rows = [{**row, "isSidechain": True, "agentId": agent} for row in rows]
    lines = [json.dumps(row) for row in rows]
    lines[3] = lines[3][:90] + lines[4]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines[:4] + lines[5:]) + "\n", "utf-8")

    [session], _ = read_all([path])

    assert _roles(session) == "uatata"
    assert session.notes == (
        "line 4 is no JSON and was left out",
        "the entry that line 5 goes on from is not in the file; the one in front of it is taken "
        "instead",
    )


def test_what_a_claude_code_log_repeats_is_read_once(tmp_path: Path) -> None:
    """A session that is taken up again repeats entries, under the same names or under new ones."""
    rows = _long_log()
    copied = [{**row, "uuid": f"c{row['uuid']}",
               "parentUuid": row["parentUuid"] and f"c{row['parentUuid']}"}
              for row in rows]  # fmt: skip
    path = write_lines(tmp_path / "log.jsonl", [each for row in rows for each in (row, row)])
    again = write_lines(tmp_path / "again.jsonl", [*rows, *copied])

    assert _roles(read_session(path)) == _roles(read_session(again)) == "uatauata"
    assert len(read_session(again).messages[1].tool_calls) == 1


def test_content_that_is_neither_text_nor_a_list_is_named_with_its_line(tmp_path: Path) -> None:
    rows = claude_code(said("user", "Begin"), {"type": "user", "message": {"content": 5}})

    with pytest.raises(RecordingError, match=r"line 2: `content` has to be .* not 5"):
        read_session(write_lines(tmp_path / "log.jsonl", rows))


def _pi(number: int, role: str, *content: Any, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
    message = {"role": role, "content": blocks, "timestamp": 1_765_233_665_000 + number * 1000}
    return {"type": "message", "message": {**message, **more}}


def _pi_rows() -> list[dict[str, Any]]:
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.py"}}
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    usage = {"input": 3, "output": 9, "cacheRead": 50, "cacheWrite": 7}
    anthropic = {"provider": "anthropic", "model": "claude-opus-4-5", "usage": usage}
    return [
        {"type": "session", "id": "s", "timestamp": "2025-12-09T00:53:29.825Z", "version": 3},
        {"type": "model_change", "provider": "anthropic", "modelId": "claude-opus-4-5"},
        _pi(0, "user", "Read a.py"),
        _pi(1, "assistant", thought, call, **anthropic),
        _pi(2, "toolResult", "x = 1", toolCallId="t1", toolName="read", isError=False),
        _pi(3, "assistant", **{**anthropic, "stopReason": "aborted"}),
        {"type": "compaction", "summary": "…", "firstKeptEntryId": "x", "tokensBefore": 9},
        _pi(4, "bashExecution", command="ls", output="a.py", exitCode=0),
        _pi(5, "assistant", "It sets x.", **anthropic),
    ]


def test_a_pi_log_keeps_what_reached_the_model(tmp_path: Path) -> None:
    session = read_session(write_lines(tmp_path / "log.jsonl", _pi_rows()))

    assert (session.format, session.model) == ("pi", "claude-opus-4-5")
    assert _roles(session) == "uatua"
    assert session.messages[3].text == "Ran `ls`\na.py"
    assert session.requests[1].usage is not None
    assert session.requests[1].usage.input == 60
    assert "compacted" in session.notes[0]


@pytest.mark.parametrize(
    ("api", "provider", "target"),
    [
        ("openai-codex-responses", "openai-codex", "openai-responses"),
        ("openai-completions", "groq", "openai"),
        ("google-vertex", "google", "gemini"),
        ("bedrock-converse-stream", "amazon-bedrock", "anthropic"),
        (None, "anthropic", "anthropic"),
    ],
)
def test_a_pi_log_is_for_the_provider_that_was_asked(
    tmp_path: Path, api: str | None, provider: str, target: str
) -> None:
    rows = _pi_rows()
    for message in (row["message"] for row in rows if "message" in row):
        if message["role"] == "assistant":
            message |= {"api": api, "provider": provider}
    rows[3]["message"]["content"][1]["id"] = rows[4]["message"]["toolCallId"] = "t1|fc_9"

    session = read_session(write_lines(tmp_path / "log.jsonl", rows))

    assert session.target == target
    assert [call.id for call in session.messages[1].tool_calls] == ["t1"]
    assert session.messages[2].tool_call_id == "t1"


def test_a_pi_log_that_ends_with_a_question_says_when_it_was_asked(tmp_path: Path) -> None:
    session = read_session(write_lines(tmp_path / "log.jsonl", [*_pi_rows(), _pi(9, "user", "?")]))

    assert session.timed
    assert session.requests[-1].at == 9


def test_a_pi_log_with_a_tree_follows_its_last_branch(tmp_path: Path) -> None:
    rows = _pi_rows()
    for number, row in enumerate(rows[1:]):
        row |= {"id": f"e{number}", "parentId": f"e{number - 1}" if number else None}
    rows.append({**_pi(9, "user", "Other way"), "id": "f", "parentId": "e3"})

    session = read_session(write_lines(tmp_path / "log.jsonl", rows))

    assert session.messages[-1].text == "Other way"
    assert _roles(session) == "uatu"


@needs_data
def test_every_recorded_trace_is_a_session() -> None:
    sessions, skipped = read_all([DATA / "traces"])

    assert len(sessions) == len(json.loads((DATA / "traces/index.json").read_text("utf-8")))
    assert len(skipped) == 1  # the index itself
    pi = next(session for session in sessions if "pi-before" in session.name)
    assert sum(request.usage is not None for request in pi.requests) == 471


def test_a_request_that_stores_a_cache_is_told_from_one_that_asks_a_model(tmp_path: Path) -> None:
    body = {"model": "models/gemini-2.5-flash", "systemInstruction": {"parts": []}, "ttl": "60s"}
    path = tmp_path / "s.json"
    for stored in (body, {"endpoint": "gemini/v1beta/cachedContents", "request": body}):
        path.write_text(json.dumps(stored), "utf-8")
        with pytest.raises(RecordingError, match="asks no model"):
            read_session(path)
