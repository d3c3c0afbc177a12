"""What a session reads, writes and costs, by the provider's rules."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from context_chef import CacheModel, ContextChef, InputError, PriceTable, SentRequest, SettingsError
from context_chef.costs import Bill, simulate
from context_chef.costs.prompt import PromptReader
from context_chef.ir.handed_out import HandedOut, Sealed, sealed

LONG, SHORT, MORE = "w " * 3_000, "w " * 100, "w " * 200


class Words:
    """One token a word, so that sums can be done in the head."""

    def count(self, text: str, /) -> int:
        return text.count("w")


def claude(*texts: str, marked: int | None = -1, **rest: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[at % 2], "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(texts)
    ]
    if marked is not None:
        messages[marked]["content"][0]["cache_control"] = {"type": "ephemeral", **rest}
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}


def billed(*requests: SentRequest, target: str = "anthropic", **more: Any) -> Bill:
    return simulate(requests, target=target, tokenizer=Words(), **more)


def test_a_growing_conversation_reads_what_it_wrote_before() -> None:
    bill = billed(
        SentRequest(body=claude(LONG), output_tokens=100),
        SentRequest(body=claude(LONG, SHORT, MORE), at=10, output_tokens=50),
    )

    first, second = bill.requests
    assert (first.read, dict(first.written), first.uncached) == (0, {"5m": 3_003}, 0)
    assert (second.read, dict(second.written)) == (3_003, {"5m": 306})
    assert first.money is not None
    assert first.money.write == pytest.approx(3_003 * 3.75 / 1e6)
    assert second.money is not None
    assert second.money.read == pytest.approx(3_003 * 0.30 / 1e6)
    assert second.money.output == pytest.approx(50 * 15 / 1e6)
    assert bill.cost == pytest.approx((first.cost or 0) + (second.cost or 0))
    assert bill.hit_share == pytest.approx(3_003 / (3_003 + 3_309))
    assert (bill.busts, bill.rebilled) == ((), 0)


def test_a_read_renews_the_lifetime_and_a_pause_ends_it() -> None:
    body = claude(LONG)

    times = [0, 290, 580, 900]
    bill = billed(*[SentRequest(body=body, at=at) for at in times])

    assert [request.read > 0 for request in bill.requests] == [False, True, True, False]
    bust = bill.requests[3].bust
    assert bust is not None
    assert (bust.cause, bust.tokens) == ("expired", 3_003)


def test_a_change_in_front_is_a_bust_with_its_place() -> None:
    bill = billed(
        SentRequest(body=claude(LONG, SHORT, MORE)),
        SentRequest(body=claude(LONG + "!", SHORT, MORE), at=1),
    )

    bust = bill.requests[1].bust
    assert bust is not None
    assert (bust.cause, bust.where) == ("changed", "messages[0].content[0]")
    assert bill.rebilled == bust.tokens == 3_309


def test_more_than_twenty_blocks_are_out_of_reach() -> None:
    near = claude(LONG, *[SHORT] * 19, marked=-1)
    far = claude(LONG, *[SHORT] * 20, marked=-1)

    reads = [
        billed(SentRequest(body=claude(LONG)), SentRequest(body=body, at=1)).requests[1]
        for body in (near, far)
    ]

    assert reads[0].read == 3_003
    assert (reads[1].read, reads[1].bust and reads[1].bust.cause) == (0, "out-of-reach")


def test_a_prompt_below_the_minimum_is_not_cached_and_nobody_is_blamed() -> None:
    body = claude(SHORT)

    bill = billed(SentRequest(body=body), SentRequest(body=body, at=1))

    assert [(r.read, dict(r.written), r.uncached) for r in bill.requests] == [(0, {}, 103)] * 2
    assert bill.busts == ()


def test_an_hour_is_written_at_its_own_price() -> None:
    bill = billed(
        SentRequest(body=claude(LONG, ttl="1h")), SentRequest(body=claude(LONG), at=3_000)
    )

    first, second = bill.requests
    assert dict(first.written) == {"1h": 3_003}
    assert first.money is not None
    assert first.money.write == pytest.approx(3_003 * 6 / 1e6)
    assert second.read == 3_003


def test_another_model_reads_nothing_of_the_first() -> None:
    other = {**claude(LONG), "model": "claude-opus-4-5"}

    bill = billed(
        SentRequest(body=claude(LONG)),
        SentRequest(body=other, at=1),
        SentRequest(body=claude(LONG), at=2),
    )

    bust = bill.requests[1].bust
    assert bust is not None
    assert bust.cause == "model"
    assert bill.requests[2].read == 3_003, "the first model still has its own"


def test_summaries_are_billed_and_are_no_step_of_the_conversation() -> None:
    bill = billed(
        SentRequest(body=claude(LONG)),
        SentRequest(body=claude(MORE, marked=None), kind="summary", at=1, output_tokens=400),
        SentRequest(body=claude(LONG, SHORT, MORE), at=2),
    )

    assert bill.requests[2].read == 3_003
    assert bill.busts == ()
    summaries = bill.only("summary")
    assert summaries.cost == pytest.approx(203 * 3 / 1e6 + 400 * 15 / 1e6)
    assert bill.to_dict()["totals"]["summaries"]["requests"] == 1


def test_what_was_reported_wins_and_the_difference_is_told() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 3_100,
        "output_tokens": 7,
    }

    [request] = billed(SentRequest(body=claude(LONG), usage=usage)).requests

    assert (request.input, dict(request.written), request.output) == (3_110, {"5m": 3_100}, 7)
    assert request.differences == {"input": 107, "written": 97}
    assert request.to_dict()["reported"] is True


def test_a_model_without_a_price_costs_none_and_says_so() -> None:
    body = {**claude(LONG), "model": "claude-mythos-5-1"}

    bill = billed(SentRequest(body=body))

    assert bill.cost is None
    assert bill.money is None
    assert [one.code for one in bill.diagnostics] == ["unknown-price"]
    assert "claude-mythos-5-1" in bill.diagnostics[0].message
    priced = billed(
        SentRequest(body=body),
        prices={"claude-mythos-5-1": {"input": 1, "output": 2, "write": 1.25}},
    )
    assert priced.cost == pytest.approx(3_003 * 1.25 / 1e6)


def test_an_unknown_model_gets_the_rules_of_its_target_and_a_word_about_it() -> None:
    bill = billed(SentRequest(body={**claude(LONG), "model": "claude-nobody-9"}))

    assert {one.code for one in bill.diagnostics} == {"unknown-model", "unknown-price"}
    assert bill.requests[0].written == {"5m": 3_003}


def test_older_openai_models_read_in_steps_and_write_for_nothing() -> None:
    def chat(*texts: str) -> dict[str, Any]:
        rows = [{"role": "user", "content": text} for text in texts]
        return {"model": "gpt-4.1", "messages": rows}

    bill = billed(
        SentRequest(body=chat(LONG)),
        SentRequest(body=chat(LONG, SHORT), at=60),
        SentRequest(body=chat(LONG, SHORT), at=5_000),
        SentRequest(body={**chat(LONG), "prompt_cache_retention": "24h"}, at=5_001),
        SentRequest(body=chat(LONG), at=40_000),
        target="openai",
    )

    assert [request.read for request in bill.requests] == [0, 2_944, 0, 2_944, 2_944]
    assert bill.written == {}
    assert bill.requests[2].bust is not None
    assert bill.requests[2].bust.cause == "expired"


def test_prices_of_long_prompts_hold_for_the_whole_request() -> None:
    body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "w " * 300_000}]}

    [request] = billed(SentRequest(body=body, output_tokens=1_000), target="openai").requests

    assert request.money is not None
    assert request.money.input == pytest.approx(300_003 * 5 / 1e6)
    assert request.money.output == pytest.approx(1_000 * 22.5 / 1e6)


def test_announced_prices_hold_from_their_day_on() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": LONG}]}]}

    def cost(day: date) -> float | None:
        return billed(SentRequest(body=body), target="gemini", model="gemini-4-argon", on=day).cost

    assert cost(date(2026, 11, 30)) == pytest.approx(3_003 * 2 / 1e6)
    assert cost(date(2026, 12, 1)) == pytest.approx(3_003 * 4 / 1e6)


def test_an_ended_price_is_used_on_and_named() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": LONG}]}]}

    bill = billed(
        SentRequest(body=body), target="gemini", model="gemini-3.8-flash", on=date(2027, 2, 1)
    )

    assert [one.code for one in bill.diagnostics] == ["price-ended"]
    assert bill.cost is not None


def test_a_named_resource_of_gemini_is_read_whatever_its_size() -> None:
    body = {
        "cachedContent": "cachedContents/1",
        "contents": [{"role": "user", "parts": [{"text": SHORT}]}],
    }

    [request] = billed(
        SentRequest(body=body),
        target="gemini",
        model="gemini-2.5-flash",
        cached_contents={"cachedContents/1": 900},
    ).requests

    assert (request.read, request.uncached) == (900, 103)


def test_payloads_are_taken_as_they_are_compiled() -> None:
    chef = ContextChef(cache="auto", model="claude-sonnet-4-5").set_system_prompt(LONG)
    cache = CacheModel(target="anthropic", model="claude-sonnet-4-5", tokenizer=Words())

    for turn in range(4):
        chef.append({"role": "user", "content": f"{turn} {SHORT}"})
        cache.send(SentRequest(body=chef.compile_sync("anthropic"), at=turn))
        chef.append({"role": "assistant", "content": f"{turn} {SHORT}"})

    bill = cache.bill
    assert [request.read > 3_000 for request in bill.requests] == [False, True, True, True]
    assert bill.busts == ()
    assert bill.without_cache is not None
    assert bill.cost is not None
    assert bill.cost < bill.without_cache


def test_times_that_run_backwards_and_unknown_targets_are_refused() -> None:
    with pytest.raises(InputError, match="order of their time"):
        billed(SentRequest(body=claude(LONG), at=5), SentRequest(body=claude(LONG), at=4))
    with pytest.raises(SettingsError, match="`target`"):
        CacheModel(target="antropic")
    with pytest.raises(InputError, match="`body`"):
        billed(SentRequest(body=[1]))  # type: ignore[arg-type]  # what a caller may do


@pytest.mark.parametrize(
    ("figures", "path"),
    [
        ({"at": "now"}, "at"),
        ({"at": float("inf")}, "at"),
        ({"output_tokens": -1}, "output_tokens"),
        ({"output_tokens": "many"}, "output_tokens"),
    ],
)
def test_a_figure_that_is_none_is_refused_where_it_enters(
    figures: dict[str, Any], path: str
) -> None:
    with pytest.raises(InputError, match=rf"^\$\.{path}: "):
        simulate([SentRequest(body={"messages": []}, **figures)], target="openai", model="gpt-4.1")


def test_a_bill_is_plain_data() -> None:
    bill = billed(
        SentRequest(body=claude(LONG)), SentRequest(body=claude(LONG, SHORT, MORE), at=400)
    )

    row = bill.to_dict()

    assert row["totals"]["requests"] == 2
    assert row["requests"][1]["bust"] == {"tokens": 3_003, "cause": "expired"}
    assert "requests" not in bill.to_dict(requests=False)
    assert PriceTable.default().of("us.anthropic.claude-sonnet-4-5-20250929-v1:0") is not None


def test_what_stands_before_an_hour_long_mark_is_written_for_an_hour_and_the_rest_shorter() -> None:
    body = claude(LONG, SHORT, MORE)
    body["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}

    [request] = billed(SentRequest(body=body)).requests

    assert dict(request.written) == {"1h": 3_003, "5m": 306}
    assert request.money is not None
    assert request.money.write == pytest.approx((3_003 * 6 + 306 * 3.75) / 1e6)


def test_reading_a_prompt_copies_no_row_that_compiles_share() -> None:
    row = {"role": "user", "content": [{"type": "text", "text": "Grüße", "n": [1, {"a": 0.5}]}]}
    rows = HandedOut([sealed(row)])
    reader = PromptReader("anthropic", count=len)

    prompt = reader.read({"messages": rows})

    assert [type(one) for one in rows.as_shared()] == [Sealed]
    assert prompt.digests == PromptReader("anthropic", count=len).read({"messages": [row]}).digests
