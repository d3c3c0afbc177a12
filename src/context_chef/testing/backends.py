"""StorageBackendSuite: what every storage backend promises, as tests to subclass."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from context_chef.errors import AddressError
from context_chef.persistence import StorageBackend, Store, StoredEntry
from context_chef.persistence.backend import supports

NS: Final = "notes"
CONTENTS: Final = (
    "",
    "plain",
    "ends with a newline\n",
    "crlf\r\nand lone\rand\u2028separators\x85",
    "\ufeffmark first, tab\tand nul \x00 inside",
    "日本語 العربية 😀 é",
    "x" * 300_000,
)
AWKWARD_NAMES: Final = (
    "plan",
    "Plan",
    "dir/plan",
    "dir/plan/deeper",
    "dir",
    ".hidden",
    "dir/.hidden",
    "k/",
    "nul",
    "CON",
    "aux.txt",
    "com1",
    "dot.",
    "blank ",
    " blank",
    "100%",
    "%2Ehidden",
    "a%2Fb",
    "a..b",
    "...",
    "[...part]/index.md",
    "caf\u00e9",
    "cafe\u0301",
    "日本/語",
    "😀",
    "n" * 255,
    "n" * 256,
    "n" * 1000,
    "colon:name",
    "que?ry*",
    "tab\tname",
    "__proto__",
    "10",
    "9",
)
CLIMBING_PATHS: Final = ("..", "../out", "a/../../out", "../notes2/x", "/etc/x", "..\\out", "C:\\x")
SPAN: Final = (
    '{"version":1,"messages":[{"role":"user","content":"the printer is on fire"},'
    '{"role":"assistant","content":"use the extinguisher"},'
    '{"role":"user","content":"thanks, all good"}]}'
)


class StorageBackendSuite:
    """Subclass it, say how to make your backend, and let pytest run it.

        class TestMine(StorageBackendSuite):
            def make(self) -> StorageBackend:
                return MyBackend()

    Needs nothing but pytest. What the backend does not offer is not asked of it. Sync and async
    backends run the same checks; the calls of one test share one event loop.
    """

    order: ClassVar[Literal["code-point", "segments", "insertion"]] = "code-point"
    """Which order `list` promises: of whole paths, of path segments, or of first writing."""

    def make(self) -> StorageBackend:
        """A new backend that holds nothing. Called once a test."""
        raise TypeError("Say how to make your backend: override `make`.")

    def reopen(self) -> StorageBackend | None:
        """The storage of this test's `make` as another process would open it; None if it cannot."""
        return None

    def opener(self) -> Callable[[], StorageBackend] | None:
        """Something picklable that opens this test's storage in another process."""
        return None

    def setup_method(self) -> None:
        self._runner = asyncio.Runner()
        self.backend: Any = self.make()

    def teardown_method(self) -> None:
        close = getattr(self.backend, "close", None)
        if callable(close):
            self.ask(close())
        self._runner.close()

    # Reading and writing

    def test_what_is_absent_is_none_and_not_listed(self) -> None:
        assert self.read("nothing") is None
        assert self.paths() == []
        assert self.ask(self.backend.delete(NS, "nothing")) is False

    def test_what_is_written_is_read_back_to_the_character(self) -> None:
        for number, content in enumerate(CONTENTS):
            self.write(f"c{number}", content)

        for number, content in enumerate(CONTENTS):
            assert self.content(f"c{number}") == content, f"content {number} came back changed"

    def test_metadata_comes_back_as_it_was_given(self) -> None:
        meta = {
            "createdAt": 1_700_000_000_000,
            "updatedAt": 1_700_000_000_001,
            "tag": "é",
            "deep": {"list": [1, None, True, "x"]},
            "ratio": 0.5,
        }
        self.ask(self.backend.write(NS, "a", StoredEntry(content="x", meta=meta)))

        entry = self.read("a")

        assert entry is not None
        assert dict(entry.meta) == meta

    def test_the_last_write_wins_and_delete_removes(self) -> None:
        self.write("a", "one")
        self.write("a", "two, longer")
        assert self.content("a") == "two, longer"
        self.write("a", "3")
        assert self.content("a") == "3"

        assert self.ask(self.backend.delete(NS, "a")) is True

        assert self.read("a") is None
        assert self.paths() == []

    def test_namespaces_never_see_each_other(self) -> None:
        self.write("same", "mine")
        self.ask(self.backend.write("other", "same", _entry("theirs")))

        assert self.content("same") == "mine"
        self.ask(self.backend.delete("other", "same"))
        assert self.content("same") == "mine"
        assert self.paths("", ns="other") == []

    def test_callers_never_share_an_entry_with_the_store(self) -> None:
        given: dict[str, Any] = {"createdAt": 1, "updatedAt": 1, "deep": ["kept"]}
        self.ask(self.backend.write(NS, "a", StoredEntry(content="x", meta=given)))
        given["deep"].append("changed by the writer")
        seen = self.read("a")
        assert seen is not None
        seen.meta["deep"].append("changed by a reader")

        again = self.read("a")

        assert again is not None
        assert again.meta["deep"] == ["kept"]

    def test_half_a_surrogate_pair_is_no_reason_to_fail(self) -> None:
        self.write("half", "ok \ud83d end")
        self.write("whole", "x\ud83d\ude00y")

        half, whole = self.content("half"), self.content("whole")

        assert half.startswith("ok ")
        assert half.endswith(" end")
        assert whole in ("x😀y", "x\ufffd\ufffdy", "x\ud83d\ude00y")

    # Names

    def test_every_name_is_refused_or_kept_apart_from_every_other(self) -> None:
        accepted: list[str] = []
        for name in AWKWARD_NAMES:
            try:
                self.write(name, f"content of {name}")
            except AddressError:
                assert self.read_or_refused(name) is None
            else:
                accepted.append(name)

        assert {name: self.content(name) for name in accepted} == {
            name: f"content of {name}" for name in accepted
        }
        assert sorted(self.paths()) == sorted(accepted)
        for name in accepted:
            assert self.ask(self.backend.delete(NS, name)) is True
        assert self.paths() == []

    def test_no_path_leads_into_another_namespace(self) -> None:
        self.ask(self.backend.write("notes2", "x", _entry("theirs")))
        self.ask(self.backend.write("out", "out", _entry("theirs")))

        for path in CLIMBING_PATHS:
            try:
                self.write(path, "planted")
            except AddressError:
                continue
            assert self.content(path) == "planted"

        assert [self.paths("", ns="notes2"), self.paths("", ns="out")] == [["x"], ["out"]]
        assert self.content("x", ns="notes2") == "theirs"

    # Listing

    def test_a_prefix_is_plain_text_and_no_directory(self) -> None:
        for path in ("plan", "planets/mars", "other"):
            self.write(path, path)

        assert sorted(self.paths("plan")) == ["plan", "planets/mars"]
        assert self.paths("planets/") == ["planets/mars"]
        assert self.paths("PLAN") == []
        assert self.paths("plan%") == self.paths("plan_") == self.paths("*") == []

    def test_listings_have_one_order_and_a_rewrite_keeps_it(self) -> None:
        written = ["zeta", "b/x", "b-c", "10", "9", "B", "é", "b", "日本", "_u"]
        for path in written:
            self.write(path, "1")
        for path in reversed(written):
            self.write(path, "2")

        listed = self.paths()

        assert listed == _ordered(written, self.order)
        assert self.paths() == listed

    def test_listings_carry_the_metadata(self) -> None:
        self.ask(
            self.backend.write(
                NS, "a", StoredEntry(content="x", meta={"createdAt": 5, "updatedAt": 6, "tag": "t"})
            )
        )

        (listed,) = self.ask(self.backend.list(NS))

        assert (listed.meta["createdAt"], listed.meta["updatedAt"]) == (5, 6)
        assert listed.meta["tag"] == "t"

    def test_read_all_is_list_and_read_in_one(self) -> None:
        if not self.offers("read_all"):
            return
        for path in ("b", "a", "c/d"):
            self.write(path, path.upper())

        everything = self.ask(self.backend.read_all(NS))

        assert list(everything) == self.paths()
        assert {path: entry.content for path, entry in everything.items()} == {
            "a": "A",
            "b": "B",
            "c/d": "C/D",
        }
        assert list(self.ask(self.backend.read_all(NS, "c"))) == ["c/d"]

    def test_exists_knows_what_is_there(self) -> None:
        if not self.offers("exists"):
            return
        self.write("a", "")

        assert self.ask(self.backend.exists(NS, "a")) is True
        assert self.ask(self.backend.exists(NS, "b")) is False
        assert self.ask(self.backend.exists("other", "a")) is False

    # Changing together

    def test_a_read_never_sees_half_a_write(self) -> None:
        texts = {letter * 20_000 for letter in "abcd"}
        self.write("a", min(texts))

        seen = self.together(
            *(lambda text=text: self.backend.write(NS, "a", _entry(text)) for text in texts),
            *(lambda: self.backend.read(NS, "a") for _ in range(8)),
            times=5,
        )

        read = {entry.content for entry in seen if entry is not None}
        assert read <= texts
        assert self.content("a") in texts

    def test_no_append_is_lost(self) -> None:
        if not self.offers("append"):
            return
        self.together(*(lambda: self.backend.append(NS, "log", "x\n") for _ in range(8)), times=10)

        assert self.content("log") == "x\n" * 80

    def test_append_creates_and_keeps_what_is_known(self) -> None:
        if not self.offers("append"):
            return
        self.ask(self.backend.append(NS, "new", "é"))
        assert self.content("new") == "é"
        old = StoredEntry(content="a", meta={"createdAt": 5, "updatedAt": 6, "tag": "t"})
        self.ask(self.backend.write(NS, "old", old))

        self.ask(self.backend.append(NS, "old", "b\n"))

        entry = self.read("old")
        assert entry is not None
        assert entry.content == "ab\n"
        assert (entry.meta["createdAt"], entry.meta["tag"]) == (5, "t")
        assert entry.meta["updatedAt"] > 6

    def test_a_swap_changes_only_what_it_expects(self) -> None:
        if not self.offers("compare_and_swap"):
            return
        one, two = _entry("one"), _entry("two")

        assert self.swap("a", one, two) is False
        assert self.swap("a", None, one) is True
        seen = self.read("a")
        assert self.swap("a", None, two) is False
        assert self.swap("a", seen, two) is True
        assert self.swap("a", seen, one) is False
        assert self.content("a") == "two"
        assert self.swap("a", seen, None) is False
        assert self.swap("a", self.read("a"), None) is True
        assert self.read("a") is None
        assert self.swap("a", None, None) is True
        assert self.paths() == []

    def test_a_swap_also_minds_the_metadata(self) -> None:
        if not self.offers("compare_and_swap"):
            return
        self.write("a", "same")
        seen = self.read("a")
        self.ask(self.backend.write(NS, "a", StoredEntry(content="same", meta={"createdAt": 9})))

        assert self.swap("a", seen, None) is False

    def test_one_of_many_swaps_wins(self) -> None:
        if not self.offers("compare_and_swap"):
            return
        calls = [
            lambda number=number: self.backend.compare_and_swap(NS, "a", None, _entry(str(number)))
            for number in range(8)
        ]

        won = self.together(*calls)

        assert sorted(won) == [False] * 7 + [True]

    def test_no_update_through_a_store_is_lost(self) -> None:
        view = Store(self.backend).namespace(NS)

        def count(entry: StoredEntry | None) -> StoredEntry:
            return _entry(str(1 + int(entry.content if entry else "0")))

        self.together(*(lambda: view.update("n", count) for _ in range(8)), times=10)

        assert self.content("n") == "80"

    def test_other_processes_lose_nothing_either(self) -> None:
        opener = self.opener()
        if opener is None:
            return
        context = multiprocessing.get_context("spawn")
        workers = [
            context.Process(target=count_in_another_process, args=(opener, 25)) for _ in range(3)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)

        assert [worker.exitcode for worker in workers] == [0, 0, 0]
        assert self.content("n") == "75"
        assert self.content("log").count("line\n") == 75

    # Lasting

    def test_what_was_written_is_there_when_opened_again(self) -> None:
        self.write("dir/a", "kept")
        again = self.reopen()
        if again is None:
            return

        entry = self.ask(again.read(NS, "dir/a"))

        assert entry == self.read("dir/a")

    def test_a_snapshot_is_a_copy_in_order_and_restore_brings_it_back(self) -> None:
        if not self.offers("snapshot") or not self.offers("restore"):
            return
        for path in ("zeta", "10", "2", "b/c"):
            self.write(path, path)
        order = self.paths()
        snapshot = self.ask(self.backend.snapshot(NS))
        self.write("zeta", "changed")
        self.write("late", "gone afterwards")
        self.ask(self.backend.delete(NS, "10"))

        self.ask(self.backend.restore(NS, snapshot))

        assert list(snapshot) == self.paths() == order
        assert {path: self.content(path) for path in order} == {path: path for path in order}

    def test_a_physical_path_is_where_the_entry_is(self) -> None:
        if not self.offers("physical_path"):
            return
        self.write("dir/a", "findable")

        file = self.ask(self.backend.physical_path(NS, "dir/a"))

        assert file is None or "findable" in Path(file).read_text("utf-8")

    # Searching

    def test_search_finds_words_identifiers_and_scripts_without_blanks(self) -> None:
        if not self.offers("search"):
            return
        self.write("code", "def get_user_by_id(self): raise HttpError('ERR_CONN_RESET')")
        self.write("camel", "const requestTimeoutMs = 30")
        self.write("cjk", "会议定于星期三下午在东京举行")
        self.write("prose", "The deployments failed on Tuesday.")

        assert self.found("user by id") == ["code"]
        assert self.found("ERR_CONN_RESET") == ["code"]
        assert self.found("request timeout") == ["camel"]
        assert self.found("东京") == ["cjk"]
        assert self.found("failing deployment") == ["prose"]
        assert self.found("quest") == ["camel"]
        assert self.found("zebra") == self.found("  ") == self.found('"') == []

    def test_search_puts_the_better_answer_first(self) -> None:
        if not self.offers("search"):
            return
        for number in range(20):
            self.write(f"noise{number:02}", "the release notes mention the release again")
        self.write("answer", "the release was blocked by a kerberos outage")

        assert self.found("why was the release blocked by kerberos")[0] == "answer"

    def test_search_pages_and_keeps_to_its_prefix(self) -> None:
        if not self.offers("search"):
            return
        for number in range(9):
            self.write(f"{'in' if number < 6 else 'out'}/{number}", f"needle {number}")

        everything = self.found("needle", prefix="in/", limit=10)
        pages = [self.found("needle", prefix="in/", limit=2, offset=at) for at in (0, 2, 4, 6)]

        assert sorted(everything) == [f"in/{number}" for number in range(6)]
        assert [path for page in pages for path in page] == everything
        assert self.ask(self.backend.search("other", "needle")) == []

    def test_search_sees_every_change(self) -> None:
        if not self.offers("search"):
            return
        self.write("a", "apricot")
        assert self.found("apricot") == ["a"]

        self.write("a", "banana")
        assert (self.found("apricot"), self.found("banana")) == ([], ["a"])
        self.ask(self.backend.delete(NS, "a"))
        assert self.found("banana") == []

    def test_a_hit_in_an_archived_span_names_the_message(self) -> None:
        if not self.offers("search"):
            return
        self.write("span", SPAN)

        (hit,) = self.ask(self.backend.search(NS, "extinguisher"))

        assert (hit.path, hit.message, hit.role) == ("span", 1, "assistant")

    def test_a_snippet_shows_the_place_and_stays_short(self) -> None:
        if not self.offers("search"):
            return
        self.write("long", "日本語😀 " * 3000 + "the needle is here " + "filler " * 3000)

        (hit,) = self.ask(self.backend.search(NS, "needle"))

        assert hit.snippet is not None
        assert "needle" in hit.snippet
        assert len(hit.snippet) <= 400
        hit.snippet.encode()

    # What the checks are written with

    def ask(self, answer: Any) -> Any:
        """The answer of a sync or async backend."""
        return self._runner.run(_awaited(answer)) if inspect.isawaitable(answer) else answer

    def offers(self, capability: str) -> bool:
        return supports(self.backend, capability, NS)

    def read(self, path: str, *, ns: str = NS) -> StoredEntry | None:
        return self.ask(self.backend.read(ns, path))

    def read_or_refused(self, path: str) -> StoredEntry | None:
        try:
            return self.read(path)
        except AddressError:
            return None

    def content(self, path: str, *, ns: str = NS) -> str:
        entry = self.read(path, ns=ns)
        assert entry is not None, f"{path!r} is gone"
        return entry.content

    def write(self, path: str, content: str) -> None:
        self.ask(self.backend.write(NS, path, _entry(content)))

    def paths(self, prefix: str = "", *, ns: str = NS) -> list[str]:
        return [listed.path for listed in self.ask(self.backend.list(ns, prefix))]

    def swap(self, path: str, expected: StoredEntry | None, new: StoredEntry | None) -> bool:
        return self.ask(self.backend.compare_and_swap(NS, path, expected, new))

    def found(self, query: str, **options: Any) -> list[str]:
        return [hit.path for hit in self.ask(self.backend.search(NS, query, **options))]

    def together(self, *calls: Callable[[], Any], times: int = 1) -> list[Any]:
        """Everything these calls answer, made at the same time: in threads, or on one loop."""
        if inspect.iscoroutinefunction(self.backend.read):
            return self._runner.run(_gathered(calls, times))

        def repeat(call: Callable[[], Any]) -> list[Any]:
            return [_finished(call()) for _ in range(times)]

        with ThreadPoolExecutor(len(calls)) as pool:
            return [answer for answers in pool.map(repeat, calls) for answer in answers]


def count_in_another_process(opener: Callable[[], StorageBackend], times: int) -> None:
    """What each process of the suite does; public, because a new process has to find it."""
    backend: Any = opener()
    view = Store(backend).namespace(NS)

    def count(entry: StoredEntry | None) -> StoredEntry:
        return _entry(str(1 + int(entry.content if entry else "0")))

    async def work() -> None:
        for _ in range(times):
            await view.update("n", count)
            await view.append("log", "line\n")

    asyncio.run(work())


def _entry(content: str) -> StoredEntry:
    return StoredEntry(content=content, meta={"createdAt": 1, "updatedAt": 2})


def _ordered(paths: Iterable[str], order: str) -> list[str]:
    if order == "insertion":
        return list(paths)
    if order == "segments":
        return sorted(paths, key=lambda path: path.split("/"))
    return sorted(paths)


def _finished(answer: Any) -> Any:
    return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Any) -> Any:
    return await answer


async def _gathered(calls: Iterable[Callable[[], Any]], times: int) -> list[Any]:
    return await asyncio.gather(*(_awaited(call()) for call in calls for _ in range(times)))
