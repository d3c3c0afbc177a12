"""How many trimmed histories a provider would refuse: two other libraries, and this one.

    python -m benchmarks.validity [--peers PYTHON] [--out FILE]

Every recorded conversation, as Chat Completions messages, is trimmed to half of its size by
`langchain_core.trim_messages`, by `litellm.utils.trim_messages` and by a chef with `reset()`. Our
rules judge what comes out. The others run in an environment of their own: --peers names its
interpreter; without it one is made in a temporary folder (pip install langchain-core litellm).
Reads the shared data; `CONTEXT_CHEF_DATA` says where it is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from pathlib import Path
from typing import Any

from context_chef import ContextChef, InMemoryBackend, read_recording, reset, to_openai
from context_chef.testing import check_payload

DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or Path(__file__).parents[2] / "shared" / "data")
MODEL = "gpt-4o"
PEERS = ("langchain-core", "litellm")

_TRIM = r"""
import json, sys
from importlib.metadata import version
from langchain_core.messages import convert_to_openai_messages, trim_messages
from langchain_core.messages.utils import convert_to_messages, count_tokens_approximately
from litellm.utils import trim_messages as litellm_trim

def langchain(messages, tokens):
    kept = trim_messages(convert_to_messages(messages), max_tokens=tokens, strategy="last",
                         include_system=True, token_counter=count_tokens_approximately)
    return convert_to_openai_messages(kept)

def litellm(messages, tokens):
    return litellm_trim(messages, model="gpt-4o", max_tokens=tokens)

names = {"langchain-core": langchain, "litellm": litellm}
out = {"versions": {name: version(name) for name in names}, "rows": []}
for line in sys.stdin:
    given = json.loads(line)
    row = {"name": given["name"]}
    for name, trim in names.items():
        try:
            row[name] = trim(json.loads(json.dumps(given["messages"])), given["tokens"])
        except Exception as error:
            row[name] = f"{type(error).__name__}: {error}"[:200]
    out["rows"].append(row)
json.dump(out, sys.stdout)
"""


def histories(largest: int) -> list[dict[str, Any]]:
    """Conversations with calls in them, as Chat Completions messages, and half of their size."""
    found: list[dict[str, Any]] = []
    for path in sorted((DATA / "traces").glob("*/*.json")):
        if path.stat().st_size > largest:
            continue
        conversation, _ = read_recording(json.loads(path.read_bytes()))
        messages = to_openai(conversation)["messages"]
        whole = ContextChef().set_system_prompt(conversation.system)
        tokens = whole.set_history(conversation.history).compile_sync("openai").report.tokens
        if any(message.get("tool_calls") for message in messages):
            found.append({"name": path.stem, "messages": messages, "tokens": tokens // 2})
    return found


def ours(given: dict[str, Any]) -> list[Any] | str:
    """What a chef makes of the same messages within the same size."""
    chef = ContextChef(
        janitor={"context_window": max(given["tokens"], 500)},
        overflow={"strategy": reset()},
        store=InMemoryBackend(),
        model=MODEL,
    )
    try:
        return chef.set_history(given["messages"]).compile_sync("openai")["messages"]
    except Exception as error:  # noqa: BLE001  # counted, as it is for the others
        return f"{type(error).__name__}: {error}"[:200]


def peers_python() -> str:
    """The interpreter of a fresh environment with the other libraries in it."""
    folder = Path(tempfile.mkdtemp(prefix="peers-"))
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--largest", type=int, default=500_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/validity.md")
    options = parser.parse_args()
    given = histories(options.largest)
    lines = "".join(json.dumps(row) + "\n" for row in given)
    python = options.peers or peers_python()
    done = subprocess.run(
        [python, "-c", _TRIM], input=lines, capture_output=True, check=True, encoding="utf-8"
    )
    answer = json.loads(done.stdout)
    results: dict[str, list[Any]] = {name: [] for name in (*PEERS, "context-chef")}
    for row, history in zip(answer["rows"], given, strict=True):
        for name in PEERS:
            results[name].append(row[name])
        results["context-chef"].append(ours(history))
    page = _page(results, answer["versions"], len(given))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page, encoding="utf-8")
    sys.stdout.write(page)
    return 0


def _page(results: dict[str, list[Any]], versions: dict[str, str], total: int) -> str:
    rows: list[str] = []
    for name, outputs in results.items():
        broken, raised = 0, 0
        rules: Counter[str] = Counter()
        for messages in outputs:
            if isinstance(messages, str):
                raised += 1
                continue
            faults = check_payload("openai", {"model": MODEL, "messages": messages})
            broken += bool(faults)
            rules.update({fault.rule for fault in faults})
        said = ", ".join(f"`{rule}` {times}" for rule, times in rules.most_common())
        who = f"{name} {versions.get(name, '(this one)')}"
        rows.append(f"| {who} | {total} | {broken} | {raised} | {said or 'none'} |")
    head = (
        "# Trimmed histories that a provider would refuse\n\n"
        f"{total} recorded agent conversations, trimmed to half of their tokens for Chat "
        "Completions (gpt-4o).\nMade by `python -m benchmarks.validity`.\n\n"
        "| library | histories | refused | errors | rules broken, in how many histories |\n"
        "|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
