"""FileSystemBackend: readable files that nothing outside can be reached through."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from context_chef.errors import AddressError, CorruptStoreError, SettingsError, StoreError
from context_chef.persistence import (
    FLAT_VFS_LAYOUTS,
    FileSystemBackend,
    FileSystemLayout,
    Store,
    StoredEntry,
)
from context_chef.persistence.directories import Directory

ENTRY = StoredEntry(content="x", meta={"createdAt": 1, "updatedAt": 2})


def files_in(place: Path) -> list[str]:
    found = (path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    return sorted(path for path in found if not path.endswith(".lock"))


def test_nothing_is_made_before_the_first_write(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path / "root")
    backend.read("notes", "a")
    backend.list("notes")
    backend.delete("notes", "a")
    backend.search("notes", "x")

    assert list(tmp_path.iterdir()) == []


def test_ordinary_names_are_their_own_file_names(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path)
    for ns, path in (("notes", "dir/sub/plan é.md"), ("vfs", "vfs_1.txt"), ("archive", "s.json")):
        backend.write(ns, path, StoredEntry(content='"ü"\n', meta={"tag": "t", "createdAt": 1}))

    assert files_in(tmp_path) == ["archive/s.json", "notes/dir/sub/plan é.md", "vfs/vfs_1.txt"]
    note = (tmp_path / "notes/dir/sub/plan é.md").read_text("utf-8")
    assert note == '{"content":"\\"ü\\"\\n","meta":{"tag":"t","createdAt":1}}'
    assert (tmp_path / "vfs/vfs_1.txt").read_bytes() == '"ü"\n'.encode()


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "ok").write_text('{"content":"fine","meta":{"createdAt":1,"updatedAt":2,"x":3}}')
    (notes / "nometa").write_text('{"content":"bare"}')
    (notes / "half").write_text('{"content":"ok \\ud83d end","meta":{}}')
    (notes / "nul").write_text('{"content":"a device elsewhere","meta":{}}')
    (notes / ".hidden").write_text('{"content":"dot","meta":{}}')
    (notes / ("n" * 250)).write_text('{"content":"long","meta":{}}')
    (notes / "100%").write_text('{"content":"percent","meta":{}}')
    backend = FileSystemBackend(tmp_path)

    read = {
        name: backend.read("notes", name) for name in ("ok", "nometa", "half", "nul", ".hidden")
    }

    assert read["ok"] == StoredEntry(content="fine", meta={"createdAt": 1, "updatedAt": 2, "x": 3})
    assert read["nometa"] is not None
    assert set(read["nometa"].meta) == {"createdAt", "updatedAt"}
    assert [entry and entry.content for entry in read.values()][2:] == [
        "ok \ufffd end",
        "a device elsewhere",
        "dot",
    ]
    assert backend.read("notes", "n" * 250).content == "long"  # type: ignore[union-attr] - it is there
    listed = [entry.path for entry in backend.list("notes")]
    assert listed == ["100%", "half", "n" * 250, "nometa", "nul", "ok"]
    backend.write("notes", "nul", ENTRY)
    assert backend.delete("notes", "nul")
    assert backend.read("notes", "nul") is None


@pytest.mark.parametrize("name", ["nul", "CON", "aux.txt", "com1", "dir./x", "trail ", "lpt1.log"])
def test_no_raw_device_or_trimmed_name_is_made(tmp_path: Path, name: str) -> None:
    backend = FileSystemBackend(tmp_path)
    backend.write("notes", name, ENTRY)

    assert name not in files_in(tmp_path / "notes")
    assert [entry.path for entry in backend.list("notes")] == [name]


def test_links_lead_nowhere_neither_on_read_nor_on_write(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text('{"content":"leaked","meta":{}}')
    root = tmp_path / "root"
    (root / "notes").mkdir(parents=True)
    (root / "notes" / "folder").symlink_to(outside)
    (root / "notes" / "file").symlink_to(outside / "secret")
    (root / "linked").symlink_to(outside)
    backend = FileSystemBackend(root)

    for ns, path in (("notes", "folder/secret"), ("notes", "file"), ("linked", "secret")):
        for call in (
            lambda ns=ns, path=path: backend.read(ns, path),
            lambda ns=ns, path=path: backend.write(ns, path, ENTRY),
            lambda ns=ns, path=path: backend.delete(ns, path),
            lambda ns=ns, path=path: backend.append(ns, path, "x"),
            lambda ns=ns, path=path: backend.compare_and_swap(ns, path, None, ENTRY),
        ):
            with pytest.raises(AddressError, match="link"):
                call()
    with pytest.raises(AddressError, match="link"):
        backend.write("notes", "folder/planted", ENTRY)
    assert list(backend.list("notes")) == []
    assert files_in(outside) == ["secret"]
    assert "leaked" in (outside / "secret").read_text()


def test_a_pipe_hides_no_entry_of_its_name(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path)
    (tmp_path / "notes").mkdir()
    os.mkfifo(tmp_path / "notes" / "pipe")
    backend.write("notes", "pipe", ENTRY)

    assert [entry.path for entry in backend.list("notes")] == ["pipe"]
    assert list(backend.read_all("notes")) == ["pipe"]


def test_a_store_stays_where_it_was_when_the_process_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    backend = FileSystemBackend("store")
    backend.write("notes", "a", ENTRY)
    monkeypatch.chdir("elsewhere")

    assert backend.read("notes", "a") == ENTRY


def test_a_linked_lock_file_is_refused_and_not_emptied(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "root" / "notes").mkdir(parents=True)
    (tmp_path / "root" / "notes" / ".lock").symlink_to(victim)

    with pytest.raises(AddressError, match="link"):
        FileSystemBackend(tmp_path / "root").write("notes", "a", ENTRY)
    assert victim.read_text() == "precious"


def test_a_root_that_is_a_link_is_the_callers_own_choice(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    FileSystemBackend(tmp_path / "root").write("notes", "a", ENTRY)

    assert files_in(tmp_path / "real") == ["notes/a"]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "..\\x", "C:\\x", "a\\b"])
def test_a_path_that_leads_outside_is_refused_by_every_method(tmp_path: Path, path: str) -> None:
    backend = FileSystemBackend(tmp_path / "root")
    for call in (
        lambda: backend.read("notes", path),
        lambda: backend.write("notes", path, ENTRY),
        lambda: backend.delete("notes", path),
        lambda: backend.exists("notes", path),
        lambda: backend.append("notes", path, "x"),
        lambda: backend.physical_path("notes", path),
        lambda: backend.restore("notes", {path: ENTRY}),
    ):
        with pytest.raises(AddressError):
            call()
    assert files_in(tmp_path) == []


def test_a_climb_that_stays_inside_is_the_path_it_leads_to(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path)
    backend.write("notes", "a/../b", ENTRY)

    assert backend.read("notes", "b") == ENTRY
    assert backend.read("notes", "./b") == ENTRY


@pytest.mark.parametrize("ns", ["", ".", "..", "a/b", "a\\b"])
def test_a_namespace_that_is_no_plain_name_is_refused(tmp_path: Path, ns: str) -> None:
    with pytest.raises(AddressError):
        FileSystemBackend(tmp_path).write(ns, "a", ENTRY)


@pytest.mark.parametrize("text", ["", "{not json", '{"content":5,"meta":{}}', "[]", "null", "NaN"])
def test_a_damaged_envelope_is_neither_absent_nor_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes").mkdir()
    file = tmp_path / "notes" / "bad"
    file.write_text(text)
    backend = FileSystemBackend(tmp_path)
    backend.write("notes", "good", ENTRY)

    for call in (
        lambda: backend.read("notes", "bad"),
        lambda: backend.write("notes", "bad", ENTRY),
        lambda: backend.append("notes", "bad", "x"),
        lambda: backend.compare_and_swap("notes", "bad", None, ENTRY),
    ):
        with pytest.raises(CorruptStoreError, match=str(file)):
            call()
    assert [entry.path for entry in backend.list("notes")] == ["good"]
    assert [hit.path for hit in backend.search("notes", "x")] == ["good"]
    backend.restore("notes", {"other": ENTRY})
    assert file.read_text() == text
    assert backend.delete("notes", "bad") is True


def test_a_file_and_a_folder_of_one_name_live_together(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path)
    paths = ["a", "a/b", "a/b/c", "d/e", "d"]
    for path in paths:
        backend.write("notes", path, StoredEntry(content=path))

    assert {path: backend.read("notes", path).content for path in paths} == {  # type: ignore[union-attr] - there
        path: path for path in paths
    }
    backend.delete("notes", "a")
    backend.write("notes", "a/z", StoredEntry(content="a/z"))
    assert [entry.path for entry in backend.list("notes")] == ["a/b", "a/b/c", "a/z", "d", "d/e"]
    assert backend.exists("notes", "a/b")
    assert not backend.exists("notes", "a/q")


def test_a_file_system_that_ignores_case_keeps_both_spellings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS and Windows: every lookup takes another case for the same name."""

    def seen(directory: Directory, name: str) -> str:
        names = [listed.name for listed in directory.names()]
        return next((there for there in names if there.casefold() == name.casefold()), name)

    for method in ("kind", "read", "facts", "folder", "remove"):
        original = getattr(Directory, method)

        def blurred(self: Directory, name: str, *args: object, original=original, **more: object):
            return original(self, seen(self, name), *args, **more)

        monkeypatch.setattr(Directory, method, blurred)
    write = Directory.write
    monkeypatch.setattr(
        Directory,
        "write",
        lambda self, name, data, **more: write(self, seen(self, name), data, **more),
    )
    backend = FileSystemBackend(tmp_path)

    for path in ("Plan", "plan", "PLAN", "dir/a", "Dir/a"):
        backend.write("notes", path, StoredEntry(content=path))

    paths = [entry.path for entry in backend.list("notes")]
    assert paths == ["Dir/a", "PLAN", "Plan", "dir/a", "plan"]
    assert [backend.read("notes", path).content for path in paths] == paths  # type: ignore[union-attr] - there
    assert backend.read("notes", "pLAN") is None
    assert backend.delete("notes", "plan") is True
    assert backend.read("notes", "Plan") is not None


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path / "root")
    backend.write("notes", "dir/a", ENTRY)

    for path in [tmp_path / "root", *(tmp_path / "root").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_content_and_no_scratch_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    backend = FileSystemBackend(tmp_path)
    backend.write("notes", "a", StoredEntry(content="OLD"))

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(StoreError, match="free some space"):
        backend.write("notes", "a", StoredEntry(content="NEW"))
    monkeypatch.undo()

    assert FileSystemBackend(tmp_path).read("notes", "a").content == "OLD"  # type: ignore[union-attr] - there
    assert files_in(tmp_path) == ["notes/a"]


def test_a_pipe_in_the_directory_makes_nobody_wait(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    os.mkfifo(tmp_path / "notes" / "pipe")
    backend = FileSystemBackend(tmp_path)

    assert backend.read("notes", "pipe") is None
    assert backend.list("notes") == []


def test_a_listing_goes_segment_by_segment_in_code_point_order(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path)
    written = ["zeta", "10", "9", "B", "é", "_u", "a-b", "a/x", "日本", ".dot"]
    for path in written:
        backend.write("memory", path, ENTRY)

    assert [entry.path for entry in backend.list("memory")] == [
        ".dot", "10", "9", "B", "_u", "a/x", "a-b", "zeta", "é", "日本",
    ]  # fmt: skip


def test_a_flat_directory_gives_nothing_of_others(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path, layouts=FLAT_VFS_LAYOUTS)
    backend.write("vfs", "vfs_1.txt", StoredEntry(content="out"))
    backend.write("archive", "archive_1.json", StoredEntry(content="{}"))
    backend.write("notes", "x", ENTRY)
    (tmp_path / "any.txt").write_text("somebody else's")

    assert files_in(tmp_path) == ["any.txt", "archive_1.json", "notes/x", "vfs_1.txt"]
    assert [entry.path for entry in backend.list("vfs")] == ["vfs_1.txt"]
    for path in ("any.txt", "notes/x", "archive_1.json"):
        assert backend.read("vfs", path) is None
        with pytest.raises(AddressError):
            backend.write("vfs", path, ENTRY)


def test_a_layout_can_name_and_write_files_its_own_way(tmp_path: Path) -> None:
    layout = FileSystemLayout(
        dir="texts",
        encode=lambda path: f"{path}.md",
        decode=lambda file: file.removesuffix(".md") if file.endswith(".md") else None,
        serialize=lambda entry: f"# {entry.content}",
        deserialize=lambda text, times: (
            StoredEntry(content=text[2:]) if text.startswith("# ") else None
        ),
    )
    backend = FileSystemBackend(tmp_path, layouts={"notes": layout})
    backend.write("notes", "a/b", StoredEntry(content="hello"))
    (tmp_path / "texts" / "broken.md").write_text("no heading")
    (tmp_path / "texts" / "other.txt").write_text("not ours")

    assert (tmp_path / "texts/a/b.md").read_text() == "# hello"
    assert [entry.path for entry in backend.list("notes")] == ["a/b"]
    with pytest.raises(CorruptStoreError):
        backend.read("notes", "broken")


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(SettingsError, match="'xml'"):
        FileSystemLayout(format="xml")  # type: ignore[arg-type] - on purpose
    with pytest.raises(SettingsError, match="decode"):
        FileSystemLayout(encode=str)
    with pytest.raises(SettingsError, match="together"):
        FileSystemLayout(serialize=lambda entry: entry.content)
    with pytest.raises(SettingsError, match="lock_timeout"):
        FileSystemBackend("x", lock_timeout=-1)


def test_a_lock_held_elsewhere_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    from filelock import FileLock

    (tmp_path / "notes").mkdir()
    with (
        FileLock(tmp_path / "notes" / ".lock"),
        pytest.raises(StoreError, match="locked by another process"),
    ):
        FileSystemBackend(tmp_path, lock_timeout=0.05).write("notes", "a", ENTRY)


def test_threads_of_one_backend_share_a_directory(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path, durable=False)
    threads = [
        threading.Thread(target=lambda: [backend.append("notes", "log", "x") for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert backend.read("notes", "log").content == "x" * 80  # type: ignore[union-attr] - there


def test_search_sees_what_another_process_wrote(tmp_path: Path) -> None:
    here, elsewhere = FileSystemBackend(tmp_path), FileSystemBackend(tmp_path)
    here.write("notes", "a", StoredEntry(content="apricot"))
    assert [hit.path for hit in here.search("notes", "apricot")] == ["a"]

    for content in ("banana1", "banana2", "banana3"):
        elsewhere.write("notes", "a", StoredEntry(content=content))
        assert [hit.path for hit in here.search("notes", content)] == ["a"]
    elsewhere.delete("notes", "a")
    assert here.search("notes", "banana3") == []


def test_a_store_on_files_says_where_an_entry_is(tmp_path: Path) -> None:
    view = Store(FileSystemBackend(tmp_path)).namespace("notes")
    view.put_sync("nul", "x")

    assert view.physical_path_sync("a/b") == str(tmp_path / "notes/a/b")
    assert Path(view.physical_path_sync("nul") or "").is_file()


def test_a_layout_may_choose_a_folder_anywhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    layouts = {"notes": FileSystemLayout(dir=str(elsewhere)), "vfs": FileSystemLayout(dir="x/y")}
    backend = FileSystemBackend(tmp_path / "root", layouts=layouts)
    backend.write("notes", "a", ENTRY)
    backend.write("vfs", "b", ENTRY)

    assert files_in(tmp_path) == ["elsewhere/a", "root/x/y/b"]
    assert backend.physical_path("notes", "a") == str(elsewhere / "a")


@pytest.mark.parametrize("name", ["x%~1f2e3d4c", "x%~1f2e3d4cd", "x%+", "a%2Eb%~00000000"])
def test_a_file_of_earlier_versions_that_looks_like_a_mark_is_itself(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / name).write_text('{"content":"kept","meta":{"createdAt":1}}')
    backend = FileSystemBackend(tmp_path)

    assert [listed.path for listed in backend.list("notes")] == [name]
    entry = backend.read("notes", name)
    assert entry is not None
    assert entry.content == "kept"
    backend.write("notes", name, ENTRY)
    assert backend.read("notes", name) == ENTRY
    assert list(backend.read_all("notes")) == [name]
    assert backend.delete("notes", name)
    assert backend.read("notes", name) is None


def test_a_piece_of_a_long_name_is_no_folder_of_its_own(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path)
    backend.write("notes", "long." * 90, ENTRY)
    (piece,) = (path.name for path in (tmp_path / "notes").iterdir() if path.is_dir())
    inner = next((tmp_path / "notes" / piece).iterdir())
    path = inner.relative_to(tmp_path / "notes").as_posix()

    assert backend.read("notes", path) is None
    assert not backend.delete("notes", path)
    assert backend.read("notes", "long." * 90) == ENTRY
