"""Everything that the package raises on purpose: one tree, whose root is `DraisineError`. As a user sees it: `dr.errors`.

    DraisineError
    ├ ModelError             a description is wrong, or cannot be used for what is asked     (a ValueError)
    ├ ExpressionError        a text is no expression, or cannot be translated                (a ValueError)
    ├ UnitError              a text is no unit, or the unit does not fit                     (a ValueError)
    ├ ArgumentError          an argument of a function or method is wrong                    (a ValueError and a TypeError)
    ├ UnknownNameError       a result, table or gallery has nothing of this name             (a KeyError)
    ├ DataError              a file is wrong: measurements, study, stored result, mesh       (a ValueError)
    ├ StartError             no start fulfills all constraints and initial conditions        (a ValueError)
    ├ SimulationError        a run could not be carried out                                  (a RuntimeError)
    ├ SolverError            a search found no solution                                      (a RuntimeError)
    ├ ExportError            a program cannot be written in the language asked for           (a ValueError)
    ├ CompilationError       generated code was refused by the compiler                      (a RuntimeError)
    ├ DependencyError        a Python package is missing                                     (an ImportError)
    └ ToolError              a program outside of Python is missing or failed                (an OSError)

Each is also of the standard type in brackets, so that code which knows nothing of the package catches what it expects. A
message names the thing, the cause and the cure; for files it begins with the file and the line, `bike.toml, line 12: …`. Files
that do not exist, or cannot be written, raise the standard `FileNotFoundError` and `OSError`; `read_model`, which raises
`ModelError` only, is the exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CompilationError",
    "DataError",
    "DependencyError",
    "DraisineError",
    "ExportError",
    "ExpressionError",
    "ModelError",
    "SimulationError",
    "SolverError",
    "StartError",
    "ToolError",
    "UnitError",
    "UnknownNameError",
]


class DraisineError(Exception):
    """The root of all errors of the package."""


class ModelError(DraisineError, ValueError):
    """A description is wrong, or a model cannot be used for what is asked; the message names the item and the cure."""


class ExpressionError(DraisineError, ValueError):
    """A text that is no expression, or an expression without a counterpart where it is to be translated to."""


class UnitError(DraisineError, ValueError):
    """A text that is no unit, or a unit that does not fit; the message names the slot and a unit that would."""


class ArgumentError(DraisineError, ValueError, TypeError):
    """An argument of a function or method is wrong: its type, its value, or a name in it that the model does not have."""


class UnknownNameError(DraisineError, KeyError):
    """A name that a result or a table does not have; the message offers the nearest ones."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0]) if self.args else ""


class DataError(DraisineError, ValueError):
    """A file is wrong: measurements, a study, a stored result, a mesh; the message names the file, the line and the cure."""


class StartError(DraisineError, ValueError):
    """No start fulfills all constraints and initial conditions.

    - `conflict`: of which kind; `level`: "position" or "velocity".
    - `wishes`: those that cannot be together, none of which could be spared; `constraints`: those that they meet.
    - `nearest`: for wishes by name, the value closest to the one wished for that would do if that wish alone were changed.
    - `leftover`: residuals by name where the search came to its end.
    """

    def __init__(
        self,
        message: str,
        conflict: Any = None,
        level: str = "position",
        targets: tuple[str, ...] = (),
        constraints: tuple[str, ...] = (),
        nearest: Mapping[str, float] | None = None,
        leftover: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(message)
        self.conflict = conflict
        self.level = level
        self.targets = targets
        self.constraints = constraints
        self.nearest = dict(nearest or {})
        self.leftover = dict(leftover or {})


class SimulationError(DraisineError, RuntimeError):
    """A run could not be carried out: a control gave no numbers, or a worker process was lost."""


class SolverError(DraisineError, RuntimeError):
    """A search found no solution.

    - `nearest`: where the search ended, if that is known: (x, u, p) of steady motions, the last shot of periodic ones;
      `residual`: what should vanish there.
    - `mode`: of designs, the mode of motion that no input reaches.
    - `exists`: descriptions of solutions that do exist nearby. They are looked for when they are read, or the message is.
    """

    def __init__(
        self,
        message: str,
        *,
        nearest: Any = None,
        residual: float = float("nan"),
        mode: Any = None,
        cure: str = "",
        others: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.residual = residual
        self.mode = mode
        self._cure = cure
        self._others = others

    @cached_property
    def exists(self) -> tuple[str, ...]:
        """Solutions that exist nearby, in words."""
        return tuple(self._others())

    def __str__(self) -> str:
        if self.exists:
            return f"{super().__str__()}; there is one {', or '.join(self.exists)}"
        return f"{super().__str__()}; {self._cure}" if self._cure else super().__str__()

    def __reduce__(self) -> tuple[Any, ...]:
        # the search for others is a closure over equations: its answer goes to other processes, not the search
        kept = {"nearest": self.nearest, "residual": self.residual, "mode": self.mode, "_cure": self._cure, "exists": self.exists}
        return type(self), self.args, kept


class ExportError(DraisineError, ValueError):
    """A program cannot be written in the language asked for, or there is no such language; the message says what to do."""


class CompilationError(DraisineError, RuntimeError):
    """Generated code was refused; this is a fault of the maker of the code, not of the user's model."""


class DependencyError(DraisineError, ImportError):
    """A Python package that is needed is not installed; the message says which and how to install it."""


def needed(module: str, purpose: str, install: str = "") -> Any:
    """A module of a library that only some features need, or a `DependencyError` that says what it is for and how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        cure = install or module.partition(".")[0]
        raise DependencyError(
            f"{purpose} needs {cure}, which is not available ({error}); install it: pip install {cure}"
        ) from error


class ToolError(DraisineError, OSError):
    """A program outside of Python (LaTeX, a browser, ffmpeg) is missing or failed; the message says what to do instead."""


class CacheWarning(RuntimeWarning):
    """The cache of compiled code cannot be used as it stands; work goes on without it, only slower."""


# Signals between the parts of a derivation, which tries another formulation then; where none is left they are errors.


class NotRecursive(ModelError):
    """Why a mechanism cannot be treated body by body."""


class MasslessVelocity(ModelError):
    """A velocity that moves no mass."""

    def __init__(self, velocity: str) -> None:
        super().__init__(velocity)
        self.velocity = velocity
