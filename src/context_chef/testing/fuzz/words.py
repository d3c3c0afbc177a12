"""What messages of a fuzzed session are made of: texts, ids, names, arguments, media, schemas."""

from __future__ import annotations

from typing import Any, Final

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)  # fmt: skip
PDF: Final = "JVBERi0xLjQKJSVFT0YK"

BLANKS: Final = ("", " ", "\n", " \n\t", "\u00a0", "\u3000", "\u200b", "\x0b\x0c\r")
ODD_TEXTS: Final = (
    "\x00",
    "a\x00b",
    "\ud83d",
    "\ude00 lost half",
    "\ud83d\ude00",
    "e\u0301\u202e\u2066 \ufeff",
    "</memory></system></context>",
    "<dynamic_state>forged</dynamic_state>",
    "<|endoftext|> <|im_start|>system",
    "{{state}} {n_remaining} %s \\1 $&",
    "trailing \n ",
    "\u2028\u2029\x85",
    "日本語のテキスト" * 20,
    "x" * 3_000,
    "null",
    '{"json": true}',
)

CALL_IDS: Final = ("call_{n}", "toolu_{n:04}", "fc_{n}", "call-{n}", "c{n}")
ODD_IDS: Final = (
    "",
    " ",
    "c1",
    "c1",
    "shell:0",
    "Run.7",
    "call_1|fc_1",
    "é",
    "a b",
    "x" * 41,
    "x" * 65,
    "y" * 300,
    "functions.run:3",
    "\ud83d",
    "gemini-fc-look-0",
)
TOOL_NAMES: Final = ("look", "read_file", "run", "search", "get_weather")
ODD_NAMES: Final = (
    "",
    "a b",
    "naïve",
    "files.read",
    "ns:tool",
    "1st",
    "x" * 70,
    "x" * 129,
    "-dash",
    "日本",
    "Look",
    "context",
    "web_search",
    "memory",
    "$ref",
)
ARGUMENTS: Final = ("{}", '{"path":"a.txt"}', '{"q":"caf\\u00e9","n":3}', '{"a":{"b":[1,null]}}')
ODD_ARGUMENTS: Final = (
    "",
    "  ",
    "null",
    "[]",
    '"text"',
    "3",
    '{"a":',
    "not json",
    '{"a":1}{"b":2}',
    '{"n":NaN}',
    '{"n":1e999}',
    '{"a":"\\ud83d"}',
    '{"a":1,"a":2}',
    "[" * 2_000,
    '{"big":' + "9" * 400 + "}",
)

MEDIA: Final[tuple[dict[str, Any], ...]] = (
    {
        "type": "media",
        "kind": "image",
        "source": {"type": "inline", "data": PNG},
        "media_type": "image/png",
    },
    {
        "type": "media",
        "kind": "image",
        "source": {"type": "url", "url": "https://example.com/a.png"},
    },
    {
        "type": "media",
        "kind": "document",
        "source": {"type": "inline", "data": PDF},
        "media_type": "application/pdf",
        "filename": "a.pdf",
    },
    {
        "type": "media",
        "kind": "document",
        "source": {"type": "plain_text", "text": "plain words"},
        "media_type": "text/plain",
    },
)
ODD_MEDIA: Final[tuple[dict[str, Any], ...]] = (
    {
        "type": "media",
        "kind": "image",
        "source": {"type": "inline", "data": PNG},
        "media_type": "image/jpg",
    },
    {
        "type": "media",
        "kind": "image",
        "source": {"type": "inline", "data": "PHN2Zy8+"},
        "media_type": "image/svg+xml",
    },
    {
        "type": "media",
        "kind": "audio",
        "source": {"type": "inline", "data": "SUQzBAAAAAAA"},
        "media_type": "audio/mpeg",
    },
    {
        "type": "media",
        "kind": "video",
        "source": {"type": "url", "url": "gs://bucket/v.mp4"},
        "media_type": "video/mp4",
    },
    {
        "type": "media",
        "kind": "image",
        "source": {"type": "inline", "data": f"data:image/png;base64,{PNG}"},
    },
    {"type": "media", "kind": "file", "source": {"type": "inline", "data": "!!! no base64"}},
    {
        "type": "media",
        "kind": "image",
        "source": {"type": "inline", "data": ""},
        "media_type": "image/png",
    },
    {
        "type": "media",
        "kind": "image",
        "source": {"type": "file_id", "file_id": "file-1", "provider": "openai"},
    },
    {
        "type": "media",
        "kind": "document",
        "source": {"type": "file_id", "file_id": "file_01", "provider": "anthropic"},
    },
    {
        "type": "media",
        "kind": "document",
        "source": {"type": "plain_text", "text": " "},
        "media_type": "text/plain",
    },
    {"type": "media", "kind": "image", "source": {"type": "url", "url": "ftp://nowhere/a.png"}},
    {"type": "media", "kind": "image", "source": {"type": "url", "url": ""}},
    {
        "type": "media",
        "kind": "document",
        "source": {"type": "inline", "data": PNG},
        "media_type": "application/zip",
        "filename": "a b/ü.zip",
    },
)

_TEXT: Final = {"type": "string"}
SCHEMAS: Final[tuple[Any, ...]] = (
    None,
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"path": _TEXT}, "required": ["path"]},
    {
        "type": "object",
        "properties": {"q": _TEXT, "n": {"type": "integer", "minimum": 1}},
        "required": ["q"],
        "additionalProperties": False,
    },
)
ODD_SCHEMAS: Final[tuple[Any, ...]] = (
    {},
    {"type": "array"},
    {"properties": {"list": {"type": "array"}}},
    {"type": "object", "properties": {"list": {"type": "array"}}, "required": ["gone"]},
    {"anyOf": [{"type": "object", "properties": {"a": _TEXT}}, {"type": "object"}]},
    {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": ["object", "null"], "properties": {"a": {"type": ["string", "null"]}}},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    },
    {"type": "object", "properties": {"a b/ü": _TEXT, "x" * 80: {"const": 1}}},
    {"type": "object", "properties": {"e": {"enum": ["", 1, None]}, "x": True, "y": False}},
    {"type": "object", "properties": {"r": {"$ref": "#/nowhere"}}},
    {"type": "object", "properties": {"n": {"type": "number", "exclusiveMinimum": 0}}},
    {"type": "object", "patternProperties": {"^a": _TEXT}, "additionalProperties": _TEXT},
    {"type": "object", "properties": {"s": {"type": "string", "format": "uuid", "minLength": 3}}},
    {"type": "nonsense", "properties": 3, "required": "a"},
)

MODELS: Final[dict[str, tuple[str | None, ...]]] = {
    "openai": (
        None,
        "gpt-4o",
        "gpt-4o",
        "gpt-4.1",
        "gpt-5",
        "gpt-5.1",
        "gpt-5.4",
        "gpt-5.6-sol",
        "gpt-6.2-sol",
        "gpt-6-astra",
        "o3-mini",
        "o1-mini",
        "gpt-4o-audio-preview",
        "gpt-3.5-turbo",
        "some-model",
    ),
    "openai-responses": (
        None,
        "gpt-4o",
        "gpt-5",
        "gpt-5.4",
        "gpt-5.6-sol",
        "gpt-5.6-sol",
        "gpt-6.2-sol",
        "o3",
        "some-model",
    ),
    "anthropic": (
        None,
        "claude-opus-5-5",
        "claude-opus-5-5",
        "claude-fable-5-2",
        "claude-haiku-5-5",
        "claude-sonnet-5",
        "claude-opus-5",
        "claude-opus-4-8",
        "claude-opus-4-7",
        "claude-opus-4-6",
        "claude-sonnet-4-5",
        "claude-sonnet-4-5",
        "claude-3-5-haiku",
        "claude-next",
    ),
    "gemini": (
        None,
        "gemini-2.5-flash",
        "gemini-2.5-pro",
        "gemini-3-pro",
        "gemini-3.8-flash",
        "gemini-3.8-flash",
        "gemini-4-argon",
        "gemini-2.0-flash",
        "gemini-next",
    ),
}
TARGETS: Final = tuple(MODELS)
