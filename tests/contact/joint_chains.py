"""An independent judge of stops and dry friction: blocks in a row on springs, integrated by SciPy between located events.

The blocks slide along one line, each on the one before it, with friction F (static = kinetic) and stops of the relative
positions. Rest and slip follow from Gauß's principle: accelerations minimize ½ (a − a₀)ᵀ M (a − a₀) + Σ F |a| over joints at
rest, under a ≥ 0 at closed stops; in the dual this is a linear least-squares problem with bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import lsq_linear

import draisine as dr

REST = 1e-9  # m/s
CLOSED = 1e-10  # m
SLOW = 1e-6  # m/s, below which nothing bounces
EXCEEDED = 1e-6  # N, beyond the limit of friction: with the resulting acceleration the joint moves


@dataclass
class Chain:
    """Relative positions q of n blocks; springs to the ground of every block, gravity along the line."""

    masses: np.ndarray
    stiffness: np.ndarray
    gravity: float
    friction: np.ndarray
    low: np.ndarray
    high: np.ndarray
    restitution: float
    q: np.ndarray
    v: np.ndarray

    @staticmethod
    def random(rng: np.random.Generator) -> Chain:
        n = int(rng.integers(1, 4))
        low, high = -rng.uniform(0.05, 0.3, n), rng.uniform(0.05, 0.3, n)
        moving = rng.random(n) < 0.7
        return Chain(
            rng.uniform(0.5, 2.0, n),
            rng.uniform(20.0, 100.0, n),
            float(rng.uniform(-10, 10)),
            rng.uniform(0.0, 6.0, n) * (rng.random(n) < 0.8),
            low,
            high,
            float(rng.choice([0.0, 0.3, 0.7])),
            rng.uniform(0.9 * low, 0.9 * high),
            rng.normal(size=n) * moving,
        )

    @property
    def count(self) -> int:
        return len(self.masses)

    @property
    def mass(self) -> np.ndarray:
        n = self.count
        return np.array([[self.masses[max(i, j) :].sum() for j in range(n)] for i in range(n)])

    @property
    def sums(self) -> np.ndarray:
        """Absolute positions from relative ones."""
        return np.tril(np.ones((self.count, self.count)))

    def force(self, q: np.ndarray) -> np.ndarray:
        absolute = self.masses * self.gravity - self.stiffness * (self.sums @ q)
        return np.asarray(self.sums.T @ absolute)

    def model(self) -> dr.Model:
        m = dr.Model("chain")
        m.gravity((self.gravity, 0, 0))
        parent: object = "ground"
        for k in range(self.count):
            body = m.body(f"block{k}", mass=float(self.masses[k]))
            limits = (float(self.low[k]), float(self.high[k]))
            friction = float(self.friction[k]) if self.friction[k] else None
            m.prismatic(f"q{k}", parent, body, limits=limits, restitution=self.restitution, friction=friction)  # type: ignore[arg-type]
            m.spring(" + ".join(f"q{j}" for j in range(k + 1)), float(self.stiffness[k]), name=f"spring{k}")
            parent = body
        return m

    def start(self) -> dict[str, float]:
        found = {f"q{k}": float(x) for k, x in enumerate(self.q)}
        return found | {f"q{k}_rate": float(x) for k, x in enumerate(self.v)}


@dataclass
class Mode:
    """Signs of the slips (0 for rest), and signs of the closed stops: +1 lower, −1 upper, 0 none."""

    slip: np.ndarray
    stop: np.ndarray


def accelerations(chain: Chain, q: np.ndarray, v: np.ndarray, closed: np.ndarray) -> tuple[np.ndarray, Mode]:
    """At a state with some stops closed and at rest there: accelerations, and the mode in which the motion goes on."""
    n, mass = chain.count, chain.mass
    slip = np.where(np.abs(v) > REST, np.sign(v), 0.0)
    free = np.linalg.solve(mass, chain.force(q) - chain.friction * slip)
    rows, lower, upper = [], [], []
    for k in range(n):
        if slip[k] == 0.0 and chain.friction[k] > 0.0:
            rows.append(np.eye(n)[k])
            lower.append(-chain.friction[k])
            upper.append(chain.friction[k])
        if closed[k]:
            rows.append(closed[k] * np.eye(n)[k])
            lower.append(0.0)
            upper.append(np.inf)
    if rows:
        root = np.linalg.cholesky(mass)  # M = R Rᵀ
        b = np.linalg.solve(root, np.array(rows).T)
        forces = lsq_linear(b, -root.T @ free, bounds=(lower, upper), method="bvls", tol=1e-14).x
        free = free + np.linalg.solve(mass, np.array(rows).T @ forces)
    size = 0.01 * EXCEEDED * (1.0 + np.abs(free).max())
    slip = np.where(slip != 0.0, slip, np.where(np.abs(free) > size, np.sign(free), 0.0))
    stop = np.where((closed != 0) & (np.abs(free) <= size) & (np.abs(v) <= REST), closed, 0)
    return free, Mode(slip, stop)


@dataclass
class Judge:
    """Integration from event to event."""

    chain: Chain
    impacts: list[float] = field(default_factory=list)

    def forces(self, q: np.ndarray, mode: Mode) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations, and the forces that hold the joints at rest."""
        chain, n = self.chain, self.chain.count
        fixed = [k for k in range(n) if mode.stop[k] or (mode.slip[k] == 0 and chain.friction[k] > 0)]
        loads = chain.force(q) - chain.friction * mode.slip
        rows = np.eye(n)[fixed]
        system = np.block([[chain.mass, -rows.T], [rows, np.zeros((len(fixed), len(fixed)))]])
        solved = np.linalg.solve(system, np.concatenate([loads, np.zeros(len(fixed))]))
        every = np.zeros(n)
        every[fixed] = solved[n:]
        return solved[:n], every

    def run(self, until: float) -> tuple[np.ndarray, np.ndarray]:
        chain, n = self.chain, self.chain.count
        t, q, v = 0.0, chain.q.copy(), chain.v.copy()
        _, mode = accelerations(chain, q, v, np.zeros(n))
        for _ in range(400):

            def rates(_: float, x: np.ndarray, mode: Mode = mode) -> np.ndarray:
                return np.concatenate([x[n:], self.forces(x[:n], mode)[0]])

            def margin(_: float, x: np.ndarray, mode: Mode = mode) -> float:
                fixed = self.forces(x[:n], mode)[1]
                values = [1.0]
                for k in range(n):
                    if not mode.stop[k]:
                        values += [x[k] - chain.low[k] + CLOSED / 100, chain.high[k] - x[k] + CLOSED / 100]
                    if mode.slip[k] != 0 and chain.friction[k] > 0:
                        values.append(mode.slip[k] * x[n + k] + REST / 100)
                    elif chain.friction[k] > 0 or mode.stop[k]:
                        least, most = -chain.friction[k], chain.friction[k]
                        least, most = (
                            (least, np.inf) if mode.stop[k] > 0 else (-np.inf, most) if mode.stop[k] < 0 else (least, most)
                        )
                        values += [fixed[k] - least + EXCEEDED, most - fixed[k] + EXCEEDED]
                return min(values)

            margin.terminal, margin.direction = True, -1  # type: ignore[attr-defined]
            state = np.concatenate([q, v])
            if not margin(t, state) < 0:
                found = solve_ivp(rates, (t, until), state, "DOP853", events=margin, rtol=1e-12, atol=1e-14, max_step=0.01)
                t, state = float(found.t[-1]), found.y[:, -1]
                q, v = state[:n].copy(), state[n:].copy()
                if found.status == 0:
                    return q, v
            q = np.where(q - chain.low <= CLOSED, chain.low, np.where(chain.high - q <= CLOSED, chain.high, q))
            v = self.after_impact(t, q, v, mode)
            closed = np.where((q - chain.low <= CLOSED) & (v <= REST), 1, 0) - np.where(
                (chain.high - q <= CLOSED) & (v >= -REST), 1, 0
            )
            _, mode = accelerations(chain, q, v, closed)
            v[((np.abs(v) <= REST) & (chain.friction > 0)) | (mode.stop != 0)] = 0.0
        raise AssertionError("too many events")

    def after_impact(self, t: float, q: np.ndarray, v: np.ndarray, mode: Mode) -> np.ndarray:
        """Velocities after an impact of one stop; the stops that are closed take part (Moreau)."""
        chain = self.chain
        hits = np.where((q - chain.low <= CLOSED) & (v < -REST), 1, 0) - np.where((chain.high - q <= CLOSED) & (v > REST), 1, 0)
        if not hits.any():
            return v
        self.impacts.append(t)
        rows = [k for k in range(chain.count) if hits[k] or mode.stop[k]]
        normals = np.array([(hits[k] or mode.stop[k]) * np.eye(chain.count)[k] for k in rows])
        target = normals @ v
        e = chain.restitution if -target.min() > SLOW else 0.0
        root = np.linalg.cholesky(normals @ np.linalg.solve(chain.mass, normals.T))
        side = -np.linalg.solve(root, target + e * np.minimum(target, 0.0))
        forces = lsq_linear(root.T, side, bounds=(0, np.inf), method="bvls", tol=1e-14).x
        return np.asarray(v + np.linalg.solve(chain.mass, normals.T @ forces))
