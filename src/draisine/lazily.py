"""Packages whose names are loaded when first used, so that a process loads what it needs and no more.

A package says in its `__init__.py` which module holds which names, and in a stub beside it (`__init__.pyi`) the same to type
checkers and editors; a test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(held: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The names of a table module → names, sorted."""
    return sorted(name for names in held.values() for name in names)


def loader(package: str, held: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: looks a name up in the module of the package that holds it, and keeps it.

    >>> from draisine import results
    >>> results.Group.__module__
    'draisine.results.channel'
    """
    home = {name: module for module, names in held.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"{package} has no {name!r}; it has {', '.join(sorted(home))}")
        found = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return load
