"""Media in one form, whatever form they came in."""

from __future__ import annotations

import base64

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_chef.adaptation.media import base64_text, is_web_url, normal_media, text_of
from context_chef.ir.blocks import FileId, Inline, Media, MediaSource, PlainText, Url

steadily = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no fault of what is tested."""

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAAA="


@pytest.mark.parametrize(
    ("source", "said", "becomes", "media_type"),
    [
        (Inline(data=PNG), None, Inline(data=PNG), "image/png"),
        (Inline(data=PNG), "image/*", Inline(data=PNG), "image/png"),
        (Inline(data=PNG), "IMAGE/JPG; q=1", Inline(data=PNG), "image/jpeg"),
        (Inline(data=PNG), "application/octet-stream", Inline(data=PNG), "image/png"),
        (Inline(data=f"data:image/png;base64,{PNG}"), "image/gif", Inline(data=PNG), "image/png"),
        (Url(url=f"DATA:;base64,{PNG}"), None, Inline(data=PNG), "image/png"),
        (Url(url="data:text/csv,a%2Cb"), None, PlainText(text="a,b"), "text/csv"),
        (Url(url="data:,hi"), None, PlainText(text="hi"), "text/plain"),
        (Url(url="data:image/gif,%FF"), None, Inline(data="/w=="), "image/gif"),
        (Inline(data="_-8"), "image/png", Inline(data="/+8="), "image/png"),
        (Inline(data="AA\n AA"), "image/png", Inline(data="AAAA"), "image/png"),
        (Inline(data="httpAAAA"), "image/png", Inline(data="httpAAAA"), "image/png"),
        (
            Url(url="https://e.test/a.PDF?x=1"),
            None,
            Url(url="https://e.test/a.PDF?x=1"),
            "application/pdf",
        ),
        (Url(url="https://e.test/a"), None, Url(url="https://e.test/a"), None),
        (Url(url="https://["), None, Url(url="https://["), None),
        (FileId(file_id="f"), None, FileId(file_id="f"), None),
        (PlainText(text="x"), None, PlainText(text="x"), "text/plain"),
    ],
)
def test_source_and_type_are_what_every_writer_can_rely_on(
    source: MediaSource, said: str | None, becomes: MediaSource, media_type: str | None
) -> None:
    media = normal_media(Media(kind="file", source=source, media_type=said))

    assert (media.source, media.media_type) == (becomes, media_type)


def test_the_kind_follows_the_type_and_the_name_tells_when_nothing_else_does() -> None:
    by_name = normal_media(Media(kind="file", source=Inline(data="AAAA"), filename="song.mp3"))

    assert (by_name.kind, by_name.media_type) == ("audio", "audio/mpeg")
    assert normal_media(Media(kind="file", source=Inline(data=PNG))).kind == "image"


def test_media_in_their_usual_form_are_the_same_object() -> None:
    media = Media(kind="image", source=Inline(data=PNG), media_type="image/png")

    assert normal_media(media) is media


@steadily
@given(st.text(), st.sampled_from([None, "image/*", "image/png", "text/plain", "x", "a/b"]))
def test_nothing_raises_and_a_second_time_changes_nothing(text: str, said: str | None) -> None:
    for source in (Inline(data=text), Url(url=text), PlainText(text=text)):
        once = normal_media(Media(kind="file", source=source, media_type=said))
        assert normal_media(once) == once


@steadily
@given(st.binary(min_size=1), st.booleans())
def test_the_bytes_are_never_changed(raw: bytes, urlsafe: bool) -> None:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    said = encode(raw).decode().rstrip("=")

    media = normal_media(Media(kind="file", source=Inline(data=said)))

    assert isinstance(media.source, Inline)
    assert base64.b64decode(media.source.data, validate=True) == raw


def test_a_text_document_has_words_and_nothing_else_has() -> None:
    inline = Inline(data=base64_text("a,b"))

    assert text_of(Media(kind="document", source=inline, media_type="text/csv")) == "a,b"
    assert text_of(Media(kind="document", source=PlainText(text="w"))) == "w"
    assert text_of(Media(kind="image", source=inline, media_type="image/png")) is None
    assert (
        text_of(Media(kind="document", source=Inline(data="/w=="), media_type="text/csv")) is None
    )


@pytest.mark.parametrize(
    ("url", "web"),
    [("https://e.test", True), ("HTTP://e", True), ("gs://b", False), ("httpAAAA", False)],
)
def test_only_an_address_on_the_web_is_one(url: str, web: bool) -> None:
    assert is_web_url(url) is web
