"""Deliberate deviations of the readers: provider messages in, our messages out."""

from __future__ import annotations

from typing import Any

from tests.parity import relations as r
from tests.parity.table import Deviation, place

A = "tests/adaptation"
HISTORY = "$.(history[]|system[])"
BODY = "$(.results[]|).payload"
MEANT = "the record's own kind of weakness; its scenario is among those held back"
PASSES = "the scenario here passes; others of its kind are held back"

_ROUND_TRIP = "tests/adaptation/test_cassettes_openai.py::test_an_accepted_chat_request_is_the_same_conversation_afterwards"
_BLOCKS = f"{A}/test_read_anthropic.py::test_blocks_keep_their_order_and_everything_they_say"
_ATTACHMENT = r'\{(?:(?:, )?"(?:mediaType|data|filename)": "[^"]*")+\}'


def _role(name: str) -> Any:
    return lambda was, now: (now or was)["role"] == name


INPUT_DEVIATIONS = (
    Deviation(
        rule="W-IN-1", instead="Developer and function roles are read.",
        test=f"{A}/test_read_openai.py::test_leading_instructions_are_the_system_and_later_ones_stay_in_place",
        flags=("W-IN-1",), kinds=("input", "convert"),
        places=(place(HISTORY, "unexpected"),),
    ),
    Deviation(
        rule="W-IN-2", instead="Parts of an answer are read.",
        test=f"{A}/test_read_openai.py::test_every_kind_of_part_becomes_a_block",
        flags=("W-IN-2",), kinds=("input", "convert"),
        places=(place(f"{HISTORY}.content", "changed", was="^$"),),
    ),
    Deviation(
        rule="W-IN-3", instead="File ids, titles, recordings and documents are carried.",
        test=f"{A}/test_read_anthropic.py::test_media_of_every_source_are_told_apart",
        flags=("W-IN-3",), kinds=("input", "convert"),
        places=(
            place(f"{HISTORY}.attachments[].data", "changed", holds=r.same_data, now=".*"),
            place(f"{HISTORY}.attachments[].data", "changed"),
            place(f"{HISTORY}.attachments[].mediaType", "changed", was=r"\*|^application/pdf$",
                  now=r"[a-z]+/[\w.+-]+"),
            place(f"{HISTORY}.attachments[]", "unexpected", now=_ATTACHMENT),
            place(f"{HISTORY}.attachments[]", "missing"),
            place(f"{HISTORY}.content", "changed", holds=r.shorter),
        ),
    ),
    Deviation(
        rule="W-IN-4", instead="Leading system messages are the system prompt whatever follows.",
        test=f"{A}/test_read_openai.py::test_leading_instructions_are_the_system_and_later_ones_stay_in_place",
        flags=("W-IN-4",), kinds=("input", "convert"),
        places=(place(HISTORY, "unexpected", holds=_role("system")),),
    ),
    Deviation(
        rule="W-IN-5", instead="A system prompt may be a string.",
        test=f"{A}/test_read_anthropic.py::test_a_system_prompt_is_a_string_a_block_or_blocks",
        flags=("W-IN-5",), kinds=("input", "convert"),
        places=(
            place("$.system[].content", "unexpected", "changed"),
            place("$.system[]", "missing", was=r'^\{"role": "system"\}$'),
            place("$.(system|history)", "unexpected"),
        ),
        follows=(place("$.(throws|mentions)", "missing"),),
    ),
    Deviation(
        rule="W-IN-6", instead="Blocks keep their order and everything they say.", test=_BLOCKS,
        flags=("W-IN-6",), kinds=("input", "convert"), held_back=PASSES,
        places=(
            place(f"{HISTORY}(.attachments|.attachments[]|.is_error|.content)", "unexpected"),
            place(f"{HISTORY}.content", "changed", holds=r.same_lines),
        ),
    ),
    Deviation(
        rule="W-IN-7", instead="Every thinking block is kept.", test=_BLOCKS,
        flags=("W-IN-7",), kinds=("input", "convert"), held_back=MEANT,
        places=(
            place(f"{HISTORY}.thinking(.thinking|.signature|)", "changed", "unexpected"),
            place(f"{BODY}.messages[].content[]", "unexpected",
                  holds=lambda was, now: now.get("type") in ("thinking", "redacted_thinking")),
        ),
    ),
    Deviation(
        rule="W-IN-8", instead="Native call ids are used.",
        test=f"{A}/test_read_gemini.py::test_a_response_takes_the_call_with_its_id",
        flags=("W-IN-8",), kinds=("input", "convert"), held_back=MEANT,
        places=(
            place(f"{HISTORY}(.tool_call_id|.tool_calls[].id|.content)", "changed"),
            place(HISTORY, "missing", "unexpected", holds=_role("tool")),
        ),
    ),
    Deviation(
        rule="W-IN-9", instead="Thoughts are not the answer.",
        test=f"{A}/test_read_gemini.py::test_thoughts_are_not_the_answer",
        flags=("W-IN-9",), kinds=("input", "convert"),
        places=(
            place(f"{HISTORY}.content", "changed", holds=r.shorter_in_front),
            place(f"{HISTORY}.thinking", "unexpected"),
        ),
    ),
    Deviation(
        rule="W-IN-10", instead="Reasoning stays where it stood.",
        test=f"{A}/test_read_responses.py::test_items_are_written_back_as_they_were_in_their_order",
        flags=("W-IN-10",), kinds=("input", "convert"),
        places=(
            place(HISTORY, "unexpected",
                  holds=lambda was, now: now["role"] == "assistant" and "_openai_reasoning" in now),
        ),
        follows=(place(f"{HISTORY}._openai_reasoning", "missing"),),
    ),
    Deviation(
        rule="W-IN-11", instead="A malformed entry is refused by its place, or noted.",
        test=f"{A}/test_read_gemini.py::test_what_cannot_be_read_is_refused_by_its_place",
        flags=("W-IN-11",), kinds=("input", "convert"), held_back=PASSES,
        places=(
            place("$", "raised", now=r"InputError: \$\[\d+\][^\n]*"),
            place("$.(system|history)", "unexpected"),
        ),
        follows=(place("$.(throws|mentions)", "missing"),),
    ),
    Deviation(
        rule="W-ARG-1", instead="Arguments that are not there are none: an empty object.",
        test=f"{A}/test_anthropic.py::test_whatever_the_model_wrote_as_arguments_becomes_an_object",
        flags=("W-ARG-1",), kinds=("input",),
        places=(place(f"{HISTORY}.tool_calls[].function.arguments", "unexpected", now=r"\{\}"),),
    ),
    Deviation(
        rule="W-ROLE-1, W-IR-1", instead="Roles and content are checked at the edge, by index and field.",
        test="tests/ir/test_rows.py::test_wrong_input_names_the_place_and_the_value",
        flags=("W-ROLE-1", "W-IR-1"),
        places=(
            place("$(.results[]|)", "raised", now=r"InputError: \$\[\d+\][^\n]*"),
            place(f"{BODY}.(system|systemInstruction|instructions)", "unexpected"),
        ),
        follows=(
            place(f"{BODY}.messages[]", "missing", was=r'^\{"role": "developer"'),
            place(f"{BODY}.messages[](.content|.content[].text|.parts[].text)", "changed",
                  holds=r.shorter_in_front),
        ),
    ),
    # Histories
    Deviation(
        rule="W-EVH-1", instead="Notes for missing results stand at their place among the real ones.",
        test="tests/ir/test_repair.py::test_a_note_stands_at_its_place_among_the_real_results",
        flags=("W-EVH-1",), kinds=("ensure_valid_history",), held_back=MEANT,
        places=(place("$[]", "missing", "unexpected", holds=_role("tool")),),
    ),
    Deviation(
        rule="W-EVH-2", instead="Late results move back, duplicates go, call order holds.",
        test="tests/ir/test_repair.py::test_a_late_result_moves_back_behind_its_call",
        flags=("W-EVH-2",), kinds=("ensure_valid_history",),
        places=(place("$[]", "missing", holds=_role("tool")),),
        follows=(
            place("$[].content", "changed", was=r"^\{\{MISSING_RESULT_PLACEHOLDER\}\}$"),
            place("$[].name", "missing"),
        ),
    ),
    Deviation(
        rule="W-EVH-2", instead="Results stand in call order.",
        test="tests/ir/test_repair.py::test_results_stand_in_call_order",
        kinds=("input",), areas=("input-gemini",),
        places=(place(HISTORY, "unexpected", holds=_role("tool")),),
        fits=r.moved_result,
        follows=(place(HISTORY, "missing", holds=_role("tool")),),
    ),
    # Rules of the design that the records do not flag
    Deviation(
        rule="design §2: lossless", instead="Names and breakpoints are carried.", test=_ROUND_TRIP,
        kinds=("input",),
        places=(
            place("$.history[].name", "unexpected"),
            place(f"{HISTORY}._cache_breakpoint", "unexpected", now="true"),
        ),
    ),
    Deviation(
        rule="design §2: lossless",
        instead="Calls of custom tools are calls, and a missing result of theirs gets its note.",
        test=_ROUND_TRIP, kinds=("input",), areas=("input-openai",),
        places=(
            place("$.history[].tool_calls[]", "unexpected",
                  now=r'\{"id": "[^"]*", "type": "function", "function": \{"name": "[^"]*", "arguments": "[^"]*"\}\}'),
        ),
        fits=lambda scenario, difference: r.custom_call(scenario, difference.now["id"]),
        follows=(
            place("$.history[]", "unexpected",
                  now=r'\{"role": "tool", "content": "\{\{MISSING_RESULT_PLACEHOLDER\}\}".*\}'),
        ),
    ),
    Deviation(
        rule="design §2: lossless",
        instead="Reasoning and the calls behind it are one answer of the model, in their order.",
        test=_ROUND_TRIP, kinds=("input",), areas=("input-openai-responses",),
        places=(
            place("$.history[]._openai_reasoning[]", "unexpected"),
            place("$.history[]._openai_reasoning", "unexpected"),
        ),
        follows=(
            place("$.history[].tool_calls", "unexpected"),
            place("$.history[]", "missing", was=r'^\{"role": "assistant", "content": ""'),
        ),
    ),
)  # fmt: skip
