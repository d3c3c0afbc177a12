"""Where the shared real data lies, and what to do when it is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or ROOT.parent / "shared" / "data").resolve()
TOOLS = DATA.parent / "tools"
HAVE_DATA = DATA.is_dir()

if os.environ.get("CONTEXT_CHEF_REQUIRE_DATA") and not HAVE_DATA:
    raise RuntimeError(f"the shared data has to be there and is not: {DATA} is no folder")

needs_data = pytest.mark.skipif(
    not HAVE_DATA, reason="the shared data is absent; set CONTEXT_CHEF_DATA to its folder"
)
