"""② Where in the window it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_chef.placement.announcements import Announcement
    from context_chef.placement.cache import (
        CacheIssue,
        audit_anthropic_cache_placement,
        audit_breakpoints,
    )
    from context_chef.placement.guardrails import EnforceXML, Guardrail, Guardrails
    from context_chef.placement.skill_files import (
        LoadedSkills,
        load_skill,
        load_skills_dir,
        load_skills_dirs,
    )
    from context_chef.placement.skill_render import format_skill_listing, render_skill
    from context_chef.placement.skills import Skill
    from context_chef.placement.state_block import DynamicState, dynamic_state
else:
    from context_chef.on_demand import on_demand

    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "announcements": ("Announcement",),
            "cache": ("CacheIssue", "audit_anthropic_cache_placement", "audit_breakpoints"),
            "state_block": ("DynamicState", "dynamic_state"),
            "guardrails": ("EnforceXML", "Guardrail", "Guardrails"),
            "skill_files": ("LoadedSkills", "load_skill", "load_skills_dir", "load_skills_dirs"),
            "skill_render": ("format_skill_listing", "render_skill"),
            "skills": ("Skill",),
        },
    )

__all__ = [
    "Announcement",
    "CacheIssue",
    "DynamicState",
    "EnforceXML",
    "Guardrail",
    "Guardrails",
    "LoadedSkills",
    "Skill",
    "audit_anthropic_cache_placement",
    "audit_breakpoints",
    "dynamic_state",
    "format_skill_listing",
    "load_skill",
    "load_skills_dir",
    "load_skills_dirs",
    "render_skill",
]
