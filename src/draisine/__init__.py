"""draisine: constrained mechanical systems, from a drawing to certified equations, compiled code and motion.

    >>> import draisine as dr
    >>> bike = dr.gallery.bicycle()
    >>> run = dr.simulate(bike, 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    >>> print(run.status)
    FINISHED: reached t = 1 s

Names are loaded when first used, so that `import draisine` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from draisine.lazily import loader, names_of
from draisine.names import FOLDERS, HELD

__all__ = sorted((*names_of(HELD), *FOLDERS))
_load = loader(__name__, HELD)


def __getattr__(name: str) -> Any:
    if name in FOLDERS:
        return import_module(f"draisine.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("draisine")
    return _load(name)


def __dir__() -> list[str]:
    return __all__
