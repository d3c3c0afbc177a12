"""`TargetAdapterSuite`: hold an adapter for a target of your own to our promises."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import pytest

from context_chef.adaptation.wire_rules import check_payload
from context_chef.chef import ContextChef
from context_chef.ir.blocks import Inline, Media, Opaque, Text, Thinking, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.payload import Payload
from context_chef.testing.loops import in_a_loop

_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5E"
    "rkJggg=="
)
_CALLERS_PART: Mapping[str, Mapping[str, Any]] = {
    "openai": {"model": "unknown"},
    "openai-responses": {"model": "unknown"},
    "anthropic": {"model": "unknown", "max_tokens": 1},
}


def ordinary_session() -> tuple[Message, ...]:
    """What a conversation is made of: a question, a tool round with two calls, an answer."""
    calls = [
        ToolCall(id="call_1", name="read_file", arguments='{"path":"notes/plan.md"}'),
        ToolCall(id="call_2", name="list_files", arguments='{"folder":"notes"}'),
    ]
    return (
        Message.user("What does the plan say? — 計画 😀"),
        Message.assistant("I will look it up.", tool_calls=calls),
        Message.tool("Ship on Monday.", tool_call_id="call_1", name="read_file"),
        Message.tool("plan.md", tool_call_id="call_2", name="list_files"),
        Message.assistant("It says to ship on Monday."),
        Message.user("And after that?"),
    )


class TargetAdapterSuite:
    """Give it an `adapter` fixture and your adapter is held to our promises.

    The adapter is used as a chef uses it. Set `target` when it writes for one of the built-in
    targets: the provider's rules are held against its requests then. Override `conversation` when
    the messages of the request stand somewhere else than under `messages`, `input` or `contents`.
    Needs nothing but pytest: no plugin, and no mode of one. Each test has an event loop of its own.
    """

    target: ClassVar[str | None] = None
    model: ClassVar[str | None] = None

    def conversation(self, payload: Mapping[str, Any]) -> Sequence[Any]:
        """The request's own list of messages."""
        for key in ("messages", "input", "contents"):
            if isinstance(payload.get(key), list):
                return cast(Sequence[Any], payload[key])
        pytest.fail("no list under `messages`, `input` or `contents`; override `conversation`")

    @in_a_loop
    async def test_a_request_is_plain_data(self, adapter: object) -> None:
        payload = await self._compiled(adapter, ordinary_session())

        assert json.loads(payload.to_json()) == payload.body

    @in_a_loop
    async def test_the_same_input_has_the_same_bytes(self, adapter: object) -> None:
        first = await self._compiled(adapter, ordinary_session())
        second = await self._compiled(adapter, ordinary_session())

        assert first.to_json() == second.to_json()

    @in_a_loop
    async def test_a_changed_request_does_not_change_the_next_one(self, adapter: object) -> None:
        chef = self._chef(adapter).extend(ordinary_session())
        first = await chef.compile()
        expected = first.to_json()
        for key in list(first):
            if isinstance(first[key], list):
                cast(list[Any], first[key]).clear()

        assert (await chef.compile()).to_json() == expected

    @in_a_loop
    async def test_every_text_is_in_the_request(self, adapter: object) -> None:
        """Nothing vanishes silently: instructions, questions, answers and results."""
        said = ordinary_session()

        written = _written(await self._compiled(adapter, said, system="Be brief.\nBe kind."))

        for text in ("Be brief.", "Be kind.", *(message.text for message in said)):
            assert text in written, text

    @in_a_loop
    async def test_every_call_is_there_with_its_arguments(self, adapter: object) -> None:
        written = _written(await self._compiled(adapter, ordinary_session()))

        for name, value in (("read_file", "notes/plan.md"), ("list_files", "folder")):
            assert name in written
            assert value in written

    @in_a_loop
    async def test_a_call_and_its_result_can_be_told_to_belong_together(
        self, adapter: object
    ) -> None:
        """By id where the wire has ids, else by name and order."""
        written = _written(await self._compiled(adapter, ordinary_session()))

        assert written.count("call_1") in (0, 2)
        assert written.count("call_1") == 2 or written.count("read_file") >= 2

    @in_a_loop
    async def test_a_failure_does_not_look_like_a_success(self, adapter: object) -> None:
        call = ToolCall(id="c", name="f", arguments="{}")

        def session(failed: bool) -> tuple[Message, ...]:
            result = Message.tool("42", tool_call_id="c", name="f", is_error=failed)
            return (Message.user("q"), Message.assistant(tool_calls=[call]), result)

        failed = await self._compiled(adapter, session(True))
        fine = await self._compiled(adapter, session(False))

        assert _written(failed) != _written(fine)

    @in_a_loop
    async def test_an_image_is_sent_or_spoken_of(self, adapter: object) -> None:
        image = Media(kind="image", source=Inline(data=_PNG), media_type="image/png")

        with_it = await self._compiled(
            adapter, [Message(role="user", content=(Text(text="see"), image))]
        )
        without = await self._compiled(adapter, [Message.user("see")])

        assert _written(with_it) != _written(without) or with_it.report.diagnostics

    @in_a_loop
    async def test_foreign_reasoning_is_never_passed_on_as_its_own(self, adapter: object) -> None:
        thinking = Thinking(text="secret thought", signature="FOREIGN", origin="elsewhere")  # type: ignore[arg-type]  # a provider that nobody knows
        sealed = Opaque(provider="elsewhere", value={"type": "sealed", "data": "FOREIGN"})  # type: ignore[arg-type]  # likewise
        answer = Message(role="assistant", content=(thinking, sealed, Text(text="answer")))

        written = _written(
            await self._compiled(adapter, [Message.user("q"), answer, Message.user("next")])
        )

        assert "FOREIGN" not in written
        assert "answer" in written

    @in_a_loop
    async def test_what_was_sent_stands_when_the_conversation_grows(self, adapter: object) -> None:
        """Prompt caches compare beginnings."""
        said = ordinary_session()
        for length in (1, 4, 5):
            before = self.conversation(await self._compiled(adapter, said[:length]))
            after = self.conversation(await self._compiled(adapter, said))

            assert list(after[: len(before) - 1]) == list(before[: len(before) - 1])

    @in_a_loop
    async def test_nothing_said_yet_is_no_error(self, adapter: object) -> None:
        assert isinstance(await self._compiled(adapter, [], system="Be brief."), dict)

    @in_a_loop
    async def test_offered_tools_are_in_the_request(self, adapter: object) -> None:
        chef = self._chef(adapter).extend(ordinary_session())
        chef.register_tools([{"name": "read_file", "description": "Reads a file."}])

        written = _written(await chef.compile())

        assert "Reads a file." in written

    @in_a_loop
    async def test_the_provider_would_take_it(self, adapter: object) -> None:
        if self.target is None:
            pytest.skip("`target` is not one of the built-in targets: their rules do not apply")
        for length in range(1, len(ordinary_session()) + 1):
            payload = await self._compiled(adapter, ordinary_session()[:length], system="Rules.")
            request = {**_CALLERS_PART.get(self.target, {}), **payload}

            found = check_payload(self.target, request, model=self.model)

            assert [fault for fault in found if fault.severity == "error"] == []

    def _chef(self, adapter: object) -> ContextChef:
        return ContextChef(default_target=adapter, model=self.model)

    async def _compiled(
        self, adapter: object, messages: Sequence[Message], *, system: str | None = None
    ) -> Payload:
        chef = self._chef(adapter).extend(messages)
        if system is not None:
            chef.set_system_prompt(system)
        return await chef.compile()


def _written(payload: Payload) -> str:
    """The request as text, with arguments that are text within text told plainly."""
    return payload.to_json().decode().replace("\\\\", "\\").replace('\\"', '"')
