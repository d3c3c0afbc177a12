"""How benchmarks measure: medians of several runs with their spread, and where they ran."""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One figure: the median of several runs, and the quarter points."""

    name: str
    size: int
    """Messages in the history."""
    ms: float
    low: float
    high: float
    runs: int


def measured(
    name: str,
    size: int,
    work: Callable[[Any], object],
    *,
    runs: int = 15,
    before: Callable[[], Any] = lambda: None,
) -> Measured:
    """Time `work(before())` so many times; what `before` does is not counted."""
    figures: list[float] = []
    for _ in range(runs):
        given = before()
        gc.collect()
        start = time.perf_counter()
        work(given)
        figures.append((time.perf_counter() - start) * 1000)
    figures.sort()
    last = len(figures) - 1
    return Measured(
        name=name,
        size=size,
        ms=statistics.median(figures),
        low=figures[last // 4],
        high=figures[last - last // 4],
        runs=runs,
    )


def machine(*packages: str) -> dict[str, str]:
    """Where these figures come from."""
    versions = {"python": platform.python_version(), "msgspec": metadata.version("msgspec")}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "absent"
    return {
        **versions,
        "system": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        "processor": _processor(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def show(results: Iterable[Measured]) -> None:
    """One line a figure, for people."""
    print(f"{'what':52} {'messages':>8} {'median ms':>10} {'quarters':>20}")
    for each in results:
        quarters = f"{each.low:.3f} - {each.high:.3f}"
        print(f"{each.name:52} {each.size:8} {each.ms:10.3f} {quarters:>20}")


def as_json(results: Iterable[Measured], **more: Any) -> str:
    """The same for programs."""
    return json.dumps({**more, "figures": [asdict(each) for each in results]}, indent=1)


def note(text: str) -> None:
    """Tell how far it is without getting into the output."""
    print(text, file=sys.stderr, flush=True)
