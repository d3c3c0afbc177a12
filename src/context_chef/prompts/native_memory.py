"""What Anthropic's memory tool (`memory_20250818`) answers: the forms its models are used to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_chef.prompts.replies import count, quoted, row

ROOT: Final = "/memories"


def directory(path: str, rows: Sequence[tuple[str, str]]) -> str:
    """Size and path of everything up to two levels down, the directory itself first."""
    head = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items "
        "and node_modules:"
    )
    return "\n".join([head, *(f"{size}\t{row(name)}" for size, name in rows)])


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


def file_deleted(path: str, beside: int) -> str:
    """Said where a file and a directory share a name, and the file went."""
    return (
        f"Successfully deleted the file {path}. The directory of that name remains, with "
        f"{count(beside, 'file')}; delete {path}/ to remove it as well."
    )


def outside(path: str) -> str:
    return f"The path {quoted(path)} is not under {ROOT}. Every path begins with {ROOT}/."


def bad_path(path: str, why: str) -> str:
    return f"The path {quoted(path)} is not valid: {why}. Use {ROOT}/<name>."


def is_directory(path: str, what: str) -> str:
    return f"Cannot {what} {path}: it is a directory. Give the path of a file in it."


def below_file(path: str, file: str) -> str:
    return f"The path {path} is not valid: {file} is a file, so nothing can be inside it."


def into_itself(old_path: str, new_path: str) -> str:
    return f"Cannot rename {old_path} to {new_path}: a directory cannot be moved into itself."


def stopped(done: int, total: int, what: str) -> str:
    """Follows the reason when only some files of a directory were treated."""
    return f" {done} of {count(total, 'file')} had been {what} by then."


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
