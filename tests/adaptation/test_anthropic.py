"""To Anthropic: what a window becomes on the Messages wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from context_chef.adaptation.adapter import Adapted, AdaptRequest, TargetAdapter, WireAdapter
from context_chef.adaptation.anthropic import AnthropicAdapter, to_anthropic
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.ir.blocks import (
    Block,
    CacheBreakpoint,
    FileId,
    Inline,
    Media,
    Opaque,
    PlainText,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    Url,
)
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.adaptation import system_note, thinking_as_text
from context_chef.prompts.guardrails import prefill_enforcement

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAAA="
MARK = {"type": "ephemeral"}

Wire = list[dict[str, Any]]


def _profile(**fields: Any) -> ModelProfile:
    return ModelProfile(provider="anthropic", name="test", **fields)


def _adapt(*messages: Message, **fields: Any) -> Adapted:
    return AnthropicAdapter().adapt(AdaptRequest(messages=messages, **fields))


def _wire(*messages: Message, **fields: Any) -> Wire:
    return _adapt(*messages, **fields).body["messages"]


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def _call(call_id: str = "c1", arguments: str = "{}", name: str = "f") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def _user_block(block: Block) -> dict[str, Any]:
    [message] = _wire(Message.user(block))
    [wire] = message["content"]
    return wire


def test_it_is_both_kinds_of_adapter() -> None:
    assert isinstance(AnthropicAdapter(), WireAdapter)
    assert isinstance(AnthropicAdapter(), TargetAdapter)


def test_system_messages_are_text_blocks_in_order() -> None:
    body = _adapt(Message.system("one"), Message.system("two"), Message.user("q")).body

    assert body["system"] == [_text("one"), _text("two")]
    assert body["messages"] == [{"role": "user", "content": [_text("q")]}]


def test_no_system_prompt_and_no_tools_are_no_keys() -> None:
    assert _adapt(Message.user("q")).body.keys() == {"messages"}


def test_results_come_first_and_neighbours_of_one_role_are_one_message() -> None:
    assert _wire(
        Message.user("q"),
        Message.assistant("on it"),
        Message.assistant("", tool_calls=[_call("c1"), _call("c2")]),
        Message.user("meanwhile"),
        Message.tool("r1", tool_call_id="c1"),
        Message.tool("r2", tool_call_id="c2"),
        Message.user("and then"),
    )[1:] == [
        {
            "role": "assistant",
            "content": [
                _text("on it"),
                {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
                {"type": "tool_use", "id": "c2", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "r1"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "r2"},
                _text("meanwhile"),
                _text("and then"),
            ],
        },
    ]


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_blank_text_of_a_user_is_never_sent(blank: str) -> None:
    media = Media(kind="image", source=Url(url="https://e.test/i.png"))

    [message] = _wire(Message.user((Text(text=blank), media)), Message.user(Text(text=blank)))

    assert [block["type"] for block in message["content"]] == ["image"]


def test_a_call_without_words_has_no_text_block() -> None:
    [_, answer] = _wire(Message.user("q"), Message.assistant("", tool_calls=[_call()]))

    assert [block["type"] for block in answer["content"]] == ["tool_use"]


def test_a_failed_result_says_so() -> None:
    [message] = _wire(Message.tool("boom", tool_call_id="c1", is_error=True))

    assert message["content"][0]["is_error"] is True


def test_a_failed_result_without_words_has_some() -> None:
    """The API takes an empty result, but not an empty error."""
    [message] = _wire(Message.tool("", tool_call_id="c1", is_error=True))

    assert message["content"][0]["content"].strip()


def test_a_result_holds_images_and_documents_as_they_are() -> None:
    image = Media(kind="image", source=Inline(data=PNG), media_type="image/png")
    document = Media(kind="document", source=PlainText(text="words"), filename="a.txt")

    [message] = _wire(Message.tool((Text(text="see"), image, document), tool_call_id="c1"))

    assert message["content"][0]["content"] == [
        _text("see"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "words"},
            "title": "a.txt",
        },
    ]


# Arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ("", {}),
        ("  ", {}),
        ('{"a":1}', {"a": 1}),
        ('{"a":', {"raw_arguments": '{"a":'}),
        ("[1,2]", {"raw_arguments": [1, 2]}),
        ('{"a":NaN}', {"raw_arguments": '{"a":NaN}'}),
        ('{"a":"\\ud800"}', {"a": "\ufffd"}),
    ],
)
def test_whatever_the_model_wrote_as_arguments_becomes_an_object(
    arguments: str, given: dict[str, Any]
) -> None:
    adapted = _adapt(Message.assistant("", tool_calls=[_call(arguments=arguments)]))

    [message] = adapted.body["messages"]
    assert message["content"][0]["input"] == given
    wrapped = "raw_arguments" in given
    assert [note.code for note in adapted.diagnostics] == ["arguments-wrapped"] * wrapped


def test_calls_use_the_name_that_the_tool_has_on_the_wire() -> None:
    body = _adapt(
        Message.assistant("", tool_calls=[_call(name="files.read")]),
        tools=(ToolDefinition(name="files.read"),),
    ).body

    [tool] = body["tools"]
    assert body["messages"][0]["content"][0]["name"] == tool["name"]


# Thinking --------------------------------------------------------------------------------------


def test_thinking_goes_back_where_it_stood_with_its_signature() -> None:
    [message] = _wire(
        Message.assistant(
            (
                Thinking(text="T1", signature="S1", origin="anthropic"),
                _call(),
                Thinking(text="T2", signature="S2", origin="anthropic"),
                RedactedThinking(data="R"),
                Text(text="a"),
            )
        )
    )

    assert message["content"] == [
        {"type": "thinking", "thinking": "T1", "signature": "S1"},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
        {"type": "thinking", "thinking": "T2", "signature": "S2"},
        {"type": "redacted_thinking", "data": "R"},
        _text("a"),
    ]


@pytest.mark.parametrize(
    "thinking",
    [
        Thinking(text="T", signature="S", origin="gemini"),
        Thinking(text="T", origin="anthropic"),
        Thinking(text="T", signature="", origin="anthropic"),
        Thinking(text="T"),
    ],
)
def test_thinking_that_cannot_be_read_is_named_or_becomes_text(thinking: Thinking) -> None:
    message = Message.assistant((thinking, Text(text="a")))

    dropped = _adapt(message)
    shown = _adapt(message, preserve_thinking_as_text=True)

    assert dropped.body["messages"][0]["content"] == [_text("a")]
    assert [note.code for note in dropped.diagnostics] == ["thinking-dropped"]
    assert dropped.diagnostics[0].where == "messages[0].content[0]"
    assert shown.body["messages"][0]["content"] == [_text(thinking_as_text("T")), _text("a")]


def test_an_answer_never_ends_in_reasoning() -> None:
    thinking = Thinking(text="T", signature="S", origin="anthropic")

    adapted = _adapt(Message.user("q"), Message.assistant((Text(text="a"), thinking)))

    assert adapted.body["messages"][1]["content"] == [_text("a")]
    assert [repair.rule for repair in adapted.repairs] == ["anthropic/thinking-last"]


# Opaque blocks ---------------------------------------------------------------------------------


def test_a_compaction_comes_first_and_verbatim_and_is_not_joined_to_what_was_before() -> None:
    block = {"type": "compaction", "content": "S U M"}
    answer = Message.assistant((Text(text="a"), Opaque(provider="anthropic", value=block)))

    adapted = _adapt(Message.user("q"), Message.assistant("before"), answer)

    assert [message["content"] for message in adapted.body["messages"][1:]] == [
        [_text("before")],
        [block, _text("a")],
    ]
    assert adapted.betas == ("compact-2026-01-12",)


def test_another_providers_blocks_are_named() -> None:
    item = Opaque(provider="openai-responses", value={"type": "reasoning", "id": "r"})

    adapted = _adapt(Message.assistant((item, Text(text="a"))))

    assert adapted.body["messages"] == [{"role": "assistant", "content": [_text("a")]}]
    assert [note.code for note in adapted.diagnostics] == ["opaque-dropped"]


def test_another_providers_block_inside_a_result_is_read_as_text() -> None:
    """The model asked for it: losing it would leave the call without an answer."""
    found = Opaque(provider="openai-responses", value={"type": "found", "what": "x"})

    [message] = _wire(Message.tool(found, tool_call_id="c1"))

    assert message["content"][0]["content"] == '{"type":"found","what":"x"}'


# Media -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("media", "source"),
    [
        (
            Media(kind="image", source=Inline(data=PNG), media_type="image/jpg"),
            {"type": "base64", "media_type": "image/jpeg", "data": PNG},
        ),
        (
            Media(kind="image", source=Inline(data=f"data:image/png;base64,{PNG}")),
            {"type": "base64", "media_type": "image/png", "data": PNG},
        ),
        (
            Media(kind="image", source=Url(url=f"data:image/png;base64,{PNG}")),
            {"type": "base64", "media_type": "image/png", "data": PNG},
        ),
        (
            Media(kind="image", source=Inline(data=PNG), media_type="image/*"),
            {"type": "base64", "media_type": "image/png", "data": PNG},
        ),
        (
            Media(kind="image", source=Url(url="https://e.test/i"), media_type="image/*"),
            {"type": "url", "url": "https://e.test/i"},
        ),
        (
            Media(kind="document", source=FileId(file_id="file_1", provider="anthropic")),
            {"type": "file", "file_id": "file_1"},
        ),
        (
            Media(kind="document", source=Inline(data="JVBERi0x"), media_type="application/pdf"),
            {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"},
        ),
        (
            Media(kind="document", source=Inline(data="YSxiCjEsMg=="), media_type="text/csv"),
            {"type": "text", "media_type": "text/plain", "data": "a,b\n1,2"},
        ),
        (
            Media(kind="document", source=Url(url="data:,hello%20there")),
            {"type": "text", "media_type": "text/plain", "data": "hello there"},
        ),
    ],
)
def test_media_go_in_the_form_that_fits_them(media: Media, source: dict[str, Any]) -> None:
    assert _user_block(media)["source"] == source


@pytest.mark.parametrize(
    "media",
    [
        Media(kind="image", source=Inline(data="PHN2Zy8+"), media_type="image/svg+xml"),
        Media(kind="audio", source=Inline(data="SUQz"), media_type="audio/mpeg"),
        Media(kind="video", source=Url(url="gs://b/v.mp4"), media_type="video/mp4"),
        Media(kind="image", source=Url(url="gs://b/i.png"), media_type="image/png"),
        Media(kind="image", source=FileId(file_id="file-1", provider="openai")),
        Media(kind="image", source=Inline(data="AAAA"), media_type="image/*"),
        Media(kind="file", source=Inline(data="UEsDBA=="), media_type="application/zip"),
        Media(kind="image", source=Inline(data=""), media_type="image/png"),
    ],
)
def test_media_that_cannot_be_read_leave_a_note_that_the_model_sees(media: Media) -> None:
    adapted = _adapt(Message.user(media))

    [[note]] = [message["content"] for message in adapted.body["messages"]]
    assert note["type"] == "text"
    assert media.kind in note["text"]
    assert [diagnostic.code for diagnostic in adapted.diagnostics] == ["media-omitted"]


def test_media_in_answers_and_system_prompts_leave_a_note() -> None:
    image = Media(kind="image", source=Inline(data=PNG), media_type="image/png")

    body = _adapt(Message.system((image,)), Message.assistant((image,))).body

    assert [block["type"] for block in body["system"]] == ["text"]
    assert [block["type"] for block in body["messages"][0]["content"]] == ["text"]


# Breakpoints -----------------------------------------------------------------------------------


def test_a_breakpoint_stands_on_the_last_block_that_can_carry_it() -> None:
    mark = CacheBreakpoint(ttl="1h")
    thinking = Thinking(text="T", signature="S", origin="anthropic")

    asked, answered, result = _wire(
        Message.user((Text(text="a"), Text(text="b")), cache=mark),
        Message.assistant((Text(text="c"), _call(), thinking, _call("c2")), cache=mark),
        Message.tool((Text(text="x"),), tool_call_id="c1", cache=mark),
    )

    marked = {"type": "ephemeral", "ttl": "1h"}
    assert [block.get("cache_control") for block in asked["content"]] == [None, marked]
    assert [b.get("cache_control") for b in answered["content"]] == [None, None, None, marked]
    assert result["content"][0]["cache_control"] == marked


def test_a_breakpoint_of_a_block_stays_with_that_block() -> None:
    [message] = _wire(Message.user((Text(text="a", cache=CacheBreakpoint()), Text(text="b"))))

    assert message["content"] == [_text("a", cache_control=MARK), _text("b")]


def test_a_breakpoint_on_blank_text_moves_to_what_is_before_it() -> None:
    blank = Text(text="", cache=CacheBreakpoint())

    assert _wire(Message.user((Text(text="a"), blank)))[0]["content"] == [
        _text("a", cache_control=MARK)
    ]


def test_of_more_than_four_breakpoints_the_useful_ones_stay() -> None:
    mark = CacheBreakpoint()
    users = [Message.user(f"u{n}", cache=mark) for n in range(3)]
    messages: list[Message] = [Message.system("s1", cache=mark), Message.system("s2", cache=mark)]
    for user in users:
        messages += [user, Message.assistant("a")]

    adapted = _adapt(*messages)

    assert [block.get("cache_control") for block in adapted.body["system"]] == [None, MARK]
    assert len([repair for repair in adapted.repairs if "breakpoints" in repair.rule]) == 1
    assert str(adapted.body).count("cache_control") == 4


def test_an_earlier_breakpoint_lives_as_long_as_a_later_one() -> None:
    adapted = _adapt(
        Message.system("s", cache=CacheBreakpoint()),
        Message.user("q", cache=CacheBreakpoint(ttl="1h")),
    )

    assert adapted.body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert [repair.rule for repair in adapted.repairs] == ["anthropic/cache-ttl-order"]


# System messages inside the conversation -------------------------------------------------------


def _told(*messages: Message, inline: bool) -> list[Any]:
    wire = _wire(*messages, profile=_profile(inline_system=inline))
    return [(m["role"], [block.get("text", block["type"]) for block in m["content"]]) for m in wire]


NOTE = Message.system("note", positional=True)


def test_a_model_that_knows_them_gets_them_behind_the_users_turn() -> None:
    assert _told(Message.user("q"), NOTE, Message.assistant("a"), inline=True) == [
        ("user", ["q"]),
        ("system", ["note"]),
        ("assistant", ["a"]),
    ]


def test_one_behind_an_answer_waits_for_the_next_turn_of_the_user() -> None:
    """Not hoisted: the system prompt is the cached prefix."""
    body = _adapt(
        Message.user("q"),
        Message.assistant("a"),
        NOTE,
        Message.user("z"),
        profile=_profile(inline_system=True),
    ).body

    assert "system" not in body
    assert [message["role"] for message in body["messages"]] == [
        "user",
        "assistant",
        "user",
        "system",
    ]


def test_any_other_model_gets_a_marked_part_of_the_users_turn() -> None:
    call = Message.assistant("", tool_calls=[_call()])
    result = Message.tool("r", tool_call_id="c1")

    assert _told(Message.user("q"), call, NOTE, result, inline=False) == [
        ("user", ["q"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result", system_note("note")]),
    ]


def test_one_at_the_very_end_is_still_said() -> None:
    told = [("user", ["q"]), ("assistant", ["a"]), ("user", [system_note("note")])]

    for inline in (True, False):
        assert _told(Message.user("q"), Message.assistant("a"), NOTE, inline=inline) == told


def test_a_leading_one_belongs_to_the_system_prompt() -> None:
    assert _adapt(NOTE, Message.user("q")).body["system"] == [_text("note")]


def test_what_anthropic_sent_that_way_goes_back_that_way_while_the_model_is_unknown() -> None:
    rows = [{"role": "user", "content": "q"}, {"role": "system", "content": "note"}]

    assert to_anthropic(from_anthropic(rows))["messages"][1]["role"] == "system"
    known = to_anthropic(from_anthropic(rows), profile=_profile(inline_system=False))
    assert [message["role"] for message in known["messages"]] == ["user"]


# Prefill ---------------------------------------------------------------------------------------

PREFILL = Message.assistant("<out>\n ", prefill=True)


def test_an_opening_is_native_where_the_model_takes_it_without_blanks_at_its_end() -> None:
    wire = _wire(Message.user("q"), PREFILL, profile=_profile(prefill=True))

    assert wire[-1] == {"role": "assistant", "content": [_text("<out>")]}


@pytest.mark.parametrize("profile", [None, _profile(prefill=False)])
def test_elsewhere_the_model_is_told_to_begin_with_it(profile: ModelProfile | None) -> None:
    image = Media(kind="image", source=Url(url="https://e.test/i.png"))
    rule = Message.system("rule")

    wire = _wire(Message.user((Text(text="q"), image)), rule, PREFILL, profile=profile)

    [message] = wire
    assert [block["type"] for block in message["content"]] == ["text", "image", "text"]
    assert message["content"][0] == _text("q")
    assert message["content"][2] == _text(prefill_enforcement("<out>\n "))


def test_a_finished_answer_before_it_stays_and_the_user_speaks_last() -> None:
    wire = _wire(Message.user("q"), Message.assistant("done"), PREFILL)

    assert [message["role"] for message in wire] == ["user", "assistant", "user"]


def test_a_finished_answer_at_the_end_is_no_opening() -> None:
    wire = _wire(Message.user("q"), Message.assistant("the answer"))

    assert wire[-1] == {"role": "assistant", "content": [_text("the answer")]}


def test_an_empty_opening_is_nothing() -> None:
    empty = Message.assistant("  ", prefill=True)

    for profile in (None, _profile(prefill=True)):
        assert len(_wire(Message.user("q"), empty, profile=profile)) == 1


# The tail --------------------------------------------------------------------------------------


def test_the_tail_is_one_block_of_its_own_and_the_users_block_is_as_it_was() -> None:
    tail = (Text(text="memory", source="memory"), Text(text="state", source="dynamic_state"))

    [message] = _wire(Message.user((Text(text="q"), *tail)))

    assert message["content"] == [_text("q"), _text("memory\n\nstate")]


# Whole bodies ----------------------------------------------------------------------------------


def test_system_and_tools_can_be_given_in_place_of_those_that_were_read() -> None:
    read = from_anthropic(
        {
            "system": "A",
            "messages": "q",
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        }
    )

    body = to_anthropic(read, system="B", tools=[ToolDefinition(name="g")], model="m")

    assert body["system"] == [_text("B")]
    assert [tool["name"] for tool in body["tools"]] == ["g"]
    assert body["model"] == "m"


def test_what_a_caller_gets_is_theirs_to_change() -> None:
    read = from_anthropic([{"role": "assistant", "content": [{"type": "x_tool_result", "a": [1]}]}])

    first = to_anthropic(read)
    first["messages"][0]["content"][0]["a"].append(2)

    assert to_anthropic(read)["messages"][0]["content"] == [{"type": "x_tool_result", "a": [1]}]


@pytest.mark.parametrize(
    ("blocks", "betas"),
    [
        ([{"type": "compaction", "content": "s", "signature": "x"}], ("compact-2026-09-04",)),
        (
            [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}],
            ("mid-conversation-tool-changes-2026-07-01",),
        ),
        ([{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}], ()),
    ],
)
def test_blocks_that_need_a_beta_bring_it(blocks: Sequence[dict[str, Any]], betas: Any) -> None:
    values = tuple(Opaque(provider="anthropic", value=block) for block in blocks)

    assert _adapt(Message.user("q"), Message.assistant(values)).betas == betas


def test_the_sdk_gets_what_it_has_no_name_for_as_extra_body_and_betas_as_a_header() -> None:
    edits = {"edits": [{"type": "compact_20260112"}]}
    adapted = Adapted(
        body={"messages": [], "context_management": edits}, betas=("compact-2026-01-12", "b")
    )

    assert AnthropicAdapter().sdk_arguments(adapted) == {
        "messages": [],
        "extra_body": {"context_management": edits},
        "extra_headers": {"anthropic-beta": "compact-2026-01-12,b"},
    }


def test_compile_takes_plain_rows() -> None:
    rows = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]

    assert AnthropicAdapter().compile(rows) == {
        "system": [_text("s")],
        "messages": [{"role": "user", "content": [_text("q")]}],
    }
