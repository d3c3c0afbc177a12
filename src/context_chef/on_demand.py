"""The public names of a package, each loaded from where it lives when it is first asked for.

Loading what is not used would cost every program that imports us. A name must not be called like a
module of its package: once that module is loaded, Python answers the module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def on_demand(
    package: str, names_of: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of that package; `names_of` tells what is in which module of it.

    A module that stands elsewhere is named from the root, with a leading `context_chef.`.
    """
    home = {name: module for module, names in names_of.items() for name in names}
    namespace = vars(sys.modules[package])

    def __getattr__(name: str) -> object:
        module = home.get(name)
        if module is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        place = module if module.startswith("context_chef.") else f"{package}.{module}"
        value: object = getattr(import_module(place), name)
        namespace[name] = value  # asked once
        return value

    def __dir__() -> list[str]:
        return sorted({*namespace, *home})

    return __getattr__, __dir__
