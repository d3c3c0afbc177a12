"""Addresses: what is one, and that none leads outside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.errors import AddressError
from context_chef.persistence import Store
from context_chef.persistence.address import (
    check_namespace,
    check_path,
    climbs,
    content_path,
    keeps_promise,
)


@pytest.mark.parametrize(
    ("uri", "ns", "path"),
    [
        ("context://notes/a", "notes", "a"),
        ("context://a/b/", "a", "b/"),
        ("context://a//b", "a", "/b"),
        ("context://notes/ä b%20", "notes", "ä b%20"),
        ("context://notes/v1..v2.diff", "notes", "v1..v2.diff"),
        ("context://notes/[...part]/index.md", "notes", "[...part]/index.md"),
        ("context://notes/a/../b", "notes", "a/../b"),
    ],
)
def test_an_address_is_a_namespace_and_a_path(uri: str, ns: str, path: str) -> None:
    parsed = Store.parse_uri(uri)

    assert parsed is not None
    assert (parsed.ns, parsed.path) == (ns, path)
    assert parsed.uri == Store.uri(ns, path) == uri


@pytest.mark.parametrize(
    "uri",
    [
        "context://notes",
        "context://notes/",
        "context:///x",
        "Context://notes/a",
        " context://notes/a",
        "notes/a",
        "",
        None,
        5,
        b"context://notes/a",
        "context://notes/../a",
        "context://notes/a/../../b",
        "context://../a",
        "context://a\\b/c",
        "context://notes/" + "x" * 5000,
    ],
)
def test_anything_else_is_none_and_never_an_exception(uri: object) -> None:
    assert Store.parse_uri(uri) is None


@given(st.text())
def test_reading_an_address_is_total_and_undoes_building_one(path: str) -> None:
    parsed = Store.parse_uri(f"context://notes/{path}")

    assert parsed is None or (parsed.ns, parsed.path) == ("notes", path)
    assert parsed is None or not climbs(path)


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "./../x", "a//../../x", None, 3])
def test_a_path_that_climbs_is_refused_with_its_namespace(path: object) -> None:
    with pytest.raises(AddressError, match="'notes'"):
        check_path(path, "notes")


@pytest.mark.parametrize("path", ["...", "..a", "a..b", "a/../b", "a/./b", "..hidden", "x/.../y"])
def test_dots_that_do_not_climb_are_ordinary(path: str) -> None:
    check_path(path, "notes")


@pytest.mark.parametrize("ns", ["", ".", "..", "a/b", "a\\b", None, "n" * 300])
def test_a_namespace_is_one_plain_name(ns: object) -> None:
    with pytest.raises(AddressError):
        check_namespace(ns)


@pytest.mark.parametrize(
    ("content", "digest"),
    [
        ("", "e3b0c44298fc1c14"),
        ("hello", "2cf24dba5fb0a30e"),
        ("héllo wörld", "a1003f7d04a41157"),
        ("日本語", "77710aedc74ecfa3"),
        ("😀", "f0443a342c5ef547"),
        ("a\r\nb\r\n", "58055bdcc73787eb"),
    ],
)
def test_a_content_address_is_made_of_the_utf8_bytes(content: str, digest: str) -> None:
    path = content_path("notes", content)

    assert path == f"notes_{digest}.txt"
    assert keeps_promise("notes", path, content)
    assert not keeps_promise("notes", path, content + "x")


def test_only_content_addresses_promise_something() -> None:
    for path in ("plan", "notes_123.txt", "vfs_2cf24dba5fb0a30e.txt", "notes_2CF24DBA5FB0A30E.txt"):
        assert keeps_promise("notes", path, "whatever")
