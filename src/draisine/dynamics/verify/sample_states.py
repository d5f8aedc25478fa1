"""Random admissible states of any equations, away from singular configurations, and their condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.verify.agreement import AvoidedSingularity
from draisine.errors import ArgumentError, ModelError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import equilibrate
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program

Reals = NDArray[np.float64]
Residual = Callable[[Reals], tuple[Reals, Reals]]  # y → residuals, their Jacobian

_SINGULAR = 1e5  # condition of a linear system above which a state is rejected
_POOR = 1e3  # the same for a choice of independent velocities
_ROUNDS = 10  # rounds of samples
_FEWEST = 12  # states for typical scales
_FAR = 0.3  # range of the coordinates around their defaults
_FAST = 1.5  # range of the velocities
_ONTO = Newton(tolerance=1e-13, acceptable=1e-10, max_iterations=40)


@dataclass(frozen=True, eq=False)
class SampleState:
    """An admissible state of equations: coordinates, all velocities, the state itself, inputs, and the condition number."""

    t: float
    q: Reals
    v: Reals
    x: Reals
    u: Reals
    condition: float = 1.0


class Motion:
    """Residuals and outputs of motion of equations, with their derivatives by t, q and v."""

    def __init__(self, e: Equations) -> None:
        self.e = e
        motion = e.motion
        symbols = motion.symbols()
        named = dict(zip((s.name for s in motion.inputs), symbols, strict=True))
        reported = dict(zip((s.name for s in motion.outputs), motion.function.call(symbols), strict=True))
        values = ca.vertcat(reported["residuals"], reported["outputs"])
        jacobian = {f"by_{name}": ca.densify(ca.jacobian(values, named[name])) for name in ("t", "q", "v")}
        slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)}
        self._program = Program.build(f"{motion.name}_with_slopes", slots, {"values": values, **jacobian})
        self.names = (*(c.name for c in e.constraints), *motion.output("outputs").labels)

    @cached_property
    def by_velocity(self) -> list[bool]:
        """Whether each value depends on velocities, by structure."""
        function = self._program.function
        position_residual = [s.name for s in self._program.inputs].index("v")
        filled = set(function.jac_sparsity(0, position_residual).row())
        return [i in filled for i in range(len(self.names))]

    def __call__(self, t: float, q: Reals, v: Reals, u: Reals) -> dict[str, Reals]:
        """`values`, and `by_t`, `by_q`, `by_v` as matrices."""
        given: dict[str, Any] = {"t": [t], "q": q, "v": v, "u": u, "p": self.e.default_parameters}
        reported = self._program(*[given[slot.name] for slot in self._program.inputs])
        count = len(self.names)
        found = dict(zip((s.name for s in self._program.outputs), reported, strict=True))
        sizes = {"by_t": 1, "by_q": len(q), "by_v": len(v)}
        return {"values": found["values"], **{name: found[name].reshape(count, size) for name, size in sizes.items()}}


def report_at(e: Equations, state: SampleState) -> dict[str, Reals]:
    """The report, by slot."""
    values = e.report([state.t], state.x, state.u, e.default_parameters)
    return dict(zip((s.name for s in e.report.outputs), values, strict=True))


def random_states(e: Equations, count: int, seed: int = 1817) -> tuple[list[SampleState], list[AvoidedSingularity]]:
    """Admissible states near the defaults, away from singular configurations, and these configurations."""
    if count < 1:
        raise ArgumentError(f"states: at least one is needed to compare anything, got {count}")
    rng, motion = np.random.default_rng(seed), Motion(e)
    drawn = [i for i in (_random_state(motion, rng) for _ in range(max(2 * count, _FEWEST))) if i is not None]
    scales = TypicalScales.of(e, drawn)
    found: list[SampleState] = []
    rejected: dict[str, int] = {}
    for _ in range(_ROUNDS * count):
        state = drawn.pop(0) if drawn else _random_state(motion, rng)
        if state is None:
            continue
        state = replace(state, condition=scales.condition(state))
        why = scales.singular(state)
        if why:
            rejected[why] = rejected.get(why, 0) + 1
            continue
        found.append(state)
        if len(found) == count:
            break
    if not found:
        reasons = f" ({'; '.join(rejected)})" if rejected else ""
        raise ModelError(
            f"{e.name}: no admissible state was found near the defaults{reasons}; give the coordinates defaults that come close "
            "to the constraints: start={coordinate: value}"
        )
    return found, [AvoidedSingularity(what, states) for what, states in rejected.items()]


def _random_state(motion: Motion, rng: np.random.Generator) -> SampleState | None:
    """A random state near the defaults, projected onto the constraints; None where that fails."""
    e = motion.e
    t, u = float(rng.uniform(0.1, 1.0)), rng.normal(size=len(e.inputs))
    q = np.array([c.default for c in e.coordinates]) + rng.uniform(-_FAR, _FAR, len(e.coordinates))
    v = np.array([c.default for c in e.velocities]) + rng.uniform(-_FAST, _FAST, len(e.velocities))
    positions = [k for k, c in enumerate(e.constraints) if c.level == "position"]
    speeds = [k for k, c in enumerate(e.constraints) if c.level != "position"]

    def position_residual(y: Reals) -> tuple[Reals, Reals]:
        reported = motion(t, y, v, u)
        return reported["values"][positions], reported["by_q"][positions]

    def velocity_residual(y: Reals) -> tuple[Reals, Reals]:
        reported = motion(t, q, y, u)
        return reported["values"][speeds], reported["by_v"][speeds]

    if isinstance(e.dynamics, DaeResidual):
        return SampleState(t, q, v, q, u)  # a residual is defined everywhere
    q = _onto(position_residual, q) if positions else q
    v = _onto(velocity_residual, v) if speeds and np.isfinite(q).all() else v
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        return None
    order = {velocity.name: i for i, velocity in enumerate(e.velocities)}
    x = np.concatenate([q, [v[order[name]] for name in e.independent], [s.default for s in e.extra_states]])
    state = SampleState(t, q, v, x, u)
    return replace(state, v=report_at(e, state)["v"]) if len(v) else state


def _onto(residual: Residual, y: Reals) -> Reals:
    """Least-norm Newton steps onto residual(y) = 0; NaN without convergence."""
    found = _ONTO.solve(residual, y, LeastNorm())
    return found.point.x if found.converged else np.full_like(y, np.nan)


# ---------------------------------------------------------------- conditioning


def solved_matrix(e: Equations, state: SampleState) -> Reals | None:
    """K of the linear system for the accelerations, if there is one."""
    if not isinstance(e.dynamics, LinearSolveProgram):
        return None
    return e.dynamics.matrix_at([state.t], state.x, state.u, e.default_parameters)


@dataclass(frozen=True, eq=False)
class TypicalScales:
    """Equations, and typical scales of the linear system for their accelerations.

    The condition of a state is computed with these scales, not its own: where an angle is singular its inertia vanishes, and a
    matrix scaled by its own entries would not show it.
    """

    e: Equations
    rows: Reals
    columns: Reals

    @staticmethod
    def of(e: Equations, states: Sequence[SampleState]) -> TypicalScales:
        matrices = [solved_matrix(e, i) for i in states]
        scales = [equilibrate(m, rounds=8)[1:] for m in matrices if m is not None and np.isfinite(m).all() and len(m)]
        if not scales:
            return TypicalScales(e, np.ones(1), np.ones(1))
        rows, columns = (np.median([1.0 / scale[k] for scale in scales], axis=0) for k in (0, 1))
        return TypicalScales(e, rows, columns)

    def condition(self, state: SampleState) -> float:
        """Condition number of a state: of the choice of velocities, or of the linear system."""
        e = self.e
        if e.monitor is not None:
            return float(e.monitor([state.t], state.x, state.u, e.default_parameters)[0][0])
        matrix = solved_matrix(e, state)
        if matrix is None or not len(matrix):
            return 1.0
        return float(np.linalg.cond(self._scaled(matrix), 1)) if np.isfinite(matrix).all() else np.inf

    def _scaled(self, matrix: Reals) -> Reals:
        return matrix / (self.rows[:, None] * self.columns)

    def singular(self, state: SampleState) -> str:
        """Description of the singularity at a state, or ""."""
        e = self.e
        if state.condition < (_POOR if e.monitor is not None else _SINGULAR) and np.isfinite(state.v).all():
            return ""
        if e.causes is not None:
            values = e.causes([state.t], state.x, state.u, e.default_parameters)[0]
            return str(e.causes.output("value").labels[int(np.nanargmax(values))])
        matrix = solved_matrix(e, state)
        names = [*(v.name for v in e.velocities), *(m.name for m in e.multipliers)]
        if matrix is None or not np.isfinite(matrix).all() or len(names) != len(matrix):
            return "where the equations are not finite"
        kernel = np.abs(np.linalg.svd(self._scaled(matrix))[2][-1])
        open_ = [name for name, share in zip(names, kernel, strict=True) if share > 0.3 * kernel.max()]
        return f"where the equations do not determine {', '.join(open_)}"
