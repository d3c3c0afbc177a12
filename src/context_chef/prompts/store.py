"""The store as the model is told about it: the standing instruction and the tool definitions.

Everything here is fixed text: no address, key or time of a session enters it.
"""

from __future__ import annotations

from typing import Final

UNIFIED_STORE_INSTRUCTION: Final = (
    "You have a store outside this window, addressed as context://<namespace>/<path>:\n"
    "- memory/ is durable: shown to you automatically, kept across conversations.\n"
    "- notes/ is your scratchpad: read on demand, survives a context reset.\n"
    "- vfs/ holds oversized tool output, read-only.\n"
    "Use the `context` tool: view, create, str_replace, insert, delete, rename, search. "
    "`new_context`, where you have it, starts a fresh window; write down in notes/ what you will "
    "need there first. In the memory block &lt; and &amp; stand for < and &."
)

CONTEXT_DESCRIPTION: Final = (
    "Read and write texts that are kept outside the context window. Each has an address "
    "`context://<namespace>/<path>`; the `context://` may be left out.\n"
    "- `memory/`: durable facts. They are shown to you every turn and kept across conversations.\n"
    "- `notes/`: your own scratchpad. It survives a context reset and is read only when you view "
    "it.\n"
    "- `vfs/`: tool output that was too large to show, at the address its marker cites. A "
    "compacted span of the conversation is readable at the address that its summary cites.\n"
    "Except for memory, nothing is in your window until you view it. A namespace root such as "
    "`notes/` is a directory; viewing it lists what is inside.\n"
    "memory and notes can be written; other namespaces are read-only unless the host allows more. "
    "A mistake comes back as a text beginning with `Error:` that says how to do it right; read it "
    "and correct the call."
)
CONTEXT_PROPERTIES: Final = {
    "command": (
        "view: show an entry, or list a directory. "
        "create: write a new entry; fails if it exists. "
        "str_replace: change one passage; fails unless old_str occurs exactly once. "
        "insert: add lines at a position; fails outside the entry. "
        "delete: remove an entry; fails if there is none. "
        "rename: move an entry within its namespace; fails if the target exists. "
        "search: find entries by what they say."
    ),
    "path": (
        "Address of the entry, such as `notes/plan.md` or `context://vfs/vfs_1a2b.txt`. A "
        "trailing slash makes it a directory: `notes/`. For view, a line range may follow: "
        "`notes/plan.md#L20-L80`. For search, where to look; every address that begins like this "
        "is searched."
    ),
    "file_text": "For create: the full content.",
    "old_str": "For str_replace: the passage to replace, exactly as stored. It must be unique.",
    "new_str": "For str_replace: what to put in its place. Left out, the passage is deleted.",
    "insert_line": (
        "For insert: how many lines stay above the new text. 0 puts it first, the number of lines "
        "in the entry puts it last."
    ),
    "insert_text": "For insert: the text to add.",
    "new_path": "For rename: the new address, in the same namespace, where nothing is yet.",
    "query": "For search: the words to look for.",
    "description": ("For create under memory/ only: what the fact is for, and when to consult it."),
}

NEW_CONTEXT_DESCRIPTION: Final = (
    "Start a new context window. Takes no arguments. Older conversation is compressed or archived "
    "as configured; files, processes and other tool state stay as they are. Use it when a task is "
    "finished and the next one does not need this conversation, or when the window is full of "
    "what no longer matters. Save what you still need in the store first."
)
NEW_CONTEXT_ANSWER: Final = (
    "A new context window starts with the next turn. What you wrote to the store stays readable."
)

RECALL_DESCRIPTION: Final = (
    "Fetch the full content behind a `context://` address that the conversation cites: an "
    "offloaded tool output or an archived span. Use it when the details beyond the preview matter."
)
RECALL_URI: Final = (
    "The cited address, such as `context://vfs/vfs_1a2b.txt`; a line range may follow: `#L1-L200`."
)
