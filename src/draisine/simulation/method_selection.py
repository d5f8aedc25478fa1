"""Which method a run gets, and the account it gives of that: what was asked for, what was chosen, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from draisine.errors import ArgumentError
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import Auto, Method
from draisine.simulation.methods.sundials import CVODE, IDA
from draisine.simulation.methods.tableau import SteppingMethod

# methods for 0 = F(t, x, ẋ), by index
FOR_IMPLICIT = {1: "Radau, ESDIRK23, Gauss, IDA or Auto", 2: "Radau, ESDIRK23 or Auto", 3: "Radau or Auto"}


class Chosen(NamedTuple):
    """A method to step with, why, and what to turn to if the equations prove stiff."""

    method: SteppingMethod
    reason: str  # "" if it was asked for by name
    if_stiff: SteppingMethod | None = None

    @property
    def account(self) -> str:
        return f"{title(self.method)}: {self.reason}" if self.reason else f"{title(self.method)}, as asked for"


def choose(method: Method | None, equations: Equations) -> Chosen:
    """The method for these equations; ValueError if the one asked for cannot solve them."""
    dynamics = equations.dynamics
    if method is not None and (isinstance(method, type) or not (hasattr(method, "scheme") or isinstance(method, Auto))):
        raise ArgumentError(
            f"method={method!r} is no method; give an object such as DOP853(), RK4(step=0.01), Radau(), Gauss(), ESDIRK23(), "
            "CVODE(), IDA() or Auto()"
        )
    if method is None or isinstance(method, Auto):
        auto = method if method is not None else Auto()
        if isinstance(dynamics, DaeResidual):
            return Chosen(auto.implicit, f"the equations are given as 0 = F(t, x, ẋ), {_makeup(dynamics)}")
        return Chosen(auto.explicit, "the equations give ẋ = f, and did not prove stiff", auto.implicit)
    if isinstance(dynamics, DaeResidual):
        _check_fit(method, equations.name, dynamics)
    return Chosen(method, "")


def _check_fit(method: SteppingMethod, system: str, dynamics: DaeResidual) -> None:
    name, index = type(method).__name__, max(dynamics.index, default=1)
    if not method.implicit:
        raise ArgumentError(
            f"{system} is given as 0 = F(t, x, ẋ), {_makeup(dynamics)}; {name} needs ẋ = f. Methods that work are "
            f"{FOR_IMPLICIT[index]}"
        )
    highest = getattr(method, "highest_index", 3)
    if index > highest:
        raise ArgumentError(
            f"{system} has unknowns of index {index}; {name} takes index {highest} at most. Radau takes index 3; or reduce the "
            "index first (reduce_index)"
        )


def watches_stiffness(method: SteppingMethod) -> bool:
    """Whether steps can be told to be limited by stability: the test is made for the stages of DOP853."""
    return isinstance(method, DOP853)


def check_tolerance(method: SteppingMethod, equations: Equations) -> None:
    """Refuse absolute tolerances that are neither one nor one per state."""
    count = np.asarray(getattr(method, "atol", 0.0)).size
    if count not in (1, len(equations.states)):
        names = ", ".join(q.name for q in equations.states)
        raise ArgumentError(f"{equations.name}: atol has {count} numbers; give one, or one for each of {names}")


def projection_threshold(method: SteppingMethod) -> float:
    """Residuals are let grow to a tenth of the tolerance before the state is moved back onto the constraints.

    A multistep method forgets its past when the state is moved, so that it had better be seldom.
    """
    if not method.adaptive:
        return 1e-11
    share = 100.0 if isinstance(method, CVODE | IDA) else 0.1
    return share * (float(getattr(method, "rtol", 0.0)) + float(np.min(getattr(method, "atol", 0.0))))


def title(method: SteppingMethod) -> str:
    """A method as it is spoken of."""
    name, step = type(method).__name__, getattr(method, "step", None)
    words = f"{name} of order {method.order}" if hasattr(method, "stages") else name
    return f"{words} with a fixed step" if step is not None else words


def _makeup(form: DaeResidual) -> str:
    algebraic = [label for label, d in zip(_labels(form), form.differential, strict=True) if not d]
    index = max(form.index, default=1)
    if not algebraic:
        return "all of its unknowns differential"
    some = f"with {', '.join(algebraic[:4])}{', …' if len(algebraic) > 4 else ''} algebraic"
    return some if index == 1 else f"{some} and an index of {index}"


def _labels(form: DaeResidual) -> tuple[str, ...]:
    slot = form.residual.input("x")
    return slot.labels or tuple(f"unknown {i + 1}" for i in range(slot.size))
