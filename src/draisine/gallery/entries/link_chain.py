"""A chain of n links: hinged rods in a plane or in space.

What it shows: the recursive formulation of a tree. Every link passes its articulated-body inertia to its parent, and no mass
matrix is formed: deriving, compiling and evaluating cost O(n) (R. Featherstone, Int. J. Robotics Research 2, 1983).

What you should see: a chain released from the horizontal falls like a whip and conserves energy; its accelerations agree with
those of a chain of point masses in absolute angles, derived without a tree; and small oscillations of a hanging chain tend,
with many links, to those of a rope of length L, which D. Bernoulli found in 1732 (and for which Bessel's functions appeared
first):

    ω_k = ½ j₀,k √(g / L),   J₀(j₀,k) = 0:   1.2024, 2.7600, 4.3269, … times √(g / L)

For n rods the error is of order 1/n².
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.n_pendulum import n_pendulum_by_angles
from draisine.gallery.registry import Study, entry
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE

Array = NDArray[np.float64]

BESSEL = (2.404825557695773, 5.520078110286311, 8.653727912911013)  # zeros of J₀


def link_chain(links: int = 5, rods: bool = True) -> Model:
    """A chain of equal links hinged in a vertical plane: slender rods, or point masses on massless rods."""
    m = _hung(f"chain_of_{links}", "links hinged in a plane", links)
    center, moment = ("-l_link/2", "m_link*l_link^2/12") if rods else ("-l_link", "0")
    parent = "ground"
    for k in range(1, links + 1):
        link = m.body(f"link{k}", "m_link", (0, 0, center), (moment, moment, 0))
        m.revolute(f"angle{k}", parent, link, axis="y", at=(0, 0, 0) if k == 1 else (0, 0, "-l_link"), span=(-3.0, 3.0))
        parent = f"link{k}"
    _tip(m, links)
    return m


def spatial_chain(links: int = 3) -> Model:
    """A chain of equal rods on universal joints."""
    m = _hung(f"spatial_chain_of_{links}", "rods on universal joints", links)
    moment = "m_link*l_link^2/12"
    parent = "ground"
    for k in range(1, links + 1):
        link = m.body(f"link{k}", "m_link", (0, 0, "-l_link/2"), (moment, moment, "m_link*l_link^2/200"))
        m.universal(f"joint{k}", parent, link, axes="xy", at=(0, 0, 0) if k == 1 else (0, 0, "-l_link"))
        parent = f"link{k}"
    _tip(m, links)
    return m


def _hung(name: str, description: str, links: int) -> Model:
    if links < 1:
        raise dr.errors.ArgumentError(f"a chain needs at least one link, got {links}")
    m = Model(name, description)
    m.parameter("m_link", 1.0, "kg", "of each link")
    m.parameter("l_link", 1.0, "m", "of each link")
    return m


def _tip(m: Model, links: int) -> None:
    m.point("tip", f"link{links}", (0, 0, "-l_link"))
    for axis in "xz":
        m.output(f"tip_{axis}", f"position_{axis}(tip)", "m", "of the free end")


# ---------------------------------------------------------------- against other derivations


def difference_from_angles(links: int, states: int = 5, seed: int = 0) -> float:
    """Accelerations of a chain of point masses against those of the same chain in absolute angles, relative."""
    tree, plain = dr.derive(link_chain(links, rods=False), formulation=dr.formulations.Recursive()), n_pendulum_by_angles(links)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(states):
        relative = rng.uniform(-0.7, 0.7, (2, links))
        found = tree.explicit([0.0], relative.ravel(), [], tree.default_parameters)[0][links:]
        # this chain turns about y, which takes −z towards −x; the angles of the other count the other way
        absolute = -np.cumsum(relative, axis=1)
        reported = plain.explicit([0.0], absolute.ravel(), [], plain.default_parameters)[0][links:]
        worst = max(worst, float(np.abs(-np.cumsum(found) - reported).max() / np.abs(reported).max()))
    return worst


def inverse_dynamics_residual(equations: dr.Equations, states: int = 3, seed: int = 0) -> float:
    """Residual of the inverse dynamics of a tree without forces, relative to the forces on single masses."""
    rng = np.random.default_rng(seed)
    n, worst = len(equations.coordinates), 0.0
    inverse = equations.inverse_dynamics
    assert inverse is not None  # every mechanism has one
    for _ in range(states):
        x = rng.uniform(-0.7, 0.7, 2 * n)
        slope = equations.explicit([0.0], x, [], equations.default_parameters)[0]
        left = inverse(x[:n], x[n:], slope[n:], equations.default_parameters)[0]
        moved = inverse(x[:n], x[n:], np.zeros(n), equations.default_parameters)[0]
        worst = max(worst, float(np.abs(left).max() / np.abs(moved).max()))
    return worst


def hanging_frequencies(links: int, count: int = 3) -> Array:
    """The lowest frequencies of small oscillations about the vertical, in units of √(g / L)."""
    equations = dr.derive(link_chain(links), formulation=dr.formulations.Recursive())
    kernel = dr.codegen.compile(equations.explicit)
    step = 1e-5
    points = np.zeros((2 * links, 2 * links))
    points[:links, :links], points[links:, :links] = step * np.eye(links), -step * np.eye(links)
    accelerations = kernel.map([0.0], points, np.zeros(0), equations.default_parameters)[0][:, links:]
    stiffness = (accelerations[:links] - accelerations[links:]).T / (2 * step)
    squares = np.sort(-np.linalg.eigvals(stiffness).real)
    return np.asarray(np.sqrt(squares[:count] * links / 9.81))


@entry(level="Intermediate")
def link_chain_falls(links: int = 32, until: float = 4.0, ropes: Sequence[int] = (8, 16, 32, 64)) -> Study:
    """A chain of rods falls from the horizontal; its accelerations by other derivations; a hanging chain tends to a rope."""
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-10)
    run = dr.simulate(link_chain(links), until, start={"angle1": -np.pi / 2}, method=method)
    assert run.status.complete, run.status
    size = links * 9.81 * links / 2  # of the energy that a chain of unit links can lose
    energy = run["total_energy"]
    kept = float(np.abs(energy - energy[0]).max() / size)
    angles, newton_euler = difference_from_angles(min(links, 16)), inverse_dynamics_residual(dr.derive(link_chain(links)))
    spatial = inverse_dynamics_residual(dr.derive(spatial_chain(max(links // 2, 6))))
    exact = np.array(BESSEL) / 2
    errors = {n: hanging_frequencies(n) / exact - 1 for n in ropes}
    order = float(np.log(errors[ropes[0]][0] / errors[ropes[-1]][0]) / np.log(ropes[-1] / ropes[0]))

    assert kept < 1e-8, kept
    assert angles < 1e-10 and newton_euler < 1e-10 and spatial < 1e-10, (angles, newton_euler, spatial)
    assert abs(order - 2) < 0.1, order

    findings = (
        f"{links} links, {until:g} s at 1e-10: energy within {kept:.1e} of what the chain can lose",
        f"accelerations against absolute angles {angles:.1e}, inverse dynamics {newton_euler:.1e}, in space {spatial:.1e}",
        *(
            f"{n} links hanging: frequencies off those of a rope by {', '.join(f'{e:.1e}' for e in error)}"
            for n, error in errors.items()
        ),
        f"the error of the lowest frequency falls like links to the power −{order:.2f}",
    )
    figures = {"falling": _snapshots(run, links), "rope": _errors(errors)}
    return Study("A chain of links", {"chain": run}, figures, findings)


def _snapshots(run: dr.Trajectory, links: int) -> Any:
    turned = np.cumsum(np.column_stack([run[f"angle{k}"] for k in range(1, links + 1)]), axis=1)
    x = np.column_stack([np.zeros(len(run.time)), np.cumsum(-np.sin(turned), axis=1)])
    z = np.column_stack([np.zeros(len(run.time)), np.cumsum(-np.cos(turned), axis=1)])
    with single_panel("x [m]", "z [m]", height=0.6 * PAGE, equal=True) as (drawing, axes):
        for moment in np.linspace(0.0, run.time[-1], 7):
            k = int(np.argmin(np.abs(run.time - moment)))
            axes.plot(x[k], z[k], linewidth=0.9, label=f"{run.time[k]:.1f} s")
    return drawing


def _errors(errors: dict[int, Array]) -> Any:
    with single_panel("links [–]", "relative error [–]", height=0.4 * PAGE) as (drawing, axes):
        for k in range(len(BESSEL)):
            axes.loglog(list(errors), [abs(e[k]) for e in errors.values()], ".-", label=f"frequency {k + 1}")
    return drawing
