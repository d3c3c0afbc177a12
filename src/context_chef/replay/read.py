"""`read_session()` and `read_sessions()`: recorded sessions out of files and folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from context_chef.errors import SettingsError, nearest, shown
from context_chef.replay.lines import Loaded, RecordingError, load
from context_chef.replay.read_bodies import is_body, read_bodies
from context_chef.replay.read_claude_code import is_claude_code, read_claude_code
from context_chef.replay.read_pi import is_pi, read_pi
from context_chef.replay.read_recorded import is_recorded, read_recorded
from context_chef.replay.session import RecordedSession

SESSION_FORMATS: Final = (
    "auto", "recording", "claude-code", "pi", "openai", "openai-responses", "anthropic", "gemini"
)  # fmt: skip
"""What a session may be recorded as. `recording` is what `Recorder` writes."""
_ALIASES: Final = {
    "responses": "openai-responses", "openai_responses": "openai-responses", "chat": "openai",
    "claude": "anthropic", "google": "gemini", "claude_code": "claude-code",
}  # fmt: skip
_TREES: Final = ("claude-code", "pi")
"""Logs of agents, which a crash tears and a later run goes on with: what else is there holds."""
_ENDINGS: Final = (".json", ".jsonl", ".ndjson")


class Skipped(NamedTuple):
    """A file of a folder that holds no session, and why."""

    path: Path
    reason: str


def read_session(path: str | Path, format: str = "auto") -> RecordedSession:
    """The session in a file; the longest one when it holds several.

    Raises RecordingError, naming file and line, for what is no session, and SettingsError for an
    unknown format.
    """
    return max(read_sessions_of(Path(path), format), key=lambda session: len(session.requests))


def read_sessions_of(path: Path, format: str = "auto", *, name: str | None = None) -> Sequence[
    RecordedSession
]:  # fmt: skip
    """Every session in one file, the main one first. Raises as `read_session` does."""
    wanted = _format(format)
    loaded = load(path)
    title = name or path.stem
    found = _read(loaded, title, wanted, str(path))
    if not found:
        raise RecordingError(
            str(path), "there is no point in it at which a model was asked for an answer."
        )
    return found


def session_files(paths: Iterable[str | Path]) -> list[tuple[Path, str, bool]]:
    """The files to read: each with a name for people, and whether it came out of a folder.

    Folders are searched through, in the order of their names. Raises RecordingError for a path
    that is not there.
    """
    files: list[tuple[Path, str, bool]] = []
    for given in paths:
        path = Path(given)
        if path.is_dir():
            inside = sorted(
                item for item in path.rglob("*") if item.suffix in _ENDINGS and item.is_file()
            )
            files += [(item, _named(item, path), True) for item in inside]
        elif path.exists():
            files.append((path, path.stem, False))
        else:
            raise RecordingError(str(path), "there is no such file or folder.")
    return files


def _named(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _format(format: str) -> str:
    wanted = _ALIASES.get(format, format)
    if wanted not in SESSION_FORMATS:
        raise SettingsError(
            f"`format` cannot be {shown(format)}. {nearest(format, SESSION_FORMATS)} Known are "
            f"{', '.join(SESSION_FORMATS)}."
        )
    return wanted


def _read(loaded: Loaded, name: str, wanted: str, where: str) -> list[RecordedSession]:
    try:
        found = _told(loaded, where) if wanted == "auto" else wanted
        if loaded.broken and found not in _TREES:
            line, reason = loaded.broken[0]
            raise RecordingError(where, f"this is no JSON: {reason}.", line=line)
        match found:
            case "recording":
                return read_recorded(loaded, name)
            case "claude-code":
                return read_claude_code(loaded, name)
            case "pi":
                return read_pi(loaded, name)
            case _:
                return read_bodies(loaded, name, "auto" if found == "bodies" else found)
    except RecordingError as error:
        # Readers know the session's name; people look for the file.
        raise error.under_file(where) from error


def _told(loaded: Loaded, where: str) -> str:
    values = loaded.values
    if loaded.lines or isinstance(values[0], Mapping):
        rows = [cast(Mapping[str, Any], value) for value in values]
        if is_recorded(rows):
            return "recording"
        if is_claude_code(rows):
            return "claude-code"
        if is_pi(rows):
            return "pi"
        if any(is_body(row) or "role" in row for row in rows):
            return "bodies"
    elif isinstance(values[0], list) and values[0]:
        items = cast(list[Any], values[0])
        if all(isinstance(item, Mapping) for item in items):
            rows = [cast(Mapping[str, Any], item) for item in items]
            if any(
                is_body(row) or any(k in row for k in ("role", "parts", "type")) for row in rows
            ):
                return "bodies"
    if isinstance(values[0], Mapping) and _stores_a_cache(cast(Mapping[str, Any], values[0])):
        raise RecordingError(
            where,
            "this request to `cachedContents` stores a cache; it asks no model, so there is "
            "nothing to replay. Take the requests that name the cache in `cachedContent`.",
        )
    raise RecordingError(
        where,
        "no recorded session is found in it. Taken are Claude Code and pi logs, request bodies of "
        "OpenAI, Anthropic and Gemini (one, or one a line), lists of messages, and what `Recorder` "
        "writes; `--format` names one.",
    )


def _stores_a_cache(row: Mapping[str, Any]) -> bool:
    """Whether it is a call of Gemini's `cachedContents`, alone or in an envelope."""
    if "cachedContents" in str(row.get("endpoint") or row.get("url") or ""):
        return True
    body = row.get("request", row)
    return isinstance(body, Mapping) and (
        str(cast(Mapping[str, Any], body).get("model", "")).startswith("models/")
        and ("ttl" in body or "expireTime" in body)
    )
