"""What the model reads stands in one place, and nothing of this machine in any."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_no_path_of_a_machine_stands_in_any_file() -> None:
    here = Path(__file__)
    pattern = re.compile(r"/(?:work|root)/(?:main|venv|shared|brief|\.library|\.pyenv)")
    found = [
        str(path.relative_to(ROOT))
        for path in _files()
        if path != here and path.is_file() and pattern.search(path.read_text("utf-8", "replace"))
    ]

    assert found == []


def test_no_source_file_is_unfinished() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    found = [
        str(path.relative_to(ROOT))
        for path in _files()
        if path.suffix == ".py" and "src" in path.parts and marks.search(path.read_text("utf-8"))
    ]

    assert found == []


@pytest.mark.parametrize("folder", ["selection", "placement", "retrieval", "pipeline"])
def test_no_tag_for_the_model_is_written_outside_prompts(folder: str) -> None:
    """Tags that give text a meaning are opened by placement's renderers and by prompts only."""
    allowed = {"announcements.py", "tail.py", "cache.py"}
    tag = re.compile(
        r"[\"'f]<(?:memory|summary|analysis|anchor|ephemeral|persisted-output)[ >]", re.I
    )
    found = [
        path.name
        for path in (ROOT / "src" / "context_chef" / folder).glob("*.py")
        if path.name not in allowed and tag.search(path.read_text("utf-8"))
    ]

    assert found == []
