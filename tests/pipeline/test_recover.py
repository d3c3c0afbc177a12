"""`chef.recover()`: after a request that was refused as too large comes one that fits."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import pytest

from context_chef import ContextChef, InMemoryBackend, Media, Message, Payload, ToolCall
from context_chef.ir.blocks import Inline, Text
from context_chef.testing.doubles import CharacterTokenizer, ScriptedModel
from tests.histories import PNG

ANTHROPIC = "prompt is too long: {size} tokens > {limit} maximum"
OPENAI = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in "
    "{size} tokens. Please reduce the length of the messages."
)
GEMINI = "The input token count ({size}) exceeds the maximum number of tokens allowed ({limit})."
NO_FIGURES = "Your input exceeds the context window of this model. Please adjust your input."


class Refused(Exception):
    status_code = 400


def talk(turns: int, size: int = 500) -> list[Message]:
    rows: list[Message] = []
    for number in range(turns):
        rows.append(Message.user(f"question {number} " + "x" * size))
        rows.append(Message.assistant(f"answer {number} " + "y" * size))
    return [*rows, Message.user("and now?")]


def characters_of(payload: Payload) -> int:
    return sum(len(str(message["content"])) for message in payload["messages"])


@pytest.mark.parametrize("wording", [ANTHROPIC, OPENAI, GEMINI])
def test_without_any_setting_the_learnt_limit_becomes_the_window(wording: str) -> None:
    chef = ContextChef(janitor={"tokenizer": CharacterTokenizer()}).set_history(talk(20))
    sent = characters_of(chef.compile_sync())

    # The provider counts twice as many tokens as we do.
    assert chef.recover(Refused(wording.format(size=sent * 2, limit=16_000))) is True
    again = chef.compile_sync()

    assert characters_of(again) * 2 <= 16_000
    assert again["messages"][-1]["content"] == "and now?"
    chef.extend(talk(20))
    assert characters_of(chef.compile_sync()) * 2 <= 16_000


def test_a_refusal_without_figures_shrinks_the_next_request() -> None:
    chef = ContextChef(janitor={"tokenizer": CharacterTokenizer()}).set_history(talk(20))
    sizes = [characters_of(chef.compile_sync())]

    for _ in range(3):
        assert chef.recover(Refused(NO_FIGURES))
        sizes.append(characters_of(chef.compile_sync()))

    assert all(after < before for before, after in pairwise(sizes))


def test_figures_by_which_the_same_request_would_pass_shrink_it_all_the_same() -> None:
    """A size that is no count of what we counted says one thing still: this was too large."""
    chef = ContextChef(janitor={"tokenizer": CharacterTokenizer()}).set_history(talk(20))
    sent = characters_of(chef.compile_sync())

    assert chef.recover(Refused(GEMINI.format(size=sent * 30, limit=sent * 20)))

    assert characters_of(chef.compile_sync()) < sent


@pytest.mark.parametrize(
    "error",
    [
        Refused("messages.1: tool_use ids were found without tool_result blocks"),
        Refused("max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens"),
        TimeoutError("timed out"),
        ValueError(),
        None,
    ],
)
def test_any_other_error_is_none_of_our_business(error: Any) -> None:
    chef = ContextChef(janitor={"context_window": 20_000}).set_history(talk(3))
    before = chef.compile_sync().to_json()

    assert chef.recover(error) is False
    assert chef.compile_sync().to_json() == before


def test_an_answer_that_asks_for_the_whole_window_is_not_recovered() -> None:
    said = (
        "This model's maximum context length is 8192 tokens. However, you requested 9216 tokens "
        "(1024 in the messages, 8192 in the completion)."
    )
    chef = ContextChef().set_history(talk(1))
    chef.compile_sync()

    assert chef.recover(Refused(said)) is False


def test_the_summariser_does_the_work_even_while_overflow_rests() -> None:
    model = ScriptedModel(*[RuntimeError("down")] * 3, "<summary>Long ago.</summary>")
    chef = ContextChef(
        janitor={
            "context_window": 16_000,
            "trigger_ratio": 0.9,
            "tokenizer": CharacterTokenizer(),
            "compression_model": model,
            "breaker_cooldown_seconds": 10_000,
        },
        overflow={"archive": "vfs"},
        store=InMemoryBackend(),
    )
    chef.set_history(talk(14))
    for _ in range(3):
        sent = characters_of(chef.compile_sync())
    assert chef.recover(Refused(ANTHROPIC.format(size=sent + 4_000, limit=sent)))

    again = chef.compile_sync()

    assert len(model.calls) == 4
    assert characters_of(again) < sent
    assert "Long ago." in str(again)


def test_a_veto_does_not_stand_against_the_provider() -> None:
    chef = ContextChef(janitor={"tokenizer": CharacterTokenizer()}).set_history(talk(20))
    chef.use("before-overflow", lambda context: False)
    sent = characters_of(chef.compile_sync())

    assert chef.recover(Refused(ANTHROPIC.format(size=sent, limit=sent // 2)))

    assert characters_of(chef.compile_sync()) <= sent // 2


def test_what_was_learnt_travels_with_a_snapshot() -> None:
    chef = ContextChef(janitor={"tokenizer": CharacterTokenizer()}).set_history(talk(20))
    sent = characters_of(chef.compile_sync())
    chef.recover(Refused(ANTHROPIC.format(size=sent * 2, limit=10_000)))
    snapshot = chef.snapshot_sync()
    other = ContextChef(janitor={"tokenizer": CharacterTokenizer()})

    other.restore_sync(type(snapshot).from_json(snapshot.to_json()))

    assert other.compile_sync().to_json() == chef.compile_sync().to_json()
    assert characters_of(other.compile_sync()) * 2 <= 10_000


def test_a_body_of_too_many_bytes_loses_its_oldest_media() -> None:
    picture = Media(
        kind="image",
        source=Inline(data=base64.b64encode(base64.b64decode(PNG) + bytes(30_000)).decode()),
        media_type="image/png",
    )
    chef = ContextChef(overflow={"archive": "vfs"}, store=InMemoryBackend())
    for number in range(4):
        chef.append(Message(role="user", content=(Text(text=f"picture {number}"), picture)))
        chef.append(Message.assistant("I see it."))
    chef.append(Message.user("which was best?"))
    before = len(chef.compile_sync("anthropic").to_json())
    error = {"type": "error", "error": {"type": "request_too_large", "message": "Too large."}}

    assert chef.recover(error)
    payload = chef.compile_sync("anthropic")

    assert len(payload.to_json()) <= before / 2
    text = str(payload)
    assert "picture 0" in text
    assert text.count("'base64'") == 1
    out = [span for span in payload.report.spans if span.place == "out"]
    assert len(out) == 3
    assert all(span.uri and chef.resolve_recall_sync(span.uri) for span in out)
    assert chef.compile_sync("anthropic").to_json() == payload.to_json()


def test_one_text_that_is_too_long_is_shortened() -> None:
    call = ToolCall(id="c1", name="dump", arguments="{}")
    chef = ContextChef().set_history(
        [
            Message.user("dump it"),
            Message.assistant("", tool_calls=[call]),
            Message.tool("z" * 40_000, tool_call_id="c1", name="dump"),
        ]
    )
    chef.compile_sync()
    said = (
        "Invalid 'messages[2].content': string too long. Expected a string with maximum length "
        "10485760, but got a string with length 20000000 instead."
    )

    assert chef.recover(Refused(said))

    result = chef.compile_sync()["messages"][-1]
    assert result["role"] == "tool"
    assert len(result["content"]) < 20_000


async def test_try_recover_and_retry_once() -> None:
    limit = 9_000

    def ask(payload: Payload) -> str:
        size = characters_of(payload)
        if size > limit:
            raise Refused(ANTHROPIC.format(size=size, limit=limit))
        return "fine"

    chef = ContextChef(janitor={"tokenizer": CharacterTokenizer()}).set_history(talk(20))
    try:
        answer = ask(await chef.compile())
    except Refused as error:
        if not chef.recover(error):
            raise
        answer = ask(await chef.compile())

    assert answer == "fine"
