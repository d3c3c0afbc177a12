"""Whatever a model sends, it gets a text back, and nothing outside the root is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_chef.errors import StoreError
from context_chef.persistence import FileSystemBackend, InMemoryBackend, SQLiteBackend, Store
from context_chef.retrieval import dispatch_context_tool_sync
from context_chef.retrieval.editing import insert_lines, replace_passage
from context_chef.retrieval.location import parse_location
from tests.retrieval.hosts import Tools

EXAMPLES = int(os.environ.get("CONTEXT_CHEF_FUZZ_EXAMPLES", "300"))

PIECES = st.sampled_from(
    [
        "..", ".", "/", "//", "\\", "notes", "memory", "vfs", "archive", "context://", "CONTEXT://",
        "file:///", "C:", "a", "b", "é", "\u0301", "😀", "\x00", "\n", " ", "\ufeff", "\ud800", "~",
        "%2e%2e", "#L1", "#L0-L-1", "#C5", "nul", "CON", "x" * 300, "vfs_0123456789abcdef.txt",
        "/etc/passwd", "/memories", "/memories/", ".tmp_1_a", "_index.json", ".lock",
    ]
)  # fmt: skip
PATHS = st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=30)
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | PATHS
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
COMMANDS = st.sampled_from(
    ["view", "create", "str_replace", "insert", "delete", "rename", "search", "undo_edit", "", None]
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "command": COMMANDS | ODD,
        "path": PATHS | ODD,
        "file_text": st.text(max_size=30) | ODD,
        "old_str": st.text(max_size=5) | ODD,
        "new_str": st.text(max_size=5) | ODD,
        "insert_line": st.integers(-2, 5) | ODD,
        "insert_text": st.text(max_size=10) | ODD,
        "new_path": PATHS | ODD,
        "old_path": PATHS | ODD,
        "query": st.text(max_size=10) | ODD,
        "view_range": st.lists(st.integers(-2, 9), max_size=3) | ODD,
        "description": st.text(max_size=10) | ODD,
        "uri": PATHS | ODD,
        "key": PATHS | ODD,
        "value": st.text(max_size=10) | ODD,
        "action": st.sampled_from(["update", "delete", "zap"]) | ODD,
    },
)
ARGUMENTS = FIELDS | FIELDS.map(lambda fields: json.dumps(fields)[:-1]) | ODD | st.text(max_size=40)
NAMES = st.sampled_from(
    ["context", "context", "context", "create_memory", "modify_memory", "recall_context", "memory",
     "new_context"]
)  # fmt: skip
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=6)
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def _outside(root: Path) -> set[str]:
    return {str(path) for path in root.parent.rglob("*") if root not in (path, *path.parents)}


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", ["memory", "files", "sqlite"])
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=SLOW)
@given(calls=CALLS)
def test_every_call_is_answered_with_text(
    kind: str, calls: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.mktemp("fuzz")
    (base / "etc").mkdir()
    (base / "etc" / "passwd").write_text("secret-of-the-host")
    root = base / "root" / "store"
    before = _outside(base / "root")
    if kind == "files":
        backend: Any = FileSystemBackend(root, durable=False)
    elif kind == "sqlite":
        root.parent.mkdir()
        backend = SQLiteBackend(root.parent / "db")
    else:
        backend = InMemoryBackend()
    tools = Tools(
        backend,
        native_memory=True,
        writable=["memory", "notes", "vfs", "archive", "a", "C:"],
        view_chars=400,
    )
    tools.memory.set_sync("a", "one\ntwo")
    tools.put("notes/a", "one\r\ntwo\r\n")
    tools.offloader.offload_sync("hello world")

    for name, arguments in calls:
        answer = dispatch_context_tool_sync(tools.host, {"name": name, "arguments": arguments})

        assert isinstance(answer, str)
        assert "secret-of-the-host" not in answer
        assert "Nothing more is known" not in answer  # what stands for an error of our own
        answer.encode()
    assert _outside(base / "root") == before
    assert tools.memory.compile_artifacts_sync().block.count("</memory>") <= 1


@settings(max_examples=EXAMPLES * 4, deadline=None)
@given(PATHS)
def test_an_address_that_is_accepted_stays_in_its_namespace(path: str) -> None:
    from context_chef.retrieval.arguments import Mistake

    try:
        location = parse_location(path)
    except Mistake:
        return
    assert ".." not in location.path.split("/")
    assert "/" not in location.ns
    Store(InMemoryBackend()).namespace(location.ns)


@settings(max_examples=EXAMPLES, deadline=None)
@given(PATHS, st.text(max_size=10))
def test_the_store_refuses_or_keeps_what_it_is_given(path: str, content: str) -> None:
    view = Store(InMemoryBackend()).namespace("notes")
    try:
        view.put_sync(path, content)
    except StoreError:
        return
    entry = view.get_sync(path)
    assert entry is not None


@given(
    st.text(alphabet="ab\n\r", max_size=30),
    st.text(alphabet="ab\n\r", min_size=1, max_size=4),
    st.text(alphabet="ab\n\r\\g<0>$&", max_size=6),
)
def test_a_replacement_changes_one_passage_and_nothing_else(
    content: str, old: str, new: str
) -> None:
    from context_chef.retrieval.arguments import Mistake

    try:
        edited = replace_passage(content, old, new, address="x", exact_line_endings=True)
    except Mistake:
        assert content.count(old) != 1
        return
    assert content.count(old) == 1
    assert edited.content == content.replace(old, new)


@given(
    st.text(alphabet="ab\n", max_size=20), st.integers(-2, 12), st.text(alphabet="c\n", max_size=5)
)
def test_an_insertion_adds_lines_and_changes_none(content: str, at: int, text: str) -> None:
    from context_chef.retrieval.arguments import Mistake

    lines = content.split("\n") if content else []
    try:
        edited = insert_lines(content, at, text, address="x")
    except Mistake:
        assert not 0 <= at <= len(lines)
        return
    assert edited.content.split("\n") == [*lines[:at], *text.split("\n"), *lines[at:]]
