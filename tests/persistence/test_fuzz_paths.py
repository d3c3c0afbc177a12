"""No path, however odd, raises anything but AddressError, collides with another or leads outside.

Runs some hundred examples a property; `CONTEXT_CHEF_FUZZ_EXAMPLES=20000` runs more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_chef.errors import AddressError
from context_chef.persistence import FileSystemBackend, SQLiteBackend, Store, StoredEntry
from context_chef.persistence.names import alternate, names_of, segment_of

EXAMPLES = int(os.environ.get("CONTEXT_CHEF_FUZZ_EXAMPLES", "300"))
pytestmark = pytest.mark.timeout(3600)
many = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

PIECES = st.sampled_from(
    ["..", ".", "", "a", "A", "b", "nul", "con.txt", "%", "%2E", "%2F", "%-", "%+", "%~1f2e3d4c",
     ".lock", ".tmp_0123456789abcdef", " ", "x ", "x.", "\\", "\x00", "\ud800", "é", "e\u0301",
     "日本", "😀", ":", "*", "n" * 120, "~", "C:", "vfs_2cf24dba5fb0a30e.txt"]
)  # fmt: skip
SEGMENTS = st.one_of(
    PIECES,
    st.text(st.characters(exclude_characters="/"), max_size=8),
    st.lists(PIECES, min_size=1, max_size=4).map("".join).map(lambda text: text.replace("/", "")),
)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=5).map("/".join)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "canary").write_text("untouched")
        (Path(folder) / "root").mkdir()
        yield Path(folder)


@many
@given(SEGMENTS, st.booleans())
def test_a_name_on_disk_stands_for_one_segment(segment: str, folder: bool) -> None:
    names = names_of(segment)

    assert segment_of(names, folder=folder) == segment
    assert segment_of(alternate(names, segment, folder=folder), folder=folder) == segment
    for name in (*names, *alternate(names, segment, folder=folder)):
        name.encode()
        assert 0 < len(name.encode()) <= 255
        assert name not in (".", "..")
        assert not name.startswith(".")
        assert "/" not in name
        assert "\x00" not in name


@many
@given(SEGMENTS, SEGMENTS)
def test_two_segments_never_share_a_name(one: str, other: str) -> None:
    def all_names(segment: str) -> set[tuple[str, ...]]:
        names = names_of(segment)
        return {names, *(alternate(names, segment, folder=folder) for folder in (False, True))}

    assert one == other or not all_names(one) & all_names(other)


@many
@given(PATHS, PATHS)
def test_files_take_any_path_or_refuse_it(place: Path, one: str, other: str) -> None:
    backend = FileSystemBackend(place / "root", durable=False)
    kept: dict[str, str] = {}
    for number, path in enumerate((one, other)):
        try:
            backend.write("notes", path, StoredEntry(content=str(number)))
        except AddressError:
            continue
        kept[path] = str(number)
    for path, content in kept.items():
        entry = backend.read("notes", path)
        assert entry is not None
        # Two ways to write one path, such as a/../b and b, are one entry.
        assert entry.content == content or len(backend.list("notes")) == 1
    assert len(backend.list("notes")) <= 2
    for path in kept:
        backend.delete("notes", path)

    assert backend.list("notes") == []
    # Emptied folders stay, and thousands of them would make every later example slower.
    shutil.rmtree(place / "root" / "notes", ignore_errors=True)
    assert sorted(entry.name for entry in place.iterdir()) == ["canary", "root"]
    assert (place / "canary").read_text() == "untouched"


@settings(many, max_examples=max(EXAMPLES // 5, 50))
@given(st.dictionaries(PATHS, st.text(max_size=20), max_size=5))
def test_rows_take_any_path_or_refuse_it(place: Path, data: dict[str, str]) -> None:
    view = Store(SQLiteBackend(place / "root" / "store.db")).namespace("notes")
    kept: dict[str, str] = {}
    for path, content in data.items():
        try:
            view.put_sync(path, content)
        except AddressError:
            continue
        kept[path] = content

    assert {path: entry.content for path, entry in view.entries_sync().items()} == kept
    for path in kept:
        assert view.delete_sync(path)
