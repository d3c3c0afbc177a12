"""Real requests: what was accepted passes, what was refused is named, both checkers agree."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.adaptation.wire_rules.recorded import accepted, agree, needs_checker, recordings
from tests.shared_data import needs_data

pytestmark = needs_data

# Accepted requests in which a rule finds a fault, and why that is right all the same.
_NO_GENERATION = "a request to another endpoint (token count, cached content), not to this one"
_SCRUBBED = "the beta header was scrubbed from the recording"
_VERTEX = "Vertex AI, which differs from the Developer API"
_MASKED = "ids were masked in the recording"
EXPLAINED = {
    "anthropic/accepted/dd-trace-py--anthropic-completion-tools-call-with-tool-result-stream--0.json": (
        "mismatched ids that claude-3-opus let pass in 2024"
    ),
    "anthropic/accepted/rig--messages-preserve-system-role-after-server-tool-result--1.json": _MASKED,
    "gemini/accepted/opentelemetry-pyth--test-function-call-choice--0.json": _VERTEX,
    "gemini/accepted/opentelemetry-pyth--test-tool-events--0.json": _VERTEX,
    "gemini/accepted/pydantic-ai--test-google-vertex-tool-combination-omits-include-server-side-tool-inv--0-2.json": _VERTEX,
    "gemini/accepted/pydantic-ai--test-google-vertex-tool-combination-omits-include-server-side-tool-inv--1.json": _VERTEX,
    "openai_responses/accepted/rig--responses-api-accepts-null-metadata--0.json": (
        "max_output_tokens of 10, against the limit of 16 that another recording states"
    ),
}
