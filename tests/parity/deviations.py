"""The one table of deliberate deviations: what we do instead, by which rule, and what asserts it.

A recorded difference that is in no row of this table is a failure. A row matches by the weakness
that the record names, by id, or by what was found: the compile mended the request, say. No row
hides a whole area: `only` narrows it to the kind of difference that the rule explains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.parity.deviations_overflow import OVERFLOW_DEVIATIONS
from tests.parity.deviations_store import STORE_DEVIATIONS
from tests.parity.outcome import Outcome


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that we do otherwise, on purpose."""

    rule: str
    """The weakness (W-…, §26.n, §18.n) or the design rule that it follows."""
    instead: str
    """What we do, in a sentence."""
    test: str
    """The test that asserts the better behaviour: file::name."""
    weaknesses: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    mended: bool = False
    """Matches where the compile reports repairs: the record has a request that would be refused."""
    kinds: tuple[str, ...] = ()
    only: str = ""
    """A pattern that the difference has to fit."""

    def explains(self, scenario: dict[str, Any], outcome: Outcome) -> bool:
        """Whether this row is why the outcome is not the recorded one."""
        if self.kinds and scenario.get("kind") not in self.kinds:
            return False
        if self.only and not re.search(self.only, outcome.detail, re.DOTALL):
            return False
        weakness = scenario.get("peer_weakness") or scenario.get("weakness")
        if self.weaknesses and weakness in self.weaknesses:
            return True
        if scenario["id"] in self.ids:
            return True
        if self.mended:
            return bool(outcome.repairs)
        return bool(self.kinds and self.only and not self.weaknesses and not self.ids)


def _weak(code: str, instead: str, test: str, *more: str) -> Deviation:
    return Deviation(rule=code, instead=instead, test=test, weaknesses=(code, *more))


A = "tests/adaptation"
PIPELINE_DEVIATIONS: Sequence[Deviation] = (
    # Payload and tools
    _weak("W-TOOL-1", "Tools are written in the target's own form.",
          f"{A}/test_tools.py::test_each_target_has_its_own_form"),
    _weak("W-TOOL-2", "Flat tools, namespaces and toolkits combine; the directory is in the prefix.",
          "tests/selection/test_pruner.py::test_flat_tools_namespaces_and_toolkits_are_shown_together"),
    _weak("W-TOOL-3", "Names are unique.",
          "tests/selection/test_pruner.py::test_names_of_the_library_are_refused"),
    _weak("W-META-1", "Facts about a compile are beside the payload, not in it.",
          "tests/pipeline/test_payload.py::test_a_payload_holds_only_what_the_sdk_takes"),
    _weak("W-GEM-5", "Gemini's payload has `contents`.",
          f"{A}/test_gemini.py::test_the_sdk_gets_a_config_and_bytes_where_it_wants_bytes"),
    # Anthropic
    _weak("W-ANT-1", "Empty text is never sent.",
          f"{A}/test_anthropic.py::test_a_call_without_words_has_no_text_block"),
    _weak("W-ANT-2", "A breakpoint is on the last block of any message, with its lifetime.",
          f"{A}/test_anthropic.py::test_a_breakpoint_stands_on_the_last_block_that_can_carry_it"),
    _weak("W-ANT-3", "Neighbours of one role are one message, results first.",
          f"{A}/test_anthropic.py::test_results_come_first_and_neighbours_of_one_role_are_one_message"),
    _weak("W-PRE-4", "An opening is native only where the model takes it.",
          f"{A}/test_anthropic.py::test_elsewhere_the_model_is_told_to_begin_with_it"),
    _weak("W-ANN-1", "A system message inside the conversation only on models known to take it.",
          "tests/pipeline/test_placement.py::test_announcements_ride_the_tail_unless_the_model_is_known"),
    # OpenAI, Gemini, Responses
    _weak("W-OAI-1", "A degraded opening is text of its own: nothing is replaced.",
          f"{A}/test_openai_chat.py::test_an_opening_leaves_text_and_media_of_the_message_alone"),
    _weak("W-GEM-3", "A degraded opening is text of its own: nothing is replaced.",
          f"{A}/test_gemini.py::test_elsewhere_the_model_is_told_to_begin_with_it_and_media_stay"),
    _weak("W-OAI-2", "A degraded opening is never lost: it gets a message of its own.",
          f"{A}/test_gemini.py::test_an_opening_is_never_lost"),
    _weak("W-OAI-3", "Only fields of the wire reach it.",
          f"{A}/test_openai_chat.py::test_unknown_fields_stay_away_and_native_ones_go_out"),
    _weak("W-OAI-4", "Empty lists are absent.",
          f"{A}/test_openai_chat.py::test_there_are_no_empty_lists"),
    _weak("W-GEM-1", "A response carries the name of its call.",
          f"{A}/test_gemini.py::test_a_response_carries_the_name_of_its_call"),
    _weak("W-GEM-2", "A response is always an object.",
          f"{A}/test_gemini.py::test_a_response_is_always_an_object"),
    _weak("W-GEM-4", "A signature stays, with or without words.",
          f"{A}/test_gemini.py::test_a_signature_without_words_still_goes"),
    _weak("W-RSP-1", "A compaction summary goes under a heading.",
          f"{A}/test_openai_responses.py::test_a_summary_of_the_provider_stays_readable"),
    _weak("W-RSP-2", "Reasoning as text is possible on Responses too.",
          f"{A}/test_openai_responses.py::test_reasoning_of_others_is_text_when_asked_for_and_named_otherwise"),
    _weak("W-PRE-1", "Only the guardrail's own opening is degraded; a finished answer stays.",
          f"{A}/test_openai_chat.py::test_only_the_guardrails_own_opening_is_degraded"),
    _weak("W-PRE-2", "An opening never ends in blanks.",
          f"{A}/test_anthropic.py::test_an_opening_is_native_where_the_model_takes_it_without_blanks_at_its_end"),
    _weak("W-PRE-3", "An empty opening asks for nothing.",
          f"{A}/test_openai_chat.py::test_an_opening_that_says_nothing_asks_for_nothing"),
    # Attachments
    _weak("W-ATT-1", "Data URIs, URLs and base64 are told apart once.",
          f"{A}/test_anthropic.py::test_media_go_in_the_form_that_fits_them"),
    _weak("W-ATT-2", "A file that Chat cannot take leaves a visible note.",
          f"{A}/test_openai_chat.py::test_what_the_api_does_not_take_is_a_visible_note"),
    _weak("W-ATT-3", "A document of text is text.",
          f"{A}/test_anthropic.py::test_media_go_in_the_form_that_fits_them"),
    _weak("W-ATT-4", "Media where a message cannot hold them move or leave a visible note.",
          f"{A}/test_anthropic.py::test_media_in_answers_and_system_prompts_leave_a_note"),
    _weak("W-ATT-5", "A URL is told from its scheme.",
          f"{A}/test_anthropic.py::test_media_go_in_the_form_that_fits_them"),
    # Input
    _weak("W-IN-1", "Developer and function roles are read.",
          f"{A}/test_read_openai.py::test_leading_instructions_are_the_system_and_later_ones_stay_in_place"),
    _weak("W-IN-2", "Parts of an answer are read.",
          f"{A}/test_read_openai.py::test_every_kind_of_part_becomes_a_block"),
    _weak("W-IN-3", "File ids, titles, recordings and documents are carried.",
          f"{A}/test_read_anthropic.py::test_media_of_every_source_are_told_apart"),
    _weak("W-IN-4", "Leading system messages are the system prompt whatever follows.",
          f"{A}/test_read_openai.py::test_leading_instructions_are_the_system_and_later_ones_stay_in_place"),
    _weak("W-IN-5", "A system prompt may be a string.",
          f"{A}/test_read_anthropic.py::test_a_system_prompt_is_a_string_a_block_or_blocks"),
    _weak("W-IN-6", "Blocks keep their order and everything they say.",
          f"{A}/test_read_anthropic.py::test_blocks_keep_their_order_and_everything_they_say"),
    _weak("W-IN-7", "Every thinking block is kept.",
          f"{A}/test_read_anthropic.py::test_blocks_keep_their_order_and_everything_they_say"),
    _weak("W-IN-8", "Native call ids are used.",
          f"{A}/test_read_gemini.py::test_a_response_takes_the_call_with_its_id"),
    _weak("W-IN-9", "Thoughts are not the answer.",
          f"{A}/test_read_gemini.py::test_thoughts_are_not_the_answer"),
    _weak("W-IN-10", "Reasoning stays where it stood.",
          f"{A}/test_read_responses.py::test_items_are_written_back_as_they_were_in_their_order"),
    _weak("W-IN-11", "A malformed entry is refused by its place, or noted.",
          f"{A}/test_read_gemini.py::test_what_cannot_be_read_is_refused_by_its_place"),
    _weak("W-ARG-1", "Whatever the model wrote as arguments becomes an object, and it is reported.",
          f"{A}/test_anthropic.py::test_whatever_the_model_wrote_as_arguments_becomes_an_object"),
    _weak("W-ROLE-1", "Roles and content are checked at the edge, by index and field.",
          "tests/ir/test_rows.py::test_wrong_input_names_the_place_and_the_value", "W-IR-1"),
    # Repair
    _weak("W-EVH-1", "Notes for missing results stand at their place among the real ones.",
          "tests/ir/test_repair.py::test_a_note_stands_at_its_place_among_the_real_results"),
    _weak("W-EVH-2", "Late results move back, duplicates go, call order holds.",
          "tests/ir/test_repair.py::test_a_late_result_moves_back_behind_its_call"),
    Deviation(rule="W-EVH-2", instead="Results stand in call order.",
              test="tests/ir/test_repair.py::test_results_stand_in_call_order",
              kinds=("input",), ids=("in-gemini-calls-correlated",)),
    # Placement and text
    _weak("W-CACHE-1", "Volatile content is in the tail unless it is placed elsewhere.",
          "tests/pipeline/test_placement.py::test_memory_data_is_in_the_tail_by_default"),
    _weak("W-CACHE-2", "Our own content is known by structure, not by its words.",
          "tests/placement/test_cache.py::test_the_audit_knows_our_own_blocks_and_not_a_users_words"),
    _weak("W-TAIL-1", "An example in the system prompt never gets the tail.",
          "tests/placement/test_tail.py::test_an_example_in_the_system_prompt_never_gets_the_tail"),
    _weak("W-TAIL-2", "Foreign text cannot leave its tag.",
          "tests/placement/test_tail.py::test_injected_text_cannot_leave_its_tag", "W-MEM-1"),
    _weak("W-TAIL-3", "No earlier user message is edited because a call waits.",
          "tests/placement/test_tail.py::test_a_call_that_still_waits_is_followed_by_the_tail"),
    _weak("W-STATE-1", "A null state says nothing.",
          "tests/placement/test_dynamic_state.py::test_a_null_state_leaves_no_heading_behind"),
    _weak("W-STATE-2", "Nothing is shared with the caller.",
          "tests/ir/test_message.py::test_what_a_caller_handed_in_can_change_without_the_message_changing"),
    _weak("W-STATE-3", "All inputs of a compile are fixed at one moment, when it is called.",
          "tests/pipeline/test_concurrency.py::test_what_a_handler_changes_counts_from_the_next_compile_on"),
    _weak("W-XML-1", "Empty values leave no lines behind.",
          "tests/placement/test_dynamic_state.py::test_empty_values_leave_no_lines_behind"),
    _weak("W-XML-2", "Keys that are no names stay apart, and the root is a name.",
          "tests/placement/test_dynamic_state.py::test_keys_that_are_no_names_stay_apart"),
    _weak("W-XML-3", "Control characters never reach the model.",
          "tests/placement/test_dynamic_state.py::test_control_characters_never_reach_the_model"),
    _weak("W-SER-1", "Keys are in code-point order.",
          "tests/pipeline/test_payload.py::test_two_processes_write_the_same_bytes"),
    _weak("W-SER-2", "Reasoning items keep the order of their keys.",
          f"{A}/test_read_responses.py::test_items_that_we_do_not_model_keep_the_order_of_their_keys"),
    _weak("W-HAND-1", "No notice of zero in the payload that was already cut.",
          "tests/pipeline/test_overflow_stage.py::test_no_handoff_notice_once_the_window_is_over"),
    # Pipeline and state
    _weak("W-OVF-1", "What was compressed stays compressed.",
          "tests/pipeline/test_overflow_stage.py::test_a_landed_pass_stays_and_is_paid_for_once"),
    _weak("W-CONC-1", "Overlapping compiles queue.",
          "tests/pipeline/test_concurrency.py::test_overlapping_compiles_queue"),
    _weak("W-ABORT-1", "A compile that is cancelled spends no memory turn.",
          "tests/pipeline/test_cancellation.py::test_a_late_cancel_spends_no_memory_turn"),
    _weak("W-SLOT-1", "A handler that answers nothing changes nothing, and the report says so.",
          "tests/pipeline/test_slots.py::test_a_handler_that_answers_nothing_changes_nothing"),
    _weak("W-SLOT-2", "Messages cannot be changed in place; an after-assemble handler answers new ones.",
          "tests/pipeline/test_slots.py::test_handlers_cannot_change_what_they_are_shown"),
    _weak("W-CHECK-1", "Order and adjacency of tool pairs are checked.",
          "tests/pipeline/test_slots.py::test_the_checks_see_a_changed_order_of_pairs"),
    _weak("W-SNAP-1", "A pending request for a new window is part of the snapshot.",
          "tests/pipeline/test_snapshot.py::test_a_pending_request_is_part_of_the_snapshot"),
    _weak("W-SNAP-2", "Memory keeps its order over a restore.",
          "tests/persistence/test_memory.py::test_a_snapshot_brings_entries_back_in_their_order_without_notices"),
    _weak("W-SNAP-3", "A snapshot is plain data.",
          "tests/pipeline/test_snapshot.py::test_a_snapshot_survives_json"),
    _weak("W-REG-1", "Taking a replacement off brings the built-in back.",
          f"{A}/test_registry.py::test_a_replacement_keeps_the_place_and_taking_it_away_brings_back_what_it_replaced"),
    Deviation(rule="W-EVT-1", instead="Observers are told from a copy of the list.",
              test="tests/pipeline/test_events.py::test_observers_that_come_or_go_count_from_the_next_event_on",
              weaknesses=("W-EVT-1",), ids=("emitter-live-iteration",)),
    _weak("W-CONF-1", "A bare chef warns about nothing.",
          "tests/pipeline/test_settings.py::test_a_bare_chef_warns_about_nothing_and_touches_no_disk"),
    _weak("W-CONF-2", "A chef without a store touches no disk.",
          "tests/pipeline/test_settings.py::test_a_bare_chef_warns_about_nothing_and_touches_no_disk"),
    Deviation(rule="W-CONF-3", instead="Unknown values are refused with the nearest right one.",
              test="tests/pipeline/test_settings.py::test_an_unknown_value_says_the_nearest_right_one",
              weaknesses=("W-CONF-3",), only="SettingsError|ToolError",
              ids=("tools-unknown-mode", "vocabulary-modes")),
    _weak("HOST-1", "Mappings keep the order of their keys.",
          "tests/placement/test_dynamic_state.py::test_the_order_of_keys_and_dropped_keys_follow_the_schema"),
    _weak("HOST-2", "Characters are code points.",
          "tests/placement/test_dynamic_state.py::test_keys_that_are_no_names_stay_apart"),
    # Rules of the design that the records do not flag
    Deviation(rule="design §6: valid by construction",
              instead="A request that the provider would refuse is mended, and the report says how.",
              test="tests/pipeline/test_payload.py::test_what_would_be_refused_is_mended_and_reported",
              mended=True),
    Deviation(rule="spec/4 messages-empty: a request without messages is refused",
              instead="One clear error instead of a request that nobody accepts.",
              test="tests/pipeline/test_payload.py::test_a_chef_that_knows_nothing_says_what_is_missing",
              kinds=("compile", "script"), only="UnsendableError"),
    Deviation(rule="design §2: lossless",
              instead="What the records drop is carried: names, breakpoints, custom calls, order.",
              test=f"{A}/test_cassettes_openai.py::test_an_accepted_chat_request_is_the_same_conversation_afterwards",
              kinds=("input",),
              only=r"unexpected|_openai_reasoning: \d expected|tool_calls: 0 expected"),
    Deviation(rule="design §2: lossless",
              instead="What was read is written back as it was.",
              test=f"{A}/test_cassettes_openai.py::test_an_accepted_chat_request_is_the_same_conversation_afterwards",
              kinds=("convert",), only="messages_identical_to_input: expected false, found true"),
    Deviation(rule="design §7: the tail is its own block",
              instead="A breakpoint stays in front of the tail, so there is nothing to report.",
              test="tests/placement/test_tail.py::test_a_breakpoint_stays_in_front_of_the_tail",
              ids=("audit-tail-on-breakpoint",)),
    Deviation(rule="design §7: nothing volatile enters the prefix",
              instead="A system message that cannot stand where it is becomes a marked part of the "
                      "next user turn instead of moving into the cached prefix.",
              test=f"{A}/test_anthropic.py::test_one_behind_an_answer_waits_for_the_next_turn_of_the_user",
              kinds=("adapter", "compile", "script"),
              only=r"system: (missing|\d+ expected)|count: expected 3, found 4",
              ids=("out-anthropic-positional", "positional-in-history-anthropic",
                   "positional-hoist-warned-once")),
    Deviation(rule="spec/4 model-tail, parts-empty: the last word is the user's, nothing is empty",
              instead="A degraded opening stands behind a finished answer, as a message of its own.",
              test=f"{A}/test_gemini.py::test_an_opening_is_never_lost",
              kinds=("adapter",), only="PREFILL_ENFORCEMENT"),
    Deviation(rule="spec/4: empty text is refused",
              instead="Empty text is never sent.",
              test=f"{A}/test_gemini.py::test_empty_text_is_never_sent",
              kinds=("adapter",), only=r'text: expected "", found'),
    Deviation(rule="BR-007: a note for a missing result never looks like a success",
              instead="The note says that it is an error.",
              test="tests/ir/test_repair.py::test_a_missing_result_becomes_a_note_that_is_marked_as_an_error",
              only="MISSING_RESULT_PLACEHOLDER", kinds=("convert", "compile", "adapter")),
    Deviation(rule="W-ANT-3", instead="Neighbours of one role are one message.",
              test=f"{A}/test_anthropic.py::test_results_come_first_and_neighbours_of_one_role_are_one_message",
              kinds=("script", "compile"), only="last_message", ids=("handoff-skipped-server-managed",)),
)  # fmt: skip


def deviation_of(kind: str, scenario: dict[str, Any], outcome: Outcome) -> Outcome:
    """The outcome as `deviates` when a row of the table explains it, as it was otherwise."""
    if kind == "pipeline":
        rules = [row.rule for row in PIPELINE_DEVIATIONS if row.explains(scenario, outcome)]
    else:
        rows = OVERFLOW_DEVIATIONS if kind == "overflow" else STORE_DEVIATIONS
        rules = [row.rule for row in rows if scenario["id"] in row.ids]
    if not rules:
        return outcome
    return Outcome(id=outcome.id, status="deviates", detail=f"[{rules[0]}] {outcome.detail}")
