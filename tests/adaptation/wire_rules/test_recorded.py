"""Real requests: what was accepted passes, what was refused is named, both checkers agree."""

from __future__ import annotations

import json
from collections import Counter

from context_chef.adaptation.wire_rules import check_payload, check_sequence
from tests.adaptation.wire_rules.recorded import accepted, agree, needs_checker, recordings
from tests.shared_data import DATA, needs_data

pytestmark = needs_data

_SCRUBBED = "the beta header was scrubbed from the recording"
_VERTEX = "Vertex AI, which differs from the Developer API"
EXPLAINED = {
    "dd-trace-py--anthropic-completion-tools-call-with-tool-result-stream--0": (
        "mismatched ids, which claude-3-opus let pass in 2024"
    ),
    "rig--messages-preserve-system-role-after-server-tool-result--1": "ids are masked",
    "rig--responses-api-accepts-null-metadata--0": (
        "max_output_tokens of 8, against the limit of 16 that a refusal states"
    ),
    "opentelemetry-pyth--test-function-call-choice--0": _VERTEX,
    "opentelemetry-pyth--test-tool-events--0": _VERTEX,
    "pydantic-ai--test-google-vertex-tool-combination-omits-include-server-side-tool-inv--0-2": (
        _VERTEX
    ),
    "pydantic-ai--test-google-vertex-tool-combination-omits-include-server-side-tool-inv--1": (
        _VERTEX
    ),
    "pydantic-ai--test-anthropic-advisor-tool-redacted--0": _SCRUBBED,
    "pydantic-ai--test-anthropic-compaction-end-to-end--0-2": _SCRUBBED,
    "pydantic-ai--test-anthropic-compaction-end-to-end--1": _SCRUBBED,
    "pydantic-ai--test-anthropic-lazy-advertisement-live--1-2": _SCRUBBED,
    "pydantic-ai--test-anthropic-lazy-advertisement-live--2": _SCRUBBED,
    "pydantic-ai--test-anthropic-live-delta-preserves-the-warmed-cache-prefix--1": _SCRUBBED,
    "pydantic-ai--test-anthropic-mcp-servers--0-2": _SCRUBBED,
    "pydantic-ai--test-anthropic-mcp-servers--1": _SCRUBBED,
    "pydantic-ai--test-anthropic-mcp-servers-stream--0": _SCRUBBED,
    "pydantic-ai--test-in-flight-mcp-call-history-is-accepted--0": _SCRUBBED,
    "pydantic-ai--test-tool-availability-portability-matrix-r4-t1-tool-addition--0": _SCRUBBED,
}
"""Accepted requests in which a rule finds a fault, and why it is right all the same."""

_BETAS_OF_THE_TIME = [
    "advisor-tool-2026-03-01",
    "compact-2026-01-12",
    "mid-conversation-tool-changes-2026-07-01",
    "mcp-client-2025-04-04",
]

REFUSED = {
    "400--activeagent--anthropic-json--0": "anthropic/prefill-unsupported",
    "400--mirascope--handles-empty-string-content--0": "anthropic/empty-content",
    "400--rig--boolean-root-schema-is-rejected-for-tool-input--0": "anthropic/shape",
    "400--rig--external-root-ref-is-rejected--0": "anthropic/tool-schema",
    "400--rig--recursive-ref-is-rejected-by-strict-compiler--0": "anthropic/strict-schema",
    "400--rig--twenty-five-optional-parameters-are-rejected--0": "anthropic/strict-limits",
    "400--rig--twenty-one-strict-tools-are-rejected--0": "anthropic/strict-limits",
    "400--rig--validation-error-carries-identity--0": "anthropic/sampling",
    "400--opentelemetry-py--test-generate-content-invalid-role--0": "gemini/role",
    "400--opentelemetry-py--test-generate-content-invalid-temperature--0": "gemini/range",
    "400--crewai--test-custom-llm-within-crew--0": "openai/shape",
    "400--crewai--test-llm-call-when-stop-is-unsupported--0": "openai/reasoning-params",
    "400--mirascope--handles-optional-properties-in-strict-mode--0": "openai/strict-schema",
    "400--openllmetry--test-vision-base64--3": "openai/image-url",
    "400--pydantic-ai--test-multimodal-tool-return-matrix-tool-return-content-url-a--2": (
        "openai/audio-model"
    ),
    "400--pydantic-ai--test-openai-o1-mini-system-role-system--0": "openai/role-model",
    "400--rig--chat-completions-validation-error-carries-identity--0": "openai/range",
    "400--dd-trace-js--openai-responses-post-c4a90328--0": "openai-responses/strict-schema",
    "400--mirascope--test-model-call-with-tools--1": "openai-responses/strict-schema",
    "400--pydantic-ai--test-multimodal-tool-return-matrix-tool-return-content-url-a--1": (
        "openai-responses/content-source"
    ),
    "400--pydantic-ai--test-openai-responses-model-http-error--0": "openai-responses/range",
}
"""Refused requests whose fault is in the body, and the rule that names it."""

NOT_IN_THE_BODY = (
    "too complex for compilation",
    "API key",
    "api-key",
    "does not exist",
    "not found",
    "Cannot fetch content",
    "Error while downloading",
    "exceeds the context window",
    "URL sources are not supported",  # by Bedrock; the Messages API takes them
)


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


def test_every_accepted_request_passes_or_is_explained() -> None:
    flagged = {_name(each.name) for each in accepted() if each.ours()}
    assert flagged == set(EXPLAINED)


def test_requests_pass_once_their_scrubbed_beta_header_is_back() -> None:
    scrubbed = {name for name, reason in EXPLAINED.items() if reason is _SCRUBBED}
    for each in accepted():
        if _name(each.name) in scrubbed:
            assert each.ours({**each.payload, "betas": _BETAS_OF_THE_TIME}) == set(), each.name


def test_refused_requests_are_refused_for_the_right_reason() -> None:
    for each in recordings():
        if each.accepted or not each.genuine:
            continue
        name = _name(each.name)
        if name in REFUSED:
            assert REFUSED[name] in each.ours(), name
        else:
            assert any(reason in each.error for reason in NOT_IN_THE_BODY), (name, each.error)


# Each entry of rejections_quoted_in_issues.json that has a body, with the rule that names it.
QUOTED = {
    "anthropic-tool-use-without-result": "anthropic/tool-result-missing",
    "anthropic-one-of-two-results": "anthropic/tool-result-missing",
    "anthropic-orphan-result": "anthropic/tool-result-orphan",
    "anthropic-thinking-missing": "anthropic/thinking-first",
    "anthropic-five-cache-controls": "anthropic/cache-breakpoints",
    "anthropic-cache-control-on-empty-text": "anthropic/empty-text",
    "anthropic-empty-text-block": "anthropic/empty-text",
    "anthropic-tool-names-unique": "anthropic/tool-name-duplicate",
    "anthropic-tool-name-pattern": "anthropic/tool-name",
    "openai-tool-calls-unanswered": "openai/tool-reply-missing",
    "openai-orphan-tool-message": "openai/tool-reply-orphan",
    "openai-129-tools": "openai/tools-limit",
    "openai-call-id-too-long": "openai/tool-call-id",
    "responses-no-call-for-output": "openai-responses/output-orphan",
    "gemini-call-turn-order": "gemini/call-turn",
    "gemini-response-count": "gemini/response-count",
    "gemini-missing-thought-signature": "gemini/thought-signature",
}
NO_MODEL_OF_OUR_OWN = {"anthropic-foreign-signature"}
"""Only the provider can see whose signature that is."""


def test_refusals_quoted_in_issues_are_named() -> None:
    quoted = json.loads(
        (DATA / "cassettes" / "rejections_quoted_in_issues.json").read_text(encoding="utf-8")
    )
    with_body = {e["id"]: e for e in quoted["entries"] if e["request"] is not None}
    assert set(with_body) == set(QUOTED) | NO_MODEL_OF_OUR_OWN
    for id, rule in QUOTED.items():
        entry = with_body[id]
        target = entry["format"].replace("_", "-")
        model = "gemini-3-flash-preview" if target == "gemini" else None
        assert rule in {f.rule for f in check_payload(target, entry["request"], model=model)}, id


@needs_checker
def test_the_independent_checker_gives_the_same_verdicts() -> None:
    verdicts: Counter[str] = Counter()
    for each in recordings():
        # The independent checker does not know the bodies that Bedrock takes.
        if "anthropic_version" in each.payload or (each.target == "openai" and each.model):
            continue
        ours, theirs = each.ours(), each.theirs()
        assert agree(ours, theirs), (each.name, ours, theirs)
        verdicts["refused" if ours else "accepted"] += 1
    assert verdicts["accepted"] > 600
    assert verdicts["refused"] > 90


def test_no_recorded_request_makes_the_checkers_raise() -> None:
    for each in recordings():
        for target in ("anthropic", "openai", "openai-responses", "gemini"):
            check_payload(target, each.payload, warnings=True)
            check_sequence(target, [each.payload, each.payload])
