"""Where the store scenarios record what we do better on purpose: which, by which rule, shown where.

`W<n>` is the number in the weak list of the contract's page on persistence, retrieval and tools;
`flagged` is the judgement that the record carries itself; `BR-<n>` is a case reported from the
field; the rest names a section of the design.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class StoreDeviation(NamedTuple):
    """Scenarios that part from the record, the rule they follow, the test that shows the better."""

    ids: tuple[str, ...]
    rule: str
    test: str


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

STORE_DEVIATIONS: Final = (
    # Store and backends
    StoreDeviation(
        ("A09", "A10"),
        "design §9: search, compare and swap and append are abilities of the built-in backends",
        _BACKENDS + "test_search_puts_the_better_answer_first",
    ),
    StoreDeviation(
        ("A13", "E20", "E21"),
        "W11: every key keeps its place and its content through snapshot and restore",
        _MEMORY + "test_a_snapshot_brings_entries_back_in_their_order_without_notices",
    ),
    StoreDeviation(
        ("A15",),
        "W9: what is read is a copy",
        _BACKENDS + "test_callers_never_share_an_entry_with_the_store",
    ),
    StoreDeviation(
        ("A16",),
        "W8: a sync call decides before the backend is touched",
        "tests/persistence/test_namespace.py::"
        "test_a_sync_call_on_an_async_backend_is_refused_before_it_starts",
    ),
    StoreDeviation(
        ("A17",),
        "W18: a wrapped flat store keeps other namespaces out of memory",
        _COMPAT + "test_a_wrapped_flat_store_keeps_other_namespaces_out_of_memory",
    ),
    StoreDeviation(
        ("B07",),
        "W28: every cleanup runs with its own caps",
        "tests/persistence/test_eviction.py::test_concurrent_cleanups_each_keep_their_own_caps",
    ),
    StoreDeviation(
        ("B08",),
        "W25: reconcile knows sizes and times from the listing",
        "tests/persistence/test_eviction.py::test_reconcile_adopts_with_true_sizes_and_times",
    ),
    StoreDeviation(
        ("C03", "C04"),
        "W6: a damaged entry is a state of its own, never absent and never written over",
        _CONTEXT + "test_a_damaged_entry_is_named_and_never_written_over",
    ),
    StoreDeviation(
        ("C05",),
        "W17: a name with a dot in front is listed, found and injected like any other",
        _CONTEXT + "test_dots_in_a_name_are_no_climbing",
    ),
    StoreDeviation(
        ("C07",),
        "W12: links are not followed",
        "tests/persistence/test_file_system.py::"
        "test_links_lead_nowhere_neither_on_read_nor_on_write",
    ),
    StoreDeviation(
        ("C08",),
        "W3, W21: names that trouble a file system are stored, and scratch files do not stay",
        _CONTEXT + "test_names_that_trouble_file_systems_are_stored_and_read_back",
    ),
    StoreDeviation(
        ("C12",),
        "W10: the turn counter survives a restart",
        _LIFETIMES + "test_turns_go_on_after_a_restart",
    ),
    StoreDeviation(
        ("C16",),
        "W14: a flat directory gives nothing of others",
        "tests/persistence/test_file_system.py::test_a_flat_directory_gives_nothing_of_others",
    ),
    StoreDeviation(
        ("C17", "C18"),
        "W13: a climbing or foreign address is nothing",
        _OFFLOADER + "test_a_foreign_or_climbing_address_is_nothing",
    ),
    StoreDeviation(
        ("C19",),
        "W5: a content address is verified before it is trusted",
        _OFFLOADER + "test_a_damaged_copy_is_noticed_on_reading_and_mended_on_writing",
    ),
    StoreDeviation(
        ("C20",),
        "W1: the backend is asked before a write is skipped",
        _OFFLOADER + "test_a_text_that_somebody_removed_is_written_again",
    ),
    StoreDeviation(
        ("D05",),
        "W32: construction touches no disk",
        _OFFLOADER + "test_nothing_is_created_on_disk_before_something_is_stored",
    ),
    # Memory
    StoreDeviation(
        ("E04",),
        "BR-094: what has expired is absent for everybody",
        _LIFETIMES + "test_what_has_expired_is_absent_for_everybody",
    ),
    StoreDeviation(
        ("E05",),
        "W10: None clears a lifetime, a new one replaces the other kind",
        _LIFETIMES + "test_none_clears_a_lifetime_and_a_new_one_replaces_the_other_kind",
    ),
    StoreDeviation(
        ("E11",),
        "W15: text in the memory block is escaped",
        _RENDERING + "test_every_entry_reads_back_as_it_was_and_no_other_is_there",
    ),
    StoreDeviation(
        ("E23",),
        "W34: memory is part of a snapshot on every backend, read entry by entry where it has to be",
        "tests/pipeline/test_snapshot_stores.py::test_memory_goes_from_backend_to_backend_in_its_order",
    ),
    StoreDeviation(
        ("E22",),
        "W34: a snapshot holds everything that the next compile depends on",
        _MEMORY + "test_a_snapshot_brings_entries_back_in_their_order_without_notices",
    ),
    StoreDeviation(
        ("E24",),
        "W7: an entry of somebody else starts counting at 0",
        _MEMORY + "test_an_entry_of_somebody_else_is_shown_and_starts_counting",
    ),
    StoreDeviation(
        ("E27",),
        "W2: of two creates at once one wins",
        _MEMORY + "test_of_two_creates_at_once_one_wins",
    ),
    StoreDeviation(
        ("E28",),
        "W22: a hook that raises never breaks a tool call",
        _MEMORY_TOOLS + "test_a_hook_that_raises_never_breaks_a_call",
    ),
    StoreDeviation(
        ("E33",),
        "W7: metadata that makes no sense never fails a compile",
        _MEMORY + "test_metadata_that_makes_no_sense_is_taken_as_absent_and_warned_about_once",
    ),
    # Offloading
    StoreDeviation(
        ("F06",),
        "W27: lengths and cuts are in characters, never in halves of them",
        _OFFLOADER + "test_a_cut_never_splits_a_character",
    ),
    StoreDeviation(
        ("F13",),
        "W20: a scheme that shadows the addresses of other namespaces is refused",
        _OFFLOADER + "test_settings_are_judged_when_they_are_made",
    ),
    # The context tool
    StoreDeviation(
        ("G07",),
        "W26: listings are in the order of code points",
        _CONTEXT + "test_listings_are_in_the_order_of_code_points",
    ),
    StoreDeviation(
        ("G13",), "W35: a line is a whole number", _CONTEXT + "test_a_line_is_a_whole_number"
    ),
    StoreDeviation(
        ("G17",),
        "W27: a snippet is where the match is",
        _SEARCH + "test_a_snippet_is_where_the_match_is_whatever_lower_case_does_to_lengths",
    ),
    StoreDeviation(
        ("G27",),
        "W5: what is stored under its content cannot be changed",
        _CONTEXT + "test_offloaded_output_is_shown_as_it_is_and_cannot_be_changed",
    ),
    StoreDeviation(
        ("G29",),
        "W25: a search does not count as use",
        _SEARCH + "test_a_search_does_not_count_as_use",
    ),
    StoreDeviation(
        ("G35",),
        "W2: of two creates at once the second reads that it exists",
        _CONTEXT + "test_of_two_creates_at_once_the_second_reads_that_it_exists",
    ),
    StoreDeviation(
        ("G36",),
        "W2: no edit is ever lost silently",
        _CONTEXT + "test_no_edit_is_ever_lost_silently",
    ),
    StoreDeviation(
        ("G38",),
        "W4: a rename asks whether the store can delete before it copies",
        _CONTEXT + "test_a_rename_of_what_changed_meanwhile_is_taken_back",
    ),
    StoreDeviation(
        ("G40",),
        "flagged: a name with a blank at its end can be reached",
        _CONTEXT + "test_a_name_with_a_blank_at_its_end_can_be_reached",
    ),
    StoreDeviation(
        ("G41",),
        "flagged: a memory key never looks like a directory",
        _MEMORY_TOOLS + "test_keys_that_lead_elsewhere_are_refused_by_every_name",
    ),
    # Tool selection and skills
    StoreDeviation(
        ("H07", "I06"),
        "W29: names are unique",
        _PRUNER + "test_names_are_unique_across_tools_and_namespaces",
    ),
    StoreDeviation(
        ("I01", "I02"),
        "W29: pruning by task goes by words, not by parts of them",
        _PRUNER + "test_pruning_by_task_goes_by_whole_words",
    ),
    StoreDeviation(
        ("I08",),
        "design §11: flat tools, namespaces and toolkits combine",
        _PRUNER + "test_flat_tools_namespaces_and_toolkits_are_shown_together",
    ),
    StoreDeviation(
        ("I09",),
        "W29: a namespace documents what its schema says",
        _PRUNER + "test_a_namespace_documents_its_actions_as_a_person_would",
    ),
    StoreDeviation(
        ("I10",),
        "W15: the toolkit directory is escaped",
        _PRUNER + "test_a_toolkit_cannot_forge_another",
    ),
    StoreDeviation(
        ("I14",),
        "W16: the gate judges the action that a call resolves to",
        _GATE + "test_a_rule_refuses_what_it_names_by_whatever_way_it_is_called",
    ),
    StoreDeviation(
        ("J09", "J10"),
        "W31: quotes are honoured, and an indented fence does not end the front matter",
        _SKILL_FILES + "test_front_matter_ends_at_a_fence_no_deeper_than_the_first",
    ),
    StoreDeviation(
        ("J17",),
        "W30: one pass, literal",
        _SKILL_RENDER + "test_what_is_put_in_is_never_looked_at_again",
    ),
    StoreDeviation(
        ("J18",),
        "design §7: no tag is cut in the middle",
        _SKILL_RENDER + "test_the_xml_listing_is_well_formed_at_every_length",
    ),
    StoreDeviation(
        ("I13",),
        "W16, issue 5: the gate follows the same case rules as pruning",
        _GATE + "test_a_rule_refuses_what_it_names_by_whatever_way_it_is_called",
    ),
)
