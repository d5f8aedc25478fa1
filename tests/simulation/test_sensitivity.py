"""Forward sensitivities against closed forms and against central differences of runs to tight tolerances."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model
from draisine.program.variational import Direction
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.sensitivities import start_jacobian
from draisine.simulation.sensitivity import integrate_varied

EXACT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


@pytest.fixture(scope="module")
def oscillator():
    x, v, stiffness, damping, push = sp.symbols("x v stiffness damping push")
    return dr.first_order(
        "oscillator",
        {x: v, v: push - stiffness * x - damping * v},
        parameters={stiffness: 4.0, damping: 0.5},
        inputs=[push],
        start={x: 1.0},
    )


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


def differences(simulate, value, step):
    """Fourth-order central differences of everything in a run."""
    data = {k: simulate(value + k * step).data for k in (-2, -1, 1, 2)}
    return (8 * (data[1] - data[-1]) - (data[2] - data[-2])) / (12 * step)


def agree(run, by, wanted, digits):
    """Every channel, relative to the largest of its group's changes; residuals must not change at all."""
    found = run.sensitivity.data[:, :, run.sensitivity.by.index(by)]
    for group in {c.group for c in run.channels}:
        columns = [i for i, c in enumerate(run.channels) if c.group == group]
        size = max(float(np.abs(wanted[:, columns]).max(initial=0.0)), 1e-3)
        if group != "residuals":
            assert np.abs(found - wanted)[:, columns].max(initial=0.0) < digits * size, (by, group)
    residuals = run.sensitivity.matrix(run.names("residuals"))
    assert np.abs(residuals).max(initial=0.0) < 1e-10


def test_linear_oscillator_in_closed_form(oscillator):
    run = dr.simulate(
        oscillator,
        5.0,
        inputs={"push": 2.0},
        start={"x": 1.0, "v": 0.0},
        sensitivity=["stiffness", "damping", "push", "start.v"],
        method=EXACT,
    )
    k, c, f, t, v0 = sp.symbols("k c f t v0", positive=True)
    w = sp.sqrt(k - c**2 / 4)
    x = f / k + sp.exp(-c * t / 2) * ((1 - f / k) * sp.cos(w * t) + (v0 + c / 2 * (1 - f / k)) / w * sp.sin(w * t))
    for symbol, name in ((k, "stiffness"), (c, "damping"), (f, "push"), (v0, "start.v")):
        slope = sp.lambdify(t, sp.diff(x, symbol).subs({k: 4.0, c: 0.5, f: 2.0, v0: 0.0}))
        np.testing.assert_allclose(run.sensitivity["x", name], slope(run.time), atol=1e-10)


def test_period_of_the_pendulum_by_its_length():
    """At fixed start, x depends on l through t √(g/l) alone: ∂x/∂l = −t ẋ/(2 l)."""
    angle, rate, length = sp.symbols("angle rate length")
    pendulum = dr.first_order(
        "pendulum", {angle: rate / length, rate: -9.81 * sp.sin(angle)}, parameters={length: 0.7}, start={angle: 2.0}
    )
    run = dr.simulate(pendulum, 10.0, sensitivity=["length"], method=EXACT)
    # rate is l θ̇, which scales as √l
    expected = -run.time * run["rate"] / 0.7 / (2 * 0.7)
    np.testing.assert_allclose(run.sensitivity["angle", "length"], expected, atol=2e-9)


RIDDEN = {"trail": 0.08, "z_frame": 0.9, "steer_torque": 0.1, "lean": 0.05}


def ride(bike, values, **more):
    return dr.simulate(
        bike,
        1.5,
        start={"speed": 4.6, "lean": values["lean"], "steer": 0.02, "heading": 0.0},
        parameters={name: values[name] for name in ("trail", "z_frame")},
        inputs={"steer_torque": values["steer_torque"]},
        method=EXACT,
        samples=16,
        **more,
    )


@pytest.fixture(scope="module")
def ridden(bike):
    return ride(bike, RIDDEN, sensitivity=["trail", "z_frame", "steer_torque", "start.lean"])


@pytest.mark.parametrize("name", list(RIDDEN))
def test_bicycle_against_differences(bike, ridden, name):
    """Quaternions, wheels on the ground, contact forces; a change of trail moves the start as well."""
    base, by = RIDDEN[name], "start.lean" if name == "lean" else name
    agree(ridden, by, differences(lambda value: ride(bike, RIDDEN | {name: value}), base, 2e-3 * base), 1e-6)
    assert abs(ridden.sensitivity["lean", by][-1]) > 0.01


def test_accelerations_solved_for_at_run_time():
    """Loops with multipliers, by `LinearSolveProgram` programs and their projection."""
    model = dr.gallery.cartesian_double_pendulum()
    names = [q.name for q in model.parameters]
    run = dr.simulate(model, 0.7, sensitivity=names[:1], method=EXACT, samples=8)
    value = run.parameters[names[0]]

    def simulate(other):
        return dr.simulate(model, 0.7, parameters={names[0]: other}, method=EXACT, samples=8)

    agree(run, names[0], differences(simulate, value, 1e-3 * value), 1e-7)


def creeping_wheel():
    """A steel wheel of 500 kg, upright at first."""
    m = dr.Model("creeping_wheel")
    m.body("wheel", mass=m.parameter("mass", 500.0, "kg"), inertia=(10.0, 20.0, 10.0))
    m.free("wheel")
    steel = dr.contact.ShenHedrickElkins(0.3, "2.8134 mm", "1.6745 mm", 5073.0, 8.27e10, 4.8530, 4.5548, 2.2666)
    m.wheel("rim", "wheel", radius=0.4, contact=steel)
    return m, {"wheel_vx": 20.0, "wheel_wy": 50.02, "wheel_vy": 0.03}, "mass", 500.0, 1.0


def rolling_wheelset():
    from draisine.gallery.entries.wheelset import centerd, wheelset

    return wheelset(), {**centerd(20.0, 0.05), "lateral": 0.002}, "conicity", 0.05, 1e-4


@pytest.mark.parametrize("made", [creeping_wheel, pytest.param(rolling_wheelset, marks=pytest.mark.further)])
def test_forces_that_depend_on_forces(made):
    """Newton's method inside, and creep."""
    model, start, name, value, step = made()
    assert dr.derive(model).explicit.iterates

    def simulate(value, **more):
        method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
        return dr.simulate(model, 0.005, start=start, parameters={name: value}, method=method, samples=5, **more)

    run = simulate(value, sensitivity=[name])
    assert np.abs(run.sensitivity.data).max() > 1e-3 * np.abs(run.data).max() / value
    agree(run, name, differences(simulate, value, step), 1e-6)


def test_differential_algebraic_systems():
    """y₁² /2 − ln y₁ = y₀²/2 − ln y₀ − t on the limit of Van der Pol's oscillator: ∂y₁/∂y₀ = (y₀ − 1/y₀)/(y₁ − 1/y₁)."""
    method = dr.methods.Radau(rtol=1e-10, atol=1e-12)
    run = dr.simulate(dr.gallery.van_der_pol_limit(), 0.5, start={"y1": 2.0}, sensitivity=["start.y1"], method=method)
    y = run["y1"]
    np.testing.assert_allclose(run.sensitivity["y1", "start.y1"], 1.5 / (y - 1 / y), rtol=1e-7)
    # y₂ = y₁/(1 − y₁²)
    slope = (1 + y**2) / (1 - y**2) ** 2
    np.testing.assert_allclose(run.sensitivity["y2", "start.y1"], slope * run.sensitivity["y1", "start.y1"], rtol=1e-6)


def test_pendulum_of_index_three():
    """Posed with its multiplier, against the same by eliminated equations."""
    x, y = dynamicsymbols("x y")
    gravity = sp.Symbol("gravity")
    kinetic = (x.diff() ** 2 + y.diff() ** 2) / 2
    model = dr.lagrangian(
        "pendulum",
        [x, y],
        kinetic - gravity * y,
        holonomic={"rod": (x**2 + y**2 - 1) / 2},
        parameters={gravity: 9.81},
        start={x: 1.0, y: 0.0},
    )
    plain = dr.simulate(model, 0.6, sensitivity=["gravity"], method=EXACT, samples=13)
    method = dr.methods.Radau(rtol=1e-9, atol=1e-11)
    posed = dr.simulate(dr.dae.as_dae(model, 3), 0.6, sensitivity=["gravity"], method=method, samples=13)
    for name in ("x", "y"):
        np.testing.assert_allclose(posed.sensitivity[name, "gravity"], plain.sensitivity[name, "gravity"], atol=1e-6)


def test_stiff_runs_carry_them_along():
    """Auto turns to Radau; the sensitivity at the end is that of a run by differences."""
    model = dr.gallery.van_der_pol()

    def simulate(mu, **more):
        return dr.simulate(model, 1.0, parameters={"mu": mu}, method=dr.methods.Radau(rtol=1e-11, atol=1e-13), samples=5, **more)

    run = simulate(50.0, sensitivity=["mu"])
    agree(run, "mu", differences(simulate, 50.0, 0.05), 1e-6)


def test_errors_of_sensitivities_are_controlled(oscillator):
    loose = dr.simulate(oscillator, 5.0, sensitivity=["stiffness"], method=dr.methods.DOP853(rtol=1e-5, atol=1e-7), samples=50)
    tight = dr.simulate(oscillator, 5.0, sensitivity=["stiffness"], method=EXACT, samples=50)
    error = np.abs(loose.sensitivity["x", "stiffness"] - tight.sensitivity["x", "stiffness"]).max()
    assert 1e-12 < error < 1e-5


def test_transition_of_a_linear_system(oscillator):
    """Directions of the start alone: the matrix exponential."""
    from scipy.linalg import expm

    directions = tuple(Direction(name, "x") for name in ("x", "v"))
    run = integrate_varied(oscillator, [0.3, 0.1], np.eye(2), 1.7, directions, method=EXACT)
    np.testing.assert_allclose(run.final[1], expm(1.7 * np.array([[0.0, 1.0], [-4.0, -0.5]])), atol=1e-11)


def test_starts_that_move_with_parameters(bike):
    """The start differentiated through its least changes, against starts anew."""
    e = dr.derive(bike)
    problem, targets = StartProblem(e, compiled=False), {"lean": 0.2, "steer": 0.3, "speed": 3.0}
    names = [q.name for q in e.parameters]
    for name in ("trail", "r_front_wheel", "steer_axis_tilt"):
        place, step = names.index(name), 1e-4 * e.parameters[names.index(name)].default
        q, v, _ = start_jacobian(problem, targets, consistent_start(problem, targets), [Direction(name, "p", place)])
        at = {
            k: consistent_start(problem, targets, parameters={name: e.parameters[place].default + k * step})
            for k in (-2, -1, 1, 2)
        }
        for found, which in ((q, "q"), (v, "v")):
            a, b, c, d = (getattr(at[k], which) for k in (-2, -1, 1, 2))
            np.testing.assert_allclose(found[:, 0], (8 * (c - b) - (d - a)) / (12 * step), atol=1e-7)
    assert math.isclose(q[2, 0], 0.0, abs_tol=1e-3)  # the tilt of the steer axis hardly lifts the rear wheel's axle


def test_starts_of_posed_mechanisms():
    """Positions first and velocities at them; or all together, where a target for a velocity moves the positions."""
    posed = dr.dae.as_dae(dr.gallery.cartesian_double_pendulum(), 3)
    problem = StartProblem(posed, compiled=False)
    place, step = [q.name for q in posed.parameters].index("length"), 1e-5
    for targets in ({"x1": 0.6, "z2": -0.5, "x2_rate": 0.3}, {"x1_rate": 0.7}):
        found, _, _ = start_jacobian(problem, targets, consistent_start(problem, targets), [Direction("length", "p", place)])
        at = {k: consistent_start(problem, targets, parameters={"length": 1.0 + k * step}).q for k in (-2, -1, 1, 2)}
        np.testing.assert_allclose(found[:, 0], (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step), atol=1e-6)


def test_runs_that_change_their_independent_velocities():
    """A sleigh by the velocities of its blade along the world's axes, through headings at which either is useless."""
    m = Model("sleigh")
    m.gravity(0)
    ahead = m.parameter("ahead", 0.25, "m")
    sleigh = m.body("sleigh", mass=2.0, center_of_mass=(ahead, 0, 0), inertia=(0.245, 0.245, 0.245))
    x, y = Coordinate("x", "x_rate", "m"), Coordinate("y", "y_rate", "m")
    heading = Coordinate("sleigh_heading", "sleigh_heading_rate", "rad", low=-math.pi / 2, high=math.pi / 2)
    chain = (Translate((Name("x"), Name("y"), Number(0.0))), Rotate("z", Name("sleigh_heading")))
    m.joint("motion", "ground", sleigh, chain, (x, y, heading))
    m.knife_edge(sleigh, name="blade")
    m.output("speed", "body_velocity_x(sleigh)", "m/s")
    m.output("turn_rate", "rate_z(sleigh)", "rad/s")

    def simulate(ahead, turn_rate, **more):
        start = {"speed": -1.0, "turn_rate": turn_rate}
        return dr.simulate(m, 6.0, start=start, parameters={"ahead": ahead}, method=EXACT, samples=13, **more)

    run = simulate(0.25, 0.1, sensitivity=["ahead", "start.turn_rate"])
    assert len(run.segments) > 1
    agree(run, "ahead", differences(lambda value: simulate(value, 0.1), 0.25, 1e-3), 2e-6)
    agree(run, "start.turn_rate", differences(lambda value: simulate(0.25, value), 0.1, 5e-4), 2e-6)


def test_derivatives_are_named_as_requested(oscillator):
    """Also where a parameter, or another request, has the same name without its prefix."""
    names = ["start.x", "v", "stiffness"]
    run = dr.simulate(oscillator, 1.0, start={"x": 1.0, "v": 0.5}, sensitivity=names, samples=5)
    assert run.sensitivity.by == tuple(names)
    assert run.sensitivity["x", "start.x"][0] == run.sensitivity["v", "v"][0] == 1.0
    with pytest.raises(KeyError, match=r"there are start\.x, v, stiffness"):
        run.sensitivity["x", "x"]


def test_files_keep_them(oscillator, tmp_path):
    run = dr.simulate(oscillator, 1.0, sensitivity=["stiffness", "damping"], samples=5)
    for suffix in (".nc", ".csv", ".parquet"):
        run.save(tmp_path / f"run{suffix}")
        assert dr.load(tmp_path / f"run{suffix}").identical(run)
    table = run.sensitivity.to_xarray()
    np.testing.assert_array_equal(table.sel(channel="x", by="damping"), run.sensitivity["x", "damping"])
    assert run.sensitivity.unit("x", "stiffness") == "1"


def test_refusals(oscillator, bike):
    with pytest.raises(KeyError, match=r"stifness.*did you mean 'stiffness'"):
        dr.simulate(oscillator, 1.0, sensitivity=["stifness"])
    with pytest.raises(TypeError, match="list of names"):
        dr.simulate(oscillator, 1.0, sensitivity=5)
    assert "stiffness" in dr.simulate(oscillator, 1.0, sensitivity="stiffness").sensitivity.by
    with pytest.raises(ValueError, match="follows a law"):
        dr.simulate(oscillator, 1.0, inputs={"push": "sin(t)"}, sensitivity=["push"])
    with pytest.raises(ValueError, match="occurs twice"):
        dr.simulate(oscillator, 1.0, sensitivity=["damping", "damping"])
    with pytest.raises(ValueError, match="cannot be differentiated"):
        dr.simulate(oscillator, 1.0, control=lambda t, x: {"push": 0.0}, sensitivity=["damping"])
    run = dr.simulate(oscillator, 1.0, sensitivity=["damping"])
    with pytest.raises(KeyError, match="no channel 'y'"):
        run.sensitivity["y", "damping"]
    with pytest.raises(KeyError, match="a channel and a varied quantity"):
        run.sensitivity["x"]


def test_equations_without_work_have_sensitivities_under_inputs():
    """The work of the inputs is not counted, and not reported; all other channels have derivatives."""
    equations = dr.derive(dr.gallery.bicycle(), work=False)
    method = dr.methods.RK4(0.01)
    run = dr.simulate(
        equations, 0.1, start={"speed": 4.6}, inputs={"steer_torque": 0.1}, method=method, sensitivity=["steer_torque"]
    )
    ends = [
        dr.simulate(equations, 0.1, start={"speed": 4.6}, inputs={"steer_torque": u}, method=method)["steer"][-1]
        for u in (0.1 - 1e-4, 0.1 + 1e-4)
    ]
    assert run.sensitivity["steer", "steer_torque"][-1] == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-6)
