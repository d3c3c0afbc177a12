"""The edge: plain mappings become messages here, checked once, and messages become plain again.

Two shapes come in: chat completions (`content` as text or parts, `tool_calls`, `tool_call_id`) and
the flat form (string content beside `attachments`, `thinking`, `pinned`, …).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec

from context_chef.errors import InputError, shown
from context_chef.given import check_instance, check_text, check_whole
from context_chef.ir.blocks import (
    Block,
    CacheBreakpoint,
    FileId,
    Inline,
    Media,
    MediaKind,
    MediaSource,
    Opaque,
    PlainText,
    Provider,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    Url,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.foreign_rows import foreign_form
from context_chef.ir.frozen import freeze_json, thaw
from context_chef.ir.message import ROLES, Message, MessageLike, Role
from context_chef.ir.plain_rows import plain_message
from context_chef.ir.text import clean_text

_ROLE_ALIASES: Final[dict[str, Role]] = {
    "developer": "system",
    "function": "tool",
    "model": "assistant",
}
_OUR_BLOCKS: Final = frozenset({"media", "thinking", "redacted_thinking", "tool_call", "opaque"})
_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "image", "document", "server_tool_use"}
)
_KNOWN: Final = frozenset(
    {
        "role", "content", "name", "tool_calls", "tool_call_id", "is_error", "pinned", "positional",
        "prefill", "cache", "id", "native", "extra", "attachments", "thinking", "redacted_thinking",
        "_cache_breakpoint", "_positional", "_anthropic_compaction", "_gemini_thought_signature",
        "_openai_reasoning", "blocks",
    }
)  # fmt: skip
_BLOCK_DECODER: Final = msgspec.json.Decoder(Block)
T = TypeVar("T")


def read_messages(rows: object, *, path: str = "$", start: int = 0) -> tuple[Message, ...]:
    """Messages of messages and plain mappings alike. Raises InputError naming index and field.

    `start` is the index of the first.
    """
    check_text(path, "path")
    check_whole(start, "start")
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        raise InputError(
            f"a list of messages was expected, not {type(cast(object, rows)).__name__}; "
            "wrap a single message in a list.",
            path=path,
        )
    return tuple(
        read_message(row, path=f"{path}[{index}]")
        for index, row in enumerate(cast(Iterable[MessageLike], rows), start)
    )


def as_messages(history: Sequence[MessageLike]) -> Sequence[Message]:
    """The very list when all of it are messages, else what `read_messages` makes of it."""
    if isinstance(history, (list, tuple)) and set(map(type, history)) <= {Message}:
        return cast("Sequence[Message]", history)
    return read_messages(history)


def read_system(value: object) -> tuple[Message, ...]:
    """A system prompt: a bare string, one message, or a list of messages."""
    if isinstance(value, str):
        return (Message.system(value),) if value else ()
    if isinstance(value, (Message, Mapping)):
        return (read_message(cast(MessageLike, value), path="$"),)
    return read_messages(value)


def read_message(row: MessageLike, *, path: str = "$") -> Message:
    """One message. Raises InputError naming the field; unknown fields are kept in `extra`."""
    given: Any = row
    if type(given) is dict and (plain := plain_message(cast("dict[str, Any]", given))) is not None:
        return plain
    if isinstance(row, Message):
        return row
    check_text(path, "path")
    dump = getattr(row, "model_dump", None)
    if callable(dump):  # an SDK object: pydantic knows its own plain form
        row = cast(Mapping[str, Any], dump(exclude_none=True))
    if not isinstance(row, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        raise InputError(f"a message was expected, not {shown(row)}.", path=path)
    return _RowReader(row, path).message()


class _RowReader:
    """Reads one mapping. Holds the row and its path, so that every error can name them."""

    def __init__(self, row: Mapping[str, Any], path: str) -> None:
        self._row = row
        self._path = path

    def message(self) -> Message:
        row = self._row
        if (foreign := foreign_form(row)) is not None:
            raise InputError(f"{foreign}.", path=self._path)
        role, native = self._role()
        name = self._text_or_none("name")
        call_id = self._text_or_none("tool_call_id")
        if role == "tool" and call_id is None and row.get("role") == "function":
            call_id = name or ""
        return _built(
            Message,
            self._path,
            role=role,
            content=self._content(role),
            tool_call_id=(call_id or "") if role == "tool" else call_id,
            name=name,
            is_error=self._flag("is_error"),
            pinned=bool(row.get("pinned")),
            positional=bool(row.get("_positional") or row.get("positional")),
            prefill=self._flag("prefill"),
            cache=self._cache(),
            id=self._text_or_none("id"),
            native={**self._mapping("native"), **native},
            extra={
                **self._mapping("extra"),
                **{key: row[key] for key in row if key not in _KNOWN},
            },
        )

    def _mapping(self, field: str) -> Mapping[str, Any]:
        value = self._row.get(field)
        if value is None or isinstance(value, Mapping):
            return cast("Mapping[str, Any]", value or {})
        raise InputError(f"{field} is a mapping, not {shown(value)}.", path=f"{self._path}.{field}")

    def _role(self) -> tuple[Role, dict[str, Any]]:
        role = self._row.get("role")
        if isinstance(role, str) and role in ROLES:
            return role, {}
        if isinstance(role, str) and role in _ROLE_ALIASES:
            native = {"openai": {"role": role}} if role == "developer" else {}
            return _ROLE_ALIASES[role], native
        said = "is missing" if role is None else f"is {shown(role)}"
        raise InputError(
            f"the role {said}; use one of {', '.join(ROLES)}.", path=f"{self._path}.role"
        )

    def _content(self, role: Role) -> tuple[Block, ...]:
        row = self._row
        if row.get("blocks"):
            return self._decoded("blocks")
        blocks: list[Block] = []
        if isinstance(summary := row.get("_anthropic_compaction"), str):
            value = {"type": "compaction", "content": clean_text(summary)}
            blocks.append(Opaque(provider="anthropic", value=value))
        blocks.extend(self._thinking())
        for index, item in enumerate(self._rows("_openai_reasoning")):
            where = f"{self._path}._openai_reasoning[{index}]"
            blocks.append(_built(Opaque, where, provider="openai-responses", value=item))
        blocks.extend(self._words(role))
        for index, item in enumerate(self._rows("attachments")):
            blocks.append(self._attachment(item, f"{self._path}.attachments[{index}]"))
        if role == "assistant":
            for index, item in enumerate(self._rows("tool_calls")):
                blocks.append(_tool_call(item, f"{self._path}.tool_calls[{index}]"))
        return tuple(blocks)

    def _words(self, role: Role) -> list[Block]:
        content = self._row.get("content")
        where = f"{self._path}.content"
        if content is None or content == "":
            return []
        if isinstance(content, str):
            signature = self._row.get("_gemini_thought_signature")
            return [
                Text(
                    text=clean_text(content),
                    signature=signature if isinstance(signature, str) else None,
                )
            ]
        if isinstance(content, Sequence) and not isinstance(content, (bytes, bytearray)):
            parts = cast(Sequence[Any], content)
            return [self._part(part, f"{where}[{index}]") for index, part in enumerate(parts)]
        raise InputError(
            f"content has to be text or a list of parts, not {shown(content)}.", path=where
        )

    def _part(self, part: Any, where: str) -> Block:
        if isinstance(part, (Text, Media, Thinking, RedactedThinking, ToolCall, Opaque)):
            return part
        if isinstance(part, str):
            return Text(text=clean_text(part))
        if not isinstance(part, Mapping):
            raise InputError(f"a part is a mapping with a `type`, not {shown(part)}.", path=where)
        part = cast(Mapping[str, Any], part)
        kind = part.get("type")
        if not isinstance(kind, str):
            said = "is missing" if kind is None else f"is text, not {shown(kind)}"
            raise InputError(f"the part's `type` {said}.", path=f"{where}.type")
        if kind == "thinking" and "thinking" in part:
            raise InputError(
                "a block of type 'thinking' with `thinking` is Anthropic's; read the list with "
                "`from_anthropic()`.",
                path=where,
            )
        if kind in _OUR_BLOCKS or (kind == "text" and set(part) & {"native", "signature", "cache"}):
            return _decode_block(part, where)
        if kind in ("text", "input_text", "output_text"):
            if not isinstance(part.get("text"), str):
                raise InputError(
                    f"text has to be a string, not {shown(part.get('text'))}.", path=f"{where}.text"
                )
            return Text(text=clean_text(part["text"]))
        if kind == "refusal" and isinstance(part.get("refusal"), str):
            return Text(text=clean_text(part["refusal"]), native={"openai": {"type": "refusal"}})
        if kind == "image_url":
            image = part.get("image_url")
            url = cast(Any, image).get("url") if isinstance(image, Mapping) else image
            if not isinstance(url, str) or not url:
                raise InputError("an image needs a `url`.", path=f"{where}.image_url")
            detail = cast(Any, image).get("detail") if isinstance(image, Mapping) else None
            native = {"openai": {"detail": detail}} if detail else {}
            try:
                return media_from(url, media_type=None, kind="image", native=native)
            except InputError as error:
                raise InputError(error.reason, path=f"{where}.image_url") from error
        if kind == "file":
            return self._file_part(part, where)
        if kind == "input_audio":
            return self._audio_part(part, where)
        if kind in _ANTHROPIC_BLOCKS:
            raise InputError(
                f"a block of type {shown(kind)} is Anthropic's; read the list with "
                "`from_anthropic()`.",
                path=where,
            )
        raise InputError(f"a part of type {shown(kind)} is not known here.", path=f"{where}.type")

    def _audio_part(self, part: Mapping[str, Any], where: str) -> Media:
        given: Any = part.get("input_audio")
        audio = cast(Mapping[str, Any], given if isinstance(given, Mapping) else {})
        data, format = audio.get("data", ""), audio.get("format", "wav")
        if not isinstance(given, Mapping) or not isinstance(data, str):
            raise InputError(
                f"audio is a mapping with `data` and `format` as text, not {shown(part)}.",
                path=f"{where}.input_audio",
            )
        if not isinstance(format, str):
            raise InputError(
                f"a format is text such as 'wav', not {shown(format)}.",
                path=f"{where}.input_audio.format",
            )
        return Media(
            kind="audio",
            source=Inline(data=data),
            media_type=f"audio/{clean_text(format)}",
            native={"openai": {"format": format}},
        )

    def _file_part(self, part: Mapping[str, Any], where: str) -> Media:
        given: object = part.get("file")
        file = cast(Mapping[str, Any], given if isinstance(given, Mapping) else {})
        filename = file.get("filename")
        if filename is not None and not isinstance(filename, str):
            raise InputError(
                f"a filename is text, not {shown(filename)}.", path=f"{where}.file.filename"
            )
        if isinstance(file.get("file_id"), str):
            source = FileId(file_id=file["file_id"], provider="openai")
            return Media(kind="document", source=source, filename=filename)
        if isinstance(file.get("file_data"), str) and file["file_data"]:
            return media_from(
                file["file_data"], media_type=None, kind="document", filename=filename
            )
        raise InputError("a file needs `file_data` or `file_id`.", path=f"{where}.file")

    def _thinking(self) -> list[Block]:
        blocks: list[Block] = []
        thinking = self._row.get("thinking")
        if isinstance(thinking, Mapping):
            thinking = cast(Mapping[str, Any], thinking)
            words = thinking.get("thinking", "")
            if not isinstance(words, str):
                raise InputError(
                    f"thinking has to be text, not {shown(words)}.",
                    path=f"{self._path}.thinking.thinking",
                )
            signature = thinking.get("signature")
            blocks.append(
                _built(
                    Thinking,
                    f"{self._path}.thinking",
                    text=words,
                    signature=signature,
                    origin=_origin(thinking),
                )
            )
        elif thinking is not None:
            raise InputError(
                f"thinking is a mapping with `thinking` and `signature`, not {shown(thinking)}.",
                path=f"{self._path}.thinking",
            )
        redacted = self._row.get("redacted_thinking")
        if isinstance(redacted, Mapping):
            data = cast(Mapping[str, Any], redacted).get("data", "")
            where = f"{self._path}.redacted_thinking"
            blocks.append(_built(RedactedThinking, where, data=data))
        return blocks

    def _attachment(self, item: Mapping[str, Any], where: str) -> Media:
        data = item.get("data")
        if not isinstance(data, str):
            raise InputError(
                f"an attachment needs `data` as text, not {shown(data)}.", path=f"{where}.data"
            )
        media_type = item.get("media_type", item.get("mediaType"))
        filename = item.get("filename")
        return media_from(
            data,
            media_type=media_type if isinstance(media_type, str) and media_type else None,
            filename=filename if isinstance(filename, str) else None,
        )

    def _cache(self) -> CacheBreakpoint | None:
        value = self._row.get("cache")
        if isinstance(value, CacheBreakpoint):
            return value
        if isinstance(value, Mapping):
            ttl = cast(Mapping[str, Any], value).get("ttl")
            if ttl not in (None, "5m", "1h"):
                raise InputError(
                    f"a breakpoint's ttl is '5m' or '1h', not {shown(ttl)}.",
                    path=f"{self._path}.cache.ttl",
                )
            return CacheBreakpoint(ttl=cast(Any, ttl))
        return CacheBreakpoint() if value or self._row.get("_cache_breakpoint") else None

    def _flag(self, field: str) -> bool:
        value = self._row.get(field)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise InputError(
            f"{field} is true or false, not {shown(value)}.", path=f"{self._path}.{field}"
        )

    def _text_or_none(self, field: str) -> str | None:
        value = self._row.get(field)
        if value is None or isinstance(value, str):
            return clean_text(value) if value else value
        raise InputError(
            f"{field} has to be text, not {shown(value)}.", path=f"{self._path}.{field}"
        )

    def _rows(self, field: str) -> list[Mapping[str, Any]]:
        value = self._row.get(field)
        if value is None:
            return []
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            rows = [_plain(item) for item in cast(Sequence[Any], value)]
            for index, item in enumerate(rows):
                if not isinstance(item, Mapping):
                    raise InputError(
                        f"a mapping was expected, not {shown(item)}.",
                        path=f"{self._path}.{field}[{index}]",
                    )
            return cast(list[Mapping[str, Any]], rows)
        raise InputError(
            f"{field} has to be a list, not {shown(value)}.", path=f"{self._path}.{field}"
        )

    def _decoded(self, field: str) -> tuple[Block, ...]:
        return tuple(
            _decode_block(item, f"{self._path}.{field}[{index}]")
            for index, item in enumerate(self._rows(field))
        )


def _plain(item: Any) -> Any:
    dump = getattr(item, "model_dump", None)
    return dump(exclude_none=True) if callable(dump) else item


def _origin(thinking: Mapping[str, Any]) -> Provider | None:
    # The flat form has one kind of signed thinking, and it is Anthropic's.
    origin = thinking.get("origin")
    if origin in ("openai", "openai-responses", "anthropic", "gemini"):
        return origin
    return "anthropic" if thinking.get("signature") is not None else None


def _decode_block(part: Mapping[str, Any], where: str) -> Block:
    fields = freeze_json(part, path=where)
    try:
        return _BLOCK_DECODER.decode(msgspec.json.encode(fields))
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(str(error), path=where) from error


def _built(kind: Callable[..., T], where: str, **fields: Any) -> T:
    """A block or message of these fields; an error about one of them names where it stands."""
    try:
        return kind(**fields)
    except InputError as error:
        raise error.under(where) from error


def _tool_call(item: Mapping[str, Any], where: str) -> ToolCall:
    function = item.get("function")
    if not isinstance(function, Mapping):
        custom = item.get("custom")
        if item.get("type") == "custom" and isinstance(custom, Mapping):
            custom = cast(Mapping[str, Any], custom)
            return _built(
                ToolCall,
                where,
                id=_call_id(item, where),
                name=custom.get("name") or "",
                arguments=custom.get("input") or "",
                native={"openai": {"type": "custom"}},
            )
        raise InputError(
            "a tool call needs a `function` with `name` and `arguments`.", path=f"{where}.function"
        )
    function = cast(Mapping[str, Any], function)
    name = function.get("name")
    if not isinstance(name, str):
        raise InputError(
            f"a tool call needs a name as text, not {shown(name)}.", path=f"{where}.function.name"
        )
    arguments = function.get("arguments")
    if isinstance(arguments, Mapping):
        whole = freeze_json(arguments, path=f"{where}.function.arguments")
        arguments = compact_json(thaw(whole))
    elif arguments is not None and not isinstance(arguments, str):
        raise InputError(
            f"arguments are the text the model sent, or an object, not {shown(arguments)}.",
            path=f"{where}.function.arguments",
        )
    signature = item.get("thought_signature", item.get("thoughtSignature"))
    return ToolCall(
        id=_call_id(item, where),
        name=name,
        arguments=arguments or "",
        signature=signature if isinstance(signature, str) else None,
    )


def _call_id(item: Mapping[str, Any], where: str) -> str:
    given = item.get("id")
    if given is None or isinstance(given, str):
        return given or ""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    raise InputError(f"a call's id is text, not {shown(given)}.", path=f"{where}.id")


def media_from(
    data: str,
    *,
    media_type: str | None,
    kind: MediaKind | None = None,
    filename: str | None = None,
    native: Mapping[str, Any] | None = None,
) -> Media:
    """Media of what the flat form calls `data`: base64, a data URI, a URL or a `gs://` URI."""
    source: MediaSource
    lowered = data[:8].lower()
    if lowered.startswith("data:"):
        head, _, body = data.partition(",")
        media_type = head[5:].split(";", 1)[0] or media_type
        if ";base64" in head:
            source = Inline(data=body)
        else:
            from urllib.parse import unquote

            source = PlainText(text=unquote(body))
    elif lowered.startswith(("http://", "https://", "gs://")):
        source = Url(url=data)
    elif (media_type or "").lower().startswith("text/") and not _encodes_text(data):
        source = PlainText(text=data)
    else:
        source = Inline(data=data)
    if media_type == "image/*":
        kind, media_type = "image", None
    return Media(
        kind=kind or kind_of(media_type),
        source=source,
        media_type=media_type,
        filename=filename,
        native=native or {},
    )


def _encodes_text(data: str) -> bool:
    """Whether this is the base64 of words. The flat form has words themselves in the same field."""
    try:
        words = base64.b64decode(data, validate=True).decode("utf-8")
    except ValueError:  # no base64 at all, or that of no text
        return False
    return all(mark.isprintable() or mark.isspace() for mark in words)


def kind_of(media_type: str | None) -> MediaKind:
    """The kind of media a MIME type names. `document` when it does not tell."""
    family = (media_type or "").split("/", 1)[0].lower()
    if family in ("image", "audio", "video"):
        return family
    return "document"


def flat_row(message: Message) -> dict[str, Any]:
    """The flat form of a message, as the other implementation writes it.

    What the flat form cannot say is kept beside it under `blocks`, so that reading the row back
    gives an equal message.
    """
    check_instance(message, "message", Message)
    row: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.name is not None:
        row["name"] = message.name
    calls = [_flat_call(call) for call in message.tool_calls]
    if calls:
        row["tool_calls"] = calls
    if message.tool_call_id or (message.tool_call_id is not None and message.role != "tool"):
        row["tool_call_id"] = message.tool_call_id  # that of a tool's message is "" by itself
    attachments = [_flat_media(media) for media in message.media]
    if attachments:
        row["attachments"] = attachments
    for block in message.content:
        if isinstance(block, Thinking):
            row["thinking"] = {"thinking": block.text}
            if block.signature is not None:
                row["thinking"]["signature"] = block.signature
        elif isinstance(block, RedactedThinking):
            row["redacted_thinking"] = {"data": block.data}
        elif isinstance(block, Text) and block.signature is not None:
            row["_gemini_thought_signature"] = block.signature
        elif (
            isinstance(block, Opaque)
            and block.kind == "compaction"
            and block.provider == "anthropic"
        ):
            row["_anthropic_compaction"] = block.value.get("content")
        elif isinstance(block, Opaque) and block.kind == "reasoning":
            row.setdefault("_openai_reasoning", []).append(thaw(block.value))
    if message.is_error:
        row["is_error"] = True
    if message.pinned:
        row["pinned"] = True
    if message.positional:
        row["_positional"] = True
    if message.cache is not None:
        row["_cache_breakpoint"] = True
        if message.cache.ttl is not None:
            row["cache"] = {"ttl": message.cache.ttl}
    if message.prefill:
        row["prefill"] = True
    if message.id is not None:
        row["id"] = message.id
    if message.native:
        row["native"] = thaw(message.native)
    row.update(thaw(message.extra))
    if read_message(row) != message:
        row["blocks"] = msgspec.to_builtins(message.content)
    return row


def _flat_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    row: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if call.signature is not None:
        row["thoughtSignature"] = call.signature
    return row


def _flat_media(media: Media) -> dict[str, Any]:
    match media.source:
        case Inline(data=data) | PlainText(text=data) | Url(url=data) | FileId(file_id=data):
            pass
    default = {"image": "image/*"}.get(media.kind, "application/octet-stream")
    row: dict[str, Any] = {"mediaType": media.media_type or default, "data": data}
    if media.filename is not None:
        row["filename"] = media.filename
    return row
