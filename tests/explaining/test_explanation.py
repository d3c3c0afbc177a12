"""What an explanation says: sources, rules, caches, and what was left out."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from context_chef import ContextChef, InMemoryBackend, Message, explain_body, reset
from context_chef.errors import InputError

LONG = "Be careful with what you promise. " * 300


def chef(**settings: Any) -> ContextChef:
    made = ContextChef(
        store=InMemoryBackend(), clock=lambda: 0, model="claude-sonnet-4-5", **settings
    )
    return made.set_system_prompt(LONG).append(Message.user("Where is it?"))


def test_every_source_is_named_with_why_it_is_there() -> None:
    explained = (
        chef(memory={})
        .set_dynamic_state(None, {"step": 3})
        .announce("limit", "At most 100 EUR.")
        .with_guardrails({"enforce_xml": {"output_tag": "answer"}, "placement": "last_user"})
        .compile_sync("anthropic")
        .explain()
    )

    rules = {span.source: span.rule for span in explained.spans}
    assert "set_system_prompt" in rules["system_prompt"]
    assert "set_history" in rules["history[0]"]
    assert "set_dynamic_state" in rules["dynamic_state:step"]
    assert "announce" in rules["announcement:limit"]
    assert "with_guardrails" in rules["guardrail"]


def test_the_cached_part_ends_at_the_last_breakpoint() -> None:
    made = chef(cache="auto").set_dynamic_state(None, {"step": 3})

    explained = made.compile_sync("anthropic").explain()

    cached = {span.source: span.cached for span in explained.spans if span.place != "settings"}
    assert cached["system_prompt"] is True
    assert cached["history[0]"] is True
    assert cached["dynamic_state:step"] is False
    assert explained.cache is not None
    assert 0 < explained.cache.kept_tokens < explained.tokens
    assert explained.cache.marks


def test_without_a_breakpoint_nothing_is_cached_and_it_says_why() -> None:
    explained = chef().compile_sync("anthropic").explain()

    assert explained.cache is not None
    assert explained.cache.kept_tokens == 0
    assert "breakpoint" in explained.cache.note
    assert not any(span.cached for span in explained.spans)


def test_folded_messages_are_left_out_with_their_address() -> None:
    made = chef(overflow={"strategy": reset(), "archive": "vfs"})
    for turn in range(4):
        made.append(Message.assistant(f"answer {turn}")).append(Message.user(f"question {turn}"))
    made.request_new_context()
    leaving = made.compile_sync("anthropic").explain()
    assert {span.reason for span in leaving.out} == {"overflow: reset"}
    made.append(Message.assistant("fine")).append(Message.user("and now?"))

    explained = made.compile_sync("anthropic").explain()

    out = {span.source: span for span in explained.out}
    assert "history[1]" in out
    assert out["history[1]"].reason == "folded: reset"
    stored = made.resolve_recall_sync(out["history[1]"].uri or "", format="text")
    assert stored is not None
    assert "answer 0" in stored
    assert "fold" in explained.by_source


def test_offloaded_results_are_left_out_with_their_address() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    made = chef(vfs={"automatic": True, "threshold": 500, "tail_chars": 100}).extend(
        [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "line of a log\n" * 300},
        ]
    )

    explained = made.compile_sync("anthropic").explain()

    [out] = [span for span in explained.out if span.source == "history[2]"]
    assert out.reason == "offloaded: too large to stay"
    assert made.resolve_recall_sync(out.uri or "") == "line of a log\n" * 300
    [span] = [span for span in explained.spans if span.source == "history[2]"]
    assert "marker" in span.rule


def test_pruned_tools_and_memory_that_was_passed_over_are_named() -> None:
    def first_only(entries: list[Any]) -> list[Any]:
        return entries[:1]

    made = chef(memory={"selector": first_only})
    made.register_tools([{"name": "look"}, {"name": "buy"}])
    made.get_pruner().apply(made.get_pruner().allow_only(["look"]))
    made.get_memory().set_sync("one", "1")
    made.get_memory().set_sync("two", "2")

    explained = made.compile_sync("anthropic").explain()

    out = {span.source: span for span in explained.out}
    assert out["tool:buy"].reason is not None
    assert "pruned" in out["tool:buy"].reason
    assert out["memory:two"].uri == "context://memory/two"


def test_what_mending_drops_is_left_out_with_the_rule() -> None:
    made = chef().extend(
        [
            Message.assistant("Let me see."),
            {"role": "tool", "tool_call_id": "nobody", "content": "an answer to nothing"},
            Message.user("Well?"),
        ]
    )

    explained = made.compile_sync("anthropic").explain()

    [out] = [span for span in explained.out if span.source == "history[2]"]
    assert out.reason is not None
    assert "tool-result" in out.reason
    assert "an answer to nothing" in out.preview


def test_what_only_mending_brought_says_so() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    made = chef().extend(
        [{"role": "assistant", "content": "", "tool_calls": [call]}, Message.user("Well?")]
    )

    explained = made.compile_sync("openai", model="gpt-4.1").explain()

    mended = [span for span in explained.spans if span.source == "repair"]
    assert mended
    assert all("openai/tool-reply-missing" in span.repairs for span in mended)


def test_what_handlers_and_callers_changed_is_theirs() -> None:
    def shout(moment: Any) -> None:
        moment.payload["messages"][0]["content"][0]["text"] += "!"
        moment.payload["metadata"] = {"user_id": "u"}

    made = chef()
    made.use("after-adapt", shout)
    payload = made.compile_sync("anthropic")
    payload["messages"].append({"role": "assistant", "content": "Sure"})
    payload["temperature"] = 1

    sources = {span.path: span.source for span in payload.explain().spans}

    assert sources["metadata"] == f"after-adapt:{shout.__qualname__}"
    assert sources["temperature"] == "caller"
    assert sources["messages[1].content"] == "caller"
    words = [s for s in payload.explain().spans if s.path == "messages[0].content[0]"]
    assert [span.source for span in words] == ["history[0]", f"after-adapt:{shout.__qualname__}"]


def test_a_custom_target_is_explained_by_its_words() -> None:
    class Plain:
        def compile(self, messages: Any) -> dict[str, Any]:
            return {"prompt": "\n".join(f"{m.role}: {m.text}" for m in messages), "n": 1}

    explained = chef().compile_sync(Plain()).explain()

    assert {"system_prompt", "history[0]"} <= set(explained.by_source)
    assert explained.cache is None
    assert explained.price is None


def test_a_body_of_another_library_is_explained_by_its_places() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": "Be brief.",
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "hi"}],
    }

    explained = explain_body(body)

    assert explained.target == "anthropic"
    assert {"system", "messages[0]", "tool:look", "setting:max_tokens"} <= set(explained.by_source)
    with pytest.raises(InputError, match="no request found"):
        explain_body({"prompt": "hi"})


class Page(HTMLParser):
    """Collects what a browser would fetch, and checks that tags close."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]
        assert tag not in ("script", "iframe", "link", "img")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_by_itself_and_nothing_in_it_is_markup_of_a_message() -> None:
    made = chef(cache="auto").append(Message.assistant("</pre><script>alert(1)</script>&amp;"))
    made.append(Message.user('"><img src=x onerror=alert(2)>'))

    page = made.compile_sync("anthropic").explain().html()

    parser = Page()
    parser.feed(page)
    assert parser.open == []
    assert parser.fetched == []
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_text_and_json_say_the_same() -> None:
    explained = chef(cache="auto").compile_sync("anthropic").explain()

    data = json.loads(explained.to_json(words=True))
    text = explained.text()

    assert data["tokens"] == explained.tokens
    assert data["spans"][0]["words"] == LONG
    for span in explained.spans:
        assert span.path in text
    assert "system_prompt" in explained.text(every_span=False)
    assert str(explained) == text
