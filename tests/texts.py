"""Texts of many kinds, ordinary and hostile, that counters are measured on."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from typing import Final

Make = Callable[[random.Random], str]


def letters(first: int, last: int, *, word: int = 0) -> Make:
    """A thousand characters of a range, as one run or as words of up to so many."""

    def make(chance: random.Random) -> str:
        if not word:
            return "".join(chr(chance.randint(first, last)) for _ in range(1000))
        words = (
            "".join(chr(chance.randint(first, last)) for _ in range(chance.randint(1, word)))
            for _ in range(200)
        )
        return " ".join(words)

    return make


def of(alphabet: str, *, word: int = 0) -> Make:
    """The same of an alphabet."""

    def make(chance: random.Random) -> str:
        if not word:
            return "".join(chance.choice(alphabet) for _ in range(1000))
        return " ".join(
            "".join(chance.choice(alphabet) for _ in range(chance.randint(1, word)))
            for _ in range(200)
        )

    return make


def repeated(*texts: str) -> Make:
    """One of these, over and over."""
    return lambda chance: chance.choice(texts) * chance.randint(100, 400)


def _table(chance: random.Random) -> str:
    width = chance.randint(5, 60)
    row = f"│{' ' * width}│\n" * chance.randint(3, 20)
    return f"┌{'─' * width}┐\n{row}└{'─' * width}┘\n" * 8


def _tree(chance: random.Random) -> str:
    return "\n".join(f"{'│   ' * chance.randint(0, 4)}├── file{number}.py" for number in range(120))


def _spinner(chance: random.Random) -> str:
    return "\r".join(f"{chance.choice('⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏')} Installing" for _ in range(150))


def _progress(chance: random.Random) -> str:
    return "\r".join(f"{n}%|{'█' * n}{'░' * (50 - n)}| {n}/50 [{n}s]" for n in range(50))


def _indented(chance: random.Random) -> str:
    return "\n".join(f"{' ' * chance.randint(0, 40)}x = {n}" for n in range(150))


def _uuids(chance: random.Random) -> str:
    return "\n".join(f"{chance.getrandbits(128):032x}" for _ in range(40))


def _json(chance: random.Random) -> str:
    rows = [
        {"id": n, "name": f"user_{n}", "score": chance.random(), "tags": None} for n in range(60)
    ]
    return json.dumps(rows, separators=(",", ":"))


HOSTILE: Final[dict[str, Make]] = {
    "blank runs": lambda chance: "".join("x" + " " * chance.randint(1, 90) for _ in range(100)),
    "whitespace": of(" \t\n\r"),
    "odd whitespace": of(" \v\f\u00a0\u2003\u3000\n"),
    "indents": _indented,
    "control": letters(1, 31),
    "box drawing": _table,
    "a tree": _tree,
    "a spinner": _spinner,
    "a progress bar": _progress,
    "braille": letters(0x2800, 0x28FF),
    "joined emoji": repeated("👨‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈", "🧑‍🚀", "🇩🇪"),
    "emoji": letters(0x1F300, 0x1F64F),
    "emoji words": letters(0x1F300, 0x1F64F, word=3),
    "repeated thai": repeated("สวัสดี", "ก", "ครับ"),
    "thai": letters(0x0E01, 0x0E3A),
    "capitals": of(string.ascii_uppercase),
    "capital words": of(string.ascii_uppercase, word=12),
    "small letters": of(string.ascii_lowercase, word=14),
    "mixed letters": of(string.ascii_letters, word=14),
    "printable": letters(33, 126),
    "punctuation": of(string.punctuation),
    "digits": of(string.digits),
    "hex": _uuids,
    "rare han": letters(0x4E00, 0x9FA5),
    "han beyond": letters(0x20000, 0x2A6D6),
    "hangul": letters(0xAC00, 0xD7A3),
    "kana": letters(0x3041, 0x30FE, word=6),
    "cyrillic": letters(0x410, 0x44F, word=8),
    "arabic": letters(0x621, 0x64A, word=8),
    "devanagari": letters(0x905, 0x939, word=8),
    "tamil": letters(0xB85, 0xBB9, word=8),
    "latin with marks": letters(0xC0, 0x24F, word=8),
    "signs": letters(0x2190, 0x27BF),
    "mathematical": letters(0x1D400, 0x1D7FF),
    "private": letters(0xE000, 0xE0FF),
    "line ends": of("\r\n"),
    "blanks and line ends": of(" \t\r\n"),
    "windows blank lines": repeated("\r\n", "\r\n\n", "x\r\n\r\n\r\n"),
    "any": lambda chance: "".join(
        chr(point) if not 0xD800 <= (point := chance.randint(1, 0x1FFFF)) <= 0xDFFF else "x"
        for _ in range(600)
    ),
}
"""What no one writes, and terminals print: an estimate may be too high, never too low."""

ORDINARY: Final[dict[str, Make]] = {
    "base64": lambda chance: base64.b64encode(chance.randbytes(1500)).decode(),
    "minified json": _json,
    "korean": repeated(
        "모델을 호출하기 전에 무엇을 남기고 무엇을 요약할지 결정해야 합니다. ", "안녕하세요 "
    ),
    "chinese": repeated("今天上午，公司召开了季度总结会议，讨论了下一阶段的产品规划。"),
    "traditional chinese": repeated("資料庫遷移工作預計在週五之前完成，屆時將暫停服務兩個小時。"),
    "rare han in use": lambda chance: "".join(
        chance.choice("嚴謹鑒於饕餮魑魅魍魎龜鱉氍毹囹圄") for _ in range(600)
    ),
    "japanese": repeated("ログを確認したところ、メモリ不足によりプロセスが終了していました。"),
    "russian": repeated("Сегодня на совещании обсуждались планы на следующий квартал и бюджет. "),
    "thai prose": repeated("ประเทศไทยเป็นประเทศที่มีวัฒนธรรมหลากหลายและอาหารอร่อย "),
    "hindi": repeated("आज की बैठक में अगली तिमाही की योजनाओं और बजट पर चर्चा हुई। "),
    "prose": repeated("The quick brown fox jumps over the lazy dog, and nobody minds at all. "),
    "german": repeated(
        "Die Bundesregierung hat heute beschlossen, die Mehrwertsteuer auf Lebensmittel zu senken. "
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. "
    ),
    "dutch": repeated(
        "De regering heeft vandaag besloten de belasting op levensmiddelen te verlagen. "
        "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. "
    ),
    "spanish": repeated(
        "El gobierno ha decidido hoy bajar los impuestos sobre los alimentos. "
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos. "
    ),
    "portuguese": repeated(
        "O governo decidiu hoje reduzir os impostos sobre os alimentos. "
        "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. "
    ),
    "italian": repeated("Il governo ha deciso oggi di ridurre le tasse sui generi alimentari. "),
    "code": repeated("def add(left: int, right: int) -> int:\n    return left + right\n\n\n"),
    "log": lambda chance: "".join(
        f"2026-11-{n % 28 + 1:02} 10:{n:02}:00 INFO id={chance.getrandbits(32):08x} took {n}ms\n"
        for n in range(60)
    ),
}
"""What the promise of at most a third too much is about as well."""
