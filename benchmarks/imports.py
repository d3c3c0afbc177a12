"""What `import context_chef` costs in a process of its own (processor time), and what it loads.

python -m benchmarks.imports [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

from benchmarks.measuring import machine

PROGRAM = """
import sys, time
start = time.process_time()
import context_chef
chef = context_chef.ContextChef
print((time.process_time() - start) * 1000, len(sys.modules))
"""
BARE = "import sys, time; start = time.perf_counter(); import json; print(0.0, len(sys.modules))"


def measured(program: str, runs: int = 11) -> tuple[list[float], int]:
    """Milliseconds of each run, sorted, and how many modules are loaded then."""
    found: list[float] = []
    modules = 0
    for _ in range(runs):
        said = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
        found.append(float(said[0]))
        modules = int(said[1])
    return sorted(found), modules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures, modules = measured(PROGRAM)
    _, bare = measured(BARE, runs=1)
    found = {
        "median_ms": statistics.median(figures),
        "least_ms": figures[0],
        "most_ms": figures[-1],
        "modules": modules - bare,
    }
    if options.json:
        print(json.dumps({"machine": machine(), **found}, indent=1))
        return
    print(machine())
    print(
        f"import: {found['median_ms']:.1f} ms ({found['least_ms']:.1f} - {found['most_ms']:.1f}), "
        f"{found['modules']} modules more than a bare interpreter"
    )


if __name__ == "__main__":
    main()
