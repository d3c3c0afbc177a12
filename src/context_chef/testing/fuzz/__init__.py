"""Random sessions through a chef, judged request by request and as sessions.

`python -m context_chef.testing.fuzz --seconds 60 --seed 1` plays them; see `--help`.
"""

from __future__ import annotations

from context_chef.testing.fuzz.checkers import Checker, Judge, Problem, Sent, load_checker
from context_chef.testing.fuzz.playing import Played, play
from context_chef.testing.fuzz.recipe import Recipe, make_recipe

__all__ = [
    "Checker",
    "Judge",
    "Played",
    "Problem",
    "Recipe",
    "Sent",
    "load_checker",
    "make_recipe",
    "play",
]
