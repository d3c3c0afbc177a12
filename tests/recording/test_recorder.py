"""The recorder writes what happened, and only what may be written, whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef, InMemoryBackend, SettingsError, reset
from context_chef.recording import Recorder
from context_chef.recording.lines import LineFile
from context_chef.recording.redaction import UNREADABLE
from context_chef.replay import read_all, read_session, replay
from context_chef.testing import MovableClock, RecordingLogger
from tests.replay.sessions import chat


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _converse(chef: ContextChef, turns: int, text: str = "question") -> None:
    for number in range(turns):
        chef.append({"role": "user", "content": f"{text} {number}"})
        chef.compile_sync("openai", model="gpt-4.1")
        chef.append({"role": "assistant", "content": f"answer {number}"})


def test_a_recorded_session_is_read_back_as_it_was(tmp_path: Path) -> None:
    path, clock, body = tmp_path / "s.jsonl", MovableClock(1_000.0), chat(4)
    chef = ContextChef(tools="unified")
    chef.set_system_prompt(body["messages"][0]["content"]).register_tools(body["tools"])
    with Recorder(path, clock=clock, name="mine") as recorder:
        recorder.attach(chef)
        for end in (2, 4, 6, 8):
            chef.set_history(body["messages"][1:end])
            chef.compile_sync("anthropic", model="claude-sonnet-4-5")
            recorder.answered(usage={"input_tokens": 10 * end, "output_tokens": 1})
            clock.move(60)
        recorder.answered({"content": [{"type": "text", "text": "Done."}]})

    session = read_session(path)

    assert (session.name, session.format, session.target, session.model) == (
        "mine", "recording", "anthropic", "claude-sonnet-4-5",
    )  # fmt: skip
    assert session.messages[:-1] == chef.history
    assert session.rest[0].text == "Done."
    assert [request.at for request in session.requests] == [0, 60, 120, 180]
    assert [r.usage.input for r in session.requests if r.usage] == [20, 40, 60, 80]
    assert session.requests[0].tools is not None
    assert [tool.name for tool in session.requests[0].tools] == ["read_file"]  # none of our own
    assert [request.tools for request in session.requests[1:]] == [None] * 3


def test_each_compile_writes_only_what_is_new(tmp_path: Path) -> None:
    path, chef = tmp_path / "s.jsonl", ContextChef()
    chef.set_system_prompt("Be careful.")
    with Recorder(path) as recorder:
        recorder.attach(chef)
        _converse(chef, 3)
        chef.set_history([*chef.history[:2], {"role": "user", "content": "Other way"}])
        chef.compile_sync("openai")

    requests = [row for row in _lines(path) if row.get("kind") == "request"]

    assert [len(row["messages"]) for row in requests] == [1, 2, 2, 1]
    assert [row.get("keep") for row in requests] == [None, None, None, 2]
    assert ["system" in row for row in requests] == [True, False, False, False]
    assert read_session(path).messages == chef.history


def test_state_announcements_skills_and_injected_context_are_replayed(tmp_path: Path) -> None:
    path, chef = tmp_path / "s.jsonl", ContextChef(memory={}, store=InMemoryBackend())
    chef.use("before-assemble", lambda context: context.inject("INJECTED-77"))
    chef.set_dynamic_state(None, {"step": "STATE-11"}).announce("note", "ANNOUNCED-22")
    chef.activate_skill({"name": "fix", "instructions": "SKILL-33"})
    chef.get_memory().set_sync("who", "MEMORY-44")
    with Recorder(path) as recorder:
        recorder.attach(chef)
        _converse(chef, 1)
        chef.set_dynamic_state(None, {"step": "STATE-55"}).retract_announcement("note")
        _converse(chef, 1, "more")

    replayed = replay(path, ["everything"]).sessions[0]

    spans = [
        "\n".join(replayed.texts[at].text for at in replayed.runs[0].spans(number))
        for number in (1, 2)
    ]
    for fact in ("INJECTED-77", "STATE-11", "ANNOUNCED-22", "SKILL-33", "MEMORY-44"):
        assert fact in spans[0], fact
    assert "STATE-55" in spans[1]
    assert "STATE-11" not in spans[1]
    assert "ANNOUNCED-22" not in spans[1]


def test_an_agent_without_a_chef_is_recorded_by_its_bodies(tmp_path: Path) -> None:
    path, body = tmp_path / "s.jsonl", chat(3)
    with Recorder(path) as recorder:
        for end in (2, 4, 6):
            recorder.request(
                {**body, "messages": body["messages"][:end]}, usage={"prompt_tokens": end}
            )

    session = read_session(path)

    assert (session.format, session.target) == ("recording", "openai")
    assert [len(request.add) for request in session.requests] == [1, 2, 2]
    assert [r.usage.input for r in session.requests if r.usage] == [2, 4, 6]


def test_several_chefs_are_sessions_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    chefs = [ContextChef(), ContextChef()]
    with Recorder(path, name="both") as recorder:
        for chef in chefs:
            recorder.attach(chef)
        for number, chef in enumerate(chefs):
            _converse(chef, number + 1)

    sessions, _ = read_all([path])

    assert [(one.name, len(one.requests)) for one in sessions] == [("both", 1), ("both#2", 2)]


def test_a_file_is_gone_on_with_and_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    path, logger = tmp_path / "s.jsonl", RecordingLogger()
    with Recorder(path) as recorder:
        recorder.attach(chef := ContextChef())
        _converse(chef, 1, "first")
    with path.open("ab") as file:
        file.write(b'{"kind": "request", "messa')

    with Recorder(path, logger=logger, durable=True) as recorder:
        recorder.attach(chef := ContextChef())
        _converse(chef, 2, "second")

    assert "26 bytes" in logger.warnings[0]
    sessions, _ = read_all([path])
    assert [len(one.requests) for one in sessions] == [1, 2]


def test_a_recording_that_a_crash_cut_off_anywhere_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Recorder(path) as recorder:
        recorder.attach(chef := ContextChef())
        _converse(chef, 3)
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 0x0A]

    for cut in range(ends[1], len(whole), 7):
        path.write_bytes(whole[:cut])
        session = read_session(path)
        assert len(session.requests) == sum(end <= cut + 1 for end in ends) - 1
        assert bool(session.notes) == all(cut not in (end, end - 1) for end in ends)


SECRETS = r"sk-[A-Za-z0-9]{8}"


@pytest.mark.parametrize(
    "redact", [[SECRETS], lambda text: __import__("re").sub(SECRETS, "", text)]
)
def test_nothing_that_is_redacted_reaches_the_disk(tmp_path: Path, redact: Any) -> None:
    path, secret = tmp_path / "s.jsonl", "sk-AbCd1234"
    escaped = json.dumps({"key": secret}).replace("sk-", "\\u0073k-")
    chef = ContextChef(memory={}, store=InMemoryBackend())
    chef.set_system_prompt(f"The key is {secret}.")
    chef.register_tools(
        [{"name": "call", "description": secret, "parameters": {"type": "object",
          "properties": {secret: {"type": "string", "enum": [secret]}}}}]
    )  # fmt: skip
    chef.set_dynamic_state(None, {"token": secret, secret: 1}).announce("a", f"use {secret}")
    chef.activate_skill({"name": "s", "instructions": secret})
    call = {"id": "c1", "type": "function", "function": {"name": "call", "arguments": escaped}}
    chef.extend(
        [
            {"role": "user", "content": f"Use {secret}", "extra_note": secret},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": f"got {secret}"},
        ]
    )
    with Recorder(path, redact=redact, name=f"run {secret}") as recorder:
        recorder.attach(chef)
        chef.compile_sync("openai")
        recorder.answered({"choices": [{"message": {"role": "assistant", "content": secret}}]})
        recorder.request({"messages": [{"role": "user", "content": secret}], "user": secret})

    text = path.read_text("utf-8")

    assert recorder.error is None
    assert secret not in text
    assert "AbCd1234" not in text
    assert len(text.splitlines()) == 4
    assert read_all([path])[0][0].messages[0].role == "user"


def test_a_redaction_that_fails_costs_the_texts_that_it_fails_on(tmp_path: Path) -> None:
    """One text that a redaction always failed on used to end the recording of its session."""
    path, logger = tmp_path / "s.jsonl", RecordingLogger()

    def redact(text: str) -> Any:
        if "secret" in text:
            raise RuntimeError("no")
        return None if "odd" in text else text

    with Recorder(path, redact=redact, logger=logger) as recorder:
        recorder.attach(chef := ContextChef())
        _converse(chef, 1, "secret")
        _converse(chef, 1, "question")
        recorder.request({"messages": [{"role": "user", "content": "odd"}]})

    assert isinstance(recorder.error, TypeError)
    assert len(logger.warnings) == 1
    assert "secret" not in path.read_text("utf-8")
    first, second = read_all([path])[0]
    assert [message.text for message in first.messages] == [UNREADABLE, "answer 0", "question 0"]
    assert [message.text for message in second.messages] == [UNREADABLE]


def test_what_could_not_be_written_is_told_by_the_next_line_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that was full for a moment used to cost the messages of that moment for good."""
    path, failures, append = tmp_path / "s.jsonl", [OSError("full")], LineFile.append

    def full_for_a_moment(file: LineFile, line: bytes) -> None:
        if b"question 1" in line and failures:
            raise failures.pop()
        append(file, line)

    monkeypatch.setattr(LineFile, "append", full_for_a_moment)
    with Recorder(path, logger=RecordingLogger()) as recorder:
        recorder.attach(chef := ContextChef())
        _converse(chef, 4)

    session = read_session(path)
    assert [message.text for message in session.messages] == [
        "question 0", "answer 0", "question 1", "answer 1",
        "question 2", "answer 2", "question 3",
    ]  # fmt: skip
    assert len(session.requests) == 3


@pytest.mark.skipif(os.name != "posix", reason="locks of files are POSIX's")
def test_a_file_that_another_recorder_writes_to_is_left_to_it(tmp_path: Path) -> None:
    """Lines of two processes in one file used to be read as one conversation of both."""
    path, logger = tmp_path / "s.jsonl", RecordingLogger()
    with Recorder(path) as first, Recorder(path, logger=logger) as second:
        for recorder, name in ((first, "one"), (second, "two")):
            recorder.attach(chef := ContextChef())
            _converse(chef, 2, name)

    assert second.path == tmp_path / "s-2.jsonl"
    assert "Another recorder writes to" in logger.warnings[0]
    sessions, _ = read_all([tmp_path])
    assert [[m.text[:3] for m in session.messages[::2]] for session in sessions] == [
        ["two", "two"], ["one", "one"],
    ]  # fmt: skip
    with Recorder(path) as again:
        assert again.path == path  # free again, and gone on with


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "s.jsonl"
    Recorder(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_full_disk_stops_the_recording_and_not_the_agent(tmp_path: Path) -> None:
    path, logger = tmp_path / "s.jsonl", RecordingLogger()
    with Recorder(path, logger=logger) as recorder:
        recorder.attach(chef := ContextChef())
        _converse(chef, 1)
        file: Any = recorder._file  # pyright: ignore[reportPrivateUsage]  # there is no other way to fill a disk
        os.close(file._file)
        file._file = os.open(path, os.O_RDONLY)
        _converse(chef, 2)

    assert isinstance(recorder.error, OSError)
    assert len(logger.warnings) == 1
    assert len(_lines(path)) == 2
    assert len(chef.history) == 6


def test_compiles_of_many_threads_are_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Recorder(path) as recorder:
        chefs = [ContextChef() for _ in range(6)]
        for chef in chefs:
            recorder.attach(chef)
        threads = [threading.Thread(target=_converse, args=(chef, 8, "x" * 500)) for chef in chefs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    sessions, _ = read_all([path])

    assert [len(one.requests) for one in sessions] == [8] * 6
    assert sorted(row["number"] for row in _lines(path)[1:]) == list(range(1, 49))


def test_a_compile_that_fails_is_not_recorded_and_off_means_off(tmp_path: Path) -> None:
    path, chef = tmp_path / "s.jsonl", ContextChef()
    with Recorder(path) as recorder:
        off = recorder.attach(chef)
        chef.append({"role": "user", "content": "a"})
        with pytest.raises(SettingsError):
            chef.compile_sync("nobody")
        chef.compile_sync("openai")
        off()
        chef.compile_sync("openai")
    chef.compile_sync("openai")

    assert [row.get("number") for row in _lines(path)[1:]] == [1]


def test_folds_do_not_change_what_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    chef = ContextChef(
        janitor={"context_window": 3_000}, overflow={"strategy": reset(), "archive": "vfs"}
    )
    with Recorder(path) as recorder:
        recorder.attach(chef)
        _converse(chef, 10, "word " * 200)

    assert _lines(path)[-1]["folds"] > 0
    assert read_session(path).messages == chef.history[:-1]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"redact": "sk-"}, "list"),
        ({"redact": ["("]}, "regular expression"),
        ({"clock": 3}, "clock"),
    ],
)
def test_a_meaningless_setting_is_named(tmp_path: Path, options: dict[str, Any], hint: str) -> None:
    with pytest.raises(SettingsError, match=hint):
        Recorder(tmp_path / "s.jsonl", **options)


def test_the_recorded_loop_of_the_examples_is_what_its_program_records(tmp_path: Path) -> None:
    examples = Path(__file__).resolve().parents[2] / "examples"
    out = tmp_path / "again.jsonl"
    command = [sys.executable, str(examples / "agent_loop.py"), "--regions", "2", "--out", str(out)]

    subprocess.run(command, check=True, capture_output=True)

    shipped = read_session(examples / "agent_session.jsonl")
    again = read_session(out)
    files = shipped.messages[2]
    assert "inventory/regions/nettle.py" in files.text
    same = [m for m in again.messages[:26] if "list_files" not in m.text][4:]
    assert [m.text for m in same] == [m.text for m in shipped.messages[4:26]]
    assert len(shipped.messages) > 150
    assert "Lindqvist" in shipped.messages[-2].text  # found again in the archive
    text = (examples / "agent_session.jsonl").read_text("utf-8")
    assert not any(part in text for part in ("/tmp/", "/home/", "/root/", str(examples.parent)))


def test_every_thread_and_task_gets_the_answers_to_its_own_requests(tmp_path: Path) -> None:
    path, together = tmp_path / "s.jsonl", threading.Barrier(3)

    def talk(recorder: Recorder, name: str) -> None:
        together.wait()
        recorder.request({"model": "gpt-4.1", "messages": [{"role": "user", "content": name}]})
        together.wait()
        recorder.answered({"said": name})

    async def tell(recorder: Recorder, name: str) -> None:
        recorder.request({"model": "gpt-4.1", "messages": [{"role": "user", "content": name}]})
        await asyncio.sleep(0)
        recorder.answered({"said": name})

    async def tasks(recorder: Recorder) -> None:
        await asyncio.gather(*(tell(recorder, f"task {n}") for n in range(3)))

    with Recorder(path) as recorder:
        threads = [threading.Thread(target=talk, args=(recorder, f"thread {n}")) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asyncio.run(tasks(recorder))

    rows = _lines(path)[1:]
    asked = {
        row["number"]: row["request"]["messages"][0]["content"]
        for row in rows
        if row["kind"] == "request"
    }
    told = {row["number"]: row["response"]["said"] for row in rows if row["kind"] == "answer"}
    assert told == asked
    assert len(told) == 6


FORKED = """
import os, signal, sys, threading
from context_chef import ContextChef
from context_chef.recording import Recorder
from context_chef.recording.lines import LineFile
from context_chef.recording.redaction import UNREADABLE

recorder = Recorder(sys.argv[1])
chef = ContextChef()
recorder.attach(chef)
chef.append({"role": "user", "content": "before"})
chef.compile_sync("openai")
held = threading.Event()
go = threading.Event()

def hold():
    with recorder._lock:
        held.set()
        go.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # a child that waits for the lock dies of it
    chef.append({"role": "user", "content": "of the child"})
    chef.compile_sync("openai")
    recorder.answered({"said": "child"})
    recorder.close()
    os._exit(0 if recorder.error is not None else 1)
go.set()
thread.join()
status = os.waitpid(child, 0)[1]
chef.append({"role": "user", "content": "of the parent"})
chef.compile_sync("openai")
recorder.close()
sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_that_is_forked_off_neither_writes_nor_waits(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    done = subprocess.run([sys.executable, "-c", FORKED, str(path)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert b"forked" in done.stderr
    said = [m["content"] for row in _lines(path)[1:] for m in row["messages"]]
    assert said == ["before", "of the parent"]


class _Raising:
    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("closed already")


def test_a_response_object_or_a_clock_that_raises_stays_out_of_the_agent(tmp_path: Path) -> None:
    clock = MovableClock(1.0)
    recorder = Recorder(tmp_path / "s.jsonl", clock=clock, logger=RecordingLogger())
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "a"}]}
    recorder.request(body, response=_Raising(), usage=_Raising())
    assert isinstance(recorder.error, RuntimeError)
    recorder.request(_Raising())  # pyright: ignore[reportArgumentType]  # what a caller may hand in
    stopped = Recorder(tmp_path / "t.jsonl", clock=iter([1.0]).__next__, logger=RecordingLogger())
    chef = ContextChef()
    stopped.attach(chef)
    chef.append({"role": "user", "content": "a"}).compile_sync("openai")
    assert isinstance(stopped.error, StopIteration)


def test_an_answer_may_be_the_message_alone(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "Done.", "tool_calls": None}
    for number, answer in enumerate((message, {"index": 0, "message": message})):
        with Recorder(tmp_path / f"{number}.jsonl") as recorder:
            recorder.attach(chef := ContextChef())
            _converse(chef, 1)
            recorder.answered(answer)

        assert read_session(recorder.path).rest[0].text == "Done."


def test_a_stream_is_left_to_the_agent(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "s.jsonl", logger=RecordingLogger())
    recorder.request({"model": "gpt-4.1", "messages": [{"role": "user", "content": "a"}]})
    stream = iter(["one", "two"])
    recorder.answered(stream)
    assert list(stream) == ["one", "two"]
    assert "read only once" in str(recorder.error)


def test_a_secret_is_redacted_under_keys_of_the_format_too(tmp_path: Path) -> None:
    path, secret = tmp_path / "s.jsonl", "sk-12345"
    body = {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "a"}],
        "metadata": {"type": secret, "kind": secret, "role": secret, "channel": secret},
    }
    with Recorder(path, redact=["sk-[0-9]+"], name=secret) as recorder:
        recorder.request(body)
    assert secret not in path.read_text("utf-8")
    assert _lines(path)[1]["request"]["messages"][0]["role"] == "user"


def test_a_redaction_that_changes_every_text_leaves_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Recorder(path, redact=lambda text: "#" * len(text)) as recorder:
        chef = ContextChef()
        recorder.attach(chef)
        _converse(chef, 2)
    assert len(read_session(path).requests) == 2


@pytest.mark.parametrize("content", ["precious, no line end", '{"messages": []}', "a\nb\n"])
def test_a_file_that_is_no_recording_is_refused_and_left_alone(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content, "utf-8")
    with pytest.raises(SettingsError, match="no recording"):
        Recorder(path)
    assert path.read_text("utf-8") == content


def test_new_folders_in_between_are_private_too(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Recorder(tmp_path / "a" / "b" / "s.jsonl").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_attach_says_what_is_wrong(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "s.jsonl")
    with pytest.raises(SettingsError, match="takes a ContextChef"):
        recorder.attach(None)  # pyright: ignore[reportArgumentType]  # the fault under test
    recorder.close()
    with pytest.raises(SettingsError, match="is closed"):
        recorder.attach(ContextChef())
