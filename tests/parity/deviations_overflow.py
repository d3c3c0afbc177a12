"""What overflow scenarios record and we do better on purpose: which, by which rule, shown where.

`§26.<n>` is the number in the weak list of the contract's page on selection; `BR-<n>` is a case
reported from the field; the rest names a section of the design.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class OverflowDeviation(NamedTuple):
    """Scenarios that part from the record, the rule they follow, the test that shows the better."""

    ids: tuple[str, ...]
    rule: str
    test: str


_JANITOR: Final = "tests/selection/test_janitor.py::"
_SUMMARIZE: Final = "tests/selection/test_summarize.py::"
_ANCHORED: Final = "tests/selection/test_anchored.py::"
_COMPOSED: Final = "tests/selection/test_composed_strategies.py::"
_BACKGROUND: Final = "tests/selection/test_background.py::"
_DURABLE: Final = "tests/selection/test_durable.py::"
_RESET: Final = "tests/selection/test_reset.py::"
_SETTINGS: Final = "tests/selection/test_settings.py::"

OVERFLOW_DEVIATIONS: Final = (
    OverflowDeviation(
        ("split-07",),
        "§26.18: settings are judged when they are given",
        _SETTINGS + "test_meaningless_figures_are_refused_with_the_value",
    ),
    OverflowDeviation(
        ("split-09",),
        "§26.2: a reported overrun finds a cut",
        _SUMMARIZE + "test_a_reported_overrun_finds_a_cut_without_a_tokenizer",
    ),
    OverflowDeviation(
        ("budget-09", "forced-09"),
        "design §4: a session without a window warns about nothing",
        _SETTINGS + "test_a_janitor_without_a_window_warns_about_nothing",
    ),
    OverflowDeviation(
        ("budget-11", "forced-12"),
        "design §6: no request is made of nothing",
        "tests/pipeline/test_payload.py::test_a_chef_that_knows_nothing_says_what_is_missing",
    ),
    OverflowDeviation(
        ("summarize-06",),
        "§26.19: a span of which nothing can leave is left alone",
        _SUMMARIZE + "test_a_span_of_pinned_turns_is_not_summarised",
    ),
    OverflowDeviation(
        ("summarize-08",),
        "§26.28: an answer longer than a small span is refused too",
        _SUMMARIZE + "test_a_long_answer_to_a_small_span_is_refused",
    ),
    OverflowDeviation(
        ("summarize-18", "summarize-23"),
        "§26.4: blank and unclosed answers are failures",
        _SUMMARIZE + "test_blank_and_cut_off_answers_are_failures",
    ),
    OverflowDeviation(
        ("summarize-22",),
        "§26.24: system messages in the history are never summarised away",
        _SUMMARIZE + "test_system_messages_in_the_history_stay",
    ),
    OverflowDeviation(
        ("summarize-25",),
        "§26.23: `compress:end` says what the strategy did",
        "tests/pipeline/test_overflow_stage.py::"
        "test_compressed_says_what_the_strategy_did_not_what_a_hook_did",
    ),
    OverflowDeviation(
        ("summarize-28",),
        "§26.14: a report outlives the hook, in proportion",
        _JANITOR + "test_a_hook_does_not_cancel_a_pass_that_a_report_asked_for",
    ),
    OverflowDeviation(
        ("summarize-29",),
        "§26.15: a hook cannot empty the window",
        _JANITOR + "test_a_hook_cannot_empty_the_window",
    ),
    OverflowDeviation(
        ("summarize-30",),
        "§26.16: the event does not depend on the sink",
        _JANITOR + "test_a_failing_sink_does_not_suppress_the_event",
    ),
    OverflowDeviation(
        ("summarize-31", "summarize-33"),
        "design §5: a compile that fails leaves everything as it was",
        _JANITOR + "test_nothing_changes_until_the_turn_is_published",
    ),
    OverflowDeviation(
        ("forced-07",),
        "§26.7: a request is an attempt, even while overflow rests",
        _JANITOR + "test_a_request_is_an_attempt_even_while_overflow_rests",
    ),
    OverflowDeviation(
        ("forced-08", "forced-13"),
        "§26.6: what has to be answered stays",
        _RESET + "test_what_has_to_be_answered_stays",
    ),
    OverflowDeviation(
        ("forced-10",),
        "§26.13: clearing and restoring take a pending request along",
        "tests/pipeline/test_snapshot.py::test_a_pending_request_is_part_of_the_snapshot",
    ),
    OverflowDeviation(
        ("anchored-09",),
        "§26.12: the document goes along when another step opens the window",
        _ANCHORED + "test_the_document_goes_along_when_another_step_opens_the_window",
    ),
    OverflowDeviation(
        ("anchored-05",),
        "§26.27: the document is not told twice",
        _ANCHORED + "test_the_document_is_told_once",
    ),
    OverflowDeviation(
        ("server-05", "chain-07"),
        "§26.21: a nested server strategy is found",
        _COMPOSED + "test_a_nested_server_strategy_is_found",
    ),
    OverflowDeviation(
        ("chain-03", "chain-06"),
        "§26.11: a chain's span holds what was said, its summary is the one in the window",
        _COMPOSED + "test_a_chain_keeps_the_summary_that_still_stands",
    ),
    OverflowDeviation(
        ("chain-04",),
        "§26.8: one pass is at most one failure",
        _COMPOSED + "test_one_pass_is_at_most_one_failure",
    ),
    OverflowDeviation(
        ("chain-05",),
        "§26.3: nothing is escalated while a background step works",
        _COMPOSED + "test_nothing_is_escalated_while_a_background_step_works",
    ),
    OverflowDeviation(
        ("background-05",),
        "§26.10: the whole span has to be as it was",
        _BACKGROUND + "test_an_edit_inside_the_span_makes_the_job_stale",
    ),
    OverflowDeviation(
        ("background-08",),
        "§26.9: a crash in the job counts",
        _BACKGROUND + "test_a_crash_in_the_job_counts_when_it_happens",
    ),
    OverflowDeviation(
        ("archive-04",),
        "§26.20: what was dropped is cited",
        _SUMMARIZE + "test_a_dropped_span_leaves_a_marker_that_says_where_it_is_stored",
    ),
    OverflowDeviation(
        ("handoff-04", "handoff-13"),
        "§26.17: no notice of zero in the payload that was already cut",
        "tests/pipeline/test_overflow_stage.py::test_no_handoff_notice_once_the_window_is_over",
    ),
    OverflowDeviation(
        ("durable-06",),
        "§26.18: how much is kept has to be said",
        _DURABLE + "test_how_much_is_kept_has_to_be_said",
    ),
    OverflowDeviation(
        ("snapshot-02",),
        "§26.12: the document is found inside a chain too",
        _ANCHORED + "test_the_document_is_found_inside_a_chain",
    ),
)
"""One row for each thing that we do otherwise. A row is used only where the outcome differs."""
