"""Every fenced Python example in README, docs and docstrings runs, output included."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"^(?P<indent>[ ]*)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```", re.M | re.S
)


def _pages() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def _blocks(text: str) -> list[tuple[str, str, int]]:
    return [
        (match["info"].strip(), textwrap.dedent(match["body"]), text[: match.start()].count("\n"))
        for match in _FENCE.finditer(text)
    ]


def _run(code: str, name: str, scope: dict[str, object]) -> str:
    """Run a block, `await` at its top level included; answer what it printed."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    compiled = compile(code, name, "exec", flags=flags)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = eval(compiled, scope)
        if inspect.iscoroutine(result):
            asyncio.run(result)
    return printed.getvalue()


def _check(text: str, name: str) -> int:
    """Run a page's Python blocks in one scope; a `text` block right after one is its output."""
    module = types.ModuleType("context_chef_docs_example")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    scope = module.__dict__
    blocks = _blocks(text)
    ran = 0
    for index, (info, body, line) in enumerate(blocks):
        if info != "python":
            continue
        ran += 1
        printed = _run("\n" * (line + 1) + body, name, scope)
        follows = blocks[index + 1] if index + 1 < len(blocks) else ("", "", 0)
        if follows[0] == "text" and follows[2] - line <= body.count("\n") + 3:
            assert printed.strip() == follows[1].strip(), f"{name}:{follows[2]}"
    return ran


@pytest.mark.parametrize("page", list(_pages()), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _check(page.read_text("utf-8"), str(page))


def _docstrings() -> Iterator[tuple[str, str]]:
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text and "```python" in text:
                    name = getattr(node, "name", "module")
                    yield f"{file.relative_to(ROOT)}:{name}", text


def test_the_examples_of_docstrings_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in _docstrings():
        assert _check(text, name) > 0, name


def test_the_readme_has_examples_that_run() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")

    assert sum(info == "python" for info, _, _ in _blocks(readme)) >= 2
