"""How an old name says the new one."""

from context_chef.errors import RenamedWarning

__all__ = ["RenamedWarning"]
