"""The shipped session is what its program records, to the byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_recording_the_example_again_gives_the_same_bytes(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    command = [sys.executable, str(EXAMPLES / "record_session.py"), "--out", str(out)]

    subprocess.run(command, check=True, capture_output=True)

    assert out.read_bytes() == (EXAMPLES / "session.json").read_bytes()
