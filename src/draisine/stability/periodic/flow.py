"""Where a motion leads, and where it leads named deviations: ∂ζ(x(t))/∂ζ(x(0)), by exact sensitivities.

Deviations are those of `stability.deviations`: they keep the constraints, and quaternions are told by heading, lean and pitch.
Coordinates on which nothing depends (the place along the track, angles of rotors) are left out: a motion is periodic though they
have moved on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError, UnknownNameError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.numerics.newton import Newton
from draisine.program.equations import Equations
from draisine.program.variational import Direction
from draisine.results.status import Ending
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import Method
from draisine.simulation.sensitivity import integrate_varied
from draisine.stability.deviations import Deviations, Naming, deviations_of
from draisine.stability.linearization import motion_at

Array = NDArray[np.float64]

FINE = DOP853(rtol=1e-11, atol=1e-13)
PROJECTION = Newton(tolerance=1e-15, max_iterations=6)  # back onto the constraints, by steps that the equations have


@dataclass(frozen=True, eq=False)
class Node:
    """A state on the constraints with what the flow from it needs."""

    x: Array
    values: Array  # ζ
    rates: Array  # ζ̇
    span: Array  # δx by deviations, (states, names)
    shift: Array  # δx by the parameter at fixed ζ, (states,); zero without one


@dataclass(frozen=True, eq=False)
class Passage:
    """From a node over some time: the end, and derivatives of its ζ by the deviations of the node and by the parameter."""

    end: Node
    matrix: Array  # (names, names)
    by_parameter: Array  # (names,)


@dataclass(frozen=True, eq=False)
class Flow:
    """Named deviations and how they are carried along. `parameter` may be varied as well."""

    equations: Equations
    naming: Naming
    names: tuple[str, ...]  # those that count
    asked: tuple[str, ...]
    u: Array
    method: Method
    scales: Array  # sizes of the deviations that count
    parameter: str | None = None
    size: float = 1.0  # of the parameter's changes

    @cached_property
    def _own(self) -> int:
        return len(self.equations.coordinates) + len(self.equations.independent)

    @cached_property
    def _kept(self) -> list[int]:
        """Places of the names that count among those of the naming."""
        return [self.naming.names.index(name) for name in self.names]

    @cached_property
    def place(self) -> int:
        """Of the parameter."""
        return [q.name for q in self.equations.parameters].index(str(self.parameter))

    @cached_property
    def _directions(self) -> tuple[Direction, ...]:
        started = tuple(Direction(name, "x") for name in self.names)
        return started if self.parameter is None else (*started, Direction(self.parameter, "p", self.place))

    def node(self, t: float, x: Array, p: Array) -> Node:
        """What is known at a state without moving on."""
        jacobians = deviations_of(self.equations, self.asked).derivatives(t, x[None], self.u[None], p[None])
        if not all(np.isfinite(a).all() for a in (jacobians.by_state, jacobians.names, jacobians.constraints)):
            raise SolverError(
                f"{self.equations.name}: its derivatives are not finite at t = {t:g} s; the motion is singular there"
            )
        chosen = [self.naming.chosen[i] for i in self._kept]
        span = np.zeros((len(x), len(self._kept)))
        span[: self._own] = self.naming.span(jacobians)[0][:, self._kept]
        shift = np.zeros(len(x))
        if self.parameter is not None:
            shift[: self._own] = self._shift(t, x, p, jacobians)
        return Node(x, jacobians.values[0][chosen], self.naming.rates(jacobians)[0][self._kept], span, shift)

    def _shift(self, t: float, x: Array, p: Array, jacobians: Jacobians) -> Array:
        """δx by the parameter that keeps the constraints and every ζ."""
        by_constraints, by_names = _by_parameter(self.equations, self.asked, self.place)([t], x, self.u, p)
        square = np.vstack([jacobians.constraints[0][list(self.naming.rows)], jacobians.names[0][list(self.naming.chosen)]])
        side = -np.concatenate([by_constraints[list(self.naming.rows)], by_names[list(self.naming.chosen)]])
        return np.asarray(np.linalg.solve(square, side))

    def passage(self, t: float, node: Node, duration: float, p: Array) -> Passage:
        """Move on from a node."""
        jacobians = node.span if self.parameter is None else np.column_stack([node.span, node.shift])
        sizes = np.append(np.ones(len(self.names)), [] if self.parameter is None else self.size)
        run = integrate_varied(
            self.equations,
            node.x,
            jacobians,
            t + duration,
            self._directions,
            sizes=sizes,
            start=t,
            parameters=p,
            inputs=self.u,
            method=self.method,
            samples=[t + duration],
        ).run
        if run.status.kind != Ending.FINISHED:
            raise SolverError(f"{self.equations.name}: the motion ends before its period is over: {run.status}")
        n, count = len(node.x), len(self._directions)
        end = run.final_state[:n]
        carried = run.final_state[n:].reshape(count, n).T[: self._own]
        arrived = self.node(t + duration, end, p)
        here = deviations_of(self.equations, self.asked).derivatives(t + duration, end[None], self.u[None], p[None])
        rows = here.names[0][[self.naming.chosen[i] for i in self._kept]]
        reported = rows @ carried
        by_parameter = np.zeros(len(self.names))
        if self.parameter is not None:
            _, by_names = _by_parameter(self.equations, self.asked, self.place)([t + duration], end, self.u, p)
            by_parameter = reported[:, -1] + by_names[[self.naming.chosen[i] for i in self._kept]]
        return Passage(arrived, reported[:, : len(self.names)], by_parameter)

    def moved(self, t: float, node: Node, change: Array, p: Array, by_parameter: float = 0.0) -> Node:
        """The node with its ζ changed, back on the constraints."""
        x = node.x + node.span @ change + node.shift * by_parameter
        return self.node(t, projected(self.equations, t, x, self.u, p), p)


def projected(equations: Equations, t: float, x: Array, u: Array, p: Array) -> Array:
    """The state moved onto its constraints by the equations' own projection."""
    if equations.project is None:
        return x
    project = equations.project

    def at(x: Array) -> tuple[Array, Array, float]:
        new, error = project([t], x, u, p)
        return x, new, float(error[0])

    found = PROJECTION.iterate(at(x), size=lambda a: a[2], step=lambda a: a[1] - a[0], move=lambda a, change: at(a[0] + change))
    return found.point[0]


def well_reported(deviations: Deviations, states: Array, u: Array, p: Array) -> Naming:
    """Names of deviations that tell them well at every one of the states, not only at the first."""
    given = np.broadcast_to(u, (len(states), len(u))), np.broadcast_to(p, (len(states), len(p)))
    jacobians = deviations.derivatives(0.0, states, *given)
    plain = deviations.choose(replace(jacobians, **{f.name: getattr(jacobians, f.name)[:1] for f in fields(jacobians)}))
    wanted, names = len(plain.chosen), list(deviations.candidates)
    for least in (0.3, 0.1, 0.01):
        bases = [np.linalg.qr(g[list(plain.rows)].T)[0].T for g in jacobians.constraints]
        chosen: list[int] = []
        for i in range(len(names)):
            rows = jacobians.names[:, i, :]
            left = [row - basis.T @ (basis @ row) for row, basis in zip(rows, bases, strict=True)]
            shares = [np.linalg.norm(a) / max(float(np.linalg.norm(b)), 1e-300) for a, b in zip(left, rows, strict=True)]
            if len(chosen) < wanted and min(shares) > least:
                chosen.append(i)
                bases = [np.vstack([basis, a / np.linalg.norm(a)]) for basis, a in zip(bases, left, strict=True)]
        if len(chosen) == wanted and set(deviations.asked) <= {names[i] for i in chosen}:
            return Naming(plain.rows, tuple(chosen), tuple(names[i] for i in chosen))
    return plain


@lru_cache(maxsize=32)
def _by_parameter(
    equations: Equations, asked: tuple[str, ...], place: int
) -> Callable[[Sequence[float], Array, Array, Array], tuple[Array, Array]]:
    """(t, x, u, p) → derivatives of the constraints and of all that may name a deviation, by one parameter."""
    d = deviations_of(equations, asked)
    zeta = ca.vertcat(*d.candidates.values())
    by = [ca.densify(ca.jacobian(e, d._p[place])) for e in (d._motion[0], zeta)]
    function = ca.Function("by_parameter", [d._t, d._x, d._u, d._p], by)

    def call(t: Sequence[float], x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        first, second = function(t, x, u, p)
        return first.full()[:, 0], second.full()[:, 0]

    return call


# ------------------------------------------------------------------------------------------------------------- transition


@dataclass(frozen=True, eq=False)
class Transition:
    """∂ζ(T)/∂ζ(0): what becomes of small deviations from a motion, by name."""

    model: str
    names: tuple[str, ...]
    matrix: Array
    start: dict[str, float]
    end: dict[str, float]
    time: float

    def __getitem__(self, key: tuple[str, str]) -> float:
        """∂(first at the end)/∂(second at the start)."""
        places = []
        for name in key:
            if name not in self.names:
                raise UnknownNameError(f"{self.model} has no deviation {name!r} here; it has {', '.join(self.names)}")
            places.append(self.names.index(name))
        return float(self.matrix[places[0], places[1]])


def transition(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
    method: Method = FINE,
) -> Transition:
    """The matrix that carries small deviations from a start to those after `until` seconds, exactly and by name.

    `states` are names of states or outputs by which deviations shall be told; the others are chosen as in `linearize`.

    >>> import sympy as sp, draisine as dr
    >>> x, v = sp.symbols("x v")
    >>> swing = dr.first_order("swing", {x: v, v: -x})
    >>> round(dr.transition(swing, 1.0)["x", "v"], 9)
    0.841470985
    """
    motion = motion_at(model, start, parameters, inputs)
    e, asked = motion.equations, tuple(states)
    deviations = deviations_of(e, asked)
    naming = deviations.choose(deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None]))
    flow = Flow(e, naming, naming.names, asked, motion.u, method, np.ones(len(naming.names)))
    node = flow.node(0.0, motion.x, motion.p)
    reached = flow.passage(0.0, node, until, motion.p)
    begin, end = (dict(zip(flow.names, n.values.tolist(), strict=True)) for n in (node, reached.end))
    return Transition(e.name, flow.names, reached.matrix, begin, end, float(until))
