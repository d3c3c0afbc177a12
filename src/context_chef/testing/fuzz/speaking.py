"""Random messages: well-formed, damaged and adversarial ones, as plain data."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from context_chef.testing.fuzz import words

T = TypeVar("T")
Row = dict[str, Any]


class Speaker:
    """Makes messages. `odd` is the share of things that no careful program would say."""

    def __init__(self, chance: random.Random, odd: float) -> None:
        self._chance = chance
        self.odd = odd
        self.target = "openai"
        """Who answers at the moment: reasoning and server tools are mostly this provider's."""
        self._number = 0
        self._said: list[str] = []

    def _pick(self, usual: Sequence[T], odd: Sequence[T]) -> T:
        return self._chance.choice(odd if self._chance.random() < self.odd else usual)

    def _happens(self, share: float) -> bool:
        return self._chance.random() < share

    # Parts

    def text(self) -> str:
        """A text that nobody said before; now and then a blank or odd one."""
        self._number += 1
        if self._happens(self.odd):
            return self._chance.choice(words.BLANKS + words.ODD_TEXTS)
        size = self._chance.choice((1, 1, 3, 3, 12, 60))
        return f"<{self._number}> " + "lorem ipsum dolor " * size

    def call_id(self) -> str:
        """A fresh id; now and then one that was used before, or that no provider would make."""
        self._number += 1
        if self._happens(self.odd * 0.7):
            used = tuple(self._said[-6:])
            return self._chance.choice(words.ODD_IDS + used)
        made = self._chance.choice(words.CALL_IDS).format(n=self._number)
        self._said.append(made)
        return made

    def block(self) -> Row:
        """A text, or media."""
        if self._happens(0.12):
            return self._with_cache(dict(self._pick(words.MEDIA, words.ODD_MEDIA)))
        return self._with_cache({"type": "text", "text": self.text()})

    def _with_cache(self, block: Row) -> Row:
        if self._happens(0.04):
            block["cache"] = self._chance.choice(({}, {"ttl": "5m"}, {"ttl": "1h"}))
        return block

    def reasoning(self) -> list[Row]:
        """Reasoning of the provider that answers; now and then of another, or unsigned."""
        self._number += 1
        n = self._number
        who = self.target if self._happens(0.85) else self._chance.choice(words.TARGETS)
        if who == "anthropic":
            thought: Row = {"type": "thinking", "text": f"hm {n}", "origin": "anthropic"}
            if not self._happens(self.odd * 0.5):
                # One signature is never that of two different blocks: it is made of the block.
                thought["signature"] = f"sig{n}" if not self._happens(self.odd * 0.2) else f"s{n}"
            if self._happens(0.1):
                return [thought, {"type": "redacted_thinking", "data": f"cmVk{n:04}"}]
            return [thought]
        if who == "openai-responses":
            value: Row = {"type": "reasoning", "summary": []}
            if self._happens(0.8):
                value["id"] = f"rs_{n}" if not self._happens(self.odd * 0.3) else "rs_1"
            if "id" not in value or self._happens(0.5):
                value["encrypted_content"] = f"enc{n}"
            return [{"type": "opaque", "provider": "openai-responses", "value": value}]
        if who == "gemini":
            return [{"type": "thinking", "text": f"hm {n}", "origin": "gemini"}]
        return [{"type": "thinking", "text": f"hm {n}"}]

    def call(self, after: str | None = None) -> Row:
        """A call; of the provider that answers where it says more than the others."""
        self._number += 1
        call: Row = {
            "type": "tool_call",
            "id": self.call_id(),
            "name": self._pick(words.TOOL_NAMES, words.ODD_NAMES),
            "arguments": self._pick(words.ARGUMENTS, words.ODD_ARGUMENTS),
        }
        if self.target == "gemini" and self._happens(0.6):
            call["signature"] = self._pick(("c2lnbmF0dXJl", "c2ln"), ("no base64!", "", "c2l"))
        if self.target == "openai-responses" and self._happens(0.6):
            own: Row = {"id": f"fc_{self._number}"}
            if after is not None:
                own["_after"] = after
            call["native"] = {"openai-responses": own}
        return call

    def opaque(self) -> list[Row]:
        """Blocks that only one provider knows: server tools, compaction, code, searches."""
        self._number += 1
        n = self._number
        who = self.target if self._happens(0.7) else self._chance.choice(words.TARGETS)
        made: Sequence[Row]
        if who == "anthropic":
            use: Row = {
                "type": "server_tool_use",
                "id": f"srvtoolu_{n}",
                "name": "web_search",
                "input": {"query": "q"},
            }
            result: Row = {
                "type": "web_search_tool_result",
                "tool_use_id": f"srvtoolu_{n}",
                "content": [],
            }
            summary: Row = {"type": "compaction", "content": f"Earlier {n}."}
            if self._happens(0.3):
                summary["signature"] = f"csig{n}"
            made = self._pick(
                ([use, result], [use, result], [use], [summary]),
                ([result], [use, use, result], [{**summary, "content": ""}], [result, use]),
            )
        elif who == "openai-responses":
            search: Row = {
                "type": "web_search_call",
                "id": f"ws_{n}",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            }
            compaction: Row = {"type": "compaction", "id": f"cmp_{n}", "encrypted_content": f"e{n}"}
            reference: Row = {"type": "item_reference", "id": f"msg_{n}"}
            made = self._pick(([search], [compaction]), ([reference], [search, search]))
        elif who == "gemini":
            made = [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            ]
        else:
            return [{"type": "text", "text": self.text()}]
        return [{"type": "opaque", "provider": who, "value": value} for value in made]

    # Messages

    def user(self) -> Row:
        """Somebody speaks."""
        blocks = [self.block() for _ in range(self._chance.choice((1, 1, 1, 2, 3)))]
        if self._happens(self.odd * 0.2):
            blocks = []
        return self._message("user", blocks, pinned=self._happens(0.03))

    def answer(self) -> Row:
        """The model speaks, and calls nothing."""
        blocks: list[Row] = []
        if self._happens(0.4):
            blocks += self.reasoning()
        if self._happens(0.12):
            blocks += self.opaque()
        blocks += [
            {"type": "text", "text": self.text()} for _ in range(self._chance.choice((1, 1, 2)))
        ]
        if self._happens(0.1):
            blocks += self.reasoning()
        if self._happens(self.odd * 0.4):
            self._chance.shuffle(blocks)
        if self._happens(self.odd * 0.2):
            blocks = blocks[:1]
        if self.target == "openai-responses" and self._happens(0.4):
            self._number += 1
            own: Row = {"annotations": [], "_item": {"fields": {"id": f"msg_{self._number}"}}}
            after = _reasoning_id(blocks)
            if after is not None:
                own["_after"] = after
            for block in blocks:
                if block["type"] == "text":
                    block["native"] = {"openai-responses": own}
                    break
        return self._message("assistant", blocks)

    def round(self) -> list[Row]:
        """Calls and their results, as tools and networks leave them."""
        blocks: list[Row] = []
        if self._happens(0.5):
            blocks += self.reasoning()
        if self._happens(0.3):
            blocks.append({"type": "text", "text": self.text()})
        if self._happens(0.06):
            blocks += self.opaque()
        many = self._chance.choice((1, 1, 1, 2, 2, 3, 5))
        after = _reasoning_id(blocks)
        calls = [self.call(after if place == 0 else None) for place in range(many)]
        for place, call in enumerate(calls):
            if place and self._happens(0.08):
                blocks += self.reasoning()
            blocks.append(call)
        if self._happens(self.odd * 0.4):
            self._chance.shuffle(blocks)
        rows = [self._message("assistant", blocks)]
        rows += [self.result(call["id"], call["name"]) for call in calls]
        if self._happens(self.odd):
            rows = self._damaged(rows)
        return rows

    def result(self, call_id: str, name: str) -> Row:
        """What a tool answered."""
        blocks = [self.block() for _ in range(self._chance.choice((1, 1, 1, 1, 2)))]
        if self._happens(self.odd * 0.3):
            blocks = []
        row = self._message("tool", blocks)
        row["tool_call_id"] = call_id
        if self._happens(0.7):
            row["name"] = name if not self._happens(self.odd * 0.2) else "another"
        if self._happens(0.15):
            row["is_error"] = True
        return row

    def _damaged(self, rows: list[Row]) -> list[Row]:
        """A round with one thing gone wrong."""
        at = self._chance.randrange(len(rows))

        def lost() -> list[Row]:
            return rows[:at] + rows[at + 1 :]

        def doubled() -> list[Row]:
            return [*rows[: at + 1], *rows[at:]]

        def shuffled() -> list[Row]:
            return self._chance.sample(rows, len(rows))

        def interrupted() -> list[Row]:
            said = self._chance.choice((self.user, self.instruction, self.answer))()
            return [*rows[:at], said, *rows[at:]]

        def late() -> list[Row]:
            return [*rows[:-1], self.user(), rows[-1]]

        def cut() -> list[Row]:
            return rows[: max(1, at)]

        def unowned() -> list[Row]:
            return [*rows, self.result(self.call_id(), "look")]

        kinds: tuple[Callable[[], list[Row]], ...] = (
            lost, doubled, shuffled, interrupted, late, cut, unowned
        )  # fmt: skip
        return self._chance.choice(kinds)()

    def instruction(self) -> Row:
        """A system message, somewhere."""
        row = self._message("system", [{"type": "text", "text": self.text()}])
        if self._happens(0.5):
            row["positional"] = True
        return row

    def summary(self) -> Row:
        """An assistant message that holds nothing but a provider's own block."""
        return self._message("assistant", self.opaque())

    def chat_row(self) -> Row:
        """A message in the chat-completions shape."""
        role = self._chance.choice(("user", "assistant", "user", "developer"))
        return {"role": role, "content": self.text()}

    def _message(self, role: str, blocks: list[Row], *, pinned: bool = False) -> Row:
        row: Row = {"role": role, "blocks": blocks}
        if pinned:
            row["pinned"] = True
        if self._happens(0.03):
            row["cache"] = self._chance.choice(({}, {"ttl": "5m"}, {"ttl": "1h"}))
        return row

    def some(self) -> list[Row]:
        """Whatever comes next in a session."""
        kind = self._chance.random()
        if kind < 0.34:
            return self.round()
        if kind < 0.62:
            return [self.user()]
        if kind < 0.86:
            return [self.answer()]
        if kind < 0.91:
            return [self.instruction()]
        if kind < 0.95:
            return [self.chat_row()]
        return [self.summary()] if self._happens(0.5) else [self.user(), self.answer()]

    # Tools

    def tool(self) -> Row:
        """A definition that callers and MCP servers come up with."""
        tool: Row = {
            "name": self._pick(words.TOOL_NAMES, words.ODD_NAMES),
            "description": self.text() if self._happens(0.3) else "Looks.",
        }
        schema = self._pick(words.SCHEMAS, words.ODD_SCHEMAS)
        if schema is not None:
            tool["parameters"] = schema
        if self._happens(0.12):
            tool["strict"] = self._happens(0.8)
        if self._happens(0.06):
            tool["defer_loading"] = True
        if self._happens(0.05):
            tool["cache"] = self._chance.choice(({}, {"ttl": "1h"}))
        return tool

    def tools(self) -> list[Row]:
        """A list of tools with one name each."""
        many = self._chance.choice((0, 1, 2, 3, 5))
        if self._happens(self.odd * 0.05):
            many = 140
        made: dict[str, Row] = {}
        for place in range(many):
            tool = self.tool()
            if many > 10:
                tool["name"] = f"tool_{place}"
            made.setdefault(tool["name"], tool)
        return [tool for name, tool in made.items() if name]


def _reasoning_id(blocks: Sequence[Row]) -> str | None:
    """The id of the last reasoning item in front."""
    for block in reversed(blocks):
        if block["type"] == "opaque" and block["value"].get("type") == "reasoning":
            return block["value"].get("id")
    return None
