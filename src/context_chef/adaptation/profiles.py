"""Which profile a model id means, and how a user adds to what is built in.

A model that nobody knows has no profile (`None`), never that of a similar name. Without a profile
every part makes the choice that all models of the target accept: no prefill, no system message
inside the conversation, no forced thinking, no tool-bearing effort, thinking dropped where it could
be bound to a changed prefix, the tail appended rather than replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from context_chef.adaptation.model_profile import (
    CacheMode,
    CacheRules,
    ChatTools,
    ModelProfile,
    Prices,
    PriceTier,
    Provider,
    Sampling,
    Sureness,
)
from context_chef.adaptation.profile_data import (
    ANTHROPIC_PROFILES,
    GEMINI_PROFILES,
    OPENAI_PROFILES,
)
from context_chef.errors import SettingsError, nearest, shown
from context_chef.given import check_text
from context_chef.patterns import regex

__all__ = [
    "BUILTIN_PROFILES",
    "CacheMode",
    "CacheRules",
    "ChatTools",
    "ModelProfile",
    "PriceTier",
    "Prices",
    "Profiles",
    "Provider",
    "Sampling",
    "Sureness",
    "plain_model_id",
    "profile_for",
    "provider_of",
    "read_profiles",
    "with_profile",
]

Profiles: TypeAlias = "Sequence[ModelProfile] | Mapping[str, ModelProfile | Mapping[str, Any]]"
"""How a user hands in profiles: a list, or a mapping from a model's id to a profile or to the
fields in which it differs from the built-in one (or from the one named by `like`)."""

BUILTIN_PROFILES: tuple[ModelProfile, ...] = (
    *ANTHROPIC_PROFILES,
    *OPENAI_PROFILES,
    *GEMINI_PROFILES,
)

_PROVIDER_OF_TARGET: dict[str, Provider] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai",
    "gemini": "gemini",
    "google": "gemini",
}

# What gateways and clouds put in front of an id: `anthropic/…`, `models/…`, `us.anthropic.…`.
_ROUTE = regex(
    r"^(?:(?:openrouter|litellm_proxy|vertex_ai|vertex|bedrock|azure|azure_ai|anthropic|openai"
    r"|gemini|google|google-gla|google-vertex|vertex_ai_beta|converse|responses|models|tunedModels"
    r"|publishers)[/:]|projects/[^/]+/|locations/[^/]+/|publishers/[^/]+/"
    r"|(?:(?:us|eu|apac|jp|au|ca|global|us-gov)\.)?(?:anthropic|openai|google)\.)",
    re.IGNORECASE,
)
# What may follow an id without changing which model it is: snapshots and releases of it.
_SUFFIX = regex(
    r"(?:[-@]\d{8}|-\d{4}-\d{2}-\d{2}|@default|@latest|-latest|-v\d+(?::\d+)?|:\d+k|\[1m\]|:free|:nitro|:floor)$",
    re.IGNORECASE,
)
_GEMINI_SUFFIX = regex(
    r"(?:-\d{3}|-preview(?:-\d{2}-\d{2,4})?|-exp(?:-\d{2}-\d{2,4})?|-latest|-stable)$",
    re.IGNORECASE,
)


def plain_model_id(model: str) -> str:
    """The id without route, cloud spelling, date and release suffix, lower-cased.

    `us.anthropic.claude-sonnet-4-5-20250929-v1:0` is `claude-sonnet-4-5`.
    """
    name = model.strip()
    if name.startswith("ft:"):  # ft:<base model>:<organisation>:<suffix>:<id>
        name = name[3:].partition(":")[0]
    while (route := _ROUTE.match(name)) is not None:
        name = name[route.end() :]
    while (suffix := _SUFFIX.search(name)) is not None and suffix.start() > 0:
        name = name[: suffix.start()]
    return name.lower()


def _spellings(model: str) -> list[str]:
    """The id as given, its plain form and other spellings of the same id, surest first."""
    plain = plain_model_id(model)
    found = [model.strip(), model.strip().lower(), plain]
    if plain.startswith("claude-"):
        # Routers write `claude-sonnet-4.5`, the API `claude-sonnet-4-5`.
        found.append(plain.replace(".", "-"))
    if plain.startswith("gpt-35"):  # Azure allows no dot in a deployment's name.
        found.append(plain.replace("gpt-35", "gpt-3.5", 1))
    if plain.startswith("gemini-"):
        name = plain
        while (suffix := _GEMINI_SUFFIX.search(name)) is not None:
            name = name[: suffix.start()]
            found.append(name)
    return list(dict.fromkeys(found))


def _match(
    model: str, provider: Provider | None, among: Iterable[ModelProfile]
) -> ModelProfile | None:
    named: dict[str, ModelProfile] = {}
    for profile in among:
        if provider is None or profile.provider == provider:
            for name in (profile.name, *profile.aliases):
                named.setdefault(name, profile)
                named.setdefault(name.lower(), profile)
    return next((named[name] for name in _spellings(model) if name in named), None)


def provider_of(target: str | None) -> Provider | None:
    """The provider behind a target or provider name; None for a target of somebody else."""
    return None if target is None else _PROVIDER_OF_TARGET.get(target)


def profile_for(
    model: str | None, provider: str | None = None, *, profiles: Profiles = ()
) -> ModelProfile | None:
    """The profile of that model, or None when the model is not known.

    `provider` is a provider or a target name (`openai-responses` is `openai`); without it all three
    providers are searched. The user's `profiles` win over the built-in ones. Dated snapshots,
    gateway prefixes and the spellings of Bedrock and Vertex AI are understood; a name that merely
    resembles a known one is not. Raises InputError for names that are no texts.
    """
    check_text(model, "model", optional=True)
    check_text(provider, "provider", optional=True)
    if not model:
        return None
    wanted = provider_of(provider)
    if provider is not None and wanted is None:
        # A custom target: only the user can know what its models accept.
        return _match(model, None, read_profiles(profiles))
    own = _match(model, wanted, read_profiles(profiles))
    return own if own is not None else _match(model, wanted, BUILTIN_PROFILES)


def read_profiles(profiles: Profiles) -> tuple[ModelProfile, ...]:
    """The user's profiles as a tuple, from any of the accepted forms.

    A mapping's value may name only the fields that differ: they are laid over the profile named by
    `like`, or over the built-in profile of the same id, or over an empty one, which needs
    `provider`. Raises SettingsError, naming the model and the field.
    """
    if not isinstance(profiles, Mapping):
        if isinstance(profiles, str) or not isinstance(cast(Any, profiles), Iterable):
            raise SettingsError(
                f"`profiles` is a mapping by model id or a list of `ModelProfile`s, not "
                f"{shown(profiles)}."
            )
        profiles = tuple(profiles)
        for profile in profiles:
            if not isinstance(profile, ModelProfile):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
                raise SettingsError(f"`profiles` holds `ModelProfile`s, not {shown(profile)}.")
        return tuple(profiles)
    return tuple(_read_profile(name, value) for name, value in profiles.items())


def _read_profile(name: str, value: ModelProfile | Mapping[str, Any]) -> ModelProfile:
    if isinstance(value, ModelProfile):
        return value if value.name == name else value.with_changes(name=name, aliases=())
    if not isinstance(cast(Any, name), str) or not isinstance(cast(Any, value), Mapping):
        raise SettingsError(
            f"`profiles` holds a `ModelProfile` or a mapping of its fields by model id, not "
            f"{shown(value)} for {shown(name)}."
        )
    changes = dict(value)
    like = changes.pop("like", None)
    base = _match(str(like or name), None, BUILTIN_PROFILES)
    if like is not None and base is None:
        known = (profile.name for profile in BUILTIN_PROFILES)
        raise SettingsError(
            f"`profiles[{shown(name)}].like` names {shown(like)}, which is no built-in profile. "
            + nearest(like, known)
        )
    fields = ModelProfile.__struct_fields__
    for field in changes:
        if field not in fields:
            raise SettingsError(
                f"`profiles[{shown(name)}]` has an unknown field {shown(field)}. "
                f"{nearest(field, fields)}"
            )
    if base is None and "provider" not in changes:
        raise SettingsError(
            f"`profiles[{shown(name)}]` is no built-in model: name a similar one in `like`, "
            "or set `provider`."
        )
    merged = {} if base is None else cast("dict[str, Any]", msgspec.to_builtins(base))
    for field in ("cache", "prices", "sources", "sureness"):
        if isinstance(changes.get(field), Mapping) and isinstance(merged.get(field), Mapping):
            changes[field] = {**merged[field], **changes[field]}
    merged = {**merged, "aliases": (), **changes, "name": name}
    try:
        return msgspec.convert(msgspec.to_builtins(merged), ModelProfile)
    except msgspec.ValidationError as error:
        raise SettingsError(f"`profiles[{shown(name)}]`: {error}") from error


def with_profile(profiles: Profiles, profile: ModelProfile) -> tuple[ModelProfile, ...]:
    """The same profiles with this one in front, replacing an earlier one of its name."""
    rest = (other for other in read_profiles(profiles) if other.name != profile.name)
    return (profile, *rest)
