"""From Gemini: generateContent requests and contents become a `Conversation`, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from context_chef.adaptation.conversation import Conversation, plain
from context_chef.adaptation.gemini_names import DATA_FIELDS, SDK_ONLY, TOP_LEVEL, camel_keys
from context_chef.adaptation.given_tools import read_tools
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import (
    Block,
    FileId,
    Inline,
    Media,
    MediaSource,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    Url,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message, Role
from context_chef.ir.repair import ensure_valid_history
from context_chef.ir.rows import kind_of

SYNTHETIC_ID: Final = "gemini-fc-"
"""Begins the id of a call that came without one."""

_ROLES: Final[dict[str, Role]] = {"user": "user", "model": "assistant", "function": "user"}
_FILES_HOST: Final = "generativelanguage.googleapis.com"


def from_gemini(
    contents_or_body: Any, system_instruction: Any = None, *, repair: bool = False
) -> Conversation:
    """Read contents (a list, one content, a string), a whole body, or SDK arguments.

    Nothing is mended and nothing reordered: what comes out is written back by `to_gemini` as the
    same conversation. Calls without an id get one (`gemini-fc-NAME-N`, counted by name); a response
    takes the call with its id, else the oldest unanswered call of its name.
    `system_instruction` takes the place of a body's. With `repair` the history is made sendable,
    and `repairs` says how. Raises InputError naming the place of what cannot be read.
    """
    given = plain(contents_or_body)
    reader = _Reader()
    request: dict[str, Any] = {}
    tools: Any = None
    where = "$"
    if isinstance(given, dict) and not _is_content(cast("dict[str, Any]", given)):
        request = _body(cast("dict[str, Any]", given), reader)
        where = "$.contents"
        given = request.pop("contents", [])
        tools = request.pop("tools", None)
        own = request.pop("systemInstruction", None)
        system_instruction = own if system_instruction is None else system_instruction
    definitions, notes = read_tools(tools, "gemini", path="$.tools")
    reader.diagnostics.extend(notes)
    conversation = Conversation(
        system=reader.system(plain(system_instruction, path="$.systemInstruction")),
        history=reader.contents(given, where),
        tools=definitions,
        request=request,
        source="gemini",
        diagnostics=tuple(reader.diagnostics),
    )
    if not repair:
        return conversation
    mended, repairs = ensure_valid_history(conversation.history)
    return conversation.replace(history=mended, repairs=repairs)


def _is_content(given: dict[str, Any]) -> bool:
    return "parts" in given or "role" in given or bool(camel_keys(given).keys() & {*DATA_FIELDS})


def _body(given: dict[str, Any], reader: _Reader) -> dict[str, Any]:
    """A body in REST spelling; the SDK's `config` is taken apart into what it stands for."""
    body = camel_keys(given)
    if "candidates" in body:
        raise InputError("this is an answer, not a request: read its `candidates[0].content`.")
    config = body.pop("config", None)
    if config is None:
        return body
    settings = camel_keys(_mapping(config, "$.config"))
    for key in ("systemInstruction", "tools", *TOP_LEVEL):
        if key in settings:
            body[key] = settings.pop(key)
    for key in SDK_ONLY & settings.keys():
        del settings[key]
        reader.note("sdk-setting-dropped", f"$.config.{key}", f"`{key}` is no part of a request")
    if settings:
        body["generationConfig"] = {**(body.get("generationConfig") or {}), **settings}
    return body


class _Reader:
    """Reads one conversation: counts calls, and knows which are unanswered."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._counts: dict[str, int] = {}
        self._open: list[tuple[str, str]] = []
        """Name and id of every call without a response, oldest first."""

    def note(self, code: str, where: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(code=code, where=where, message=message))

    def system(self, given: Any) -> tuple[Message, ...]:
        """One system message for each part."""
        path = "$.systemInstruction"
        native: dict[str, Any] = {}
        if given is None or given == "":
            return ()
        if isinstance(given, Mapping) and "parts" in given:
            content = cast("dict[str, Any]", given)
            native = {key: content[key] for key in content if key != "parts"}
            native = {key: value for key, value in native.items() if value is not None}
            given, path = content["parts"], f"{path}.parts"
        found: list[Message] = []
        for index, row in enumerate(_rows(given, path)):
            where = f"{path}[{index}]"
            if isinstance(row, Mapping) and "parts" in row:
                found.extend(self.system(row))
                continue
            block = self._block(_part(row, where), where, "user")
            first = {"gemini": native} if native and not found else {}
            found.append(Message(role="system", content=(block,), native=first))
        return tuple(found)

    def contents(self, given: Any, path: str) -> tuple[Message, ...]:
        found: list[Message] = []
        loose: list[Any] = []
        """Strings and parts that stand alone in the list, as the SDK allows: one user's turn."""
        for index, row in enumerate(_rows(given, path)):
            where = f"{path}[{index}]"
            if isinstance(row, Mapping) and ("parts" in row or "role" in row):
                found.extend(self._content({"role": "user", "parts": loose}, path) if loose else ())
                loose = []
                found.extend(self._content(cast("dict[str, Any]", row), where))
            elif isinstance(row, (str, Mapping)):
                loose.append(row)
            else:
                raise InputError(f"a content was expected, not {shown(row)}.", path=where)
        found.extend(self._content({"role": "user", "parts": loose}, path) if loose else ())
        return tuple(found)

    def _content(self, row: dict[str, Any], path: str) -> list[Message]:
        said = row.get("role")
        role = _ROLES.get(said) if isinstance(said, str) else None if said else "user"
        if role is None:
            raise InputError(f"the role is {shown(said)}; use user or model.", path=f"{path}.role")
        parts = row.get("parts")
        if parts is None or parts == []:
            self.note("content-empty", path, "A content without parts is left out.")
            return []
        extra = {key: value for key, value in row.items() if key not in ("role", "parts")}
        found: list[Message] = []
        blocks: list[Block] = []

        def close() -> None:
            if blocks:
                found.append(Message(role=role, content=tuple(blocks), extra=extra))
                blocks.clear()

        for index, item in enumerate(_rows(parts, f"{path}.parts")):
            where = f"{path}.parts[{index}]"
            part = _part(item, where)
            if "functionResponse" in part and len(part.keys() & {*DATA_FIELDS}) == 1:
                close()
                found.append(self._response(part, where))
            else:
                blocks.append(self._block(part, where, role))
        close()
        return found

    def _block(self, part: dict[str, Any], path: str, role: Role) -> Block:
        given = [field for field in DATA_FIELDS if field in part]
        if not given and isinstance(words := part.get("content"), str):
            said = "A part says what it holds, and this one does not: its words were read as text."
            self.note("part-untyped", path, said)
            return _words(words, {}, path)
        if len(given) != 1:
            if len(given) > 1:
                said = f"A part says one thing, not {', '.join(given)}: carried as it is."
                self.note("part-ambiguous", path, said)
            return Opaque(provider="gemini", value=part)
        rest = {key: value for key, value in part.items() if key != given[0]}
        match given[0]:
            case "text":
                return _words(part["text"], rest, path)
            case "inlineData":
                return self._inline(_mapping(part["inlineData"], path), rest, part)
            case "fileData":
                return self._file(_mapping(part["fileData"], path), rest, part)
            case "functionCall":
                return self._call(_mapping(part["functionCall"], path), rest, path)
            case _:
                return Opaque(provider="gemini", value=part)

    def _inline(self, blob: dict[str, Any], rest: dict[str, Any], part: dict[str, Any]) -> Block:
        fields = camel_keys(blob)
        data, media_type = fields.pop("data", None), fields.pop("mimeType", None)
        if not isinstance(data, str) or not isinstance(media_type, str):
            return Opaque(provider="gemini", value=part)
        return _media(Inline(data=data), media_type, fields, "inlineData", rest)

    def _file(self, file: dict[str, Any], rest: dict[str, Any], part: dict[str, Any]) -> Block:
        fields = camel_keys(file)
        uri, media_type = fields.pop("fileUri", None), fields.pop("mimeType", None)
        if not isinstance(uri, str) or not isinstance(media_type, str | None):
            return Opaque(provider="gemini", value=part)
        source: MediaSource = Url(url=uri)
        if uri.startswith("files/") or _host(uri) == _FILES_HOST:
            source = FileId(file_id=uri, provider="gemini")
        return _media(source, media_type, fields, "fileData", rest)

    def _call(self, call: dict[str, Any], rest: dict[str, Any], path: str) -> ToolCall:
        fields = camel_keys(call)
        name, args = fields.pop("name", None), fields.pop("args", None)
        if not isinstance(name, str):
            said = f"a call needs a name as text, not {name!r}."
            raise InputError(said, path=f"{path}.functionCall.name")
        number = self._counts.get(name, 0)
        own = fields.get("id")
        call_id = own if isinstance(own, str) and own else f"{SYNTHETIC_ID}{name}-{number}"
        if call_id is not own:
            self._counts[name] = number + 1
        self._open.append((name, call_id))
        signature = rest.pop("thoughtSignature", None)
        return ToolCall(
            id=call_id,
            name=name,
            arguments=compact_json({} if args is None else args),
            signature=signature if isinstance(signature, str) else None,
            # The entry is there even when empty: this call is Gemini's own.
            native={"gemini": {**rest, "functionCall": fields}},
        )

    def _response(self, part: dict[str, Any], path: str) -> Message:
        fields = camel_keys(_mapping(part["functionResponse"], f"{path}.functionResponse"))
        name, response = fields.pop("name", None), fields.pop("response", None)
        if not isinstance(name, str):
            said = f"a response needs its function's name as text, not {name!r}."
            raise InputError(said, path=f"{path}.functionResponse.name")
        blocks: list[Block] = []
        if response is not None:
            blocks.append(Text(text=compact_json(response)))
        attached = fields.pop("parts", None)
        if attached is not None:
            for index, item in enumerate(_rows(attached, f"{path}.functionResponse.parts")):
                where = f"{path}.functionResponse.parts[{index}]"
                blocks.append(
                    self._block({**_part(item, where), "inResponse": True}, where, "tool")
                )
        rest = {key: value for key, value in part.items() if key != "functionResponse"}
        return Message(
            role="tool",
            content=tuple(blocks),
            tool_call_id=self._answered(name, fields.get("id")),
            name=name,
            is_error=isinstance(response, dict)
            and list(cast("dict[str, Any]", response)) == ["error"],
            native={"gemini": {**rest, "functionResponse": fields}},
        )

    def _answered(self, name: str, own: Any) -> str:
        for entry in self._open:
            if own and entry == (name, own):
                self._open.remove(entry)
                return entry[1]
        for entry in self._open:
            if entry[0] == name and not (own and not entry[1].startswith(SYNTHETIC_ID)):
                self._open.remove(entry)
                return entry[1]
        return own if isinstance(own, str) and own else f"{SYNTHETIC_ID}{name}-0"


def _words(text: Any, rest: dict[str, Any], path: str) -> Block:
    if not isinstance(text, str):
        raise InputError(f"text has to be a string, not {shown(text)}.", path=f"{path}.text")
    signature = rest.pop("thoughtSignature", None)
    signature = signature if isinstance(signature, str) else None
    if rest.get("thought") is True:
        del rest["thought"]
        native = {"gemini": rest} if rest else {}
        return Thinking(text=text, signature=signature, origin="gemini", native=native)
    if not text:
        # Gemini has taken the empty part, so it may have it back; nobody else gets it.
        rest["text"] = ""
    return Text(text=text, signature=signature, native={"gemini": rest} if rest else {})


def _media(
    source: MediaSource,
    media_type: str | None,
    fields: dict[str, Any],
    name: str,
    rest: dict[str, Any],
) -> Media:
    filename = fields.get("displayName")
    native = {**rest, name: fields} if fields else rest
    return Media(
        kind=kind_of(media_type) if media_type else "file",
        source=source,
        media_type=media_type,
        filename=filename if isinstance(filename, str) else None,
        native={"gemini": native} if native else {},
    )


def _host(uri: str) -> str:
    try:
        return urlsplit(uri).hostname or ""
    except ValueError:
        return ""


def _part(item: Any, path: str) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    return camel_keys(_mapping(item, path))


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return cast("dict[str, Any]", value)
    raise InputError(f"a mapping was expected, not {shown(value)}.", path=path)


def _rows(value: Any, path: str) -> list[Any]:
    """A list; a single value counts as a list of one, as the API has it."""
    if isinstance(value, (str, Mapping)):
        return [cast(Any, value)]
    if isinstance(value, list):
        return cast("list[Any]", value)
    raise InputError(f"a list was expected, not {shown(value)}.", path=path)
