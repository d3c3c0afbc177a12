"""How the model reaches back: one tool over the store, and the names it had before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_chef.retrieval.context_tool import (
        CONTEXT_COMMANDS,
        CONTEXT_TOOL_NAMES,
        NATIVE_MEMORY_NAME,
        NATIVE_MEMORY_TYPE,
        get_context_tool_definition,
        get_native_memory_tool_definition,
        is_context_tool_name,
    )
    from context_chef.retrieval.dispatch import dispatch_context_tool, dispatch_context_tool_sync
    from context_chef.retrieval.host import ContextHost
    from context_chef.retrieval.new_context import get_new_context_tool_definition
    from context_chef.retrieval.policy import (
        ARCHIVE_NAMESPACE,
        DEFAULT_WRITABLE_NAMESPACES,
        MEMORY_NAMESPACE,
        NOTES_NAMESPACE,
        VFS_NAMESPACE,
        ContextToolConfig,
    )
    from context_chef.retrieval.recall import get_recall_tool_definition, render_recalled_content
else:
    from context_chef.on_demand import on_demand

    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "context_tool": (
                "CONTEXT_COMMANDS",
                "CONTEXT_TOOL_NAMES",
                "NATIVE_MEMORY_NAME",
                "NATIVE_MEMORY_TYPE",
                "get_context_tool_definition",
                "get_native_memory_tool_definition",
                "is_context_tool_name",
            ),
            "dispatch": ("dispatch_context_tool", "dispatch_context_tool_sync"),
            "host": ("ContextHost",),
            "new_context": ("get_new_context_tool_definition",),
            "policy": (
                "ARCHIVE_NAMESPACE",
                "DEFAULT_WRITABLE_NAMESPACES",
                "MEMORY_NAMESPACE",
                "NOTES_NAMESPACE",
                "VFS_NAMESPACE",
                "ContextToolConfig",
            ),
            "recall": ("get_recall_tool_definition", "render_recalled_content"),
        },
    )

__all__ = [
    "ARCHIVE_NAMESPACE",
    "CONTEXT_COMMANDS",
    "CONTEXT_TOOL_NAMES",
    "DEFAULT_WRITABLE_NAMESPACES",
    "MEMORY_NAMESPACE",
    "NATIVE_MEMORY_NAME",
    "NATIVE_MEMORY_TYPE",
    "NOTES_NAMESPACE",
    "VFS_NAMESPACE",
    "ContextHost",
    "ContextToolConfig",
    "dispatch_context_tool",
    "dispatch_context_tool_sync",
    "get_context_tool_definition",
    "get_native_memory_tool_definition",
    "get_new_context_tool_definition",
    "get_recall_tool_definition",
    "is_context_tool_name",
    "render_recalled_content",
]
