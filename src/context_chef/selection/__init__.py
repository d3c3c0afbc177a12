"""① What goes into the window: counting, budget, overflow strategies, and which tools are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_chef.prompts.handoff import render_handoff_notice
    from context_chef.selection.breaker import Breaker
    from context_chef.selection.clearing import ClearTarget, ToolResultClearing, compact_messages
    from context_chef.selection.counting import (
        Counter,
        MessageCounter,
        TokenizerLike,
        resolve_tokenizer,
        text_tokenizer,
    )
    from context_chef.selection.durable import (
        CompactionPlan,
        compact_history,
        compact_history_sync,
        plan_compaction,
        summarize_history,
        summarize_history_sync,
    )
    from context_chef.selection.exact import ExactTokenizer, exact_tokenizer
    from context_chef.selection.flatten import flatten_for_compression
    from context_chef.selection.gate import ToolVerdict
    from context_chef.selection.janitor import Janitor
    from context_chef.selection.janitor_config import (
        CompressionModel,
        CompressionOptions,
        HandoffConfig,
        JanitorConfig,
        OverflowConfig,
        validate_handoff_config,
    )
    from context_chef.selection.janitor_state import JanitorState
    from context_chef.selection.janitor_turn import JanitorTurn
    from context_chef.selection.media_cost import image_tokens, media_tokens
    from context_chef.selection.overflow_pass import BeforeCompress, CompressDetails
    from context_chef.selection.pool import (
        CompressTuning,
        JanitorPool,
        JanitorPoolConfig,
        SessionPool,
        create_janitor_pool,
        dedupe_construction_warnings,
        normalize_session_key,
    )
    from context_chef.selection.prune_rules import PrunedTools
    from context_chef.selection.pruner import Pruner, PrunerConfig
    from context_chef.selection.resolve import resolve_overflow_strategy
    from context_chef.selection.strategies.anchored import Anchored, anchored
    from context_chef.selection.strategies.background import Background, background
    from context_chef.selection.strategies.chain import Chain, chain
    from context_chef.selection.strategies.clear import Clear, clear
    from context_chef.selection.strategies.reset import Reset, reset
    from context_chef.selection.strategies.server import (
        Server,
        ServerFields,
        anthropic_server_context_management,
        is_server_strategy,
        server,
    )
    from context_chef.selection.strategies.summarize import Summarize, summarize
    from context_chef.selection.strategy import OverflowStrategy, Runner
    from context_chef.selection.summary import CompressionCheck
    from context_chef.selection.summary_message import render_summary_message
    from context_chef.selection.tool_groups import ToolGroup
    from context_chef.selection.tool_selector import select_tools, select_tools_sync
else:
    from context_chef.on_demand import on_demand

    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "context_chef.prompts.handoff": ("render_handoff_notice",),
            "strategies.anchored": ("Anchored", "anchored"),
            "strategies.background": ("Background", "background"),
            "breaker": ("Breaker",),
            "strategies.chain": ("Chain", "chain"),
            "strategies.clear": ("Clear", "clear"),
            "clearing": ("ClearTarget", "ToolResultClearing", "compact_messages"),
            "counting": (
                "Counter",
                "MessageCounter",
                "TokenizerLike",
                "resolve_tokenizer",
                "text_tokenizer",
            ),
            "durable": (
                "CompactionPlan",
                "compact_history",
                "compact_history_sync",
                "plan_compaction",
                "summarize_history",
                "summarize_history_sync",
            ),
            "exact": ("ExactTokenizer", "exact_tokenizer"),
            "flatten": ("flatten_for_compression",),
            "gate": ("ToolVerdict",),
            "janitor": ("Janitor",),
            "janitor_config": (
                "CompressionModel",
                "CompressionOptions",
                "HandoffConfig",
                "JanitorConfig",
                "OverflowConfig",
                "validate_handoff_config",
            ),
            "janitor_state": ("JanitorState",),
            "janitor_turn": ("JanitorTurn",),
            "media_cost": ("image_tokens", "media_tokens"),
            "overflow_pass": ("BeforeCompress", "CompressDetails"),
            "pool": (
                "CompressTuning",
                "JanitorPool",
                "JanitorPoolConfig",
                "SessionPool",
                "create_janitor_pool",
                "dedupe_construction_warnings",
                "normalize_session_key",
            ),
            "prune_rules": ("PrunedTools",),
            "pruner": ("Pruner", "PrunerConfig"),
            "strategies.reset": ("Reset", "reset"),
            "resolve": ("resolve_overflow_strategy",),
            "strategies.server": (
                "Server",
                "ServerFields",
                "anthropic_server_context_management",
                "is_server_strategy",
                "server",
            ),
            "strategy": ("OverflowStrategy", "Runner"),
            "strategies.summarize": ("Summarize", "summarize"),
            "summary": ("CompressionCheck",),
            "summary_message": ("render_summary_message",),
            "tool_groups": ("ToolGroup",),
            "tool_selector": ("select_tools", "select_tools_sync"),
        },
    )

__all__ = [
    "Anchored",
    "Background",
    "BeforeCompress",
    "Breaker",
    "Chain",
    "Clear",
    "ClearTarget",
    "CompactionPlan",
    "CompressDetails",
    "CompressTuning",
    "CompressionCheck",
    "CompressionModel",
    "CompressionOptions",
    "Counter",
    "ExactTokenizer",
    "HandoffConfig",
    "Janitor",
    "JanitorConfig",
    "JanitorPool",
    "JanitorPoolConfig",
    "JanitorState",
    "JanitorTurn",
    "MessageCounter",
    "OverflowConfig",
    "OverflowStrategy",
    "PrunedTools",
    "Pruner",
    "PrunerConfig",
    "Reset",
    "Runner",
    "Server",
    "ServerFields",
    "SessionPool",
    "Summarize",
    "TokenizerLike",
    "ToolGroup",
    "ToolResultClearing",
    "ToolVerdict",
    "anchored",
    "anthropic_server_context_management",
    "background",
    "chain",
    "clear",
    "compact_history",
    "compact_history_sync",
    "compact_messages",
    "create_janitor_pool",
    "dedupe_construction_warnings",
    "exact_tokenizer",
    "flatten_for_compression",
    "image_tokens",
    "is_server_strategy",
    "media_tokens",
    "normalize_session_key",
    "plan_compaction",
    "render_handoff_notice",
    "render_summary_message",
    "reset",
    "resolve_overflow_strategy",
    "resolve_tokenizer",
    "select_tools",
    "select_tools_sync",
    "server",
    "summarize",
    "summarize_history",
    "summarize_history_sync",
    "text_tokenizer",
    "validate_handoff_config",
]
