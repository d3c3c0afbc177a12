"""Settings become parts: every section may be its dataclass or an equal plain mapping."""

from context_chef.wiring.moments import SkillSource, branch, restore_parts, take_snapshot
from context_chef.wiring.options import ChefOptions
from context_chef.wiring.parts import Wiring
from context_chef.wiring.plain_settings import settings_of_file

__all__ = [
    "ChefOptions",
    "SkillSource",
    "Wiring",
    "branch",
    "restore_parts",
    "settings_of_file",
    "take_snapshot",
]
