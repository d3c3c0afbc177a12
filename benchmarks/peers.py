"""The same histories through ContextChef and its peers, in one go, each in its own process.

    python -m benchmarks.peers [--sizes 100,737,2000,10000] [--only ours,litellm] [--scratch PATH]

Each Python peer is installed into a virtual environment of its own, the TypeScript reference with
npm, all below the scratch folder; what is there already is used as it is. Writes
`benchmarks/results/peers.md`, `peers.svg` and `peers.json`. A peer that cannot be installed or run
is a row with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.histories import SYSTEM, next_rows, rows
from benchmarks.measuring import machine, note
from benchmarks.peers_table import Outcome, as_markdown, as_svg

HERE = Path(__file__).parent
DRIVERS = HERE / "peer_drivers"
RESULTS = HERE / "results"
SIZES = (100, 737, 2_000, 10_000)
INSTALL_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One library, how it is installed and driven, and what its job leaves out."""

    key: str
    driver: str
    less: str
    place: str = ""
    """Folder below the scratch folder; empty for what runs in this environment."""
    packages: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    seconds: float = 25
    """After so long it is stopped; what it measured until then counts."""


PEERS = (
    Peer(
        key="ours",
        driver="with_ours.py",
        less="– (counts exactly, mends and checks the request, hands out the provider's body)",
        seconds=150,
    ),
    Peer(
        key="typescript",
        driver="with_typescript.mjs",
        less="estimates tokens; whole list only; mends no history at a compile, checks no wire "
        "rules; when full, its caller replaces the history by the stub",
        place="typescript",
        packages=("@context-chef/core@4.2.1",),
    ),
    Peer(
        key="langchain-trim",
        driver="with_langchain.py",
        less="estimates tokens; trims only: no provider body, no summary, nothing kept of the rest",
        place="langchain",
        packages=("langchain",),
        arguments=("trim",),
    ),
    Peer(
        key="langchain-summarize",
        driver="with_langchain.py",
        less="estimates tokens; no provider body, no check; the summary is a stand-in's",
        place="langchain",
        packages=("langchain",),
        arguments=("summarize",),
    ),
    Peer(
        key="deepagents",
        driver="with_deepagents.py",
        less="estimates tokens; no provider body, no check; the summary is a stand-in's",
        place="deepagents",
        packages=("deepagents",),
    ),
    Peer(
        key="pydantic-ai-harness",
        driver="with_pydantic_ai_harness.py",
        less="estimates tokens; drops the oldest only: no provider body, no summary, no check",
        place="pydantic-ai-harness",
        packages=("pydantic-ai-harness",),
    ),
    Peer(
        key="openai-agents",
        driver="with_openai_agents.py",
        less="counts nothing and knows no window: shortens old tool outputs, no more",
        place="openai-agents",
        packages=("openai-agents",),
    ),
    Peer(
        key="agent-framework",
        driver="with_agent_framework.py",
        less="estimates tokens; drops the oldest only: no provider body, no summary, no check",
        place="agent-framework",
        packages=("agent-framework-core",),
    ),
    Peer(
        key="litellm",
        driver="with_litellm.py",
        less="trims only: no mending, no summary, no check; counts with cl100k_base",
        place="litellm",
        packages=("litellm",),
    ),
)


class Unavailable(Exception):
    """Why a peer cannot be measured here."""


def install(peer: Peer, scratch: Path) -> list[str]:
    """The command that its driver is started with. Installs what is missing."""
    if not peer.place:
        return [sys.executable, str(DRIVERS / peer.driver)]
    folder = scratch / peer.place
    done = folder / "installed.json"
    wanted = json.dumps(peer.packages)
    there = done.is_file() and done.read_text("utf-8") == wanted
    if peer.driver.endswith(".mjs"):
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            raise Unavailable("node or npm is absent")
        command = [node, str(DRIVERS / peer.driver), str(folder)]
        steps = [[npm, "install", "--no-audit", "--no-fund", "--prefix", ".", *peer.packages]]
    else:
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        command = [str(python), str(DRIVERS / peer.driver)]
        steps = [[str(python), "-m", "pip", "install", "-q", *peer.packages]]
    if there:
        return command
    note(f"{peer.key}: installing {', '.join(peer.packages)}")
    folder.mkdir(parents=True, exist_ok=True)
    if not peer.driver.endswith(".mjs"):
        venv.create(folder, with_pip=True)
    for step in steps:
        _installed(step, folder)
    done.write_text(wanted, "utf-8")
    return command


def _installed(step: list[str], folder: Path) -> None:
    try:
        subprocess.run(
            step, cwd=folder, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"was not installed within {INSTALL_SECONDS} s") from None
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise Unavailable(f"cannot be installed: {_last_line(said)}") from None


def run(peer: Peer, scratch: Path, histories: Sequence[Path], *, patience: float) -> Outcome:
    """What a peer measured on these histories; the reason, where it is not all."""
    outcome = Outcome(peer=peer.key, less=peer.less)
    try:
        command = install(peer, scratch)
    except Unavailable as why:
        return outcome.failed(str(why))
    command += [*peer.arguments, *map(str, histories)]
    seconds = peer.seconds * patience
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    if peer.place:
        environment.pop("PYTHONPATH", None)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err,
    ):
        reason = ""
        try:
            ended = subprocess.run(
                command, stdout=out, stderr=err, env=environment, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            reason = f"stopped: {seconds:g} s for all its cases were over"
        except OSError as error:
            reason = f"cannot be started: {error}"
        else:
            if ended.returncode:
                err.seek(0)
                reason = f"ended with {ended.returncode}: {_last_line(err.read())}"
        out.seek(0)
        found = outcome.reading(out)
    return found.failed(reason) if reason else found


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "nothing said"


def write_histories(sizes: Iterable[int], folder: Path) -> list[Path]:
    """Each history as a JSON file: the system prompt, the rows, and what is said after them."""
    paths: list[Path] = []
    for size in sizes:
        given: dict[str, Any] = {"system": SYSTEM, "rows": rows(size), "more": next_rows(64)}
        path = folder / f"{size}.json"
        path.write_text(json.dumps(given), "utf-8")
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--only", default=",".join(peer.key for peer in PEERS))
    parser.add_argument(
        "--scratch",
        type=Path,
        default=Path(tempfile.gettempdir()) / "context-chef-peers",
        help="where peers are installed, and found again",
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument(
        "--patience", type=float, default=1.0, help="times the seconds that each peer is given"
    )
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    keys = options.only.split(",")
    unknown = set(keys) - {peer.key for peer in PEERS}
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        note("writing the histories")
        histories = write_histories(sizes, Path(folder))
        for peer in PEERS:
            if peer.key in keys:
                note(peer.key)
                outcomes.append(run(peer, options.scratch, histories, patience=options.patience))
    where = machine("rs-bpe")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "peers.md").write_text(as_markdown(outcomes, sizes, where), "utf-8")
    (options.out / "peers.svg").write_text(as_svg(outcomes, sizes), "utf-8")
    raw = {"machine": where, "outcomes": [outcome.plain() for outcome in outcomes]}
    (options.out / "peers.json").write_text(json.dumps(raw, indent=1) + "\n", "utf-8")
    print(options.out / "peers.md")


if __name__ == "__main__":
    main()
