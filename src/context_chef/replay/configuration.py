"""What a session is played through: named plain settings, with target, model and window."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.profiles import profile_for
from context_chef.errors import MissingExtraError, SettingsError, nearest, shown
from context_chef.ir.blocks import Provider
from context_chef.replay.result import ConfigurationInfo
from context_chef.replay.session import RecordedSession
from context_chef.selection.counting import Counter, resolve_tokenizer

TARGETS: Final[tuple[Provider, ...]] = ("openai", "openai-responses", "anthropic", "gemini")
MODELS: Final[Mapping[str, str]] = {
    "openai": "gpt-4.1",
    "openai-responses": "gpt-5.1",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
}
"""What is taken where neither the configuration nor the recording names a known model."""
STRATEGIES: Final = (
    "everything", "drop", "clear", "summarize", "anchored", "reset", "server", "background"
)  # fmt: skip
"""Names for `--strategy`. `everything` sends the whole conversation, `drop` leaves the oldest part
out as most loops do, unsummarised and kept nowhere; `+` joins several to a chain, `background(…)`
wraps one."""
COMPARED: Final = ("everything", "drop", "clear+summarize")
"""What is compared when nothing is asked for."""

_SIZES: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_WINDOW: Final = re.compile(r"\s*([\d_,]+(?:\.\d+)?)\s*([kKmM]?)\s*")
_SHARE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
_OWN_KEYS: Final = ("name", "target", "model", "window", "configuration", "settings")


@dataclass(frozen=True, kw_only=True)
class ReplayConfiguration:
    """One way to run a session.

    `settings` are those of `ContextChef.from_settings`. What is not set is taken from the session:
    its provider, its model. A store in the settings is not touched: a replay keeps what it stores
    in memory.
    """

    name: str
    target: str | None = None
    model: str | None = None
    window: int | str | None = None
    """Tokens, or a share of the whole session (`"25%"`); None is the model's window. It takes the
    place of `janitor.context_window`."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.target is not None and self.target not in TARGETS:
            raise SettingsError(
                f"`target` cannot be {shown(self.target)}. {nearest(self.target, TARGETS)}"
            )
        if self.model == "":
            raise SettingsError("`model` is the id of a model, not ''; leave it out for the "
                                "recorded one.")  # fmt: skip
        if self.window is not None:
            read_window(self.window)

    def for_session(self, session: RecordedSession) -> ConfigurationInfo:
        """The same for one session, with everything decided."""
        target = self._target(session)
        model = self._named() or _known(session.model, target) or MODELS[target]
        settings = dict(self.settings)
        settings.pop("default_target", None)
        settings.pop("model", None)
        window = self._tokens(session, settings, str(model), target)
        if self.window is not None and window is not None:
            janitor = dict(_section(settings, "janitor"))
            if janitor.get("context_window") != NO_LIMIT:
                janitor["context_window"] = window
            settings["janitor"] = janitor
        if _section(settings, "janitor").get("context_window") == NO_LIMIT:
            settings["janitor"] = {
                key: value
                for key, value in _section(settings, "janitor").items()
                if key != "context_window"
            }
        return ConfigurationInfo(
            name=self.name,
            target=target,
            model=str(model),
            window=window,
            strategy=describe(_section(self.settings, "overflow").get("strategy"), self.settings),
            settings=settings,
        )

    def stand_in(self, session: RecordedSession) -> str | None:
        """What to say when neither the session nor the configuration tells the model."""
        target = self._target(session)
        if self._named() or _known(session.model, target):
            return None
        why = (
            "the recording names no model"
            if session.model is None
            else f"{shown(session.model)} is not known as a model of {target}"
        )
        return f"{why}: {shown(MODELS[target])} stands in for it, unless `model` names another"

    def _target(self, session: RecordedSession) -> str:
        return self.target or str(self.settings.get("default_target") or session.target)

    def _named(self) -> Any:
        return self.model or self.settings.get("model")

    def _tokens(
        self, session: RecordedSession, settings: Mapping[str, Any], model: str, target: str
    ) -> int | None:
        given = self.window
        if given is None:
            own = _section(settings, "janitor").get("context_window")
            if isinstance(own, (int, float)) and own != float("inf"):
                return int(own)
            profile = profile_for(model, cast(Provider, target))
            return None if profile is None else profile.max_input_tokens or profile.context_window
        read = read_window(given)
        if isinstance(read, int):
            return read
        tokenizer = _section(settings, "janitor").get("tokenizer")
        counter = resolve_tokenizer(tokenizer, provider=cast(Provider, target))
        return max(1, int(read * whole_size(session, counter)))


NO_LIMIT: Final = "none"
"""Stands in place of a window for the strategy `everything`, whatever window it is held against."""


def _section(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = settings.get(name)
    return cast(Mapping[str, Any], section) if isinstance(section, Mapping) else {}


def _known(model: str | None, target: str) -> str | None:
    """The recorded model, when it is one of this target."""
    if model is None:
        return None
    return model if profile_for(model, cast(Provider, target)) is not None else None


def whole_size(session: RecordedSession, counter: Counter) -> int:
    """Tokens of the whole conversation, its instructions and its tools."""
    first = session.requests[0]
    front = counter.count_messages(first.system or ()) + counter.count_tools(first.tools or ())
    return int(front + counter.count_messages(session.messages))


def read_window(value: int | str) -> int | float:
    """A window: whole tokens, or a share of 1 at most. Raises SettingsError."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str):
        if (share := _SHARE.fullmatch(value)) and 0 < float(share[1]) <= 100:
            return float(share[1]) / 100
        if (size := _WINDOW.fullmatch(value)) and (
            tokens := int(float(re.sub("[_,]", "", size[1])) * _SIZES[size[2].lower()])
        ):
            return tokens
    raise SettingsError(
        "`window` is a number of tokens (16000, 32k) or a share of the session, up to 100% (25%), "
        f"not {shown(value)}."
    )


def tokenizer_name() -> str | None:
    """The exact tokenizer when it is installed, else None: the estimate."""
    try:
        resolve_tokenizer("o200k_base").count("words")
    except (MissingExtraError, SettingsError):
        return None
    return "o200k_base"


def configuration(
    strategy: str,
    *,
    target: str | None = None,
    model: str | None = None,
    window: int | str | None = None,
    name: str | None = None,
) -> ReplayConfiguration:
    """A configuration of one strategy by name, everything else as a good default has it.

    Spans are archived (but with `drop`), the model has the `context` tool to reach back with, cache
    breakpoints are placed automatically. Raises SettingsError for an unknown strategy.
    """
    janitor: dict[str, Any] = {}
    if (tokenizer := tokenizer_name()) is not None:
        janitor["tokenizer"] = tokenizer
    overflow: dict[str, Any] = {"archive": "vfs"}
    if strategy == "everything":
        janitor["context_window"] = NO_LIMIT
    elif strategy == "drop":
        overflow = {"strategy": dict(_DROP)}
    else:
        overflow["strategy"] = _strategy(strategy)
    settings = {"cache": "auto", "tools": "unified", "janitor": janitor, "overflow": overflow}
    return ReplayConfiguration(
        name=name or strategy, target=target, model=model, window=window, settings=settings
    )


_DROP: Final = {"name": "summarize", "compression_model": None}


def _strategy(text: str) -> Any:
    """The plain form of a strategy in words: `clear+summarize`, `background(anchored)`."""
    steps = _split(text)
    if len(steps) > 1:
        return [_strategy(step) for step in steps]
    name, opened, _ = text.partition("(")
    if opened:
        if name.strip() != "background" or not text.rstrip().endswith(")"):
            raise _unknown(text)
        inside = text.strip()[len("background(") : -1]
        return {"name": "background", "inner": _strategy(inside)}
    name = name.strip()
    if name == "background":
        return {"name": "background", "inner": "summarize"}
    if name == "drop":
        return dict(_DROP)
    if name == "everything":
        raise SettingsError(
            "`strategy` 'everything' sets no limit, so that nothing is left for another one: it "
            "stands alone."
        )
    if name not in STRATEGIES:
        raise _unknown(text)
    return name


def _split(text: str) -> list[str]:
    """The text at every `+` outside parentheses."""
    parts, depth, begin = list[str](), 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "+" and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]


def _unknown(text: str) -> SettingsError:
    return SettingsError(
        f"`strategy` cannot be {shown(text)}. {nearest(text.strip(), STRATEGIES)} Join several "
        "with `+` "
        "(`clear+summarize`), or let one work off the turn (`background(summarize)`)."
    )


def describe(strategy: Any, settings: Mapping[str, Any]) -> str:
    """A plain strategy in words."""
    if strategy is None:
        bounded = _section(settings, "janitor").get("context_window") not in (None, NO_LIMIT)
        return "summarize" if bounded else "everything"
    if isinstance(strategy, str):
        return strategy
    if isinstance(strategy, (list, tuple)):
        return ", then ".join(describe(step, settings) for step in cast(Sequence[Any], strategy))
    if isinstance(strategy, Mapping):
        table = cast(Mapping[str, Any], strategy)
        name = str(table.get("name", "?"))
        if table.get("inner") is not None:
            return f"{name}({describe(table['inner'], settings)})"
        if name == "chain":
            return describe(table.get("steps"), settings)
        if "compression_model" in table and table["compression_model"] is None:
            return "drop"
        options = [f"{key}={value}" for key, value in table.items() if key != "name"]
        return f"{name}({', '.join(options)})" if options else name
    return str(getattr(strategy, "name", strategy))


def read_configurations(path: str | Path) -> list[ReplayConfiguration]:
    """The configurations in a TOML or JSON file.

    A file holds the settings of one chef, with `name`, `target`, `model` and `window` beside them
    if wanted; or several, each in a table of `[[configuration]]`. Raises SettingsError naming the
    file.
    """
    file = Path(path)
    try:
        data = file.read_bytes()
        table: Any = (
            json.loads(data) if file.suffix == ".json" else tomllib.loads(data.decode("utf-8"))
        )
    except OSError as error:
        raise SettingsError(f"cannot read {file}: {error.strerror or error}.") from error
    except ValueError as error:
        kind = "JSON" if file.suffix == ".json" else "TOML"
        raise SettingsError(f"{file} is no {kind}: {error}.") from error
    if not isinstance(table, Mapping):
        raise SettingsError(f"{file} holds no table of settings.")
    return configurations_of(cast(Mapping[str, Any], table), name=file.stem, where=str(file))


def configurations_of(
    table: Mapping[str, Any], *, name: str, where: str = "the settings"
) -> list[ReplayConfiguration]:
    """The configurations in a table as it stands in a file."""
    several = table.get("configuration")
    if several is None:
        return [_configuration(table, name, where)]
    if not isinstance(several, list) or not several:
        raise SettingsError(f"{where}: `configuration` is a list of tables, `[[configuration]]`.")
    shared = {key: value for key, value in table.items() if key != "configuration"}
    found: list[ReplayConfiguration] = []
    for number, one in enumerate(cast(list[Any], several), 1):
        if not isinstance(one, Mapping):
            raise SettingsError(f"{where}: `configuration` {number} is no table but {shown(one)}.")
        merged = {**shared, **cast(Mapping[str, Any], one)}
        found.append(_configuration(merged, f"{name} {number}", where))
    return found


def _configuration(table: Mapping[str, Any], name: str, where: str) -> ReplayConfiguration:
    settings = {key: value for key, value in table.items() if key not in _OWN_KEYS}
    inner = table.get("settings")
    if isinstance(inner, Mapping):
        settings.update(cast(Mapping[str, Any], inner))
    try:
        return ReplayConfiguration(
            name=str(table.get("name") or name),
            target=table.get("target"),
            model=table.get("model"),
            window=table.get("window"),
            settings=settings,
        )
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from error


def as_toml(info: ConfigurationInfo) -> str:
    """The configuration as a `chef.toml` that `ContextChef.from_settings` and a replay read."""
    lines = [f"# {info.name}: {info.strategy}, for {info.target}"]
    settings = dict(info.settings)
    top: dict[str, Any] = {"default_target": info.target, "model": info.model}
    sections: dict[str, Mapping[str, Any]] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            sections[key] = cast(Mapping[str, Any], value)
        else:
            top[key] = value
    lines += [f"{key} = {_toml(value)}" for key, value in top.items() if value is not None]
    for key, section in sections.items():
        lines += ["", f"[{key}]"]
        lines += [
            f"{name} = {_toml(value)}" for name, value in section.items() if value is not None
        ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        inside = ", ".join(f"{key} = {_toml(item)}" for key, item in items if item is not None)
        return "{ " + inside + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in cast(Sequence[Any], value)) + "]"
    raise SettingsError(f"{shown(value)} cannot stand in a TOML file.")


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON has them, for the result: what is no plain data is named in words."""
    return msgspec.to_builtins(settings, enc_hook=repr)
