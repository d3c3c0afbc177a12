"""Histories that real agents sent and were refused for, through the public surface."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from context_chef import ContextChef, from_anthropic, from_openai_responses
from context_chef.adaptation.image_size import ImageSize, image_size
from context_chef.testing import check_payload
from tests.checker import refused

JPEG = b"\xff\xd8\xff\xe0\x00\x04JF\xff\xc0\x00\x0b\x08" + struct.pack(">HH", 2, 3) + b"\x00" * 40
TOOLS = [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]


def _png(width: int, height: int = 1) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08" * 40


def _inline(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": media_type, "data": encoded}
    return {"type": "image", "source": source}


def _compiled(messages: Sequence[Any], target: str, model: str, **settings: Any) -> Any:
    chef = ContextChef(model=model, **settings).register_tools(TOOLS)
    payload = chef.set_history(messages).compile_sync(target)
    assert check_payload(target, payload, model=model, partial=True) == []
    assert refused(target, {"model": model, "max_tokens": 64, **payload}) == []
    return payload


def _anthropic(messages: Sequence[Any], model: str = "claude-sonnet-4-5") -> Any:
    body = {"model": model, "max_tokens": 64, "messages": messages}
    payload = _compiled(from_anthropic(body).messages, "anthropic", model)
    return payload, {repair.rule.partition("/")[2] for repair in payload.report.repairs}


def _answering(content: Any, **fields: Any) -> list[Any]:
    call: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": content, **fields}
    return [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]


def test_an_image_under_a_false_type_goes_under_its_own() -> None:
    """BerriAI/litellm#24900: a screenshot that is called PNG and is a JPEG ends the session."""
    payload, repairs = _anthropic(_answering([_inline(JPEG, "image/png")]))

    [result] = payload["messages"][-1]["content"]
    assert result["content"][0]["source"]["media_type"] == "image/jpeg"
    assert repairs == {"image-type"}


def test_a_failed_result_with_an_image_says_in_words_that_it_failed() -> None:
    """vellum-ai/vellum-assistant#18387: what is marked as failed may hold only text."""
    content = [{"type": "text", "text": "Timeout."}, _inline(_png(2))]
    payload, repairs = _anthropic(_answering(content, is_error=True))

    [result] = payload["messages"][-1]["content"]
    assert [block["type"] for block in result["content"]] == ["text", "text", "image"]
    assert result["content"][0]["text"] == "The tool failed:"
    assert "is_error" not in result
    assert repairs == {"error-result"}


@pytest.mark.parametrize("content", ["", [], " \n", [{"type": "text", "text": " "}]])
def test_a_failed_result_is_never_blank(content: Any) -> None:
    """jlevy/markform#153."""
    payload, _ = _anthropic(_answering(content, is_error=True))

    [result] = payload["messages"][-1]["content"]
    assert result["is_error"]
    assert result["content"] == "The tool failed without saying why."


def test_an_image_that_is_too_large_becomes_a_note() -> None:
    """anthropics/claude-code#4778: a screenshot of a whole page, in every later request."""
    payload, repairs = _anthropic(
        _answering([_inline(_png(1280, 8001)), _inline(_png(1280, 8000))])
    )

    [result] = payload["messages"][-1]["content"]
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert "1280 x 8001 pixels are too many" in result["content"][0]["text"]
    assert repairs == {"image-size"}


def test_an_image_of_too_many_bytes_becomes_a_note() -> None:
    payload, repairs = _anthropic(_answering([_inline(_png(9) + bytes(8_000_000))]))

    assert "characters of base64 are too many" in str(payload["messages"][-1])
    assert repairs == {"image-size"}


def test_where_there_are_many_images_the_large_ones_go() -> None:
    """anthropics/claude-code#14412: the 21st image makes the provider refuse those before it."""
    chef = ContextChef(model="claude-sonnet-4-5").register_tools(TOOLS)
    sizes: list[list[int]] = []
    for turn in range(1, 24):
        picture = _inline(_png(2001 if turn % 2 else 2000))
        chef.append(from_anthropic([{"role": "user", "content": [picture]}]).messages[0])
        chef.append({"role": "assistant", "content": "Seen."})
        if turn == 23:
            chef.set_history(chef.history[-6:])  # there are few again
        chef.append({"role": "user", "content": "Next."})
        payload = chef.compile_sync("anthropic")
        assert check_payload("anthropic", payload, partial=True) == []
        sizes.append([str(payload).count("'image/png'"), str(payload).count("pixels are too many")])

    assert sizes[19] == [20, 0]
    assert sizes[20] == [10, 11]
    assert sizes[21] == [11, 11]
    assert sizes[22] == [2, 0]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (_png(7, 5), (7, 5)),
        (JPEG, (3, 2)),
        (b"GIF89a\x07\x00\x05\x00", (7, 5)),
        (b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x06\0\0\x04\0\0", (7, 5)),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x06\x00\x01\x00", (7, 5)),
        (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x07\x00\x05\x00", (7, 5)),
        (b"\xff\xd8\xff\xe0\xff", None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"RIFF\0\0\0\0WEBPVP8L", None),
        (b"BM", None),
    ],
)
def test_the_size_of_an_image_is_read_from_its_first_bytes(
    data: bytes, size: tuple[int, int] | None
) -> None:
    assert image_size(data) == (None if size is None else ImageSize(*size))


def test_a_reference_to_a_tool_that_is_gone_is_left_out() -> None:
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [
            {"type": "tool_reference", "tool_name": name} for name in ("look", "gone")
        ],
    }
    search = {
        "type": "server_tool_use", "id": "s1", "name": "tool_search_tool_regex",
        "input": {"query": "l"},
    }  # fmt: skip
    answer = {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": found}
    named = [{"type": "tool_reference", "tool_name": name} for name in ("look", "gone")]
    messages = [
        {"role": "user", "content": "Find."},
        {"role": "assistant", "content": [search, answer]},
        *_answering(named),
    ]

    payload, repairs = _anthropic(messages)

    assert "gone" not in str(dict(payload))
    assert str(dict(payload)).count("tool_name") == 2
    assert repairs == {"tool-reference-unknown"}


def test_references_follow_the_tools_of_each_request() -> None:
    named = [{"type": "tool_reference", "tool_name": name} for name in ("look", "other.tool")]
    chef = ContextChef(model="claude-sonnet-4-5").register_tools(TOOLS)
    chef.set_history(from_anthropic(_answering(named)).messages)
    other = {**TOOLS[0], "name": "other.tool"}

    first = chef.compile_sync("anthropic")
    second = chef.register_tools([*TOOLS, other]).compile_sync("anthropic")
    third = chef.register_tools([other]).compile_sync("anthropic")

    for payload, known in ((first, 1), (second, 2), (third, 1)):
        [result] = payload["messages"][-1]["content"]
        names = [row["tool_name"] for row in result["content"]]
        assert names == [tool["name"] for tool in payload["tools"]][-known:]
        assert check_payload("anthropic", payload, partial=True) == []


def _responses(items: Sequence[Any]) -> Any:
    body = {"model": "gpt-5.6-sol", "input": items}
    messages = from_openai_responses(body).messages
    payload = _compiled_responses(messages)
    return payload, {repair.rule.partition("/")[2] for repair in payload.report.repairs}


def _compiled_responses(messages: Sequence[Any]) -> Any:
    chef = ContextChef(model="gpt-5.6-sol").register_tools(TOOLS).set_history(messages)
    payload = chef.compile_sync("openai-responses")
    assert check_payload("openai-responses", payload, model="gpt-5.6-sol", partial=True) == []
    assert refused("openai-responses", {"model": "gpt-5.6-sol", **payload}) == []
    return payload


def test_ids_that_a_gateway_made_too_long_are_taken_off() -> None:
    """can1357/oh-my-pi#284: reasoning ids of 416 characters."""
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    payload, repairs = _responses(
        [
            {"role": "user", "content": "Look."},
            {"type": "reasoning", "id": "rs_" + "a" * 413, "summary": [], "encrypted_content": "E"},
            {**call, "id": "fc_" + "b" * 413},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
            {"type": "reasoning", "id": "rs_" + "c" * 413, "summary": []},
            {"type": "web_search_call", "id": "ws_" + "d" * 413, "status": "completed",
             "action": {"type": "search", "query": "q"}},
            {"role": "user", "content": "And?"},
        ]
    )  # fmt: skip

    kinds = [item.get("type", "message") for item in payload["input"]]
    assert kinds == ["message", "reasoning", "function_call", "function_call_output", "message"]
    assert not any("id" in item for item in payload["input"])
    assert repairs == {"item-id-length"}


@pytest.mark.parametrize("target", ["openai", "openai-responses", "anthropic", "gemini"])
def test_text_that_a_handler_tore_apart_is_mended_and_reported(target: str) -> None:
    """anthropics/claude-code#8272: half of an emoji, and every later request is no JSON."""
    chef = ContextChef().set_history([{"role": "user", "content": "Hello"}])

    def tear(context: Any) -> None:
        key = next(key for key in ("messages", "input", "contents") if key in context.payload)
        role = {"role": "user"}
        said = "Half \ud83d"
        row = (
            {**role, "parts": [{"text": said}]} if key == "contents" else {**role, "content": said}
        )
        context.payload[key] = [*context.payload[key], row]

    chef.use("after-adapt", tear)
    payload = chef.compile_sync(target)

    assert "Half \ufffd" in payload.to_json().decode()
    [repair] = [each for each in payload.report.repairs if each.rule == f"{target}/json-text"]
    assert repair.where.partition("[")[0] in payload
    assert "tear" in repair.message


def _pictures(payload: Any) -> list[str]:
    """The first turns' parts, a letter each: an image or the note in its place."""
    return [block["type"][0] for message in payload["messages"] for block in message["content"]]


def test_the_oldest_of_too_many_images_go_and_the_beginning_stays_as_it_is_for_a_while() -> None:
    """anthropics/claude-code#3397, openclaw/openclaw#13202: the 101st image ends the session."""
    model = "claude-sonnet-4-5"
    chef = ContextChef(model=model).set_history([{"role": "user", "content": "Compare them."}])
    seen: list[str] = []
    for number in range(125):
        chef.append(
            from_anthropic(
                [
                    {"role": "user", "content": [_inline(_png(number + 1))]},
                    {"role": "assistant", "content": [{"type": "text", "text": "Next."}]},
                ]
            ).messages[0]
        )
        chef.append({"role": "assistant", "content": "Next."})
        if number >= 98:
            payload = chef.compile_sync("anthropic")
            assert check_payload("anthropic", payload, model=model, partial=True) == []
            notes = str(payload).count("a request holds no more of them")
            seen.append(f"{str(payload).count('base64')}+{notes}")
            assert len(payload.report.repairs) == notes

    assert seen[:3] == ["99+0", "100+0", "81+20"]
    assert seen[21:24] == ["100+20", "81+40", "82+40"]


@pytest.mark.parametrize(("model", "sent"), [("claude-sonnet-4-5", 81), ("claude-opus-5", 101)])
def test_models_of_large_windows_take_more_images(model: str, sent: int) -> None:
    """A document counts as well, and so does what stands in a result."""
    document = {"type": "text", "media_type": "text/plain", "data": "A page."}
    content = [{"type": "document", "source": document}, *[_inline(_png(9))] * 100]

    payload, repairs = _anthropic(_answering(content), model)

    kinds = [block["type"] for block in payload["messages"][-1]["content"][0]["content"]]
    assert kinds.count("image") + kinds.count("document") == sent
    assert kinds.count("text") == 101 - sent
    assert repairs == ({"media-count"} if sent < 101 else set())
