"""A hanging rope of n rods fixed at both ends: one long loop, closed through the ground.

What it shows: a loop closure on a tree in the recursive formulation. The rods are a chain fixed at one nail, and two constraint
rows fix the last end at the other; their forces follow from the factors of the chain's recursion, so that the cost is O(n),
where a full mass matrix would cost n² to form and n³ to solve.

What you should see: released from a V shape the rope swings and conserves energy; with friction in its hinges it comes to rest
as a discrete catenary, whose slopes grow in equal steps (the horizontal force H is constant, and the vertical force grows by
the weight W of each rod):

    tan α_k = (k − (n + 1)/2) W/H,   Σ l cos α_k = span,   forces at the nail (H, n W/2)

Many short rods converge to the catenary of Huygens, Leibniz and Johann Bernoulli (1691), L = 2 a sinh(span/(2 a)) with a =
H/(weight per length), with an error of order 1/n². Nearly straight, the rope has the natural frequencies of H. M. Irvine and T.
K. Caughey (Proc. Royal Society A 341, 1974) for an inextensible cable: in units of √(H/μ)/span, 2π and 4π for shapes with a
node in the middle, and where tan(ω/2) = ω/2, that is 2.8606π, for the first without one, since an inextensible cable cannot sag
further in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.model.model import Model
from draisine.numerics.root_finding import bracketed_root
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE

Array = NDArray[np.float64]

GRAVITY = 9.81
NOTES = (2.0 * math.pi, 8.986818915818128, 4.0 * math.pi)  # of a shallow inextensible cable


def hanging_rope(links: int = 5, length: float = 1.5) -> Model:
    """A rope of rods between two nails at one height, 1 m apart, initially in a V shape."""
    if links < 2:
        raise dr.errors.ArgumentError(f"a rope needs at least two links, got {links}")
    if not length > 1.0:
        raise dr.errors.ArgumentError(f"a rope between nails 1 m apart must be longer than that, got {length} m")
    m = Model(f"rope_of_{links}", "rods hinged in a vertical plane, held at both ends")
    whole = m.parameter("length", length, "m", "of the rope")
    mass = m.parameter("mass", 0.3, "kg", "of the rope")
    between = m.parameter("span", 1.0, "m", "between the nails")
    friction = m.parameter("friction", 0.0, "N*m*s", "in every hinge")
    rod, weight = whole / links, mass / links
    moment = weight * rod**2 / 12
    angles, apart = v_shape(links, length), 0.1 + 4 / links
    bearer = "ground"
    for k in range(1, links + 1):
        link = m.body(f"link{k}", weight, (rod / 2, 0, 0), (0, moment, moment))
        at, angle = (0, 0, 0) if k == 1 else (rod, 0, 0), float(angles[k - 1])
        m.revolute(f"angle{k}", bearer, link, axis="y", at=at, default=angle, span=(angle - apart, angle + apart))
        m.generalized_force(f"angle{k}", f"-{friction}*angle{k}_rate")
        bearer = f"link{k}"
    m.point("end", bearer, (rod, 0, 0))
    m.point("nail", "ground", (between, 0, 0))
    m.close_point("held", "nail", "end", axes="xz")
    return m


def _relative(slopes: Array) -> Array:
    """Angles of the hinges from slopes against the horizontal; a turn about y takes x downwards."""
    return -np.diff(slopes, prepend=0.0)


def v_shape(links: int, length: float) -> Array:
    """Angles of the hinges with half of the rods straight down and half of them up; of an odd number one lies level."""
    half, rod = links // 2, length / links
    steep = math.acos((1.0 - links % 2 * rod) / (2 * half * rod))
    return _relative(np.array([-steep] * half + [0.0] * (links % 2) + [steep] * half))


def catenary(links: int, length: float, span: float = 1.0) -> tuple[Array, float]:
    """Slopes of the rods at rest, and the horizontal force over the weight of the rope."""
    steps = (np.arange(1, links + 1) - (links + 1) / 2) / links  # of W/H

    def missing(exponent: float) -> float:  # Σ l cos α grows with H
        return float(length / links * np.cos(np.arctan(steps / math.exp(exponent))).sum()) - span

    force = math.exp(bracketed_root(missing, math.log(1e-6), math.log(1e6)))
    return np.arctan(steps / force), force


def smooth_force(length: float, span: float = 1.0) -> float:
    """Horizontal force over weight of a rope without rods: L = 2 a sinh(span/(2 a)), H/(weight) = a/L."""

    def longer(exponent: float) -> float:
        a = math.exp(exponent)
        return 2 * a * math.sinh(min(span / (2 * a), 700.0)) - length

    return math.exp(bracketed_root(longer, math.log(span / 1000), math.log(span * 1e6))) / length


# ---------------------------------------------------------------- against closed forms and another formulation


def accelerations_at_rest(equations: dr.Equations, slopes: Array) -> tuple[float, Array]:
    """The largest acceleration at rest with the given slopes, as a part of g/l, and the forces at the nail over the weight."""
    links = len(slopes)
    x = np.concatenate([_relative(slopes), np.zeros(len(equations.states) - links)])
    report = equations.report([0.0], x, [], equations.default_parameters)
    reported = dict(zip((slot.name for slot in equations.report.outputs), report, strict=True))
    length, mass = equations.default_parameters[:2]
    return float(np.abs(reported["vdot"]).max() * length / links / GRAVITY), reported["multipliers"] / (mass * GRAVITY)


def difference_from_augmented(links: int, states: int = 3, seed: int = 0) -> float:
    """Relative difference of accelerations from those of the augmented system (`Augmented`), at admissible states."""
    model = hanging_rope(links)
    tree, whole = (dr.derive(model, formulation=f) for f in (dr.formulations.Recursive(), dr.formulations.Augmented()))
    assert tree.project is not None
    rng, p, worst = np.random.default_rng(seed), tree.default_parameters, 0.0
    rest = len(tree.extra_states)
    for _ in range(states):
        x = np.concatenate([v_shape(links, 1.5) + rng.uniform(-0.2, 0.2, links), rng.normal(size=links), np.zeros(rest)])
        for _ in range(8):
            x = tree.project([0.0], x, [], p)[0]
        found, reported = (e.explicit([0.0], x, [], p)[0] for e in (tree, whole))
        worst = max(worst, float(np.abs(found - reported).max() / np.abs(reported).max()))
    return worst


def notes(links: int, length: float = 1.0006, count: int = 3) -> Array:
    """The lowest natural frequencies of a nearly straight rope, in units of √(H/μ)/span."""
    equations = dr.derive(hanging_rope(links, length), formulation=dr.formulations.Recursive())
    kernel = dr.codegen.compile(equations.explicit)
    slopes, force = catenary(links, length)
    rest = np.concatenate([_relative(slopes), np.zeros(len(equations.states) - links)])
    step = 1e-6
    points = np.tile(rest, (2 * links, 1))
    points[:links, :links] += step * np.eye(links)
    points[links:, :links] -= step * np.eye(links)
    rates = kernel.map([0.0], points, np.zeros(0), equations.default_parameters)[0][:, links : 2 * links]
    stiffness = (rates[:links] - rates[links:]).T / (2 * step)
    # of admissible deviations: both ends are fixed
    turned = np.vstack([np.cumsum(np.sin(slopes)[::-1])[::-1], np.cumsum(np.cos(slopes)[::-1])[::-1]])
    free = np.linalg.svd(turned)[2][2:].T
    squares = np.sort(-np.linalg.eigvals(free.T @ stiffness @ free).real)
    unit = math.sqrt(force * GRAVITY * length)  # √(H/μ)/span
    return np.asarray(np.sqrt(squares[:count]) / unit)


def settled(links: int, until: float = 12.0) -> tuple[dr.Trajectory, float]:
    """A rope with friction in its hinges, and the final distance of its slopes from the catenary."""
    damped = dr.simulate(
        hanging_rope(links),
        until,
        parameters={"friction": 1e-3 * links},
        method=dr.methods.Radau(rtol=1e-7, atol=1e-9),
        samples=121,
    )
    slopes = -np.cumsum([damped[f"angle{k}"][-1] for k in range(1, links + 1)])
    return damped, float(np.abs(slopes - catenary(links, 1.5)[0]).max())


@entry(level="Intermediate")
def rope_settles(links: int = 32, few: int = 16, until: float = 2.0, sizes: Sequence[int] = (8, 16, 32, 64)) -> Study:
    """A rope fixed at both ends swings, settles as a catenary of rods, and has a cable's frequencies when nearly straight."""
    model = hanging_rope(links)
    swing = dr.simulate(model, until, method=dr.methods.DOP853(rtol=1e-9, atol=1e-9))
    damped, off = settled(few)
    assert swing.status.complete and damped.status.complete, (swing.status, damped.status)
    energy = swing["total_energy"]
    kept = float(np.abs(energy - energy[0]).max() / (0.3 * GRAVITY))
    slopes, force = catenary(links, 1.5)
    still, nail = accelerations_at_rest(dr.derive(model), slopes)
    pull = float(np.abs(nail - [force, 0.5]).max())
    smooth = {n: catenary(n, 1.5)[1] / smooth_force(1.5) - 1 for n in sizes}
    order = float(np.log(smooth[sizes[0]] / smooth[sizes[-1]]) / np.log(sizes[-1] / sizes[0]))
    whole = difference_from_augmented(few)
    sounds = notes(max(sizes))
    sharp = sounds / NOTES - 1

    assert kept < 1e-7, kept
    assert off < 1e-4, off
    assert still < 1e-9 and pull < 1e-10, (still, pull)
    assert abs(order - 2) < 0.05, order
    assert whole < 1e-10, whole
    assert np.abs(sharp).max() < 5e-3, sharp

    findings = (
        f"{links} rods let go from a V, {until:g} s at 1e-9: energy within {kept:.1e} m of height of the rope",
        f"{few} rods with friction, after {damped.time[-1]:g} s: slopes off the catenary of rods by {off:.1e} rad",
        f"at rest as that catenary: accelerations {still:.1e} g/l, force at the nail off (H, weight/2) by {pull:.1e} weights",
        f"H is {force:.6f} weights; that of rods tends to that of a smooth rope like their number to the power −{order:.2f}",
        f"accelerations against masses and rows solved whole: {whole:.1e}",
        f"pulled nearly straight, {max(sizes)} rods: {', '.join(f'{s / math.pi:.4f}π' for s in sounds)}, off a cable's notes by "
        f"{', '.join(f'{s:+.1e}' for s in sharp)}",
    )
    return Study(
        "A rope held at both ends",
        {"swing": swing, "damped": damped},
        {"shapes": _shapes((swing, links), (damped, few))},
        findings,
    )


def _shapes(swing: tuple[dr.Trajectory, int], damped: tuple[dr.Trajectory, int]) -> Any:
    """Of a rope that swings and of one that has come to rest, each with its number of links."""
    with single_panel("x [m]", "z [m]", height=0.55 * PAGE, equal=True) as (drawing, axes):
        for moment in np.linspace(0.0, 0.5, 6):
            axes.plot(*_shape(*swing, moment), linewidth=0.9, label=f"{moment:.1f} s")
        axes.plot(*_shape(*damped, damped[0].time[-1]), color="black", linewidth=1.6, label=f"at rest, {damped[1]} rods")
    return drawing


def _shape(run: dr.Trajectory, links: int, moment: float) -> tuple[Array, Array]:
    """x and z of the hinges."""
    k = int(np.argmin(np.abs(run.time - moment)))
    slopes = -np.cumsum([run[f"angle{i}"][k] for i in range(1, links + 1)])
    rod = 1.5 / links
    return np.append(0.0, np.cumsum(rod * np.cos(slopes))), np.append(0.0, np.cumsum(rod * np.sin(slopes)))
