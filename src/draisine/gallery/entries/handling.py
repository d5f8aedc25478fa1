"""Handling diagram: a car on tires by the Magic Formula, from the linear range to its limit.

What it shows: a rigid car on four tires with vertical stiffness, camber thrust, combined slip, aligning moments and rolling
resistance. Steady turns at constant speed are found from a small steer angle to the largest lateral acceleration; the handling
diagram (Pacejka) has the lateral acceleration over the difference of steer angle and L/R. All data of car and tires are invented.

What you should see: for small accelerations the diagram is a straight line, whose slope is the understeer gradient
of the linear theory, from cornering stiffnesses, trails and camber thrust at the static loads. The car
understeers, and the front tires reach their limit first: near 0.9 g the steer angle grows steeply. A sudden steer input
leads to the steady turn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact.magic_formula import MagicFormula
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

COEFFICIENTS = {
    "FNOMIN": 4000.0, "UNLOADED_RADIUS": 0.31, "LONGVL": 16.7, "VERTICAL_STIFFNESS": 2e5, "VERTICAL_DAMPING": 3000.0,
    "LONGITUDINAL_STIFFNESS": 4e5, "LATERAL_STIFFNESS": 1.5e5,
    "PCX1": 1.6, "PDX1": 1.15, "PEX1": 0.2, "PKX1": 22.0, "RBX1": 12.0, "RBX2": -10.0, "RCX1": 1.09,
    "PCY1": 1.25, "PDY1": -1.0, "PDY2": 0.1, "PEY1": -0.9, "PKY1": -15.0, "PKY2": 2.0, "PKY6": -0.9,
    "RBY1": 6.5, "RBY2": 4.0, "RCY1": 1.08, "QBZ1": 9.0, "QCZ1": 1.18, "QDZ1": 0.1, "QEZ1": -1.6, "QSY1": 0.01,
}  # fmt: skip
MASS, FRONT, REAR, TRACK, HEIGHT = 1300.0, 1.15, 1.45, 1.5, 0.5  # kg and m
SPEED = 25.0
WHEELS = {"fl": (FRONT, TRACK / 2), "fr": (FRONT, -TRACK / 2), "rl": (-REAR, TRACK / 2), "rr": (-REAR, -TRACK / 2)}


def car_tire() -> MagicFormula:
    """The tire of all four wheels."""
    return MagicFormula("6.1", COEFFICIENTS)


@live(start={"speed": 20.0, "hull_z": -0.016})
def car_on_tires() -> Model:
    """A rigid car on four tires by the Magic Formula; the front wheels are steered, the rear ones driven."""
    m = Model("car_on_tires", "rigid car on four tires by the Magic Formula 6.1, invented data")
    m.parameter("steer", 0.0, "rad", "angle of the front wheels, positive to the left")
    drive = m.input("drive", "N*m", "torque on each rear wheel")
    m.body("hull", MASS - 80.0, (0, 0, HEIGHT), (450.0, 1500.0, 1700.0))
    m.free("hull")
    tire = car_tire()
    for name, (x, y) in WHEELS.items():
        m.body(name, 20.0, inertia=(0.6, 1.0, 0.6))
        turned = [("z", "steer")] if name[0] == "f" else []
        m.revolute(f"{name}_angle", "hull", name, axis="y", at=(x, y, 0.31), orientation=turned, rate=f"{name}_spin")
        m.wheel(f"{name}_tire", name, 0.31, contact=tire)
        if name[0] == "r":
            m.generalized_force(f"{name}_angle", drive)
    m.output("speed", "body_velocity_x(hull)", "m/s", "forward")
    m.output("yaw_rate", "rate_z(hull)", "rad/s")
    m.output("lateral_acceleration", "yaw_rate*speed", "m/s^2", "centripetal")
    m.output("roll", "lean(hull)", "rad", "of the car, positive to the right")
    return m


def understeer_gradient() -> float:
    """K in rad·s²/m of the linear range: the difference of the slip angles of both axles per lateral acceleration.

    Each axle carries its share of m a_y, by levers to the mass center that the trails shorten in front and lengthen at the rear,
    and so does the rolling resistance of the wheels outside, which carry more; and the camber thrust of the roll angle,
    m h a_y/(k T² − m g h), which points outward.
    """
    tire, g, step = car_tire(), 9.81, 1e-6
    ahead = 40.0 * (FRONT - REAR) / MASS  # mass center of the whole car ahead of the hull's
    height = ((MASS - 80.0) * HEIGHT + 80.0 * 0.31) / MASS - MASS * g / (4 * COEFFICIENTS["VERTICAL_STIFFNESS"])
    a, b = FRONT - ahead, REAR + ahead
    roll = MASS * height / (COEFFICIENTS["VERTICAL_STIFFNESS"] * TRACK**2 - MASS * g * height)
    axles = []
    pitch = COEFFICIENTS["QSY1"] * COEFFICIENTS["UNLOADED_RADIUS"]  # lever of the rolling resistance moments
    for lever in (b - pitch, a + pitch):
        load, both = MASS * g * lever / (a + b) / 2, np.array([-step, step])
        side, leaned = tire.forces(load, slip_angle=both), tire.forces(load, camber=both)
        stiffness, camber = (-float(np.diff(f.lateral)[0]) / step for f in (side, leaned))  # of two wheels
        axles.append((stiffness, camber, float(np.diff(side.aligning)[0] / -np.diff(side.lateral)[0])))
    (front, front_camber, first), (rear, rear_camber, second) = axles
    drag = COEFFICIENTS["QSY1"] * height
    a, b = a - first - drag, b + second + drag
    shares = MASS * b / (a + b) + front_camber * roll, MASS * a / (a + b) + rear_camber * roll
    return shares[0] / front - shares[1] / rear


def turns(equations: dr.Equations, steers: NDArray[np.float64], speed: float = SPEED) -> dict[str, NDArray[np.float64]]:
    """Steady turns at one speed, each found from the one before, up to the last that exists."""
    rows: list[list[float]] = []
    near: object = {"speed": speed, "hull_z": -0.016}
    for steer in steers:
        try:
            turn = dr.steady(equations, {"speed": speed}, free=("drive",), near=near, parameters={"steer": float(steer)})  # type: ignore[arg-type]
        except dr.errors.SolverError:
            break
        near = turn
        rows.append([float(steer), *(turn[n] for n in ("yaw_rate", "lateral_acceleration", "roll", "fl_tire_slip_angle"))])
    columns = np.array(rows).T
    return dict(zip(("steer", "yaw_rate", "acceleration", "roll", "slip_angle"), columns, strict=True))


@entry(level="Intermediate", film="step", charts=("lateral_acceleration", "roll"))
def handling_diagram(count: int = 60) -> Study:
    """A car on tires by the Magic Formula understeers as the linear theory says, and reaches its limit."""
    equations = dr.derive(car_on_tires(), work=False)
    steers = np.concatenate([[1e-4], np.linspace(0.002, 0.12, count)])
    found = turns(equations, steers)
    base = FRONT + REAR
    beyond = found["steer"] - base * found["yaw_rate"] / SPEED  # δ − L/R
    slope = float(beyond[0] / found["acceleration"][0])
    expected = understeer_gradient()
    assert abs(slope - expected) < 0.025 * expected, (slope, expected)
    most = float(found["acceleration"].max())
    assert 7.0 < most < 9.81

    straight = dr.steady(equations, {"speed": SPEED}, free=("drive",), near={"speed": SPEED, "hull_z": -0.016})
    given = {"drive": straight["drive"]}
    step = dr.simulate(equations, 4.0, start=straight, parameters={"steer": 0.03}, inputs=given, samples=401)
    assert step.status.complete, step.status
    near = np.interp(0.03, found["steer"], found["acceleration"])
    settled = float(step["lateral_acceleration"][-1])
    assert abs(settled - near) < 0.05 * near  # it loses a little speed
    figures = {
        "curves": car_tire().plot(),
        "handling": _figure(beyond, found["acceleration"], expected),
        "step": channel_figure(step, "lateral_acceleration", "yaw_rate", "roll"),
    }
    findings = (
        f"understeer gradient {slope * 9.81 * 180 / np.pi:.2f} °/g, by the linear theory {expected * 9.81 * 180 / np.pi:.2f} °/g",
        f"largest lateral acceleration {most / 9.81:.2f} g at {SPEED:g} m/s",
        f"after a sudden steer angle of 0.03 rad it settles at {settled:.2f} m/s², in a steady turn {near:.2f} m/s²",
    )
    return Study("Handling diagram of a car on tires", {"step": step}, figures, findings)


def _figure(beyond: NDArray[np.float64], acceleration: NDArray[np.float64], gradient: float) -> object:
    with single_panel("steer angle beyond L/R [°]", "lateral acceleration [g]", width=PAGE, height=3.4) as (figure, axes):
        degrees = np.degrees(beyond)
        axes.plot(degrees, acceleration / 9.81, label=f"steady turns at {SPEED:g} m/s")
        line = np.linspace(0.0, 0.6 * acceleration.max(), 2)
        axes.plot(np.degrees(gradient * line), line / 9.81, "--", label="linear theory")
        axes.set_xlim(0.0, None)
        axes.set_ylim(0.0, None)
    return figure
