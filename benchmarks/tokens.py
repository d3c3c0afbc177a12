"""Counting: how exact the estimate is by kind of text, and what counting costs.

    CONTEXT_CHEF_DATA=../shared/data python benchmarks/tokens.py

Prints one line for each kind of text (files of more than 200 tokens, estimate against o200k_base),
then loading and counting times of this run. Claims: no file is counted too low, none of the kinds
that the design names more than 35 % too high, and a message that was counted costs nothing again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from context_chef.ir.message import Message
from context_chef.ir.text import clean_text
from context_chef.ir.tokens import estimate
from context_chef.selection.counting import MessageCounter
from context_chef.selection.exact import exact_tokenizer

DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or Path(__file__).parents[2] / "shared" / "data")
LEAST_TOKENS = 200

CJK = {
    "chinese": "上下文窗口是有限的资源。编译器要决定哪些内容保留，哪些内容归档。",
    "japanese": "モデルを呼び出す前に、何を残し、何を要約し、何を保管するかを決めます。",
    "korean": "모델을 호출하기 전에 무엇을 남기고 무엇을 요약할지 결정해야 합니다.",
}


def texts() -> Iterator[tuple[str, str, str]]:
    """Kind, name and text of everything that is measured."""
    for file in sorted((DATA / "tool_outputs").glob("*")):
        if file.name != "index.json":
            kind = file.name.split("-")[0].split(".")[0]
            yield f"tool output: {kind}", file.name, file.read_text("utf-8", "replace")
    for file in sorted((DATA / "traces").glob("*/*.json")):
        messages = json.loads(file.read_text("utf-8"))["messages"]
        yield "trace, minified JSON", file.name, json.dumps(messages, separators=(",", ":"))
        yield "trace, indented JSON", file.name, json.dumps(messages, indent=2, ensure_ascii=False)
        for at, text in enumerate(_texts(messages)):
            yield "trace, single texts", f"{file.name}[{at}]", text
    for line in (DATA / "qmsum" / "val-9.jsonl").read_text("utf-8").splitlines():
        turns = json.loads(line)["meeting_transcripts"]
        said = "\n".join(f"{turn['speaker']}: {turn['content']}" for turn in turns)
        yield "meetings", "qmsum", said
    for file in sorted((DATA / "skills").glob("*/SKILL.md")):
        yield "markdown", file.parent.name, file.read_text("utf-8", "replace")
    for kind, text in CJK.items():
        yield kind, kind, text * 20


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def accuracy() -> None:
    """Estimate over exact, by kind."""
    tokenizer = exact_tokenizer("o200k_base")
    ratios: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for kind, name, text in texts():
        text = clean_text(text)
        exact = tokenizer.count(text)
        if exact > LEAST_TOKENS:
            ratios[kind].append((estimate(text) / exact, name))
    print(f"{'kind':28} {'files':>5} {'least':>7} {'mean':>7} {'most':>7}")
    for kind, found in sorted(ratios.items()):
        figures = [ratio for ratio, _ in found]
        mean = sum(figures) / len(figures)
        print(
            f"{kind:28} {len(found):5} {min(figures):7.3f} {mean:7.3f} {max(figures):7.3f}"
            f"  {max(found)[1]}"
        )
    everything = [ratio for found in ratios.values() for ratio, _ in found]
    under = sum(ratio < 1 for ratio in everything)
    over = sum(ratio > 1.35 for ratio in everything)
    print(f"{len(everything)} texts, {under} counted too low, {over} more than 35 % too high")


def costs() -> None:
    """Loading, counting cold, counting again, and degenerate texts, all in this run."""
    start = time.perf_counter()
    tokenizer = exact_tokenizer("o200k_base")
    print(f"\nload o200k_base               {_ms(start)}")
    trace = json.loads((DATA / "traces/anthropic/pi-before-compaction.json").read_text("utf-8"))
    history = [Message.user(text) for text in _texts(trace["messages"])]
    size = sum(len(message.text) for message in history)
    print(f"history: {len(history)} messages, {size} characters")
    start = time.perf_counter()
    total = sum(tokenizer.count(message.text) for message in history)
    plain = time.perf_counter() - start
    print(f"its texts, tokenizer alone    {plain * 1000:8.1f} ms  ({total} tokens)")
    for name, counter in (("exact", MessageCounter(tokenizer)), ("estimate", MessageCounter())):
        start = time.perf_counter()
        counter.count_messages(history)
        cold = time.perf_counter() - start
        print(f"{name}, cold                 {cold * 1000:8.1f} ms  ({cold / plain:.2f} x)")
        start = time.perf_counter()
        counter.count_messages([*history, Message.user("one more")])
        print(f"{name}, one message more     {_ms(start)}")
    for name, text in (("'a'", "a"), ("blanks", " "), ("newlines", "\n"), ("'中'", "中")):
        huge = text * 1_000_000
        start = time.perf_counter()
        tokenizer.count(huge)
        exact = _ms(start)
        start = time.perf_counter()
        estimate(huge)
        print(f"1,000,000 {name:10} exact {exact}   estimate {_ms(start)}")


def _ms(start: float) -> str:
    return f"{(time.perf_counter() - start) * 1000:8.1f} ms"


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there; set CONTEXT_CHEF_DATA to the folder of the shared data.")
    accuracy()
    costs()
