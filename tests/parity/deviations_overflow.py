"""What overflow scenarios record and we do better on purpose: which, by which rule, shown where.

`§26.<n>` is the number in the weak list of the contract's page on selection; `BR-<n>` is a case
reported from the field; the rest names a section of the design. `places` have what the rule itself
changes; `FLOW` is what a pass that lands (or does not) changes from that step on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tests.parity import relations as r
from tests.parity.table import Deviation, place

_JANITOR: Final = "tests/selection/test_janitor.py::"
_SUMMARIZE: Final = "tests/selection/test_summarize.py::"
_ANCHORED: Final = "tests/selection/test_anchored.py::"
_COMPOSED: Final = "tests/selection/test_composed_strategies.py::"
_BACKGROUND: Final = "tests/selection/test_background.py::"
_DURABLE: Final = "tests/selection/test_durable.py::"
_RESET: Final = "tests/selection/test_reset.py::"
_SETTINGS: Final = "tests/selection/test_settings.py::"
_EMPTY: Final = (
    "tests/pipeline/test_payload.py::test_a_chef_that_knows_nothing_says_what_is_missing"
)

LOG: Final = "$.log[]"
REASON: Final = f"{LOG}.overflow.reason"
WARN: Final = f"{LOG}.trace[]"
FLOW: Final = (
    place(f"{LOG}.(window|model_calls|stored_history_length)", "changed"),
    place(f"{LOG}.overflow.(changed|reason|evicted|span|window)", "changed"),
    place(f"{LOG}.overflow.summary"),
    place(f"{LOG}.history_after[]", "missing", "unexpected"),
    place(f"{LOG}.history_after[].content", "changed"),
    place(f"{LOG}.trace[]", "missing", "unexpected"),
    place(f"{LOG}.trace[].(compressed|history_length|current_tokens|truncated_count)", "changed"),
    place(f"{LOG}.payload.messages[]", "missing", "unexpected"),
    place(f"{LOG}.payload.messages[](.content|.content[].text)", "changed"),
    place("$.in_background[]", "missing", "unexpected"),
)
_NO_MESSAGE: Final = (
    r"UnsendableError: No request for `[\w-]+` can be made of this input:"
    r"\n- there is no message at all; give at least one of the user's"
)
MEANT: Final = "the page on selection quotes a scenario of this kind that is held back"


def _given(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


OVERFLOW_DEVIATIONS: Sequence[Deviation] = (
    # Settings and requests
    Deviation(
        rule="§26.18: settings are judged when they are given",
        instead="A meaningless figure is refused.",
        test=_SETTINGS + "test_meaningless_figures_are_refused_with_the_value",
        flagged=True, held_back="a recorded failure is one here too, so that scenario passes",
        places=(
            place("$", "raised", now=r"SettingsError: `\w+`[^\n]*"),
            place("$.result[]", "raised", now=r"SettingsError: `\w+`[^\n]*"),
        ),
        follows=(place("$.(log|pool)", "missing"),),
        given=_given(r"preserve_recent_messages|preserve_ratio|keep_recent_turns|context_window"),
    ),
    Deviation(
        rule="§26.18: how much is kept has to be said",
        instead="`keep_recent_turns` has no default that means nothing is kept.",
        test=_DURABLE + "test_how_much_is_kept_has_to_be_said",
        flagged=True, areas=("durable",), given=_given(r'^(?!.*"keep_recent_turns")'),
        places=(
            place("$", "raised",
                  now=r"TypeError: \w+\(\) missing 1 required keyword-only argument: 'keep_recent_turns'"),
        ),
    ),
    Deviation(
        rule="design §4: a session without a window warns about nothing",
        instead="No warning about a pass that cannot come.",
        test=_SETTINGS + "test_a_janitor_without_a_window_warns_about_nothing",
        given=_given(r'^(?!.*"context_window": \d)'),
        places=(
            place("$.log[]", "missing",
                  was=r'^\{"op": "construct", "trace": \[\{"warn": "no_compression_model"\}\]\}$'),
        ),
    ),
    Deviation(
        rule="design §6: no request is made of nothing",
        instead="An error says that there is no message; what was asked for waits.",
        test=_EMPTY,
        places=(place(LOG, "raised", now=_NO_MESSAGE),),
        follows=(
            place(f"{LOG}.window", "missing"),
            place(f"{LOG}.trace[]", "missing", was=r'^\{"event": "compile:done"\}$'),
        ),
    ),
    Deviation(
        rule="design §5: a compile that fails leaves everything as it was",
        instead="A new window that was asked for is opened by the next compile that succeeds.",
        test=_JANITOR + "test_nothing_changes_until_the_turn_is_published",
        given=_given(r'"op": "(request_new_context|call_new_context_tool)".*"op": "compile".*"op": "compile"'),
        places=(place(LOG, "raised", now=_NO_MESSAGE),), follows=FLOW,
    ),
    Deviation(
        rule="design §5: a compile that fails leaves everything as it was",
        instead="The report and the flags are as they were before the compile.",
        test=_JANITOR + "test_nothing_changes_until_the_turn_is_published",
        given=_given(r'"abort"|"throwing"|"throws"'),
        places=(
            place(f"{LOG}.janitor.(suppress_next_compression|external_token_usage|consecutive_failures)",
                  "changed"),
            place(f"{LOG}.janitor.window.current", "changed"),
            place(f"{LOG}.janitor.window.previous", "missing"),
        ),
        fits=lambda scenario, difference: r.failed_before(scenario, difference),
    ),
    Deviation(
        rule="§26.9: one policy for a strategy that raises, in the background and blocking",
        instead="It has failed, which is counted and said; history is made to fit, and sent.",
        test="tests/pipeline/test_custom_strategies.py::test_a_strategy_that_raises_has_failed_and_history_is_made_to_fit",
        given=_given(r'"\$strategy": "throwing"'),
        places=(place(f"{LOG}.error", "missing", was="^Error$"),),
        follows=(
            place(f"{LOG}.(window|history_after|stored_history_length|payload)", "unexpected"),
            place(f"{LOG}.overflow", "unexpected",
                  now=r'\{"changed": false, "strategy": "\w+", "reason": "rejected", .*\}'),
            place(f"{LOG}.trace[]", "unexpected",
                  now=r'\{"(warn": "(background_crashed|failure:\w+:\d)|event": "compress:end", "compressed": false|event": "compile:done)"?\}'),
            place(f"{LOG}.janitor.consecutive_failures", "changed", holds=r.more),
        ),
    ),
    # Summaries
    Deviation(
        rule="§26.2: a reported overrun finds a cut",
        instead="Without a tokenizer a report is spread over the turns.",
        test=_SUMMARIZE + "test_a_reported_overrun_finds_a_cut_without_a_tokenizer",
        flagged=True, areas=("split",), held_back=MEANT,
        places=(
            place(REASON, "changed", was="^no_boundary$"),
            place("$.result[].cut", "changed", was="^null$", now=r"\d+"),
            place("$.result[].reason", "missing"),
        ),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.19: a span of which nothing can leave is left alone",
        instead="The pass is not made.",
        test=_SUMMARIZE + "test_a_span_of_pinned_turns_is_not_summarised",
        flagged=True, given=_given(r'"pinned": true'),
        places=(place(REASON, "changed", now="only_pinned"),),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.28: an answer longer than a small span is refused too",
        instead="The pass fails, and says so.",
        test=_SUMMARIZE + "test_a_long_answer_to_a_small_span_is_refused",
        places=(place(WARN, "unexpected", now=r'\{"warn": "failure:shrink:\d"\}'),),
        follows=(*FLOW, place(REASON, "changed", was="^null$", now="rejected")),
    ),
    Deviation(
        rule="§26.4: blank and unclosed answers are failures",
        instead="The pass fails, and says so.",
        test=_SUMMARIZE + "test_blank_and_cut_off_answers_are_failures",
        flagged=True,
        places=(place(WARN, "unexpected", now=r'\{"warn": "failure:(blank|unclosed|unusable|model|truncated|cut_off):\d"\}'),),
        given=_given(r'"outputs": \[[^\]]*("\s*"|<summary>|<analysis>)'),
        follows=(*FLOW, place(REASON, "changed", was="^null$", now="rejected")),
    ),
    Deviation(
        rule="§26.24: system messages in the history are never summarised away",
        instead="They stay in the window.",
        test=_SUMMARIZE + "test_system_messages_in_the_history_stay",
        flagged=True, areas=("summarize",), given=_given(r'"role": "system"'), held_back=MEANT,
        places=(place(f"{LOG}.history_after[]", "unexpected", holds=lambda was, now: now["role"] == "system"),),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.23: `compress:end` says what the strategy did",
        instead="A hook that gives another list does not count as a compression.",
        test="tests/pipeline/test_overflow_stage.py::"
        "test_compressed_says_what_the_strategy_did_not_what_a_hook_did",
        given=_given(r'"on_before_compress"'),
        places=(place(f"{LOG}.trace[].compressed", "changed", was="^true$", now="false"),),
    ),
    Deviation(
        rule="§26.14: a report outlives the hook, in proportion",
        instead="The pass that the report asked for is made.",
        test=_JANITOR + "test_a_hook_does_not_cancel_a_pass_that_a_report_asked_for",
        flagged=True, given=_given(r'(?=.*"on_before_compress")(?=.*"report_token_usage")'),
        places=(place(REASON, "changed", was="^within_budget$", now="null"),),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.15: a hook cannot empty the window",
        instead="An empty list changes nothing, so the pass is made.",
        test=_JANITOR + "test_a_hook_cannot_empty_the_window",
        flagged=True, given=_given(r'"on_before_compress": \{"\$fn": "empty"'),
        places=(place(REASON, "changed", was="^within_budget$", now="null"),),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.16: the event does not depend on the sink",
        instead="The event is sent although the sink raised.",
        test=_JANITOR + "test_a_failing_sink_does_not_suppress_the_event",
        flagged=True, given=_given(r'"on_compress": \{"\$fn": "throws"'),
        places=(place(f"{LOG}.trace[]", "unexpected", holds=lambda was, now: now.get("event") == "compress"),),
    ),
    # New windows
    Deviation(
        rule="§26.7: a request is an attempt, even while overflow rests",
        instead="The request is tried and not dropped.",
        test=_JANITOR + "test_a_request_is_an_attempt_even_while_overflow_rests",
        flagged=True, given=_given(r'"op": "(request_new_context|call_new_context_tool)"'),
        places=(place(REASON, "changed", was="^breaker_open$", now="rejected|null"),),
        follows=(*FLOW, place(WARN, "unexpected", now=r'\{"warn": "failure:model:\d"\}')),
    ),
    Deviation(
        rule="issue 3, line 4: a request never vanishes unreported",
        instead="An event and the report say that it waits or was dropped; after a failure it waits.",
        test="tests/pipeline/test_new_context.py::"
        "test_a_request_waits_while_the_model_fails_and_is_dropped_with_word_of_it",
        given=_given(r'"op": "(request_new_context|call_new_context_tool)"'),
        places=(
            place(WARN, "unexpected", now=r'\{"event": "pipeline:invariant", "phase": "overflow", "about": "(forced_dropped|forced_waits)[^}]*\}'),
        ),
        follows=(*FLOW, place(WARN, "unexpected", now=r'\{"warn": "(failure:\w+:\d|forced_dropped[^"]*)"\}')),
    ),
    Deviation(
        rule="§26.6: what has to be answered stays",
        instead="The open request and its calls are in the new window too.",
        test=_RESET + "test_what_has_to_be_answered_stays",
        flagged=True, areas=("forced", "reset"), held_back="the scenarios here pass",
        places=(place(f"{LOG}.history_after[]", "unexpected", holds=lambda was, now: now["role"] != "system"),),
        follows=FLOW,
        given=_given(r'"\$strategy": "reset"'),
    ),
    Deviation(
        rule="§26.13: clearing and restoring take a pending request along",
        instead="What was asked for an older history is no longer asked for.",
        test="tests/pipeline/test_snapshot.py::test_a_pending_request_is_part_of_the_snapshot",
        flagged=True,
        given=_given(r'"op": "(request_new_context|call_new_context_tool)".*"op": "(clear_history|restore)"'),
        places=(place(REASON, "changed", was="^null$", now="within_budget"),),
        follows=(*FLOW, place(f"{LOG}.history_after[].content", "changed")),
    ),
    # Documents
    Deviation(
        rule="§26.12: the document goes along when another step opens the window",
        instead="The document of the window before is still the document, in a chain too.",
        test=_ANCHORED + "test_the_document_goes_along_when_another_step_opens_the_window",
        flagged=True, given=_given(r'"\$strategy": "anchored"'),
        places=(
            place(f"{LOG}.trace[].input[].content", "changed",
                  was=r"^\{\{ANCHORED_INSTRUCTION:no_anchor\}\}", now=r"\{\{ANCHORED_INSTRUCTION:anchor=[^{}]+\}\}"),
            place(f"{LOG}.janitor.anchor_doc", "changed", was="^null$"),
            place(f"{LOG}.janitor.strategy[].anchors.*", "unexpected"),
        ),
    ),
    Deviation(
        rule="§26.27: the document is not told twice",
        instead="The summary that holds it is left out of what the model reads.",
        test=_ANCHORED + "test_the_document_is_told_once",
        flagged=True, areas=("anchored",), held_back=MEANT,
        places=(
            place(f"{LOG}.trace[].input[]", "missing", was="SUMMARY_WRAPPER"),
            place(f"{LOG}.trace[].messages", "changed", holds=lambda was, now: now == was - 1),
        ),
        follows=FLOW,
    ),
    # Strategies of strategies
    Deviation(
        rule="§26.21: a nested server strategy is found",
        instead="The server shortens the conversation where it can; elsewhere that is said.",
        test=_COMPOSED + "test_a_nested_server_strategy_is_found",
        given=_given(r'"\$strategy": "(chain|background)".*"\$strategy": "server"'),
        places=(
            place(f"{LOG}.overflow", "changed", was=r'"strategy": "[^"]*server', now="null"),
            place(WARN, "unexpected", now=r'\{"warn": "server_fallback"\}'),
        ),
        follows=(
            *FLOW,
            place(f"{LOG}.payload.context_management", "unexpected",
                  now=r'\{"edits": \[\{"type": "compact_20260112".*\}\]\}'),
            place(f"{LOG}.payload.betas", "unexpected", now=r'\["compact-2026-01-12"\]'),
        ),
    ),
    Deviation(
        rule="§26.11: a chain's span holds what was said, its summary is the one in the window",
        instead="The summary that still stands is the result's, and cites the archive.",
        test=_COMPOSED + "test_a_chain_keeps_the_summary_that_still_stands",
        flagged=True, areas=("chain",),
        places=(
            place(f"{LOG}.overflow.summary", "unexpected"),
            place(f"{LOG}.trace[].summary.role", "changed", was="^system$", now="user"),
            place(f"{LOG}.trace[].summary.content", "changed", was="DROPPED_NOTICE", now=r"\{\{SUMMARY_WRAPPER:.*\}\}"),
            place(f"{LOG}.history_after[].content", "changed", was="SUMMARY_WRAPPER", now=r"\{\{SUMMARY_WRAPPER:.*\}\}"),
            place(f"{LOG}.overflow.span", "changed", holds=r.fewer),
            place(f"{LOG}.trace[].truncated_count", "changed", holds=r.fewer),
            place(f"{LOG}.trace[].compressed_messages[]", "missing", was="SUMMARY_WRAPPER"),
        ),
    ),
    Deviation(
        rule="§26.8: one pass is at most one failure",
        instead="Failing steps of one pass count once, so overflow does not rest after it.",
        test=_COMPOSED + "test_one_pass_is_at_most_one_failure",
        flagged=True, areas=("chain",),
        places=(
            place(f"{LOG}.trace[].warn", "changed", was=r"^failure:\w+:[23]$", now=r"failure:\w+:[12]"),
        ),
        follows=(
            *FLOW,
            place(REASON, "changed", was="^breaker_open$", now="rejected"),
            place(WARN, "unexpected", now=r'\{"warn": "failure:\w+:[12]"\}'),
            place(f"{LOG}.janitor.consecutive_failures", "changed", holds=r.fewer),
        ),
    ),
    Deviation(
        rule="§26.3: nothing is escalated while a background step works",
        instead="The chain waits for the job that it started.",
        test=_COMPOSED + "test_nothing_is_escalated_while_a_background_step_works",
        flagged=True, areas=("chain",), given=_given(r'"\$strategy": "background"'),
        places=(place(REASON, "changed", was="^null$", now="background_started|background_in_flight|stale_within_budget"),),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.10: the whole span has to be as it was",
        instead="An edit inside the span makes the job stale, and a new one is started.",
        test=_BACKGROUND + "test_an_edit_inside_the_span_makes_the_job_stale",
        flagged=True, areas=("background",), given=_given(r'"op": "edit_message"'),
        places=(place(REASON, "changed", was="^null$", now="background_started|stale_within_budget"),),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.9: a crash in the job counts",
        instead="It is counted and said when it happens.",
        test=_BACKGROUND + "test_a_crash_in_the_job_counts_when_it_happens",
        flagged=True, areas=("background",), held_back=MEANT, given=_given(r'"\$strategy": "throwing"'),
        places=(
            place(f"({WARN}|$.in_background[])", "missing", "unexpected",
                  now=r'null|\{"warn": "(background_crashed|failure:\w+:\d)"\}', was=r'"warn"|null'),
            place(f"{LOG}.janitor.consecutive_failures", "changed", holds=r.more),
        ),
        follows=FLOW,
    ),
    Deviation(
        rule="§26.20: what was dropped is cited",
        instead="A marker says where it is stored.",
        test=_SUMMARIZE + "test_a_dropped_span_leaves_a_marker_that_says_where_it_is_stored",
        flagged=True, areas=("archive",), held_back="the scenario here passes",
        places=(
            place(f"{LOG}.history_after[]", "unexpected", now=r'\{"role": "(system|user)", "content": "\{\{DROPPED_NOTICE:\d+\}\}[^"]*"\}'),
            place(f"{LOG}.trace[].summary.content", "changed", was="DROPPED_NOTICE", now=r"\{\{DROPPED_NOTICE:\d+\}\}\n\n\{\{ARCHIVE_CITATION:uri=\S+;count=\d+\}\}"),
        ),
    ),
    Deviation(
        rule="§26.17: no notice of zero in the payload that was already cut",
        instead="The notice is given while there is room left to act.",
        test="tests/pipeline/test_overflow_stage.py::test_no_handoff_notice_once_the_window_is_over",
        flagged=True, areas=("handoff",),
        places=(
            place(f"{LOG}.payload.messages[].content", "changed",
                  was=r'<announcement id="__handoff__">', holds=r.shorter),
            place(f"{LOG}.payload.messages[]", "missing", was=r"__handoff__"),
        ),
    ),
)  # fmt: skip
