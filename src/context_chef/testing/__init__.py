"""Hold your own parts to our promises. Suites need pytest; everything else needs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_chef.testing.adapters import TargetAdapterSuite, ordinary_session
    from context_chef.testing.backends import StorageBackendSuite
    from context_chef.testing.doubles import (
        CharacterTokenizer,
        FourMethodsBackend,
        HeldModel,
        MovableClock,
        RecordingLogger,
        RecordingObserver,
        ScriptedModel,
        characters,
        numbered_windows,
        overflow_input,
    )
    from context_chef.testing.payloads import Fault, check_payload, check_sequence
    from context_chef.testing.strategies import OverflowStrategySuite, long_history

_HOME = {
    "CharacterTokenizer": "doubles",
    "Fault": "payloads",
    "FourMethodsBackend": "doubles",
    "HeldModel": "doubles",
    "MovableClock": "doubles",
    "OverflowStrategySuite": "strategies",
    "RecordingLogger": "doubles",
    "RecordingObserver": "doubles",
    "ScriptedModel": "doubles",
    "StorageBackendSuite": "backends",
    "TargetAdapterSuite": "adapters",
    "characters": "doubles",
    "check_payload": "payloads",
    "check_sequence": "payloads",
    "long_history": "strategies",
    "numbered_windows": "doubles",
    "ordinary_session": "adapters",
    "overflow_input": "doubles",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


__all__ = [
    "CharacterTokenizer",
    "Fault",
    "FourMethodsBackend",
    "HeldModel",
    "MovableClock",
    "OverflowStrategySuite",
    "RecordingLogger",
    "RecordingObserver",
    "ScriptedModel",
    "StorageBackendSuite",
    "TargetAdapterSuite",
    "characters",
    "check_payload",
    "check_sequence",
    "long_history",
    "numbered_windows",
    "ordinary_session",
    "overflow_input",
]
