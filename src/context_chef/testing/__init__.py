"""Hold your own parts to our promises. Suites need pytest; `check_payload` needs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_chef.testing.backends import StorageBackendSuite
    from context_chef.testing.doubles import MovableClock, ScriptedModel
    from context_chef.testing.payloads import Fault, check_payload, check_sequence
    from context_chef.testing.strategies import OverflowStrategySuite

_HOME = {
    "Fault": "payloads",
    "MovableClock": "doubles",
    "OverflowStrategySuite": "strategies",
    "ScriptedModel": "doubles",
    "StorageBackendSuite": "backends",
    "check_payload": "payloads",
    "check_sequence": "payloads",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


__all__ = [
    "Fault",
    "MovableClock",
    "OverflowStrategySuite",
    "ScriptedModel",
    "StorageBackendSuite",
    "check_payload",
    "check_sequence",
]
