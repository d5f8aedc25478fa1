"""The flow of a motion and of named deviations, ∂ζ(x(t))/∂ζ(x(0)), by exact sensitivities.

Deviations are those of `stability.deviations`: they satisfy the constraints, and quaternions are replaced by heading, lean and
pitch. Ignorable coordinates (position along the track, angles of rotors) are left out: they need not be periodic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError, UnknownNameError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.newton import Newton
from draisine.numerics.rank import independent_rows
from draisine.program.arguments import checked
from draisine.program.equations import Equations
from draisine.program.variational import Direction
from draisine.results.base import Result
from draisine.results.channel import HasState
from draisine.results.status import Ending
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import Method
from draisine.simulation.result import Run
from draisine.simulation.sensitivity import integrate_varied
from draisine.stability.deviations import Derivatives, Deviations, Naming, deviations_of
from draisine.stability.linearization import motion_at

Array = NDArray[np.float64]

FINE = DOP853(rtol=1e-11, atol=1e-13)
PROJECTION = Newton(tolerance=1e-15, max_iterations=6)  # onto the constraints, by the projection of the equations


@dataclass(frozen=True, eq=False)
class Node:
    """A state on the constraints, with its deviations and their rates."""

    x: Array
    values: Array  # ζ
    rates: Array  # ζ̇
    span: Array  # δx by deviations, (states, names)
    shift: Array  # δx by the parameter at fixed ζ, (states,); zero without one
    p: Array  # parameters, with the modes of contacts here


@dataclass(frozen=True, eq=False)
class Passage:
    """The flow from a node over some time: its end, and derivatives of the final ζ by the initial ζ and by the parameter."""

    end: Node
    matrix: Array  # (names, names)
    by_parameter: Array  # (names,)
    warnings: tuple[str, ...] = ()  # of the run


@dataclass(frozen=True, eq=False)
class Flow:
    """The flow of named deviations; `parameter` may be varied as well."""

    equations: Equations
    naming: Naming
    names: tuple[str, ...]  # deviations without ignorable coordinates
    preferred: tuple[str, ...]
    u: Array
    method: Method
    scales: Array  # of these deviations
    parameter: str | None = None
    size: float = 1.0  # of the parameter's changes
    most_steps: int | None = None  # of one passage: trials far from the motion may be stiff, and need not be finished
    given_method: bool = True  # whether the user gave the method; the tolerances of the default follow the sizes of the states

    @cached_property
    def bounded(self) -> Method:
        """The method with the limit of steps of one passage."""
        own = getattr(self.method, "max_steps", None)
        if self.most_steps is None or own is None:
            return self.method
        limited: Any = self.method
        made: Method = replace(limited, max_steps=min(own, self.most_steps))
        return made

    @cached_property
    def _own(self) -> int:
        return len(self.equations.coordinates) + len(self.equations.independent)

    @cached_property
    def _kept(self) -> list[int]:
        """Indices of `names` in the naming."""
        return [self.naming.names.index(name) for name in self.names]

    @cached_property
    def parameter_index(self) -> int:
        """Index of the parameter."""
        return [q.name for q in self.equations.parameters].index(str(self.parameter))

    @cached_property
    def _directions(self) -> tuple[Direction, ...]:
        started = tuple(Direction(name, "x") for name in self.names)
        return started if self.parameter is None else (*started, Direction(self.parameter, "p", self.parameter_index))

    def node(self, t: float, x: Array, p: Array) -> Node:
        """Deviations, rates and directions at a state; p has the modes of contacts at its end."""
        derivatives = deviations_of(self.equations, self.preferred).derivatives(t, x[None], self.u[None], p[None])
        if not all(np.isfinite(a).all() for a in (derivatives.by_state, derivatives.names, derivatives.constraints)):
            raise SolverError(
                f"{self.equations.name}: its derivatives are not finite at t = {t:g} s, where the motion is singular"
            )
        chosen = [self.naming.chosen[i] for i in self._kept]
        span = np.zeros((len(x), len(self._kept)))
        try:
            span[: self._own] = self._naming_at(derivatives).span(derivatives)[0][:, self._kept]
        except np.linalg.LinAlgError as error:
            raise SolverError(f"{self.equations.name}: its deviations are not determined at t = {t:g} s") from error
        shift = np.zeros(len(x))
        if self.parameter is not None:
            shift[: self._own] = self._shift(t, x, p, derivatives)
        return Node(x, derivatives.values[0][chosen], self.naming.rates(derivatives)[0][self._kept], span, shift, p)

    def _naming_at(self, derivatives: Derivatives) -> Naming:
        """The naming with the constraints that are independent here: those of contacts depend on their modes."""
        if not self.equations.unilateral:
            return self.naming
        gradient = derivatives.constraints[0]
        rows, _ = independent_rows(gradient, np.zeros((0, gradient.shape[1])))
        if len(rows) + len(self.naming.chosen) != gradient.shape[1]:
            raise SolverError(
                f"{self.equations.name}: contacts that are closed or stick differ at the begin and the end of its period, or "
                "between nodes; give a start, and a period, at which they are the same, and nodes=1"
            )
        return replace(self.naming, rows=tuple(rows))

    def _shift(self, t: float, x: Array, p: Array, derivatives: Derivatives) -> Array:
        """δx by the parameter that satisfies the constraints and keeps every ζ constant."""
        by_constraints, by_names = _by_parameter(self.equations, self.preferred, self.parameter_index)([t], x, self.u, p)
        rows, chosen = list(self._naming_at(derivatives).rows), list(self.naming.chosen)
        square = np.vstack([derivatives.constraints[0][rows], derivatives.names[0][chosen]])
        side = -np.concatenate([by_constraints[rows], by_names[chosen]])
        return np.asarray(np.linalg.solve(square, side))

    def passage(self, t: float, node: Node, duration: float, p: Array) -> Passage:
        """Integrate from a node, with sensitivities."""
        p = self._with_modes(p, node.p)
        derivatives = node.span if self.parameter is None else np.column_stack([node.span, node.shift])
        # a derivative times the size of its deviation is as accurate as the state
        sizes = np.append(np.maximum(self.scales, 1.0), [] if self.parameter is None else self.size)
        run = integrate_varied(
            self.equations,
            node.x,
            derivatives,
            t + duration,
            self._directions,
            sizes=sizes,
            start=t,
            parameters=p,
            inputs=self.u,
            method=self.bounded,
            samples=[t + duration],
        ).run
        completed(run, f"{self.equations.name}: the motion ends before its period is over")
        n, count = len(node.x), len(self._directions)
        end = run.final_state[:n]
        carried = run.final_state[n:].reshape(count, n).T[: self._own]
        if run.segments[-1].parameters is not None:
            p = self._with_modes(p, run.segments[-1].parameters)
        arrived = self.node(t + duration, end, p)
        final = deviations_of(self.equations, self.preferred).derivatives(t + duration, end[None], self.u[None], p[None])
        rows = final.names[0][[self.naming.chosen[i] for i in self._kept]]
        propagated = rows @ carried
        by_parameter = np.zeros(len(self.names))
        if self.parameter is not None:
            _, by_names = _by_parameter(self.equations, self.preferred, self.parameter_index)([t + duration], end, self.u, p)
            by_parameter = propagated[:, -1] + by_names[[self.naming.chosen[i] for i in self._kept]]
        return Passage(arrived, propagated[:, : len(self.names)], by_parameter, run.status.warnings)

    def _with_modes(self, p: Array, modes: Array) -> Array:
        """The parameters with the modes of contacts at another node."""
        count = len(self.equations.parameters)
        return np.concatenate([p[:count], modes[count:]])

    def moved(self, t: float, node: Node, change: Array, p: Array, by_parameter: float = 0.0) -> Node:
        """The node with changed ζ, projected onto the constraints; contacts keep their modes."""
        p = self._with_modes(p, node.p)
        x = node.x + node.span @ change + node.shift * by_parameter
        return self.node(t, project_onto_constraints(self.equations, t, x, self.u, p), p)


def completed(run: Run, otherwise: str) -> Run:
    """The run, if it reached its end; an interruption by the user ends the search."""
    if run.status.kind == Ending.INTERRUPTED:
        raise KeyboardInterrupt(str(run.status))
    if run.status.kind != Ending.FINISHED:
        raise SolverError(f"{otherwise}: {run.status}")
    return run


def project_onto_constraints(equations: Equations, t: float, x: Array, u: Array, p: Array) -> Array:
    """The state projected onto its constraints, by the projection of the equations."""
    if equations.project is None:
        return x
    project = equations.project

    def at(x: Array) -> tuple[Array, Array, float]:
        new, error = project([t], x, u, p)
        return x, new, float(error[0])

    found = PROJECTION.iterate(at(x), size=lambda a: a[2], step=lambda a: a[1] - a[0], move=lambda a, change: at(a[0] + change))
    return found.point[0]


def well_conditioned_naming(deviations: Deviations, states: Array, u: Array, p: Array) -> Naming:
    """Names of deviations that are well conditioned at all states, not only at the first."""
    given = np.broadcast_to(u, (len(states), len(u))), np.broadcast_to(p, (len(states), len(p)))
    derivatives = deviations.derivatives(0.0, states, *given)
    plain = deviations.choose(replace(derivatives, **{f.name: getattr(derivatives, f.name)[:1] for f in fields(derivatives)}))
    wanted, names = len(plain.chosen), list(deviations.candidates)
    for least in (0.3, 0.1, 0.01):
        bases = [np.linalg.qr(g[list(plain.rows)].T)[0].T for g in derivatives.constraints]
        chosen: list[int] = []
        for i in range(len(names)):
            rows = derivatives.names[:, i, :]
            left = [row - basis.T @ (basis @ row) for row, basis in zip(rows, bases, strict=True)]
            shares = [np.linalg.norm(a) / max(float(np.linalg.norm(b)), 1e-300) for a, b in zip(left, rows, strict=True)]
            if len(chosen) < wanted and min(shares) > least:
                chosen.append(i)
                bases = [np.vstack([basis, a / np.linalg.norm(a)]) for basis, a in zip(bases, left, strict=True)]
        if len(chosen) == wanted and set(deviations.preferred) <= {names[i] for i in chosen}:
            return Naming(plain.rows, tuple(chosen), tuple(names[i] for i in chosen))
    return plain


@lru_cache(maxsize=32)
def _by_parameter(
    equations: Equations, preferred: tuple[str, ...], parameter_index: int
) -> Callable[[Sequence[float], Array, Array, Array], tuple[Array, Array]]:
    """(t, x, u, p) → derivatives of the constraints and of all candidate names by one parameter."""
    d = deviations_of(equations, preferred)
    zeta = ca.vertcat(*d.candidates.values())
    by = [ca.densify(ca.jacobian(e, d._p[parameter_index])) for e in (d._motion[0], zeta)]
    function = ca.Function("by_parameter", [d._t, d._x, d._u, d._p], by)

    def call(t: Sequence[float], x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        first, second = function(t, x, u, p)
        return first.full()[:, 0], second.full()[:, 0]

    return call


# ------------------------------------------------------------------------------------------------------------- transition


@dataclass(frozen=True, eq=False)
class Transition(Result):
    """The state transition matrix ∂ζ(T)/∂ζ(0) of named deviations from a motion."""

    model: str
    names: tuple[str, ...]
    matrix: Array
    start: dict[str, float]
    end: dict[str, float]
    time: float

    def __getitem__(self, key: tuple[str, str]) -> float:
        """∂(first at the end)/∂(second at the start)."""
        indices = []
        for name in key:
            if name not in self.names:
                raise UnknownNameError(f"{self.model} has no deviation {name!r} in this motion; it has {', '.join(self.names)}")
            indices.append(self.names.index(name))
        return float(self.matrix[indices[0], indices[1]])

    def _table(self) -> Mapping[str, Any]:
        return {"deviation": self.names, **{f"by {name}": self.matrix[:, k] for k, name in enumerate(self.names)}}

    def __str__(self) -> str:
        lines = [f"{self.model}: deviations after {self.time:g} s by those at the start, {', '.join(self.names)}"]
        width = max(map(len, self.names), default=0)
        for name, row in zip(self.names, self.matrix, strict=True):
            lines.append(f"  {name:<{width}}" + "".join(f" {value:>12.6g}" for value in row))
        return "\n".join(lines)


@checked
def state_transition(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
    method: Method = FINE,
) -> Transition:
    """The exact state transition matrix: small deviations after `until` seconds by those at the start, by name.

    - `start`, `parameters`, `inputs`, `method`: as in `simulate`.
    - `states`: states or outputs that name deviations; the others are chosen as in `linearize`.

    >>> import sympy as sp, draisine as dr
    >>> x, v = sp.symbols("x v")
    >>> swing = dr.first_order("swing", {x: v, v: -x})
    >>> round(dr.stability.state_transition(swing, 1.0)["x", "v"], 9)
    0.841470985
    """
    motion = motion_at(model, start, parameters, inputs)
    e, preferred = motion.equations, tuple(states)
    deviations = deviations_of(e, preferred)
    naming = deviations.choose(deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None]))
    flow = Flow(e, naming, naming.names, preferred, motion.u, method, np.ones(len(naming.names)))
    node = flow.node(0.0, motion.x, motion.p)
    reached = flow.passage(0.0, node, until, motion.p)
    begin, end = (dict(zip(flow.names, n.values.tolist(), strict=True)) for n in (node, reached.end))
    return Transition(e.name, flow.names, reached.matrix, begin, end, float(until))
