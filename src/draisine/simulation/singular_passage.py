"""Passage of a singular position on the branch on which the motion arrives.

Where position constraints lose rank, as those of a parallelogram do when it is flat, branches of motion meet. Accelerations are
not determined there, and close to it residuals of size δ decide: their level set turns from one branch to another within a
distance of √δ. The motion itself is smooth on its branch. One collocation step leads across: its nodes lie on both sides of the
singular position, each is projected onto the constraints, and the polynomial through them continues the tangent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.runge_kutta import gauss_nodes, lagrange, runge_kutta_matrix
from draisine.program.equations import Equations
from draisine.simulation.methods.tableau import Advance, Scheme, nested_basis
from draisine.simulation.stepper.layout import PAUSED, Stepper
from draisine.simulation.stepper.memory import Memory

if TYPE_CHECKING:
    from draisine.simulation.compiled_equations import CompiledEquations

Reals = NDArray[np.float64]
Rates = Callable[[float, Reals], Reals]
Onto = Callable[[float, Reals], tuple[Reals, float]]  # one step of Newton's method onto the constraints, and the residual before
Condition = Callable[[float, Reals], float]

NODES = 6
# Lengths of the step in distances to the singular position that place it far from all nodes. The longest that serves is taken:
# rounding errors of rates grow with the square of the distance.
LENGTHS = (6000.0, 600.0, 200.0, 60.0, 20.0, 10.0, 3.6, 2.0)
ITERATIONS, PROJECTIONS = 40, 12
SETTLED, NOISE = 1e-2, 10.0  # changes of an iteration, in tolerated errors, at which it ends, and that it may leave
CLOSE, TIGHT = 0.2, 1e-13  # share of the limit of the condition from which on residuals are reduced, and to what
EXACT = 1e-15  # residual that is not reduced
ALIKE = 1e-2  # relative difference of rates, at the end of the step, from those that the polynomial continues
SINGULAR = 300.0  # growth of the condition within the step from which on its middle is a singular position
_EARLIER = 0.02  # of the last step: distance of the state from which the change of rates is known
_TERMS = NODES + 1


def has_loops(equations: Equations) -> bool:
    """Whether position constraints have rates and forces of their own, as loop closures do, so that branches may meet."""
    rates = {c.name for c in equations.constraints if c.level == "velocity"}
    return any(c.name in rates for c in equations.constraints if c.level == "position")


def set_limits(stepper: Stepper, equations: Equations) -> None:
    """Limits of the condition; loops are projected closely before a singular position is reached."""
    stepper.limit = stepper.usual_limit = equations.limits.condition
    loops = equations.monitor is not None and has_loops(equations) and not math.isinf(equations.limits.residual or 0.0)
    stepper.close = CLOSE * equations.limits.condition if loops else math.inf
    stepper.tight = TIGHT * max(1.0, equations.limits.length)


@dataclass(frozen=True)
class PassageStep:
    """A step across a singular position, as an integration method: the driver passes it to the stepping loop."""

    rtol: float
    atol: float
    max_steps: int
    order = 2 * NODES
    adaptive = True
    implicit = False
    scheme = Scheme(
        order=2 * NODES,
        history=1,
        stages=1,
        weights=np.zeros((2, 2)),
        nodes=np.zeros(2),
        dense=np.zeros((_TERMS - 3, 2)),
        external=True,
    )
    starter = scheme


class Passage(NamedTuple):
    """The step: its ends, the singular position between them, the last state, and the coefficients of its interpolant."""

    begin: float
    singular: float
    end: float
    first: Reals
    last: Reals
    dense: Reals  # (terms, states), as in `Stepper.dense`

    def record(self, memory: Memory, loop: Advance) -> int:
        """Pass the step to the loop, which looks for events and samples in it; return the loop's reason."""
        stepper = memory.stepper
        memory.state[:] = self.first
        stepper.limit = np.inf
        stepper.h, stepper.budget = 1.0, 0
        reason = loop(stepper)  # derivative and event values at the beginning
        if reason != PAUSED:
            return reason
        n = stepper.states
        stepper.new[:n], stepper.dense[:], stepper.budget = self.last, 0.0, 1
        stepper.dense[: len(self.dense), :n] = self.dense
        stepper.h, stepper.external_time = self.end - self.begin, self.end
        return loop(stepper)


class Motion(NamedTuple):
    """What is known about the motion: ẋ, the projection onto the constraints, and how far the position is from a singular one."""

    rates: Rates
    onto: Onto
    condition: Condition
    weights: Callable[[Reals], Reals]  # tolerated errors of the states
    residual: float  # tolerated residual between the ends of steps

    @staticmethod
    def of(compiled: CompiledEquations, stepper: Stepper, fixed: tuple[Reals, Reals, Reals], adaptive: bool) -> Motion:
        """The motion of equations whose positions are monitored and projected. `fixed` are the parameters that the kernel of the
        dynamics reads, the inputs, and the parameters that all others read. Evaluations of ẋ are counted in the stepper."""
        dynamics, project, monitor = compiled.dynamics, compiled.project, compiled.monitor
        assert dynamics is not None and project is not None and monitor is not None
        extended, u, p = fixed

        def rates(t: float, x: Reals) -> Reals:
            stepper.evaluations += 1
            return dynamics.kernel(t, x, u, extended)[0]

        def onto(t: float, x: Reals) -> tuple[Reals, float]:
            moved, residual = project(t, x, u, p)
            return moved, float(residual[0])

        def condition(t: float, x: Reals) -> float:
            return float(monitor(t, x, u, p)[0][0])

        def weights(x: Reals) -> Reals:
            if not adaptive:
                return np.full(len(x), 1e-9)
            # rounding errors of accelerations near the singular position do not allow less
            return np.maximum(stepper.rtol * np.abs(x) + stepper.atol, 1e-10 * (1.0 + np.abs(x)))

        return Motion(rates, onto, condition, weights, 100.0 * float(stepper.threshold))

    def projected(self, t: float, x: Reals) -> Reals:
        """The state on the constraints, as closely as rounding allows."""
        best, least, misses = x, np.inf, 0
        for _ in range(PROJECTIONS):
            following, residual = self.onto(t, x)
            if residual < least:
                best, least, misses = x, residual, 0
            else:
                misses += 1
            if residual <= EXACT or misses == 2 or not np.isfinite(following).all():
                break  # a step that brings positions closer may leave velocities farther off
            x = following
        return best

    def passage(self, t: float, x: Reals, step: float, end: float) -> Passage | None:
        """The step from a state across the singular position ahead; None where there is none before `end`, or where the motion
        is not smooth there. `step` is the length of the last step."""
        with np.errstate(all="ignore"):  # values that are not finite are compared, and found to be no passage
            x = self.projected(t, x)
            ahead = self._distance(t, x, step, end)
            if ahead is None:
                return None
            inside = [h for h in (length * ahead[0] for length in LENGTHS) if abs(end - t) >= abs(h)]
            beyond = [length * ahead[0] for length in reversed(LENGTHS[: len(LENGTHS) - len(inside)])]
            for h in (*inside, *(beyond if abs(end - t) > abs(ahead[0]) else ())):
                values = self._collocated(t, x, h, ahead[1])
                found = None if values is None else self._checked(t, x, h, ahead[0] / h, *values)
                if found is not None:
                    return found if h in inside else self._cut(found, end)
            return None

    def _cut(self, found: Passage, end: float) -> Passage | None:
        """A passage up to the end of a run: close behind a singular position, only longer steps are accurate enough."""
        if not abs(found.singular - found.begin) < abs(end - found.begin):
            return None
        share = (end - found.begin) / (found.end - found.begin)
        last, *states = (found.first + _basis(share * theta) @ found.dense for theta in (1.0, *_gauss()[0]))
        last = self.projected(end, last)
        dense = _terms() @ (np.vstack([*states, last]) - found.first)
        return Passage(found.begin, found.singular, end, found.first, last, dense)

    def _distance(self, t: float, x: Reals, step: float, end: float) -> tuple[float, tuple[Reals, Reals]] | None:
        """Time to the singular position, signed, and first and second derivatives of the state; None if it lies behind or beyond
        the end. The reciprocal of the condition vanishes there, nearly linearly."""
        sign = 1.0 if end >= t else -1.0
        back = -sign * _EARLIER * abs(step)
        rate = self.rates(t, x)
        earlier = self.projected(t + back, x + back * rate)
        second = (self.rates(t + back, earlier) - rate) / back
        near, far = 1.0 / self.condition(t, x), 1.0 / self.condition(t + back, earlier)
        slope = (far - near) / abs(back)
        if not (slope > 0.0 and np.isfinite(rate).all() and np.isfinite(second).all()):
            return None
        distance = sign * near / slope
        for share in (0.5, 0.75):
            part = share * distance
            there = self.projected(t + part, x + part * rate + part**2 / 2 * second)
            closer = 1.0 / self.condition(t + part, there)
            if not closer < near:
                return None
            distance = part * near / (near - closer)
        return (float(distance), (rate, second)) if t + 1e-3 * distance != t else None

    def _collocated(self, t: float, x: Reals, h: float, guess: tuple[Reals, Reals]) -> tuple[Reals, Reals] | None:
        """Projected states and rates at the nodes of a collocation step, by fixed-point iteration from a Taylor polynomial."""
        nodes, matrix, _ = _gauss()
        times = t + nodes * h
        ahead = (nodes * h)[:, None]
        states = x + ahead * guess[0] + ahead**2 / 2 * guess[1]
        rates = np.zeros_like(states)
        scale, before, last = self.weights(x), np.inf, np.inf  # changes of the last two iterations: they may alternate
        for _ in range(ITERATIONS):
            states = np.array([self.projected(*pair) for pair in zip(times, states, strict=True)])
            found = np.array([self.rates(*pair) for pair in zip(times, states, strict=True)])
            if not np.isfinite(found).all():
                return None
            change = float((np.abs(h * (found - rates)) / scale).max())
            rates = found
            if change < SETTLED:
                return states, rates
            if not change < 0.7 * before:
                return (states, rates) if change < NOISE else None
            before, last = last, change
            states = x + h * matrix @ rates
        return None

    def _checked(self, t: float, x: Reals, h: float, near: float, states: Reals, rates: Reals) -> Passage | None:
        """The passage, if its polynomial is that of a smooth motion through a singular position."""
        nodes, _, weights = _gauss()
        end = t + h
        last = self.projected(end, x + h * weights @ rates)
        continued = (lagrange(nodes, np.ones(1)) @ rates)[0]
        sizes = np.abs(rates).max(axis=0)
        if not (np.abs(self.rates(end, last) - continued) <= ALIKE * (sizes + 1e-6 * sizes.max())).all():
            return None
        if not (h * _remainder(nodes, rates) <= 10.0 * self.weights(x)).all():
            return None
        dense = _terms() @ (np.vstack([states, last]) - x)

        def inside(theta: float) -> Reals:
            return np.asarray(x + _basis(theta) @ dense)

        following = int(np.searchsorted(nodes, near))
        left, right = 0.0 if following == 0 else nodes[following - 1], nodes[following]
        for _ in range(4):  # the reciprocal of the condition has a corner where it vanishes
            a, b = (1.0 / self.condition(t + theta * h, inside(theta)) for theta in (left, right))
            middle = left + (right - left) * a / (a + b)
            left, right = (middle + side * 0.1 * (right - left) for side in (-1.0, 1.0))
        there = inside(middle)
        known = self.condition(t, x)
        if not self.condition(t + middle * h, there) > SINGULAR * known:
            return None  # the position is nearly singular only: steps of the method resolve it
        if not self.onto(t + middle * h, there)[1] <= self.residual:
            return None  # the branches do not meet
        return Passage(t, float(t + middle * h), end, x, last, dense)


@cache
def _gauss() -> tuple[Reals, Reals, Reals]:
    nodes = gauss_nodes(NODES)
    return nodes, *runge_kutta_matrix(nodes)


@cache
def _terms() -> Reals:
    """Coefficients of the nested interpolant from its values at the nodes and at the end."""
    return np.asarray(np.linalg.inv(np.array([_basis(theta) for theta in (*_gauss()[0], 1.0)])))


def _basis(theta: float) -> Reals:
    return np.array([np.polyval(p, theta) for p in nested_basis(_TERMS)])


def _remainder(nodes: Reals, rates: Reals) -> Reals:
    """What Gauss quadrature leaves out, from the decrease of the Legendre coefficients of the rates: it is exact up to degree
    2 n − 1, more than twice as high as the coefficients that are known."""
    basis = np.polynomial.legendre.legvander(2.0 * nodes - 1.0, len(nodes) - 1)
    sizes = np.abs(np.linalg.inv(basis) @ rates)
    ratio = sizes[-1] / np.maximum(sizes[-3:-1].max(axis=0), 1e-300)  # of two degrees, or of one
    return np.asarray(sizes[-1] * np.minimum(1.0, ratio) ** (len(nodes) // 2))
