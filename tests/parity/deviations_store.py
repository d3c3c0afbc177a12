"""Where the store scenarios record what we do better on purpose: which, by which rule, shown where.

`W<n>` is the number in the weak list of the contract's page on persistence, retrieval and tools;
`flagged` is the judgement that the record carries itself; `BR-<n>` is a case reported from the
field; the rest names a section of the design. A place begins with the operation of the step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from tests.parity import relations as r
from tests.parity.table import Deviation, Place, place

_MEMORY: Final = "tests/persistence/test_memory.py::"
_LIFETIMES: Final = "tests/persistence/test_memory_lifetimes.py::"
_RENDERING: Final = "tests/persistence/test_memory_rendering.py::"
_OFFLOADER: Final = "tests/persistence/test_offloader.py::"
_CONTEXT: Final = "tests/retrieval/test_context_tool.py::"
_SEARCH: Final = "tests/retrieval/test_search.py::"
_MEMORY_TOOLS: Final = "tests/retrieval/test_memory_tools.py::"
_BACKENDS: Final = "src/context_chef/testing/backends.py::StorageBackendSuite::"
_COMPAT: Final = "tests/compat/test_stores.py::"
_GATE: Final = "tests/selection/test_gate.py::"
_PRUNER: Final = "tests/selection/test_pruner.py::"
_SKILL_FILES: Final = "tests/placement/test_skill_files.py::"
_SKILL_RENDER: Final = "tests/placement/test_skill_render.py::"
_FILES: Final = "tests/persistence/test_file_system.py::"
_EVICTION: Final = "tests/persistence/test_eviction.py::"
_EMPTY: Final = (
    "tests/pipeline/test_payload.py::test_a_chef_that_knows_nothing_says_what_is_missing"
)

MEANT: Final = "the page on persistence quotes a scenario of this kind that is held back"
TOOL: Final = "handle_tool[]"
READ: Final = "(handle_tool[]|parallel[].outcomes[])"
ANY: Final = r".*"
ERROR: Final = r"Error: .*"
_REFUSED: Final = (
    place(f"{READ}.is_error", "changed", was="^false$", now="true"),
    place(f"{READ}.(must_mention|text)", "changed", now=ERROR),
)


def _given(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _order(*paths: str) -> tuple[Place, ...]:
    """The same items of a list at other places of it."""
    return tuple(place(path, "missing", "unexpected") for path in paths)


def _text(path: str, holds: Any, now: str | None = ANY) -> Place:
    return place(path, "changed", now=now, holds=holds)


STORE_DEVIATIONS: Sequence[Deviation] = (
    # Store and backends
    Deviation(
        rule="design §9: search, compare and swap and append are abilities of the built-in backends",
        instead="They can do more, and say so.",
        test=_BACKENDS + "test_search_puts_the_better_answer_first",
        places=(place("ns_supports[].supports[]", "unexpected", now="search|append|compare_and_swap"),),
    ),
    Deviation(
        rule="W11: every key keeps its place and its content through snapshot and restore",
        instead="Order and odd names survive.",
        test=_MEMORY + "test_a_snapshot_brings_entries_back_in_their_order_without_notices",
        flagged=True, areas=("store", "memory"),
        places=_order("(ns_snapshot|ns_entries|ns_list|memory_snapshot|memory_get_all)[].(keys|paths|entries)[]"),
        fits=r.same_set_or_odd_name,
    ),
    Deviation(
        rule="W9: what is read is a copy", instead="A change to it changes nothing stored.",
        test=_BACKENDS + "test_callers_never_share_an_entry_with_the_store",
        flagged=True, areas=("store",), given=_given("ns_mutate_read_entry"),
        places=(place("ns_get[].content", "changed", was="^mutated"),),
    ),
    Deviation(
        rule="W8: a sync call decides before the backend is touched",
        instead="Nothing was written when the error is raised.",
        test="tests/persistence/test_namespace.py::"
        "test_a_sync_call_on_an_async_backend_is_refused_before_it_starts",
        flagged=True, areas=("store",), given=_given("async_in_memory"),
        places=(place("ns_get[].content", "changed", now="null"),),
    ),
    Deviation(
        rule="W18: a wrapped flat store keeps other namespaces out of memory",
        instead="Notes do not show up as memory.",
        test=_COMPAT + "test_a_wrapped_flat_store_keeps_other_namespaces_out_of_memory",
        flagged=True, areas=("store", "memory"), given=_given("legacy_memory_store"),
        places=(
            place("memory_get[].value", "changed", now="null"),
            place("memory_get_entry[].entry", "changed", now="null"),
            place(f"{TOOL}.text", "changed", now=r"context://memory/ is empty\."),
        ),
    ),
    Deviation(
        rule="W28: every cleanup runs with its own caps", instead="Two at once do not mix theirs.",
        test=_EVICTION + "test_concurrent_cleanups_each_keep_their_own_caps",
        flagged=True, areas=("eviction",), held_back=MEANT,
        places=(
            *_order("(vfs_cleanup|vfs_cleanup_async)[].evicted[]", "parallel[].outcomes[].evicted[]",
                    "(ns_list|list_files)[].(paths|files)[]"),
            place("(vfs_cleanup[]|vfs_cleanup_async[]|parallel[].outcomes[]).evicted_(bytes|by_age|by_count|by_bytes)", "changed"),
        ),
    ),
    Deviation(
        rule="W25: reconcile knows sizes and times from the listing",
        instead="What it adopts counts with its size, whether or not it was asked to measure.",
        test=_EVICTION + "test_reconcile_adopts_with_true_sizes_and_times",
        areas=("eviction", "filesystem"), given=_given("vfs_reconcile"),
        places=(place("vfs_entries[].entries[].(bytes|created_at|accessed_at)", "changed"),),
        follows=(
            *_order("(vfs_cleanup|vfs_cleanup_async)[].evicted[]"),
            place("(vfs_cleanup|vfs_cleanup_async)[].evicted_(bytes|by_bytes|by_age)", "changed"),
            place("vfs_reconcile[].adopted", "changed"),
        ),
    ),
    Deviation(
        rule="W6: a damaged entry is a state of its own, never absent and never written over",
        instead="Reading one says what is wrong with which file, and writing it is refused.",
        test=_CONTEXT + "test_a_damaged_entry_is_named_and_never_written_over",
        areas=("filesystem",), given=_given('"files"'),
        places=(
            place("ns_get[]", "raised", was=r'"(entry|content)": null',
                  now=r"CorruptStoreError: '[^']+' in namespace '\w+' is damaged: [^\n]*"),
            place(f"{TOOL}.is_error", "changed", was="^false$", now="true"),
        ),
        follows=(
            place(f"{TOOL}.(must_mention|text)", "changed", now=r"Error: .*damaged.*"),
            place("list_files[].files[].content", "changed"),
        ),
        fits=r.damaged,
    ),
    Deviation(
        rule="W17: a name with a dot in front is listed, found and injected like any other",
        instead="Nothing that was written is out of sight.",
        test=_CONTEXT + "test_dots_in_a_name_are_no_climbing",
        flagged=True, areas=("filesystem",),
        places=(
            _text(f"{TOOL}.text", r.only_dotted_more),
            place("compile[].messages[].content", "changed", now=ANY, holds=r.entry_more),
            place("compile[].meta.injected_memory_keys[]", "unexpected", now=r"\..*"),
            place("(ns_list[].paths|memory_get_all[].keys)[]", "unexpected", now=r"(.*/)?\..*"),
        ),
    ),
    Deviation(
        rule="W12: links are not followed", instead="They lead nowhere, and the model reads that.",
        test=_FILES + "test_links_lead_nowhere_neither_on_read_nor_on_write",
        flagged=True, areas=("filesystem",), given=_given("symlink_to"),
        places=(
            place(f"{TOOL}.is_error", "changed", was="^false$", now="true"),
            place(f"{TOOL}.(text|must_mention)", "changed", now=r"Error: context://\S+: [^\n]*\blink\b[^\n]*"),
        ),
        follows=(place("list_files[].files[]", "missing"),),
    ),
    Deviation(
        rule="W3, W21: names that trouble a file system are stored, and scratch files do not stay",
        instead="They are written, read and deleted like any other; what cannot be is an error text.",
        test=_CONTEXT + "test_names_that_trouble_file_systems_are_stored_and_read_back",
        flagged=True, areas=("filesystem",),
        places=(
            place(TOOL, "changed", was=r'"error_type": "os_error"',
                  now=r'\{"is_error": (false, "text": "(Created|Deleted|Edited) |true, "text": "Error: )context://[^"]*"\}'),
        ),
        follows=(
            place("list_files[].files[]", "missing", was=r"\.tmp_"),
            place("list_files[].files[]", "unexpected", now=r"(notes|memory)/[^\n]*%[^\n]*"),
        ),
    ),
    Deviation(
        rule="W10: the turn counter survives a restart", instead="Turns go on where they were.",
        test=_LIFETIMES + "test_turns_go_on_after_a_restart",
        flagged=True, areas=("memory", "filesystem"), given=_given('"op": "restart"'), held_back=MEANT,
        places=(
            place("memory_turn[].turn", "changed", holds=r.more),
            place("(memory_get[].value|memory_get_entry[].entry)", "changed", now="null"),
            place("memory_sweep[].expired[]", "unexpected"),
        ),
    ),
    Deviation(
        rule="W14: a flat directory gives nothing of others", instead="Files of others are no entries.",
        test=_FILES + "test_a_flat_directory_gives_nothing_of_others",
        flagged=True, areas=("filesystem", "offloader"), held_back=MEANT,
        given=_given("storage_dir|adapter|vfs_memory_store"),
        places=(
            place("ns_get[].(content|entry)", "changed", now="null"),
            *_order("(ns_list[].paths|ns_entries[].keys)[]"),
        ),
    ),
    Deviation(
        rule="W13: a climbing or foreign address is nothing", instead="It resolves to nothing.",
        test=_OFFLOADER + "test_a_foreign_or_climbing_address_is_nothing",
        flagged=True, areas=("filesystem", "offloader", "recall"),
        places=(place("(resolve|resolve_recall)[].content", "changed", now="null"),),
    ),
    Deviation(
        rule="W5: a content address is verified before it is trusted",
        instead="A damaged copy is written again with what belongs there.",
        test=_OFFLOADER + "test_a_damaged_copy_is_noticed_on_reading_and_mended_on_writing",
        flagged=True, areas=("filesystem", "offloader"), given=_given('"op": "offload"'),
        places=(place("resolve[].content", "changed"),),
        fits=lambda scenario, difference: f'"content": "{difference.now}"' in r.written(scenario),
    ),
    Deviation(
        rule="W1: the backend is asked before a write is skipped",
        instead="What another session took away is written again.",
        test=_OFFLOADER + "test_a_text_that_somebody_removed_is_written_again",
        flagged=True, areas=("filesystem", "offloader", "eviction"), given=_given("use_session"),
        places=(place(f"{TOOL}.is_error", "changed", was="^true$", now="false"),),
        follows=(place(f"{TOOL}.must_mention", "changed"),),
    ),
    Deviation(
        rule="W32: construction touches no disk", instead="Directories come with the first write.",
        test=_OFFLOADER + "test_nothing_is_created_on_disk_before_something_is_stored",
        flagged=True, areas=("store-precedence", "store"), held_back=MEANT,
        places=_order("list_files[].files[]"),
    ),
    # Memory
    Deviation(
        rule="BR-094: what has expired is absent for everybody", instead="No reader sees it.",
        test=_LIFETIMES + "test_what_has_expired_is_absent_for_everybody",
        areas=("memory",), given=_given(r'"ttl"|default_ttl'), held_back=MEANT,
        places=(
            place("(memory_get[].value|memory_get_entry[].entry)", "changed", now="null"),
            place("(memory_get_all|memory_selected)[].(keys|entries)[]", "missing"),
            place(f"{TOOL}.is_error", "changed", was="^false$", now="true"),
        ),
        fits=r.had_a_lifetime,
        follows=(place(f"{TOOL}.(text|must_mention)", "changed", now=r"Error: context://memory/.*"),),
    ),
    Deviation(
        rule="W10: None clears a lifetime, a new one replaces the other kind",
        instead="An entry has one bound, the last that was given.",
        test=_LIFETIMES + "test_none_clears_a_lifetime_and_a_new_one_replaces_the_other_kind",
        flagged=True, areas=("memory",), given=_given('"ttl"'),
        places=(place("memory_get_entry[].entry.(expires_at|expires_at_turn)", "missing"),),
    ),
    Deviation(
        rule="W15: text in the memory block is escaped", instead="A value cannot close the block.",
        test=_RENDERING + "test_every_entry_reads_back_as_it_was_and_no_other_is_there",
        flagged=True, areas=("memory",),
        places=(_text("(memory_to_xml[].xml|compile[].messages[].content)", r.escaped),),
    ),
    Deviation(
        rule="W34: a snapshot holds everything that the next compile depends on",
        instead="Memory and turns come back with it.",
        test=_MEMORY + "test_a_snapshot_brings_entries_back_in_their_order_without_notices",
        flagged=True, areas=("memory",), given=_given("chef_snapshot"), held_back=MEANT,
        places=(
            place("memory_turn[].turn", "changed"),
            place("memory_get[].value", "changed"),
            *_order("memory_get_all[].(keys|entries)[]", "compile[].meta.injected_memory_keys[]"),
        ),
    ),
    Deviation(
        rule="W34: memory is part of a snapshot on every backend",
        instead="It is read entry by entry where the backend has no snapshot of its own.",
        test="tests/pipeline/test_snapshot_stores.py::"
        "test_memory_goes_from_backend_to_backend_in_its_order",
        areas=("memory",),
        given=_given(r'"kind": "(async_in_memory|minimal|searchable)".*"chef_snapshot"'),
        places=(
            place("chef_snapshot[].memory_captured", "changed", was="^false$", now="true"),
        ),
        follows=(
            place("memory_get[].value", "changed", now=r"\S+"),
            place("compile[].messages[].content", "changed", now=ANY, holds=r.entry_as_before),
        ),
    ),
    Deviation(
        rule="W7: an entry of somebody else starts counting at 0",
        instead="What has no count of its own is at 0, and its first update is 1.",
        test=_MEMORY + "test_an_entry_of_somebody_else_is_shown_and_starts_counting",
        flagged=True, areas=("memory",),
        places=(
            place("memory_get_entry[].entry.update_count", "unexpected", now="0"),
            place("memory_get_entry[].entry.update_count", "changed", was="NaN", now="1"),
            _text("memory_to_xml[].xml", lambda was, now: was.replace("update_count=undefined", "update_count=0") == now),
        ),
    ),
    Deviation(
        rule="W7: metadata that makes no sense never fails a compile",
        instead="It is taken as absent and warned about once.",
        test=_MEMORY + "test_metadata_that_makes_no_sense_is_taken_as_absent_and_warned_about_once",
        flagged=True, areas=("memory",), given=_given('"files"|ns_put'), held_back=MEANT,
        places=(
            place("(compile|memory_to_xml|memory_get_entry)[]", "changed", was='"raises": true', now=ANY),
            place("memory_get_entry[].entry.*", "missing"),
            place("events[].log[]", "unexpected", now=r'\{"kind": "warning".*\}'),
        ),
    ),
    Deviation(
        rule="W2: of two creates at once one wins", instead="The second reads that it exists.",
        test=_MEMORY + "test_of_two_creates_at_once_one_wins",
        flagged=True, areas=("memory", "context-tool"), given=_given(r'"op": "parallel".*"create"'),
        places=(place("parallel[].outcomes[].is_error", "changed", was="^false$", now="true"),),
        follows=(
            place("memory_get_entry[].entry.value", "changed"),
            place(f"{TOOL}.text", "changed"),
        ),
    ),
    Deviation(
        rule="W2: no edit is ever lost silently", instead="Edits at once both land.",
        test=_CONTEXT + "test_no_edit_is_ever_lost_silently",
        flagged=True, areas=("context-tool", "memory"), given=_given('"op": "parallel"'),
        places=(place(f"{TOOL}.text", "changed", holds=r.more_words),),
    ),
    Deviation(
        rule="W22: a hook that raises never breaks a tool call",
        instead="The model reads that the host could not do it.",
        test=_MEMORY_TOOLS + "test_a_hook_that_raises_never_breaks_a_call",
        flagged=True, areas=("memory", "context-tool"), given=_given("raise_keys|hook_raises"),
        places=(
            place(TOOL, "changed", was='"raises": true',
                  now=r'\{"is_error": true, "text": "Error: context://memory/\w+: the host could not do this[^"]*"\}'),
        ),
    ),
    # Offloading
    Deviation(
        rule="W27: lengths and cuts are in characters, never in halves of them",
        instead="Characters outside the basic plane count once.",
        test=_OFFLOADER + "test_a_cut_never_splits_a_character",
        flagged=True, areas=("offloader",),
        places=(
            place("offload[].marker.total_chars", "changed", holds=r.fewer),
            place("offload[].(before|after)", "changed", holds=r.more_words),
            place("offload[].offloaded", "changed", was="^true$", now="false"),
        ),
        follows=(place("offload[].(before|marker|after)", "missing"),),
        fits=lambda scenario, difference: any(ord(mark) > 0xFFFF for mark in r.written(scenario)),
    ),
    Deviation(
        rule="W20: a scheme that shadows the addresses of other namespaces is refused",
        instead="The settings are refused.",
        test=_OFFLOADER + "test_settings_are_judged_when_they_are_made",
        flagged=True, areas=("offloader", "store"), given=_given("uri_scheme"),
        places=(
            place("(construction|construct[])", "raised",
                  now=r"SettingsError: `uri_scheme` of '\w+' must not be 'context://[^\n]*"),
        ),
    ),
    # The context tool
    Deviation(
        rule="W26: listings are in the order of code points", instead="No locale changes them.",
        test=_CONTEXT + "test_listings_are_in_the_order_of_code_points",
        places=(_text(f"{TOOL}.text", r.listing_sorted),),
    ),
    Deviation(
        rule="W35: a line is a whole number", instead="Anything else is a mistake that is named.",
        test=_CONTEXT + "test_a_line_is_a_whole_number",
        flagged=True, areas=("context-tool",), given=_given("insert_line|view_range"),
        places=(
            place(f"{TOOL}.is_error", "changed", was="^false$", now="true"),
            place(f"{TOOL}.(must_mention|text)", "changed",
                  now=r"Error: `(insert_line|view_range)` must be a whole number, not [^\n]*"),
        ),
        follows=(_text(f"{TOOL}.text", r.fewer_lines),),
    ),
    Deviation(
        rule="W27: a snippet is where the match is", instead="It shows the match.",
        test=_SEARCH + "test_a_snippet_is_where_the_match_is_whatever_lower_case_does_to_lengths",
        flagged=True, areas=("context-tool",), given=_given('"search"'),
        places=(_text(f"{TOOL}.text", r.match_shown, r"\d+ match(es)? for .*"),),
    ),
    Deviation(
        rule="W5: what is stored under its content cannot be changed",
        instead="Offloaded output is read, never written.",
        test=_CONTEXT + "test_offloaded_output_is_shown_as_it_is_and_cannot_be_changed",
        flagged=True, areas=("context-tool",), given=_given('"op": "offload'),
        places=(place(f"{TOOL}.is_error", "changed", was="^false$", now="true"),),
        follows=(
            place(f"{TOOL}.must_mention", "changed", now=ERROR),
            place(f"{TOOL}.text", "changed"),
        ),
    ),
    Deviation(
        rule="W25: a search does not count as use", instead="It leaves the times as they are.",
        test=_SEARCH + "test_a_search_does_not_count_as_use",
        flagged=True, areas=("context-tool", "eviction"), given=_given('"search"'),
        places=(place("vfs_entries[].entries[].accessed_at", "changed", holds=r.fewer),),
    ),
    Deviation(
        rule="W4: a rename asks whether the store can delete before it copies",
        instead="A rename that cannot be finished leaves one entry.",
        test=_CONTEXT + "test_a_rename_of_what_changed_meanwhile_is_taken_back",
        flagged=True, areas=("context-tool",), given=_given("failing_delete|read_write_adapter"),
        held_back=MEANT,
        places=(
            place(TOOL, "changed", was='"raises": true', now=r'\{"is_error": true, "text": "Error: [^"]*"\}'),
            place(f"{TOOL}.text", "changed", holds=r.fewer_lines),
            *_order("ns_list[].paths[]"),
        ),
    ),
    Deviation(
        rule="flagged: a name with a blank at its end can be reached",
        instead="An address names exactly what it says.",
        test=_CONTEXT + "test_a_name_with_a_blank_at_its_end_can_be_reached",
        flagged=True, areas=("context-tool",), given=_given(r'"path": "[^"]*[ \t]"'),
        places=(place(f"{TOOL}.is_error", "changed", was="^true$", now="false"),),
        follows=(place(f"{TOOL}.must_mention", "changed", now=r" +\d+\t[^\n]*"),),
    ),
    Deviation(
        rule="flagged: a memory key never looks like a directory",
        instead="An address that ends in a slash is no entry.",
        test=_MEMORY_TOOLS + "test_keys_that_lead_elsewhere_are_refused_by_every_name",
        flagged=True, areas=("context-tool",), given=_given(r'memory/[^"]*/"|"key": "[^"]*/"'),
        places=(place(f"{TOOL}.is_error", "changed", was="^false$", now="true"),),
        follows=(
            place(f"{TOOL}.must_mention", "changed", now=ERROR),
            place(f"{TOOL}.text", "changed", now=r"context://memory/[\w/]* is empty\."),
        ),
    ),
    # Tool selection and skills
    Deviation(
        rule="W29: names are unique", instead="A second tool of a name is refused.",
        test=_PRUNER + "test_names_are_unique_across_tools_and_namespaces",
        flagged=True, areas=("pruner", "tools-mode"), held_back=MEANT,
        places=(
            place("(register_tools|register_namespaces|register_toolkits|all_tools|pruner_compile|compile)[]",
                  "raised", now=r"ToolError: [^\n]*"),
            *_order("(all_tools|pruner_compile|compile)[].(tools|tool_names)[]"),
        ),
    ),
    Deviation(
        rule="W29: pruning by task goes by words, not by parts of them",
        instead="`file` is not found in `profile`, and `run bash` finds `run_bash`.",
        test=_PRUNER + "test_pruning_by_task_goes_by_whole_words",
        areas=("pruner",),
        places=(
            *_order("(prune_by_task|prune_by_task_and_allowlist)[].(tools|removed)[]"),
            place("(prune_by_task|prune_by_task_and_allowlist)[].kept", "changed"),
        ),
        fits=r.by_words,
    ),
    Deviation(
        rule="design §11: flat tools, namespaces and toolkits combine",
        instead="Flat tools are shown too; a namespace without actions is not.",
        test=_PRUNER + "test_flat_tools_namespaces_and_toolkits_are_shown_together",
        areas=("pruner",),
        places=(
            place("(pruner_compile|compile)[].(tools|tool_names)[]", "unexpected", now=r'\{"name": "\w+", "has_description": (true|false).*\}|\w+'),
            place("pruner_compile[].tools[]", "missing", was=r'"enum": \[\]'),
        ),
        given=_given("register_namespaces|register_toolkits"),
    ),
    Deviation(
        rule="W29: a namespace documents what its schema says",
        instead="Types and descriptions that are not plain are told as a person would.",
        test=_PRUNER + "test_a_namespace_documents_its_actions_as_a_person_would",
        areas=("pruner",), given=_given("register_namespaces"),
        places=(_text("pruner_compile[].tools[].description", r.same_actions),),
    ),
    Deviation(
        rule="W15: the toolkit directory is escaped", instead="A toolkit cannot forge another.",
        test=_PRUNER + "test_a_toolkit_cannot_forge_another",
        areas=("pruner",), given=_given("register_toolkits"),
        places=(_text("pruner_compile[].directory_xml", r.escaped),),
    ),
    Deviation(
        rule="design §11: the toolkit directory is in the prompt",
        instead="The model can read which toolkits there are.",
        test=_PRUNER + "test_flat_tools_namespaces_and_toolkits_are_shown_together",
        areas=("pruner",), given=_given("register_toolkits"),
        places=(
            place("compile[].messages[]", "unexpected",
                  now=r'\{"role": "system", "content": "<available_toolkits>\\n.*\\n</available_toolkits>"\}'),
        ),
    ),
    Deviation(
        rule="spec/4 messages-empty: a request without messages is refused",
        instead="One clear error instead of a request that nobody accepts.",
        test=_EMPTY,
        places=(
            place("compile[]", "raised", was=r'"messages": \[\]',
                  now=r"UnsendableError: No request for `\w+` can be made of this input:\n- there is no message at all[^\n]*"),
        ),
    ),
    Deviation(
        rule="W16, issue 5: the gate judges the action that a call resolves to, by the case rules of pruning",
        instead="What is blocked stays blocked under every spelling and namespace.",
        test=_GATE + "test_a_rule_refuses_what_it_names_by_whatever_way_it_is_called",
        areas=("pruner",), given=_given("set_blocked_tools"),
        places=(place("check_tool_call[].allowed", "changed", was="^true$", now="false"),),
        follows=(
            place("events[].log[]", "unexpected",
                  now=r'\{"kind": "event", "event": "pruner:tool-blocked", "payload": \{"name": "[^"]+"\}\}'),
        ),
    ),
    Deviation(
        rule="W31: quotes are honoured, and an indented fence does not end the front matter",
        instead="The front matter is read as YAML.",
        test=_SKILL_FILES + "test_front_matter_ends_at_a_fence_no_deeper_than_the_first",
        flagged=True, areas=("skill-file", "skill"), given=_given("SKILL.md"),
        places=(
            place("load_skill[].skill.metadata.*", "changed", holds=r.texts, now=ANY),
            place("load_skill[].skill.metadata.*[]", "changed", "missing", "unexpected"),
            place("load_skill[].skill.metadata.*", "unexpected"),
            place("load_skill[].skill.instructions", "changed", holds=r.shorter_in_front),
        ),
        fits=r.of_front_matter,
    ),
    Deviation(
        rule="W30: one pass, literal", instead="What is put in is never looked at again.",
        test=_SKILL_RENDER + "test_what_is_put_in_is_never_looked_at_again",
        flagged=True, areas=("skill-render",), given=_given(r'"args": "[^"]*\$|\\"[^"]*\$'),
        places=(place("render_skill[].instructions", "changed", now=r".*\$.*"),),
        fits=r.filled,
    ),
    Deviation(
        rule="design §7: no tag is cut in the middle", instead="A listing of any length is well formed.",
        test=_SKILL_RENDER + "test_the_xml_listing_is_well_formed_at_every_length",
        areas=("skill-listing",),
        places=(place("format_skill_listing[].text", "changed", was=r"^<skills>.*\.\.\.$",
                      now=r"<skills>(\n  <skill [^<]*</skill>)*\n?</skills>"),),
    ),
)  # fmt: skip
