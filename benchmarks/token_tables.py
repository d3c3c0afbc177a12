"""Makes the tables of the token estimate out of a tokenizer's ranks.

    python -m benchmarks.token_tables RANKS

RANKS is `o200k_base.tiktoken`, plain or gzipped: a base64 token and its rank on each line. Written
into `src/context_chef/ir/`: `foreign_pieces.bin` (tokens of several characters that are not ASCII),
`spaced_words.bin` (words in ASCII letters that are one token behind a blank) and
`character_costs.bin` (tokens of every character by itself).
"""

from __future__ import annotations

import base64
import gzip
import sys
import zlib
from pathlib import Path

from context_chef.ir.tokens import SHORTEST_SPACED
from context_chef.selection.exact import exact_tokenizer

IR = Path(__file__).parents[1] / "src" / "context_chef" / "ir"
FIRST, LAST = 0x80, 0x1FFFF


def tokens(path: Path) -> list[str]:
    """The tokens that are text."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    found: list[str] = []
    for line in data.splitlines():
        try:
            found.append(base64.b64decode(line.split()[0]).decode("utf-8"))
        except UnicodeDecodeError:
            continue
    return found


def is_foreign(token: str) -> bool:
    """Whether a token is of several characters, one of them beyond ASCII."""
    return len(token) > 1 and not token.isascii() and "\n" not in token


def is_spaced_word(token: str) -> bool:
    """Whether a token is a blank and a word, which may begin with a capital."""
    word = token[1:]
    letters = token[:1] == " " and word.isascii() and word.isalpha()
    return letters and len(word) >= SHORTEST_SPACED and word[1:].islower()


def main(path: Path) -> None:
    """Write the tables."""
    found = tokens(path)
    words = sorted(token[1:] for token in found if is_spaced_word(token))
    (IR / "spaced_words.bin").write_bytes(zlib.compress("\n".join(words).encode(), 9))
    pieces = sorted(token for token in found if is_foreign(token))
    (IR / "foreign_pieces.bin").write_bytes(zlib.compress("\n".join(pieces).encode(), 9))
    count = exact_tokenizer("o200k_base").count
    costs = bytes(
        0 if 0xD800 <= point <= 0xDFFF else count(chr(point)) for point in range(FIRST, LAST + 1)
    )
    (IR / "character_costs.bin").write_bytes(zlib.compress(costs, 9))
    print(len(pieces), "pieces,", len(words), "words")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
