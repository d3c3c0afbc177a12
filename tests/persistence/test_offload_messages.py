"""Offloading a conversation: what is replaced, what never is, and that it stays the same."""

from __future__ import annotations

import json

import pytest

from context_chef import ContextChef
from context_chef.ir.blocks import Inline, Media, Text, Thinking, ToolCall
from context_chef.ir.message import Message
from context_chef.persistence import (
    Archive,
    InMemoryBackend,
    OffloadConfig,
    Offloader,
    StoredEntry,
    offload_messages,
    offload_messages_sync,
    serialize_span,
)
from context_chef.retrieval import ContextHost, dispatch_context_tool, render_recalled_content

LONG = "line\n" * 20_000


def offloader(**config: object) -> Offloader:
    return Offloader(InMemoryBackend(), OffloadConfig(**{"tail_chars": 100, **config}))  # type: ignore[arg-type]


def called(name: str, result: str, **more: object) -> list[Message]:
    call = ToolCall(id="c1", name=name, arguments="{}")
    return [
        Message.user("go"),
        Message.assistant("", tool_calls=[call]),
        Message.tool(result, tool_call_id="c1", **more),
    ]


def test_a_large_result_becomes_a_marker_and_the_rest_stays_the_same_object() -> None:
    vfs = offloader()
    messages = called("run", LONG, is_error=True)

    out = offload_messages_sync(vfs, messages)

    assert out.messages[:2] == tuple(messages[:2])
    assert out.messages[1] is messages[1]
    assert out.messages[2].is_error
    assert len(out.messages[2].text) < 1_000
    assert vfs.resolve_sync(out.uris[0]) == LONG
    assert [(note.index, note.what, note.tool) for note in out.notes] == [(2, "result", "run")]


def test_doing_it_again_changes_nothing() -> None:
    vfs = offloader()
    once = offload_messages_sync(vfs, called("run", LONG))

    again = offload_messages_sync(vfs, once.messages)

    assert again.messages == once.messages
    assert all(new is old for new, old in zip(again.messages, once.messages, strict=True))


def test_text_blocks_are_offloaded_and_the_image_beside_them_stays() -> None:
    """BR-089."""
    image = Media(kind="image", source=Inline(data="aGk="), media_type="image/png")
    vfs = offloader()
    result = Message(role="tool", tool_call_id="t1", content=(Text(text=LONG), image))

    out = offload_messages_sync(vfs, [result])

    assert out.messages[0].media == (image,)
    assert len(out.messages[0].text) < 1_000
    assert vfs.resolve_sync(out.uris[0]) == LONG


def test_pinned_messages_stay_word_for_word() -> None:
    [*_, result] = called("run", LONG, pinned=True)

    assert offload_messages_sync(offloader(), [result]).messages == (result,)


def test_per_tool_settings_are_followed_by_the_name_of_the_call() -> None:
    out = offload_messages_sync(offloader(per_tool=["read_file"]), called("read_file", LONG))

    assert out.notes == ()


def test_large_texts_in_arguments_go_and_the_json_stays_an_object() -> None:
    vfs = offloader(argument_threshold=1_000)
    arguments = json.dumps({"path": "a.txt", "lines": ["short", LONG]})
    call = ToolCall(id="c1", name="write", arguments=arguments)

    out = offload_messages_sync(vfs, [Message.assistant("", tool_calls=[call])])

    [smaller] = out.messages[0].tool_calls
    read = json.loads(smaller.arguments)
    assert read["path"] == "a.txt"
    assert read["lines"][0] == "short"
    assert "<persisted-output>" in read["lines"][1]
    assert vfs.resolve_sync(out.uris[0]) == LONG


def test_arguments_under_a_signature_and_broken_ones_are_left_alone() -> None:
    call = ToolCall(id="c1", name="write", arguments=json.dumps({"body": LONG}))
    signed = Message(
        role="assistant",
        content=(Thinking(text="hm", signature="s", origin="anthropic"), call),
    )
    broken = Message.assistant(
        "", tool_calls=[ToolCall(id="c2", name="write", arguments='{"body":"' + LONG)]
    )

    out = offload_messages_sync(offloader(), [signed, broken])

    assert out.messages == (signed, broken)


def test_media_beyond_the_limit_becomes_a_note_that_says_where_it_is() -> None:
    vfs = offloader(media_bytes=1_000)
    data = "QUJD" * 1_000 + "QQ=="
    image = Media(kind="image", source=Inline(data=data), media_type="image/png", filename="a.png")

    out = offload_messages_sync(vfs, [Message.user((Text(text="see"), image))])

    assert out.messages[0].media == ()
    assert "Image 'a.png' (image/png) of 3001 bytes" in out.messages[0].text
    assert vfs.resolve_sync(out.uris[0]) == f"data:image/png;base64,{data}"


async def test_reading_back_is_bounded_and_never_offloaded_again() -> None:
    """BR-087: the model reaches the word near the end in a few reads that stay readable."""
    vfs = offloader()
    text = "x" * 199_000 + "\nNEEDLE\n" + "y" * 1_000
    first = await offload_messages(vfs, called("run", text))
    host = ContextHost(store=vfs.store, offloader=vfs)

    async def read(**arguments: str) -> str:
        answer = await dispatch_context_tool(host, {"name": "context", "arguments": arguments})
        seen = await offload_messages(vfs, called("context", answer))
        assert seen.messages[2].text == answer
        assert len(answer) < 30_000
        return answer

    whole = await read(command="view", path=first.uris[0])
    assert "To go on, view" in whole
    assert "NEEDLE" in await read(command="search", path=first.uris[0], query="NEEDLE")
    assert "NEEDLE" in await read(command="view", path=f"{first.uris[0]}#L2-L3")


# ── Archived spans ────────────────────────────────────────────────────────────────────────────


async def test_an_archived_span_reads_back_as_a_transcript() -> None:
    span = called("read", "the answer")
    vfs = offloader()

    uri = await Archive(vfs)(span)

    stored = vfs.resolve_sync(uri)
    assert stored == serialize_span(span)
    assert stored is not None
    assert render_recalled_content(stored) == (
        "[archived span — 3 messages]\n\nuser:\ngo\n\nassistant:\n[tool call] read({})\n\n"
        "tool result (read):\nthe answer"
    )


def test_the_same_span_has_the_same_address() -> None:
    span = called("read", "x")

    assert Archive(offloader()).store_sync(span) == Archive(offloader()).store_sync(list(span))


class Full(InMemoryBackend):
    """A disk with no room left."""

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        raise OSError(28, "No space left on device")


def test_a_text_that_a_marker_would_not_shorten_stays() -> None:
    vfs = offloader(threshold=100, tail_chars=20)
    messages = called("run", "word " * 40)

    out = offload_messages_sync(vfs, messages)

    assert out.messages == tuple(messages)
    assert vfs.get_entries() == []


def test_what_the_store_cannot_take_stays_where_that_was_asked_for() -> None:
    vfs = Offloader(Full(), OffloadConfig(media_bytes=10))
    media = Media(kind="image", source=Inline(data="A" * 100), media_type="image/png")
    arguments = json.dumps({"body": LONG})
    messages = [
        Message.user([media]),
        Message.assistant("", tool_calls=[ToolCall(id="c1", name="run", arguments=arguments)]),
        Message.tool(LONG, tool_call_id="c1"),
    ]

    out = offload_messages_sync(vfs, messages, keep_on_failure=True)

    assert out.messages == tuple(messages)
    assert [(fault.index, fault.what) for fault in out.failures] == [
        (0, "media"),
        (1, "argument"),
        (2, "result"),
    ]
    with pytest.raises(OSError, match="No space"):
        offload_messages_sync(vfs, messages)


def test_a_full_disk_does_not_stop_a_compile_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chef = ContextChef(store=Full(), tools="unified", vfs={"automatic": True})
    chef.set_history(called("run", LONG))

    for _ in range(2):
        payload = chef.compile_sync("openai")
        assert payload["messages"][-1]["content"] == LONG
        codes = [(note.code, note.where) for note in payload.report.diagnostics]
        assert ("offload-failed", "history[2]") in codes
    said = [record for record in caplog.records if "No space left" in record.getMessage()]
    assert len(said) == 1
