"""Gemini: contents, their roles and their parts."""

from __future__ import annotations

from collections.abc import Iterator

from context_chef.adaptation.wire_rules.gemini_examples import HELLO, asking, call, response, said
from context_chef.adaptation.wire_rules.gemini_view import DATA_FIELDS, MODEL, USER, contents_of
from context_chef.adaptation.wire_rules.json_access import as_list, as_map
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("gemini")


@BOOK.rule(
    "contents-empty",
    "There is at least one content.",
    gist="contents is not specified",
    source="reports",
    sureness="A",
    beyond_repair="A conversation without contents has nothing to answer.",
    passing=asking(),
    failing={"contents": []},
)
def contents_empty(request: Request) -> Iterator[Finding]:
    if not request.list_of("contents"):
        yield Finding("contents", "at least one content is needed")


@BOOK.rule(
    "role",
    "Roles are `user` and `model` (`function` is tolerated); none counts as the user's.",
    gist="Please use a valid role: user, model.",
    source="recording",
    sureness="A",
    repair="System messages go to `systemInstruction`; any other role becomes `user`.",
    passing=asking(),
    failing=asking(said("system", {"text": "Be short."}), HELLO),
)
def role(request: Request) -> Iterator[Finding]:
    contents = request.list_of("contents")
    for index, content in enumerate(contents):
        given = as_map(content).get("role")
        if given is None:
            if len(contents) > 1:
                yield Finding(f"contents[{index}].role", "the role is missing", "warning")
        elif given not in (USER, MODEL, "function"):
            yield Finding(f"contents[{index}].role", f"{given!r} is no role")


@BOOK.rule(
    "parts-empty",
    "Every content has a part.",
    gist="contents.parts must not be empty",
    source="vercel/ai#3775, egoist/chatwise-releases#250",
    sureness="A",
    repair="The empty content is left out.",
    passing=asking(),
    failing=asking(HELLO, said(MODEL), HELLO),
)
def parts_empty(request: Request) -> Iterator[Finding]:
    for path, _, parts in contents_of(request):
        if not parts:
            yield Finding(f"{path}.parts", "there is no part")
    instruction = request.map_of("systemInstruction")
    if "systemInstruction" in request.body and not as_list(instruction.get("parts")):
        yield Finding("systemInstruction.parts", "there is no part")


@BOOK.rule(
    "part-data",
    "A part has exactly one of text, inlineData, fileData, functionCall, functionResponse …; a "
    "lone `thoughtSignature` is fine, and so is empty text.",
    gist="required oneof field 'data' must have one initialized field",
    source="genkit-ai/genkit#3816; recording",
    sureness="A",
    repair="An empty part becomes a visible note, a double one is taken apart.",
    passing=asking(HELLO, said(MODEL, {"text": "Hi"}, {"thoughtSignature": "eA=="}), HELLO),
    failing=asking(said(USER, {})),
)
def part_data(request: Request) -> Iterator[Finding]:
    for _, _, parts in contents_of(request):
        for part in parts:
            found = [field for field in DATA_FIELDS if field in part.data]
            if len(found) > 1:
                yield Finding(part.path, f"one kind of data is expected, not {', '.join(found)}")
            elif not found and not part.data.get("thoughtSignature"):
                yield Finding(part.path, "the part holds no data")


@BOOK.rule(
    "part-role",
    "Calls stand in model turns, responses in user turns.",
    source="docs",
    sureness="B",
    repair="The part is carried into a content of its own role.",
    passing=asking(HELLO, said(MODEL, call()), said(USER, response())),
    failing=asking(said(USER, call())),
)
def part_role(request: Request) -> Iterator[Finding]:
    for _, role, parts in contents_of(request):
        for part in parts:
            if part.call is not None and role != MODEL:
                yield Finding(part.path, "a function call in a user turn")
            if part.response is not None and role == MODEL:
                yield Finding(part.path, "a function response in a model turn")
