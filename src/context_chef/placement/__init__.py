"""② Where in the window it goes."""

from context_chef.placement.announcements import Announcement
from context_chef.placement.cache import (
    CacheIssue,
    audit_anthropic_cache_placement,
    audit_breakpoints,
)
from context_chef.placement.dynamic_state import DynamicState, dynamic_state
from context_chef.placement.guardrails import EnforceXML, Guardrail, Guardrails
from context_chef.placement.skill_files import (
    LoadedSkills,
    load_skill,
    load_skills_dir,
    load_skills_dirs,
)
from context_chef.placement.skill_render import format_skill_listing, render_skill
from context_chef.placement.skills import Skill

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
