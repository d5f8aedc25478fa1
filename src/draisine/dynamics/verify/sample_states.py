"""Random admissible states of any equations, away from singular positions, and what can be looked at there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.verify.agreement import Avoided
from draisine.errors import ArgumentError, ModelError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import equilibrate
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

Reals = NDArray[np.float64]
Residual = Callable[[Reals], tuple[Reals, Reals]]  # y → residuals, their Jacobian

_SINGULAR = 1e5  # condition of a linear system beyond which a state is set aside
_POOR = 1e3  # the same for a choice of independent velocities
_ROUNDS = 10  # times that so many states are drawn before we give up
_FEWEST = 12  # states by which the usual sizes are known
_FAR = 0.3  # how far coordinates are moved from their defaults
_FAST = 1.5  # how fast they move
_ONTO = Newton(tolerance=1e-13, acceptable=1e-10, max_iterations=40)


@dataclass(frozen=True, eq=False)
class Instant:
    """An admissible state of equations: coordinates, all velocities, the state itself, inputs, and its conditioning."""

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
        """Of each value, whether it depends on velocities, by structure."""
        function = self._program.function
        place = [s.name for s in self._program.inputs].index("v")
        filled = set(function.jac_sparsity(0, place).row())
        return [i in filled for i in range(len(self.names))]

    def __call__(self, t: float, q: Reals, v: Reals, u: Reals) -> dict[str, Reals]:
        """`values`, and `by_t`, `by_q`, `by_v` as matrices."""
        given: dict[str, Any] = {"t": [t], "q": q, "v": v, "u": u, "p": self.e.default_parameters}
        reported = self._program(*[given[slot.name] for slot in self._program.inputs])
        count = len(self.names)
        found = dict(zip((s.name for s in self._program.outputs), reported, strict=True))
        sizes = {"by_t": 1, "by_q": len(q), "by_v": len(v)}
        return {"values": found["values"], **{name: found[name].reshape(count, size) for name, size in sizes.items()}}


def reported_at(e: Equations, instant: Instant) -> dict[str, Reals]:
    """The report, by slot."""
    values = e.report([instant.t], instant.x, instant.u, e.default_parameters)
    return dict(zip((s.name for s in e.report.outputs), values, strict=True))


def random_instants(e: Equations, count: int, seed: int = 1817) -> tuple[list[Instant], list[Avoided]]:
    """Admissible states near the defaults, away from singular positions, and what is singular there."""
    if count < 1:
        raise ArgumentError(f"states: at least one is needed to compare anything, got {count}")
    rng, motion = np.random.default_rng(seed), Motion(e)
    drawn = [i for i in (_random_instant(motion, rng) for _ in range(max(2 * count, _FEWEST))) if i is not None]
    usual = Usual.of(e, drawn)
    found: list[Instant] = []
    aside: dict[str, int] = {}
    for _ in range(_ROUNDS * count):
        instant = drawn.pop(0) if drawn else _random_instant(motion, rng)
        if instant is None:
            continue
        instant = replace(instant, condition=usual.condition(instant))
        why = usual.singular(instant)
        if why:
            aside[why] = aside.get(why, 0) + 1
            continue
        found.append(instant)
        if len(found) == count:
            break
    if not found:
        said = f" ({'; '.join(aside)})" if aside else ""
        raise ModelError(
            f"{e.name}: no admissible state was found near the defaults{said}; give the coordinates defaults that come close to "
            "the constraints: start={coordinate: value}"
        )
    return found, [Avoided(what, states) for what, states in aside.items()]


def _random_instant(motion: Motion, rng: np.random.Generator) -> Instant | None:
    """A random state near the defaults, moved onto the constraints by the least change; None where that fails."""
    e = motion.e
    t, u = float(rng.uniform(0.1, 1.0)), rng.normal(size=len(e.inputs))
    q = np.array([c.default for c in e.coordinates]) + rng.uniform(-_FAR, _FAR, len(e.coordinates))
    v = np.array([c.default for c in e.velocities]) + rng.uniform(-_FAST, _FAST, len(e.velocities))
    positions = [k for k, c in enumerate(e.constraints) if c.level == "position"]
    speeds = [k for k, c in enumerate(e.constraints) if c.level != "position"]

    def place(y: Reals) -> tuple[Reals, Reals]:
        reported = motion(t, y, v, u)
        return reported["values"][positions], reported["by_q"][positions]

    def moving(y: Reals) -> tuple[Reals, Reals]:
        reported = motion(t, q, y, u)
        return reported["values"][speeds], reported["by_v"][speeds]

    if isinstance(e.dynamics, DaeResidual):
        return Instant(t, q, v, q, u)  # a residual has a value anywhere
    q = _onto(place, q) if positions else q
    v = _onto(moving, v) if speeds and np.isfinite(q).all() else v
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        return None
    order = {velocity.name: i for i, velocity in enumerate(e.velocities)}
    x = np.concatenate([q, [v[order[name]] for name in e.independent], [s.default for s in e.extra_states]])
    instant = Instant(t, q, v, x, u)
    return replace(instant, v=reported_at(e, instant)["v"]) if len(v) else instant


def _onto(residual: Residual, y: Reals) -> Reals:
    """Newton's steps of least change onto residual(y) = 0; NaN where it does not arrive."""
    found = _ONTO.solve(residual, y, LeastNorm())
    return found.point.x if found.converged else np.full_like(y, np.nan)


# ---------------------------------------------------------------- conditioning


def solved_matrix(e: Equations, instant: Instant) -> Reals | None:
    """K of the linear system behind the accelerations, if there is one."""
    if not isinstance(e.dynamics, LinearSolveProgram):
        return None
    return e.dynamics.matrix_at([instant.t], instant.x, instant.u, e.default_parameters)


@dataclass(frozen=True, eq=False)
class Usual:
    """Equations, and of what size the entries of the linear system behind their accelerations usually are.

    A state is judged by these sizes, not by its own: where an angle loses its meaning its inertia vanishes, and a matrix scaled
    by its own entries would not show it.
    """

    e: Equations
    rows: Reals
    columns: Reals

    @staticmethod
    def of(e: Equations, instants: Sequence[Instant]) -> Usual:
        matrices = [solved_matrix(e, i) for i in instants]
        scales = [equilibrate(m, rounds=8)[1:] for m in matrices if m is not None and np.isfinite(m).all() and len(m)]
        if not scales:
            return Usual(e, np.ones(1), np.ones(1))
        rows, columns = (np.median([1.0 / scale[k] for scale in scales], axis=0) for k in (0, 1))
        return Usual(e, rows, columns)

    def condition(self, instant: Instant) -> float:
        """How much a state amplifies rounding: of the choice of velocities, or of the linear system that is solved there."""
        e = self.e
        if e.monitor is not None:
            return float(e.monitor([instant.t], instant.x, instant.u, e.default_parameters)[0][0])
        matrix = solved_matrix(e, instant)
        if matrix is None or not len(matrix):
            return 1.0
        return float(np.linalg.cond(self._scaled(matrix), 1)) if np.isfinite(matrix).all() else np.inf

    def _scaled(self, matrix: Reals) -> Reals:
        return matrix / (self.rows[:, None] * self.columns)

    def singular(self, instant: Instant) -> str:
        """What is singular at a state, or nothing."""
        e = self.e
        if instant.condition < (_POOR if e.monitor is not None else _SINGULAR) and np.isfinite(instant.v).all():
            return ""
        if e.causes is not None:
            values = e.causes([instant.t], instant.x, instant.u, e.default_parameters)[0]
            return str(e.causes.output("value").labels[int(np.nanargmax(values))])
        matrix = solved_matrix(e, instant)
        names = [*(v.name for v in e.velocities), *(m.name for m in e.multipliers)]
        if matrix is None or not np.isfinite(matrix).all() or len(names) != len(matrix):
            return "where the equations have no finite value"
        kernel = np.abs(np.linalg.svd(self._scaled(matrix))[2][-1])
        open_ = [name for name, share in zip(names, kernel, strict=True) if share > 0.3 * kernel.max()]
        return f"where the equations do not determine {', '.join(open_)}"
