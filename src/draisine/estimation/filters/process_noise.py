"""Process noise: white noise on inputs and on states, and its input matrix B.

For ẋ = f, B = ∂f/∂u. For 0 = F(t, x, ẋ, u, p), with E = ∂F/∂ẋ and all implied constraints c(t, x, u) = 0, a short pulse of an
input changes the algebraic unknowns (such as multipliers) instantaneously by J, and the differential ones by B:

    E J = 0,  c_x J + c_u = 0    (the jump of the unknowns with the input; E x does not jump),
    E B = −(F_x J + F_u),  c_x B = 0.

If no such J exists, states would follow the noise directly with infinite variance: this is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import ArgumentError, ModelError
from draisine.estimation.tangent_coordinates import named_deviations
from draisine.expr.expression import did_you_mean
from draisine.numerics.newton_batch import BatchNewton, LeastNormSteps
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.variational import Direction, split, vary
from draisine.stability.batch_evaluation import BatchProgram, program_without_cse

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

NEWTON = BatchNewton(step_tolerance=1e-12, max_iterations=12)  # for rates
FITS = 1e-7  # relative residual above which a linear system counts as inconsistent
DEPENDENT = 1e-9  # relative singular value that counts as zero


def independent_states(equations: Equations) -> NDArray[np.bool_]:
    """Mask of the states that determine the others: without bookkeeping (accumulated work) and algebraic unknowns."""
    own = len(equations.coordinates) + len(equations.independent)
    found = np.arange(len(equations.states)) < own
    if isinstance(equations.dynamics, DaeResidual):
        found &= np.array(equations.dynamics.differential)
    return found


@dataclass(frozen=True, eq=False)
class Noise:
    """White noise on inputs and states, by name. Its sizes are square roots of spectral densities."""

    equations: Equations
    inputs: tuple[str, ...]
    states: tuple[str, ...]
    sizes: Reals  # inputs, then states

    @staticmethod
    def of(equations: Equations, process: Mapping[str, float]) -> Noise:
        """Process noise from the user's arguments, checked."""
        inputs, states = [q.name for q in equations.inputs], [q.name for q in equations.states]
        counts = dict(zip(states, independent_states(equations).tolist(), strict=True))
        for name, size in process.items():
            if name not in (*inputs, *states):
                raise ArgumentError(
                    f"process: {equations.name} has no input or state {name!r}{did_you_mean(name, [*inputs, *states])}; of its "
                    f"velocities {', '.join(equations.independent) or 'none'} are states"
                )
            if name not in inputs and not counts[name]:
                moving = ", ".join(n for n, c in counts.items() if c)
                raise ArgumentError(
                    f"process: {name!r} follows from the other states at every instant; put noise on inputs, or on {moving}"
                )
            if not (isinstance(size, int | float | np.number) and np.isfinite(size) and size >= 0.0):
                raise ArgumentError(f"process: the noise on {name!r} must be a number that is not negative, got {size!r}")
        on_inputs = tuple(n for n in process if n in inputs)
        on_states = tuple(n for n in process if n not in inputs)
        return Noise(equations, on_inputs, on_states, np.array([float(process[n]) for n in (*on_inputs, *on_states)]))

    def __bool__(self) -> bool:
        return bool(np.any(self.sizes > 0.0))

    def input_matrix(self, t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
        """B at given times, (times, states, sources)."""
        count = len(self.equations.states)
        found = np.zeros((len(t), count, len(self.sizes)))
        if self.inputs and isinstance(self.equations.dynamics, DaeResidual):
            found[:, :, : len(self.inputs)] = _ImplicitNoise(self.equations, self.inputs).at(t, x, u, p)
        elif self.inputs:
            kernel = _by_inputs(self.equations, self.inputs)
            wide = np.hstack([x, np.zeros((len(t), count * len(self.inputs)))])
            found[:, :, : len(self.inputs)] = split(kernel.map(t[:, None], wide, u, p)[0], count, len(self.inputs))[1]
        names = [q.name for q in self.equations.states]
        for j, name in enumerate(self.states):
            found[:, names.index(name), len(self.inputs) + j] = 1.0
        return found * self.sizes


@lru_cache(maxsize=32)
def _by_inputs(equations: Equations, names: tuple[str, ...]) -> Kernel:
    """(t, (x, 0), u, p) → f and ∂f/∂u of the inputs named."""
    indices = [q.name for q in equations.inputs]
    return compile(vary(equations.explicit, [Direction(n, "u", indices.index(n)) for n in names], {"xdot"}))


# ------------------------------------------------------------------------------------------------------------- 0 = F


@lru_cache(maxsize=32)
def _implicit_programs(equations: Equations, names: tuple[str, ...]) -> BatchProgram:
    """(t, x, ẋ, u, p) → F, E, F_x, F_u, and of the constraints c_x, c_t, c_u."""
    assert isinstance(equations.dynamics, DaeResidual)
    d, indices = named_deviations(equations, ()), [q.name for q in equations.inputs]
    rate, c = ca.SX.sym("xdot", d._x.numel()), d._motion[0]
    (residual,) = equations.dynamics.residual.function.call([d._t, d._x, rate, d._u, d._p])
    pushed = ca.vertcat(*[d._u[indices.index(n)] for n in names])
    results = {
        "residual": residual,
        "by_rate": ca.jacobian(residual, rate),
        "by_state": ca.jacobian(residual, d._x),
        "by_input": ca.jacobian(residual, pushed),
        "along": ca.jacobian(c, d._x),
        "in_time": ca.jacobian(c, d._t),
        "with_input": ca.jacobian(c, pushed),
    }
    return BatchProgram(
        program_without_cse(f"{equations.name}_pushed", {"t": d._t, "x": d._x, "xdot": rate, "u": d._u, "p": d._p}, results)
    )


@dataclass(frozen=True, eq=False)
class _ImplicitNoise:
    """Input matrix of noise for 0 = F."""

    equations: Equations
    names: tuple[str, ...]

    def at(self, t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
        """B at given times, (times, unknowns, inputs)."""
        given = np.broadcast_to(p, (len(t), len(p)))
        _, e, by_state, by_input, along, _, with_input = self._at_rates(t, x, u, given)
        nothing = np.zeros((len(t), e.shape[1], len(self.names)))
        jump = self._solved(np.concatenate([e, along], axis=1), np.concatenate([nothing, -with_input], axis=1))
        push = -(by_state @ jump + by_input)
        still = np.zeros((len(t), along.shape[1], len(self.names)))
        return self._solved(np.concatenate([e, along], axis=1), np.concatenate([push, still], axis=1))

    def _at_rates(self, t: Reals, x: Reals, u: Reals, p: Reals) -> list[Reals]:
        """All derivatives at the rates of the motion, from F and the constraints that do not depend on these inputs."""
        program, latest = _implicit_programs(self.equations, self.names), list[Reals]()

        def evaluate(rate: Reals, indices: Indices) -> tuple[Reals, Reals]:
            latest[:] = program(t[:, None], x, rate, u, p)
            residual, e, _, _, along, in_time, with_input = latest
            fixed = ~(np.abs(with_input).max(axis=2, initial=0.0) > 0.0)[..., None]
            miss = np.concatenate([residual, (in_time + along @ rate[..., None]) * fixed], axis=1)
            return miss[indices, :, 0], np.concatenate([e, along * fixed], axis=1)[indices]

        if NEWTON.solve(evaluate, np.zeros_like(x), LeastNormSteps(DEPENDENT)).converged.all():
            return latest
        raise ModelError(
            f"{self.equations.name}: its rates could not be solved from 0 = F at t = {t[0]:g} s, so that noise on "
            f"{', '.join(self.names)} is not supported; reduce its index (reduce_index), or put noise on states"
        )

    def _solved(self, matrix: Reals, side: Reals) -> Reals:
        """The solution of a consistent overdetermined system."""
        scale = np.linalg.norm(matrix, axis=2, keepdims=True)
        scale = np.where(scale > 0.0, scale, 1.0)
        matrix, side = matrix / scale, side / scale
        found = np.linalg.pinv(matrix, rcond=DEPENDENT) @ side
        missed = np.abs(matrix @ found - side).max(axis=(0, 1), initial=0.0)
        for name, miss, size in zip(self.names, missed, np.abs(side).max(axis=(0, 1), initial=0.0), strict=True):
            if miss > FITS * size:
                raise ModelError(
                    f"process: {self.equations.name}: states follow the input {name!r} at once, through constraints that it "
                    "moves; white noise on it would make them infinitely uncertain; make it a state, and put noise on its rate"
                )
        return np.asarray(found)
