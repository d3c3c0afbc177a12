"""Exact counting offline: the tokenizers of the extra `tokens`, each name loaded on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from context_chef.errors import MissingExtraError, SettingsError, nearest, shown
from context_chef.ir.text import clean_text, lent
from context_chef.ir.tokens import Tokenizer

ENCODINGS: Final = ("o200k_base", "cl100k_base")

_MODEL_PREFIXES: Final = (
    # Longest first: the first that fits decides.
    ("chatgpt-4o", "o200k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("gpt-4o", "o200k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4.5", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
    ("o4", "o200k_base"),
    ("text-embedding-3", "cl100k_base"),
)
_ALIASES: Final = {"o200k": "o200k_base", "cl100k": "cl100k_base", "openai": "o200k_base"}
_PIECE_CHARACTERS: Final = 200_000


class ExactTokenizer:
    """Counts what an encoding makes of a text. Control words count as the plain text they are."""

    def __init__(self, name: str, count: Callable[[str], int], until: Any = None) -> None:
        self.name = name
        self._count = count
        self._until = until

    def __repr__(self) -> str:
        return f"ExactTokenizer({self.name!r})"

    def count(self, text: str) -> int:
        """Tokens of any text, lone surrogates included."""
        return self._count(lent(clean_text(text))) if text else 0

    def count_until(self, text: str, limit: int) -> int | None:
        """The count, or None as soon as it is above `limit`."""
        if self._until is not None:
            return self._until(lent(clean_text(text)), limit)
        count = self.count(text)
        return count if count <= limit else None


def exact_tokenizer(name: str) -> Tokenizer:
    """The exact tokenizer of an encoding or of an OpenAI model.

    Raises SettingsError for a name that stands for none, MissingExtraError when none of the
    packages that can count it is installed.
    """
    encoding = encoding_name(name)
    for load in (_from_rs_bpe, _from_bpe_openai, _from_tiktoken):
        found = load(encoding)
        if found is not None:
            return found
    raise MissingExtraError(f"Counting exactly with {shown(name)}", "tokens")


def encoding_name(name: str) -> str:
    """The encoding that a name or an alias stands for. Raises SettingsError for any other."""
    wanted = name.strip().lower()
    wanted = wanted.removeprefix("openai/").removeprefix("openai:")
    if wanted in ENCODINGS:
        return wanted
    if wanted in _ALIASES:
        return _ALIASES[wanted]
    for prefix, encoding in _MODEL_PREFIXES:
        if wanted.startswith(prefix):
            return encoding
    if "claude" in wanted or "gemini" in wanted:
        raise SettingsError(
            f"`tokenizer` cannot be {shown(name)}: that provider publishes no tokenizer. Leave "
            "it out "
            "to use the estimate, or take 'o200k_base'; both are calibrated by "
            "`report_token_usage()`."
        )
    raise SettingsError(
        f"`tokenizer` cannot be {shown(name)}. {nearest(wanted, (*ENCODINGS, *_ALIASES))} "
        "An OpenAI model's name, an object with `count(text)` and a callable work too."
    )


def _from_rs_bpe(encoding: str) -> ExactTokenizer | None:
    # Rust, linear in the worst case, ranks inside the package, 50 ms to load.
    module = _module("rs_bpe")
    if module is None:
        return None
    tokenizer = getattr(module.openai, encoding)()
    return ExactTokenizer(encoding, tokenizer.count, tokenizer.count_till_limit)


def _from_bpe_openai(encoding: str) -> ExactTokenizer | None:
    # The same ranks for Python versions that rs_bpe has no wheel for; a second to load.
    module = _module("bpe_openai")
    if module is None:
        return None
    encode = module.get_encoding(encoding).encode_ordinary
    return ExactTokenizer(encoding, lambda text: sum(len(encode(p)) for p in _portions(text)))


def _from_tiktoken(encoding: str) -> ExactTokenizer | None:
    # Fetches its ranks over the network unless they are in its cache directory.
    module = _module("tiktoken")
    if module is None:
        return None
    return from_tiktoken(module.get_encoding(encoding))


def from_tiktoken(encoding: Any) -> ExactTokenizer:
    """An object with tiktoken's `encode_ordinary`, as a tokenizer."""
    encode = encoding.encode_ordinary
    name = str(getattr(encoding, "name", type(encoding).__name__))
    return ExactTokenizer(name, lambda text: sum(len(encode(p)) for p in _portions(text)))


def _portions(text: str) -> list[str]:
    """Portions of a huge text, cut at a line end where there is one."""
    portions: list[str] = []
    start = 0
    while len(text) - start > _PIECE_CHARACTERS:
        cut = text.rfind("\n", start, start + _PIECE_CHARACTERS) + 1
        cut = cut if cut > start else start + _PIECE_CHARACTERS
        portions.append(text[start:cut])
        start = cut
    portions.append(text[start:])
    return portions


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
