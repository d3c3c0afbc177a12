"""The output contract as a message, and the opening of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from context_chef.errors import SettingsError, nearest, shown
from context_chef.ir.blocks import Text
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import read_messages
from context_chef.ir.text import clean_text
from context_chef.prompts.guardrails import output_contract

GuardrailPlacement: TypeAlias = Literal["system", "last_user"]


@dataclass(frozen=True, kw_only=True)
class EnforceXML:
    """The final answer stands in exactly one pair of this tag."""

    output_tag: str

    def __post_init__(self) -> None:
        tag: Any = self.output_tag  # callers are not all typed
        if not isinstance(tag, str):
            raise SettingsError(f"`enforce_xml.output_tag` is a tag's name, not {shown(tag)}.")
        object.__setattr__(self, "output_tag", clean_text(tag))
        if not self.output_tag.strip():
            raise SettingsError("`enforce_xml.output_tag` must name a tag, not be blank.")


@dataclass(frozen=True, kw_only=True)
class Guardrails:
    """How the answer has to look.

    `prefill` is the text the answer begins with. Models that take one are given it as the start of
    their answer; others are told to begin with it.
    """

    enforce_xml: EnforceXML | None = None
    prefill: str | None = None
    placement: GuardrailPlacement = "system"

    def __post_init__(self) -> None:
        enforce, prefill = cast(Any, self.enforce_xml), cast(Any, self.prefill)
        if enforce is not None and not isinstance(enforce, EnforceXML):
            raise SettingsError(
                "`enforce_xml` is a mapping with `output_tag`, as in {'output_tag': 'answer'}, "
                f"not {shown(enforce)}."
            )
        if prefill is not None:
            if not isinstance(prefill, str):
                raise SettingsError(f"`prefill` is text or None, not {shown(prefill)}.")
            object.__setattr__(self, "prefill", clean_text(prefill))
        if self.placement not in ("system", "last_user"):
            raise SettingsError(
                f"`placement` cannot be {shown(self.placement)}. "
                f"{nearest(self.placement, ('system', 'last_user'))}"
            )

    @property
    def rule(self) -> str:
        """The output contract in words; empty when there is none."""
        return output_contract(self.enforce_xml.output_tag) if self.enforce_xml else ""

    @property
    def system_messages(self) -> tuple[Message, ...]:
        """The rule as a system message, when that is where it goes."""
        if not self.rule or self.placement != "system":
            return ()
        return (Message(role="system", content=(Text(text=self.rule, source="guardrail"),)),)

    @property
    def tail(self) -> str:
        """The rule as the last part of the tail, when that is where it goes."""
        return self.rule if self.placement == "last_user" else ""

    @property
    def prefill_messages(self) -> tuple[Message, ...]:
        """The opening of the answer as a marked assistant message."""
        if not self.prefill:
            return ()
        text = Text(text=self.prefill, source="prefill")
        return (Message(role="assistant", content=(text,), prefill=True),)


def guardrails(options: Guardrails | Mapping[str, Any] | None) -> Guardrails | None:
    """Guardrails of the dataclass or an equal mapping. Raises SettingsError for unknown names."""
    if options is None or isinstance(options, Guardrails):
        return options
    if not isinstance(cast(Any, options), Mapping):
        raise SettingsError(
            "Guardrails are a mapping of `enforce_xml`, `prefill` and `placement`, or None, not "
            f"{shown(options)}."
        )
    known = ("enforce_xml", "prefill", "placement")
    for name in options:
        if name not in known:
            raise SettingsError(
                f"`with_guardrails` has no option {shown(name)}. {nearest(name, known)}"
            )
    enforce = options.get("enforce_xml")
    if isinstance(enforce, Mapping):
        fields = cast(Mapping[str, Any], enforce)
        if set(fields) != {"output_tag"}:
            raise SettingsError(f"`enforce_xml` takes `output_tag`, not {shown(list(fields))}.")
        enforce = EnforceXML(output_tag=fields["output_tag"])
    return Guardrails(
        enforce_xml=cast(EnforceXML | None, enforce),
        prefill=options.get("prefill"),
        placement=options.get("placement") or "system",
    )


class Guardrail:
    """Guardrails for callers who put a window together themselves."""

    @staticmethod
    def apply(
        state: Sequence[MessageLike], options: Guardrails | Mapping[str, Any]
    ) -> tuple[Message, ...]:
        """The messages with the rule joined to a leading system message, and the prefill behind."""
        messages = read_messages(state)
        checked = cast(Guardrails, guardrails(options))
        if checked.rule and messages and messages[0].role == "system":
            joined = messages[0].with_text(f"{messages[0].text}\n\n{checked.rule}")
            messages = (joined, *messages[1:])
        elif checked.rule:
            rule = Text(text=checked.rule, source="guardrail")
            messages = (*messages, Message(role="system", content=(rule,)))
        return (*messages, *checked.prefill_messages)
