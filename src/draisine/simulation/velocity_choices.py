"""Compiled equations, and the other choices of independent velocities a run may switch to.

Equations of a choice are made when it is first looked at and compiled when it is first used; both are kept, so that
switching back is free, within a run and from one run to the next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import HoistedKernel, Kernel, compile, compile_hoisted
from draisine.errors import ArgumentError
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.simulation.compiled_equations import CompiledForm, compile_form
from draisine.simulation.stepper.memory import Kernels

if TYPE_CHECKING:
    from draisine.simulation.initial_rates import DerivativeArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CompiledEquations:
    """The kernels that a run of these equations calls. Those of implicit methods are made when one is first used."""

    equations: Equations
    dynamics: HoistedKernel | None  # of ẋ = f
    project: Kernel | None
    monitor: Kernel | None
    events: Kernel | None

    @cached_property
    def form(self) -> CompiledForm:
        """The dynamics as 0 = F(t, x, ẋ, u, p)."""
        return compile_form(self.equations.dynamics)

    @cached_property
    def derivatives(self) -> DerivativeArray:
        """For starts of equations of higher index, which few runs have: what solves them is loaded here."""
        from draisine.simulation.initial_rates import DerivativeArray

        return DerivativeArray(self.form.form)

    def kernels(self, control: int = 0, implicit: bool = False) -> Kernels:
        def address(kernel: Kernel | HoistedKernel | None) -> int:
            return 0 if kernel is None else kernel.address

        return Kernels(
            address(self.dynamics),
            address(self.project),
            address(self.monitor),
            address(self.events),
            control,
            self.form if implicit else None,
            self.dynamics,
        )


@dataclass(frozen=True, eq=False)
class VelocityChoices:
    """One system with its choices of independent velocities, each derived and compiled when it is first asked for."""

    root: Equations
    _known: dict[tuple[str, ...], Equations] = field(default_factory=dict, init=False, repr=False)
    _ready: dict[tuple[str, ...], tuple[CompiledEquations, float]] = field(default_factory=dict, init=False, repr=False)

    @property
    def ready(self) -> dict[tuple[str, ...], CompiledEquations]:
        """The choices that are compiled so far."""
        return {choice: made for choice, (made, _) in self._ready.items()}

    @property
    def seconds(self) -> float:
        """Spent on compiling so far."""
        return sum(seconds for _, seconds in self._ready.values())

    def equations(self, choice: tuple[str, ...]) -> Equations:
        """The equations of a choice."""
        if choice == self.root.independent:
            return self.root
        if choice not in self._known:
            if self.root.with_independent is None:
                raise ArgumentError(f"{self.root.name}: its velocities cannot be chosen anew, yet {', '.join(choice)} are wanted")
            self._known[choice] = self.root.with_independent(choice)
        return self._known[choice]

    def compiled(self, choice: tuple[str, ...]) -> CompiledEquations:
        """The kernels of a choice."""
        if choice not in self._ready:
            began = time.perf_counter()
            made = _compiled(self.equations(choice))
            self._ready[choice] = made, time.perf_counter() - began
        return self._ready[choice][0]

    def others(self, choice: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """The choices one may switch to."""
        if self.root.with_independent is None:
            return ()
        return tuple(c for c in dict.fromkeys((self.root.independent, *self.root.alternates)) if c != choice)

    def best_other(
        self, choice: tuple[str, ...], t: float, x: Reals, u: Reals, p: Reals
    ) -> tuple[tuple[str, ...], Reals, float] | None:
        """The choice with the lowest condition at a state, with the state in its terms; None if there is no other.

        The velocities are mapped exactly: the report gives all of them at the present state, and the others' are among them.
        """
        best: tuple[tuple[str, ...], Reals, float] | None = None
        for other in self.others(choice):
            mapped = self.equations(choice).translated(self.equations(other), t, x, u, p)
            monitor = self.equations(other).monitor
            condition = 1.0 if monitor is None else float(monitor([t], mapped, u, p)[0][0])
            if np.all(np.isfinite(mapped)) and np.isfinite(condition) and (best is None or condition < best[2]):
                best = (other, mapped, condition)
        return best


def _compiled(e: Equations) -> CompiledEquations:
    explicit = None if isinstance(e.dynamics, DaeResidual) else compile_hoisted(e.dynamics)
    others = [None if program is None else compile(program) for program in (e.project, e.monitor, e.events)]
    made = CompiledEquations(e, explicit, *others)
    if explicit is None:
        _ = made.form
    return made


@lru_cache(maxsize=64)
def _monitor(equations: Equations) -> Kernel:
    assert equations.monitor is not None
    return compile(equations.monitor)


def best_choice_for(
    equations: Equations, q: Reals, v: Reals, extra: Reals, others: tuple[float, Reals, Reals]
) -> tuple[Equations, Reals]:
    """The choice to begin with at a start given by all its velocities, and the state in its terms.

    The equations' own choice is kept unless it is ill conditioned there: a sled along x cannot be described by its
    velocity along y.
    """
    t, u, p = others
    names = [velocity.name for velocity in equations.velocities]

    def state(choice: tuple[str, ...]) -> Reals:
        return np.concatenate([q, [v[names.index(name)] for name in choice], extra])

    def condition(candidate: Equations) -> float:
        if candidate.monitor is None:
            return 1.0
        value = float(_monitor(candidate)([t], state(candidate.independent), u, p)[0][0])
        return value if np.isfinite(value) else np.inf

    best, lowest = equations, condition(equations)
    if lowest > equations.limits.condition and equations.with_independent is not None:
        for choice in equations.alternates:
            candidate = equations.with_independent(choice)
            if condition(candidate) < lowest:
                best, lowest = candidate, condition(candidate)
    return best, state(best.independent)


def prepare(equations: Equations) -> VelocityChoices:
    """Compile the equations for runs to come. `integrate` takes the result in place of the equations."""
    choices = VelocityChoices(equations)
    choices.compiled(equations.independent)
    return choices
