"""Settings become parts: every section may be its dataclass or an equal plain mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_chef.wiring.moments import SkillSource, branch, restore_parts, take_snapshot
    from context_chef.wiring.options import ChefOptions
    from context_chef.wiring.parts import Wiring
    from context_chef.wiring.plain_settings import settings_of_file
else:
    from context_chef.on_demand import on_demand

    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "moments": ("SkillSource", "branch", "restore_parts", "take_snapshot"),
            "options": ("ChefOptions",),
            "parts": ("Wiring",),
            "plain_settings": ("settings_of_file",),
        },
    )

__all__ = [
    "ChefOptions",
    "SkillSource",
    "Wiring",
    "branch",
    "restore_parts",
    "settings_of_file",
    "take_snapshot",
]
