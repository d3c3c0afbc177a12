"""The processes of a replay end with the one that asked, however that one ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from context_chef.cli import main
from tests.replay.sessions import chat, write

_ENDED_AT_ONCE = """
import os, signal, sys
from context_chef.replay import replay

def progress(done, total):
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    replay([sys.argv[1]] * 2, ["drop", "reset"], jobs=2, progress=progress)
"""


def test_no_process_outlives_the_one_that_asked(tmp_path: Path) -> None:
    """They used to wait for ever for work from a process that `kill` or a CI had ended."""
    script = tmp_path / "asking.py"
    script.write_text(_ENDED_AT_ONCE)
    session = write(tmp_path / "s.json", chat(4))
    command = [sys.executable, str(script), str(session)]

    # Answers when the last process that holds the pipes is gone.
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert ended.returncode < 0


def test_ctrl_c_while_the_command_loads_ends_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "context_chef.cli.commands", Interrupted())

    assert main(["replay", "x"]) == 130
    assert capsys.readouterr().err == "context-chef: interrupted\n"
