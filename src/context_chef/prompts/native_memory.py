"""What Anthropic's memory tool (`memory_20250818`) answers: the forms its models are used to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

ROOT: Final = "/memories"


def directory(path: str, rows: Sequence[tuple[str, str]]) -> str:
    """Size and path of everything up to two levels down, the directory itself first."""
    head = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items "
        "and node_modules:"
    )
    return "\n".join([head, *(f"{size}\t{name}" for size, name in rows)])


def content(path: str, numbered: str) -> str:
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def created(path: str) -> str:
    return f"File created successfully at: {path}"


def edited(snippet: str) -> str:
    return f"The memory file has been edited. The changed part, with line numbers:\n{snippet}"


def inserted(path: str) -> str:
    return f"The file {path} has been edited."


def deleted(path: str) -> str:
    return f"Successfully deleted {path}"


def renamed(old_path: str, new_path: str) -> str:
    return f"Successfully renamed {old_path} to {new_path}"


def outside(path: str) -> str:
    return f"The path {path} is not under {ROOT}. Every path begins with {ROOT}/."


def missing(path: str) -> str:
    return f"The path {path} does not exist. Please provide a valid path."


def exists(path: str) -> str:
    return f"File {path} already exists"


def destination_exists(path: str) -> str:
    return f"The destination {path} already exists"


def root_untouchable(what: str) -> str:
    return f"Cannot {what} the {ROOT} directory itself"


def kept(old_path: str, new_path: str) -> str:
    return f"Copied to {new_path}, but the host refused to remove {old_path}: it remains."


def size(number: int) -> str:
    """A size as `du -h` writes it."""
    amount = float(number)
    for unit in ("B", "K", "M"):
        if amount < 1024:
            return f"{int(amount)}{unit}" if amount.is_integer() else f"{amount:.1f}{unit}"
        amount /= 1024
    return f"{amount:.1f}G"
