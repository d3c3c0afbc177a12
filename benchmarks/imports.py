"""What a process pays before its first request: importing, and the first compile (processor time).

    python -m benchmarks.imports [--runs 15] [--json]

Every run is a process of its own, with bytecode on disk, as an installed package has. The least of
the runs is told beside the median: a busy machine makes all but that one slower.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

from benchmarks.measuring import machine

MESSAGE = '{"role": "user", "content": "What is the capital of France?"}'
PROGRAMS = {
    "import msgspec": "import msgspec",
    "import asyncio": "import asyncio",
    "import context_chef": "import context_chef",
    "from context_chef import ContextChef": "from context_chef import ContextChef",
    "… and compile one message for openai": (
        "from context_chef import ContextChef\n"
        f"ContextChef().append({MESSAGE}).compile_sync('openai').to_json()"
    ),
    "… for anthropic, with a model and a system prompt": (
        "from context_chef import ContextChef\n"
        f"ContextChef().set_system_prompt('Be brief.').append({MESSAGE})"
        ".compile_sync('anthropic', model='claude-sonnet-4-5').to_json()"
    ),
}
"""The first two are what others cost, on the same machine in the same minute."""
_TIMED = """
import sys, time
modules, start = len(sys.modules), time.process_time()
{program}
print((time.process_time() - start) * 1000, len(sys.modules) - modules)
"""


def measured(program: str, runs: int) -> tuple[list[float], int]:
    """Milliseconds of each run, sorted, and how many modules are loaded more than before."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    found: list[float] = []
    modules = 0
    for run in range(runs + 1):
        said = subprocess.run(
            [sys.executable, "-c", _TIMED.format(program=program)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout.split()
        if run > 0:  # the first one may write the bytecode
            found.append(float(said[0]))
        modules = int(said[1])
    return sorted(found), modules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: list[dict[str, object]] = []
    for name, program in PROGRAMS.items():
        figures, modules = measured(program, options.runs)
        found.append(
            {
                "program": name,
                "least_ms": figures[0],
                "median_ms": statistics.median(figures),
                "most_ms": figures[-1],
                "modules": modules,
            }
        )
    if options.json:
        print(json.dumps({"machine": machine(), "imports": found}, indent=1))
        return
    print(machine())
    for each in found:
        print(
            f"{each['program']:52} {each['least_ms']:6.1f} ms at least, "
            f"{each['median_ms']:6.1f} in the middle, {each['modules']:4} modules"
        )


if __name__ == "__main__":
    main()
