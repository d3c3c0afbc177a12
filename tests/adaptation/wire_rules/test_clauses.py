"""What `spec/4` says must hold, clause by clause: a body that breaks it, and the rule that says so.

One row for every clause beside the failing example that each rule brings itself.
"""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.wire_rules import Target, check_payload
from tests.histories import PNG

Body = dict[str, Any]
HELLO: Body = {"role": "user", "content": "Hello"}
GEMINI_HELLO: Body = {"role": "user", "parts": [{"text": "Hello"}]}
IMAGE: Body = {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}}
THOUGHT: Body = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
ENABLED: Body = {"type": "enabled", "budget_tokens": 1024}
SCHEMA: Body = {"type": "object", "properties": {"c": {"type": "string"}}}


def clause(
    target: Target, what: str, rules: str, body: Body, model: str | None = None, **options: Any
) -> Any:
    if target == "gemini":
        model = model or "gemini-2.5-flash"
    return pytest.param(target, set(rules.split()), body, {"model": model, **options}, id=what)


def asking(*messages: Any, model: str = "claude-sonnet-4-5", **settings: Any) -> Body:
    settings = {"max_tokens": 4096, **settings}
    return {"model": model, "messages": list(messages) or [HELLO], **settings}


def said(role: str, *blocks: Any) -> Body:
    return {"role": role, "content": list(blocks)}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def offered(name: str = "look", **more: Any) -> Body:
    return {"name": name, "input_schema": {"type": "object", "properties": {}}, **more}


def editing(*edits: Any) -> Body:
    betas = ["context-management-2025-06-27", "compact-2026-01-12", "task-budgets-2026-03-13"]
    return {"context_management": {"edits": list(edits)}, "betas": betas}


def chat(*messages: Any, model: str = "gpt-4o", **settings: Any) -> Body:
    return {"model": model, "messages": list(messages) or [HELLO], **settings}


def chat_tool(name: str = "look", **more: Any) -> Body:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA, **more}}


calls = [
    {"id": f"c{i}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    for i in range(129)
]


def respond(*items: Any, model: str = "gpt-4o", **settings: Any) -> Body:
    return {"model": model, "input": list(items) or "Hello", **settings}


def function(name: str = "look", **more: Any) -> Body:
    return {"type": "function", "name": name, "parameters": SCHEMA, **more}


def call(call_id: str = "c", **more: Any) -> Body:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}", **more}


def output(id: str = "c") -> Body:
    return {"type": "function_call_output", "call_id": id, "output": "x"}


NAMESPACE: Body = {
    "type": "namespace",
    "name": "crm",
    "description": "d",
    "tools": [function("get", defer_loading=True)],
}


def generate(*contents: Any, **settings: Any) -> Body:
    return {"contents": list(contents) or [GEMINI_HELLO], **settings}


def content(role: str, *parts: Any) -> Body:
    return {"role": role, "parts": list(parts)}


def calling(name: str = "look", **more: Any) -> Body:
    return {"functionCall": {"name": name, "args": {}}, **more}


def responding(name: str = "look") -> Body:
    return {"functionResponse": {"name": name, "response": {"a": 1}}}


def declaring(*declarations: Any, **settings: Any) -> Body:
    return generate(tools=[{"functionDeclarations": list(declarations)}], **settings)


CLAUSES = [
    *[
        clause("anthropic", f"{key} at any value", "sampling", asking(**{key: 1}))
        for key in ("temperature", "top_p", "top_k")
    ],
    *[
        clause(
            "gemini",
            f"schema {key}",
            "schema",
            declaring({"name": "f", "parameters": {**SCHEMA, key: value}}),
        )
        for key, value in (
            ("additionalProperties", False),
            ("$schema", "x"),
            ("$ref", "#"),
            ("const", 1),
            ("oneOf", [{"type": "string"}]),
            ("exclusiveMinimum", 0),
        )
    ],
    clause(
        "anthropic",
        "citations in search_result",
        "citations-role",
        asking(
            said(
                "user",
                {
                    "type": "search_result",
                    "title": "t",
                    "source": "s",
                    "content": [
                        text(
                            "x",
                            citations=[
                                {
                                    "type": "char_location",
                                    "cited_text": "w",
                                    "document_index": 0,
                                    "document_title": None,
                                    "start_char_index": 0,
                                    "end_char_index": 1,
                                }
                            ],
                        )
                    ],
                },
            )
        ),
    ),
    clause(
        "anthropic",
        "opus 5.5 refuses computer",
        "tool-refused",
        asking(
            model="claude-opus-5-5",
            tools=[
                {
                    "type": "computer_20251124",
                    "name": "computer",
                    "display_width_px": 1,
                    "display_height_px": 1,
                }
            ],
            betas=["computer-use-2025-11-24"],
        ),
    ),
    clause(
        "anthropic",
        "disabled above effort high",
        "thinking-type",
        asking(
            model="claude-opus-5", thinking={"type": "disabled"}, output_config={"effort": "max"}
        ),
    ),
    clause(
        "anthropic",
        "empty text in tool result",
        "empty-text",
        asking(
            HELLO,
            said("assistant", {"type": "tool_use", "id": "c", "name": "look", "input": {}}),
            said("user", {"type": "tool_result", "tool_use_id": "c", "content": [text("")]}),
            tools=[offered()],
        ),
    ),
    clause("anthropic", "empty text in system", "empty-text", asking(system=[text("")])),
    clause(
        "anthropic",
        "image in a system message",
        "shape",
        asking(HELLO, said("system", IMAGE), model="claude-opus-5"),
    ),
    clause(
        "anthropic",
        "prefill with structured output",
        "prefill-unsupported",
        asking(
            HELLO,
            said("assistant", text("I")),
            output_config={
                "format": {
                    "type": "json_schema",
                    "schema": {"type": "object", "properties": {}, "additionalProperties": False},
                }
            },
        ),
    ),
    clause(
        "anthropic",
        "no thinking in prefill",
        "prefill-thinking",
        asking(HELLO, said("assistant", THOUGHT, text("I"))),
    ),
    clause(
        "anthropic",
        "bmp image",
        "base64-data",
        asking(
            said(
                "user",
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "Qk0="},
                },
            )
        ),
    ),
    clause(
        "anthropic",
        "pdf data url",
        "base64-data",
        asking(
            said(
                "user",
                {
                    "type": "document",
                    "source": {
                        "type": "base64",
                        "media_type": "application/pdf",
                        "data": "data:application/pdf;base64,JVBE",
                    },
                },
            )
        ),
    ),
    clause(
        "anthropic",
        "top property name",
        "tool-schema",
        asking(
            tools=[
                offered(input_schema={"type": "object", "properties": {"a b": {"type": "string"}}})
            ]
        ),
    ),
    clause(
        "anthropic",
        "server tool duplicates name",
        "tool-name-duplicate",
        asking(
            tools=[offered("web_search"), {"type": "web_search_20250305", "name": "web_search"}]
        ),
    ),
    clause(
        "anthropic",
        "tool_use name 201",
        "tool-name",
        asking(
            HELLO,
            said("assistant", {"type": "tool_use", "id": "c", "name": "x" * 201, "input": {}}),
            said("user", {"type": "tool_result", "tool_use_id": "c", "content": "x"}),
        ),
    ),
    clause(
        "anthropic",
        "strict optional in output format",
        "strict-limits",
        asking(
            output_config={
                "format": {
                    "type": "json_schema",
                    "schema": {
                        "type": "object",
                        "properties": {f"p{i}": {"type": "string"} for i in range(25)},
                        "additionalProperties": False,
                    },
                }
            }
        ),
    ),
    clause(
        "anthropic",
        "strict unions",
        "strict-limits",
        asking(
            tools=[
                offered(
                    strict=True,
                    input_schema={
                        "type": "object",
                        "properties": {f"p{i}": {"type": ["string", "null"]} for i in range(17)},
                        "required": [f"p{i}" for i in range(17)],
                        "additionalProperties": False,
                    },
                )
            ]
        ),
    ),
    clause(
        "anthropic",
        "strict minItems 2",
        "strict-schema",
        asking(
            tools=[
                offered(
                    strict=True,
                    input_schema={
                        "type": "object",
                        "properties": {
                            "a": {"type": "array", "items": {"type": "string"}, "minItems": 2}
                        },
                        "required": ["a"],
                        "additionalProperties": False,
                    },
                )
            ]
        ),
    ),
    clause(
        "anthropic",
        "citations with structured output",
        "strict-schema",
        asking(
            said(
                "user",
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "x"},
                    "citations": {"enabled": True},
                },
            ),
            output_config={
                "format": {
                    "type": "json_schema",
                    "schema": {"type": "object", "properties": {}, "additionalProperties": False},
                }
            },
        ),
    ),
    clause(
        "anthropic",
        "tool_choice without tools",
        "tool-choice",
        asking(tool_choice={"type": "auto"}),
    ),
    clause(
        "anthropic",
        "forced with enabled",
        "tool-choice-forced",
        asking(tools=[offered()], tool_choice={"type": "tool", "name": "look"}, thinking=ENABLED),
    ),
    clause(
        "anthropic",
        "tool_removal unknown",
        "tool-reference-unknown",
        asking(
            HELLO,
            said(
                "system",
                {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "gone"}},
            ),
            model="claude-opus-5",
            betas=["mid-conversation-tool-changes-2026-07-01"],
        ),
    ),
    clause(
        "anthropic",
        "toolset without server",
        "mcp-pairing",
        asking(
            tools=[{"type": "mcp_toolset", "mcp_server_name": "w"}], betas=["mcp-client-2025-11-20"]
        ),
    ),
    clause(
        "anthropic",
        "budget >= max_tokens",
        "thinking-budget",
        asking(thinking={"type": "enabled", "budget_tokens": 4096}),
    ),
    clause(
        "anthropic",
        "budget < 1024",
        "thinking-budget",
        asking(thinking={"type": "enabled", "budget_tokens": 1000}),
    ),
    clause(
        "anthropic",
        "thinking in middle with enabled",
        "thinking-first",
        asking(HELLO, said("assistant", text("x"), THOUGHT, text("y")), HELLO, thinking=ENABLED),
    ),
    clause("anthropic", "max_tokens over", "max-tokens", asking(max_tokens=200000)),
    clause("anthropic", "max_tokens 0 stream", "max-tokens", asking(max_tokens=0, stream=True)),
    clause(
        "anthropic",
        "max_tokens 0 thinking",
        "max-tokens thinking-budget",
        asking(max_tokens=0, thinking=ENABLED),
    ),
    clause(
        "anthropic",
        "max_tokens 0 forced",
        "max-tokens",
        asking(max_tokens=0, tools=[offered()], tool_choice={"type": "any"}),
    ),
    clause(
        "anthropic",
        "max_tokens 0 structured",
        "max-tokens",
        asking(
            max_tokens=0,
            output_config={
                "format": {
                    "type": "json_schema",
                    "schema": {"type": "object", "properties": {}, "additionalProperties": False},
                }
            },
        ),
    ),
    clause("anthropic", "max_tokens -1", "max-tokens", asking(max_tokens=-1)),
    clause(
        "anthropic",
        "2023 temperature 1.5",
        "sampling",
        asking(temperature=1.5),
        api_version="2023-06-01",
    ),
    clause(
        "anthropic",
        "2023 both on sonnet 4.5",
        "sampling",
        asking(temperature=0.5, top_p=0.5),
        api_version="2023-06-01",
    ),
    clause(
        "anthropic",
        "2023 nondefault opus 4.7",
        "sampling",
        asking(model="claude-opus-4-7", temperature=0.5),
        api_version="2023-06-01",
    ),
    clause(
        "anthropic",
        "2023 not 1 while thinking",
        "sampling",
        asking(temperature=0.5, thinking=ENABLED),
        api_version="2023-06-01",
    ),
    clause(
        "anthropic",
        "edit twice",
        "context-edits",
        asking(
            **editing({"type": "clear_tool_uses_20250919"}, {"type": "clear_tool_uses_20250919"})
        ),
    ),
    clause(
        "anthropic",
        "clear thinking keep 0",
        "context-edits",
        asking(
            thinking=ENABLED,
            **editing(
                {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 0}}
            ),
        ),
    ),
    clause(
        "anthropic",
        "clear thinking without thinking",
        "context-edits",
        asking(**editing({"type": "clear_thinking_20251015"})),
    ),
    clause(
        "anthropic",
        "compact trigger",
        "context-edits",
        asking(
            **editing(
                {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 1000}}
            )
        ),
    ),
    clause(
        "anthropic",
        "compact with task budget remaining",
        "context-edits",
        asking(
            model="claude-opus-5",
            output_config={"task_budget": {"type": "tokens", "total": 100000, "remaining": 50000}},
            **editing({"type": "compact_20260112"}),
        ),
    ),
    clause(
        "anthropic",
        "two signed compactions",
        "compaction-block",
        asking(
            said(
                "assistant",
                {"type": "compaction", "content": "a", "signature": "s"},
                {"type": "compaction", "content": "b", "signature": "s"},
            ),
            HELLO,
            betas=["compact-2026-09-04"],
        ),
    ),
    clause(
        "anthropic",
        "compaction empty",
        "compaction-block",
        asking(
            said("assistant", {"type": "compaction", "content": ""}),
            HELLO,
            betas=["compact-2026-01-12"],
        ),
    ),
    clause(
        "anthropic",
        "compaction in user",
        "block-role",
        asking(said("user", {"type": "compaction", "content": "a"}), betas=["compact-2026-01-12"]),
    ),
    clause(
        "anthropic",
        "thread with cache_control",
        "shape",
        asking(
            thread={"id": "thr_1"},
            cache_control={"type": "ephemeral"},
            betas=["message-threads-2026-08-12"],
        ),
    ),
    clause(
        "anthropic",
        "thread with thinking",
        "shape",
        asking(thread={"id": "thr_1"}, thinking=ENABLED, betas=["message-threads-2026-08-12"]),
    ),
    clause(
        "anthropic",
        "thread with context management",
        "shape",
        asking(
            thread={"id": "thr_1"},
            context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
            betas=["message-threads-2026-08-12", "context-management-2025-06-27"],
        ),
    ),
    clause(
        "anthropic",
        "thread with fallbacks",
        "shape",
        asking(
            thread={"id": "thr_1"},
            fallbacks=[{"model": "claude-opus-4-8"}],
            betas=["message-threads-2026-08-12", "server-side-fallback-2026-07-01"],
        ),
    ),
    clause(
        "anthropic",
        "beta clear_at",
        "shape",
        asking(
            HELLO, {"role": "system", "content": "x", "clear_at": "turn_end"}, model="claude-opus-5"
        ),
    ),
    clause(
        "anthropic",
        "beta message output_config",
        "beta-missing",
        asking(
            HELLO,
            {"role": "system", "content": "x", "output_config": {"effort": "low"}},
            model="claude-opus-5",
        ),
    ),
    clause(
        "anthropic",
        "beta block_binding",
        "beta-missing",
        asking(
            model="claude-opus-5-5",
            thinking={
                "type": "adaptive",
                "block_binding": {"prefix_mismatch_behavior": "drop_block"},
            },
        ),
    ),
    clause(
        "anthropic",
        "beta mcp_servers",
        "beta-missing",
        asking(
            mcp_servers=[{"type": "url", "name": "w", "url": "https://w"}],
            tools=[{"type": "mcp_toolset", "mcp_server_name": "w"}],
        ),
    ),
    clause(
        "anthropic",
        "beta task_budget",
        "beta-missing",
        asking(
            model="claude-opus-5",
            output_config={"task_budget": {"type": "tokens", "total": 100000}},
        ),
    ),
    clause(
        "anthropic",
        "beta fallbacks",
        "beta-missing",
        asking(fallbacks=[{"model": "claude-opus-4-8"}]),
    ),
    clause(
        "anthropic", "beta compaction top", "beta-missing", asking(compaction={"type": "summarize"})
    ),
    clause(
        "anthropic",
        "beta advisor",
        "beta-missing",
        asking(tools=[{"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-5"}]),
    ),
    clause(
        "anthropic",
        "cache on thinking",
        "shape",
        asking(
            HELLO,
            said("assistant", {**THOUGHT, "cache_control": {"type": "ephemeral"}}, text("x")),
            HELLO,
        ),
    ),
    clause(
        "anthropic",
        "cache on empty text",
        "empty-text",
        asking(said("user", text("x"), text("", cache_control={"type": "ephemeral"}))),
    ),
    clause(
        "anthropic",
        "nested 5 marks",
        "cache-breakpoints",
        asking(
            HELLO,
            said("assistant", {"type": "tool_use", "id": "c", "name": "look", "input": {}}),
            said(
                "user",
                {
                    "type": "tool_result",
                    "tool_use_id": "c",
                    "content": [text("x", cache_control={"type": "ephemeral"})] * 5,
                },
            ),
            tools=[offered()],
        ),
    ),
    clause(
        "anthropic",
        "4 and top-level",
        "cache-breakpoints",
        asking(
            said("user", *[text("a", cache_control={"type": "ephemeral"})] * 4),
            cache_control={"type": "ephemeral"},
        ),
    ),
    clause(
        "anthropic",
        "paused",
        "server-tool-use-unanswered",
        asking(
            HELLO,
            said(
                "assistant",
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            ),
            HELLO,
        ),
    ),
    clause(
        "openai",
        "129 calls",
        "tool-calls-limit",
        chat(
            HELLO,
            {"role": "assistant", "content": None, "tool_calls": calls},
            *[{"role": "tool", "tool_call_id": f"c{i}", "content": "x"} for i in range(129)],
        ),
    ),
    clause(
        "openai",
        "history tool name",
        "tool-name",
        chat(
            HELLO,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "a.b", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "x"},
        ),
    ),
    clause(
        "openai",
        "empty tool_calls",
        "empty-array",
        chat(HELLO, {"role": "assistant", "content": "x", "tool_calls": []}, HELLO),
    ),
    clause("openai", "empty content array", "empty-array", chat({"role": "user", "content": []})),
    clause(
        "openai",
        "array without items",
        "function-schema",
        chat(
            tools=[chat_tool(parameters={"type": "object", "properties": {"l": {"type": "array"}}})]
        ),
    ),
    clause(
        "openai",
        "strict allOf",
        "strict-schema",
        chat(
            tools=[
                chat_tool(
                    strict=True,
                    parameters={
                        "type": "object",
                        "properties": {"c": {"allOf": [{"type": "string"}]}},
                        "required": ["c"],
                        "additionalProperties": False,
                    },
                )
            ]
        ),
    ),
    clause(
        "openai",
        "response_format strict",
        "strict-schema",
        chat(
            response_format={
                "type": "json_schema",
                "json_schema": {
                    "name": "x",
                    "strict": True,
                    "schema": {"type": "object", "properties": {"c": {"type": "string"}}},
                },
            }
        ),
    ),
    clause("openai", "parallel without tools", "tool-choice", chat(parallel_tool_calls=True)),
    clause(
        "openai",
        "named tool unknown",
        "tool-choice",
        chat(tools=[chat_tool()], tool_choice={"type": "function", "function": {"name": "z"}}),
    ),
    clause(
        "openai",
        "allowed tools unknown",
        "tool-choice",
        chat(
            tools=[chat_tool()],
            tool_choice={
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "z"}}],
                },
            },
        ),
    ),
    clause(
        "openai",
        "developer o1-mini",
        "role-model",
        chat({"role": "developer", "content": "x"}, HELLO, model="o1-mini"),
    ),
    clause(
        "openai", "name angle", "name-field", chat({"role": "user", "content": "x", "name": "a<b"})
    ),
    clause(
        "openai", "name 65", "name-field", chat({"role": "user", "content": "x", "name": "a" * 65})
    ),
    clause(
        "openai",
        "image svg",
        "image-url",
        chat(
            {
                "role": "user",
                "content": [
                    {
                        "type": "image_url",
                        "image_url": {"url": "data:image/svg+xml;base64,PHN2Zy8+"},
                    }
                ],
            }
        ),
    ),
    clause(
        "openai",
        "file audio",
        "file-part",
        chat(
            {
                "role": "user",
                "content": [
                    {
                        "type": "file",
                        "file": {"file_data": "data:audio/mpeg;base64,SUQz", "filename": "a.mp3"},
                    }
                ],
            }
        ),
    ),
    clause(
        "openai",
        "file no name",
        "file-part",
        chat(
            {
                "role": "user",
                "content": [
                    {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE"}}
                ],
            }
        ),
    ),
    clause(
        "openai",
        "audio on 4o",
        "audio-model",
        chat(
            {
                "role": "user",
                "content": [
                    {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}}
                ],
            }
        ),
    ),
    clause("openai", "stop on gpt-5", "reasoning-params", chat(model="gpt-5", stop=["x"])),
    clause("openai", "temp on gpt-5", "reasoning-params", chat(model="gpt-5", temperature=0.5)),
    clause(
        "openai",
        "temp on 5.1 with effort",
        "reasoning-params",
        chat(model="gpt-5.1", temperature=0.5, reasoning_effort="low"),
    ),
    clause("openai", "effort on 4o", "reasoning-effort", chat(reasoning_effort="low")),
    clause(
        "openai", "none on gpt-5", "reasoning-effort", chat(model="gpt-5", reasoning_effort="none")
    ),
    clause(
        "openai", "none on 6.1", "reasoning-effort", chat(model="gpt-6.1", reasoning_effort="none")
    ),
    clause(
        "openai",
        "tools 5.4 effort low",
        "reasoning-tools",
        chat(model="gpt-5.4", tools=[chat_tool()], reasoning_effort="low"),
    ),
    clause(
        "openai", "tools 6.2", "reasoning-tools", chat(model="gpt-6.2-sol", tools=[chat_tool()])
    ),
    clause("openai", "5 stops", "range", chat(stop=list("abcde"))),
    clause("openai", "penalty", "range", chat(frequency_penalty=3)),
    clause("openai", "logprobs 21", "range", chat(logprobs=True, top_logprobs=21)),
    clause("openai", "top_logprobs alone", "dependent-option", chat(top_logprobs=2)),
    clause("openai", "metadata alone", "dependent-option", chat(metadata={"a": "b"})),
    clause("openai", "both max", "dependent-option", chat(max_tokens=1, max_completion_tokens=1)),
    clause(
        "openai",
        "cache with retention",
        "cache-options",
        chat(
            model="gpt-5.6-sol",
            prompt_cache_options={"mode": "explicit"},
            prompt_cache_retention="24h",
        ),
    ),
    clause(
        "openai",
        "breakpoint on 4o",
        "cache-options",
        chat(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}
                ],
            }
        ),
    ),
    clause(
        "openai-responses", "output before call", "output-orphan", respond(HELLO, output(), call())
    ),
    clause(
        "openai-responses", "two outputs", "call-id", respond(HELLO, call(), output(), output())
    ),
    clause(
        "openai-responses", "two calls one id", "call-id", respond(HELLO, call(), call(), output())
    ),
    clause(
        "openai-responses",
        "call id 65",
        "call-id",
        respond(HELLO, call("x" * 65), output("x" * 65)),
    ),
    clause(
        "openai-responses",
        "fc prefix",
        "item-id-prefix",
        respond(HELLO, call(id="call_1"), output()),
    ),
    clause(
        "openai-responses",
        "rs prefix",
        "item-id-prefix",
        respond(
            HELLO,
            {"type": "reasoning", "id": "x1", "summary": []},
            call(id="fc_1"),
            output(),
            model="gpt-5",
        ),
    ),
    clause(
        "openai-responses",
        "item id duplicate",
        "item-id-duplicate",
        respond(
            HELLO,
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "status": "completed",
                "content": [{"type": "output_text", "text": "x", "annotations": []}],
            },
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "status": "completed",
                "content": [{"type": "output_text", "text": "x", "annotations": []}],
            },
            HELLO,
        ),
    ),
    clause(
        "openai-responses",
        "reasoning without follower id",
        "reasoning-follower",
        respond(
            HELLO,
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"role": "assistant", "content": "x"},
            HELLO,
            model="gpt-5",
        ),
    ),
    clause(
        "openai-responses",
        "reasoning last",
        "reasoning-follower",
        respond(HELLO, {"type": "reasoning", "id": "rs_1", "summary": []}, model="gpt-5"),
    ),
    clause(
        "openai-responses",
        "reference unstored",
        "not-stored",
        respond(HELLO, {"type": "item_reference", "id": "msg_1"}, store=False),
    ),
    clause(
        "openai-responses",
        "input_text in assistant",
        "content-type",
        respond(
            HELLO, {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}, HELLO
        ),
    ),
    clause(
        "openai-responses",
        "output_text in user",
        "content-type",
        respond(
            {"role": "user", "content": [{"type": "output_text", "text": "x", "annotations": []}]}
        ),
    ),
    clause(
        "openai-responses", "required without tools", "tool-choice", respond(tool_choice="required")
    ),
    clause(
        "openai-responses",
        "client search without description",
        "tool-search",
        respond(
            tools=[function(defer_loading=True), {"type": "tool_search", "execution": "client"}],
            model="gpt-5.4",
        ),
    ),
    clause(
        "openai-responses",
        "namespace call without namespace",
        "tool-search",
        respond(
            HELLO,
            {"type": "function_call", "call_id": "c", "name": "get", "arguments": "{}"},
            output(),
            tools=[NAMESPACE, {"type": "tool_search"}],
            model="gpt-5.4",
        ),
    ),
    clause(
        "openai-responses",
        "loaded from search namespace",
        "tool-search",
        respond(
            HELLO,
            {
                "type": "tool_search_call",
                "arguments": {},
                "call_id": None,
                "execution": "server",
                "status": "completed",
            },
            {
                "type": "tool_search_output",
                "tools": [
                    {
                        "type": "namespace",
                        "name": "crm",
                        "description": "d",
                        "tools": [function("get")],
                    }
                ],
                "call_id": None,
                "execution": "server",
                "status": "completed",
            },
            {"type": "function_call", "call_id": "c", "name": "get", "arguments": "{}"},
            output(),
            tools=[NAMESPACE, {"type": "tool_search"}],
            model="gpt-5.4",
        ),
    ),
    clause(
        "openai-responses",
        "state",
        "state-conflict",
        respond(previous_response_id="resp_1", conversation="conv_1"),
    ),
    clause("openai-responses", "max_output 15", "range", respond(max_output_tokens=15)),
    clause(
        "openai-responses",
        "reasoning on 4o",
        "reasoning-model",
        respond(reasoning={"effort": "low"}),
    ),
    clause(
        "openai-responses",
        "minimal on 5.1",
        "reasoning-model",
        respond(model="gpt-5.1", reasoning={"effort": "minimal"}),
    ),
    clause(
        "openai-responses",
        "cache marks 4o",
        "cache-options",
        respond(
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_text",
                        "text": "x",
                        "prompt_cache_breakpoint": {"mode": "explicit"},
                    }
                ],
            }
        ),
    ),
    clause(
        "openai-responses",
        "strict format",
        "strict-schema",
        respond(
            text={
                "format": {
                    "type": "json_schema",
                    "name": "x",
                    "strict": True,
                    "schema": {"type": "object", "properties": {"c": {"type": "string"}}},
                }
            }
        ),
    ),
    clause("openai-responses", "temperature 3", "range", respond(temperature=3)),
    clause(
        "openai-responses",
        "input_file audio",
        "content-source",
        respond(
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_file",
                        "filename": "a.mp3",
                        "file_data": "data:audio/mpeg;base64,SUQz",
                    }
                ],
            }
        ),
    ),
    clause(
        "gemini",
        "two data",
        "part-data",
        generate(
            content("user", {"text": "x", "inlineData": {"mimeType": "image/png", "data": PNG}})
        ),
    ),
    clause(
        "gemini",
        "response in model",
        "part-role",
        generate(GEMINI_HELLO, content("model", responding()), GEMINI_HELLO),
    ),
    clause(
        "gemini",
        "response alone 3.6",
        "response-alone",
        generate(
            GEMINI_HELLO,
            content("model", calling(thoughtSignature="eA==")),
            content("user", responding(), {"text": "x"}),
        ),
        model="gemini-3.6-flash",
    ),
    clause(
        "gemini",
        "second step unsigned",
        "thought-signature",
        generate(
            GEMINI_HELLO,
            content("model", calling(thoughtSignature="eA==")),
            content("user", responding()),
            content("model", calling()),
            content("user", responding()),
        ),
        model="gemini-3-pro",
    ),
    clause("gemini", "name 129", "function-name", declaring({"name": "x" * 129})),
    clause(
        "gemini",
        "type list",
        "schema",
        declaring(
            {
                "name": "f",
                "parameters": {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
            }
        ),
    ),
    clause(
        "gemini",
        "enum empty",
        "schema",
        declaring(
            {
                "name": "f",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "a": {
                            "type": "string",
                            "enum": [
                                "",
                            ],
                        }
                    },
                },
            }
        ),
    ),
    clause(
        "gemini",
        "required unknown",
        "schema",
        declaring(
            {
                "name": "f",
                "parameters": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}},
                    "required": ["b"],
                },
            }
        ),
    ),
    clause(
        "gemini",
        "responseSchema bad",
        "schema",
        generate(
            generationConfig={
                "responseMimeType": "application/json",
                "responseSchema": {"type": "object", "additionalProperties": False},
            }
        ),
    ),
    clause(
        "gemini",
        "response schema decl bad",
        "schema",
        declaring({"name": "f", "response": {"type": "object", "additionalProperties": False}}),
    ),
    clause(
        "gemini",
        "exclusive",
        "schema-exclusive",
        declaring(
            {
                "name": "f",
                "parameters": {"type": "object"},
                "parametersJsonSchema": {"type": "object"},
            }
        ),
    ),
    clause(
        "gemini",
        "exclusive response",
        "schema-exclusive",
        declaring(
            {"name": "f", "response": {"type": "object"}, "responseJsonSchema": {"type": "object"}}
        ),
    ),
    clause(
        "gemini",
        "allowed with AUTO",
        "tool-config",
        declaring(
            {"name": "f"},
            toolConfig={"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}},
        ),
    ),
    clause(
        "gemini",
        "allowed unknown",
        "tool-config",
        declaring(
            {"name": "f"},
            toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["z"]}},
        ),
    ),
    clause(
        "gemini",
        "combination 2.5",
        "tool-combination",
        generate(tools=[{"googleSearch": {}}, {"functionDeclarations": [{"name": "f"}]}]),
    ),
    clause(
        "gemini",
        "combination 3 no flag",
        "tool-combination",
        generate(tools=[{"googleSearch": {}}, {"functionDeclarations": [{"name": "f"}]}]),
        model="gemini-3-pro",
    ),
    clause(
        "gemini",
        "cached with system",
        "cached-content",
        generate(cachedContent="cachedContents/1", systemInstruction={"parts": [{"text": "x"}]}),
    ),
    clause(
        "gemini",
        "schema without mime",
        "response-format",
        generate(generationConfig={"responseSchema": {"type": "object"}}),
    ),
    clause(
        "gemini",
        "jsonschema without mime",
        "response-format",
        generate(generationConfig={"responseJsonSchema": {"type": "object"}}),
    ),
    clause(
        "gemini",
        "level on 2.5",
        "thinking",
        generate(generationConfig={"thinkingConfig": {"thinkingLevel": "high"}}),
    ),
    clause(
        "gemini",
        "budget on 4",
        "thinking",
        generate(generationConfig={"thinkingConfig": {"thinkingBudget": 100}}),
        model="gemini-4-argon",
    ),
    clause(
        "gemini",
        "both level and budget",
        "thinking",
        generate(
            generationConfig={"thinkingConfig": {"thinkingBudget": 100, "thinkingLevel": "high"}}
        ),
        model="gemini-3-pro",
    ),
    clause("gemini", "topP", "range", generate(generationConfig={"topP": 2})),
    clause(
        "gemini",
        "inline no mime",
        "inline-data",
        generate(content("user", {"inlineData": {"data": PNG}})),
    ),
    clause(
        "gemini",
        "file no uri",
        "file-data",
        generate(content("user", {"fileData": {"mimeType": "image/png"}})),
    ),
    clause(
        "gemini",
        "id mismatch",
        "response-match",
        generate(
            GEMINI_HELLO,
            content("model", {"functionCall": {"name": "f", "args": {}, "id": "1"}}),
            content("user", {"functionResponse": {"name": "f", "response": {}, "id": "2"}}),
        ),
    ),
]


@pytest.mark.parametrize(("target", "rules", "body", "options"), CLAUSES)
def test_a_body_that_breaks_a_clause_is_refused_by_its_rule(
    target: Target, rules: set[str], body: Body, options: Body
) -> None:
    found = {fault.rule.partition("/")[2] for fault in check_payload(target, body, **options)}
    assert found == rules
