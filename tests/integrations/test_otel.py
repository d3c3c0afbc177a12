"""Traces and metrics of compiles: what is told, and that nothing is told that was said."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from context_chef import ContextChef, InMemoryBackend, Message, OverflowConfig, reset
from context_chef.integrations.otel import instrument
from context_chef.pipeline.stages import STAGES


class Collected:
    """The in-memory ends of both pipes."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self._reader])

    def watch(self, chef: ContextChef, **how: Any) -> Any:
        return instrument(chef, tracer_provider=self.tracers, meter_provider=self.meters, **how)

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self._spans.get_finished_spans()}

    @property
    def metrics(self) -> dict[str, list[Any]]:
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def collected() -> Collected:
    return Collected()


def make(**settings: Any) -> ContextChef:
    return ContextChef(
        janitor={"context_window": 8_000, "tokenizer": len_of},
        overflow=OverflowConfig(strategy=reset()),
        store=InMemoryBackend(),
        memory={},
        cache="auto",
        **settings,
    )


def len_of(text: str) -> int:
    return len(text)


def test_a_compile_is_a_span_with_one_for_each_stage(collected: Collected) -> None:
    chef = make().append(Message.user("hello there"))
    collected.watch(chef, attributes={"tenant": "a"})

    payload = chef.compile_sync("anthropic", model="claude-sonnet-4-5")

    spans = collected.spans
    compiled = spans.pop("context_chef.compile")
    assert list(spans) == [f"context_chef.stage.{stage.name}" for stage in STAGES]
    assert {span.parent.span_id for span in spans.values()} == {compiled.context.span_id}
    said = dict(compiled.attributes)
    assert said["gen_ai.provider.name"] == "anthropic"
    assert said["gen_ai.request.model"] == "claude-sonnet-4-5"
    assert said["context_chef.tokens"] == payload.report.tokens
    assert said["context_chef.tokens.history"] == payload.report.sections["history"]
    assert said["context_chef.budget.limit"] == payload.report.budget.limit  # type: ignore[union-attr]  # a compile has one
    assert said["context_chef.overflow.changed"] is False
    assert said["context_chef.cache.rebilled_tokens"] == 0
    assert said["tenant"] == "a"


def test_overflow_and_repairs_are_told_and_counted(collected: Collected) -> None:
    chef = make()
    collected.watch(chef)
    chef.extend(Message.user("x" * 2_000) for _ in range(4)).append(Message.user("last"))
    chef.append({"role": "tool", "tool_call_id": "gone", "content": "orphan"})

    payload = chef.compile_sync("openai")

    said = collected.spans["context_chef.compile"].attributes
    metrics = collected.metrics
    assert said["context_chef.overflow.changed"] is True
    assert said["context_chef.overflow.strategy"] == "reset"
    assert said["context_chef.overflow.evicted_messages"] > 0
    assert said["context_chef.folds"] == 1
    [fold] = metrics["context_chef.folds"]
    assert fold.value == 1
    assert fold.attributes["context_chef.overflow.strategy"] == "reset"
    assert said["context_chef.repairs"] == len(payload.report.repairs)
    repairs = metrics.get("context_chef.repairs", [])
    assert sum(point.value for point in repairs) == len(payload.report.repairs)


def test_tokens_are_measured_by_section_and_durations_in_seconds(collected: Collected) -> None:
    chef = make().set_system_prompt("Be brief.").append(Message.user("q"))
    collected.watch(chef)
    chef.compile_sync("gemini")

    metrics = collected.metrics

    by_section = {
        point.attributes["context_chef.section"]: point.sum
        for point in metrics["context_chef.compile.tokens"]
    }
    [duration] = metrics["context_chef.compile.duration"]
    assert set(by_section) == {"tools", "system", "history", "tail"}
    assert by_section["system"] > 0
    assert duration.count == 1
    assert duration.attributes["gen_ai.provider.name"] == "gcp.gemini"


def test_a_changed_tool_list_is_counted_as_rebilled(collected: Collected) -> None:
    chef = make().append(Message.user("q" * 100)).register_tools([{"name": "a"}])
    collected.watch(chef)
    chef.compile_sync("openai")
    chef.register_tools([{"name": "b"}, {"name": "a"}])

    payload = chef.compile_sync("openai")

    [rebilled] = collected.metrics["context_chef.cache.rebilled_tokens"]
    assert rebilled.value == payload.report.rebilled_tokens > 100


def test_a_compile_that_fails_is_told_by_the_kind_of_error_only(collected: Collected) -> None:
    chef = make().append(Message.user("secret"))
    collected.watch(chef)

    def fail(context: Any) -> None:
        raise RuntimeError("secret in an error")

    chef.use("before-assemble", fail)
    with pytest.raises(RuntimeError):
        chef.compile_sync("openai")

    compiled = collected.spans["context_chef.compile"]
    [duration] = collected.metrics["context_chef.compile.duration"]
    assert compiled.attributes["error.type"] == "RuntimeError"
    assert not compiled.status.is_ok
    assert duration.attributes["error.type"] == "RuntimeError"
    assert "secret" not in repr([span.to_json() for span in collected.spans.values()])


async def test_what_happens_beside_compiles_is_counted(collected: Collected) -> None:
    chef = make()
    off = collected.watch(chef)
    chef.get_pruner().set_blocked_tools(["rm"])

    await chef.check_tool_call({"name": "rm"})
    await chef.get_memory().set("k", "v")
    await chef.offload("x" * 20_000)

    metrics = collected.metrics
    assert metrics["context_chef.tools.blocked"][0].attributes["gen_ai.tool.name"] == "rm"
    assert metrics["context_chef.memory.changes"][0].value == 1
    assert metrics["context_chef.offloads"][0].value == 1
    off()


async def test_the_way_off_leaves_nothing_behind(collected: Collected) -> None:
    chef = make().append(Message.user("q"))
    before = chef.compile_sync("openai").to_json()
    off = collected.watch(chef)
    assert (await chef.compile("openai")).to_json() == before
    spans = len(collected.spans)

    off()
    off()
    await chef.compile("openai")

    assert spans == len(collected.spans) > 0
    assert collected.metrics["context_chef.compile.duration"][0].count == 1


def test_nothing_of_opentelemetry_is_imported_with_the_library() -> None:
    code = (
        "import sys, context_chef; from context_chef import ContextChef; "
        "ContextChef().append({'role': 'user', 'content': 'q'}).compile_sync(); "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"


def test_without_the_package_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from context_chef import MissingExtraError\n"
        "try:\n    import context_chef.integrations.otel\n"
        "except MissingExtraError as error:\n    print(error)"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "context-chef[otel]" in said.stdout
