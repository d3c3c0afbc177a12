"""A child made by `os.fork()` uses a chef that another thread of its parent was compiling."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os, threading
from context_chef import ContextChef

chef = ContextChef().append({"role": "user", "content": "hi"})
inside, go_on = threading.Event(), threading.Event()

def wait(context):
    inside.set()
    go_on.wait(30)

off = chef.use("before-adapt", wait)
lock = chef._session.changing

def compile_holding():
    with lock:
        chef.compile_sync()

holder = threading.Thread(target=compile_holding, daemon=True)
holder.start()
inside.wait(30)
child = os.fork()
if child == 0:
    off()
    said = chef.append({"role": "user", "content": "and?"}).compile_sync()
    os._exit(0 if len(said["messages"]) == 2 else 3)
_, status = os.waitpid(child, 0)
go_on.set()
holder.join(30)
assert os.waitstatus_to_exitcode(status) == 0, status
assert len(chef.compile_sync()["messages"]) == 1
print("both went on")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
def test_a_fork_while_another_thread_compiles_leaves_no_lock_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, timeout=20
    )

    assert (done.stdout.strip(), done.returncode) == ("both went on", 0), done.stderr
