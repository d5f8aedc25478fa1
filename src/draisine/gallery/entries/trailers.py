"""A vehicle with n trailers, each hitched to the axle before it: a chain of hinges with nonholonomic constraints.

What it shows: nonholonomic constraints that are solved along the tree. With the motion of the axle before it given, the blade
of a trailer decides how fast its hitch turns; so n constraints are n divisions by a length, and two velocities are independent
for any number of trailers: the speed of the vehicle and its rate of turn.

What you should see: in a steady circle every trailer runs on a smaller radius than the one before it, since axle, hitch and
center of the circle form a right-angled triangle:

    R_k² = R_0² − k L²

and the hitches stand at the angles atan(L / R_k). Without inputs the train conserves energy; its blades do no work. In reverse
the train jackknifes: a straight train is unstable, with growth rates inverse to the trailers' lengths.

By hand (P. Rouchon, M. Fliess, J. Lévine & P. Martin, 1993): with headings θ_k and speeds v_k of the axles along them

    v_k = v_{k−1} cos(θ_{k−1} − θ_k),   L θ̇_k = v_{k−1} sin(θ_{k−1} − θ_k).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.errors import ArgumentError
from draisine.gallery.registry import Study, entry
from draisine.gallery.shapes import axle
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE

Array = NDArray[np.float64]

LENGTH = 1.0  # meters from axle to axle
TRAILER = [
    {"kind": "box", "size": (0.45, 0.34, 0.14), "at": ("-l_trailer", 0, 0.22)},
    *axle(0.44, 0.1, "-l_trailer"),
    {"kind": "tube", "path": [(0, 0, 0.16), ("-l_trailer", 0, 0.16)], "radius": 0.02},
]


def trailers(count: int = 3) -> Model:
    """A vehicle on one axle with trailers hitched axle to axle, all in a plane.

    Inputs: `push`, the force along the vehicle; `turn`, the moment that turns it.
    """
    if count < 0:
        raise dr.errors.ArgumentError(f"a vehicle has no {count} trailers")
    m = Model(f"train_of_{count}", "a vehicle with trailers, each on one axle")
    m.gravity(0)
    m.parameter("l_trailer", LENGTH, "m", "from hitch to axle, of each trailer")
    m.parameter("m_vehicle", 3.0, "kg")
    m.parameter("i_vehicle", 0.5, "kg*m^2")
    m.parameter("m_trailer", 1.0, "kg", "of each")
    m.parameter("i_trailer", 0.2, "kg*m^2", "of each, about its center of mass")
    cab = {"kind": "box", "size": (0.55, 0.34, 0.2), "at": (0.15, 0, 0.24)}
    vehicle = m.body(
        "vehicle", "m_vehicle", (0.2, 0, 0), ("i_vehicle",) * 3, shapes=[cab, *axle(0.44, 0.1), *axle(0.4, 0.07, 0.4)]
    )
    m.planar(vehicle)
    m.knife_edge(vehicle, along="x", name="axle0")
    m.wrench("vehicle", force=(m.input("push", "N", "along the vehicle"), 0, 0), axes="body", name="drive")
    m.generalized_force("vehicle_heading", m.input("turn", "N*m", "on the vehicle"), name="steering")
    parent = "vehicle"
    for k in range(1, count + 1):
        trailer = m.body(f"trailer{k}", "m_trailer", ("-l_trailer/2", 0, 0), ("i_trailer",) * 3, shapes=TRAILER)
        place = (0, 0, 0) if k == 1 else ("-l_trailer", 0, 0)
        m.revolute(f"hitch{k}", parent, trailer, axis="z", at=place, span=(-0.8, 0.8))
        m.knife_edge(trailer, at=("-l_trailer", 0, 0), along="x", name=f"axle{k}")
        parent = f"trailer{k}"
    return m


def circle_hitch_angles(count: int, radius: float) -> dict[str, float]:
    """Angles of the hitches in a steady turn to the left of the vehicle's axle about a circle."""
    if radius**2 <= count * LENGTH**2:
        raise ArgumentError(
            f"{count} trailers of {LENGTH:g} m need a circle of more than {np.sqrt(count) * LENGTH:.3g} m, got {radius:g} m"
        )
    radii = np.sqrt(radius**2 - LENGTH**2 * np.arange(1, count + 1))
    return {f"hitch{k}": -float(np.arctan(LENGTH / r)) for k, r in enumerate(radii, start=1)}


def steady_inputs(model: Model, motion: dict[str, float]) -> dict[str, float]:
    """The push and the turn moment for constant speed and rate of turn; both enter the accelerations linearly."""
    equations = dr.derive(model)
    x, p = np.array([motion.get(s.name, 0.0) for s in equations.states]), equations.default_parameters
    count = len(equations.coordinates)
    free, pushed, turned = (equations.explicit([0.0], x, u, p)[0][count : count + 2] for u in ([0, 0], [1, 0], [0, 1]))
    needed = np.linalg.solve(np.column_stack([pushed - free, turned - free]), -free)
    return dict(zip(("push", "turn"), map(float, needed), strict=True))


def places(run: dr.Trajectory, count: int) -> tuple[Array, Array]:
    """Positions (samples × axles × 2) and headings (samples × axles) of the axles, from the coordinates alone."""
    hitches = np.column_stack([run["vehicle_heading"], *(run[f"hitch{k}"] for k in range(1, count + 1))])
    heading = np.cumsum(hitches, axis=1)
    forward = np.stack([np.cos(heading), np.sin(heading)], axis=2)
    first = np.stack([run["vehicle_x"], run["vehicle_y"]], axis=1)[:, None]
    return np.concatenate([first, first - LENGTH * np.cumsum(forward[:, 1:], axis=1)], axis=1), heading


def against_kinematics(run: dr.Trajectory, count: int) -> float:
    """Largest difference of the hitches' rates from those of the formulas above, in rad/s."""
    _, heading = places(run, count)
    apart = heading[:, :-1] - heading[:, 1:]
    speed = np.column_stack([run["vehicle_vx"], run["vehicle_vx"][:, None] * np.cumprod(np.cos(apart), axis=1)])
    turning = np.column_stack([run["vehicle_heading_rate"], speed[:, :-1] * np.sin(apart) / LENGTH])
    reported = np.column_stack([run[f"hitch{k}_rate"] for k in range(1, count + 1)])
    return float(np.abs(np.diff(turning, axis=1) - reported).max())


def radii_of(run: dr.Trajectory, count: int) -> Array:
    """Distances of the axles from the center of the vehicle's circle, over the samples."""
    center_x = run["vehicle_x"] - run["vehicle_vx"] / run["vehicle_heading_rate"] * np.sin(run["vehicle_heading"])
    center_y = run["vehicle_y"] + run["vehicle_vx"] / run["vehicle_heading_rate"] * np.cos(run["vehicle_heading"])
    return np.asarray(np.linalg.norm(places(run, count)[0] - np.stack([center_x, center_y], axis=1)[:, None], axis=2))


@entry(level="Advanced", film="circle")
def trailers_follow(count: int = 20, radius: float = 8.0) -> Study:
    """A train of trailers in a steady circle, free from a bent configuration, and in reverse."""
    model = trailers(count)
    speed = 2.0
    start = {"vehicle_vx": speed, "vehicle_heading_rate": speed / radius, **circle_hitch_angles(count, radius)}
    hold = steady_inputs(model, start)
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-10)
    circle = dr.simulate(model, 10.0, start=start, inputs=hold, method=method)
    radii = radii_of(circle, count)
    own = circle["vehicle_vx"] / circle["vehicle_heading_rate"]
    expected = np.sqrt(own[:, None] ** 2 - LENGTH**2 * np.arange(count + 1))
    off = float(np.abs(radii - expected).max())

    bent = {f"hitch{k}": 0.6 * float(np.sin(1.3 * k)) for k in range(1, count + 1)}
    free = dr.simulate(model, 10.0, start={"vehicle_vx": speed, "vehicle_heading_rate": 0.3, **bent}, method=method)
    energy = free["total_energy"]
    kept = float(np.abs(energy / energy[0] - 1).max())
    by_hand = max(against_kinematics(run, count) for run in (circle, free))
    lateral = max(float(np.abs(run.residuals).max()) for run in (circle, free))

    back = dr.simulate(model, 4.0, start={"vehicle_vx": -speed, "hitch1": 1e-3}, method=method)
    grown = float(np.abs(np.column_stack([back[f"hitch{k}"] for k in range(1, count + 1)])).max())

    assert off < 1e-6, off
    assert kept < 1e-8 and lateral < 1e-9 and by_hand < 1e-9, (kept, lateral, by_hand)
    assert grown > 0.1, grown
    findings = (
        f"{count} trailers in a circle of {radius:g} m: radii of all axles off √(R₀² − k L²) by {off:.1e} m, the last one's is "
        f"{radii[-1, -1]:.3f} m",
        f"left alone, bent: energy kept to {kept:.1e}, velocities across the blades below {lateral:.1e} m/s",
        f"rates of the hitches off the recursion by hand by {by_hand:.1e} rad/s",
        f"pushed backwards with one hitch turned by 1 mrad: {grown:.2g} rad after {back.time[-1]:g} s",
    )
    figures = {"circle": _tracks(circle, count), "left_alone": _tracks(free, count)}
    return Study("A train of trailers", {"circle": circle, "left_alone": free, "backwards": back}, figures, findings)


def _tracks(run: dr.Trajectory, count: int) -> Any:
    where, _ = places(run, count)
    with single_panel("x [m]", "y [m]", height=0.7 * PAGE, equal=True) as (drawing, axes):
        for k in sorted({0, count // 2, count}):
            axes.plot(where[:, k, 0], where[:, k, 1], linewidth=0.8, label=f"axle of trailer {k}" if k else "axle of the car")
        axes.plot(where[-1, :, 0], where[-1, :, 1], "k.-", linewidth=0.6, markersize=3, label="at the end")
    return drawing
