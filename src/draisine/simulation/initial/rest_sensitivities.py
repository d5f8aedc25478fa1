"""Derivatives of velocities at rest: the hierarchical least squares of `rest_velocities`, differentiated.

With the rows A z = b of constraints and targets and the groups G z + c, in the scaled changes z,

    z₀ = A⁺b,   P₀ = 1 − A⁺A,   Mₖ = Gₖ Pₖ₋₁,   zₖ = zₖ₋₁ − Mₖ⁺(Gₖ zₖ₋₁ + cₖ),   Pₖ = Pₖ₋₁ − Mₖ⁺Mₖ,

and for a matrix of constant rank (Golub & Pereyra 1973)

    dM⁺ = −M⁺ dM M⁺ + M⁺M⁺ᵀ dMᵀ (1 − MM⁺) + (1 − M⁺M) dMᵀ M⁺ᵀM⁺.

Rows that are not linear in the velocities are linearized at the solution, z = Φ(θ, z); then dz = (1 − ∂Φ/∂z)⁻¹ ∂Φ/∂θ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from draisine.numerics.rank import decompose
from draisine.simulation.initial.evaluation import Indices, Reals, Variables
from draisine.simulation.initial.memory import RANK
from draisine.simulation.initial.problem import Given, StartProblem
from draisine.simulation.initial.rest_groups import Group
from draisine.simulation.initial.rest_velocities import DECIDED
from draisine.simulation.initial.solver import ResidualSystem

REPLAYED = 1e-9  # relative difference from the start's velocities above which the groups were not set to rest as here


@dataclass(frozen=True, eq=False)
class Change:
    """A direction: changes of coordinates, inputs and parameters, of prescribed velocities and targets, of scales and length.

    In 0 = F(t, x, ẋ), whose unknowns are all coordinates, those of velocities and forces are zero in `q`.
    """

    q: Reals
    u: Reals
    p: Reals
    reference: Reals  # of prescribed velocities
    target: Reals  # of the rows
    scale: Reals
    length: float


@dataclass(frozen=True, eq=False)
class ValuesAlong:
    """Values of a start, their Jacobian by the unknowns, and the derivatives of both along a direction; zero where not needed."""

    problem: StartProblem
    of: Variables  # the unknowns
    needed: tuple[int, ...]  # values

    @cached_property
    def _program(self) -> tuple[ca.Function, bool]:
        """(t, q, v, u, p, directions of q, v, u, p) → values, ∂/∂y, and their derivatives; whether ∂/∂y depends on y."""
        motion = self.problem.values_program()
        symbols = dict(zip((slot.name for slot in motion.inputs), motion.symbols(), strict=True))
        (every,) = motion.function.call(list(symbols.values()))
        values = every[list(self.needed)] if self.needed else ca.SX(0, 1)
        moved = {name: ca.SX.sym(f"d{name}", symbols[name].numel()) for name in ("q", "v", "u", "p")}
        along = sum((ca.jtimes(values, symbols[name], change) for name, change in moved.items()), ca.SX(values.numel(), 1))
        by_y = ca.jacobian(values, symbols[self.of])
        results = [values, by_y, along, ca.jacobian(along, symbols[self.of])]
        found = ca.Function("values_along", [*symbols.values(), *moved.values()], [ca.densify(r) for r in results])
        return found, bool(by_y.nnz()) and bool(ca.depends_on(by_y.nz[:], symbols[self.of]))

    @property
    def curved(self) -> bool:
        """Whether any value is not linear in the unknowns."""
        return self._program[1]

    def __call__(self, at: Sequence[Reals], moved: Sequence[Reals]) -> tuple[Reals, Reals, Reals, Reals]:
        """`at` are (t, q, v, u, p), `moved` changes of (q, v, u, p)."""
        found = []
        for part in self._program[0](*at, *moved):
            whole = np.zeros((len(self.problem.names), part.shape[1]))
            whole[list(self.needed)] = np.array(part)
            found.append(whole)
        values, by_y, along, by_y_along = found
        return values[:, 0], by_y, along[:, 0], by_y_along


@dataclass(frozen=True, eq=False)
class RestSensitivity:
    """Velocities set to rest, at their solution: among the unknowns of `system`, its columns."""

    system: ResidualSystem
    along: ValuesAlong
    given: Given
    q: Reals
    v: Reals

    @property
    def _unknowns(self) -> Reals:
        return self.q if self.system.of == "q" else self.v

    def columns(self, changes: Sequence[Change]) -> Reals | None:
        """∂y in every direction; None where the start followed other rules (a bound on velocities, rows from the report)."""
        system, y = self.system, self._unknowns
        if system.linear is not None:
            return None
        scale = system.scale[system.columns]
        z = (y - system.reference)[system.columns] / scale
        none = np.zeros(len(y))
        found = [self._differentiated(z, change, none) for change in changes]
        largest = float((np.abs(y) / system.scale)[system.columns].max(initial=0.0))
        if any(not np.abs(one - z).max(initial=0.0) <= REPLAYED * largest for one, _ in found):
            return None
        by_theta = np.array([dz for _, dz in found]).reshape(len(changes), len(z)).T
        if self.along.curved and len(z):
            _, u, p = self.given
            q0, u0, p0, y0, target0 = (np.zeros_like(x) for x in (self.q, u, p, y, system.target))
            still = Change(q0, u0, p0, y0, target0, y0, 0.0)
            units = np.zeros((len(z), len(y)))
            units[np.arange(len(z)), system.columns] = scale
            by_z = np.array([self._differentiated(z, still, unit)[1] for unit in units]).T
            by_theta = np.linalg.solve(np.eye(len(z)) - by_z, by_theta)
        columns = np.array([np.where(system.free, 0.0, change.reference) for change in changes]).reshape(len(changes), -1).T
        columns[system.columns] = scale[:, None] * by_theta
        columns[system.columns] += np.array([change.scale[system.columns] * z for change in changes]).reshape(len(changes), -1).T
        return columns

    def _differentiated(self, z: Reals, change: Change, linearized: Reals) -> tuple[Reals, Reals]:
        """z as the groups give it, and its derivative in a direction; `linearized` moves where the rows are linearized."""
        system, (t, u, p) = self.system, self.given
        free, at = system.columns, (np.array([t]), self.q, self.v, u, p)
        values, by_v, along, by_v_along = self.along(at, (change.q, np.zeros_like(self.v), change.u, change.p))
        if linearized.any():
            q, v = (linearized, np.zeros_like(self.v)) if system.of == "q" else (np.zeros_like(self.q), linearized)
            by_v_along = self.along(at, (q, v, np.zeros_like(u), np.zeros_like(p)))[3]
        scale, stretched = system.scale[free], change.scale[free]
        dy = np.where(system.free, 0.0, change.reference)  # at constant z
        dy[free] = stretched * z

        def rows_of(which: Indices) -> tuple[Reals, Reals]:
            """Rows by z, and their derivative."""
            return by_v[which][:, free] * scale, by_v_along[which][:, free] * scale + by_v[which][:, free] * stretched

        take = system.layout.take
        a, da = rows_of(take)
        residual, moved = values[take] - system.target, along[take] + by_v[take] @ dy - change.target
        lengths = np.linalg.norm(by_v[take] * system.scale, axis=1)
        kept = np.linalg.norm(a, axis=1) > RANK * lengths  # others are determined by prescribed velocities
        a, da, residual, moved = a[kept], da[kept], residual[kept], moved[kept]
        inverse, d_inverse = _pseudo_inverse(a, da, a, RANK)
        x, dx = inverse @ (a @ z - residual), d_inverse @ (a @ z - residual) + inverse @ (da @ z - moved)
        null, d_null = np.eye(len(z)) - inverse @ a, -(d_inverse @ a + inverse @ da)

        rest, away = system.rest_rows(), self._unknowns - system.default
        places = np.searchsorted(free, rest.unknown)
        for group in np.unique(rest.group):
            own = np.flatnonzero(rest.group == group)
            g, dg = np.zeros((len(own), len(z))), np.zeros((len(own), len(z)))
            c, dc = np.zeros(len(own)), np.zeros(len(own))
            for i, k in enumerate(own):
                if rest.unknown[k] >= 0:
                    g[i, places[k]] = 1.0
                    continue
                value = rest.value[k]
                g[i], dg[i] = (part[0] for part in rows_of(np.array([value])))
                slip = group == Group.SLIP
                c[i] = (values[value] if slip else by_v[value] @ away) - g[i] @ z
                dc[i] = (along[value] if slip else by_v_along[value] @ away) + by_v[value] @ dy - dg[i] @ z
                if rest.in_meters[k]:
                    dg[i], dc[i] = (
                        (d - part * change.length / system.length) / system.length for d, part in ((dg[i], g[i]), (dc[i], c[i]))
                    )
                    g[i], c[i] = g[i] / system.length, c[i] / system.length
            m, dm = g @ null, dg @ null + g @ d_null
            inverse, d_inverse = _pseudo_inverse(m, dm, g, DECIDED)
            off, d_off = g @ x + c, dg @ x + g @ dx + dc
            x, dx = x - inverse @ off, dx - d_inverse @ off - inverse @ d_off
            null, d_null = null - inverse @ m, d_null - d_inverse @ m - inverse @ dm
        return x, dx


def _pseudo_inverse(m: Reals, dm: Reals, rows: Reals, rtol: float) -> tuple[Reals, Reals]:
    """M⁺ and its derivative. The rank is that of M with its rows divided by the lengths of `rows`."""
    lengths = np.linalg.norm(rows, axis=1)
    relative = m / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    rank = decompose(relative, 0.0, rtol).rank
    parts = decompose(m)
    left, values, right = parts.left[:, :rank], parts.values[:rank], parts.right[:rank]
    inverse = (right.T / values) @ left.T
    beside = dm.T - (dm.T @ left) @ left.T
    within = dm.T - right.T @ (right @ dm.T)
    return inverse, -inverse @ dm @ inverse + inverse @ inverse.T @ beside + within @ inverse.T @ inverse
