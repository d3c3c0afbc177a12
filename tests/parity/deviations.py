"""The one table of deliberate deviations: what we do instead, by which rule, and what asserts it.

A recorded difference that is in no row of this table is a failure. This file has the rows of the
pipeline format; `table.py` says how rows are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.parity import relations as r
from tests.parity.deviations_input import INPUT_DEVIATIONS
from tests.parity.deviations_overflow import OVERFLOW_DEVIATIONS
from tests.parity.deviations_store import STORE_DEVIATIONS
from tests.parity.outcome import Outcome
from tests.parity.table import Deviation, Place, judged, place

A = "tests/adaptation"
P = "tests/pipeline"
BODY = "$(.results[]|).payload"
MESSAGE = f"{BODY}.(messages[]|input[])"
PART = f"{MESSAGE}.(content[]|parts[])"
TEXT = f"{MESSAGE}(.content|.content[].text|.parts[].text)"
SYSTEM = f"{BODY}.(system[]|system|systemInstruction.parts[]|systemInstruction|instructions)"
MEANT = "the record's own kind of weakness; its scenario is among those held back"

_OPENING = r"\{\{PREFILL_ENFORCEMENT:.*\}\}"
_OPENING_MESSAGE = (
    rf'\{{("type": "message", )?("role": "user", )?"(content|parts)": '
    rf'("{_OPENING}"|\[\{{("type": "(input_)?text", )?"text": "{_OPENING}"\}}\])'
    rf'(, "role": "user")?\}}'
)
_OPENING_PART = rf'\{{("type": "(input_)?text", )?"text": "{_OPENING}"\}}'
_NOTE_PART = rf'\{{("type": "(input_)?text", )?"text": "(\\n\\n|{r.NOTE}|<document[^>]*>\\n[^<]*\\n</document>)+"\}}'.replace(
    r"[^\]]*", r'(?:[^\]"]|\\")*'
)
_MISSING_RESULT = r'\{.*"The tool failed:\\n\{\{MISSING_RESULT_PLACEHOLDER\}\}".*\}'
_NO_MESSAGE = (
    r"UnsendableError: No request for `[\w-]+` can be made of this input:"
    r"\n- there is no message at all; give at least one of the user's"
)

PIPELINE_DEVIATIONS: Sequence[Deviation] = (
    *INPUT_DEVIATIONS,
    # Payload and tools
    Deviation(
        rule="W-TOOL-2",
        instead="Flat tools, namespaces and toolkits combine; the directory is in the prefix.",
        test="tests/selection/test_pruner.py::test_flat_tools_namespaces_and_toolkits_are_shown_together",
        flags=("W-TOOL-2",),
        places=(
            place("$(.results[]|).(tool_names[]|tools[]|payload.tools[])", "unexpected"),
            place(f"{BODY}.(messages[]|system|system[])", "unexpected",
                  now=r'.*"<available_toolkits>(\\n  <toolkit name=[^\n]*)?\\n</available_toolkits>".*'),
        ),
    ),
    Deviation(
        rule="W-TOOL-3", instead="Names are unique.",
        test="tests/selection/test_pruner.py::test_names_of_the_library_are_refused",
        flags=("W-TOOL-3",), held_back=MEANT,
        places=(
            place("$(.results[]|)", "raised", now=r"(ToolError|SettingsError): .*"),
            place("$(.results[]|).(tool_names[]|tools[]|payload.tools[])", "missing"),
        ),
    ),
    Deviation(
        rule="W-META-1, W-GEM-5",
        instead="Facts about a compile are beside the payload; Gemini's has `contents`.",
        test=f"{P}/test_payload.py::test_a_payload_holds_only_what_the_sdk_takes",
        flags=("W-META-1", "W-GEM-5"), held_back=MEANT,
        places=(place("$(.results[]|).(keys[]|meta_keys[])", "missing", "unexpected"),),
    ),
    # Anthropic
    Deviation(
        rule="W-ANT-1, spec/4: empty text is refused", instead="Empty text is never sent.",
        test=f"{A}/test_anthropic.py::test_a_call_without_words_has_no_text_block",
        areas=("adapter-anthropic", "cross-provider", "roundtrip", "placement", "guardrails",
               "announcements", "server-context"),
        places=(
            place(PART, "missing", was=r'^\{"type": "text", "text": ""(, "cache_control": .*)?\}$'),
            place(MESSAGE, "missing",
                  was=r'^\{"role": "\w+", "content": \[\{"type": "text", "text": ""\}\]\}$'),
        ),
    ),
    Deviation(
        rule="spec/4 parts-empty", instead="Empty text is never sent.",
        test=f"{A}/test_gemini.py::test_empty_text_is_never_sent",
        areas=("adapter-gemini", "cross-provider", "roundtrip"),
        places=(
            place(PART, "missing", was=r'^\{"text": ""\}$'),
            place(MESSAGE, "missing", was=r'^\{"role": "\w+", "parts": \[\{"text": ""\}\]\}$'),
        ),
    ),
    Deviation(
        rule="W-ANT-2", instead="A breakpoint is on the last block of any message, with its lifetime.",
        test=f"{A}/test_anthropic.py::test_a_breakpoint_stands_on_the_last_block_that_can_carry_it",
        flags=("W-ANT-2",),
        places=(
            place(f"{PART}.cache_control", "missing", was=r'^\{"type": "ephemeral"'),
            place(f"{PART}.cache_control", "unexpected",
                  now=r'\{"type": "ephemeral"(, "ttl": "(5m|1h)")?\}'),
        ),
    ),
    Deviation(
        rule="W-ANT-3", instead="Neighbours of one role are one message, which the last one is part of.",
        test=f"{A}/test_anthropic.py::test_results_come_first_and_neighbours_of_one_role_are_one_message",
        kinds=("compile", "script"),
        places=(place("$(.results[]|).last_message.(content[]|parts[])", "unexpected"),),
        fits=lambda scenario, difference: "anthropic" in str(scenario["input"]),
    ),
    Deviation(
        rule="W-PRE-4", instead="An opening is native only where the model takes it.",
        test=f"{A}/test_anthropic.py::test_elsewhere_the_model_is_told_to_begin_with_it",
        flags=("W-PRE-4",), held_back=MEANT,
        places=(
            place(PART, "unexpected", now=_OPENING_PART),
            place(MESSAGE, "unexpected", now=_OPENING_MESSAGE),
        ),
        follows=(place(MESSAGE, "missing", was=r'"role": "assistant"'),),
    ),
    Deviation(
        rule="W-ANN-1",
        instead="A system message inside the conversation only on models known to take it.",
        test=f"{P}/test_placement.py::test_announcements_ride_the_tail_unless_the_model_is_known",
        flags=("W-ANN-1",), held_back=MEANT,
        places=(
            place(f"{BODY}.messages[]", "missing", was=r'^\{"role": "system"'),
            place(PART, "unexpected"),
            place(TEXT, "changed", holds=r.longer),
        ),
    ),
    # Openings that are not native
    Deviation(
        rule="W-OAI-2, spec/4 model-tail: the last word is the user's",
        instead="A degraded opening is never lost: it stands last, in a message of its own.",
        test=f"{A}/test_gemini.py::test_an_opening_is_never_lost",
        kinds=("adapter", "compile"),
        places=(
            place(MESSAGE, "unexpected", now=_OPENING_MESSAGE),
            place(PART, "unexpected", now=_OPENING_PART),
        ),
        follows=(
            place(TEXT, "changed", holds=r.opening_moved),
            place(SYSTEM, "missing", was=rf'"text": "{_OPENING}"'),
        ),
    ),
    Deviation(
        rule="W-OAI-1, W-GEM-3",
        instead="A degraded opening is text of its own: nothing is replaced.",
        test=f"{A}/test_openai_chat.py::test_an_opening_leaves_text_and_media_of_the_message_alone",
        flags=("W-OAI-1", "W-GEM-3"), held_back=MEANT,
        places=(
            place(PART, "unexpected"),
            place(MESSAGE, "unexpected", now=_OPENING_MESSAGE),
            place(TEXT, "changed", holds=r.longer_in_front),
            place(f"{MESSAGE}.content", "changed",
                  holds=lambda was, now: isinstance(was, str) and isinstance(now, list)),
        ),
    ),
    Deviation(
        rule="W-PRE-1", instead="Only the guardrail's own opening is degraded; a finished answer stays.",
        test=f"{A}/test_openai_chat.py::test_only_the_guardrails_own_opening_is_degraded",
        flags=("W-PRE-1",),
        places=(place(MESSAGE, "unexpected", holds=lambda was, now: now["role"] != "user"),),
        follows=(
            place(TEXT, "changed", holds=r.shorter),
            place(MESSAGE, "unexpected", holds=lambda was, now: now["role"] == "user"),
        ),
    ),
    Deviation(
        rule="W-PRE-2", instead="An opening never ends in blanks.",
        test=f"{A}/test_anthropic.py::test_an_opening_is_native_where_the_model_takes_it_without_blanks_at_its_end",
        flags=("W-PRE-2",), places=(place(TEXT, "changed", holds=r.trimmed),),
    ),
    Deviation(
        rule="W-PRE-3", instead="An empty opening asks for nothing.",
        test=f"{A}/test_openai_chat.py::test_an_opening_that_says_nothing_asks_for_nothing",
        places=(
            place(TEXT, "changed", was=r"\{\{PREFILL_ENFORCEMENT:\}\}$", holds=r.opening_moved),
            place(MESSAGE, "missing", was=r"\"\{\{PREFILL_ENFORCEMENT:\}\}\""),
        ),
    ),
    Deviation(
        rule="W-PRE-1", instead="An opening is the guardrail's words: thoughts are no part of it.",
        test=f"{A}/test_openai_chat.py::test_only_the_guardrails_own_opening_is_degraded",
        kinds=("adapter",),
        places=(
            place(TEXT, "changed", was=r"\{\{PREFILL_ENFORCEMENT:<thinking>",
                  now=r".*\{\{PREFILL_ENFORCEMENT:[^<]*\}\}", holds=r.opening_without_thoughts),
        ),
    ),
    # OpenAI, Gemini, Responses
    Deviation(
        rule="W-OAI-3", instead="Only fields of the wire reach it.",
        test=f"{A}/test_openai_chat.py::test_unknown_fields_stay_away_and_native_ones_go_out",
        flags=("W-OAI-3",),
        places=(
            Place(
                at=re.compile(
                    r"\$(?:\.results\[\d+\])?\.payload\.messages\[\d+\]"
                    r"\.(?!role|content|tool_calls|tool_call_id)\w+"
                ),
                kinds=("missing",),
            ),
        ),
    ),
    Deviation(
        rule="W-OAI-4", instead="Empty lists are absent.",
        test=f"{A}/test_openai_chat.py::test_there_are_no_empty_lists",
        places=(place(f"{MESSAGE}.tool_calls", "missing", was=r"^\[\]$"),),
    ),
    Deviation(
        rule="W-GEM-1", instead="A response carries the name of its call.",
        test=f"{A}/test_gemini.py::test_a_response_carries_the_name_of_its_call",
        flags=("W-GEM-1",),
        places=(place(f"{PART}.functionResponse.name", "changed"),),
        fits=lambda scenario, difference: r.called(scenario, difference.was) == difference.now,
    ),
    Deviation(
        rule="W-GEM-2", instead="A response is always an object.",
        test=f"{A}/test_gemini.py::test_a_response_is_always_an_object",
        places=(
            place(f"{PART}.functionResponse.response", "changed", now=r'\{"result": .*\}',
                  holds=r.wrapped_result),
        ),
    ),
    Deviation(
        rule="W-GEM-4", instead="A signature stays, with or without words.",
        test=f"{A}/test_gemini.py::test_a_signature_without_words_still_goes",
        flags=("W-GEM-4",), held_back="the scenario here passes; others of its kind are held back",
        places=(
            place(f"{PART}.thoughtSignature", "unexpected", "missing"),
            place(PART, "unexpected", holds=lambda was, now: "thoughtSignature" in now),
        ),
    ),
    Deviation(
        rule="W-RSP-1", instead="A compaction summary goes under a heading.",
        test=f"{A}/test_openai_responses.py::test_a_summary_of_the_provider_stays_readable",
        flags=("W-RSP-1",),
        places=(
            place(TEXT, "changed", now=r"\{\{COMPACTION_HEADER\}\}\n.*", holds=r.longer_in_front),
            place(MESSAGE, "unexpected", now=r'.*"\{\{COMPACTION_HEADER\}\}\\n[^"]*".*'),
        ),
    ),
    Deviation(
        rule="W-RSP-2", instead="Reasoning as text is possible on Responses too.",
        test=f"{A}/test_openai_responses.py::test_reasoning_of_others_is_text_when_asked_for_and_named_otherwise",
        flags=("W-RSP-2",), held_back=MEANT,
        places=(
            place(TEXT, "changed", now=r"<thinking>\n.*\n</thinking>.*", holds=r.longer_in_front),
            place(MESSAGE, "unexpected"),
            place(f"{MESSAGE}.content[]", "unexpected"),
        ),
    ),
    # Attachments
    Deviation(
        rule="W-ATT-1", instead="Data URIs, URLs and base64 are told apart once.",
        test=f"{A}/test_anthropic.py::test_media_go_in_the_form_that_fits_them",
        flags=("W-ATT-1",),
        places=(
            place(f"{PART}.(source.data|inlineData.data)", "changed", was=r"^data:",
                  holds=r.same_data),
            place(f"{PART}.(source.media_type|inlineData.mimeType)", "changed", was=r"\*",
                  now=r"[a-z]+/[\w.+-]+"),
            place(f"{PART}.title", "unexpected"),
            place(PART, "missing", was=r"\*|\"data:|\"image_url\""),
            place(PART, "unexpected", holds=lambda was, now: "image_url" in now),
            place(TEXT, "changed", now=r".*", holds=r.notes_added),
        ),
    ),
    Deviation(
        rule="W-ATT-2", instead="A file that Chat cannot take leaves a visible note.",
        test=f"{A}/test_openai_chat.py::test_what_the_api_does_not_take_is_a_visible_note",
        flags=("W-ATT-2",),
        places=(
            place(f"{BODY}.messages[].content[]", "missing", was=r'^\{"type": "file"'),
            place(f"{BODY}.messages[].content[]", "unexpected", now=_NOTE_PART),
            place(f"{BODY}.messages[].content[].file.filename", "changed", "unexpected",
                  now=r"[\w-]+\.[a-z]+"),
            place(f"{BODY}.messages[].content[].file.file_data", "changed", "unexpected",
                  now=r"data:[a-z]+/[\w.+-]+;base64,[A-Za-z0-9+/]+=*"),
        ),
    ),
    Deviation(
        rule="W-ATT-3", instead="A document of text is text.",
        test=f"{A}/test_anthropic.py::test_media_go_in_the_form_that_fits_them",
        flags=("W-ATT-3",),
        places=(
            place(f"{PART}.source.type", "changed", was="^base64$", now="text|url"),
            place(f"{PART}.source.(url|data)", "missing", "unexpected"),
            place(PART, "missing", was=r'"type": "document"'),
            place(TEXT, "changed", now=r".*", holds=r.notes_added),
        ),
    ),
    Deviation(
        rule="W-ATT-4", instead="Media where a message cannot hold them move or leave a visible note.",
        test=f"{A}/test_anthropic.py::test_media_in_answers_and_system_prompts_leave_a_note",
        flags=("W-ATT-4",),
        places=(
            place(TEXT, "changed", now=r".*", holds=r.notes_added),
            place(PART, "missing", was=r'^\{("type": "(image|document|image_url|file)"|"(inlineData|fileData)")'),
            place(f"({SYSTEM}|{PART})", "unexpected", now=_NOTE_PART),
            place(MESSAGE, "unexpected",
                  now=r'\{"content": \[\{"type": "text", "text": "Attached to [^"\n]*:"\}'
                      r'(, \{"type": "(image_url|file|input_audio)".*\})+\], "role": "user"\}'),
            place(f"{PART}.content", "changed", holds=r.media_joined),
            place(f"{BODY}.input[]", "unexpected",
                  holds=lambda was, now: now.get("role") == "system"),
            place(f"{BODY}.instructions", "missing"),
        ),
    ),
    Deviation(
        rule="W-ATT-5", instead="A URL is told from its scheme.",
        test=f"{A}/test_anthropic.py::test_media_go_in_the_form_that_fits_them",
        flags=("W-ATT-5",),
        places=(
            place(PART, "missing", was=r'"(fileData|image_url)"|"type": "url"'),
            place(PART, "unexpected",
                  holds=lambda was, now: "inlineData" in now or "source" in now or "file" in now),
            place(f"{PART}.source.type", "changed", was="^url$", now="base64"),
            place(f"{PART}.source.(url|data|media_type)", "missing", "unexpected"),
        ),
    ),
    # Calls and results
    Deviation(
        rule="W-ARG-1", instead="Whatever the model wrote as arguments becomes an object, and it is reported.",
        test=f"{A}/test_anthropic.py::test_whatever_the_model_wrote_as_arguments_becomes_an_object",
        flags=("W-ARG-1",),
        places=(
            place("$.payload", "unexpected"),
            place(f"{PART}.(input|functionCall.args)", "changed", now=r'\{"raw_arguments": .*\}',
                  holds=r.wrapped_arguments),
        ),
        follows=(
            place("$.(throws|mentions)", "missing"),
            place("$.warnings", "unexpected", now=r"\[\]"),
        ),
    ),
    Deviation(
        rule="W-EVH-2, design §6: valid by construction",
        instead="Results of no call and second results go, a missing one becomes a note.",
        test="tests/ir/test_repair.py::test_a_late_result_moves_back_behind_its_call",
        kinds=("compile", "script"),
        places=(
            place(MESSAGE, "missing", was=r'"role": "tool"'),
            place(MESSAGE, "unexpected", now=_MISSING_RESULT),
        ),
        fits=r.unpaired,
    ),
    Deviation(
        rule="design §6: valid by construction", instead="A pair that a handler splits is mended.",
        test=f"{P}/test_payload.py::test_what_would_be_refused_is_mended_and_reported",
        areas=("pipeline-checks", "slots"),
        given=re.compile(r'"slot": "after-assemble".*"action": "(append_message|drop_role|reverse)"'),
        places=(place("$.results[].count", "changed", holds=r.more),),
    ),
    Deviation(
        rule="W-CHECK-1", instead="Order and adjacency of tool pairs are checked, and mended.",
        test=f"{P}/test_slots.py::test_the_checks_see_a_changed_order_of_pairs",
        flags=("W-CHECK-1",),
        places=(
            place("$.results[].trace[]", "unexpected",
                  holds=lambda was, now: now.get("at") == "pipeline:invariant"),
            place("$.results[].(warnings[]|warnings)", "unexpected", now=r'(\[")?pipeline-invariant("\])?'),
        ),
        follows=(place("$.results[].count", "changed", holds=r.more),),
    ),
    Deviation(
        rule="BR-007: a note for a missing result never looks like a success",
        instead="The note says that it is an error.",
        test="tests/ir/test_repair.py::test_a_missing_result_becomes_a_note_that_is_marked_as_an_error",
        kinds=("convert", "compile", "adapter"),
        places=(
            place(f"{PART}.functionResponse.response.result", "missing",
                  was=r"^\{\{MISSING_RESULT_PLACEHOLDER\}\}$"),
            place(f"{PART}.functionResponse.response.error", "unexpected",
                  now=r"\{\{MISSING_RESULT_PLACEHOLDER\}\}"),
            place(f"{MESSAGE}.(content|output)", "changed", was=r"^\{\{MISSING_RESULT_PLACEHOLDER\}\}$",
                  now=r"The tool failed:\n\{\{MISSING_RESULT_PLACEHOLDER\}\}"),
        ),
    ),
    Deviation(
        rule="BR-007: a note for a missing result never looks like a success",
        instead="The note is marked as an error where the wire can say so.",
        test="tests/ir/test_repair.py::test_a_missing_result_becomes_a_note_that_is_marked_as_an_error",
        kinds=("convert", "compile", "adapter"),
        held_back="no scenario here has such a note on Anthropic",
        places=(place(f"{PART}.is_error", "unexpected", now="true"),),
        fits=lambda scenario, difference: "MISSING_RESULT_PLACEHOLDER" in str(scenario["expected"]),
    ),
    # Placement and text
    Deviation(
        rule="design §7: nothing volatile enters the prefix",
        instead="A system message inside the conversation keeps its place, natively or in the next "
                "turn of the user, and does not move into the cached prefix.",
        test=f"{A}/test_anthropic.py::test_one_behind_an_answer_waits_for_the_next_turn_of_the_user",
        areas=("adapter-anthropic", "announcements", "placement"),
        fits=r.positional,
        places=(
            place(f"{BODY}.(system[]|system)", "missing", was=r'^\[?\{"type": "text"'),
            place("$(.results[]|).(warnings|warnings[])", "missing", was="positional-hoist"),
        ),
        follows=(
            place(f"{BODY}.messages[]", "unexpected", holds=lambda was, now: now["role"] == "system"),
        ),
    ),
    Deviation(
        rule="design §7: nothing volatile enters the prefix",
        instead="The system message that stays in its place is a message more, and nothing to warn of.",
        test=f"{A}/test_anthropic.py::test_one_behind_an_answer_waits_for_the_next_turn_of_the_user",
        kinds=("script",), areas=("announcements",), given=re.compile(r'"_?positional": true'),
        places=(place("$.results[].count", "changed", holds=lambda was, now: now == was + 1),),
    ),
    Deviation(
        rule="W-CACHE-1", instead="Volatile content is in the tail unless it is placed elsewhere.",
        test=f"{P}/test_placement.py::test_memory_data_is_in_the_tail_by_default",
        flags=("W-CACHE-1",), held_back=MEANT,
        places=(
            place(SYSTEM, "missing"),
            place(f"{BODY}.messages[]", "missing", was='"role": "system"'),
        ),
        follows=(
            place(MESSAGE, "unexpected", holds=lambda was, now: now.get("role") == "user"),
            place(PART, "unexpected"),
            place(TEXT, "changed", holds=r.longer),
        ),
    ),
    Deviation(
        rule="W-CACHE-2", instead="Our own content is known by structure, not by its words.",
        test="tests/placement/test_cache.py::test_the_audit_knows_our_own_blocks_and_not_a_users_words",
        flags=("W-CACHE-2",), held_back="the scenario here passes; others of its kind are held back",
        places=(
            place("$[]", "missing"),
            place("$[]", "unexpected", now=r'\{"location": "[\w.\[\]]+", "dedupeKey": "[^"]+"\}'),
        ),
    ),
    Deviation(
        rule="design §7: the tail is its own block",
        instead="A breakpoint stays in front of the tail, so there is nothing to report.",
        test="tests/placement/test_tail.py::test_a_breakpoint_stays_in_front_of_the_tail",
        areas=("cache-audit",), kinds=("script", "compile"),
        given=re.compile(r'"_cache_breakpoint": true'),
        places=(place("$(.results[]|).(warnings[]|warnings)", "missing", was=r"cache-audit@messages\["),),
    ),
    Deviation(
        rule="W-TAIL-1", instead="An example in the system prompt never gets the tail.",
        test="tests/placement/test_tail.py::test_an_example_in_the_system_prompt_never_gets_the_tail",
        flags=("W-TAIL-1",), held_back=MEANT,
        places=(place(TEXT, "changed", holds=r.shorter),),
        follows=(
            place(MESSAGE, "unexpected", holds=lambda was, now: now["role"] == "user"),
            place(TEXT, "changed", holds=r.longer),
        ),
    ),
    Deviation(
        rule="W-TAIL-2, W-MEM-1", instead="Foreign text cannot leave its tag.",
        test="tests/placement/test_tail.py::test_injected_text_cannot_leave_its_tag",
        flags=("W-TAIL-2", "W-MEM-1"), held_back=MEANT,
        places=(place(TEXT, "changed", now=r".*", holds=r.escaped),),
    ),
    Deviation(
        rule="W-TAIL-3", instead="No earlier user message is edited because a call waits.",
        test="tests/placement/test_tail.py::test_a_call_that_still_waits_is_followed_by_the_tail",
        flags=("W-TAIL-3",),
        places=(place(TEXT, "changed", holds=r.shorter),),
        follows=(place(MESSAGE, "unexpected", holds=lambda was, now: now["role"] == "user"),),
    ),
    Deviation(
        rule="W-STATE-1", instead="A null state says nothing.",
        test="tests/placement/test_dynamic_state.py::test_a_null_state_leaves_no_heading_behind",
        flags=("W-STATE-1",), held_back=MEANT,
        places=(
            place(TEXT, "changed", holds=lambda was, now: r.shorter(was, now) or r.shorter_in_front(was, now)),
            place(f"({MESSAGE}|{SYSTEM})", "missing", was="STATE_HEADING|dynamic_state|ANCHOR_LINE"),
        ),
    ),
    Deviation(
        rule="W-STATE-2", instead="Nothing is shared with the caller.",
        test="tests/ir/test_message.py::test_what_a_caller_handed_in_can_change_without_the_message_changing",
        flags=("W-STATE-2",), held_back=MEANT,
        places=(place(f"({TEXT}|$[].content)", "changed"),),
    ),
    Deviation(
        rule="W-STATE-3", instead="All inputs of a compile are fixed at one moment, when it is called.",
        test=f"{P}/test_concurrency.py::test_what_a_handler_changes_counts_from_the_next_compile_on",
        flags=("W-STATE-3",),
        places=(place(TEXT, "changed"), place("$.results[].count", "changed")),
    ),
    Deviation(
        rule="W-XML-1", instead="Empty values leave no lines behind.",
        test="tests/placement/test_dynamic_state.py::test_empty_values_leave_no_lines_behind",
        flags=("W-XML-1",), kinds=("xml",),
        places=(place("$", "changed", holds=r.blank_lines_gone),),
    ),
    Deviation(
        rule="W-XML-2, HOST-2", instead="Keys that are no names stay apart, and the root is a name.",
        test="tests/placement/test_dynamic_state.py::test_keys_that_are_no_names_stay_apart",
        flags=("W-XML-2", "HOST-2"), kinds=("xml",),
        places=(place("$", "changed", now=r".*", holds=r.other_tags),),
    ),
    Deviation(
        rule="HOST-2", instead="Characters are code points.",
        test="tests/placement/test_dynamic_state.py::test_keys_that_are_no_names_stay_apart",
        flags=("HOST-2",), kinds=("estimate", "estimate_object", "tokenizer"), held_back=MEANT,
        places=(place("$", "changed"),),
    ),
    Deviation(
        rule="W-XML-3", instead="Control characters never reach the model.",
        test="tests/placement/test_dynamic_state.py::test_control_characters_never_reach_the_model",
        flags=("W-XML-3",), held_back=MEANT,
        places=(place(f"($|{TEXT})", "changed", now=r".*", holds=r.no_controls),),
    ),
    Deviation(
        rule="HOST-1, W-SER-1", instead="Keys are in code-point order.",
        test=f"{P}/test_payload.py::test_two_processes_write_the_same_bytes",
        flags=("HOST-1", "W-SER-1"), kinds=("stringify", "compile", "script"),
        places=(place("$(.results[]|)(.messages_json|)", "changed", now=r".*", holds=r.same_json),),
    ),
    Deviation(
        rule="HOST-1", instead="Mappings keep the order of their keys.",
        test="tests/placement/test_dynamic_state.py::test_the_order_of_keys_and_dropped_keys_follow_the_schema",
        flags=("HOST-1",), held_back="the stringify scenario here is about the sorted form",
        places=(place(f"($|{TEXT})", "changed", now=r".*", holds=r.same_lines),),
    ),
    Deviation(
        rule="W-SER-2, spec/4 reasoning-follower",
        instead="Reasoning items keep the order of their keys, and no id that needs a follower.",
        test=f"{A}/test_read_responses.py::test_items_that_we_do_not_model_keep_the_order_of_their_keys",
        flags=("W-SER-2",),
        places=(place("$(.results[]|).messages_json", "changed", now=r".*", holds=r.same_items),),
    ),
    Deviation(
        rule="W-HAND-1", instead="No notice of zero in the payload that was already cut.",
        test=f"{P}/test_overflow_stage.py::test_no_handoff_notice_once_the_window_is_over",
        flags=("W-HAND-1",), held_back=MEANT,
        places=(
            place(f"({TEXT}|$.results[].last_message.content)", "changed",
                  was=r"__handoff__|HANDOFF_NOTICE:0", holds=r.shorter),
            place(f"{MESSAGE}", "missing", was=r"__handoff__|HANDOFF_NOTICE:0"),
        ),
    ),
    Deviation(
        rule="spec/1 §17: the marker says which parts are shown and how many characters",
        instead="The marker says so of a tail that stands alone, too.",
        test="tests/persistence/test_offloader.py::test_the_marker_says_how_to_get_the_rest",
        kinds=("vocabulary",),
        places=(place("$[].offload_tail_only.block_carries[]", "unexpected", now=r"4"),),
    ),
    # Pipeline and state
    Deviation(
        rule="spec/4 messages-empty: a request without messages is refused",
        instead="One clear error instead of a request that nobody accepts; a request for a new "
                "window waits for the next compile.",
        test=f"{P}/test_payload.py::test_a_chef_that_knows_nothing_says_what_is_missing",
        kinds=("compile", "script"),
        places=(place("$(.results[]|)", "raised", now=_NO_MESSAGE),),
        follows=(place("$.results[].count", "changed", holds=r.fewer),),
    ),
    Deviation(
        rule="W-OVF-1", instead="What was compressed stays compressed.",
        test=f"{P}/test_overflow_stage.py::test_a_landed_pass_stays_and_is_paid_for_once",
        flags=("W-OVF-1",), held_back="the scenario here passes; others of its kind are held back",
        places=(
            place("$.results[].count", "changed", holds=r.fewer),
            place(f"{BODY}.messages[]", "missing"),
        ),
    ),
    Deviation(
        rule="W-CONC-1", instead="Overlapping compiles queue.",
        test=f"{P}/test_concurrency.py::test_overlapping_compiles_queue",
        flags=("W-CONC-1",), held_back=MEANT,
        places=(place("$.results[].trace[]", "missing", "unexpected"),),
    ),
    Deviation(
        rule="W-ABORT-1", instead="A compile that is cancelled spends no memory turn.",
        test=f"{P}/test_cancellation.py::test_a_late_cancel_spends_no_memory_turn",
        flags=("W-ABORT-1",),
        places=(
            place("$.results[].meta.injectedMemoryKeys[]", "unexpected"),
            place("$.results[].meta.memoryExpiredKeys[]", "missing"),
        ),
    ),
    Deviation(
        rule="W-SLOT-1", instead="A handler that answers nothing changes nothing, and the report says so.",
        test=f"{P}/test_slots.py::test_a_handler_that_answers_nothing_changes_nothing",
        flags=("W-SLOT-1",),
        places=(place("$.results[].(payload|meta|count|windowId)", "unexpected"),),
        follows=(place("$.results[].(throws|op|mentions)", "missing"),),
        fits=lambda scenario, difference: "return_nothing" in str(scenario["input"]),
    ),
    Deviation(
        rule="W-SLOT-2", instead="Messages cannot be changed in place; an after-assemble handler answers new ones.",
        test=f"{P}/test_slots.py::test_handlers_cannot_change_what_they_are_shown",
        flags=("W-SLOT-2",),
        places=(place(TEXT, "changed", was="^changed$"),),
        fits=lambda scenario, difference: f'"content": "{difference.was}"' in r.written(scenario),
    ),
    Deviation(
        rule="W-SNAP-1", instead="A pending request for a new window is part of the snapshot.",
        test=f"{P}/test_snapshot.py::test_a_pending_request_is_part_of_the_snapshot",
        flags=("W-SNAP-1",),
        places=(place("$.results[].(count|windowId)", "changed"),),
    ),
    Deviation(
        rule="W-SNAP-2", instead="Memory keeps its order over a restore.",
        test="tests/persistence/test_memory.py::test_a_snapshot_brings_entries_back_in_their_order_without_notices",
        flags=("W-SNAP-2",), held_back=MEANT,
        places=(
            place("$.results[](.memory.keys[]|.meta.injectedMemoryKeys[]|.payload.meta.injectedMemoryKeys[])",
                  "missing", "unexpected"),
            place(TEXT, "changed", holds=r.same_lines),
        ),
    ),
    Deviation(
        rule="W-SNAP-3", instead="A snapshot is plain data and holds memory wherever it is kept.",
        test=f"{P}/test_snapshot.py::test_a_snapshot_survives_json",
        flags=("W-SNAP-3",), held_back=MEANT,
        places=(
            place("$.results[].(throws|op)", "missing"),
            place("$.results[].memory**", "changed", "unexpected"),
            place("$.results[].meta.injectedMemoryKeys[]", "unexpected"),
        ),
    ),
    Deviation(
        rule="W-REG-1", instead="Taking a replacement off brings the built-in back.",
        test=f"{A}/test_registry.py::test_a_replacement_keeps_the_place_and_taking_it_away_brings_back_what_it_replaced",
        flags=("W-REG-1",), held_back=MEANT,
        places=(
            place("$.results[].(get|has)", "changed", "unexpected"),
            place("$.results[].list[]", "unexpected"),
        ),
    ),
    Deviation(
        rule="W-EVT-1", instead="Observers are told from a copy of the list.",
        test=f"{P}/test_events.py::test_observers_that_come_or_go_count_from_the_next_event_on",
        kinds=("emitter",), given=re.compile(r'"action": "(add|remove)"'),
        places=(
            place("$.trace[]", "changed", "unexpected", now=r"\w+:\d+"),
            place("$.trace[]", "missing", was=r"^\w+:\d+$"),
        ),
        fits=lambda scenario, difference: str(difference.now or difference.was).partition(":")[0]
        in r.toggled(scenario),
    ),
    Deviation(
        rule="W-CONF-1", instead="A chef without a window warns about nothing.",
        test=f"{P}/test_settings.py::test_a_bare_chef_warns_about_nothing_and_touches_no_disk",
        places=(
            place("$(.results[]|).warnings[]", "missing", was=r"^no-compression-model$"),
            place("$(.results[]|).warnings", "missing", was=r'^\["no-compression-model"\]$'),
        ),
        given=re.compile(r'"janitor": null|"contextWindow": "Infinity"|"strategy": \{"kind": "server"|"contextManagement"|^\{"steps"|"config": \{\}'),
    ),
    Deviation(
        rule="W-CONF-3", instead="Unknown values are refused with the nearest right one.",
        test=f"{P}/test_settings.py::test_an_unknown_value_says_the_nearest_right_one",
        places=(
            place("$(.results[]|[]|)", "raised",
                  now=r"(SettingsError|ToolError): `[\w.]+`(?: of \S+)? cannot be [^\n]*\. (Known|Did you mean)[^\n]*"),
        ),
    ),
    # Round trips
    Deviation(
        rule="design §2: lossless", instead="What was read is written back as it was.",
        test=f"{A}/test_cassettes_openai.py::test_an_accepted_chat_request_is_the_same_conversation_afterwards",
        kinds=("convert",),
        places=(place("$.messages_identical_to_input", "changed", was="^false$", now="true"),),
    ),
)  # fmt: skip

_TABLES = {
    "pipeline": PIPELINE_DEVIATIONS,
    "overflow": OVERFLOW_DEVIATIONS,
    "store": STORE_DEVIATIONS,
}


def deviation_of(kind: str, scenario: dict[str, Any], outcome: Outcome) -> Outcome:
    """The outcome as `deviates` when the table explains all of it, as it was otherwise."""
    return judged(_TABLES[kind], scenario, outcome)
