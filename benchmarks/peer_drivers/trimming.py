"""What every trimming driver shares: histories come in as JSON, what is left of each goes out.

A driver runs in an environment of its own, beside nothing but its library, so this file imports
the standard library only. It is called `python trim_with_….py FILE` and prints one line of JSON a
history, in the order of the file: `{"messages": …}`, or `{"reason": …}` where the library raised.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

Row = dict[str, Any]
Trim = Callable[[list[Row], float], Any]
"""Chat Completions messages and the room, 0.5 being half of what they need, to a request's."""


def drive(packages: tuple[str, ...], trim: Trim) -> None:
    """Trim each history of the file that the command line names."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    versions = {package: metadata.version(package) for package in packages}
    print(json.dumps({"versions": versions}), flush=True)
    with open(sys.argv[1], encoding="utf-8") as file:
        histories = json.load(file)
    for given in histories:
        try:
            line = {"messages": trim(given["rows"], given["room"])}
        except Exception as error:  # noqa: BLE001 - a peer's failure is counted as one
            line = {"reason": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(line), flush=True)
