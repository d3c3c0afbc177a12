"""Find the tools that fit a task, by the words they share and by meaning where one can tell.

Ranking is BM25 over three fields: the words of the name count twice, those of the parameters half.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from context_chef.bridge import MaybeAwaitable, run_sync, settle
from context_chef.errors import SettingsError, ToolError, shown
from context_chef.ir.tools import ToolDefinition
from context_chef.selection.prune_rules import PrunedTools, checked_task
from context_chef.selection.tool_definitions import ToolLike, read_definitions
from context_chef.selection.words import terms

Embedder: TypeAlias = Callable[[Sequence[str]], MaybeAwaitable[Sequence[Sequence[float]]]]
"""Texts in, one vector each out."""

_FIELD_WEIGHTS: Final = (2.0, 1.0, 0.5)
# How far the length of a field counts against it. Names are short whatever they say.
_LENGTH_WEIGHTS: Final = (0.3, 0.75, 0.75)
_SATURATION: Final = 1.2
# The usual constant of reciprocal rank fusion.
_RANK_OFFSET: Final = 60
_MAX_SCHEMA_DEPTH: Final = 6


class ToolIndex:
    """Tools by the words they consist of. Built once, asked often; the tools never change."""

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self._size = len(tools)
        fields = [[Counter(terms(text)) for text in _fields(tool)] for tool in tools]
        averages = [
            max(1.0, sum(sum(tool[field].values()) for tool in fields) / max(1, len(tools)))
            for field in range(len(_FIELD_WEIGHTS))
        ]
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for place, tool in enumerate(fields):
            weights: dict[str, float] = {}
            for counts, weight, slope, average in zip(
                tool, _FIELD_WEIGHTS, _LENGTH_WEIGHTS, averages, strict=True
            ):
                length = 1 - slope + slope * sum(counts.values()) / average
                for term, count in counts.items():
                    weights[term] = weights.get(term, 0.0) + weight * count / length
            for term, weight in weights.items():
                self._postings.setdefault(term, []).append((place, weight))

    def scores(self, task: str) -> list[float]:
        """How well each tool fits the task, in the order the tools were given; 0 for not at all."""
        scores = [0.0] * self._size
        for term, count in Counter(terms(task)).items():
            found = self._postings.get(term, ())
            rarity = math.log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
            # A word said often matters somewhat more, and no more than said twice.
            emphasis = math.sqrt(min(count, 2)) * rarity * (_SATURATION + 1)
            for place, weight in found:
                scores[place] += emphasis * weight / (_SATURATION + weight)
        return scores


async def select_tools(
    task: str,
    k: int,
    tools: Sequence[ToolLike],
    *,
    embedder: Embedder | None = None,
) -> PrunedTools:
    """The `k` tools that fit the task best, best first; all of them where there are no more.

    Tools that share no word with the task come last, in the order given. With an embedder, which
    may be sync or async, the order by words and the order by meaning are fused; scores are then
    between 0 and 1. Equal inputs give equal results.
    """
    definitions = read_definitions(tools, path="tools").tools
    return await ranked(task, k, definitions, index=ToolIndex(definitions), embedder=embedder)


def select_tools_sync(
    task: str, k: int, tools: Sequence[ToolLike], *, embedder: Embedder | None = None
) -> PrunedTools:
    """`select_tools` for callers without an event loop."""
    return run_sync(select_tools(task, k, tools, embedder=embedder))


async def ranked(
    task: str,
    k: int,
    tools: Sequence[ToolDefinition],
    *,
    index: ToolIndex,
    embedder: Embedder | None = None,
) -> PrunedTools:
    """`select_tools` over an index that is there already."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        raise SettingsError(
            f"`k` is how many tools to keep, a whole number from 0, not {shown(k)}."
        )
    if embedder is not None and not callable(cast(Any, embedder)):
        raise SettingsError(f"`embedder` is a function of a list of texts, not {shown(embedder)}.")
    scores = index.scores(checked_task(task))
    if embedder is not None and tools:
        scores = _fused(scores, await _closeness(task, tools, embedder))
    order = sorted(range(len(tools)), key=lambda place: (-scores[place], place))
    kept = order[:k]
    chosen = set(kept)
    return PrunedTools(
        tools=tuple(tools[place] for place in kept),
        removed=tuple(tool.name for place, tool in enumerate(tools) if place not in chosen),
        kept=len(kept),
        total=len(tools),
        scores={tools[place].name: round(scores[place], 4) for place in order},
    )


async def _closeness(task: str, tools: Sequence[ToolDefinition], embedder: Embedder) -> list[float]:
    texts = [tool_text(tool) for tool in tools]
    vectors = _vectors(await settle(embedder([*texts, task])), len(texts) + 1)
    return [_cosine(vector, vectors[-1]) for vector in vectors[:-1]]


def tool_text(tool: ToolDefinition) -> str:
    """A tool as the text that an embedder is given."""
    name, description, parameters = _fields(tool)
    parts = [name, description, f"Parameters: {parameters}" if parameters else ""]
    return "\n".join(part for part in parts if part)


def _vectors(answer: Any, count: int) -> list[list[float]]:
    try:
        vectors = [[float(number) for number in vector] for vector in answer]
    except (TypeError, ValueError, OverflowError) as error:
        raise ToolError(
            f"`embedder` has to answer a list of numbers for each of its {count} texts, not "
            f"{shown(answer)}."
        ) from error
    sizes = {len(vector) for vector in vectors}
    finite = all(math.isfinite(number) for vector in vectors for number in vector)
    if len(vectors) != count or len(sizes) != 1 or not finite:
        raise ToolError(
            f"`embedder` was given {count} texts and answered {len(vectors)} vectors of sizes "
            f"{shown(sorted(sizes))}; it has to answer one finite vector of one size for each text."
        )
    return vectors


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    size = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return product / size if size else 0.0


def _fused(by_words: Sequence[float], by_meaning: Sequence[float]) -> list[float]:
    """Reciprocal ranks, added up; 1 for a tool that both put first."""
    fused = [0.0] * len(by_words)
    for scores, floor in ((by_words, 0.0), (by_meaning, -math.inf)):
        places = sorted(
            (place for place in range(len(scores)) if scores[place] > floor),
            key=lambda place: (-scores[place], place),
        )
        for rank, place in enumerate(places):
            fused[place] += (_RANK_OFFSET + 1) / (_RANK_OFFSET + 1 + rank) / 2
    return fused


def _fields(tool: ToolDefinition) -> tuple[str, str, str]:
    """Name, description with tags, and what the parameters are called and are for."""
    described = " ".join([tool.description, *tool.tags])
    return tool.name, described, " ".join(_schema_words(tool.parameters, 0))


def _schema_words(schema: Any, depth: int) -> list[str]:
    if not isinstance(schema, Mapping) or depth > _MAX_SCHEMA_DEPTH:
        return []
    node = cast(Mapping[str, Any], schema)
    found: list[str] = []
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        for key, value in cast(Mapping[str, Any], properties).items():
            found.append(key)
            if isinstance(value, Mapping):
                words = cast(Mapping[str, Any], value).get("description")
                found += [words] if isinstance(words, str) else []
                found += _schema_words(value, depth + 1)
    choices = node.get("enum")
    if isinstance(choices, (list, tuple)):
        found += [choice for choice in cast(Sequence[Any], choices) if isinstance(choice, str)]
    inner: list[Any] = [node.get("items")]
    for key in ("anyOf", "oneOf", "allOf"):
        options = node.get(key)
        inner += list(cast(Sequence[Any], options)) if isinstance(options, (list, tuple)) else []
    for part in inner:
        found += _schema_words(part, depth + 1)
    return found
