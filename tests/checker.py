"""What a provider would say of a finished request.

The independent checker that lies beside the shared data is asked where it is there. Elsewhere our
own `check_payload` is, so that the tests still say something; it knows the same rules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from context_chef.testing import check_payload, check_sequence
from tests.shared_data import TOOLS

HAVE_CHECKER = (TOOLS / "provider_check").is_dir()


def provider_check() -> Any:
    """The independent checker's module."""
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    return importlib.import_module("provider_check")


def refused(target: str, body: Mapping[str, Any], *, model: str | None = None) -> list[str]:
    """What would be refused, one line each."""
    if HAVE_CHECKER:
        return [str(one) for one in provider_check().check(target, dict(body), model=model)]
    return [str(one) for one in check_payload(target, body, model=model)]


def refused_in_sequence(target: str, bodies: Sequence[Mapping[str, Any]]) -> list[str]:
    """What would be refused over the requests of successive turns, one line each."""
    if HAVE_CHECKER:
        return [str(one) for one in provider_check().check_sequence(target, list(bodies))]
    return [str(one) for one in check_sequence(target, list(bodies))]
