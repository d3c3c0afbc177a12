"""The small notation in which keys and types are written down."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.wire_rules.shapes import ShapeTable

TABLE = ShapeTable("""
Block = Text|Picture
    |Link
Request: name!=str count=int ratio=num blocks=[Block] mode='fast'|'slow'|null labels={str}
    extra=any +Shared
+Shared: flag=bool|null
Text: type!='text' text!=str
Picture: type!='picture' data!=bytes
Link: type!='link' url!=str|Text
""")


def found(value: Any, table: ShapeTable = TABLE) -> list[tuple[str, bool]]:
    return [(fault.path, fault.breaking) for fault in table.check(value)]


def test_what_fits_has_no_faults() -> None:
    value = {
        "name": "x",
        "count": 3.0,
        "ratio": 1,
        "blocks": [{"type": "text", "text": "x"}, {"type": "link", "url": "y"}],
        "mode": None,
        "labels": {"a": "b"},
        "extra": object(),
        "flag": None,
    }
    assert found(value) == []


@pytest.mark.parametrize(
    ("value", "path", "breaking"),
    [
        ({}, "name", True),
        ({"name": 1}, "name", True),
        ({"name": None}, "name", True),
        ({"name": "x", "count": 1.5}, "count", True),
        ({"name": "x", "count": True}, "count", True),
        ({"name": "x", "count": None}, "count", True),
        ({"name": "x", "mode": "middling"}, "mode", True),
        ({"name": "x", "labels": {"a": 1}}, "labels.a", True),
        ({"name": "x", "blocks": {}}, "blocks", True),
        ({"name": "x", "blocks": [{"type": "sound"}]}, "blocks[0]", True),
        ({"name": "x", "blocks": [{"text": "x"}]}, "blocks[0]", True),
        ({"name": "x", "blocks": [{"type": "text"}]}, "blocks[0].text", True),
        ({"name": "x", "blocks": [{"type": "picture", "data": "!"}]}, "blocks[0].data", True),
        ({"name": "x", "other": 1}, "other", False),
        (
            {
                "name": "x",
                "blocks": [{"type": "link", "url": {"type": "text", "text": "x", "z": 1}}],
            },
            "blocks[0].url.z",
            False,
        ),
    ],
)
def test_each_difference_is_found_at_its_place(value: Any, path: str, breaking: bool) -> None:
    assert found(value) == [(path, breaking)]


def test_null_may_count_as_absent_and_one_object_as_a_list() -> None:
    lenient = ShapeTable(
        "Request: name!=str count=int parts=[Part]\nPart: text=str",
        null_is_absent=True,
        single_is_list=True,
    )
    assert found({"name": "x", "count": None, "parts": {"text": "y"}}, lenient) == []
    assert found({"name": None}, lenient) == [("name", True)]
    assert found({"name": "x", "parts": {"words": "y"}}, lenient) == [("parts.words", False)]


def test_the_message_names_what_is_known_in_its_place() -> None:
    faults = TABLE.check({"name": "x", "blocks": [{"type": "sound"}]})
    assert faults[0].message == "`type` is 'sound'; known here: 'text', 'picture', 'link'"
