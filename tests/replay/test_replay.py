"""A replay says what each configuration would have done, the same to the byte every time."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from context_chef import ContextChef, SettingsError
from context_chef.replay import (
    RecordedSession,
    ReplayOptions,
    ReplayResult,
    Run,
    as_toml,
    configuration,
    read_configurations,
    read_session,
    replay,
)
from context_chef.testing import check_payload
from tests.replay.sessions import chat, write


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> RecordedSession:
    return read_session(write(tmp_path_factory.mktemp("replay") / "long.json", chat(14)))


@pytest.fixture(scope="module")
def result(session: RecordedSession) -> ReplayResult:
    names = ("everything", "drop", "clear+summarize", "background(summarize)", "reset")
    return replay(session, [configuration(name, window=4_000) for name in names])


def _run(result: ReplayResult, name: str) -> Run:
    return next(run for run in result.sessions[0].runs if run.configuration.name == name)


def test_sending_everything_goes_over_the_window_and_the_others_fit(result: ReplayResult) -> None:
    everything = _run(result, "everything")

    assert everything.totals.above > 0
    assert everything.totals.folds == 0
    for run in result.sessions[0].runs[1:]:
        assert run.error is None
        assert run.totals.above == 0, run.configuration.name
        assert run.totals.folds > 0
        assert run.totals.sent < everything.totals.sent


def test_no_request_breaks_a_rule_of_the_provider(result: ReplayResult) -> None:
    for run in result.sessions[0].runs:
        assert (run.totals.faults, run.sequence_faults) == (0, ())
        assert run.totals.checked == run.totals.requests == 15


def test_the_spans_of_a_request_are_what_was_sent(result: ReplayResult) -> None:
    texts = result.sessions[0].texts
    for run in result.sessions[0].runs:
        for request in run.requests:
            spans = run.spans(request.number)
            assert sum(texts[at].tokens for at in spans) == request.tokens
            by_group: dict[str, int] = {}
            for at in spans:
                by_group[texts[at].group] = by_group.get(texts[at].group, 0) + texts[at].tokens
            assert by_group == dict(request.sources)
    last = _run(result, "everything").spans(15)
    assert "src/part13.py: ticket SKU-4013" in texts[last[-1]].text


def test_what_left_is_named_with_its_address_and_can_be_reached(result: ReplayResult) -> None:
    run = _run(result, "reset")
    fold = next(fold for request in run.requests for fold in request.folds)

    texts = result.sessions[0].texts
    assert any("SKU-4000" in texts[at].text for at in fold.left)
    assert fold.uris
    assert fold.uris[0].startswith("context://")
    assert fold.summary is not None
    assert texts[fold.summary].group == "summary"
    assert run.retention.share == 1
    assert run.retention.counts["identifier"]["uri"] > 5


def test_without_an_archive_what_left_is_lost(result: ReplayResult) -> None:
    run = _run(result, "drop")
    retention = run.retention

    assert {fold.strategy for request in run.requests for fold in request.folds} == {"drop"}
    assert {bust.name for request in run.requests for bust in request.busts} == {"drop"}
    assert retention.total("uri", "search") == 0
    assert retention.total("lost") > 0
    assert any(fact.text == "SKU-4000" and fact.message == 2 for fact in retention.lost)


def test_a_summariser_that_keeps_nothing_keeps_less_in_the_window(
    session: RecordedSession,
) -> None:
    shares = [
        replay(
            session,
            [configuration("summarize", window=4_000)],
            options=ReplayOptions(summarizer=who),
        ).sessions[0].runs[0].retention.in_window
        for who in ("extractive", "scripted")
    ]  # fmt: skip

    assert shares[0] > shares[1]


def test_a_fold_breaks_the_cache_and_is_named_as_the_cause(result: ReplayResult) -> None:
    run = _run(result, "clear+summarize")
    busts = [bust for request in run.requests for bust in request.busts]

    assert busts
    assert {bust.cause for bust in busts} == {"fold"}
    assert all(bust.rebilled > 0 for bust in busts)
    assert run.totals.rebilled == sum(bust.rebilled for bust in busts)
    assert _run(result, "everything").totals.busts == 0


@pytest.mark.parametrize("strategy", ["drop", "clear", "clear+summarize", "clear+anchored"])
def test_a_fold_that_is_named_at_once_is_what_diff_names(
    session: RecordedSession, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def causes() -> list[tuple[int, str, str, int]]:
        run = replay(session, [configuration(strategy, window=4_000)]).sessions[0].runs[0]
        return [
            (request.number, bust.cause, bust.name, bust.rebilled)
            for request in run.requests
            for bust in request.busts
        ]

    at_once = causes()
    monkeypatch.setattr("context_chef.replay.player.parted_by_fold", lambda *_: None)

    assert at_once
    assert at_once == causes()


def test_notices_of_cleared_results_stand_for_what_left(result: ReplayResult) -> None:
    texts = result.sessions[0].texts
    run = _run(result, "clear+summarize")
    folds = [fold for request in run.requests for fold in request.folds]

    assert {text.group for text in texts if text.source == "cleared"} == {"summary"}
    assert all("tail" not in request.sources for request in run.requests)
    assert {texts[fold.summary].source for fold in folds if fold.summary is not None} == {"summary"}


def test_calls_of_the_summariser_are_counted_and_billed(result: ReplayResult) -> None:
    run = _run(result, "background(summarize)")

    assert run.totals.summarizer_calls >= 1
    assert 0 < run.totals.summarizer_cost < run.totals.cost
    assert _run(result, "drop").totals.summarizer_cost == 0


def test_replays_are_the_same_to_the_byte_also_over_processes(
    session: RecordedSession, result: ReplayResult
) -> None:
    names = ("background(summarize)", "clear+summarize")
    configurations = [configuration(name, window=4_000) for name in names]
    told: list[tuple[int, int]] = []

    again = replay(session, configurations, jobs=2, progress=lambda *now: told.append(now))

    assert again.to_json() == replay(session, configurations).to_json()
    for name, run in zip(names, again.sessions[0].runs, strict=True):
        assert run.totals == _run(result, name).totals
    assert told[-1] == (30, 30)


def test_a_result_survives_json(result: ReplayResult) -> None:
    assert ReplayResult.from_json(result.to_json()) == result
    data = result.to_dict()
    totals = data["sessions"][0]["runs"][0]["totals"]
    assert totals["hit_share"] == pytest.approx(result.sessions[0].runs[0].totals.hit_share)


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("openai", "gpt-4o"),
        ("openai-responses", "gpt-5.6"),
        ("anthropic", "claude-opus-5-5"),
        ("gemini", "gemini-3.8-flash"),
    ],
)
def test_a_session_is_played_for_any_provider(
    session: RecordedSession, target: str, model: str
) -> None:
    one = configuration("clear+summarize", target=target, model=model, window=4_000)

    run = replay(session, [one]).sessions[0].runs[0]

    assert (run.error, run.totals.faults, run.totals.above) == (None, 0, 0)
    assert run.totals.cost > 0


def test_a_model_that_stands_in_for_the_recorded_one_is_said(tmp_path: Path) -> None:
    """Prices, window and cache rules are those of a model: nobody has to guess of which."""
    body = {**chat(1), "model": "llama-x"}
    read = read_session(write(tmp_path / "s.json", body))

    def notes(**named: Any) -> tuple[str, ...]:
        return replay(read, [configuration("reset", window=4_000, **named)]).sessions[0].notes

    assert notes() == (
        "'llama-x' is not known as a model of openai: 'gpt-4.1' stands in for it, unless `model` "
        "names another",
    )
    assert notes(model="gpt-5.1") == ()


def test_a_window_may_be_a_share_of_the_session(session: RecordedSession) -> None:
    run = replay(session, [configuration("reset", window="50%")]).sessions[0].runs[0]
    whole = replay(session, ["everything"]).sessions[0].runs[0].totals.peak

    assert run.configuration.window == pytest.approx(
        whole / 2, rel=0.1
    )  # our own tool is no part of it


def test_configurations_come_out_of_a_file_and_go_back_into_one(tmp_path: Path) -> None:
    path = tmp_path / "chef.toml"
    path.write_text(
        'model = "claude-sonnet-4-5"\ntarget = "anthropic"\n'
        "[[configuration]]\nname = 'a'\nwindow = 9_000\n[configuration.overflow]\n"
        "strategy = ['clear', {name = 'background', inner = 'anchored'}]\n"
        "[[configuration]]\nname = 'b'\n[configuration.janitor]\ncontext_window = 5_000\n",
        "utf-8",
    )

    one, other = read_configurations(path)

    assert (one.name, one.target, one.model) == ("a", "anthropic", "claude-sonnet-4-5")
    session = RecordedSession(name="s", format="openai", requests=read_session(
        write(tmp_path / "s.json", chat(1))).requests)  # fmt: skip
    assert one.for_session(session).strategy == "clear, then background(anchored)"
    assert other.for_session(session).window == 5_000
    out = tmp_path / "out.toml"
    out.write_text(as_toml(one.for_session(session)), "utf-8")
    again = read_configurations(out)[0].for_session(session)
    assert again.settings == one.for_session(session).settings
    assert (again.target, again.model, again.window) == ("anthropic", "claude-sonnet-4-5", 9_000)

    assert ContextChef.from_settings(tomllib.loads(out.read_text("utf-8")))


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: configuration("summarise"), "Did you mean `summarize`?"),
        (lambda: configuration("clear+rest"), "`reset`"),
        (lambda: configuration("background("), "'background('"),
        (lambda: configuration("clear+everything"), "stands alone"),
        (lambda: configuration("reset", model=""), "`model`"),
        (lambda: configuration("reset", window="half"), "25%"),
        (lambda: configuration("reset", window=0), "`window`"),
        (lambda: configuration("reset", window="300%"), "100%"),
        (lambda: configuration("reset", target="open-ai"), "`openai`"),
        (lambda: ReplayOptions(check="some"), "`check`"),
        (lambda: ReplayOptions(pause=-1), "`pause`"),
        (lambda: ReplayOptions(pause=float("inf")), "`pause`"),
        (lambda: replay([], ["reset"], jobs=-1), "`jobs`"),
        (lambda: replay([], ["reset", "reset"]), "two configurations"),
    ],
)
def test_a_meaningless_setting_is_named(make: Any, hint: str) -> None:
    with pytest.raises(SettingsError) as refused:
        make()

    assert hint in str(refused.value)


def test_a_real_model_needs_a_key(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        replay(session, ["reset"], options=ReplayOptions(summarizer="openai:gpt-4.1"))


def test_a_real_model_is_asked_where_one_is_named(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    async def create(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        answer = {"role": "assistant", "content": "<summary>WRITTEN BY A MODEL</summary>"}
        return {"choices": [{"message": answer, "finish_reason": "stop"}]}

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    monkeypatch.setitem(sys.modules, "openai", SimpleNamespace(AsyncOpenAI=lambda: client))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    options = ReplayOptions(summarizer="openai:gpt-4.1-mini")

    result = replay(session, [configuration("summarize", window=4_000)], options=options)

    assert {arguments["model"] for arguments in asked} == {"gpt-4.1-mini"}
    assert "gpt-4.1-mini" in result.summarizer
    run = result.sessions[0].runs[0]
    shown = "".join(result.sessions[0].texts[at].text for at in run.spans(15))
    assert "WRITTEN BY A MODEL" in shown
    assert run.totals.summarizer_calls == len(asked)


def test_the_body_that_is_judged_is_the_one_that_would_be_sent(tmp_path: Path) -> None:
    body = chat(2)
    run = replay(write(tmp_path / "s.json", body), ["everything"]).sessions[0].runs[0]
    chef = ContextChef(cache="auto", tools="unified", janitor={"tokenizer": "o200k_base"})
    chef.set_system_prompt(body["messages"][0]["content"]).register_tools(body["tools"])
    chef.set_history(body["messages"][1:-1])

    payload = chef.compile_sync("openai", model="gpt-4.1")

    assert check_payload("openai", payload, partial=True) == []
    assert run.requests[-1].size == len(payload.to_json())
    assert json.loads(payload.to_json())
