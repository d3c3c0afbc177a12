"""What people import is somebody's decision: the list is frozen."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import context_chef

FROZEN = Path(__file__).with_name("public_names.txt")
PACKAGES = (
    "context_chef",
    "context_chef.adaptation",
    "context_chef.persistence",
    "context_chef.placement",
    "context_chef.retrieval",
    "context_chef.selection",
    "context_chef.testing",
)


def current() -> list[str]:
    """Every public name, with the package it is imported from."""
    return [
        f"{package}.{name}"
        for package in PACKAGES
        for name in sorted(importlib.import_module(package).__all__)
    ]


def test_the_list_of_public_names_is_frozen() -> None:
    frozen = FROZEN.read_text("utf-8").splitlines()

    assert current() == frozen, "argue for the change in the commit that changes public_names.txt"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)

    for name in module.__all__:
        assert getattr(module, name) is not None


def test_a_name_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AttributeError, match="ContextChief"):
        context_chef.ContextChief  # noqa: B018  # asking is the point


if __name__ == "__main__":
    FROZEN.write_text("\n".join(current()) + "\n", "utf-8")
