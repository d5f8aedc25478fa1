"""A time-stepping judge of rigid contact: the θ-method of Moreau and Jean, first order, without a single event.

Velocities and impulses of a step solve M (v⁺ − v) = h f + Wᵀ P with Newton's law and Coulomb's cone for the contacts whose
predicted gap is closed. `gauss_seidel` solves that contact by contact (projected onto the cone), `exact` tries all modes.
It shares with the event-driven judge the description of a scene, and nothing of how a motion is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from complementarity import Law, solutions
from numpy.typing import NDArray
from rigid_scene import Scene

Array = NDArray[Any]
Solver = Literal["exact", "gauss_seidel"]


@dataclass(frozen=True)
class Path:
    """States at the ends of the steps, and the sum of the impulses of every contact (normal first)."""

    t: Array
    q: Array
    v: Array
    impulses: dict[str, Array]


def gauss_seidel(G: Array, c: Array, laws: list[Law], start: Array, sweeps: int = 10_000, tolerance: float = 1e-14) -> Array:
    """Projected Gauss–Seidel for ξ = G λ + c: normal part projected onto λₙ ≥ 0, tangential part onto the disk μ λₙ."""
    force = start.copy()
    starts = np.cumsum([0] + [1 + law.size for law in laws])
    scale = np.abs(c).max(initial=0.0) + 1e-300
    for _ in range(sweeps):
        before = force.copy()
        for k, law in enumerate(laws):
            n, rows = starts[k], slice(starts[k] + 1, starts[k + 1])
            force[n] = max(0.0, force[n] - (G[n] @ force + c[n]) / G[n, n])
            if law.size:
                block = G[rows, rows]
                step = 1.0 / np.linalg.eigvalsh(block)[-1]
                for _inner in range(1 if law.size == 1 else 20):
                    trial = force[rows] - step * (G[rows] @ force + c[rows])
                    size, limit = float(np.linalg.norm(trial)), law.kinetic * force[n] if force[n] > 0 else 0.0
                    force[rows] = trial if size <= limit else trial * (limit / size)
        if np.abs(G @ (force - before)).max(initial=0.0) <= tolerance * scale:
            return force
    raise RuntimeError(f"projected Gauss–Seidel has not converged in {sweeps} sweeps")


def exact(G: Array, c: Array, laws: list[Law]) -> Array:
    """The impulse by trying all modes; of several solutions the first, sticking before slipping."""
    found = solutions(G, c, laws, enough=1)
    if not found:
        raise RuntimeError("the problem of a step has no solution")
    return found[0].multipliers


def step(
    scene: Scene, t: float, q: Array, v: Array, h: float, theta: float, solver: Solver
) -> tuple[Array, Array, dict[int, Array]]:
    """One step: state after it and impulses of the contacts that were active."""
    middle = q + 0.5 * h * v
    inverse = np.linalg.inv(scene.mass(middle))
    active = [i for i, contact in enumerate(scene.contacts) if contact.opening(t + 0.5 * h, middle) <= 0]
    sizes = scene.sizes(active, middle)
    starts = np.cumsum([0] + [1 + size for size in sizes])
    W, u, _ = scene.contact_rows(t + 0.5 * h, middle, v, active)
    drift = u - W @ v  # of moving ground
    G, projected = W @ inverse @ W.T, inverse @ W.T
    laws = [Law(size, *scene.contacts[i].friction) for i, size in zip(active, sizes, strict=True)]
    after, impulse, free = v, np.zeros(len(u)), np.full(len(v), np.nan)
    for _ in range(5):  # f at the mean velocity: the fixed point of a contraction by h
        last, free = free, v + h * inverse @ scene.force(t + theta * h, middle, (1 - theta) * v + theta * after)
        if np.abs(free - last).max() <= 1e-14 * np.abs(free).max():
            break
        if active:
            c = W @ free + drift
            for i, size, at in zip(active, sizes, starts, strict=False):
                contact = scene.contacts[i]
                c[at] += contact.restitution * min(u[at], 0.0)
                c[at + 1 : at + 1 + size] += contact.tangential_restitution * u[at + 1 : at + 1 + size]
            impulse = exact(G, c, laws) if solver == "exact" else gauss_seidel(G, c, laws, impulse)
        after = free + projected @ impulse
    forces = {i: impulse[starts[k] : starts[k + 1]] for k, i in enumerate(active)}
    return q + h * ((1 - theta) * v + theta * after), after, forces


def simulate(
    scene: Scene, q: Any, v: Any, until: float, steps: int, *, theta: float = 0.5, solver: Solver = "exact", t: float = 0.0
) -> Path:
    """Runs a scene in equal steps."""
    q, v = np.array(q, dtype=float), np.array(v, dtype=float)
    h = (until - t) / steps
    totals: dict[str, Array] = {}
    times, positions, velocities = [t], [q], [v]
    for k in range(steps):
        q, v, forces = step(scene, t + k * h, q, v, h, theta, solver)
        for i, force in forces.items():
            name = scene.contacts[i].name
            totals[name] = totals.get(name, np.zeros(len(force))) + force
        times.append(t + (k + 1) * h)
        positions.append(q)
        velocities.append(v)
    return Path(np.array(times), np.array(positions), np.array(velocities), totals)
