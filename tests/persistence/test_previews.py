"""Previews and error lines: small, right about real outputs, and never in the way."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.persistence.error_lines import MAX_LINE_CHARS, error_lines
from context_chef.persistence.previews import MAX_PREVIEW_CHARS, kind_of_text, preview
from tests.shared_data import DATA, needs_data


def test_json_is_shown_by_its_shape() -> None:
    rows = [{"id": n, "name": "a name", "tags": ["x", "y"], "body": "t" * 99} for n in range(500)]

    assert preview(json.dumps({"total": 500, "rows": rows})) == (
        "JSON: {total: 500, rows: array of 500, the first: {id: int, name: text, "
        "tags: array of 2, body: text}}"
    )


def test_csv_is_shown_by_its_columns() -> None:
    table = "id,name,city\n" + "".join(f"{n},Ann,Oslo\n" for n in range(100))

    assert preview(table) == (
        "CSV: about 101 rows of 3 columns.\nColumns: id, name, city\n"
        "First row after them: 0, Ann, Oslo"
    )


def test_a_log_is_shown_by_its_span_and_levels() -> None:
    log = "".join(f"2024-01-01 10:00:{n:02d} INFO step {n}\n" for n in range(50))
    log += "2024-01-01 10:01:00 ERROR disk full\n"

    assert (
        preview(log)
        == "Log from 2024-01-01 10:00:00 to 2024-01-01 10:01:00. Levels: INFO 50, ERROR 1."
    )


def test_a_diff_is_shown_by_its_files() -> None:
    patch = (
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+++ d\n"
        "diff --git a/y.py b/y.py\n--- a/y.py\n+++ b/y.py\n@@ -1 +0,0 @@\n--- sql comment\n"
    )

    assert preview(patch) == "Diff of 2 files, +2 -2:\n  x.py +2 -1\n  y.py +0 -1"


def test_html_is_shown_by_its_title_and_headings() -> None:
    page = (
        "<!doctype html><html><head><title>Shop  </title></head><body><h1>Prices</h1>"
        "<table></table><a href=x>y</a></body>"
    )

    assert preview(page) == ("HTML page titled 'Shop'.\nHeadings: Prices\nHolds 1 <a>, 1 <table>.")


def test_plain_text_has_no_preview() -> None:
    assert preview("just some words\n" * 100) is None


@given(st.text(max_size=400) | st.text(alphabet='{}[]",:<>-+@d \n,;', max_size=400))
def test_no_text_breaks_a_preview_and_none_is_large(text: str) -> None:
    assert len(preview(text) or "") <= MAX_PREVIEW_CHARS
    for number, line in error_lines(text):
        assert 1 <= number <= text.count("\n") + 1
        assert len(line) <= MAX_LINE_CHARS + 3


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "ValueError: invalid literal for int()",
        "E   AssertionError: assert 1 == 2",
        "src/app.ts(12,5): error TS2304: Cannot find name 'x'.",
        "error[E0308]: mismatched types",
        "npm ERR! code ELIFECYCLE",
        "FAILED tests/test_a.py::test_b - KeyError",
        "--- FAIL: TestX (0.00s)",
        "bash: foo: command not found",
        "Process exited with code 137",
        "[1] 70114 segmentation fault  ponyc",
        "2024-01-01 10:00:00 CRITICAL pool exhausted",
    ],
)
def test_lines_that_say_what_went_wrong_are_found(line: str) -> None:
    assert error_lines(f"fine\n{line}\nfine") == [(2, line)]


@pytest.mark.parametrize(
    "line",
    [
        "0 errors, 0 warnings",
        "12 passed, 0 failed",
        "no errors found",
        "import { errorHandler } from './errors';",
        "    raise ValueError(message)",
        "throw new Error(`no such file: ${path}`);",
        "* @throws Error if no model is selected",
        "+    except Exception as error:",
    ],
)
def test_lines_that_only_talk_about_errors_are_not(line: str) -> None:
    assert error_lines(f"fine\n{line}\nfine") == []


def test_repetitions_count_once_and_the_last_certain_error_is_kept() -> None:
    text = "\n".join([*(f"ERROR: request {n} failed" for n in range(50)), "fatal: out of disk"])

    assert error_lines(text, limit=2) == [
        (1, "ERROR: request 0 failed"),
        (51, "fatal: out of disk"),
    ]


def test_errors_that_differ_in_a_number_all_stay_while_there_is_room() -> None:
    failed = [f"FAILED tests/test_{n}.py::test_it - assert {n} == 0" for n in (7, 8, 9)]
    late = [f"2026-01-01 10:00:{n:02} ERROR: connection refused" for n in range(30)]
    text = "\n".join(["ok", *failed, *late, "Connection refused by peer"])

    assert error_lines(text) == [
        (2, failed[0]),
        (3, failed[1]),
        (4, failed[2]),
        (5, late[0]),
        (35, "Connection refused by peer"),
    ]


@needs_data
def test_the_cause_of_a_real_failure_is_among_the_kept_lines() -> None:
    outputs = DATA / "tool_outputs"
    trace = (outputs / "trace-00-pi-before-compaction.txt").read_text("utf-8")
    build = (outputs / "build-00-pi-before-compaction.txt").read_text("utf-8")

    assert any("Cannot find module" in line for _, line in error_lines(trace))
    assert all("error TS" in line or "exited" in line for _, line in error_lines(build))


@needs_data
def test_the_kinds_of_real_outputs_are_told_apart() -> None:
    outputs = DATA / "tool_outputs"
    kinds = {
        "coinbase-trades.csv": "csv",
        "customers-100.csv": "csv",
        "django-debug-page.html": "html",
        "diff-00-swesmith-pandas-53652.txt": "diff",
        "litellm-prices.json": "json",
        "pytest-pandas.txt": None,
        "source-00-pi-before-compaction.txt": None,
    }

    assert {name: kind_of_text((outputs / name).read_text("utf-8")) for name in kinds} == kinds
