"""The two-mass-skate bicycle of Kooijman, Meijaard, Papadopoulos, Ruina & Schwab (Science 332, 2011, p. 339).

What it shows: neither gyroscopic effect nor trail is necessary for self-stability. Two frames, a point mass on each, blades in
place of wheels: there is no spin angular momentum. Its parameters are those of the BicycleParameters project's file
`TmsBenchmark.txt`, with zero trail. The masses lie ahead of the front contact, so that the contact must be bilateral. A second,
chosen set has the masses between the blades and a trail that is negative, the front contact 20 mm *ahead* of the steer axis.

What you should see: with zero trail every small deviation decays above 2.84 m/s, without upper limit; with negative trail above
1.43 m/s. Disturbed at 4 m/s the bicycle with negative trail returns to upright, with constant energy and positive normal forces
on both blades.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.bicycle.characteristic_polynomial import TwoWheeler
from draisine.expr.expression import Name, Number
from draisine.gallery.registry import Study, entry, live
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.style import PAGE, style
from draisine.view.plots.trajectories import channel_figure

# chosen: the front contact ahead of the steer axis, the weight between the contacts
NEGATIVE = {
    "trail": -0.02,
    "steer_axis_tilt": math.radians(-5.0),
    "x_frame": 0.69,
    "z_frame": 0.27,
    "x_fork": 0.98,
    "z_fork": 0.77,
    "m_fork": 3.0,
}


@live(start={"speed": 3.0, "roll_rate": 0.1})
def two_mass_skate() -> Model:
    """The two-mass-skate bicycle of Kooijman et al. 2011: two frames, two point masses, two blades, no spin."""
    m = Model("two_mass_skate", "two-mass-skate bicycle of Kooijman et al. 2011")
    w = m.parameter("wheelbase", 1.0, "m", "distance of the contact points, upright")
    c = m.parameter("trail", 0.0, "m", "front contact behind the steer axis's trace")
    tilt = m.parameter("steer_axis_tilt", math.radians(5.0), "rad", "steer axis from the vertical")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    x_frame = m.parameter("x_frame", 1.2, "m", "mass of the rear frame ahead of the rear contact")
    z_frame = m.parameter("z_frame", 0.4, "m", "above the ground")
    m_frame = m.parameter("m_frame", 10.0, "kg")
    x_fork = m.parameter("x_fork", 1.02, "m", "mass of the front frame ahead of the rear contact")
    z_fork = m.parameter("z_fork", 0.2, "m", "above the ground")
    m_fork = m.parameter("m_fork", 1.0, "kg")

    # Rear frame: origin at the rear contact. Front frame: origin where the steer axis meets the ground; unsteered, its axes are
    # the rear frame's, so that its blade lies along the ground.
    frame = m.body("frame", mass=m_frame, center_of_mass=(x_frame, 0, z_frame))
    fork = m.body("fork", mass=m_fork, center_of_mass=(x_fork - w - c, 0, z_fork))
    m.free(frame)
    chain = (Translate((w + c, Number(0.0), Number(0.0))), Rotate("y", -tilt), Rotate("z", Name("steer")), Rotate("y", tilt))
    m.joint("steer", frame, fork, chain, (Coordinate("steer", "steer_rate", "rad"),))
    m.knife_edge(frame, name="rear_blade", on_ground=True)
    m.knife_edge(fork, at=(-c, 0, 0), name="front_blade", on_ground=True)
    m.generalized_force("steer", m.input("steer_torque", "N*m", "of the rear on the front frame, positive to the left"))
    m.output("speed", "body_velocity_x(frame)", "m/s", "of the rear blade")
    m.output("lean", "lean(frame)", "rad", "of the rear frame, positive to the right")
    m.output("roll_rate", "rate_x(frame)", "rad/s")
    m.event("fell_over", "abs(lean) - 80*pi/180", description="lean passed 80°")
    return m


@entry(level="Intermediate", film="kicked", charts=("lean", "steer"))
def two_mass_skate_rights_itself() -> Study:
    """Self-stable without spin angular momentum, with zero and with negative trail (Kooijman et al. 2011)."""
    model = two_mass_skate()
    matrices = dr.bicycle.whipple_matrices(model)
    assert np.abs(matrices.C1[:, 0]).max() < 1e-12  # no gyroscopic coupling of the lean rate
    speeds = np.linspace(0.5, 12.0, 231)
    swept = {
        name: dr.modes(model, speed=speeds, states=("lean", "steer"), parameters=parameters)
        for name, parameters in (("zero_trail", {}), ("negative_trail", NEGATIVE))
    }
    first = {name: next(c.value for c in found.critical() if c.kind == "weave") for name, found in swept.items()}
    for name, found in swept.items():
        assert np.array_equal(found.stable, speeds > first[name]), name  # stable from there on
    assert abs(first["zero_trail"] - 2.8410083) < 1e-6
    kick = {"speed": 4.0, "roll_rate": 0.2}
    run = dr.simulate(model, 8.0, start=kick, parameters=NEGATIVE, method=dr.methods.DOP853(rtol=1e-11, atol=1e-13))
    assert run.status.complete, run.status
    largest = float(np.abs(run["lean"]).max())
    assert largest > math.radians(1.0) and float(np.abs(run["lean"][run.time > 7.0]).max()) < 0.1 * largest
    assert run.energy_drift is not None and run.energy_drift < 1e-9
    pressed = min(float(run[f"{blade}_normal_force"].min()) for blade in ("rear_blade", "front_blade"))
    assert pressed > 0
    figures = {
        **{name: found.plot() for name, found in swept.items()},
        "kicked": channel_figure(run, "lean", "steer", "speed"),
        "map": _map(model),
    }
    findings = (
        *(f"{name.replace('_', ' ')}: stable above {value:.4f} m/s" for name, value in first.items()),
        f"kicked at 4 m/s: leans {math.degrees(largest):.1f}° at most, {math.degrees(abs(run['lean'][-1])):.3f}° after 8 s; "
        f"energy changes by {run.energy_drift:.0e} of itself",
    )
    return Study("A bicycle without gyroscopes and with negative trail", {"kicked": run}, figures, findings)


def slowest_stable(model: Model, trails: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """The slowest stable speed up to 15 m/s for each trail (row) and place of the front mass; NaN where there is none."""
    equations = dr.derive(model, work=False)
    names = [p.name for p in equations.parameters]
    sets = np.tile(equations.default_parameters, (len(trails) * len(places), 1))
    sets[:, names.index("trail")], sets[:, names.index("x_fork")] = np.repeat(trails, len(places)), np.tile(places, len(trails))
    pencil, found = TwoWheeler(equations).pencil(sets), np.full(len(sets), np.nan)
    for speed in np.linspace(15.0, 0.25, 60):
        good = np.linalg.eigvals(pencil.companion(np.full(len(sets), speed))).real.max(axis=1) < 0
        found[good] = speed
    return found.reshape(len(trails), len(places))


def _map(model: Model) -> Any:
    trails, places = np.linspace(-0.03, 0.04, 57), np.linspace(0.96, 1.3, 69)
    slowest = slowest_stable(model, trails, places)
    assert np.isfinite(slowest[trails < 0]).any()
    with style():
        drawing, (axes,) = panels(1, 0.8 * PAGE, 0.5 * PAGE)
        shade = axes.pcolormesh(places, 1000 * trails, slowest, shading="nearest", cmap="viridis_r", rasterized=True)
        axes.axhline(0.0, color="0.3", lw=0.8)
        axes.plot([1.02], [0.0], "o", mfc="white", mec="0.2")
        axes.set_xlabel("front mass ahead of the rear contact [m]")
        axes.set_ylabel("trail [mm]")
        drawing.colorbar(shade, ax=axes, label="slowest stable speed [m/s]")
    return drawing
