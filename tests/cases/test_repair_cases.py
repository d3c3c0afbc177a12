"""Cases about pairing, ids, blanks, roles, reasoning, media, arguments and tools."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from context_chef import ContextChef, InMemoryBackend
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.adaptation.tools import convert_tools
from context_chef.ir.blocks import Provider
from context_chef.ir.message import Message
from context_chef.ir.repair import MISSING_RESULT, without_reasoning
from context_chef.ir.tools import ToolDefinition
from tests.adaptation.provider_requests import TARGETS, body_of, problems
from tests.cases.notation import case
from tests.histories import PDF, PNG

TARGET: dict[str, Provider] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "responses": "openai-responses",
}
MODEL: dict[Provider, str] = {
    "anthropic": "claude-opus-4-8",
    "openai": "gpt-4.1",
    "openai-responses": "gpt-4.1",
    "gemini": "gemini-3.8-flash",
}


def history_of(identifier: str, file: str = PNG) -> tuple[Message, ...]:
    given = case(identifier, file=file)["input"]
    match given.get("format"):
        case "anthropic":
            return from_anthropic(given["history"]).messages
        case "gemini":
            return from_gemini(given["contents"]).messages
        case "responses":
            return from_openai_responses(given["input"]).messages
        case _:
            return from_openai(given["history"]).messages


def sent(history: tuple[Message, ...], target: Provider) -> dict[str, Any]:
    """The body of a history; the independent checker has nothing to say against it."""
    body = body_of(history, target, MODEL[target])
    assert problems(target, body, MODEL[target]) == []
    return body


def conversation(target: Provider, body: dict[str, Any]) -> list[Any]:
    return body[{"openai-responses": "input", "gemini": "contents"}.get(target, "messages")]


def blocks(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Role and block of an Anthropic body."""
    for message in body["messages"]:
        for block in message["content"]:
            yield message["role"], block


def calls_and_results(target: Provider, body: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """(id, name, arguments) of every call and (id, text) of every result, in order."""
    calls: list[Any] = []
    results: list[Any] = []
    match target:
        case "anthropic":
            for _, block in blocks(body):
                if block["type"] == "tool_use":
                    calls.append((block["id"], block["name"], block["input"]))
                elif block["type"] == "tool_result":
                    results.append((block["tool_use_id"], text_of(block.get("content"))))
        case "openai":
            for message in body["messages"]:
                for call in message.get("tool_calls") or []:
                    function = call["function"]
                    arguments = json.loads(function["arguments"])
                    calls.append((call["id"], function["name"], arguments))
                if message["role"] == "tool":
                    results.append((message["tool_call_id"], text_of(message["content"])))
        case "openai-responses":
            for item in body["input"]:
                if item.get("type") == "function_call":
                    arguments = json.loads(item["arguments"])
                    calls.append((item["call_id"], item["name"], arguments))
                elif item.get("type") == "function_call_output":
                    results.append((item["call_id"], text_of(item["output"])))
        case "gemini":
            for part in (part for content in body["contents"] for part in content["parts"]):
                if "functionCall" in part:
                    call = part["functionCall"]
                    calls.append((call.get("id"), call["name"], call["args"]))
                elif "functionResponse" in part:
                    answer = part["functionResponse"]
                    results.append((answer.get("id"), json.dumps(answer["response"])))
    return calls, results


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


# Pairing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_br_001_a_cut_between_call_and_result_leaves_no_orphan(target: Provider) -> None:
    history = history_of("BR-001")[-3:]

    body = sent(history, target)

    assert calls_and_results(target, body) == ([], [])
    assert "q2" in json.dumps(body)
    assert "a2" in json.dumps(body)


@pytest.mark.parametrize("target", TARGETS)
def test_br_005_a_filler_result_goes_with_its_call(target: Provider) -> None:
    history = history_of("BR-005")

    body = sent(history[2:], target)

    assert "interrupted" not in json.dumps(body)
    assert "continue" in json.dumps(body)
    assert "ok" in json.dumps(body)


@pytest.mark.parametrize("target", TARGETS)
def test_br_007_an_interrupted_round_is_completed_and_nothing_looks_done(target: Provider) -> None:
    body = sent(history_of("BR-007"), target)

    calls, results = calls_and_results(target, body)
    assert [name for _, name, _ in calls] == ["one", "two", "three"]
    assert [identifier for identifier, _ in results] == [identifier for identifier, _, _ in calls]
    assert "done one" in results[0][1]
    assert all(MISSING_RESULT in said for _, said in results[1:])
    assert "on it" in json.dumps(body)
    assert "stop, do X instead" in json.dumps(conversation(target, body)[-1])


def test_br_008_parallel_results_stand_in_one_user_message() -> None:
    body = sent(history_of("BR-008"), "anthropic")

    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "user"]
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["c1", "c2"]


def test_br_010_an_image_in_a_result_adds_no_part_to_the_round() -> None:
    body = sent(history_of("BR-010"), "gemini")

    answer = body["contents"][2]["parts"]
    names = [part["functionResponse"]["name"] for part in answer]
    assert names == ["shot", "ls", "pwd"]
    [image] = case("BR-010", file=PNG)["input"]["history"][2]["content"][0]["content"][1:]
    assert json.dumps(answer).count(image["source"]["data"]) == 1  # inside the response of its call


@pytest.mark.parametrize("target", TARGETS)
def test_br_012_results_follow_their_ids_not_their_order(target: Provider) -> None:
    calls, results = calls_and_results(target, sent(history_of("BR-012"), target))

    assert [arguments["p"] for _, _, arguments in calls] == ["1", "2", "3"]
    for said, (_, text) in zip(("one", "two", "three"), results, strict=True):
        assert said in text


# Blanks and roles ------------------------------------------------------------------------------


def test_br_014_no_blank_text_reaches_anthropic() -> None:
    body = sent(history_of("BR-014"), "anthropic")

    texts = [block["text"] for _, block in blocks(body) if block["type"] == "text"]
    assert texts == ["hi", "next"]
    assert [block["id"] for _, block in blocks(body) if block["type"] == "tool_use"] == ["t1"]
    roles = [message["role"] for message in body["messages"]]
    assert all(a != b for a, b in pairwise(roles))


def test_br_016_the_mark_of_an_image_message_is_on_the_image() -> None:
    given = copy.deepcopy(case("BR-016")["input"]["history"])
    for message in given:
        if message.pop("cache_breakpoint", False):
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}

    body = sent(from_anthropic(given).messages, "anthropic")

    ((_, image),) = blocks(body)
    assert image["type"] == "image"
    assert image["cache_control"] == {"type": "ephemeral"}


def test_br_032_neighbours_of_one_role_become_one_message() -> None:
    body = sent(history_of("BR-032"), "anthropic")

    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    said = [block.get("text") or block["type"] for block in body["messages"][2]["content"]]
    assert said == ["tool_result", "wait", "also this"]
    assert [block["type"] for block in body["messages"][3]["content"]] == ["text", "tool_use"]


def test_br_034_gemini_never_begins_with_a_call() -> None:
    body = sent(history_of("BR-034")[-4:], "gemini")

    assert body["contents"][0]["role"] == "user"
    assert "functionCall" in body["contents"][1]["parts"][0]


@pytest.mark.parametrize("target", ["anthropic", "gemini", "openai"])
def test_br_036_an_instruction_in_the_middle_is_in_every_payload(target: Provider) -> None:
    assert "From now on answer in French." in json.dumps(sent(history_of("BR-036"), target))


# Reasoning -------------------------------------------------------------------------------------


def test_br_018_thinking_without_a_signature_is_not_sent() -> None:
    body = sent(history_of("BR-018"), "anthropic")

    assert "signature" not in json.dumps(body)
    assert "partial" in [block.get("text") for _, block in blocks(body)]


def test_br_020_a_signed_first_call_is_enough() -> None:
    body = sent(history_of("BR-020"), "gemini")

    first, second = body["contents"][1]["parts"]
    assert first["thoughtSignature"] == "QUJD"
    assert "thoughtSignature" not in second


def test_br_022_signatures_stay_on_calls_when_reasoning_is_cleared() -> None:
    history = tuple(without_reasoning(message) for message in history_of("BR-022"))

    body = sent(history, "gemini")

    signatures = [
        part.get("thoughtSignature")
        for content in body["contents"]
        for part in content["parts"]
        if "functionCall" in part
    ]
    assert signatures == ["QUJD", "REVG"]
    assert "hidden" not in json.dumps(body)


def test_br_023_no_foreign_signature_reaches_anthropic() -> None:
    body = sent(history_of("BR-023"), "anthropic")

    assert "R0VN" not in json.dumps(body)
    assert "answer" in [block.get("text") for _, block in blocks(body)]


def test_br_145_a_call_does_not_ask_for_reasoning_that_is_gone() -> None:
    history = tuple(without_reasoning(message) for message in history_of("BR-145"))

    body = sent(history, "openai-responses")

    items = {item.get("type"): item for item in body["input"]}
    assert "id" not in items["function_call"]
    assert items["function_call"]["call_id"] == items["function_call_output"]["call_id"] == "call_1"


# Media -----------------------------------------------------------------------------------------


def test_br_024_an_image_in_a_result_is_not_lost_on_chat() -> None:
    body = sent(history_of("BR-024"), "openai")

    (result,) = [message for message in body["messages"] if message["role"] == "tool"]
    assert "captured" in text_of(result["content"])
    following = json.dumps(body["messages"][body["messages"].index(result) :])
    assert "image_url" in following


def test_br_026_a_pdf_in_a_result_leaves_a_note_on_chat() -> None:
    body = sent(history_of("BR-026", PDF), "openai")

    (result,) = [message for message in body["messages"] if message["role"] == "tool"]
    content = result["content"]
    parts = [] if isinstance(content, str) else content
    assert all(part["type"] == "text" for part in parts)
    assert "pdf" in json.dumps(body).lower()
    assert "base64" not in text_of(content)


def test_br_028_media_types_are_put_right_or_noted() -> None:
    body = sent(history_of("BR-028"), "anthropic")

    text = json.dumps(body)
    assert "image/jpg" not in text
    assert "data:" not in text
    assert not any(
        block["source"].get("media_type") == "image/svg+xml"
        for _, block in blocks(body)
        if block["type"] == "image"
    )


# Ids and arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["openai-responses", "anthropic"])
def test_br_108_a_reused_id_is_unique_in_the_payload(target: Provider) -> None:
    history = history_of("BR-108")
    before = msgspec.json.encode(history)

    calls, results = calls_and_results(target, sent(history, target))
    shorter, _ = calls_and_results(target, sent(history[:3], target))

    ids = [identifier for identifier, _, _ in calls]
    assert len(set(ids)) == 2
    assert results == [(ids[0], "r1"), (ids[1], "r2")]
    assert shorter[0][0] == ids[0]
    assert msgspec.json.encode(history) == before


def test_br_110_foreign_ids_become_legal_and_stay_apart() -> None:
    ids: list[str] = [*case("BR-110")["input"]["ids"], "toolu_01-valid"]
    calls = [
        {"id": identifier, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for identifier in ids
    ]
    results = [{"role": "tool", "tool_call_id": i, "content": i} for i in ids]
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": calls}]

    body = sent(from_openai([*history, *results]).messages, "anthropic")

    made, answered = calls_and_results("anthropic", body)
    fresh = [identifier for identifier, _, _ in made]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", identifier) for identifier in fresh)
    assert len(set(fresh)) == len(ids)
    assert fresh[-1] == ids[-1]
    assert answered == list(zip(fresh, ids, strict=True))
    # What they become hangs on nothing of this process.
    assert fresh[0] == "Run_7_63077d30dd"


@pytest.mark.parametrize("target", ["anthropic", "openai", "openai-responses"])
def test_br_140_empty_ids_are_filled_in_the_same_way_every_time(target: Provider) -> None:
    history = history_of("BR-140")

    (f, g), results = calls_and_results(target, sent(history, target))

    assert f[0]
    assert g[0]
    assert f[0] != g[0]
    assert results == [(f[0], "one"), (g[0], "two")]
    assert sent(history, target) == sent(history_of("BR-140"), target)


@pytest.mark.parametrize("target", TARGETS)
def test_br_097_empty_arguments_are_an_empty_object(target: Provider) -> None:
    calls, _ = calls_and_results(target, sent(history_of("BR-097"), target))

    assert [arguments for _, _, arguments in calls] == [{}, {}, {}]


@pytest.mark.parametrize("arguments", ["", "  "])
@pytest.mark.parametrize("name", ["context", "create_memory", "modify_memory"])
def test_br_097_our_own_tools_answer_to_empty_arguments(name: str, arguments: str) -> None:
    chef = ContextChef(memory={}, store=InMemoryBackend())
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}

    answer = chef.handle_tool_sync(call)

    assert answer.startswith("Error: `")
    assert "is missing" in answer


@pytest.mark.parametrize("target", TARGETS)
def test_br_099_arguments_that_were_cut_off_are_an_object_all_the_same(target: Provider) -> None:
    history = history_of("BR-099")
    before = msgspec.json.encode(history)

    calls, results = calls_and_results(target, sent(history, target))

    assert isinstance(calls[0][2], dict)
    assert len(results) == 1
    assert msgspec.json.encode(history) == before


@pytest.mark.parametrize("target", TARGETS)
def test_br_143_a_failure_is_still_a_failure_elsewhere(target: Provider) -> None:
    body = sent(history_of("BR-143"), target)

    _, ((_, said),) = calls_and_results(target, body)
    if target == "anthropic":
        assert '"is_error": true' in json.dumps(body)
    else:
        assert said != "42"
        assert "42" in said


# Tools -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("identifier", ["BR-101", "BR-103"])
def test_br_101_and_103_odd_names_become_legal_ones_that_lead_back(
    identifier: str, target: Provider
) -> None:
    names: list[str] = case(identifier)["input"]["tools"]

    found = convert_tools([ToolDefinition(name=name) for name in names], target=target)

    assert list(found.back.values()) == names
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in found.back)


@pytest.mark.parametrize("target", TARGETS)
def test_br_104_two_tools_with_one_name_never_reach_the_wire(target: Provider) -> None:
    given = [tool for tool in case("BR-104")["input"]["tools"] if tool["name"] == "get_w"]

    found = convert_tools([ToolDefinition(**tool) for tool in given], target=target)

    assert json.dumps(found.wire).count('"get_w"') == 1
    assert "first" in json.dumps(found.wire)
    assert [repair.where for repair in found.repairs] == ["tools[1]"]


@pytest.mark.parametrize("target", ["openai", "anthropic"])
def test_br_107_an_empty_list_leaves_no_trace(target: Provider) -> None:
    body = sent((Message.user("q"),), target)

    assert "tools" not in body
    assert "tool_choice" not in body
