"""A request to Gemini in one spelling: camelCase, lists as lists, null left out; turns merged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.rule import Request

USER, MODEL = "user", "model"

DATA_FIELDS = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
"""The fields of which a part has exactly one."""

_VERBATIM = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "labels")
"""What users own inside: their keys are not ours to spell."""
_CONFIG_OUTSIDE = (
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "cachedContent",
    "labels",
    "serviceTier",
    "modelArmorConfig",
)
"""What the SDK's `config` holds and the REST body has beside `generationConfig`."""
_CLIENT_SIDE = ("httpOptions", "automaticFunctionCalling", "shouldReturnHttpResponse")


def camel(key: str) -> str:
    """`function_declarations` as `functionDeclarations`."""
    return re.sub(r"(?<=[a-z0-9])_([a-z0-9])", lambda match: match[1].upper(), key)


def one_spelling(value: Any, key: str = "") -> Any:
    """The value with keys in camelCase and without nulls, but for what users own inside."""
    if isinstance(value, list):
        return [one_spelling(item, key) for item in as_list(value)]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for name, item in as_map(value).items():
        if item is None:
            continue
        known = camel(name)
        owned = known in _VERBATIM and not (known == "response" and key == "functionDeclarations")
        if owned:
            found[known] = item
        elif known == "properties" and isinstance(item, Mapping):
            inner = as_map(item).items()
            found[known] = {field: one_spelling(schema, "items") for field, schema in inner}
        else:
            found[known] = one_spelling(item, known)
    return found


def _content(value: Any, role: str | None) -> Any:
    """A content from the SDK's shorthands: text, a part, a list of parts."""
    if isinstance(value, str):
        given: dict[str, Any] = {"parts": [{"text": value}]}
    elif isinstance(value, Mapping):
        given = dict(as_map(value))
    else:
        return value
    # Only the SDK's form (there `role` has a default) lets a bare part stand for a content.
    bare = "parts" not in given and any(key in given for key in DATA_FIELDS)
    if role is not None and bare:
        given = {"parts": [given]}
    if isinstance(given.get("parts"), Mapping):
        given["parts"] = [given["parts"]]
    if role is not None:
        given.setdefault("role", role)
    return given


def _from_config(body: dict[str, Any]) -> dict[str, Any]:
    """The REST form of the SDK's arguments `{model, contents, config}`."""
    config = dict(as_map(body.pop("config", None)))
    for key in _CLIENT_SIDE:
        config.pop(key, None)
    for key in _CONFIG_OUTSIDE:
        if key in config:
            body[key] = config.pop(key)
    if config:
        body["generationConfig"] = config
    contents: Any = body.get("contents")
    if isinstance(contents, (str, Mapping)):
        contents = [contents]
    if isinstance(contents, list):
        body["contents"] = [_content(content, USER) for content in as_list(contents)]
    instruction = body.get("systemInstruction")
    if isinstance(instruction, list):
        parts = [{"text": p} if isinstance(p, str) else p for p in as_list(instruction)]
        body["systemInstruction"] = {"parts": parts}
    elif isinstance(instruction, (str, Mapping)):
        body["systemInstruction"] = _content(instruction, None)
    return body


def rest_body(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The REST body of either form of a request."""
    body: dict[str, Any] = dict(one_spelling(payload))
    if "config" in body or isinstance(body.get("contents"), str):
        body = _from_config(body)
    if isinstance(contents := body.get("contents"), Mapping):
        body["contents"] = [contents]
    if isinstance(listed := body.get("contents"), list):
        body["contents"] = [_content(content, None) for content in as_list(listed)]
    if isinstance(instruction := body.get("systemInstruction"), Mapping):
        body["systemInstruction"] = _content(instruction, None)
    for key in ("tools", "safetySettings"):
        if isinstance(body.get(key), Mapping):
            body[key] = [body[key]]
    return body


class Part(NamedTuple):
    """A part and where it stands."""

    path: str
    data: Mapping[str, Any]

    @property
    def call(self) -> Mapping[str, Any] | None:
        return as_map(self.data["functionCall"]) if "functionCall" in self.data else None

    @property
    def response(self) -> Mapping[str, Any] | None:
        found = self.data.get("functionResponse")
        return as_map(found) if "functionResponse" in self.data else None


class Turn(NamedTuple):
    """A run of contents of one role."""

    role: str
    parts: list[Part]

    @property
    def calls(self) -> list[Part]:
        return [part for part in self.parts if part.call is not None]

    @property
    def responses(self) -> list[Part]:
        return [part for part in self.parts if part.response is not None]


def role_of(content: Mapping[str, Any]) -> str:
    """The content's role; none counts as the user's, and so does `function`."""
    role = as_text(content.get("role"))
    return USER if role in ("", "function") else role


def contents_of(request: Request) -> list[tuple[str, str, list[Part]]]:
    """Path, role and parts of every content."""
    if "contents" not in request.shared:
        found: list[tuple[str, str, list[Part]]] = []
        for index, content in enumerate(request.list_of("contents")):
            path = f"contents[{index}]"
            parts = [
                Part(f"{path}.parts[{i}]", as_map(part))
                for i, part in enumerate(as_list(as_map(content).get("parts")))
            ]
            found.append((path, role_of(as_map(content)), parts))
        request.shared["contents"] = found
    return request.shared["contents"]


def turns_of(request: Request) -> list[Turn]:
    """The contents with neighbours of one role merged."""
    if "turns" not in request.shared:
        turns: list[Turn] = []
        for _, role, parts in contents_of(request):
            if turns and turns[-1].role == role:
                turns[-1].parts.extend(parts)
            else:
                turns.append(Turn(role, list(parts)))
        request.shared["turns"] = turns
    return request.shared["turns"]


def declarations_of(request: Request) -> list[tuple[str, Mapping[str, Any]]]:
    """Every function declaration with its path."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for index, tool in enumerate(request.list_of("tools")):
        listed = as_list(as_map(tool).get("functionDeclarations"))
        for i, declaration in enumerate(listed):
            found.append((f"tools[{index}].functionDeclarations[{i}]", as_map(declaration)))
    return found
