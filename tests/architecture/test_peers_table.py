"""The table and the plot of `benchmarks/peers.py`, from canned timings."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks import peers
from benchmarks.peers_table import Outcome, as_markdown, as_svg

SIZES = (100, 2_000)


def _line(case: str, size: int, ms: float) -> str:
    figure = {"way": "append", "case": case, "size": size}
    return json.dumps({**figure, "ms": ms, "low": ms / 2, "high": ms * 2, "runs": 5})


def _measured() -> Outcome:
    printed = [
        json.dumps({"package": "one", "version": "1.2"}),
        _line("turn", 100, 1.25),
        _line("turn", 2_000, 1234.5),
        "a line of somebody else",
        '{"way": "append", "case": "co',
    ]
    return Outcome(peer="one", less="nothing").reading(printed)


def test_a_median_stands_with_its_quarter_points_and_versions() -> None:
    table = as_markdown([_measured()], SIZES, {"python": "3.11"})

    assert "| one | append | 1.25 (0.625–2.5) | 1,234 (617–2,469) |" in table
    assert "| one | one 1.2 | nothing | – |" in table


def test_what_was_not_measured_is_a_row_with_its_reason() -> None:
    absent = Outcome(peer="two", less="all").failed("node or npm is absent")
    stopped = Outcome(peer="three", less="all").reading([_line("turn", 100, 3)]).failed("stopped")

    table = as_markdown([absent, stopped], SIZES, {})

    assert "| two | – | node or npm is absent |  |" in table
    assert "| three | append | 3 (1.5–6) | stopped |" in table


def test_a_case_that_failed_says_why_in_its_cell() -> None:
    broken = {"way": "append", "case": "full", "size": 100, "reason": "KeyError: 'a|b'"}
    outcome = Outcome(peer="one", less="nothing").reading([json.dumps(broken)])

    assert "| one | append | KeyError: 'a/b' | – |" in as_markdown([outcome], SIZES, {})


def test_the_plot_has_a_line_for_each_that_was_measured() -> None:
    absent = Outcome(peer="two", less="all").failed("absent")

    plot = ElementTree.fromstring(as_svg([_measured(), absent], SIZES))

    assert len(plot.findall("{*}polyline")) == 1
    assert "one: append" in {text.text for text in plot.findall("{*}text")}


def test_a_plot_of_nothing_is_still_one() -> None:
    ElementTree.fromstring(as_svg([], (100,)))


def test_a_peer_that_ends_badly_is_a_reason_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.py").write_text("raise SystemExit('no such library')", "utf-8")
    monkeypatch.setattr(peers, "DRIVERS", tmp_path)
    peer = peers.Peer(key="bad", driver="bad.py", less="all")

    outcome = peers.run(peer, tmp_path, [], patience=1)

    assert outcome.reason == "ended with 1: no such library"


def test_without_node_the_typescript_reference_is_skipped_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    peer = next(peer for peer in peers.PEERS if peer.key == "typescript")

    assert peers.run(peer, tmp_path, [], patience=1).reason == "node or npm is absent"
