"""To Gemini: what a window becomes on the generateContent wire."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from context_chef.adaptation.adapter import Adapted, AdaptRequest, TargetAdapter, WireAdapter
from context_chef.adaptation.gemini import SKIP_SIGNATURE, GeminiAdapter, to_gemini
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.ir.blocks import (
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
from context_chef.prompts.adaptation import compaction_text, result_media_label, thinking_as_text
from context_chef.prompts.guardrails import prefill_enforcement

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAAA="
IMAGE = Media(kind="image", source=Inline(data=PNG), media_type="image/png")


def _profile(**fields: Any) -> ModelProfile:
    return ModelProfile(provider="gemini", name="test", **fields)


OLD = _profile(prefill=True)
STRICT = _profile(response_alone=True, thought_signatures=True, function_ids=True)


def _adapt(*messages: Message, **fields: Any) -> Adapted:
    return GeminiAdapter().adapt(AdaptRequest(messages=messages, **fields))


def _contents(*messages: Message, **fields: Any) -> list[dict[str, Any]]:
    return _adapt(*messages, **fields).body["contents"]


def _call(call_id: str = "c1", name: str = "f", **fields: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments="{}", **fields)


def _fc(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **more}}


def _fr(response: dict[str, Any], name: str = "f", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **more}}


def test_it_is_both_kinds_of_adapter() -> None:
    assert isinstance(GeminiAdapter(), WireAdapter)
    assert isinstance(GeminiAdapter(), TargetAdapter)


def test_system_messages_are_parts_of_the_instruction_in_order() -> None:
    body = _adapt(Message.system("one"), Message.system("two"), Message.user("q")).body

    assert body == {
        "systemInstruction": {"parts": [{"text": "one"}, {"text": "two"}]},
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
    }


def test_neighbours_of_one_role_are_one_content() -> None:
    assert _contents(
        Message.user("a"), Message.user("b"), Message.assistant("c"), Message.assistant("d")
    ) == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        {"role": "model", "parts": [{"text": "c"}, {"text": "d"}]},
    ]


def test_empty_text_is_never_sent() -> None:
    assert _contents(Message.user((Text(text=""), IMAGE)), Message.assistant(Text(text=""))) == [
        {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]}
    ]


def test_a_system_message_inside_the_conversation_stays_in_its_place() -> None:
    note = Message.system("note", positional=True)

    assert _contents(Message.user("q"), Message.assistant("a"), note, Message.user("z"))[2] == {
        "role": "user",
        "parts": [{"text": "note"}, {"text": "z"}],
    }


def test_breakpoints_mean_nothing_here() -> None:
    mark = CacheBreakpoint()

    assert _contents(Message.user(Text(text="q", cache=mark), cache=mark)) == [
        {"role": "user", "parts": [{"text": "q"}]}
    ]


# Calls and responses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "response"),
    [
        ('{"a":1}', {"a": 1}),
        ("{}", {}),
        ("plain", {"result": "plain"}),
        ("42", {"result": "42"}),
        ("[1]", {"result": "[1]"}),
        ("null", {"result": "null"}),
        ("", {"result": ""}),
        ('{"a":NaN}', {"result": '{"a":NaN}'}),
    ],
)
def test_a_response_is_always_an_object(text: str, response: dict[str, Any]) -> None:
    call = Message.assistant("", tool_calls=[_call()])

    _, answered = _contents(call, Message.tool(text, tool_call_id="c1"))

    assert answered["parts"] == [_fr(response)]


@pytest.mark.parametrize(
    ("text", "response"),
    [
        ("boom", {"error": "boom"}),
        ('{"code":5}', {"error": {"code": 5}}),
        ('{"error":"boom"}', {"error": "boom"}),
    ],
)
def test_a_failure_says_that_it_is_one(text: str, response: dict[str, Any]) -> None:
    [content] = _contents(Message.tool(text, tool_call_id="c1", name="f", is_error=True))

    assert content["parts"] == [_fr(response)]


def test_a_response_carries_the_name_of_its_call() -> None:
    wire = _contents(
        Message.assistant("", tool_calls=[_call("c1", "read"), _call("c2", "grep")]),
        Message.tool("x", tool_call_id="c1"),
        Message.tool("y", tool_call_id="c2"),
    )

    assert [part["functionResponse"]["name"] for part in wire[1]["parts"]] == ["read", "grep"]


def test_responses_of_one_name_that_came_in_another_order_are_put_in_call_order() -> None:
    """Without ids nothing else says which is which."""
    wire = _contents(
        Message.assistant("", tool_calls=[_call("c1"), _call("c2")]),
        Message.tool("second", tool_call_id="c2"),
        Message.tool("first", tool_call_id="c1"),
    )

    assert wire[1]["parts"] == [_fr({"result": "first"}), _fr({"result": "second"})]


def test_ids_of_other_providers_go_only_where_the_model_pairs_by_id() -> None:
    messages = (
        Message.assistant("", tool_calls=[_call("toolu_1")]),
        Message.tool("r", tool_call_id="toolu_1"),
    )

    plain = _contents(*messages, profile=OLD)
    paired = _contents(*messages, profile=_profile(function_ids=True))

    assert plain == [
        {"role": "model", "parts": [_fc()]},
        {"role": "user", "parts": [_fr({"result": "r"})]},
    ]
    assert paired[0]["parts"] == [_fc(id="toolu_1")]
    assert paired[1]["parts"] == [_fr({"result": "r"}, id="toolu_1")]


def test_responses_stand_in_front_and_alone_where_the_model_wants_that() -> None:
    """And where the model is not known, since every model takes it."""
    messages = (
        Message.assistant("", tool_calls=[_call()]),
        Message.user("meanwhile"),
        Message.tool("r", tool_call_id="c1"),
        Message.user("tail"),
    )
    response, words = _fr({"result": "r"}), [{"text": "meanwhile"}, {"text": "tail"}]

    assert _contents(*messages, profile=OLD)[1:] == [{"role": "user", "parts": [response, *words]}]
    for profile in (None, _profile(response_alone=True)):
        assert _contents(*messages, profile=profile)[1:] == [
            {"role": "user", "parts": [response]},
            {"role": "user", "parts": words},
        ]


def test_media_in_a_result_go_inside_the_response_where_the_model_reads_them_there() -> None:
    call = Message.assistant("", tool_calls=[_call()])
    result = Message.tool((Text(text="see"), IMAGE), tool_call_id="c1")
    blob = {"inlineData": {"mimeType": "image/png", "data": PNG}}

    inside = _contents(call, result, profile=_profile(thought_signatures=True))
    behind = _adapt(call, result)

    assert inside[1]["parts"] == [_fr({"result": "see"}, parts=[blob])]
    assert behind.body["contents"][1:] == [
        {"role": "user", "parts": [_fr({"result": "see"})]},
        {"role": "user", "parts": [{"text": result_media_label("f")}, blob]},
    ]
    assert [note.code for note in behind.diagnostics] == ["media-moved"]


def test_media_of_parallel_results_never_stand_between_the_responses() -> None:
    wire = _contents(
        Message.assistant("", tool_calls=[_call("c1"), _call("c2")]),
        Message.tool((IMAGE,), tool_call_id="c1"),
        Message.tool("y", tool_call_id="c2"),
        profile=OLD,
    )

    assert [next(iter(part)) for part in wire[1]["parts"]] == [
        "functionResponse",
        "functionResponse",
        "text",
        "inlineData",
    ]


@pytest.mark.parametrize(
    ("arguments", "args"),
    [("", {}), ('{"a":', {"raw_arguments": '{"a":'}), ("3", {"raw_arguments": 3})],
)
def test_whatever_the_model_wrote_as_arguments_becomes_an_object(
    arguments: str, args: dict[str, Any]
) -> None:
    call = ToolCall(id="c1", name="f", arguments=arguments)

    [content] = _contents(Message.assistant("", tool_calls=[call]))

    assert content["parts"][0]["functionCall"]["args"] == args


def test_calls_use_the_name_that_the_tool_has_on_the_wire() -> None:
    body = _adapt(
        Message.assistant("", tool_calls=[_call("c1", "my tool")]),
        Message.tool("r", tool_call_id="c1"),
        tools=(ToolDefinition(name="my tool"),),
    ).body

    [declaration] = body["tools"][0]["functionDeclarations"]
    assert body["contents"][0]["parts"][0]["functionCall"]["name"] == declaration["name"]
    assert body["contents"][1]["parts"][0]["functionResponse"]["name"] == declaration["name"]


# Signatures and thoughts -----------------------------------------------------------------------


def test_signatures_ride_on_their_own_part() -> None:
    [content] = _contents(
        Message.assistant((Text(text="t", signature="TS"), _call(signature="CS"), _call("c2")))
    )

    assert content["parts"] == [
        {"text": "t", "thoughtSignature": "TS"},
        {**_fc(), "thoughtSignature": "CS"},
        _fc(),
    ]


def test_a_signature_without_words_still_goes() -> None:
    [content] = _contents(Message.assistant((Text(text="", signature="TS"),)))

    assert content["parts"] == [{"thoughtSignature": "TS"}]


def test_only_the_first_call_of_a_step_of_another_model_gets_the_stand_in() -> None:
    adapted = _adapt(
        Message.user("q"),
        Message.assistant("", tool_calls=[_call("c1"), _call("c2")]),
        Message.tool("r", tool_call_id="c1"),
        Message.tool("r", tool_call_id="c2"),
        Message.assistant("", tool_calls=[_call("c3", signature="own")]),
        Message.tool("r", tool_call_id="c3"),
        profile=_profile(thought_signatures=True),
    )

    steps = [c["parts"] for c in adapted.body["contents"] if c["role"] == "model"]
    assert [[part.get("thoughtSignature") for part in parts] for parts in steps] == [
        [SKIP_SIGNATURE, None],
        ["own"],
    ]
    assert [repair.rule for repair in adapted.repairs] == ["gemini/thought-signature"]


def test_the_stand_in_stays_as_the_conversation_grows() -> None:
    """A request that changes behind the last turn is a prompt cache thrown away."""
    messages = (
        Message.user("q"),
        Message.assistant("", tool_calls=[_call()]),
        Message.tool("r", tool_call_id="c1"),
    )
    more = (Message.assistant("a"), Message.user("and?"))

    short = _contents(*messages, profile=STRICT)

    assert _contents(*messages, *more, profile=STRICT)[: len(short)] == short


def test_geminis_own_calls_need_no_stand_in_once_their_turn_is_over() -> None:
    rows = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [_fc()]},
        {"role": "user", "parts": [_fr({"r": 1})]},
        {"role": "model", "parts": [{"text": "a"}]},
        {"role": "user", "parts": [{"text": "z"}]},
    ]

    assert to_gemini(from_gemini(rows), profile=STRICT)["contents"] == rows


def test_its_own_thoughts_go_back_and_others_are_named_or_become_text() -> None:
    own = Thinking(text="T", signature="S", origin="gemini")
    foreign = Thinking(text="F", signature="S", origin="anthropic")
    message = Message.assistant((own, foreign, RedactedThinking(data="R"), Text(text="a")))
    thought = {"text": "T", "thought": True, "thoughtSignature": "S"}

    dropped = _adapt(message)
    shown = _adapt(message, preserve_thinking_as_text=True)

    assert dropped.body["contents"][0]["parts"] == [thought, {"text": "a"}]
    assert [note.code for note in dropped.diagnostics] == [
        "thinking-dropped",
        "redacted-thinking-dropped",
    ]
    assert shown.body["contents"][0]["parts"] == [
        thought,
        {"text": f"{thinking_as_text('F')}\n\na"},
    ]


def test_a_summary_of_another_provider_goes_under_a_heading() -> None:
    summary = Opaque(provider="anthropic", value={"type": "compaction", "content": "SUM"})

    [user, model] = _contents(
        Message.user((summary, Text(text="u"))),
        Message.assistant((summary, Text(text="a", signature="S"))),
    )

    assert user["parts"] == [{"text": f"{compaction_text('SUM')}\n\nu"}]
    # Signed text is never touched.
    assert model["parts"] == [
        {"text": f"{compaction_text('SUM')}\n\n"},
        {"text": "a", "thoughtSignature": "S"},
    ]


def test_its_own_parts_go_back_verbatim_and_others_are_named() -> None:
    own = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "S"}
    blocks = (
        Opaque(provider="gemini", value=own),
        Opaque(provider="anthropic", value={"type": "server_tool_use", "id": "s"}),
    )

    adapted = _adapt(Message.assistant(blocks))

    assert adapted.body["contents"] == [{"role": "model", "parts": [own]}]
    assert [note.code for note in adapted.diagnostics] == ["opaque-dropped"]


# Media -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("media", "part"),
    [
        (
            Media(kind="image", source=Inline(data=PNG), media_type="image/jpg"),
            {"inlineData": {"mimeType": "image/jpeg", "data": PNG}},
        ),
        (
            Media(kind="image", source=Url(url=f"data:image/png;base64,{PNG}")),
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
        ),
        (
            Media(kind="image", source=Inline(data=PNG), media_type="image/*"),
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
        ),
        (
            Media(kind="image", source=Inline(data="httpAAAA"), media_type="image/png"),
            {"inlineData": {"mimeType": "image/png", "data": "httpAAAA"}},
        ),
        (
            Media(kind="video", source=Url(url="gs://b/v.mp4")),
            {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v.mp4"}},
        ),
        (
            Media(kind="image", source=Url(url="https://e.test/i")),
            {"fileData": {"fileUri": "https://e.test/i"}},
        ),
        (
            Media(kind="file", source=FileId(file_id="files/abc", provider="gemini")),
            {"fileData": {"fileUri": "files/abc"}},
        ),
        (
            Media(kind="document", source=PlainText(text="words"), filename="a.txt"),
            {
                "inlineData": {
                    "mimeType": "text/plain",
                    "data": base64.b64encode(b"words").decode(),
                }
            },
        ),
    ],
)
def test_media_go_in_the_form_that_fits_them(media: Media, part: dict[str, Any]) -> None:
    assert _contents(Message.user(media)) == [{"role": "user", "parts": [part]}]


@pytest.mark.parametrize(
    "media",
    [
        Media(kind="image", source=Inline(data="PHN2Zy8+"), media_type="image/svg+xml"),
        Media(kind="image", source=Inline(data="AAAA"), media_type="image/*"),
        Media(kind="file", source=Inline(data="UEsDBA=="), media_type="application/zip"),
        Media(kind="document", source=FileId(file_id="file_1", provider="anthropic")),
        Media(kind="document", source=PlainText(text="")),
    ],
)
def test_media_that_cannot_be_read_leave_a_note_that_the_model_sees(media: Media) -> None:
    adapted = _adapt(Message.user(media))

    [[note]] = [content["parts"] for content in adapted.body["contents"]]
    assert media.kind in note["text"]
    assert [diagnostic.code for diagnostic in adapted.diagnostics] == ["media-omitted"]


def test_media_in_answers_are_sent_and_in_system_prompts_leave_a_note() -> None:
    body = _adapt(Message.system((IMAGE,)), Message.user("q"), Message.assistant((IMAGE,))).body

    assert list(body["systemInstruction"]["parts"][0]) == ["text"]
    assert list(body["contents"][1]["parts"][0]) == ["inlineData"]


# Prefill ---------------------------------------------------------------------------------------

PREFILL = Message.assistant("<out> \n", prefill=True)


def test_an_opening_is_native_where_the_model_takes_it() -> None:
    assert _contents(Message.user("q"), PREFILL, profile=OLD)[-1] == {
        "role": "model",
        "parts": [{"text": "<out>"}],
    }


def test_elsewhere_the_model_is_told_to_begin_with_it_and_media_stay() -> None:
    [content] = _contents(Message.user((Text(text="q"), IMAGE)), PREFILL)

    assert content["parts"] == [
        {"text": "q"},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"text": prefill_enforcement("<out> \n")},
    ]


@pytest.mark.parametrize(
    "before", [(), (Message.system("s"),), (Message.tool("r", tool_call_id="c"),)]
)
def test_an_opening_is_never_lost(before: tuple[Message, ...]) -> None:
    wire = _contents(*before, PREFILL)

    assert wire[-1]["parts"][-1] == {"text": prefill_enforcement("<out> \n")}


def test_a_finished_answer_at_the_end_is_no_opening() -> None:
    assert _contents(Message.user("q"), Message.assistant("done"))[-1] == {
        "role": "model",
        "parts": [{"text": "done"}],
    }


# The tail, and whole bodies --------------------------------------------------------------------


def test_the_tail_is_one_part_of_its_own_and_the_users_part_is_as_it_was() -> None:
    tail = (Text(text="memory", source="memory"), Text(text="state", source="dynamic_state"))

    [content] = _contents(Message.user((Text(text="q"), *tail)))

    assert content["parts"] == [{"text": "q"}, {"text": "memory\n\nstate"}]


def test_system_and_tools_can_be_given_in_place_of_those_that_were_read() -> None:
    read = from_gemini(
        {
            "systemInstruction": "A",
            "contents": "q",
            "tools": [{"functionDeclarations": [{"name": "f"}]}],
            "generationConfig": {"temperature": 1},
        }
    )

    body = to_gemini(read, system="B", tools=[ToolDefinition(name="g")])

    assert body["systemInstruction"] == {"parts": [{"text": "B"}]}
    assert [d["name"] for tool in body["tools"] for d in tool["functionDeclarations"]] == ["g"]
    assert body["generationConfig"] == {"temperature": 1}


def test_the_sdk_gets_a_config_and_bytes_where_it_wants_bytes() -> None:
    adapted = Adapted(
        body={
            "systemInstruction": {"parts": [{"text": "s"}]},
            "contents": [
                {
                    "role": "model",
                    "parts": [
                        {"inlineData": {"mimeType": "image/png", "data": "_-8="}},
                        {"text": "x", "thoughtSignature": SKIP_SIGNATURE},
                    ],
                }
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            "generationConfig": {"maxOutputTokens": 5},
            "somethingNew": 1,
        }
    )

    assert GeminiAdapter().sdk_arguments(adapted) == {
        "contents": [
            {
                "role": "model",
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": b"\xff\xef"}},
                    {
                        "text": "x",
                        "thoughtSignature": base64.urlsafe_b64decode(SKIP_SIGNATURE),
                    },
                ],
            }
        ],
        "config": {
            "system_instruction": {"parts": [{"text": "s"}]},
            "tool_config": {"functionCallingConfig": {"mode": "ANY"}},
            "max_output_tokens": 5,
            "http_options": {"extra_body": {"somethingNew": 1}},
        },
    }


def test_compile_takes_plain_rows() -> None:
    rows = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]

    assert GeminiAdapter().compile(rows) == {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
    }
