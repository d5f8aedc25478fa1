"""Laws that hold a motion together: the resultant is that of statics, each law has an equal fraction of its range, and the status
says that the split is a choice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import draisine as dr
from draisine.results.status import Ending
from planar_mass import planar_mass

FORMULATIONS = (None, dr.formulations.Recursive(), dr.formulations.Augmented())


def shared(run: dr.Trajectory) -> list[str]:
    """The warnings on laws that hold the motion together."""
    return [warning for warning in run.status.warnings if "held by" in str(warning)]


def slider(count: int) -> dr.Model:
    """A body on a prismatic joint, with a load and some further forces."""
    m = dr.Model("slider")
    m.gravity(0.0)
    m.parameter("c", 0.3)
    m.body("b", 2.0, inertia=(0.1, 0.1, 0.1))
    m.prismatic("x", "ground", "b", axis=(1, 2, 0))
    m.point("p", "b", (0.3, 0.1, 0))
    for name in ("load", *(f"f{i}" for i in range(count))):
        m.generalized_force("x", m.input(name, "N"))
    return m


def gears(ratio: float) -> dr.Model:
    """Two rotors with a gear between them, each with a torque, and a load on the first."""
    m = dr.Model("gears")
    m.gravity(0.0)
    for i in range(2):
        m.body(f"d{i}", 1.0, inertia=(0.1, 0.1, 0.1))
        m.revolute(f"p{i}", "ground", f"d{i}", axis="z", at=(i, 0, 0))
        m.generalized_force(f"p{i}", m.input(f"f{i}", "N*m"))
    m.gear("gear", "p0", "p1", ratio)
    m.point("q", "d0")
    m.wrench("q", torque=(0, 0, m.input("load", "N*m")))
    return m


@pytest.mark.parametrize(
    "argument",
    ["3*x_rate", "x_rate/0.3", "c*x_rate", "velocity_x(p)", "velocity_x(p) + velocity_y(p)", "x_rate^3", "sinh(x_rate)"],
)
def test_two_laws_on_one_surface_have_equal_parts(argument: str) -> None:
    laws = {"load": "0.6", "f0": "-2*sign(x_rate)", "f1": f"-2*sign({argument})"}
    run = dr.simulate(slider(2), 2.0, start={"x_rate": 0.5}, inputs=laws)
    stuck = run.time > 0.5 * 2.0 / (4.0 - 0.6) + 0.02  # m v = (4 − 0.6) t
    assert run.status.kind is Ending.FINISHED
    np.testing.assert_allclose(run["f0"][stuck], -0.3, rtol=1e-12)
    np.testing.assert_allclose(run["f1"][stuck], -0.3, rtol=1e-12)
    assert len(shared(run)) == 1 and "sign(" in str(shared(run)[0])


def test_one_law_and_independent_laws_are_not_noted() -> None:
    run = dr.simulate(slider(1), 2.0, start={"x_rate": 0.5}, inputs={"load": "0.6", "f0": "-2*sign(x_rate)"})
    assert run["f0"][-1] == pytest.approx(-0.6, rel=1e-12) and not shared(run)
    m = dr.Model("two")
    m.gravity(0.0)
    for name in ("a", "b"):
        m.body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        m.prismatic(f"x{name}", "ground", name, axis="x")
        m.generalized_force(f"x{name}", m.input(f"f{name}", "N") + m.input(f"load{name}", "N"))
    laws = {"fa": "-2*sign(xa_rate)", "fb": "-3*sign(xb_rate)", "loada": "0.5", "loadb": "-0.7"}
    run = dr.simulate(m, 3.0, start={"xa_rate": 0.5, "xb_rate": 0.4}, inputs=laws)
    assert (run["fa"][-1], run["fb"][-1]) == pytest.approx((-0.5, 0.7), rel=1e-12) and not shared(run)


def test_a_law_of_the_position_is_not_shared_with_friction() -> None:
    laws = {"load": "0.6", "f0": "-2*sign(x_rate)", "f1": "where(x > 0, -1, 0)"}
    run = dr.simulate(slider(2), 1.0, inputs=laws)  # starts and stays at x = 0, where the law of x is 0
    assert (run["f0"][-1], run["f1"][-1]) == pytest.approx((-0.6, 0.0), abs=1e-12) and not shared(run)


def test_random_laws_on_one_surface() -> None:
    rng = np.random.default_rng(3)
    for _ in range(6):
        count = int(rng.integers(2, 6))
        ranges, factors = rng.uniform(0.2, 3.0, count), rng.uniform(0.2, 5.0, count)
        load = rng.uniform(-0.95, 0.95) * ranges.sum()
        laws = {f"f{i}": f"-{ranges[i]!r}*sign({factors[i]!r}*x_rate)".replace("np.float64", "") for i in range(count)}
        run = dr.simulate(slider(count), 60.0, start={"x_rate": 0.2}, inputs={"load": repr(float(load)), **laws}, samples=11)
        found = [run[f"f{i}"][-1] for i in range(count)]
        np.testing.assert_allclose(found, -load * ranges / ranges.sum(), rtol=1e-9)
        assert run["x_rate"][-1] == pytest.approx(0.0, abs=1e-12) and shared(run)


def test_a_determined_law_beside_shared_ones() -> None:
    m = dr.Model("table")
    m.gravity(0.0)
    m.body("a", 1.0, inertia=(0.1, 0.1, 0.1))
    m.body("b", 2.0, inertia=(0.1, 0.1, 0.1))
    m.prismatic("x", "ground", "a", axis="x")
    m.prismatic("y", "a", "b", axis=(1, 1, 0))  # inertia couples both
    for joint, names in (("x", ("f", "g", "px")), ("y", ("h", "py"))):
        for name in names:
            m.generalized_force(joint, m.input(name, "N"))
    rng = np.random.default_rng(5)
    for _ in range(4):
        (f, g, h), factor = rng.uniform(1.0, 4.0, 3), float(rng.uniform(0.3, 3.0))
        px, py = float(rng.uniform(-0.5, 0.5) * (f + g)), float(rng.uniform(-0.5, 0.5) * h)
        laws = {"f": f"-{f:.17g}*sign(x_rate)", "g": f"-{g:.17g}*sign({factor!r}*x_rate)", "h": f"-{h:.17g}*sign(y_rate)"}
        start = {"x_rate": 0.3, "y_rate": -0.2}
        run = dr.simulate(m, 20.0, start=start, inputs={**laws, "px": repr(px), "py": repr(py)}, samples=11)
        expected = (-px * f / (f + g), -px * g / (f + g), -py)
        assert [run[name][-1] for name in "fgh"] == pytest.approx(expected, rel=1e-8)
        assert len(shared(run)) == 1 and "sign(y_rate)" not in str(shared(run)[0])


@pytest.mark.parametrize("ratio", [-1.0 / 3.0, -0.7, 0.45, 1.9])
def test_all_formulations_give_one_split(ratio: float) -> None:
    torque = 0.7 / (1.0 + abs(ratio))  # of each law: 0.7 + f0 + ratio f1 = 0, |f0| = |f1|
    for formulation in FORMULATIONS:
        laws = {"f0": "-2*sign(p0_rate)", "f1": "-2*sign(p1_rate)", "load": "0.7"}
        run = dr.simulate(gears(ratio), 3.0, start={"p0_rate": 1.0}, inputs=laws, formulation=formulation)
        assert run.status.kind is Ending.FINISHED and shared(run)
        assert (run["f0"][-1], run["f1"][-1]) == pytest.approx((-torque, -np.sign(ratio) * torque), rel=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_motion_begins_when_the_load_exceeds_all_laws(formulation: object) -> None:
    ratio = -0.7
    laws = {"f0": "-2*sign(p0_rate)", "f1": "-2*sign(p1_rate)", "load": "t"}
    run = dr.simulate(gears(ratio), 5.0, inputs=laws, formulation=formulation)
    most, inertia = 2.0 * 1.7, 0.1 * (1.0 + ratio**2)
    assert run["p0_rate"][-1] == pytest.approx((5.0 - most) ** 2 / 2.0 / inertia, rel=1e-6)
    assert run.at(2.0)["f0"] == pytest.approx(-2.0 / 1.7, rel=1e-9) and run.at(2.0)["f1"] == pytest.approx(2.0 / 1.7, rel=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_slider_crank_with_friction_at_both_ends(formulation: object) -> None:
    m, length = dr.Model("slider_crank"), 2.0
    m.gravity((0, -9.81, 0))
    a = m.body("a", mass=1, center_of_mass=(0.5, 0, 0), inertia=(0.1, 0.1, 1 / 12))
    b = m.body("b", mass=2, center_of_mass=(length / 2, 0, 0), inertia=(0.4, 0.4, 2 * length**2 / 12))
    s = m.body("s", mass=1.5, inertia=(0.1, 0.1, 0.1))
    m.revolute("p", "ground", a, axis="z")
    m.revolute("q", a, b, axis="z", at=(1, 0, 0))
    m.prismatic("x", "ground", s, axis="x", default=2.0)
    m.point("be", b, (length, 0, 0))
    m.point("sp", s)
    m.close_point("loop", "be", "sp", axes="xy")
    m.generalized_force("p", m.input("fp", "N*m"))
    m.generalized_force("x", m.input("fx", "N"))
    laws = {"fp": "-6*sign(p_rate)", "fx": "-8*sign(x_rate)"}
    run = dr.simulate(m, 2.0, start={"p": 1.0, "p_rate": 2.0}, inputs=laws, formulation=formulation)
    for t in (1.0, 1.505, 2.0):
        at = run.at(t)
        angle = at["p"]
        rod = np.arcsin(np.sin(angle) / length)
        lever = -np.sin(angle) - np.sin(rod) * np.cos(angle) / np.cos(rod)  # dx/dp
        fraction = 9.81 * 1.5 * np.cos(angle) / (6 + 8 * abs(lever))  # m_a g/2 + m_b g/2: virtual work of the weights
        assert (at["fp"], at["fx"]) == pytest.approx((6 * fraction, 8 * fraction * np.sign(lever)), rel=1e-7)


def test_bicycle_stands_with_both_brakes() -> None:
    m = dr.gallery.model("bicycle")
    m.generalized_force("front_wheel_angle", m.input("front_brake", "N*m"))
    laws = {"pedal_torque": "-60*sign(rear_wheel_spin)", "front_brake": "-60*sign(front_wheel_spin)"}
    run = dr.simulate(m, 0.3, start={"speed": 0.0}, inputs=laws)
    assert max(abs(run["pedal_torque"]).max(), abs(run["front_brake"]).max()) < 1e-9
    assert abs(run["rear_wheel_longitudinal_force"]).max() < 1e-9


def test_cart_on_a_slope_with_four_brakes() -> None:
    m = dr.Model("cart")
    c = m.body("c", mass=100, center_of_mass=(0.6, 0, 0.3), inertia=(5, 8, 9))
    m.free(c)
    for i, (x, y) in enumerate(((0, 0.4), (0, -0.4), (1.2, 0.4), (1.2, -0.4))):
        w = m.body(f"w{i}", mass=2, inertia=(0.05, 0.09, 0.05))
        m.revolute(f"a{i}", c, w, axis="y", at=(x, y, 0), rate=f"s{i}")
        m.wheel(f"W{i}", w, 0.3)
        m.generalized_force(f"a{i}", m.input(f"b{i}", "N*m"))
    m.ground(slope=0.2)
    m.output("speed", "body_velocity_x(c)", "m/s")
    run = dr.simulate(m, 1.0, start={"speed": 0.1}, inputs={f"b{i}": f"-16.5*sign(s{i})" for i in range(4)})
    weight = 9.81 * np.sin(0.2) * 108
    for i in range(4):
        assert run[f"b{i}"][-1] == pytest.approx(weight * 0.3 / 4, rel=1e-9)
        assert run[f"W{i}_longitudinal_force"][-1] == pytest.approx(weight / 4, rel=1e-9)
    assert shared(run)
    assert not [warning for warning in run.status.warnings if "friction coefficient" in str(warning)]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_bead_released_where_its_friction_is_zero(side: float) -> None:
    m = planar_mass("bead")
    m.rod("rod", "o", "p", 1.0)
    m.parameter("mu", 0.3)
    law = "-mu*abs(rod_multiplier)*sign(x*z_rate - z*x_rate)"
    m.generalized_force("x", f"{law}*(-z)")
    m.generalized_force("z", f"{law}*x")
    run = dr.simulate(m, 0.8, start={"x": side, "z": 0.0})

    def fall(_: float, y: list[float]) -> list[float]:  # the angle from below, falling
        return [y[1], -9.81 * np.sin(y[0]) + 0.3 * abs(9.81 * np.cos(y[0]) + y[1] ** 2)]

    reference = solve_ivp(fall, (0.0, 0.8), [np.pi / 2, 0.0], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    assert run.status.kind is Ending.FINISHED and np.isfinite(run["x"]).all()
    assert np.arctan2(side * run["x"][-1], -run["z"][-1]) == pytest.approx(reference[0], abs=1e-6)


def four_bar() -> dr.Model:
    """A crank, a coupler and a rocker with a torque at each of three hinges, and a load at the crank's end."""
    m = dr.Model("four_bar")
    m.gravity(0.0)
    lengths = {name: m.parameter(name, value, "m") for name, value in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.4))}
    for name, length in lengths.items():
        m.body(f"{name}_bar", 1.0, center_of_mass=(length / 2, 0, 0), inertia=(0.02, 0.02, 0.02))
    m.revolute("p", "ground", "crank_bar", axis="z")
    m.revolute("q", "crank_bar", "coupler_bar", axis="z", at=(lengths["crank"], 0, 0))
    m.revolute("r", "ground", "rocker_bar", axis="z", at=(0.6, 0, 0))
    m.close_point(
        "pin", m.point("a", "coupler_bar", (lengths["coupler"], 0, 0)), m.point("b", "rocker_bar", (lengths["rocker"], 0, 0))
    )
    for hinge in "pqr":
        m.generalized_force(hinge, m.input(f"f{hinge}", "N*m"))
    m.generalized_force("p", m.input("load", "N*m"))
    return m


@pytest.mark.parametrize("drift", [None, dr.stabilization.NoControl(), dr.stabilization.Projection()], ids=str)
def test_hinges_of_a_loop_that_stick_together_are_named(drift: object) -> None:
    """Three hinges with dry friction and one freedom: the resultant is that of statics at every tolerance, and the status says
    that the split is a choice, with and without drift control, also where the hinges come to rest by countless switches."""
    random, model = np.random.default_rng(2), four_bar()
    for tolerance in (1e-5, 1e-6, 1e-8):
        sizes = {"crank": random.uniform(0.15, 0.22), "coupler": random.uniform(0.5, 0.6), "rocker": random.uniform(0.4, 0.5)}
        start = {"p": 1.0, "p_rate": random.uniform(0.5, 2.0), "q": dr.InitialGuess(-0.5), "r": dr.InitialGuess(1.3)}
        laws = {f"f{hinge}": f"-0.2*sign({hinge}_rate)" for hinge in "pqr"} | {"load": "0.05*sin(t)"}
        method = dr.methods.DOP853(rtol=tolerance, atol=tolerance / 10)
        run = dr.simulate(model, 2.0, start=start, parameters=sizes, inputs=laws, drift=drift, method=method)  # type: ignore[arg-type]
        assert run.status.kind is Ending.FINISHED and shared(run)
        if drift is None:  # rates of all hinges are multiples of one: equal fractions of equal ranges
            forces = [abs(run[f"f{hinge}"][-1]) for hinge in "pqr"]
            np.testing.assert_allclose(forces, forces[0], rtol=1e-9)
        at = {"p": float(run["p"][-1]), **{hinge: dr.InitialGuess(float(run[hinge][-1])) for hinge in "qr"}}
        moved = dr.simulate(model, 1e-3, start={**at, "p_rate": 1.0}, parameters=sizes)  # ratios of the rates there
        power = sum(run[f"f{hinge}"][-1] * moved[f"{hinge}_rate"][0] for hinge in "pqr")
        np.testing.assert_allclose(power, -0.05 * np.sin(2.0), atol=1e-7)


def test_no_sample_is_undefined_where_the_split_is_not_determined() -> None:
    """With Baumgarte's stabilization the rates of the hinges are multiples of one only up to the drift. Where the motion on a
    further surface is not determined the run ends, and its last sample has the law of the surfaces before: numbers in range."""
    random, model, ended = np.random.default_rng(2), four_bar(), []
    laws = {f"f{hinge}": f"-0.2*sign({hinge}_rate)" for hinge in "pqr"} | {"load": "0.05*sin(t)"}
    for _ in range(6):
        sizes = {"crank": random.uniform(0.15, 0.22), "coupler": random.uniform(0.5, 0.6), "rocker": random.uniform(0.4, 0.5)}
        start = {"p": 1.0, "p_rate": random.uniform(0.5, 2.0), "q": dr.InitialGuess(-0.5), "r": dr.InitialGuess(1.3)}
        given = {"start": start, "parameters": sizes, "inputs": laws, "method": dr.methods.DOP853(rtol=1e-5, atol=1e-6)}
        run = dr.simulate(model, 2.0, drift=dr.stabilization.Baumgarte(), **given)
        ended.append(run.status.kind)
        for name in run.names():
            assert np.isfinite(run[name]).all(), (name, run.status)
        for hinge in "pqr":
            assert abs(run[f"f{hinge}"]).max() <= 0.2 * (1 + 1e-12)
    assert set(ended) == {Ending.FINISHED, Ending.SLIDING_AMBIGUOUS}, ended
