"""Counting: exact where a tokenizer is there, never too little where none is."""

from __future__ import annotations

import base64
import gc
import json
import struct

import pytest
from tests.shared_data import DATA, needs_data

from context_chef import Message, SettingsError, resolve_tokenizer
from context_chef.ir.blocks import Inline, Media, Opaque, PlainText, Url
from context_chef.ir.tokens import estimate, utf16_length
from context_chef.ir.tools import ToolDefinition
from context_chef.selection import (
    MessageCounter,
    exact_tokenizer,
    image_tokens,
    media_tokens,
    text_tokenizer,
)
from context_chef.testing.doubles import CharacterTokenizer, characters

CONTROL_WORDS = ["before <|endoftext|> after", "<|im_start|>user<|im_end|>", "<s>[INST]"]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "gpt-4o-mini", "gpt-5", "openai/o3"])
def test_names_count_exactly_and_offline(name: str) -> None:
    assert exact_tokenizer(name).count("hello world") == 2


@pytest.mark.parametrize("text", [*CONTROL_WORDS, "\ud800 lone", "a\x00b", "x" * 1_000_000])
def test_any_text_is_counted(text: str) -> None:
    assert exact_tokenizer("o200k_base").count(text) > 0
    assert estimate(text) > 0


def test_counting_can_stop_early() -> None:
    tokenizer = exact_tokenizer("o200k_base")

    assert tokenizer.count_until("one two three", 10) == 3  # type: ignore[attr-defined]  # an ability
    assert tokenizer.count_until("word " * 1_000, 10) is None  # type: ignore[attr-defined]  # an ability


@pytest.mark.parametrize("name", ["o200", "gpt", "llama-3", "claude-sonnet-5", "gemini-3-pro"])
def test_a_name_without_a_tokenizer_is_refused_with_a_way_out(name: str) -> None:
    with pytest.raises(SettingsError, match="`tokenizer`"):
        exact_tokenizer(name)


def test_tokenizers_of_many_kinds_are_taken() -> None:
    class TiktokenLike:
        name = "mine"

        def encode_ordinary(self, text: str) -> list[int]:
            return [0] * len(text)

    class Encoding:
        ids = (1, 2, 3)

    hello = [Message.user("hello")]
    assert resolve_tokenizer(CharacterTokenizer()).count_messages(hello) == 9
    assert resolve_tokenizer(TiktokenLike()).count_messages(hello) == 9
    assert resolve_tokenizer(text_tokenizer(lambda anything: Encoding())).count("x") == 3
    assert resolve_tokenizer(characters).count_messages(hello) == 5
    assert resolve_tokenizer(lambda text: len(text)).count_messages(hello) == 9
    assert not resolve_tokenizer(None).measured


def test_a_message_is_counted_once() -> None:
    tokenizer = CharacterTokenizer()
    counter = MessageCounter(tokenizer)
    history = [Message.user("x" * 100) for _ in range(10)]

    counter.count_messages(history)
    counter.count_messages([*history, Message.user("y" * 7)])

    assert tokenizer.counted == 1_007


def test_counts_do_not_keep_messages_alive() -> None:
    counter = MessageCounter(CharacterTokenizer())
    for _ in range(50):
        counter.count_message(Message.user("x"))
    gc.collect()

    assert len(counter._counts._kept) == 0  # type: ignore[reportPrivateUsage]  # the cache itself


def test_tools_are_counted_with_their_schemas() -> None:
    counter = MessageCounter(CharacterTokenizer())
    small = ToolDefinition(name="a", description="b")
    large = ToolDefinition(name="a", description="b", parameters={"type": "object", "x": "y" * 90})

    assert counter.count_tools([large]) > counter.count_tools([small]) + 90


def png(width: int, height: int, size: int = 100) -> Media:
    data = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height)
    encoded = base64.b64encode(data + b"\x00" * size).decode()
    return Media(kind="image", source=Inline(data=encoded), media_type="image/png")


def test_an_image_costs_what_its_pixels_cost() -> None:
    small, large = png(800, 600, size=40_000), png(800, 600, size=3_000_000)
    counter = MessageCounter()

    costs = {counter.count_message(Message.user([image])) for image in (small, large)}

    assert len(costs) == 1
    assert 1 <= costs.pop() <= 10_000


@pytest.mark.parametrize(
    ("provider", "size", "tokens"),
    [
        ("anthropic", (1092, 1092), 1_590),
        ("anthropic", (200, 200), 54),
        ("openai", (1024, 1024), 765),
        ("openai", (2048, 4096), 1_105),
        ("gemini", (300, 300), 258),
        ("gemini", (960, 540), 516),
    ],
)
def test_images_cost_what_the_providers_document(provider, size, tokens: int) -> None:
    assert image_tokens(size, provider) == tokens


def test_every_header_tells_its_size() -> None:
    jpeg = (
        b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 540, 960) + b"0" * 9
    )
    gif = b"GIF89a" + struct.pack("<HH", 300, 300)
    webp = b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00" + (959).to_bytes(
        3, "little"
    ) + (539).to_bytes(3, "little")  # fmt: skip
    for data, tokens in ((jpeg, 516), (gif, 258), (webp, 516)):
        media = Media(kind="image", source=Inline(data=base64.b64encode(data).decode()))
        assert media_tokens(media, len, "gemini") == tokens


def test_documents_links_and_sealed_blocks_have_a_cost() -> None:
    pdf = base64.b64encode(b"%PDF-1.4 /Type /Pages /Count 3 /Type /Page /Type /Page").decode()
    sealed = Opaque(provider="openai-responses", value={"encrypted_content": "x" * 5_000})

    assert media_tokens(Media(kind="document", source=Inline(data=pdf)), len, "gemini") == 774
    assert media_tokens(Media(kind="document", source=PlainText(text="x" * 50)), len) == 58
    assert media_tokens(Media(kind="image", source=Url(url="https://example.com/a.png")), len) > 0
    assert 500 < MessageCounter().count_message(Message.assistant([sealed])) < 2_500


GENERATED = {
    "prose": "The quick brown fox jumps over the lazy dog, and nobody minds at all. " * 30,
    "code": "def add(left: int, right: int) -> int:\n    return left + right\n\n\n" * 30,
    "json": json.dumps([{"id": i, "name": f"user_{i}", "ok": True} for i in range(80)]),
    "log": "".join(f"2026-11-{i:02} 10:00:{i:02} INFO id={i:08x} took {i}ms\n" for i in range(60)),
    "base64": base64.b64encode(bytes(i * 7 % 251 for i in range(3_000))).decode(),
    "hex": bytes(i * 7 % 251 for i in range(1_500)).hex(),
    "chinese": "上下文窗口是有限的资源。数据库迁移必须在凌晨两点之前完成，否则备份任务会与之冲突。"
    * 12,
    "japanese": "データベースの移行は午前二時までに終える必要があります。エラーをそのまま残します。"
    * 12,
    "korean": "데이터베이스 이전은 새벽 두 시까지 끝내야 합니다. 오류 메시지를 그대로 남깁니다. "
    * 12,
}


@pytest.mark.parametrize("kind", GENERATED)
def test_the_estimate_is_never_below_and_at_most_a_third_above(kind: str) -> None:
    exact = exact_tokenizer("o200k_base").count(GENERATED[kind])

    assert exact <= estimate(GENERATED[kind]) <= exact * 1.35


@needs_data
def test_the_estimate_holds_for_every_real_tool_output() -> None:
    tokenizer = exact_tokenizer("o200k_base")
    for file in sorted((DATA / "tool_outputs").glob("*")):
        text = file.read_text(encoding="utf-8", errors="replace")
        exact = tokenizer.count(text)
        if file.name != "index.json" and exact > 200:
            assert exact <= estimate(text) <= exact * 1.35, file.name


@needs_data
def test_tiktoken_and_the_offline_counter_agree(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = (DATA / "tokenizer" / "cl100k_base.tiktoken").read_bytes()
    (tmp_path / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").write_bytes(ranks)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    theirs = resolve_tokenizer(tiktoken.get_encoding("cl100k_base"))
    ours = exact_tokenizer("cl100k_base")

    for text in GENERATED.values():
        assert theirs.count(text) == ours.count(text)


def test_lengths_are_utf16_code_units() -> None:
    assert utf16_length("a😀é") == 4
