"""The data files beside this one."""

from __future__ import annotations

import pkgutil
from typing import cast


def table(name: str) -> bytes:
    """What is in that file, also where the package is not unpacked."""
    # `importlib.resources` would bring archives, temporary files and random numbers along.
    return cast(bytes, pkgutil.get_data("context_chef.ir", name))
