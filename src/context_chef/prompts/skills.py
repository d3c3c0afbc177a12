"""Skills as the model reads them: the active one, and the list of those there are."""

from __future__ import annotations

from typing import Final

from context_chef.patterns import regex
from context_chef.prompts.xml import escape_attribute, fence

BASE_DIR_LINE: Final = "Base directory for this skill: {dir}"
ARGUMENTS_LINE: Final = "ARGUMENTS: {args}"

_LOOKS_LIKE_AN_ENTRY: Final = regex(r"(?<=[\n\r\v\f\x85\u2028\u2029])(?=[ \t]*-(?:\s|$))")


def skill_block(name: str, instructions: str) -> str:
    """The active skill as a part of the tail. Its text cannot close the tag around it."""
    opening = f'<skill_instructions skill="{escape_attribute(name)}">'
    return f"{opening}\n{fence(instructions)}\n</skill_instructions>"


def base_dir_line(base_dir: str) -> str:
    return BASE_DIR_LINE.replace("{dir}", base_dir)


def arguments_line(args: str) -> str:
    return ARGUMENTS_LINE.replace("{args}", args)


def plain_entry(name: str, description: str, when_to_use: str | None) -> str:
    """One skill of the plain listing.

    Every entry begins with `- ` at the start of a line. A line of the skill's own text that does
    the same is indented, so that no description can add an entry.
    """
    when = f" (when: {when_to_use})" if when_to_use else ""
    return "- " + _LOOKS_LIKE_AN_ENTRY.sub("    ", f"{name}: {description}{when}")


def xml_entry(name: str, description: str, when_to_use: str | None) -> str:
    """One `<skill>` element, indented for its place in `<skills>`."""
    lines = [
        f'  <skill name="{_escape(" ".join(name.splitlines()))}">',
        f"    <description>{_escape(description)}</description>",
    ]
    if when_to_use:
        lines.append(f"    <whenToUse>{_escape(when_to_use)}</whenToUse>")
    lines.append("  </skill>")
    return "\n".join(lines)


def xml_listing(entries: list[str]) -> str:
    """`<skills>` around the entries, on one line when there are none."""
    return "\n".join(["<skills>", *entries, "</skills>"]) if entries else "<skills></skills>"


def _escape(text: str) -> str:
    # `xml.sax.saxutils.escape` is the same, and loads the standard library's HTTP client.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;")
