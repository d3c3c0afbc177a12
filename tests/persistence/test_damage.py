"""One damaged entry is a fault of that entry, and what it was is left to people."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from context_chef.errors import CorruptStoreError, StoreError
from context_chef.persistence import (
    FileSystemBackend,
    FileSystemLayout,
    InMemoryBackend,
    SQLiteBackend,
    Store,
    StoredEntry,
)

ENTRY = StoredEntry(content="apricot", meta={"createdAt": 1, "updatedAt": 2})

BAD_ENVELOPES = {
    "nested without an end": '{"content":"x","meta":' + "[" * 100_000,
    "meta nested too deep to be copied": '{"content":"x","meta":{"m":'
    + "[" * 400
    + "]" * 400
    + "}}",
    "a number of too many digits": '{"content":"x","meta":{"n":' + "9" * 10_000 + "}}\xff",
}


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("kind", BAD_ENVELOPES)
def test_a_file_that_cannot_be_decoded_hides_no_other(tmp_path: Path, kind: str) -> None:
    backend = FileSystemBackend(tmp_path)
    backend.write("notes", "good", ENTRY)
    (tmp_path / "notes" / "bad").write_bytes(BAD_ENVELOPES[kind].encode("latin-1"))

    assert [listed.path for listed in backend.list("notes")] == ["good"]
    assert list(backend.read_all("notes")) == ["good"]
    assert [hit.path for hit in backend.search("notes", "apricot")] == ["good"]
    assert len(list(backend.faults())) == 1
    with pytest.raises(CorruptStoreError, match="'bad'"):
        backend.read("notes", "bad")


def test_a_layout_that_raises_damages_its_own_file_only(tmp_path: Path) -> None:
    layout = FileSystemLayout(
        serialize=lambda entry: json.dumps({"c": entry.content}),
        deserialize=lambda text, times: StoredEntry(content=json.loads(text)["c"]),
    )
    backend = FileSystemBackend(tmp_path, layouts={"notes": layout})
    backend.write("notes", "good", ENTRY)
    (tmp_path / "notes" / "bad").write_text("{}")

    assert list(backend.read_all("notes")) == ["good"]
    with pytest.raises(CorruptStoreError, match="KeyError"):
        backend.read("notes", "bad")


BAD_ROWS = {
    "half of its metadata": "meta = '{'",
    "metadata that is no text": "meta = x'00ff'",
    "bytes for content": "content = x'ff00'",
    "content that is no UTF-8": "content = CAST(x'ff61' AS TEXT)",
    "metadata nested too deep": 'meta = \'{"m":' + "[" * 400 + "]" * 400 + "}'",
    "metadata nested without an end": "meta = '" + "[" * 100_000 + "'",
}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_damaged_row_hides_no_other_and_is_not_written_over(
    tmp_path: Path, kind: str, indexed: bool
) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "bad", ENTRY)
    backend.write("notes", "good", ENTRY)
    if indexed:
        assert len(backend.search("notes", "apricot")) == 2
    backend.close()
    db = sqlite3.connect(tmp_path / "store.db")
    db.execute(f"UPDATE entries SET {BAD_ROWS[kind]} WHERE path = 'bad'")
    db.commit()
    db.close()

    assert [listed.path for listed in backend.list("notes")] == ["good"]
    assert [hit.path for hit in backend.search("notes", "apricot")] == ["good"]
    assert [fault for fault in backend.faults() if "'bad'" in fault]
    for change in (
        lambda: backend.write("notes", "bad", ENTRY),
        lambda: backend.append("notes", "bad", "more"),
        lambda: backend.compare_and_swap("notes", "bad", None, ENTRY),
    ):
        with pytest.raises(CorruptStoreError, match="Delete it"):
            change()
    backend.restore("notes", {"new": ENTRY})
    with pytest.raises(CorruptStoreError):
        backend.read("notes", "bad")
    assert list(backend.read_all("notes")) == ["new"]
    assert backend.delete("notes", "bad")
    backend.write("notes", "bad", ENTRY)
    assert len(backend.search("notes", "apricot")) == 2


@pytest.mark.parametrize("kind", ["memory", "files", "database"])
def test_metadata_that_could_not_be_read_back_is_refused(tmp_path: Path, kind: str) -> None:
    backend: InMemoryBackend | FileSystemBackend | SQLiteBackend = InMemoryBackend()
    if kind != "memory":
        on_disk = FileSystemBackend if kind == "files" else SQLiteBackend
        backend = on_disk(tmp_path / "store")
    circle: list[object] = []
    circle += [circle, circle]

    backend.write("notes", "a", StoredEntry(content="x", meta={"m": deep(60)}))
    assert Store(backend).namespace("notes").get_sync("a") is not None
    for meta in ({"m": deep(70)}, {"m": deep(5000)}, {"m": circle}):
        with pytest.raises(StoreError, match="levels deep"):
            backend.write("notes", "b", StoredEntry(content="x", meta=meta))
