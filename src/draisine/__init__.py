"""draisine: constrained mechanical systems, from a description to certified equations, compiled code and motion.

    >>> import draisine as dr
    >>> bike = dr.gallery.bicycle()
    >>> run = dr.simulate(bike, 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    >>> print(run.status)
    FINISHED: reached t = 1 s

Names are loaded when first used, so that `import draisine` itself costs little; `__init__.pyi` lists them.
"""

import _signal  # type: ignore[import-not-found]  # of the interpreter: `signal` takes a millisecond more, with a traceback
import os
import sys


def _leave(*_: object) -> None:
    """End as interrupted: status 130 (cli/terminal.py), without a traceback."""
    os.write(2, b"interrupted\n")
    os._exit(130)


def _is_command() -> bool:
    """Whether this process is the command `draisine` or `python -m draisine`, whose package is imported before its module."""
    if sys.argv[:1] != ["-m"]:
        return os.path.basename(*sys.argv[:1] or [""]) == "draisine"
    words = sys.orig_argv
    return "-m" in words and words[words.index("-m") + 1 :][:1] == ["draisine"]


# Until `__main__` runs the command; nothing of ours comes before this line.
if _is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _leave)

import gc  # noqa: E402
from typing import Any  # noqa: E402

import lazy_loader  # noqa: E402

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


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
