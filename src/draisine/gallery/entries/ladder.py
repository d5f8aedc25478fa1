"""A rope ladder of rigid links in maximal coordinates: every pin has two constraints, and every cell is a loop.

What it shows: maximal coordinates for a mechanism full of loops. A cell has two rails and a rung, hinged at their ends: 9
coordinates and 8 constraints, so that n cells have n degrees of freedom. No loops are cut and no coordinates chosen; the matrix
of 17 n unknowns is sparse, and the cost of a step grows in proportion to n.

What you should see: released from a slant, the ladder swings like a rope, its rungs staying level, since every cell is a
parallelogram. The same ladder in n angles has the same motion.

Axes: x to the side, z up. Rail angles are measured from hanging down, rung angles from level. Where a rail is level, a cell has
a bifurcation of its configuration and its constraints are dependent; the motion stays below that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

import draisine as dr
from draisine.dynamics.augmented.second_order import SecondOrder, euler_lagrange
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.gallery.registry import Study, entry
from draisine.program.equations import Quantity, RunLimits
from draisine.program.linear_solve import Solver
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import FAINT, INK, PAGE
from draisine.view.plots.trajectories import channel_figure

PARAMETERS = (
    Quantity("m_rail", "kg", "of each rail", 0.2),
    Quantity("m_rung", "kg", "of each rung", 0.5),
    Quantity("l_rail", "m", "between the pins of a rail", 0.3),
    Quantity("l_rung", "m", "between the pins of a rung", 0.4),
    Quantity("gravity", "m/s^2", "", 9.81),
)
SLANT = 0.5  # rad, at the start
LINKS = ("left", "right", "rung")


def ladder(cells: int = 5, solver: Solver = Solver.AUTO) -> dr.Equations:
    """A hanging ladder of hinged rigid links in maximal coordinates; every cell is a closed loop."""
    _check(cells)
    bodies = [f"{link}{k}" for k in range(1, cells + 1) for link in LINKS]
    q, v, p = (ca.SX.sym(name, size) for name, size in (("q", 9 * cells), ("v", 9 * cells), ("p", len(PARAMETERS))))
    m_rail, m_rung, l_rail, l_rung, gravity = ca.vertsplit(p)
    rail, rung = (ca.vertcat(m, m, m * length**2 / 12) for m, length in ((m_rail, l_rail), (m_rung, l_rung)))
    masses = ca.repmat(ca.vertcat(rail, rail, rung), cells, 1)
    heights = ca.repmat(ca.DM([0, 1, 0]), 3 * cells, 1)
    pins = list(_pins(cells, {body: q[3 * i : 3 * i + 3] for i, body in enumerate(bodies)}, l_rail, l_rung))
    rows = [(f"{name}_{axis}", gap[i]) for name, gap in pins for i, axis in enumerate("xz")]
    start = _start(cells)
    names = [f"{body}_{part}" for body in bodies for part in ("x", "z", "angle")]
    units = {"x": "m", "z": "m", "angle": "rad"}
    unit = [units[name.rpartition("_")[2]] for name in names]
    system = SecondOrder(
        name=f"ladder_of_{cells}",
        t=ca.SX.sym("t"),
        q=q,
        v=v,
        u=ca.SX(0, 1),
        p=p,
        coordinates=tuple(Quantity(n, u, default=start[n]) for n, u in zip(names, unit, strict=True)),
        velocities=tuple(Quantity(f"{n}_rate", f"{u}/s") for n, u in zip(names, unit, strict=True)),
        inputs=(),
        parameters=PARAMETERS,
        q_rate=v,
        mass=ca.diag(masses),
        force=-gravity * masses * heights,
        driven=ca.SX(9 * cells, 1),
        kinetic=ca.dot(masses, v**2) / 2,
        potential=gravity * ca.dot(masses * heights, q),
        holonomic=rows,
        constraint_units=dict.fromkeys((name for name, _ in rows), "m"),
    )
    return replace(augmented(system, solver=solver), limits=RunLimits(residual=1e-12))


def _pins(cells: int, place: dict[str, ca.SX], l_rail: ca.SX, l_rung: ca.SX) -> Iterator[tuple[str, ca.SX]]:
    """Every pin with the gap between the two ends that it connects."""

    def end(body: str, length: ca.SX, along: ca.SX) -> ca.SX:
        return place[body][:2] + length / 2 * along

    hooks = {"left": ca.SX([0, 0]), "right": ca.vertcat(l_rung, 0)}
    for k in range(1, cells + 1):
        level = place[f"rung{k}"][2]
        across = ca.vertcat(ca.cos(level), ca.sin(level))
        for side, sign in (("left", -1), ("right", 1)):
            angle = place[f"{side}{k}"][2]
            down = ca.vertcat(ca.sin(angle), -ca.cos(angle))
            below = end(f"rung{k}", l_rung, sign * across)
            yield f"{side}{k}_above", end(f"{side}{k}", l_rail, -down) - hooks[side]
            yield f"{side}{k}_below", end(f"{side}{k}", l_rail, down) - below
            hooks[side] = below


def _start(cells: int) -> dict[str, float]:
    """Every rail on the slant, every rung level."""
    length, width = (p.default for p in PARAMETERS[2:4])
    down = length * np.array([np.sin(SLANT), -np.cos(SLANT)])
    found: dict[str, float] = {}
    for k in range(1, cells + 1):
        for link, place, angle in (
            ("left", (k - 0.5) * down, SLANT),
            ("right", (k - 0.5) * down + [width, 0.0], SLANT),
            ("rung", k * down + [width / 2, 0.0], 0.0),
        ):
            found |= {f"{link}{k}_x": float(place[0]), f"{link}{k}_z": float(place[1]), f"{link}{k}_angle": angle}
    return found


def ladder_by_angles(cells: int = 5) -> dr.Equations:
    """The same ladder in the slants of its cells, with level rungs by construction: n coordinates, no constraint."""
    _check(cells)
    q, v, p = (ca.SX.sym(name, size) for name, size in (("q", cells), ("v", cells), ("p", len(PARAMETERS))))
    t = ca.SX.sym("t")
    m_rail, m_rung, l_rail, l_rung, gravity = ca.vertsplit(p)
    down = l_rail * ca.horzcat(ca.sin(q), -ca.cos(q)).T  # (2, n)
    rungs = ca.cumsum(down, 1)
    rails = rungs - down / 2
    speeds = [ca.jtimes(ca.vec(place), q, v) for place in (rails, rungs)]
    kinetic = m_rail * ca.sumsqr(speeds[0]) + m_rung / 2 * ca.sumsqr(speeds[1]) + m_rail * l_rail**2 / 12 * ca.sumsqr(v)
    potential = gravity * (2 * m_rail * ca.sum2(rails[1, :]) + m_rung * ca.sum2(rungs[1, :]))
    mass, force = euler_lagrange(kinetic - potential, q, v, t)
    names = [f"slant{k}" for k in range(1, cells + 1)]
    last = {f"rung{cells}_x": rungs[0, -1] + l_rung / 2, f"rung{cells}_z": rungs[1, -1]}
    system = SecondOrder(
        name=f"ladder_of_{cells}_by_angles",
        t=t,
        q=q,
        v=v,
        u=ca.SX(0, 1),
        p=p,
        coordinates=tuple(Quantity(n, "rad", default=SLANT) for n in names),
        velocities=tuple(Quantity(f"{n}_rate", "rad/s") for n in names),
        inputs=(),
        parameters=PARAMETERS,
        q_rate=v,
        mass=mass,
        force=force,
        driven=ca.SX(cells, 1),
        kinetic=kinetic,
        potential=potential,
        outputs=[(Quantity(n, "m"), e) for n, e in last.items()],
    )
    return augmented(system)


def _check(cells: int) -> None:
    if cells < 1:
        raise dr.errors.ArgumentError(f"a ladder needs at least one cell, got {cells}")


@entry(level="Intermediate")
def ladder_swings(until: float = 10.0, cells: int = 8) -> Study:
    """A ladder of hinged links swings from a slant: its rungs stay level, and its motion agrees with that in angles."""
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-11)
    run = dr.simulate(ladder(cells), until, method=method)
    other = dr.simulate(ladder_by_angles(cells), until, method=method)
    tilt = max(float(np.abs(run[f"rung{k}_angle"]).max()) for k in range(1, cells + 1))
    gap = max(run.constraint_residual.values())
    last = [f"rung{cells}_x", f"rung{cells}_z"]
    early = run.time <= 5.0
    apart = max(float(np.abs(run[name] - other[name])[early].max()) for name in last)

    assert run.status.complete, run.status
    assert run.energy_drift is not None and run.energy_drift < 1e-8
    assert tilt < 1e-8, tilt
    assert gap < 1e-8, gap
    assert apart < 1e-6, apart
    figures = {"ladder": _snapshots(run, cells), "lowest_rung": channel_figure(run, *last)}
    findings = (
        f"{cells} cells: {9 * cells} coordinates, {8 * cells} constraints; rungs level to {tilt:.1e} rad, pins to {gap:.1e} m",
        f"lowest rung in the first 5 s: {apart:.1e} m from the ladder in angles",
    )
    return Study("A ladder of hinged links swings", {"ladder": run, "ladder_by_angles": other}, figures, findings)


def _snapshots(run: dr.Trajectory, cells: int) -> Any:
    length, width = (run.parameters[name] for name in ("l_rail", "l_rung"))
    with single_panel("x [m]", "z [m]", width=0.7 * PAGE, height=0.7 * PAGE, equal=True) as (drawing, axes):
        for moment, color in ((0.0, FAINT), (0.5, INK), (1.0, "C0"), (1.5, "C1")):
            k = int(np.argmin(np.abs(run.time - moment)))
            for body in (f"{link}{n}" for n in range(1, cells + 1) for link in LINKS):
                x, z, angle = (float(run[f"{body}_{part}"][k]) for part in ("x", "z", "angle"))
                level = body.startswith("rung")
                along = (np.cos(angle), np.sin(angle)) if level else (np.sin(angle), -np.cos(angle))
                half = np.array([-0.5, 0.5]) * (width if level else length)
                axes.plot(x + half * along[0], z + half * along[1], color=color)
    return drawing
