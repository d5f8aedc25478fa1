"""Exceptions and warnings of the package, public as `dr.errors`. All exceptions derive from `DraisineError`.

    DraisineError
    ├ ModelError             a model is wrong, or not suited for what is asked of it         (a ValueError)
    ├ ExpressionError        a text is not an expression, or cannot be translated            (a ValueError)
    ├ UnitError              a text is not a unit, or its dimension does not fit             (a ValueError)
    ├ ArgumentError          an argument of a function or method is wrong                    (a ValueError and a TypeError)
    ├ UnknownNameError       a result, table or gallery has no entry of this name            (a KeyError)
    ├ DataError              a file has wrong content: data, study, stored result, mesh      (a ValueError)
    ├ StartError             no state fulfills all constraints and initial conditions        (a ValueError)
    ├ SimulationError        a simulation could not be run                                   (a RuntimeError)
    ├ SolverError            a solver found no solution                                      (a RuntimeError)
    ├ ExportError            a program cannot be exported to the requested language          (a ValueError)
    ├ CompilationError       the compiler rejected generated code                            (a RuntimeError)
    ├ DependencyError        a Python package is missing                                     (an ImportError)
    └ ToolError              an external program is missing or failed                        (an OSError)

Each is also of the standard type in brackets, so that code written for the standard type catches it. A message names the item,
the cause and the remedy; for files it begins with the file and the line, `bike.toml, line 12: …`. Files that do not exist or
cannot be written raise the standard `FileNotFoundError` and `OSError`; `read_model` alone raises `ModelError` for these as well.
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
    """Base class of all exceptions of the package."""


class ModelError(DraisineError, ValueError):
    """A model is wrong, or not suited for what is asked of it; the message names the item and the remedy."""


class ExpressionError(DraisineError, ValueError):
    """A text is not an expression, or an expression has no counterpart in the target language."""


class UnitError(DraisineError, ValueError):
    """A text is not a unit, or its dimension does not fit; the message names the quantity and a unit that fits."""


class ArgumentError(DraisineError, ValueError, TypeError):
    """An argument of a function or method has a wrong type or value, or contains a name unknown to the model."""


class UnknownNameError(DraisineError, KeyError):
    """A result or table has no entry of this name; the message suggests similar names."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0]) if self.args else ""


class DataError(DraisineError, ValueError):
    """A file (measurements, study, stored result, mesh) has wrong content; the message names file, line and remedy."""


class StartError(DraisineError, ValueError):
    """No state fulfills all constraints and initial conditions.

    - `conflict`: its kind; `level`: "position" or "velocity".
    - `targets`: a minimal set of initial conditions that contradict each other; `constraints`: the constraints involved.
    - `nearest`: by initial condition, the nearest value that would be consistent if this condition alone were changed.
    - `leftover`: residuals by name at the last iterate.
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
    """A simulation could not be run: a control function returned no numbers, or a worker process was lost."""


class SolverError(DraisineError, RuntimeError):
    """A solver found no solution.

    - `nearest`: the last iterate, if known: (x, u, p) of steady motions, the last shooting iterate of periodic ones;
      `residual`: its residual.
    - `mode`: of control designs, the mode that no input reaches.
    - `exists`: descriptions of solutions that exist nearby; the search for them runs when `exists` or the message is first read.
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

    def reworded(self, change: Callable[[str], str], others: Callable[[str], str] = str) -> SolverError:
        """The same error with its message changed, and the descriptions of other solutions."""
        known = self._others
        return SolverError(
            change(str(self.args[0])),
            nearest=self.nearest,
            residual=self.residual,
            mode=self.mode,
            cure=self._cure,
            others=lambda: [others(text) for text in known()],
        )

    @cached_property
    def exists(self) -> tuple[str, ...]:
        """Descriptions of solutions that exist nearby."""
        return tuple(self._others())

    def __str__(self) -> str:
        if self.exists:
            return f"{super().__str__()}; there is one {', or '.join(self.exists)}"
        return f"{super().__str__()}; {self._cure}" if self._cure else super().__str__()

    def __reduce__(self) -> tuple[Any, ...]:
        # the search for others is a closure over equations and cannot be pickled; its result can
        kept = {"nearest": self.nearest, "residual": self.residual, "mode": self.mode, "_cure": self._cure, "exists": self.exists}
        return type(self), self.args, kept


class ExportError(DraisineError, ValueError):
    """A program cannot be exported to the requested language, or the language is unknown; the message names the remedy."""


class CompilationError(DraisineError, RuntimeError):
    """The compiler rejected generated code: a defect of draisine, not of the model."""


class ObjectCodeError(CompilationError):
    """Object code that the loader of stored code does not take, or memory that it is not given; LLVM's linker gets it."""


class DependencyError(DraisineError, ImportError):
    """A required Python package is not installed; the message names it and how to install it."""


def require(module: str, purpose: str, install: str = "") -> Any:
    """Import a module of an optional dependency; `DependencyError` names its purpose and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        cure = install or module.partition(".")[0]
        raise DependencyError(
            f"{purpose} needs {cure}, which is not available ({error}); install it: pip install {cure}"
        ) from error


class ToolError(DraisineError, OSError):
    """An external program (LaTeX, a browser, ffmpeg) is missing or failed; the message names the alternative."""


class CacheWarning(RuntimeWarning):
    """The cache of compiled code cannot be used; computations continue without it, more slowly."""


# Internal to derivations: they make the derivation try another formulation, and are errors where none is left.


class NotRecursive(ModelError):
    """The reason why the recursive formulation does not apply to a mechanism."""


class MasslessVelocity(ModelError):
    """A velocity without inertia: the mass matrix is singular in its direction."""

    def __init__(self, velocity: str) -> None:
        super().__init__(velocity)
        self.velocity = velocity
