"""The output contract: the rule, and what an opening becomes where the model takes none."""

from __future__ import annotations

from typing import Final

_OUTPUT_CONTRACT: Final = """<EPHEMERAL_MESSAGE>
This reminder comes from the system, not from the user. Do not answer it and do not mention it.
Write your final answer inside exactly one pair of <{tag}> and </{tag}>, with nothing before the
opening tag and nothing after the closing one. Inside the pair, do not use that tag again.
</EPHEMERAL_MESSAGE>"""

_PREFILL_ENFORCEMENT: Final = """<ephemeral_message type="prefill_enforcement">
Your answer must begin, from its very first character, with the text between the quotation marks:
"{prefill}"
Write no lead-in, and go on directly from there.
</ephemeral_message>"""


def output_contract(tag: str) -> str:
    """The rule that the answer stands in one pair of `tag`, with nothing around it."""
    return _OUTPUT_CONTRACT.replace("{tag}", tag)


def prefill_enforcement(prefill: str) -> str:
    """Tells the model to begin with `prefill`, where it takes no opening of its answer."""
    return _PREFILL_ENFORCEMENT.replace("{prefill}", prefill)
