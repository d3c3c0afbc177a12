"""Responses: items, calls with their outputs, and reasoning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.response_ids import MOST_ID
from context_chef.adaptation.wire_rules.json_access import as_text
from context_chef.adaptation.wire_rules.openai_responses_view import (
    HELLO,
    asking,
    item_kind,
    items_of,
)
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("openai-responses")


_ANSWER_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""Calls that the client answers, and the item that answers each."""


_CALL_OF = {answer: call for call, answer in _ANSWER_OF.items()}


_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


def _call(id: str = "call_1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": "{}", **more}


def _output(id: str = "call_1", output: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": output}


def _reasoning(id: str = "rs_1", **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": id, "summary": [], **more}


def _answer(id: str = "msg_1") -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "id": id,
        "status": "completed",
        "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
    }


def _call_key(item: Mapping[str, Any]) -> str:
    """What pairs a call with its output; a local shell call's output repeats it in `id`."""
    key = "id" if item_kind(item) == "local_shell_call_output" else "call_id"
    return as_text(item.get(key))


def _stored(request: Request) -> bool:
    """Whether earlier items may be stored on the server."""
    return bool(request.body.get("previous_response_id") or request.body.get("conversation"))


@BOOK.rule(
    "input-empty",
    "`input`, `previous_response_id`, `conversation` or `prompt` is given.",
    gist='One of "input" or … must be provided',
    source="reports",
    sureness="A",
    beyond_repair="A conversation without items has nothing to answer.",
    passing=asking(),
    failing={"model": "gpt-4o", "input": []},
)
def input_empty(request: Request) -> Iterator[Finding]:
    body = request.body
    if not body.get("input") and not body.get("prompt") and not _stored(request):
        yield Finding("input", "there is nothing to answer")


@BOOK.rule(
    "call-unanswered",
    "Every call item has its output item.",
    gist="No tool output found for function call call_…",
    source="bytedance/trae-agent#245",
    sureness="A",
    repair="A call without output is answered by a note.",
    passing=asking(HELLO, _call(), _output()),
    failing=asking(HELLO, _call()),
)
def call_unanswered(request: Request) -> Iterator[Finding]:
    items = items_of(request)
    answered = {(item_kind(item), _call_key(item)) for _, item in items}
    for path, item in items:
        answer = _ANSWER_OF.get(item_kind(item))
        if answer is not None and (answer, _call_key(item)) not in answered:
            yield Finding(path, f"the call {_call_key(item)!r} has no output")


@BOOK.rule(
    "output-orphan",
    "Every output has its call, earlier in `input` or in the stored state.",
    gist="No tool call found for function call output with call_id call_…",
    source="continuedev/continue#10092, langchain-ai/langchain#34282; recording",
    sureness="A",
    repair="The output is moved behind its call; one without a call is left out.",
    passing=asking(HELLO, _call(), _output()),
    failing=asking(HELLO, _output()),
)
def output_orphan(request: Request) -> Iterator[Finding]:
    if _stored(request):
        return
    called: set[tuple[str, str]] = set()
    for path, item in items_of(request):
        kind = item_kind(item)
        if kind == "item_reference" and not as_text(item.get("id")).startswith(("msg", "rs")):
            return  # What is referred to may be any call.
        if kind in _ANSWER_OF:
            called.add((kind, _call_key(item)))
        elif kind == "tool_search_call" and item.get("execution") == "client":
            called.add(("function_call", _call_key(item)))
        elif kind in _CALL_OF and (_CALL_OF[kind], _call_key(item)) not in called:
            yield Finding(path, f"no call {_call_key(item)!r} comes before this output")


@BOOK.rule(
    "call-id",
    "Call ids have at most 64 characters; there is one call and one output an id.",
    gist="string too long … maximum length 64",
    source="reports",
    sureness="A",
    repair="The id is shortened or renamed, on both sides; the last output is kept.",
    passing=asking(HELLO, _call("c" * 64), _output("c" * 64)),
    failing=asking(HELLO, _call("c" * 65), _output("c" * 65)),
)
def call_id(request: Request) -> Iterator[Finding]:
    seen: set[tuple[bool, str]] = set()
    for path, item in items_of(request):
        kind = item_kind(item)
        if kind not in _ANSWER_OF and kind not in _CALL_OF:
            continue
        id = _call_key(item)
        if len(id) > 64:
            yield Finding(f"{path}.call_id", f"the id has {len(id)} characters; 64 are the most")
        key = (kind in _CALL_OF, id)
        if key in seen:
            what = "output" if key[0] else "call"
            yield Finding(f"{path}.call_id", f"there is another {what} with the id {id!r}")
        seen.add(key)


@BOOK.rule(
    "item-id-prefix",
    "Item ids begin with `msg`, `fc` or `rs` by the item's type; a `call_id` is no item id.",
    gist="Expected an ID that begins with 'fc'",
    source="Wei-Shaw/sub2api#3981",
    sureness="A",
    repair="The id is left out.",
    passing=asking(HELLO, {**_call(), "id": "fc_1"}, _output()),
    failing=asking(HELLO, {**_call(), "id": "call_1"}, _output()),
)
def item_id_prefix(request: Request) -> Iterator[Finding]:
    for path, item in items_of(request):
        id, prefix = as_text(item.get("id")), _PREFIXES.get(item_kind(item))
        if id and prefix is not None and not id.startswith(prefix):
            yield Finding(f"{path}.id", f"{id!r} does not begin with {prefix!r}")


@BOOK.rule(
    "item-id-length",
    "Item ids have at most 64 characters.",
    gist="Invalid 'input[2].id': string too long. Expected a string with maximum length 64",
    source="can1357/oh-my-pi#284, NousResearch/hermes-agent#10788, openai/codex#39133",
    sureness="A",
    repair="The id is left out, or shortened where the item needs one; an item that says nothing "
    "without its id goes.",
    passing=asking(HELLO, {**_call(), "id": "fc_" + "1" * 61}, _output()),
    failing=asking(HELLO, {**_call(), "id": "fc_" + "1" * 62}, _output()),
)
def item_id_length(request: Request) -> Iterator[Finding]:
    for path, item in items_of(request):
        if len(id := as_text(item.get("id"))) > MOST_ID:
            yield Finding(f"{path}.id", f"{len(id)} characters; {MOST_ID} are the most")


@BOOK.rule(
    "item-id-duplicate",
    "An item id comes once; with `previous_response_id` the stored items count too.",
    gist="Duplicate item found with id",
    source="vercel/ai#7883, earendil-works/pi#5151",
    sureness="A",
    repair="The second id is left out.",
    passing=asking(HELLO, _answer("msg_1"), HELLO, _answer("msg_2"), HELLO),
    failing=asking(HELLO, _answer("msg_1"), HELLO, _answer("msg_1"), HELLO),
)
def item_id_duplicate(request: Request) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, item in items_of(request):
        id = as_text(item.get("id"))
        if not id or item_kind(item) == "item_reference":
            continue
        if id in seen:
            yield Finding(f"{path}.id", f"there is another item with the id {id!r}")
        seen.add(id)


@BOOK.rule(
    "reasoning-follower",
    "A `reasoning` item with an id is followed by the item it led to, with its id unless `store` "
    "is "
    "false.",
    gist="Item 'rs_…' of type 'reasoning' was provided without its required following item",
    source="recording (pydantic-ai); earendil-works/pi#1035",
    sureness="A",
    repair="The reasoning's id is left out where its content is sent; else the item goes.",
    passing=asking(HELLO, _reasoning(), _answer(), HELLO),
    failing=asking(HELLO, _reasoning(), HELLO),
)
def reasoning_follower(request: Request) -> Iterator[Finding]:
    items = items_of(request)
    for index, (path, item) in enumerate(items):
        if item_kind(item) != "reasoning" or not item.get("id"):
            continue
        after = items[index + 1][1] if index + 1 < len(items) else None
        # What is not stored cannot be looked up: then the item itself is enough, without its id.
        by_id = request.body.get("store") is not False
        if after is None or not _led_to(after, by_id=by_id):
            yield Finding(path, f"{item['id']!r} is not followed by the item it led to")


def _led_to(item: Mapping[str, Any], *, by_id: bool) -> bool:
    """Whether a model made this item: outputs and other people's messages do not count."""
    if item_kind(item) == "item_reference":
        return True
    if item_kind(item) in _CALL_OF or (
        item_kind(item) == "message" and item["role"] != "assistant"
    ):
        return False
    return bool(item.get("id")) or not by_id


@BOOK.rule(
    "not-stored",
    "With `store: false` there is no `item_reference`, and a reasoning item with an id has its "
    "`encrypted_content`.",
    gist="Items are not persisted when `store` is set to false",
    source="openai/openai-agents-js#546",
    sureness="A",
    repair="Reasoning without encrypted content is left out, and so are references.",
    passing=asking(HELLO, _reasoning(encrypted_content="eA=="), _answer(), HELLO, store=False),
    failing=asking(HELLO, _reasoning(), _answer(), HELLO, store=False),
)
def not_stored(request: Request) -> Iterator[Finding]:
    if request.body.get("store") is not False:
        return
    for path, item in items_of(request):
        kind = item_kind(item)
        if kind == "item_reference":
            yield Finding(path, "nothing is stored that could be referred to")
        elif kind == "reasoning" and item.get("id") and not item.get("encrypted_content"):
            yield Finding(path, "nothing is stored: the reasoning needs its `encrypted_content`")
