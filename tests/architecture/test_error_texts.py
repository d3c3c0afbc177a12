"""What a caller gave is written into an error by `shown()`, which is short whatever it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import context_chef

SOURCE = Path(context_chef.__file__).parent
_REPR = ord("r")


def _error_texts(tree: ast.AST) -> Iterator[ast.AST]:
    """What is raised, and what is made to be raised elsewhere; assertions are the tests' own."""
    for node in ast.walk(tree):
        if getattr(getattr(node, "func", None), "id", "") == "AssertionError":
            continue
        if isinstance(node, ast.Raise) and not _asserts(node):
            yield node
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name.endswith("Error"):
                yield node


def _asserts(node: ast.Raise) -> bool:
    return isinstance(node.exc, ast.Call) and getattr(node.exc.func, "id", "") == "AssertionError"


def _raw(tree: ast.AST) -> Iterator[int]:
    for text in _error_texts(tree):
        for node in ast.walk(text):
            if isinstance(node, ast.FormattedValue) and node.conversion == _REPR:
                yield node.lineno
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "repr":
                yield node.lineno


def test_no_error_holds_the_raw_repr_of_a_value() -> None:
    """A value may be as deep or long as it likes, or fail to say what it is."""
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        if path.name != "errors.py"
        # A module's `__getattr__` answers as Python's own does.
        and path.name != "__init__.py"
        for line in _raw(ast.parse(path.read_text("utf-8")))
    }

    assert found == set(), "write `{shown(value)}` in place of `{value!r}`"


def test_the_rule_finds_what_it_is_for() -> None:
    code = 'raise InputError(f"not {value!r}")\nerror = SettingsError("not " + repr(value))\n'

    assert set(_raw(ast.parse(code))) == {1, 2}
