"""The `context` tool on notes and offloaded output, as a model uses it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from context_chef.errors import UnknownToolError
from context_chef.ir.tools import ToolRequest
from context_chef.persistence import FileSystemBackend, InMemoryBackend, SQLiteBackend, StoredEntry
from context_chef.retrieval import dispatch_context_tool, dispatch_context_tool_sync
from tests.retrieval.hosts import Tools


def test_a_note_is_created_viewed_changed_moved_found_and_deleted() -> None:
    tools = Tools()

    assert tools("create", "notes/plan", file_text="one\ntwo") == "Created context://notes/plan."
    assert tools("view", "notes/plan") == "     1\tone\n     2\ttwo"
    tools("str_replace", "context://notes/plan", old_str="two", new_str="2")
    tools("insert", "/notes/plan", insert_line=2, insert_text="three")
    assert tools("view", "notes/plan") == "     1\tone\n     2\t2\n     3\tthree"
    tools("rename", "notes/plan", new_path="notes/done/plan")
    assert tools("view", "notes") == "context://notes/ (1 entry):\n- context://notes/done/plan"
    assert "context://notes/done/plan#L3: " in tools("search", "notes/", query="three")
    tools("delete", "notes/done/plan")
    assert tools("view", "notes/") == "context://notes/ is empty."


def test_metadata_moves_along_and_edits_are_stamped() -> None:
    tools = Tools()
    tools("create", "notes/a", file_text="x")
    tools.clock.now += 100

    tools("str_replace", "notes/a", old_str="x", new_str="ü")

    entry = tools.store.namespace("notes").get_sync("a")
    assert entry is not None
    assert entry.meta == {
        "createdAt": tools.clock.now - 100,
        "updatedAt": tools.clock.now,
        "bytes": 2,
    }


# ── Views and pages ───────────────────────────────────────────────────────────────────────────


def test_a_range_may_be_in_the_address_or_beside_it() -> None:
    tools = Tools()
    tools.put("notes/n", "\n".join(f"l{n}" for n in range(1, 41)))
    expected = "     2\tl2\n     3\tl3\n\n[Lines 2 to 3 of 40. To go on, view context://notes/n#L4]"

    assert tools("view", "notes/n#L2-L3") == expected
    assert tools("view", "notes/n#L2-3") == expected
    assert tools("view", "notes/n", view_range=[2, 3]) == expected
    assert tools("view", "notes/n", view_range="[2, 3]") == expected
    assert tools("view", "notes/n", view_range=[40, -1]) == "    40\tl40\n\n[Lines 40 to 40 of 40.]"
    assert tools.call("recall_context", {"uri": "context://notes/n#L2-L3"}) == expected


@pytest.mark.parametrize("wrong", [[0, 1], [3, 2], [1, 2, 3], ["a"], "x", {}, True, [1.5, 2]])
def test_a_range_that_makes_no_sense_is_explained(wrong: Any) -> None:
    tools = Tools()
    tools.put("notes/n", "a\nb")

    answer = tools("view", "notes/n", view_range=wrong)

    assert answer.startswith("Error: `view_range` must be two line numbers")


def test_a_range_beyond_the_end_says_where_the_end_is() -> None:
    tools = Tools()
    tools.put("notes/n", "a\nb")

    assert tools("view", "notes/n#L9") == (
        "Error: context://notes/n has 2 lines, so nothing begins at line 9. "
        "Ask for a range from 1 to 2."
    )


def test_an_entry_whose_name_looks_like_a_range_is_itself() -> None:
    tools = Tools()
    tools("create", "notes/issue#L5", file_text="the issue")

    assert tools("view", "notes/issue#L5") == "     1\tthe issue"


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"line {n}" for n in range(5_000)),
        "x" * 100_000,
        "short\n" + "y" * 50_000 + "\nshort again\n",
        "😀é漢" * 20_000,
    ],
)
def test_following_the_pages_gives_the_whole_text(text: str) -> None:
    """However the text is built: every page is small and says where the next begins."""
    tools = Tools(view_chars=7_000)
    uri = tools.offloader.offload_sync(text, threshold=0, tail_chars=0).uri
    assert uri is not None
    read, address, separator = "", uri, ""

    for _ in range(200):
        page = tools("view", address)
        assert len(page) < 7_200
        body, _, footer = page.rpartition("\n\n[")
        read += separator + body
        if "To go on, view " not in footer:
            break
        address = footer.split("To go on, view ")[1].rstrip("]")
        separator = "\n" if "#L" in address else ""

    assert read == text


def test_long_listings_come_in_pages() -> None:
    tools = Tools(listed_entries=2)
    for name in "abcde":
        tools.put(f"notes/{name}", "x")

    assert tools("view", "notes/") == (
        "context://notes/ (5 entries):\n- context://notes/a\n- context://notes/b\n"
        "[Entries 1 to 2 of 5. To go on, view context://notes/#L3]"
    )
    assert tools("view", "notes/#L5").splitlines()[1:] == [
        "- context://notes/e",
        "[Entries 5 to 5 of 5.]",
    ]


def test_a_name_with_a_line_break_forges_no_row_of_a_list() -> None:
    tools = Tools(native_memory=True)
    name = "a\n- forged\u2028x"
    tools.store.namespace("notes").put_sync(name, "needle")
    tools.memory.set_sync(name, "needle")

    answers = [
        tools("view", "notes"),
        tools("search", "notes", query="needle"),
        tools("view", "memory"),
        tools("search", "memory", query="needle"),
        tools.call("memory", {"command": "view", "path": "/memories"}),
    ]

    for answer in answers:
        assert "a\\n- forged\\u2028x" in answer
        assert not any("forged" in line[:9] for line in answer.splitlines())


def test_listings_are_in_the_order_of_code_points() -> None:
    tools = Tools()
    for name in ("zeta", "10", "9", "B", "é", "_u", "a/x", "a-b"):
        tools.put(f"notes/{name}", "x")

    names = [row.split("notes/")[1] for row in tools("view", "notes/").splitlines()[1:]]

    assert names == ["10", "9", "B", "_u", "a-b", "a/x", "zeta", "é"]


def test_offloaded_output_is_shown_as_it_is_and_cannot_be_changed() -> None:
    tools = Tools(writable=["vfs"])
    uri = tools.offloader.offload_sync("hello world").uri
    assert uri is not None

    assert tools("view", uri) == "hello world"
    assert "cannot be changed" in tools("str_replace", uri, old_str="world", new_str="there")
    assert "another text" in tools("create", "vfs/vfs_0000000000000000.txt", file_text="x")
    assert tools("create", "vfs/mine", file_text="a\nb") == "Created context://vfs/mine."
    assert tools("view", "vfs/mine") == "a\nb"


def test_a_scheme_of_its_own_is_understood_for_reading() -> None:
    tools = Tools(vfs={"uri_scheme": "blob://"})
    uri = tools.offloader.offload_sync("hello world").uri
    assert uri is not None
    assert uri.startswith("blob://")

    assert tools("view", uri) == "hello world"
    assert tools("view", uri.replace("blob://", "context://vfs/")) == "hello world"
    assert tools("delete", uri).startswith("Error: ")


# ── Edits ─────────────────────────────────────────────────────────────────────────────────────


def test_text_is_matched_and_put_in_letter_by_letter() -> None:
    """BR-085: nothing in it is a pattern."""
    tools = Tools()
    tools.put("notes/n", "A old B (x+) [y]\n")

    tools("str_replace", "notes/n", old_str="old", new_str="\\g<0> \\1 $& $$ $` \\n")
    tools("str_replace", "notes/n", old_str="(x+) [y]", new_str="ok")
    tools("insert", "notes/n", insert_line=0, insert_text="100% {0} %s \\d")

    assert tools.stored("notes/n") == "100% {0} %s \\d\nA \\g<0> \\1 $& $$ $` \\n B ok\n"


def test_an_edit_works_with_what_view_showed_of_a_text_with_crlf() -> None:
    """BR-083: the edited lines get the text's own line ends, the others keep theirs."""
    tools = Tools()
    tools.put("notes/n", "one\r\ntwo\r\nthree\r\n")

    tools("str_replace", "notes/n", old_str="one\ntwo", new_str="1\n2")
    tools("insert", "notes/n", insert_line=1, insert_text="1.5")

    assert tools.stored("notes/n") == "1\r\n1.5\r\n2\r\nthree\r\n"


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("two", "2\n2.5", "one\r\n2\r\n2.5\r\n"),
        ("two", "2\r\n2.5", "one\r\n2\r\n2.5\r\n"),
        ("two\r\n", "2\n3\n", "one\r\n2\r\n3\r\n"),
        ("\ntwo", "\n2\n2.5", "one\r\n2\r\n2.5\r\n"),
    ],
)
def test_new_lines_in_a_text_with_crlf_end_as_the_others_do(old: str, new: str, after: str) -> None:
    """BR-083, where the passage is a single line."""
    tools = Tools()
    tools.put("notes/n", "one\r\ntwo\r\n")

    tools("str_replace", "notes/n", old_str=old, new_str=new)

    assert tools.stored("notes/n") == after


def test_line_ends_can_be_taken_exactly() -> None:
    tools = Tools(exact_line_endings=True)
    tools.put("notes/n", "one\r\ntwo\r\n")

    assert "Its lines end in CRLF." in tools("str_replace", "notes/n", old_str="one\ntwo")
    assert tools.stored("notes/n") == "one\r\ntwo\r\n"


def test_a_passage_that_occurs_more_than_once_is_counted_and_placed() -> None:
    tools = Tools()
    tools.put("notes/n", "a\nb\na\nc\na")

    answer = tools("str_replace", "notes/n", old_str="a", new_str="z")

    assert answer.startswith(
        "Error: old_str occurs 3 times in context://notes/n (at lines 1, 3, 5)"
    )
    assert tools.stored("notes/n") == "a\nb\na\nc\na"


def test_the_usual_reasons_for_a_missing_passage_are_named() -> None:
    tools = Tools()
    tools.put("notes/n", "if a < b:\n    pass")

    assert "line numbers" in tools("str_replace", "notes/n", old_str="     2\t    pass")
    assert "&lt;" in tools("str_replace", "notes/n", old_str="a &lt; b")


@pytest.mark.parametrize("value", ["", "0x1", "1e0", "1.0", "one", "1_0", 1.5, True, None, [1], {}])
def test_a_line_is_a_whole_number(value: Any) -> None:
    tools = Tools()
    tools.put("notes/n", "a\nb")

    assert "`insert_line` must be a whole number" in tools(
        "insert", "notes/n", insert_line=value, insert_text="x"
    )


@pytest.mark.parametrize("value", [1, "1", " 1 ", 1.0])
def test_a_whole_number_may_be_text(value: Any) -> None:
    tools = Tools()
    tools.put("notes/n", "a\nb")

    tools("insert", "notes/n", insert_line=value, insert_text="x")

    assert tools.stored("notes/n") == "a\nx\nb"


def test_a_rename_needs_a_free_full_address_in_the_same_namespace() -> None:
    tools = Tools()
    tools.put("notes/a", "x")
    tools.put("notes/b", "y")

    assert "such as context://notes/c" in tools("rename", "notes/a", new_path="c")
    assert "exists already" in tools("rename", "notes/a", new_path="notes/b")
    assert "exists already" in tools("rename", "notes/a", new_path="notes/a")
    assert "is a directory" in tools("rename", "notes/a", new_path="notes/sub/")
    assert "context://vfs/x" in tools("rename", "notes/a", new_path="vfs/x")
    assert tools.stored("notes/a") == "x"


def test_a_name_with_a_blank_at_its_end_can_be_reached() -> None:
    tools = Tools()
    tools.put("notes/trail ", "T")

    assert tools("view", "notes/trail ") == "     1\tT"
    tools("str_replace", "notes/trail ", old_str="T", new_str="t")
    assert tools.stored("notes/trail ") == "t"
    assert tools("delete", "notes/trail ") == "Deleted context://notes/trail ."


# ── Two at once ───────────────────────────────────────────────────────────────────────────────


def backends(tmp_path: Any) -> list[Any]:
    return [
        InMemoryBackend(),
        FileSystemBackend(tmp_path / "files"),
        SQLiteBackend(tmp_path / "db"),
    ]


async def test_of_two_creates_at_once_the_second_reads_that_it_exists(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for backend in backends(tmp_path):
        tools = Tools(backend)
        calls = [
            {
                "name": "context",
                "arguments": {"command": "create", "path": "notes/r", "file_text": t},
            }
            for t in ("one", "two")
        ]

        answers = await asyncio.gather(*(dispatch_context_tool(tools.host, c) for c in calls))

        assert answers[0] == "Created context://notes/r."
        assert answers[1].startswith("Error: context://notes/r exists already.")
        assert tools.stored("notes/r") == "one"


async def test_no_edit_is_ever_lost_silently(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Two agents, two stores, one place: an edit is in the text, or its author reads why not."""
    for make in (lambda: FileSystemBackend(tmp_path / "f"), lambda: SQLiteBackend(tmp_path / "d")):
        one, two = Tools(make()), Tools(make())
        one("create", "notes/n", file_text="base")

        first = one("str_replace", "notes/n", old_str="base", new_str="base A")
        second = two("str_replace", "notes/n", old_str="base", new_str="B")
        third = two("str_replace", "notes/n", old_str="base\n", new_str="C")

        assert first.startswith("Replaced")
        assert second.startswith("Replaced")
        assert third.startswith("Error: old_str was not found")
        assert one.stored("notes/n") == "B A"


async def test_a_rename_of_what_changed_meanwhile_is_taken_back() -> None:
    """The copy is removed again, and the newer text stays where it was."""
    tools = Tools()
    tools.put("notes/a", "old")
    view = tools.store.namespace("notes")

    class Meddling(InMemoryBackend):
        def compare_and_swap(self, ns: str, path: str, expected: Any, new: Any) -> bool:
            done = super().compare_and_swap(ns, path, expected, new)
            if path == "b" and new is not None:
                super().write("notes", "a", StoredEntry(content="newer"))
            return done

    tools = Tools(Meddling())
    tools.put("notes/a", "old")
    answer = tools("rename", "notes/a", new_path="notes/b")

    assert "was changed by somebody else" in answer
    assert tools.stored("notes/a") == "newer"
    assert tools.stored("notes/b") is None
    assert view is not None


# ── Nothing raises ────────────────────────────────────────────────────────────────────────────


class Failing(InMemoryBackend):
    """Fails in every way a backend can."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def read(self, ns: str, path: str) -> StoredEntry | None:
        raise self._error

    def list(self, ns: str, prefix: str = "") -> Any:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device", "/secret/place"), RuntimeError("boom"), KeyError("k")],
)
def test_a_failing_backend_becomes_text_that_keeps_the_hosts_secrets(error: Exception) -> None:
    tools = Tools(Failing(error))
    for command, more in (
        ("view", {}),
        ("create", {"file_text": "x"}),
        ("str_replace", {"old_str": "x"}),
        ("insert", {"insert_line": 0, "insert_text": "x"}),
        ("rename", {"new_path": "notes/b"}),
    ):
        answer = tools(command, "notes/a", **more)

        assert answer.startswith("Error: context://notes/a: ")
        assert "secret" not in answer
    assert tools.log.warnings != []


def test_a_damaged_entry_is_named_and_never_written_over(tmp_path) -> None:  # type: ignore[no-untyped-def]
    tools = Tools(FileSystemBackend(tmp_path))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "bad").write_bytes(b'{"content":"almost')

    for answer in (
        tools("view", "notes/bad"),
        tools("create", "notes/bad", file_text="new"),
        tools("str_replace", "notes/bad", old_str="a"),
    ):
        assert answer.startswith("Error: context://notes/bad is stored but damaged")
        assert str(tmp_path) not in answer
    assert (tmp_path / "notes" / "bad").read_bytes() == b'{"content":"almost'


@pytest.mark.parametrize(
    "raw", ["{", "[]", '"x"', "5", "null", [], 5, True, "{'command':'view'}", '{"a":NaN}', b"{}"]
)
def test_arguments_that_are_no_object_are_explained(raw: Any) -> None:
    tools = Tools()

    answer = dispatch_context_tool_sync(tools.host, {"name": "context", "arguments": raw})

    assert answer.startswith("Error: the arguments ")


@pytest.mark.parametrize("raw", [None, "", "  ", "\ufeff", {}])
def test_no_arguments_at_all_ask_for_the_command(raw: Any) -> None:
    """BR-097."""
    tools = Tools()
    for name in ("context", "create_memory", "modify_memory", "recall_context"):
        answer = dispatch_context_tool_sync(tools.host, {"name": name, "arguments": raw})

        assert answer.startswith("Error: `")
        assert "is missing" in answer


def test_the_last_of_duplicate_keys_counts() -> None:
    tools = Tools()
    tools.put("notes/o", "X")

    raw = '{"command":"delete","command":"view","path":"notes/o"}'

    assert tools.call("context", raw) == "     1\tX"


def test_calls_come_in_every_form_an_sdk_has() -> None:
    tools = Tools()
    tools.put("notes/o", "X")
    arguments = {"command": "view", "path": "notes/o"}
    forms: list[Any] = [
        ToolRequest(name="context", arguments=arguments),
        {"name": "context", "arguments": json.dumps(arguments)},
        {"name": "context", "input": arguments},
        {"id": "c1", "function": {"name": "context", "arguments": json.dumps(arguments)}},
    ]

    assert {dispatch_context_tool_sync(tools.host, form) for form in forms} == {"     1\tX"}


async def test_a_call_that_is_not_ours_is_refused_by_name() -> None:
    with pytest.raises(UnknownToolError, match="'bash'"):
        await dispatch_context_tool(Tools().host, {"name": "bash"})


def test_new_context_is_asked_for_once_its_arguments_can_be_read() -> None:
    tools = Tools()

    assert tools.call("new_context", "{bad").startswith("Error: ")
    assert tools.asked_for_new_context == 0
    assert "new context window" in tools.call("new_context", '{"why": "x"}')
    assert tools.asked_for_new_context == 1


# ── What may be written ───────────────────────────────────────────────────────────────────────


def test_writing_is_for_memory_and_notes_unless_the_host_says_otherwise() -> None:
    answer = Tools()("create", "other/x", file_text="y")

    assert answer == (
        "Error: context://other/x is read-only for you. "
        "You can write under context://memory/, context://notes/."
    )
    assert Tools(writable=["other"])("create", "other/x", file_text="y").startswith("Created")
    assert "Nothing in the store can be written" in Tools(writable=[])("delete", "notes/x")


def test_siblings_that_only_begin_like_a_namespace_are_not_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """BR-071."""
    (tmp_path / "ctx-secret" / "notes").mkdir(parents=True)
    (tmp_path / "ctx-secret" / "notes" / "a").write_text('{"content":"secret","meta":{}}')
    tools = Tools(FileSystemBackend(tmp_path / "ctx"))

    for path in ("context://notesX/a", "notes_old/a", "/notes-evil/a", "../ctx-secret/notes/a"):
        assert tools("create", path, file_text="x").startswith("Error: ")
        assert "secret" not in tools("view", path).replace("ctx-secret", "")
    assert not (tmp_path / "ctx").exists() or list((tmp_path / "ctx").rglob("a")) == []


@pytest.mark.parametrize(
    "path", ["notes/site/[...part]/index.md", "notes/v1..v2.diff", "notes/..hidden"]
)
def test_dots_in_a_name_are_no_climbing(path: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """BR-072."""
    tools = Tools(FileSystemBackend(tmp_path))

    assert tools("create", path, file_text="x") == f"Created context://{path}."
    assert tools("view", path) == "     1\tx"
    assert f"context://{path}" in tools("view", "notes/")


@pytest.mark.parametrize(
    "name", ["nul", "CON", "aux.txt", "com1", "dir./x", "trail ", "n" * 300, "a/b", "a"]
)
def test_names_that_trouble_file_systems_are_stored_and_read_back(name: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """BR-077, and names that are a file here and a folder there."""
    tools = Tools(FileSystemBackend(tmp_path))
    tools("create", "notes/a", file_text="file and folder")

    answer = tools("create", f"notes/{name}", file_text="x")

    if answer.startswith("Error: "):
        assert name == "a"
        return
    address = answer.removeprefix("Created ").removesuffix(".")
    assert tools("view", address) == "     1\tx"
    assert tools("delete", address).startswith("Deleted")
    assert not {"nul", "con", "aux.txt", "com1"} & {
        path.name.lower() for path in tmp_path.rglob("*") if path.is_file()
    }
