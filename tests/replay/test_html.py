"""The report page: what it says, that it is harmless, the same every time, and never too large."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.cli import main
from context_chef.replay import ReplayResult, configuration, read_session, replay
from context_chef.replay.html import html_page
from context_chef.replay.html_data import all_moves, moves, touched
from context_chef.replay.html_kinds import KINDS
from tests.replay.pages import HARM, hostile, large, small
from tests.replay.sessions import chat, write


class _Reader(HTMLParser):
    """What a page consists of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def _data(page: str) -> dict[str, list[dict[str, list[list[object]]]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_a_newcomer_reads_what_was_done_and_what_came_out() -> None:
    words = _Reader(html_page(small())).words

    assert "No model was called" in words
    assert "Would it have run?" in words
    assert re.search(r"sends the least: [\d,]+ tokens, \d+% less than", words)
    assert re.search(r"Under drop \d+% of what the older messages said is lost", words)
    assert "nothing is lost" in words
    assert re.search(r"that run, only clear\+summarize loses nothing; it costs \$", words)


def test_the_one_configuration_that_runs_is_not_praised_for_losing_least(tmp_path: Path) -> None:
    session = read_session(write(tmp_path / "s.json", chat(12, words=300)))
    names = ("everything", "drop")
    result = replay(session, [configuration(name, window="35%") for name in names])

    words = _Reader(html_page(result)).words

    assert re.search(r"Only drop runs; it loses \d+ facts and costs \$", words)


def test_the_table_holds_every_configuration_and_every_figure() -> None:
    result = small()
    words = _Reader(html_page(result)).words

    for run in result.sessions[0].runs:
        assert run.configuration.name in words
        assert f"{run.totals.sent:,}" in words
        assert f"{run.totals.rebilled:,}" in words
        assert f"{run.totals.peak:,}" in words
    for label in ("from the cache", "requests rejected", "places mended", "by address", "lost"):
        assert label in words


def test_requests_that_do_not_fit_are_said_to_be_rejected(tmp_path: Path) -> None:
    session = read_session(write(tmp_path / "long.json", chat(8)))
    result = replay(session, [configuration("everything", window=900)])

    words = _Reader(html_page(result)).words

    assert re.search(r"would be rejected, first at request \d: \d requests of 9 are larger", words)
    assert "no request is larger" not in words


def test_equal_results_give_equal_bytes() -> None:
    result = small()

    assert html_page(ReplayResult.from_json(result.to_json())) == html_page(result)


def test_nothing_that_a_session_says_becomes_markup_or_script() -> None:
    page = html_page(hostile())
    read = _Reader(page)

    assert not read.tags & {"img", "iframe", "svg:script", "base", "object", "marquee"}
    assert page.count("</script") == 2
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert not re.search("[\u2028\u2029\ud800-\udfff\x00]", page)
    assert page.encode("utf-8")
    texts = [row[4] for row in _data(page)["sessions"][0]["texts"]]
    assert all(harm in texts for harm in HARM)


def test_the_page_allows_no_script_but_its_own_and_fetches_nothing() -> None:
    page = html_page(hostile())
    read = _Reader(page)
    policy = dict(read.attributes)["content"] if read.attributes else ""
    policies = [value for name, value in read.attributes if "default-src" in value and name]

    assert policy
    assert policies[0].startswith("default-src 'none'")
    assert "'unsafe-inline'; script-src 'sha256-" in policies[0]
    loaded = [value for name, value in read.attributes if name in ("src", "href", "srcset")]
    assert all(value.startswith(("#", "data:")) for value in loaded)


def test_a_thousand_requests_under_ten_configurations_stay_small_and_say_what_was_cut() -> None:
    page = html_page(large(requests=1_000, runs=10), text_budget=400_000)

    assert len(page) < 8_000_000
    words = _Reader(page).words
    assert "characters are cut in the middle on this page" in words
    row = _data(page)["sessions"][0]["texts"][-1]
    assert len(row) == 7
    assert isinstance(row[4], str)
    assert isinstance(row[5], int)
    assert row[5] > 0


def test_a_page_says_when_one_column_stands_for_several_requests() -> None:
    said = "One column stands for 2 requests, drawn as high as the highest of them."

    assert said in _Reader(html_page(large(requests=1_001, runs=1))).words
    assert "One column stands for" not in _Reader(html_page(large(requests=1_000, runs=1))).words


def test_many_sessions_get_an_index_and_the_last_ones_figures_only() -> None:
    one = small().sessions[0]
    result = ReplayResult(sessions=(one,) * 4)

    whole, cut = html_page(result), html_page(result, page_budget=len(html_page(small())))

    assert whole.count('class="session"') == 4
    assert all(f'href="#s{at}"' in whole for at in range(4))
    assert 1 <= cut.count('class="session"') < 4
    assert "stand in this table only" in cut


def test_the_command_writes_the_page_for_a_folder_of_sessions(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("first", "second"):
        write(folder / f"{name}.json", chat(3))
    page = tmp_path / "report.html"

    code = main(["replay", str(folder), "--strategy", "drop", "--window", "600", "--jobs", "1",
                 "--html", str(page)])  # fmt: skip

    assert code == 0
    words = _Reader(page.read_text("utf-8")).words
    assert "2 sessions, replayed" in words
    assert "first" in words
    assert "second" in words


def test_nothing_replayed_is_a_page_as_well() -> None:
    assert "No session was replayed." in html_page(ReplayResult())


@given(st.lists(st.integers(0, 6), max_size=20), st.lists(st.integers(0, 6), max_size=20))
def test_requests_come_back_from_what_differs(before: list[int], now: list[int]) -> None:
    told = moves(before, now)
    back: list[int] = []
    at = 0
    while at < len(told):
        start, count, new = told[at : at + 3]
        back += before[start : start + count] + told[at + 3 : at + 3 + new]
        at += 3 + new
    _, (gone, new_ones) = touched([moves([], before), told])

    assert back == now
    assert Counter(before) - Counter(gone) + Counter(new_ones) == Counter(now)


def test_a_prefix_that_changes_in_every_request_is_told_in_few_numbers() -> None:
    told = all_moves(large(requests=200, runs=1).sessions[0].runs[0].requests)

    assert max(map(len, told)) < 12


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("eyes", ["all", "no red", "no green", "no colour"])
def test_neighbouring_colours_stay_apart_for_every_eye(scheme: str, eyes: str) -> None:
    seen = {kind.key: _seen(getattr(kind, scheme), eyes) for kind in KINDS}
    talk = ("system", "summary", "user", "assistant", "results", "tail")
    near = [
        (one, other, round(_distance(seen[one], seen[other]), 1))
        for one, other in {*pairwise(k.key for k in KINDS), *combinations(talk, 2)}
        if _distance(seen[one], seen[other]) < (5 if eyes == "no colour" else 14)
    ]

    # Without any colour, lightness alone tells neighbours apart; the legend and labels do the rest.
    assert not near if eyes != "no colour" else len(near) <= 4


def _seen(colour: str, eyes: str) -> tuple[float, float, float]:
    """CIE Lab of a colour as those eyes see it (Machado, Oliveira and Fernandes 2009)."""
    linear = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in linear]
    grey = (0.2126, 0.7152, 0.0722)
    matrix = {
        "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
        "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
        "no colour": (grey, grey, grey),
    }.get(eyes, ((1, 0, 0), (0, 1, 0), (0, 0, 1)))  # fmt: skip
    red, green, blue = (
        min(max(sum(f * v for f, v in zip(row, linear, strict=True)), 0.0), 1.0) for row in matrix
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def _distance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
