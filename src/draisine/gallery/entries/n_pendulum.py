"""A chain of n masses on massless rods, in Cartesian coordinates: 2 n coordinates, n constraints, nothing eliminated.

What it shows: the pendulum of Thomsen's lecture notes (2005, chapter 3), where the integration stops at the vertical, written
with the multipliers that the notes left out. No coordinate is singular anywhere. The rods couple only neighbors, so that the
augmented matrix of 3 n unknowns has some 10 n entries, and a step costs O(n).

What you should see: a chain released from the horizontal falls and moves chaotically; energy and rod lengths are conserved; the
same chain in n angles agrees until chaos has amplified the rounding differences, the sooner the longer the chain.

Axes: x to the side, z up. Rod k leads from mass k − 1 to mass k; its multiplier is its tension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.dynamics.augmented.second_order import SecondOrder, euler_lagrange
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.gallery.registry import Study, entry
from draisine.program.equations import Quantity, RunLimits
from draisine.program.linear_solve import Solver
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.run import integrate
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE

Array = NDArray[np.float64]

PARAMETERS = (
    Quantity("mass", "kg", "of each of them", 1.0),
    Quantity("length", "m", "of each rod", 1.0),
    Quantity("gravity", "m/s^2", "", 9.81),
)


def simple_pendulum() -> dr.Equations:
    """One mass on a rod in Cartesian coordinates (Thomsen 2005, chapter 3)."""
    return n_pendulum(1)


def cartesian_double_pendulum() -> dr.Equations:
    """Two masses on rods in Cartesian coordinates (Thomsen 2005, chapter 3)."""
    return n_pendulum(2)


def n_pendulum(masses: int = 10, solver: Solver = Solver.AUTO) -> dr.Equations:
    """A chain of masses on rods in Cartesian coordinates with one constraint per rod; it starts from the horizontal."""
    _check(masses)
    q, v, p = _symbols(2 * masses)
    mass, length, gravity = ca.vertsplit(p)
    place = ca.reshape(q, 2, masses)  # x and z of each mass
    rods = ca.diff(ca.horzcat(ca.SX.zeros(2, 1), place), 1, 1)
    short = (length**2 - ca.sum1(rods**2)) / (2 * length)  # by how much a rod is too short, about
    axes = [f"{axis}{k}" for k in range(1, masses + 1) for axis in "xz"]
    names = [f"rod{k}" for k in range(1, masses + 1)]
    system = SecondOrder(
        name=f"pendulum_of_{masses}",
        t=ca.SX.sym("t"),
        q=q,
        v=v,
        u=ca.SX(0, 1),
        p=p,
        coordinates=tuple(Quantity(n, "m", default=float(n[1:]) if n[0] == "x" else 0.0) for n in axes),
        velocities=tuple(Quantity(f"{n}_rate", "m/s") for n in axes),
        inputs=(),
        parameters=PARAMETERS,
        q_rate=v,
        mass=mass * ca.SX.eye(2 * masses),
        force=ca.repmat(ca.vertcat(0, -mass * gravity), masses, 1),
        driven=ca.SX(2 * masses, 1),
        kinetic=mass * ca.sumsqr(v) / 2,
        potential=mass * gravity * ca.sum2(place[1, :]),
        holonomic=list(zip(names, ca.horzsplit(short), strict=True)),
        constraint_units=dict.fromkeys(names, "m"),
    )
    return replace(augmented(system, solver=solver), limits=RunLimits(residual=1e-12))


def n_pendulum_by_angles(masses: int = 10) -> dr.Equations:
    """The same chain in the angles of its rods from the vertical: n coordinates, no constraint, a full mass matrix."""
    _check(masses)
    q, v, p = _symbols(masses)
    t = ca.SX.sym("t")
    mass, length, gravity = ca.vertsplit(p)
    place = ca.vertcat(length * ca.cumsum(ca.sin(q)).T, -length * ca.cumsum(ca.cos(q)).T)
    velocity = ca.jtimes(ca.vec(place), q, v)
    kinetic, potential = mass * ca.sumsqr(velocity) / 2, mass * gravity * ca.sum2(place[1, :])
    matrix, force = euler_lagrange(kinetic - potential, q, v, t)
    names = [f"angle{k}" for k in range(1, masses + 1)]
    axes = [f"{axis}{k}" for k in range(1, masses + 1) for axis in "xz"]
    system = SecondOrder(
        name=f"pendulum_of_{masses}_by_angles",
        t=t,
        q=q,
        v=v,
        u=ca.SX(0, 1),
        p=p,
        coordinates=tuple(Quantity(n, "rad", default=np.pi / 2) for n in names),
        velocities=tuple(Quantity(f"{n}_rate", "rad/s") for n in names),
        inputs=(),
        parameters=PARAMETERS,
        q_rate=v,
        mass=matrix,
        force=force,
        driven=ca.SX(masses, 1),
        kinetic=kinetic,
        potential=potential,
        outputs=[(Quantity(n, "m"), e) for n, e in zip(axes, ca.vertsplit(ca.vec(place)), strict=True)],
    )
    return augmented(system)


def _check(masses: int) -> None:
    if masses < 1:
        raise dr.errors.ArgumentError(f"a pendulum needs at least one mass, got {masses}")


def _symbols(count: int) -> tuple[ca.SX, ca.SX, ca.SX]:
    return ca.SX.sym("q", count), ca.SX.sym("v", count), ca.SX.sym("p", len(PARAMETERS))


# ---------------------------------------------------------------- released from the horizontal


@dataclass(frozen=True)
class Kept:
    """Conservation errors of a chain of unit masses and rods over all steps of a run."""

    masses: int
    steps: int
    energy: float  # largest change, as a part of Σ m g l
    length: float  # largest error of a rod, in meters
    crossings: int  # how often a rod passed the vertical, downwards or upwards


def kept(masses: int, until: float = 60.0, tolerance: float = 1e-9, solver: Solver = Solver.AUTO) -> Kept:
    """Release a chain from the horizontal and check every step."""
    equations = n_pendulum(masses, solver)
    start = [s.default for s in equations.states]
    run = integrate(prepare(equations), start, until, method=dr.methods.DOP853(rtol=tolerance, atol=tolerance))
    assert run.status.complete, run.status
    gravity = equations.default_parameters[2]
    place, velocity = (part.reshape(-1, masses, 2) for part in np.hsplit(run.states, 2))
    energy = (velocity**2).sum((1, 2)) / 2 + gravity * place[:, :, 1].sum(1)
    rods = np.diff(place, axis=1, prepend=0.0)
    return Kept(
        masses,
        run.accepted,
        float(np.abs(energy - energy[0]).max() / (masses * gravity)),
        float(np.abs(np.hypot(rods[:, :, 0], rods[:, :, 1]) - 1.0).max()),
        int(np.count_nonzero(np.diff(np.sign(rods[:, :, 0]), axis=0))),
    )


@entry(level="Intermediate")
def n_pendulum_falls(until: float = 60.0, chains: Sequence[int] = (1, 2, 5, 20)) -> Study:
    """Chains of masses fall from the horizontal and pass the vertical; the same chains in angles agree until chaos separates
    them."""
    checks = [kept(masses, until) for masses in chains]
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-12)
    seconds = min(until, 30.0)
    runs, apart = {}, {}
    for masses in chains:
        run = dr.simulate(n_pendulum(masses), seconds, method=method)
        other = dr.simulate(n_pendulum_by_angles(masses), seconds, method=method)
        tips = [np.column_stack([r[f"x{masses}"], r[f"z{masses}"]]) for r in (run, other)]
        runs[f"pendulum_of_{masses}"] = run
        apart[masses] = run.time, np.linalg.norm(tips[0] - tips[1], axis=1)

    for check in checks:
        assert check.energy < 1e-7, check
        assert check.length < 1e-12, check
        assert check.crossings > 0, check
    for masses, (time, distance) in apart.items():
        assert distance[time <= 5.0].max() < 1e-6, (masses, distance[time <= 5.0].max())

    figures = {"chain": _snapshots(runs[f"pendulum_of_{chains[-1]}"], chains[-1]), "apart": _distances(apart)}
    findings = [
        f"{_counted(c.masses)}, {until:g} s at 1e-9: {c.steps} steps, verticals passed {c.crossings} times, energy within "
        f"{c.energy:.1e} of Σ m g l, rods to {c.length:.1e} m"
        for c in checks
    ]
    findings += [f"{_counted(masses)}: 1 mm from the chain in angles after {_first(*found)}" for masses, found in apart.items()]
    return Study("A chain of masses falls", runs, figures, tuple(findings))


def _counted(masses: int) -> str:
    return f"{masses} masses" if masses > 1 else "1 mass"


def _first(time: Array, distance: Array, limit: float = 1e-3) -> str:
    above = np.flatnonzero(distance > limit)
    return f"{time[above[0]]:.1f} s" if above.size else f"more than {time[-1]:g} s"


def _snapshots(run: dr.Trajectory, masses: int) -> Any:
    x, z = (np.column_stack([np.zeros(len(run.time)), *(run[f"{axis}{k + 1}"] for k in range(masses))]) for axis in "xz")
    with single_panel("x [m]", "z [m]", height=0.7 * PAGE, equal=True) as (drawing, axes):
        for moment in np.arange(0.0, min(3.5, run.time[-1]) + 1e-9, 0.5):
            k = int(np.argmin(np.abs(run.time - moment)))
            axes.plot(x[k], z[k], ".-", markersize=3, linewidth=0.8, label=f"{moment:g} s")
    return drawing


def _distances(apart: dict[int, tuple[Array, Array]]) -> Any:
    with single_panel("time [s]", "distance of the tips [m]", height=0.45 * PAGE) as (drawing, axes):
        for masses, (time, distance) in apart.items():
            axes.semilogy(time, np.maximum(distance, 1e-16), label=_counted(masses))
    return drawing
