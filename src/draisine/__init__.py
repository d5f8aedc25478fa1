"""draisine: constrained mechanical systems, from a description to certified equations, compiled code and motion.

    >>> import draisine as dr
    >>> bike = dr.gallery.bicycle()
    >>> run = dr.simulate(bike, 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    >>> print(run.status)
    FINISHED: reached t = 1 s

Names are loaded when first used, so that `import draisine` itself costs little; `__init__.pyi` lists them.
"""

from __future__ import annotations

import gc
import os
import sys

try:
    from typing import Any

    import lazy_loader

    _load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
except KeyboardInterrupt:
    # the command `draisine` imports the package before its own code can catch an interruption (130: cli/terminal.py)
    if sys.argv[:1] != ["-m"] and os.path.basename(*sys.argv[:1] or [""]) != "draisine":
        raise
    os.write(2, b"interrupted\n")
    os._exit(130)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("draisine")
    collects, modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        return _load(name)
    except AttributeError:
        if name.startswith("__") or name in __all__:
            raise
        import difflib  # only for the message

        near = difflib.get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'draisine' has no attribute {name!r}{hint}") from None
    finally:
        # What modules define lives until the end: looking for garbage among it takes a tenth of their loading. It becomes old at
        # once, as if it had been looked through. What a program froze stays frozen.
        if len(sys.modules) > modules and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if collects:
            gc.enable()
