"""Reference accelerations: the augmented system [M −Aᵀ; A 0] solved by pivoted elimination, with M from inverse dynamics.

It shares the constraint rows with the fast road but neither the reduction, nor the merging of rotors, nor the use of contact
velocities, nor the arrangement of the mass matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from draisine.dynamics.derive import derive
from draisine.dynamics.mechanism import Mechanism
from draisine.model.model import Model
from draisine.program.equations import Equations


@dataclass
class Brute:
    model: Model

    def __post_init__(self) -> None:
        self.mechanism = m = Mechanism(self.model.freeze())
        self.equations: Equations = derive(self.model)
        s = m.scope
        rows = m.matrix @ s.v
        self._rows = ca.Function("rows", [s.q, s.p], [ca.densify(m.matrix)])
        self._bias = ca.Function("bias", [s.q, s.v, s.p], [ca.densify(ca.jtimes(rows, s.q, m.measures.q_rate))])
        self._forces = ca.Function("forces", [s.t, s.q, s.v, s.u, s.p], [ca.densify(m.forces.total)])
        residual = ca.vertcat(*[r for _, r in m.position_constraints])
        self._residual = ca.Function("residual", [s.q, s.p], [residual, ca.densify(ca.jacobian(residual, s.q))])

    def settle(self, q: np.ndarray, p: np.ndarray, held: tuple[str, ...] = ()) -> np.ndarray:
        """q moved onto the position constraints by Newton steps of least change; held coordinates stay."""
        q = np.array(q, dtype=float)
        free = [i for i, name in enumerate(self.mechanism.scope.coordinates) if name not in held]
        for _ in range(60):
            r, j = (x.full() for x in self._residual(q, p))
            if r.size == 0 or np.abs(r).max() < 1e-14:
                break
            q[free] -= np.linalg.lstsq(j[:, free], r[:, 0], rcond=None)[0]
        return q

    def mass_and_bias(self, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix column by column from unit accelerations (Mauny et al. 2017, section 6.1), and h(q, v)."""
        inverse = self.equations.inverse_dynamics
        assert inverse is not None
        bias = inverse(q, v, np.zeros(v.size), p)[0]
        return np.column_stack([inverse(q, v, e, p)[0] - bias for e in np.eye(v.size)]), bias

    def accelerations(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ from the augmented system."""
        mass, bias = self.mass_and_bias(q, v, p)
        rows = self._rows(q, p).full()
        forces = self._forces(0.0, q, v, u, p).full()[:, 0]
        m = rows.shape[0]
        big = np.block([[mass, -rows.T], [rows, np.zeros((m, m))]])
        side = np.concatenate([forces - bias, -self._bias(q, v, p).full()[:, 0]])
        solved = np.linalg.solve(big, side)
        return solved[: v.size], solved[v.size :]


def reported(equations: Equations, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> dict[str, np.ndarray]:
    """The report at a state, by slot name."""
    return dict(zip((s.name for s in equations.report.outputs), equations.report([0.0], x, u, p), strict=True))


def quaternion(heading: float, lean: float, pitch: float) -> np.ndarray:
    """Turns about z, then x, then y, composed by quaternion products."""

    def about(axis: int, angle: float) -> np.ndarray:
        q = np.zeros(4)
        q[0], q[axis + 1] = np.cos(angle / 2), np.sin(angle / 2)
        return q

    def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])

    return times(times(about(2, heading), about(0, lean)), about(1, pitch))
