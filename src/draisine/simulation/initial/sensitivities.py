"""Sensitivities of a consistent start by parameters, inputs and targets.

The position level of a start gives the coordinates y nearest to their references among those with c(y, θ) = 0. With the scales
D and the multipliers μ of the rows, they satisfy

    D⁻²(y − y₀) + (∂c/∂y)ᵀ μ = 0,        c(y, θ) = 0,

and these equations are differentiated. The velocity level is a sequence of least squares and differentiated as such
(`rest_sensitivities`). Where that is not possible, because velocities were bounded or rows come from the report alone, it is
solved at nearby coordinates and parameters, and the derivative is a difference of order 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import casadi as ca
import numpy as np

from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.variational import Direction
from draisine.simulation.initial.consistent_start import reference_of, velocities_at
from draisine.simulation.initial.evaluation import Bools, Indices, Reals, Variables
from draisine.simulation.initial.memory import RANK
from draisine.simulation.initial.problem import Given, InitialGuess, StartProblem, Targets, sorted_targets
from draisine.simulation.initial.rest_sensitivities import Change, RestSensitivity, ValuesAlong
from draisine.simulation.initial.result import Start
from draisine.simulation.initial.solver import ResidualSystem, ordered_level, ordered_system, position_level

NEAREST = 1e-5  # relative change outside the row space above which a state is not the nearest
STEP = 1e-3  # relative, of differences of references and velocities
SETTLED = 1e-7  # relative residual above which the differentiated equations are inconsistent


def start_jacobian(
    problem: StartProblem, targets: Mapping[str, float | InitialGuess], start: Start, directions: Sequence[Direction]
) -> tuple[Reals, Reals, Reals]:
    """∂q/∂θ, ∂v/∂θ (all velocities) and ∂(further states)/∂θ at the start, a column per direction.

    Directions with the slot "x" are targets, by name.
    """
    e, given = problem.equations, start.given
    sorted_ = sorted_targets(e, problem.kinds, targets)
    q0 = reference_of(problem.defaults[0], problem.unknowns[0], sorted_.near)
    length = problem.scales.typical_length(given[2], q0)
    longer = _lengthening(problem, given[2], directions)
    by_given = _given_columns(directions, len(given[1]), len(given[2]))

    stretch = longer / length
    aligned, turned = _aligned(problem, sorted_, start, q0, length, directions)
    places = _LevelSensitivity(
        problem, start, aligned, problem.scales.coordinates(q0, length), sorted_.coordinates, sorted_, turned
    )
    orders = np.array(e.dynamics.orders, dtype=np.intp) if isinstance(e.dynamics, DaeResidual) else np.zeros(0, dtype=np.intp)
    fast = np.array([c.unit == "m/s" for c in e.coordinates], dtype=bool)
    ordered = replace(places, scale=np.where(orders == 1, np.where(fast, length, 1.0), places.scale)) if orders.size else places
    if orders.size and ordered.in_order(orders):
        stretched = np.outer(np.where(orders == 1, fast, problem.scales.straight), stretch)
        dq = ordered.jacobian_in_order(directions, by_given, stretched, orders, length, longer)
    else:
        dq = places.jacobian(directions, by_given, np.outer(problem.scales.straight, stretch), _frozen_unknowns(e, start, q0))
    if not e.velocities:
        return dq, np.zeros((0, len(directions))), _states(e, directions)
    level, v = velocities_at(problem, sorted_, given, start.q)
    changes = _changes(level.full_system, problem.scales.speeds, directions, dq, by_given, longer)
    dv = RestSensitivity(level.full_system, _values_along(problem, "v", _needed(level.full_system)), given, start.q, v).columns(
        changes
    )
    if dv is None:
        dv = velocity_differences(problem, sorted_, start, (dq, by_given), directions)
    return dq, dv, _states(e, directions)


def _changes(
    system: ResidualSystem, speeds: Bools, directions: Sequence[Direction], dq: Reals, by_given: Reals, longer: Reals
) -> list[Change]:
    """The changes of all that velocities at rest depend on; `speeds` are unknowns in m/s."""
    inputs, names, found = len(system.evaluation.arguments["u"]), system.names, []
    for j, direction in enumerate(directions):
        name = direction.name if direction.slot == "x" else ""
        reference = np.array([float(n == name) for n in names]) * ~system.free
        target = np.array([float(label == name) for label in system.layout.labels]) * system.layout.is_output
        u, p = by_given[:inputs, j], by_given[inputs:, j]
        found.append(Change(dq[:, j], u, p, reference, target, longer[j] * speeds, float(longer[j])))
    return found


@lru_cache(maxsize=16)
def _values_along(problem: StartProblem, of: Variables, needed: tuple[int, ...]) -> ValuesAlong:
    return ValuesAlong(problem, of, needed)


def _needed(system: ResidualSystem) -> tuple[int, ...]:
    """The values on which velocities at rest depend."""
    return tuple(sorted({*system.layout.take.tolist(), *(k for k in system.rest_rows().value.tolist() if k >= 0)}))


def velocity_differences(
    problem: StartProblem, targets: Targets, start: Start, by: tuple[Reals, Reals], directions: Sequence[Direction]
) -> Reals:
    """∂v/∂θ by differences of the velocity level, of order 4; `by` are ∂q/∂θ and ∂(u, p)/∂θ."""
    (t, u, p), (dq, by_given) = start.given, by
    names, count = [d.name if d.slot == "x" else "" for d in directions], len(u)

    def moved(j: int, step: float) -> Reals:
        kinds = {
            kind: {n: x + (step if n == names[j] else 0.0) for n, x in getattr(targets, kind).items()}
            for kind in ("velocities", "outputs")
        }
        given = t, u + step * by_given[:count, j], p + step * by_given[count:, j]
        return velocities_at(problem, replace(targets, **kinds), given, start.q + step * dq[:, j])[1]

    q_size = np.maximum(np.abs(start.q), problem.scales.coordinates(start.q, 1.0))
    columns = np.zeros((len(start.v), len(directions)))
    for j in range(len(directions)):
        wanted = targets.velocities.get(names[j], targets.outputs.get(names[j], 0.0))
        rates = [np.abs(dq[:, j]) / q_size, np.abs(by_given[count:, j]) / np.where(p != 0.0, np.abs(p), 1.0)]
        fastest = max([float(r.max(initial=0.0)) for r in rates] + [float(names[j] != "") / (abs(wanted) + (wanted == 0.0))])
        step = STEP / fastest if fastest > 0.0 else STEP
        far, near = (moved(j, k * step) - moved(j, -k * step) for k in (2, 1))
        columns[:, j] = (8 * near - far) / (12 * step)
    return columns


def _aligned(
    problem: StartProblem, targets: Targets, start: Start, q0: Reals, length: float, directions: Sequence[Direction]
) -> tuple[Reals, Reals]:
    """References of the coordinates, turned and shifted towards the targets, and their derivatives, by differences of order 4."""
    scale, steps = problem.scales.coordinates(q0, length), problem.scales.max_steps

    def reference(wanted: Targets, given: Given) -> Reals:
        evaluation = problem.take_evaluation(given)
        level = position_level(problem, wanted, evaluation, q0, start.v, scale, steps)
        found = level.full_system.aligned_reference()
        level.full_system.release()
        problem.give_back(evaluation)
        return found

    def moved(direction: Direction, by: float) -> Reals:
        if direction.slot == "x":
            outputs = {n: x + (by if n == direction.name else 0.0) for n, x in targets.outputs.items()}
            coordinates = {n: x + (by if n == direction.name else 0.0) for n, x in targets.coordinates.items()}
            return reference(replace(targets, outputs=outputs, coordinates=coordinates), start.given)
        t, u, p = start.given
        u, p = u.copy(), p.copy()
        (p if direction.slot == "p" else u)[direction.place] += by
        return reference(targets, (t, u, p))

    columns = np.zeros((len(q0), len(directions)))
    if not problem.assemblies.count or not targets.outputs:
        return q0, columns
    for j, direction in enumerate(directions):
        size = abs(start.given[2][direction.place]) if direction.slot == "p" else 1.0
        step = STEP * (size or 1.0)
        far, near = (moved(direction, k * step) - moved(direction, -k * step) for k in (2, 1))
        columns[:, j] = (8 * near - far) / (12 * step)
    return reference(targets, start.given), columns


def _given_columns(directions: Sequence[Direction], inputs: int, parameters: int) -> Reals:
    """Changes of (u, p) in every direction."""
    columns = np.zeros((inputs + parameters, len(directions)))
    for j, direction in enumerate(directions):
        if direction.slot != "x":
            columns[direction.place + (inputs if direction.slot == "p" else 0), j] = 1.0
    return columns


def _states(e: Equations, directions: Sequence[Direction]) -> Reals:
    return np.array([[float(d.slot == "x" and d.name == s.name) for d in directions] for s in e.extra_states]).reshape(
        len(e.extra_states), len(directions)
    )


def _lengthening(problem: StartProblem, parameters: Reals, directions: Sequence[Direction]) -> Reals:
    """Derivative of the typical length in every direction: it is the size of one of the parameters that are lengths."""
    places = problem.scales.lengths
    sizes = np.abs(parameters[places])
    known = sorted(sizes[sizes > 0.0].tolist())
    middle = places[np.flatnonzero(sizes == known[len(known) // 2])[0]] if known else -1
    return np.array([float(np.sign(parameters[middle])) if d.slot == "p" and d.place == middle else 0.0 for d in directions])


def _frozen_unknowns(e: Equations, start: Start, q0: Reals) -> Bools:
    """Differential unknowns of implicit equations that were not changed."""
    if not isinstance(e.dynamics, DaeResidual):
        return np.zeros(len(q0), dtype=bool)
    differential = np.array(e.dynamics.differential, dtype=bool)
    return differential if np.array_equal(start.q[differential], q0[differential]) else np.zeros(len(q0), dtype=bool)


@dataclass(frozen=True, eq=False)
class _LevelSensitivity:
    """The position level at its solution: unknowns, references, scales, prescribed values and targets among the rows."""

    problem: StartProblem
    start: Start
    reference: Reals
    scale: Reals
    prescribed: Mapping[str, float]
    targets: Targets
    moved: Reals  # derivatives of the references

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.unknowns[0]

    @property
    def solution(self) -> Reals:
        return self.start.q

    def jacobian(self, directions: Sequence[Direction], by_others: Reals, stretched: Reals, rest: Bools) -> Reals:
        """∂y/∂θ. Unknowns at `rest` stay at their references, if the rows allow it."""
        prescribed, named, dy = self._prescribed(directions)
        frozen = rest & (self.solution == self.reference) & ~prescribed
        rows = self._rows()
        found, error = self._solve(rows, prescribed | frozen, dy, by_others, stretched, named)
        if error > SETTLED and frozen.any():
            found, _ = self._solve(rows, prescribed, dy, by_others, stretched, named)
        return found

    def in_order(self, orders: Indices) -> bool:
        """Whether positions are nearest to their references, independently of targets for velocities and forces."""
        prescribed = np.array([name in self.prescribed for name in self.names], dtype=bool) | (orders != 0)
        rows = [row for row in self._rows() if self.problem.orders(orders)[row] == 0]
        scaled, z = (
            self._jacobian(rows)[:, ~prescribed] * self.scale[~prescribed],
            ((self.solution - self.reference) / self.scale)[~prescribed],
        )
        left = z - scaled.T @ np.linalg.lstsq(scaled.T, z, rcond=RANK)[0]
        return float(np.linalg.norm(left)) <= NEAREST * max(float(np.linalg.norm(z)), NEAREST)

    def _jacobian(self, rows: Sequence[int]) -> Reals:
        """∂c/∂y of some rows."""
        t, u, p = self.start.given
        program = _rows_program(self.problem.equations)
        whole = np.array(program(t, self.start.q, self.start.v, u, p, np.zeros(program.size1_in(5)))[0])
        return np.asarray(whole[list(rows)])

    def jacobian_in_order(
        self,
        directions: Sequence[Direction],
        by_others: Reals,
        stretched: Reals,
        orders: Indices,
        length: float,
        longer: Reals,
    ) -> Reals:
        """∂y/∂θ where positions, velocities and forces were solved one after the other; `longer` is that of the length."""
        prescribed, named, dy = self._prescribed(directions)
        order_of = self.problem.orders(orders)
        for order in range(int(orders.max(initial=0)) + 1):
            if order == 1 and self.problem.rests(self.targets.near):
                moving = self._at_rest(directions, np.where((orders == 0)[:, None], dy, 0.0), by_others, orders, length, longer)
                dy = np.where((orders == 1)[:, None], moving, dy)
                continue
            rows = {row: target for row, target in self._rows().items() if order_of[row] == order}
            dy, _ = self._solve(rows, prescribed | (orders != order), dy, by_others, stretched, named)
        return dy

    def _at_rest(
        self, directions: Sequence[Direction], dq: Reals, by_others: Reals, orders: Indices, length: float, longer: Reals
    ) -> Reals:
        """∂/∂θ of the velocities; `dq` are the derivatives of the positions."""
        problem, start = self.problem, self.start
        reference = np.where(orders == 1, self.reference, start.q)
        evaluation = problem.take_evaluation(start.given)
        level = position_level(problem, self.targets, evaluation, reference, start.v, self.scale, problem.scales.max_steps)
        system = ordered_system(ordered_level(level, orders, length), orders, 1)
        speeds = np.array([c.unit == "m/s" for c in problem.equations.coordinates], dtype=bool) & (orders == 1)
        changes = _changes(system, speeds, directions, dq, by_others, longer)
        for change in changes:
            change.reference[orders != 1] = 0.0
        found = RestSensitivity(system, _values_along(problem, "q", _needed(system)), start.given, start.q, start.v).columns(
            changes
        )
        problem.give_back(evaluation)
        if found is None:
            raise ArgumentError(
                f"{problem.equations.name}: the velocities of this start were bounded and have no derivatives; give more of them"
            )
        return found

    def _prescribed(self, directions: Sequence[Direction]) -> tuple[Bools, list[str], Reals]:
        """Which unknowns are prescribed, the varied targets, and the derivatives of the prescribed unknowns."""
        named = [d.name if d.slot == "x" else "" for d in directions]
        dy = np.array([[float(name == target and name in self.prescribed) for target in named] for name in self.names])
        return (
            np.array([name in self.prescribed for name in self.names], dtype=bool),
            named,
            dy.reshape(len(self.names), len(named)),
        )

    def _solve(
        self,
        target_rows: Mapping[int, str],
        prescribed: Bools,
        dy: Reals,
        by_others: Reals,
        stretched: Reals,
        named: Sequence[str],
    ) -> tuple[Reals, float]:
        """Derivatives of the unknowns, and the relative residual of the differentiated equations."""
        e, (t, u, p) = self.problem.equations, self.start.given
        at, rows = (t, self.start.q, self.start.v, u, p), list(target_rows)
        program = _rows_program(e)
        jacobian = self._jacobian(rows)
        free = np.flatnonzero(~prescribed)
        scaled = jacobian[:, free] * self.scale[free]
        z = ((self.solution - self.reference) / self.scale)[free]
        multipliers = np.zeros(program.size1_in(5))
        multipliers[rows] = -np.linalg.lstsq(scaled.T, z, rcond=RANK)[0]
        _, hessian_y, hessian_yw, by = (np.array(m) for m in program(*at, multipliers))
        targets = np.array([[float(name == target != "") for target in named] for name in target_rows.values()])
        targets = targets.reshape(len(rows), len(named))
        side = np.vstack(
            [
                -self.scale[free, None] * (hessian_y[free] @ dy + hessian_yw[free] @ by_others)
                + 2 * z[:, None] * stretched[free]
                + self.moved[free] / self.scale[free, None],
                targets - jacobian @ dy - by[rows] @ by_others,
            ]
        )
        curved = np.eye(len(free)) + self.scale[free, None] * hessian_y[np.ix_(free, free)] * self.scale[free]
        system = np.block([[curved, scaled.T], [scaled, np.zeros((len(rows), len(rows)))]])
        found = np.linalg.lstsq(system, side, rcond=RANK)[0]
        error = np.abs(system @ found - side).max(initial=0.0) / max(float(np.abs(side).max(initial=0.0)), 1e-300)
        result = dy.copy()
        result[free] = self.scale[free, None] * found[: len(free)]
        return result, float(error)

    def _rows(self) -> dict[int, str]:
        """The active rows, and the target of each, "" for zero."""
        problem = self.problem
        outputs = [n for n in self.targets.outputs if not problem.velocity_dependent[problem.output_rows[n]]]
        return {**dict.fromkeys(problem.constraints["position"], ""), **{problem.output_rows[name]: name for name in outputs}}


@lru_cache(maxsize=64)
def _rows_program(e: Equations) -> ca.Function:
    """(t, q, v, u, p, μ) → ∂c/∂q, and of μᵀc: ∂²/∂q², ∂²/∂q∂w; ∂c/∂w; w = (u, p).

    It is evaluated a few times for each start; the elimination of common subexpressions would take longer than that.
    """
    names = [slot.name for slot in e.motion.inputs]
    symbols = dict(zip(names, e.motion.symbols(), strict=True))
    reported = dict(zip((s.name for s in e.motion.outputs), e.motion.function.call([symbols[n] for n in names]), strict=True))
    rows = ca.vertcat(reported["residuals"], reported["outputs"])
    others = ca.vertcat(symbols["u"], symbols["p"])
    multipliers = ca.SX.sym("mu", rows.numel())
    jacobian_q = ca.jacobian(rows, symbols["q"])
    gradient = jacobian_q.T @ multipliers
    results = [jacobian_q, ca.jacobian(gradient, symbols["q"]), ca.jacobian(gradient, others), ca.jacobian(rows, others)]
    arguments = [symbols[n] for n in ("t", "q", "v", "u", "p")]
    return ca.Function("start_rows", [*arguments, multipliers], [ca.densify(r) for r in results])
