"""Makes `TABLE.md`: which test stands for which field case.

    python -m tests.cases.table

A test in this folder stands for the cases that its name begins with (`test_br_101_and_103_…`).
Where a case is about a part that has its own tests, they are named in `ELSEWHERE`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.cases.notation import case_ids

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "TABLE.md"

HEAD = """\
# Field case → test

Each case of `field-cases.json` is a test with its right outcome. Made by `python -m tests.cases.table`; a test
holds it to the code.

| case | test |
|---|---|
"""

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "BR-066": (
        "../persistence/test_offloader.py::test_a_lone_half_of_a_pair_can_be_stored_and_what_is_shown_can_be_sent",
        "../persistence/test_memory.py::test_an_emoji_in_two_halves_is_put_together",
    ),
    "BR-067": ("../persistence/test_offloader.py::test_a_cut_never_splits_a_character",),
    "BR-070": ("../persistence/test_memory.py::test_an_emoji_in_two_halves_is_put_together",),
    "BR-071": (
        "../retrieval/test_context_tool.py::test_siblings_that_only_begin_like_a_namespace_are_not_it",
    ),
    "BR-072": ("../retrieval/test_context_tool.py::test_dots_in_a_name_are_no_climbing",),
    "BR-077": (
        "../retrieval/test_context_tool.py::test_names_that_trouble_file_systems_are_stored_and_read_back",
    ),
    "BR-081": (
        "../persistence/test_memory.py::test_damaged_files_never_fail_a_compile",
        "../persistence/test_memory.py::test_metadata_of_any_depth_never_fails_a_compile",
    ),
    "BR-082": (
        "../retrieval/test_memory_tools.py::test_keys_that_lead_elsewhere_are_refused_by_every_name",
    ),
    "BR-083": (
        "../retrieval/test_context_tool.py::test_an_edit_works_with_what_view_showed_of_a_text_with_crlf",
        "../retrieval/test_context_tool.py::test_new_lines_in_a_text_with_crlf_end_as_the_others_do",
    ),
    "BR-085": (
        "../retrieval/test_context_tool.py::test_text_is_matched_and_put_in_letter_by_letter",
    ),
    "BR-087": (
        "../persistence/test_offload_messages.py::test_reading_back_is_bounded_and_never_offloaded_again",
    ),
    "BR-089": (
        "../persistence/test_offload_messages.py::test_text_blocks_are_offloaded_and_the_image_beside_them_stays",
    ),
    "BR-091": ("../persistence/test_memory_rendering.py::test_a_value_cannot_close_the_block",),
    "BR-093": (
        "../retrieval/test_memory_tools.py::test_an_existing_key_is_not_overwritten_by_either_name",
    ),
    "BR-094": (
        "../persistence/test_memory_lifetimes.py::test_what_has_expired_is_absent_for_everybody",
    ),
    "BR-123": (
        "../pipeline/test_snapshot_stores.py::test_br_123_bytes_in_state_are_refused_by_name",
    ),
    "BR-124": (
        "../pipeline/test_snapshot_stores.py::test_br_124_what_is_edited_later_does_not_reach_a_snapshot",
    ),
}
"""Tests of other folders, by case."""


def tests_of(identifier: str) -> list[str]:
    """The tests that stand for a case, as `file::name` seen from this folder."""
    number = identifier.removeprefix("BR-")
    found: list[str] = []
    for file in sorted(FOLDER.glob("test_*.py")):
        for name in re.findall(r"^(?:async )?def (test_br_\w+)", file.read_text("utf-8"), re.M):
            numbers = re.match(r"test_br_(\d{3}(?:_and_\d{3})*)_", name)
            if numbers and number in numbers[1].split("_and_"):
                found.append(f"{file.name}::{name}")
    return [*found, *ELSEWHERE.get(identifier, ())]


def table() -> str:
    """The whole page."""
    rows = [
        f"| {case} | {', '.join(f'`{name}`' for name in tests_of(case))} |" for case in case_ids()
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(table(), "utf-8")
