"""Gemini in: every part, in its place, with its signature, and responses with their calls."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.gemini import to_gemini
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.errors import InputError
from context_chef.ir.blocks import FileId, Inline, Media, Opaque, Text, Thinking, ToolCall, Url
from context_chef.ir.message import Message
from context_chef.testing import check_payload


def _blocks(*parts: dict[str, Any], role: str = "user") -> tuple[Any, ...]:
    [message] = from_gemini([{"role": role, "parts": list(parts)}]).history
    return message.content


def _call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **more}}


def _response(name: str, result: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"r": result}, **more}}


def _answered(*contents: tuple[str, list[dict[str, Any]]]) -> list[tuple[str | None, str]]:
    """Which call each response was taken for, with what it said."""
    rows = [{"role": role, "parts": parts} for role, parts in contents]
    return [
        (message.tool_call_id, message.text)
        for message in from_gemini(rows).history
        if message.role == "tool"
    ]


@pytest.mark.parametrize(
    "given",
    [
        "q",
        ["q"],
        {"text": "q"},
        {"parts": [{"text": "q"}]},
        {"role": "user", "parts": {"text": "q"}},
        [{"role": "user", "parts": [{"text": "q", "thought": None}]}],
        {"contents": "q"},
        {"contents": [{"parts": [{"text": "q"}]}], "generationConfig": {"temperature": 1}},
    ],
)
def test_every_form_that_the_api_and_the_sdk_take_is_read(given: Any) -> None:
    assert from_gemini(given).history == (Message.user("q"),)


def test_strings_and_parts_that_stand_alone_are_one_turn_of_the_user() -> None:
    history = from_gemini(["a", {"text": "b"}, {"role": "model", "parts": [{"text": "c"}]}]).history

    assert [(message.role, len(message.content)) for message in history] == [
        ("user", 2),
        ("assistant", 1),
    ]


def test_both_spellings_of_a_field_are_one() -> None:
    snake = {
        "system_instruction": {"parts": [{"text": "s"}]},
        "contents": [
            {
                "role": "model",
                "parts": [
                    {
                        "function_call": {"name": "f", "args": {"a_b": 1}},
                        "thought_signature": "U1M=",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [{"file_data": {"file_uri": "gs://b/v", "mime_type": "video/mp4"}}],
            },
        ],
        "generation_config": {"temperature": 1},
    }
    camel = {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "f", "args": {"a_b": 1}}, "thoughtSignature": "U1M="}
                ],
            },
            {
                "role": "user",
                "parts": [{"fileData": {"fileUri": "gs://b/v", "mimeType": "video/mp4"}}],
            },
        ],
        "generationConfig": {"temperature": 1},
    }

    assert from_gemini(snake) == from_gemini(camel)


def test_the_sdks_config_is_taken_apart_into_the_keys_of_a_body() -> None:
    read = from_gemini(
        {
            "model": "gemini-x",
            "contents": "q",
            "config": {
                "system_instruction": "S",
                "temperature": 0.5,
                "tools": [{"function_declarations": [{"name": "f"}]}],
                "tool_config": {"function_calling_config": {"mode": "ANY"}},
                "http_options": {"timeout": 3},
            },
        }
    )

    assert read.system == (Message.system("S"),)
    assert [tool.name for tool in read.tools] == ["f"]
    assert read.request == {
        "model": "gemini-x",
        "toolConfig": {"function_calling_config": {"mode": "ANY"}},
        "generationConfig": {"temperature": 0.5},
    }
    assert [note.where for note in read.diagnostics] == ["$.config.httpOptions"]


@pytest.mark.parametrize(
    "instruction", ["S", {"text": "S"}, ["S"], {"parts": [{"text": "S"}]}, {"parts": {"text": "S"}}]
)
def test_a_system_instruction_may_be_words_a_part_or_a_content(instruction: Any) -> None:
    assert from_gemini("q", instruction).system == (Message.system("S"),)


def test_what_is_put_into_a_cache_may_be_a_system_instruction_alone() -> None:
    read = from_gemini({"model": "m", "systemInstruction": {"parts": [{"text": "S"}]}, "ttl": "9s"})

    assert (read.history, read.request) == ((), {"model": "m", "ttl": "9s"})


# Parts -----------------------------------------------------------------------------------------


def test_thoughts_are_not_the_answer() -> None:
    assert _blocks(
        {"text": "plan", "thought": True, "thoughtSignature": "A"},
        {"text": "x", "thoughtSignature": "B"},
        {"text": "y"},
        role="model",
    ) == (
        Thinking(text="plan", signature="A", origin="gemini"),
        Text(text="x", signature="B"),
        Text(text="y"),
    )


@pytest.mark.parametrize(
    "part",
    [
        {"thoughtSignature": "A"},
        {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "A"},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"toolCall": {"id": "t", "tool_type": "GOOGLE_SEARCH_WEB", "args": {}}},
        {"toolResponse": {"id": "t", "response": {}}},
        {"somethingNew": {"a": [1]}},
    ],
)
def test_a_part_without_a_form_of_its_own_is_carried_verbatim(part: dict[str, Any]) -> None:
    assert _blocks(part, role="model") == (Opaque(provider="gemini", value=part),)


def test_a_part_that_says_two_things_is_carried_and_noted() -> None:
    part = {"text": "x", "inlineData": {"mimeType": "image/png", "data": "AA=="}}

    read = from_gemini([{"role": "user", "parts": [part]}])

    assert read.history[0].content == (Opaque(provider="gemini", value=part),)
    assert [note.code for note in read.diagnostics] == ["part-ambiguous"]


def test_media_are_inline_a_url_or_a_file_of_its_own() -> None:
    files = "https://generativelanguage.googleapis.com/v1beta/files/abc"

    assert _blocks(
        {"inlineData": {"mimeType": "image/png", "data": "AA==", "displayName": "i.png"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v"}, "videoMetadata": {"fps": 1}},
        {"fileData": {"fileUri": files}},
    ) == (
        Media(
            kind="image",
            source=Inline(data="AA=="),
            media_type="image/png",
            filename="i.png",
            native={"gemini": {"inlineData": {"displayName": "i.png"}}},
        ),
        Media(
            kind="video",
            source=Url(url="gs://b/v"),
            media_type="video/mp4",
            native={"gemini": {"videoMetadata": {"fps": 1}}},
        ),
        Media(kind="file", source=FileId(file_id=files, provider="gemini")),
    )


# Calls and responses ---------------------------------------------------------------------------


def test_calls_without_an_id_get_one_by_name_and_number() -> None:
    rows = [
        {"role": "model", "parts": [_call("f"), _call("f"), _call("g")]},
        {"role": "user", "parts": [_response("f", 1)]},
        {"role": "model", "parts": [_call("f")]},
    ]

    ids = [call.id for message in from_gemini(rows).history for call in message.tool_calls]

    assert ids == ["gemini-fc-f-0", "gemini-fc-f-1", "gemini-fc-g-0", "gemini-fc-f-2"]


def test_calls_keep_the_id_that_they_have() -> None:
    [call] = _blocks(_call("f", id="abc"), role="model")

    assert call.id == "abc"


def test_a_call_keeps_its_arguments_in_order_and_its_signature() -> None:
    [call] = _blocks(
        {"functionCall": {"name": "f", "args": {"b": 1, "a": "é"}}, "thoughtSignature": "S"},
        role="model",
    )

    assert isinstance(call, ToolCall)
    assert (call.arguments, call.signature) == ('{"b":1,"a":"é"}', "S")


def test_a_call_without_arguments_takes_none() -> None:
    [call] = _blocks({"functionCall": {"name": "f"}}, role="model")

    assert call.arguments == "{}"


def test_a_response_takes_the_call_with_its_id() -> None:
    """Two calls of one name may be answered in any order."""
    assert _answered(
        ("model", [_call("f", id="1"), _call("f", id="2")]),
        ("user", [_response("f", "b", id="2"), _response("f", "a", id="1")]),
    ) == [("2", '{"r":"b"}'), ("1", '{"r":"a"}')]


def test_a_response_without_an_id_takes_the_oldest_open_call_of_its_name() -> None:
    assert _answered(
        ("model", [_call("f"), _call("f"), _call("g")]),
        ("user", [_response("g", 0), _response("f", 1), _response("f", 2)]),
        ("model", [_call("f")]),
        ("user", [_response("f", 3)]),
    ) == [
        ("gemini-fc-g-0", '{"r":0}'),
        ("gemini-fc-f-0", '{"r":1}'),
        ("gemini-fc-f-1", '{"r":2}'),
        ("gemini-fc-f-2", '{"r":3}'),
    ]


def test_a_response_that_only_says_error_is_a_failure() -> None:
    [message] = from_gemini(
        [{"functionResponse": {"name": "f", "response": {"error": "boom"}}}]
    ).history

    assert message.is_error
    assert message.text == '{"error":"boom"}'


def test_a_response_holds_media() -> None:
    blob = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}

    [message] = from_gemini([_response("f", 1, parts=[blob])]).history

    [text, media] = message.content
    assert isinstance(text, Text)
    assert isinstance(media, Media)
    assert media.source == Inline(data="AA==")


def test_a_response_stands_at_its_place_among_the_parts() -> None:
    rows = [{"role": "user", "parts": [{"text": "a"}, _response("f", 1), {"text": "b"}]}]

    assert [message.role for message in from_gemini(rows).history] == ["user", "tool", "user"]


def test_sdk_objects_are_read_as_they_are() -> None:
    types = pytest.importorskip("google.genai.types")
    content = types.Content(
        role="model",
        parts=[
            types.Part(text="plan", thought=True),
            types.Part(
                function_call=types.FunctionCall(name="f", args={"a_b": None}),
                thought_signature=b"\xff\xfe",
            ),
            types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x00")),
        ],
    )

    [message] = from_gemini([content]).history

    thought, call, media = message.content
    assert thought == Thinking(text="plan", origin="gemini")
    assert (call.arguments, call.signature) == ('{"a_b":null}', "//4=")
    assert media.source == Inline(data="AA==")


def test_reading_mends_nothing_unless_it_is_asked_to() -> None:
    rows = [{"role": "model", "parts": [_call("f")]}]

    assert [message.role for message in from_gemini(rows).history] == ["assistant"]
    mended = from_gemini(rows, repair=True)
    assert [message.role for message in mended.history] == ["user", "assistant", "tool"]
    assert mended.repairs != ()


def test_a_content_without_parts_is_left_out_and_noted() -> None:
    read = from_gemini([{"role": "model", "parts": []}, {"role": "user", "parts": [{"text": "q"}]}])

    assert read.history == (Message.user("q"),)
    assert [note.code for note in read.diagnostics] == ["content-empty"]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ([None], r"\$\[0\]"),
        ({"contents": [{"parts": [{"text": "q"}]}, 7]}, r"\$\.contents\[1\]"),
        ([{"role": "robot", "parts": [{"text": "q"}]}], r"\$\[0\]\.role"),
        ([{"role": "user", "parts": 7}], r"\$\[0\]\.parts"),
        ([{"role": "user", "parts": [7]}], r"\$\[0\]\.parts\[0\]"),
        ([{"role": "user", "parts": [{"text": 7}]}], r"\$\[0\]\.parts\[0\]\.text"),
        (
            [{"role": "model", "parts": [{"functionCall": {"args": {}}}]}],
            r"\$\[0\]\.parts\[0\]\.functionCall\.name",
        ),
        (
            [{"role": "user", "parts": [{"functionResponse": {"response": {}}}]}],
            r"\$\[0\]\.parts\[0\]\.functionResponse\.name",
        ),
        (7, r"\$"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_place(given: Any, place: str) -> None:
    with pytest.raises(InputError, match=f"^{place}: "):
        from_gemini(given)


def test_a_part_that_does_not_say_what_it_is_keeps_its_words() -> None:
    """As frameworks nest messages by mistake: refused when sent, and meant to be read."""
    parts = [{"role": "system", "content": "hi"}]

    read = from_gemini({"contents": [{"role": "user", "parts": parts}]})

    assert "".join(message.text for message in read.history) == "hi"
    assert [note.code for note in read.diagnostics] == ["part-untyped"] * len(parts)
    assert [note.where for note in read.diagnostics] == ["$.contents[0].parts[0]"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "OBJECT", "properties": {}, "additionalProperties": False},
        {"type": "OBJECT", "properties": {"city": {"type": "ARRAY"}}},
        {"type": "OBJECT", "properties": {"city": {"type": "STRING", "enum": ["", "x"]}}},
        {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["town"]},
        {"type": ["object", "null"], "properties": {}},
        {"type": "object", "properties": {"city": {"const": 1}}},
    ],
)
def test_a_schema_that_leaves_geminis_own_form_is_sent_as_json_schema(schema: Any) -> None:
    """People write what they are used to: it was sent back as it was given, and refused."""
    declaration = {"name": "look", "parameters": schema, "response": {"type": "OBJECT", "$id": "x"}}
    hello = {"role": "user", "parts": [{"text": "hi"}]}
    read = from_gemini({"contents": [hello], "tools": [{"functionDeclarations": [declaration]}]})

    written = to_gemini(read)

    [sent] = written["tools"][0]["functionDeclarations"]
    assert not {"parameters", "response"} & sent.keys()
    assert sent["parametersJsonSchema"]["type"] == "object"
    assert check_payload("gemini", written) == []


def test_a_schema_in_geminis_own_form_goes_back_as_it_came() -> None:
    schema = {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "propertyOrdering": ["a"]}
    tools = [{"functionDeclarations": [{"name": "look", "parameters": schema}]}]
    hello = {"role": "user", "parts": [{"text": "hi"}]}

    assert to_gemini(from_gemini({"contents": [hello], "tools": tools}))["tools"] == tools


def test_numbers_of_types_are_written_as_names() -> None:
    """Vertex takes both, the Developer API takes names only."""
    schema = {"type": 6, "properties": {"a": {"type": 5, "items": {"type": 1}}}}
    tools = [{"functionDeclarations": [{"name": "look", "parameters": schema}]}]
    hello = {"role": "user", "parts": [{"text": "hi"}]}

    written = to_gemini(from_gemini({"contents": [hello], "tools": tools}))

    [sent] = written["tools"][0]["functionDeclarations"]
    items = {"type": "STRING"}
    named = {"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": items}}}
    assert sent["parameters"] == named
    assert check_payload("gemini", written) == []
