"""What is doubtful about the model that a request names: told in the report, never an error."""

from __future__ import annotations

from typing import Final

from context_chef.adaptation.profiles import profile_for, provider_of
from context_chef.errors import shown
from context_chef.ir.diagnostics import Diagnostic
from context_chef.pipeline.turn import CompileTurn

MODEL_UNKNOWN: Final = "model-unknown"
MODEL_OF_ANOTHER: Final = "model-of-another-provider"
BEYOND_THE_MODEL: Final = "request-beyond-model"
MODEL_DOUBTS: Final = frozenset({MODEL_UNKNOWN, MODEL_OF_ANOTHER, BEYOND_THE_MODEL})
"""The codes of these diagnostics."""

_TARGETS: Final = ("openai", "anthropic", "gemini")


def model_doubts(turn: CompileTurn, tokens: int) -> tuple[Diagnostic, ...]:
    """Whether the model is unknown, another provider's, or takes less than these `tokens`.

    Gateways use names of their own, so that a request is made all the same.
    """
    model, target, profile = turn.inputs.model, turn.target_name, turn.profile
    if model is None or provider_of(target) is None:
        return ()
    if profile is None:
        for other in _TARGETS:
            if profile_for(model, other) is not None:
                return _doubt(
                    MODEL_OF_ANOTHER, f"model {shown(model)} is not one of {target} but of {other}"
                )
        return _doubt(
            MODEL_UNKNOWN, f"model {shown(model)} is not known here; the safe choice was made"
        )
    limit = profile.max_input_tokens or profile.context_window
    if limit is None or tokens <= limit:
        return ()
    return _doubt(
        BEYOND_THE_MODEL,
        f"the request is estimated at {tokens:,} tokens, and {model} takes {limit:,}",
    )


def _doubt(code: str, message: str) -> tuple[Diagnostic, ...]:
    return (Diagnostic(code=code, where="model", message=message),)
