"""Holds finished payloads against the rules: one by one, and over the turns of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.profiles import Profiles, profile_for
from context_chef.adaptation.wire_rules.anthropic import ANTHROPIC_RULES
from context_chef.adaptation.wire_rules.gemini import GEMINI_RULES
from context_chef.adaptation.wire_rules.gemini_view import rest_body
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.json_text import JSON_RULES
from context_chef.adaptation.wire_rules.openai_chat import OPENAI_CHAT_RULES
from context_chef.adaptation.wire_rules.openai_responses import OPENAI_RESPONSES_RULES
from context_chef.adaptation.wire_rules.plain import TooDeep, plain
from context_chef.adaptation.wire_rules.rule import (
    ANTHROPIC_VERSION,
    Fault,
    Request,
    Target,
    WireRule,
    run,
)
from context_chef.adaptation.wire_rules.sequence import SEQUENCE_RULES
from context_chef.adaptation.wire_rules.shape_rules import SHAPE_RULES, SHAPES
from context_chef.adaptation.wire_rules.shapes import ShapeFault
from context_chef.adaptation.wire_rules.tool_abilities import ABILITY_RULES
from context_chef.errors import SettingsError, nearest, shown
from context_chef.ir.handed_out import HandedOut, Sealed

RULES: Mapping[Target, tuple[WireRule, ...]] = {
    "openai": (SHAPE_RULES["openai"], JSON_RULES["openai"], *OPENAI_CHAT_RULES),
    "openai-responses": (
        SHAPE_RULES["openai-responses"],
        JSON_RULES["openai-responses"],
        *OPENAI_RESPONSES_RULES,
        *ABILITY_RULES["openai-responses"],
        *SEQUENCE_RULES["openai-responses"],
    ),
    "anthropic": (
        SHAPE_RULES["anthropic"],
        JSON_RULES["anthropic"],
        *ANTHROPIC_RULES,
        *ABILITY_RULES["anthropic"],
        *SEQUENCE_RULES["anthropic"],
    ),
    "gemini": (SHAPE_RULES["gemini"], JSON_RULES["gemini"], *GEMINI_RULES),
}
"""Every rule of each target, its shape first, those over turns last."""

_TOO_DEEP = "it nests deeper than any provider takes"
_CALL_OPTIONS = ("extra_headers", "extra_query", "extra_body", "timeout")
"""Arguments of an SDK call that are no part of the body."""


def _target(target: str) -> Target:
    for known in RULES:
        if known == target:
            return known
    raise SettingsError(
        f"There are no wire rules for target {shown(target)}. {nearest(target, RULES)}"
    )


def check_payload(
    target: str,
    payload: Any,
    *,
    model: str | None = None,
    profile: ModelProfile | None = None,
    profiles: Profiles = (),
    api_version: str | None = None,
    warnings: bool = False,
    partial: bool = False,
) -> list[Fault]:
    """What is wrong with that payload: empty when the provider would accept it.

    `payload` is the HTTP body or the keyword arguments of the official SDK call, with SDK objects
    or plain data inside. `model` is needed where the payload names none (Gemini's REST body,
    Bedrock) and wins over the one named; a `profile` given outright wins over both. Rules that
    depend on the model say nothing about a model that nobody knows. `api_version` is Anthropic's.
    With `warnings`, what is accepted but pointless or disputed is reported too. A `partial` payload
    leaves `model` and `max_tokens` to the call that sends it, as a compiled one does.

    Never raises for a payload, whatever it is; an unknown target is a SettingsError.
    """
    known = _target(target)
    request, faults = _open(
        known, payload, model=model, profile=profile, profiles=profiles, api_version=api_version
    )
    if request is None:
        return faults
    return _judged(known, request, SHAPES[known].check(request.body), warnings, partial)


class PayloadChecker:
    """`check_payload` for the requests of a session: what comes again is read once.

    Remembers the sealed rows of the last request. Its findings are those of the function.
    """

    def __init__(
        self, target: str, *, model: str | None = None, profiles: Profiles = (),
        partial: bool = False,
    ) -> None:  # fmt: skip
        self._target: Target = _target(target)
        self._model = model
        self._profiles = profiles
        self._partial = partial
        self._rows: dict[int, tuple[Sealed, Any]] = {}
        """Rows as plain data, by the identity of the sealed ones."""
        self._fine: set[tuple[str, int]] = set()
        """Rows of which list have the shape they should have, by the identity of the plain ones."""

    def check(self, payload: Mapping[str, Any]) -> list[Fault]:
        """What is wrong with that payload."""
        shape = SHAPE_RULES[self._target].id
        try:
            opened = self._plain(payload)
        except TooDeep:
            return [Fault(rule=shape, path="", message=_TOO_DEEP)]
        request = _request(
            self._target,
            opened,
            model=self._model,
            profile=None,
            profiles=self._profiles,
            api_version=None,
        )
        differences = self._differences(request.body)
        return _judged(self._target, request, differences, False, self._partial)

    def _plain(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The payload as `plain` makes it. What was remembered and is not in it is forgotten."""
        before, self._rows = self._rows, {}
        opened: dict[str, Any] = {}
        for key, value in payload.items():
            if type(value) is HandedOut:
                opened[str(key)] = [self._row(row, before) for row in value.raw()]
            else:
                opened[str(key)] = plain(value, 1)
        held = {id(row) for _, row in self._rows.values()}
        self._fine = {known for known in self._fine if known[1] in held}
        return opened

    def _row(self, row: Any, before: Mapping[int, tuple[Sealed, Any]]) -> Any:
        if type(row) is not Sealed:
            return plain(row, 2)
        known = before.get(id(row))
        if known is None:
            known = (row, plain(row, 2))
        self._rows[id(row)] = known
        return known[1]

    def _differences(self, body: Mapping[str, Any]) -> list[ShapeFault]:
        table = SHAPES[self._target]
        held = {id(row) for _, row in self._rows.values()}
        thin = dict(body)
        new: list[tuple[str, int]] = []
        listed = [
            key
            for key, rows in body.items()
            if type(rows) is list and table.judges_alone("Request", key)
        ]
        for key in listed:
            rows = as_list(body[key])
            thin[key] = [row for row in rows if (key, id(row)) not in self._fine]
            new += [(key, id(row)) for row in thin[key] if id(row) in held]
        differences = table.check(thin)
        if any(each.path.partition("[")[0] in listed for each in differences):
            return table.check(body)  # with the places that they have among all rows
        self._fine.update(new)
        return differences


def _judged(
    target: Target,
    request: Request,
    differences: Sequence[ShapeFault],
    warnings: bool,
    partial: bool,
) -> list[Fault]:
    """The faults of a request whose shape differs in these places."""
    shape = SHAPE_RULES[target]
    if partial:
        absent = [key for key in ("model", "max_tokens") if key not in request.body]
        differences = [each for each in differences if each.path not in absent]
    faults = [Fault(rule=shape.id, path=each.path, message=each.message) for each in differences]
    if not any(each.breaking for each in differences):
        for rule in RULES[target]:
            if rule is not shape and not rule.over_turns:
                faults += run(rule, request)
    return [fault for fault in faults if warnings or fault.severity == "error"]


def check_sequence(
    target: str,
    payloads: Iterable[Any],
    *,
    model: str | None = None,
    profile: ModelProfile | None = None,
    profiles: Profiles = (),
    api_version: str | None = None,
    warnings: bool = False,
    partial: bool = False,
    over_turns_only: bool = False,
) -> list[Fault]:
    """What is wrong with the payloads of a session's successive turns.

    Each is judged as by `check_payload`; on top come the rules over turns. With `over_turns_only`
    these alone: for payloads that were judged one by one already. Paths begin with the index of
    the payload: `[2].messages[1]`.
    """
    known = _target(target)
    requests: list[Request | None] = []
    faults: list[Fault] = []
    for index, payload in enumerate(payloads):
        if over_turns_only:
            request, _ = _open(
                known,
                payload,
                model=model,
                profile=profile,
                profiles=profiles,
                api_version=api_version,
            )
            requests.append(request)
            continue
        found = check_payload(
            known,
            payload,
            model=model,
            profile=profile,
            profiles=profiles,
            api_version=api_version,
            warnings=warnings,
            partial=partial,
        )
        faults += [_at(index, fault) for fault in found]
        broken = any(fault.rule == f"{known}/shape" for fault in found)
        request = None
        if not broken:
            request, _ = _open(
                known,
                payload,
                model=model,
                profile=profile,
                profiles=profiles,
                api_version=api_version,
            )
        requests.append(request)
    for rule in SEQUENCE_RULES.get(known, ()):
        faults += [fault for fault in run(rule, requests) if warnings or fault.severity == "error"]
    return faults


def check_turns(target: str, payloads: Iterable[Any]) -> list[Fault]:
    """Only what the rules over turns find, for payloads that were judged one by one already."""
    known = _target(target)
    options: dict[str, Any] = {"model": None, "profile": None, "profiles": (), "api_version": None}
    requests = [_open(known, payload, **options)[0] for payload in payloads]
    rules = SEQUENCE_RULES.get(known, ())
    found = [fault for rule in rules for fault in run(rule, requests)]
    return [fault for fault in found if fault.severity == "error"]


def _at(index: int, fault: Fault) -> Fault:
    path = f"[{index}].{fault.path}" if fault.path else f"[{index}]"
    return Fault(rule=fault.rule, path=path, message=fault.message, severity=fault.severity)


def _open(
    target: Target,
    payload: Any,
    *,
    model: str | None,
    profile: ModelProfile | None,
    profiles: Profiles,
    api_version: str | None,
) -> tuple[Request | None, list[Fault]]:
    """The payload as a request, or why it is none."""
    shape = SHAPE_RULES[target].id
    try:
        opened = plain(payload)
    except TooDeep:
        return None, [Fault(rule=shape, path="", message=_TOO_DEEP)]
    if not isinstance(opened, Mapping):
        return None, [Fault(rule=shape, path="", message="a payload is a JSON object")]
    request = _request(
        target,
        as_map(opened),
        model=model,
        profile=profile,
        profiles=profiles,
        api_version=api_version,
    )
    return request, []


def _request(
    target: Target,
    opened: Mapping[str, Any],
    *,
    model: str | None,
    profile: ModelProfile | None,
    profiles: Profiles,
    api_version: str | None,
) -> Request:
    """The request of a payload that is plain data."""
    body = dict(opened)
    headers = as_map(body.get("extra_headers"))
    extra = as_map(body.get("extra_body"))
    for key in _CALL_OPTIONS:
        body.pop(key, None)
    body |= extra
    version = api_version
    betas: frozenset[str] = frozenset()
    if target == "anthropic":
        betas = _betas(body, headers)
        version = version or _header(headers, "anthropic-version")
        _open_cloud(body)
    elif target == "gemini":
        body = rest_body(body)
    if model and target != "gemini":
        body.setdefault("model", model)
    name = model or as_text(body.get("model"))
    if profile is None:
        profile = profile_for(name, target, profiles=profiles)
    return Request(
        body,
        model=name,
        profile=profile,
        betas=betas,
        api_version=version or ANTHROPIC_VERSION,
    )


def _header(headers: Mapping[str, Any], name: str) -> str:
    return next((as_text(headers[key]) for key in headers if key.lower() == name), "")


def _betas(body: Mapping[str, Any], headers: Mapping[str, Any]) -> frozenset[str]:
    """The beta features that a request names: as argument, as header, in a Bedrock body."""
    named = [*as_list(body.get("betas")), *as_list(body.get("anthropic_beta"))]
    named += _header(headers, "anthropic-beta").split(",")
    return frozenset(beta.strip() for beta in named if isinstance(beta, str) and beta.strip())


def _open_cloud(body: dict[str, Any]) -> None:
    """Bedrock and Vertex AI name the model in the address and the API version in the body."""
    if "anthropic_version" in body:
        del body["anthropic_version"]
        body.pop("anthropic_beta", None)
        body.setdefault("model", "")


def all_rules(targets: Sequence[Target] = ()) -> tuple[WireRule, ...]:
    """The rules of these targets, of all of them by default."""
    wanted = targets or tuple(RULES)
    return tuple(rule for target in wanted for rule in RULES[target])
