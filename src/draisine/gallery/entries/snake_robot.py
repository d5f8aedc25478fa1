"""A snake robot of n links on passive wheels, propelled by its joint servos.

What it shows: propulsion by nonholonomic constraints. Every link has a pair of free wheels, modeled as a blade, and a servo in
every joint follows a travelling wave, angle_k = A sin(Ω t − k δ) (S. Hirose's serpenoid curve). The wheels leave two of n + 2
velocities independent, speed and turn rate of the head, so that the body follows the track of its head and the servo torques
propel it.

What you should see: the snake starts from rest and soon reaches nearly the speed of the wave along the body, l Ω / δ for links
of length l; with soft servos it is slower, and with very soft ones it does not start. The only external forces are those of the
wheels: its momentum is their impulse at every instant,

    d/dt Σ m v = Σ λ_k n_k,      d/dt (angular momentum about the origin) = Σ λ_k (r_k × n_k),

with n_k the unit vector across link k; and its energy is the work of the servos.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.gallery.shapes import axle
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE

Array = NDArray[np.float64]

LENGTH, MASS, MOMENT = 0.1, 0.2, 0.0003  # of a link


def snake_robot(links: int = 4) -> Model:
    """A snake of links with wheels in their middles, and a servo in every joint that follows a wave."""
    if links < 2:
        raise dr.errors.ArgumentError(f"a snake needs two links to bend, got {links}")
    m = Model(f"snake_of_{links}", "a snake robot on passive wheels")
    m.gravity(0)
    m.parameter("l_link", LENGTH, "m", "of each link")
    m.parameter("m_link", MASS, "kg", "of each link")
    m.parameter("i_link", MOMENT, "kg*m^2", "of each link, about its middle")
    m.parameter("amplitude", 0.4, "rad", "of the wave's angles")
    m.parameter("frequency", 4.0, "rad/s", "of the wave")
    m.parameter("lag", 0.5, "rad", "from joint to joint")
    m.parameter("stiffness", 10.0, "N*m/rad", "of the servos")
    m.parameter("damping", 0.02, "N*m*s/rad", "of the servos")
    shapes = [{"kind": "box", "size": (0.8 * LENGTH, 0.2 * LENGTH, 0.16 * LENGTH), "at": (0, 0, 0.2 * LENGTH)}]
    behind = [{**shapes[0], "at": ("-l_link/2", 0, 0.2 * LENGTH)}, *axle(0.34 * LENGTH, 0.1 * LENGTH, "-l_link/2")]
    link = m.body("link1", "m_link", (0, 0, 0), ("i_link",) * 3, shapes=[*shapes, *axle(0.34 * LENGTH, 0.1 * LENGTH)])
    m.planar(link)
    m.knife_edge(link, along="x", name="wheels1")
    for k in range(2, links + 1):
        link = m.body(f"link{k}", "m_link", ("-l_link/2", 0, 0), ("i_link",) * 3, shapes=behind)
        m.revolute(f"joint{k}", f"link{k - 1}", link, axis="z", at=("-l_link/2" if k == 2 else "-l_link", 0, 0), span=(-0.8, 0.8))
        m.knife_edge(link, at=("-l_link/2", 0, 0), along="x", name=f"wheels{k}")
        wave = f"amplitude*sin(frequency*t - {k}*lag)"
        m.generalized_force(f"joint{k}", f"stiffness*({wave} - joint{k}) - damping*joint{k}_rate", name=f"servo{k}")
    return m


def wave(links: int, amplitude: float = 0.4, lag: float = 0.5) -> dict[str, float]:
    """Angles of the joints on the wave at the start."""
    return {f"joint{k}": float(-amplitude * np.sin(k * lag)) for k in range(2, links + 1)}


def middles(run: dr.Trajectory, links: int) -> tuple[Array, Array, Array, Array]:
    """Positions and velocities (samples × links × 2) of the links' midpoints, headings and turn rates, from the state alone."""
    angles = [run[f"joint{k}"] for k in range(2, links + 1)]
    heading = np.cumsum(np.column_stack([run["link1_heading"], *angles]), axis=1)
    turning = np.cumsum(
        np.column_stack([run["link1_heading_rate"], *(run[f"joint{k}_rate"] for k in range(2, links + 1))]), axis=1
    )
    ahead = np.stack([np.cos(heading), np.sin(heading)], axis=2)
    across = np.stack([-np.sin(heading), np.cos(heading)], axis=2)
    place = np.stack([run["link1_x"], run["link1_y"]], axis=1)[:, None]
    velocity = run["link1_vx"][:, None] * ahead[:, 0] + run["link1_vy"][:, None] * across[:, 0]
    swing = turning[:, :, None] * across
    half = LENGTH / 2
    places = place - half * (np.cumsum(ahead[:, :-1] + ahead[:, 1:], axis=1))
    speeds = velocity[:, None] - half * np.cumsum(swing[:, :-1] + swing[:, 1:], axis=1)
    return np.concatenate([place, places], axis=1), np.concatenate([velocity[:, None], speeds], axis=1), heading, turning


def momentum_gap(run: dr.Trajectory, links: int) -> tuple[float, float]:
    """Differences of linear and angular momentum from the impulses of the wheels' forces, relative to their largest values."""
    from scipy.integrate import cumulative_simpson

    place, velocity, heading, turning = middles(run, links)
    across = np.stack([-np.sin(heading), np.cos(heading)], axis=2)
    force = np.column_stack([run[f"wheels{k}_force_across"] for k in range(1, links + 1)])[:, :, None] * across
    momentum = MASS * velocity.sum(axis=1)
    angular = (MASS * _moment(place, velocity) + MOMENT * turning).sum(axis=1)
    given = cumulative_simpson(force.sum(axis=1), x=run.time, axis=0, initial=0)
    turned = cumulative_simpson(_moment(place, force).sum(axis=1), x=run.time, initial=0)
    return (
        float(np.abs(momentum - momentum[0] - given).max() / np.abs(momentum).max()),
        float(np.abs(angular - angular[0] - turned).max() / np.abs(angular).max()),
    )


def _moment(place: Array, vector: Array) -> Array:
    return np.asarray(place[..., 0] * vector[..., 1] - place[..., 1] * vector[..., 0])


@entry(level="Advanced", film="snake")
def snake_sets_off(links: int = 16, until: float = 12.0) -> Study:
    """A snake robot on passive wheels is propelled by a wave of its joints; its momentum is the impulse of the wheels."""
    run = dr.simulate(
        snake_robot(links),
        until,
        start=wave(links),
        method=dr.methods.DOP853(rtol=1e-10, atol=1e-10),
        samples=int(2000 * until) + 1,
    )
    assert run.status.complete, run.status
    speed = run["link1_vx"]
    late = run.time > 0.75 * until
    expected = LENGTH * 4.0 / 0.5
    reached = float(speed[late].mean())
    linear, angular = momentum_gap(run, links)
    _, velocity, heading, _ = middles(run, links)
    sliding = np.abs(velocity[..., 1] * np.cos(heading) - velocity[..., 0] * np.sin(heading))  # by the state alone
    lateral, drift = float(sliding.max()), run.energy_drift
    assert linear < 1e-6 and angular < 1e-6, (linear, angular)
    assert lateral < 1e-10, lateral
    assert drift is not None and drift < 1e-7, drift
    assert abs(reached / expected - 1) < 0.08, (reached, expected)
    findings = (
        f"{links} links: {reached:.3f} m/s after {until:g} s; the wave runs at l Ω/δ = {expected:.3f} m/s",
        f"momentum off the impulse of the wheels by {linear:.1e}, angular momentum by {angular:.1e}",
        f"energy off the work of the servos by {drift:.1e}, velocities across the wheels below {lateral:.1e} m/s",
    )
    figures = {"path": _winding(run, links), "speed": run.plot("link1_vx", "link1_heading_rate")}
    return Study("A snake sets off", {"snake": run}, figures, findings)


def _winding(run: dr.Trajectory, links: int) -> Any:
    place, _, _, _ = middles(run, links)
    with single_panel("x [m]", "y [m]", height=0.45 * PAGE, equal=True) as (drawing, axes):
        axes.plot(place[:, 0, 0], place[:, 0, 1], linewidth=0.8)
        axes.plot(place[:, -1, 0], place[:, -1, 1], linewidth=0.8)
        for k in np.linspace(0, len(run.time) - 1, 4).astype(int):
            axes.plot(place[k, :, 0], place[k, :, 1], "k.-", linewidth=0.6, markersize=2)
    return drawing
