"""Laws take angles the short way round, follow what they sample, keep their limits; designs that do not fit are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.results.linear import LinearModel

X, V, U, W = sp.symbols("x v u w")


def heading_law(reference: float | str, speed: float = 5.0):
    bike = dr.gallery.bicycle()
    weights = {"lean": 10.0, "steer": 1.0, "heading": 1.0}
    return bike, dr.lqr(
        bike, {"speed": speed}, weights=weights, input_weights={"steer_torque": 0.1}, reference={"heading": reference}
    )


@pytest.mark.parametrize(("begin", "end"), [(-3.1, 3.1), (3.1, -3.1), (3.0, -3.0), (0.1, -0.1)])
def test_the_bicycle_turns_the_short_way(begin: float, end: float) -> None:
    """The same ride, turned about the vertical: from −δ to δ about zero, which needs no wrapping."""
    bike, law = heading_law(end)
    run = dr.simulate(bike, 6.0, start={"speed": 5.0, "heading": begin}, inputs=law, samples=121)
    way = math.remainder(end - begin, 2 * math.pi)
    _, plain = heading_law(0.0)
    same = dr.simulate(bike, 6.0, start={"speed": 5.0, "heading": -way}, inputs=plain, samples=121)
    np.testing.assert_allclose(run["lean"], same["lean"], atol=1e-7)
    turned = np.unwrap(run["heading"])
    assert abs(turned - turned[0]).max() < 1.6 * abs(way) + 0.01
    assert abs(math.remainder(turned[-1] - end, 2 * math.pi)) < 0.02


def test_a_free_body_turns_the_short_way() -> None:
    """A free body with torque about the vertical, its heading by a quaternion: random pairs of headings, never more than half a
    turn."""
    m = dr.Model("satellite")
    m.gravity(0.0)
    m.body("hull", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.free("hull")
    m.input("torque", "N*m")
    m.point("center", "hull", (0, 0, 0))
    m.wrench("center", torque=(0, 0, "torque"))
    weights = {"hull_heading": 1.0, "hull_wz": 1.0}
    rng = np.random.default_rng(0)
    for begin, end in rng.uniform(-math.pi, math.pi, (4, 2)):
        law = dr.lqr(m, weights=weights, input_weights={"torque": 1.0}, reference={"hull_heading": float(end)})
        start = {"hull_qw": math.cos(begin / 2), "hull_qz": math.sin(begin / 2), "hull_qx": 0.0, "hull_qy": 0.0}
        run = dr.simulate(m, 15.0, start=start, inputs=law, samples=301)
        turned = np.unwrap(2 * np.arctan2(run["hull_qz"], run["hull_qw"]))
        way = math.remainder(end - begin, 2 * math.pi)
        assert abs(turned[-1] - turned[0] - way) < 1e-3 * max(abs(way), 1.0)
        assert np.ptp(turned) < 1.2 * abs(way) + 1e-6


@pytest.mark.parametrize("kind", ["planar", "Euler angles", "quaternion"])
def test_craft_turn_the_short_way(kind: str) -> None:
    """A craft with thrusters, on a plane or hovering, from any heading, turns away too, to any other, given in any turn: it goes
    there by at most half a turn, straight over the ground."""
    m = dr.Model("craft")
    m.body("hull", mass=0.5, inertia=(0.02, 0.02, 0.04))
    name = "hull_heading"
    if kind == "planar":
        m.planar("hull")
    elif kind == "Euler angles":
        name = "yaw"
        m.free_euler("hull", order="zyx", angles=("yaw", "pitch", "roll"))
    else:
        m.free("hull")
    flies = kind != "planar"
    forces, torques = ("ahead", "across", "lift"), ("roll_torque", "pitch_torque", "yaw_torque")
    for n in (*forces, *torques):
        m.input(n, "N" if n in forces else "N*m")
    m.point("center", "hull", (0, 0, 0))
    m.wrench("center", force=forces, torque=torques, axes="body")
    weights = {n: 1.0 for n in ("hull_x", "hull_y", *(("hull_z",) if flies else ()), name)}
    used = forces + torques if flies else ("ahead", "across", "yaw_torque")
    inputs = {"lift": 0.5 * 9.81} if flies else {}
    rng = np.random.default_rng(5)
    for begin, end in [(-3.1, 3.1), (3.1, -3.1), *rng.uniform(-math.pi, math.pi, (2, 2)), *rng.uniform(-20, 20, (2, 2))]:
        if kind == "quaternion":
            half = math.remainder(end, 2 * math.pi) / 2
            at = {"hull_qw": math.cos(half), "hull_qz": math.sin(half)}
            start = {"hull_qw": math.cos(begin / 2), "hull_qz": math.sin(begin / 2), "hull_qx": 0.0, "hull_qy": 0.0}
        else:
            at, start = {name: end}, {name: begin}
        law = dr.lqr(m, at, weights=weights, input_weights=dict.fromkeys(used, 1.0), inputs=inputs)
        run = dr.simulate(m, 20.0, start=start, inputs=law, samples=201)
        turned = 2 * np.arctan2(run["hull_qz"], run["hull_qw"]) if kind == "quaternion" else run[name]
        turned = np.unwrap(turned, period=2 * math.pi) if kind == "quaternion" else turned
        way = math.remainder(end - begin, 2 * math.pi)
        assert abs(turned[-1] - turned[0] - way) < 1e-3
        assert np.ptp(turned) < 1.3 * abs(way) + 1e-6
        assert max(np.ptp(run["hull_x"]), np.ptp(run["hull_y"])) < 1e-6


def test_positions_are_not_wrapped() -> None:
    """A wheel angle that drives a cart ten metres is no direction: its deviation counts in full, also with an observer."""
    model = dr.first_order("cart", {X: V, V: U}, inputs=[U], units={X: "rad", V: "rad/s"}, outputs={"angle": X})
    law = dr.lqr(model, weights={"x": 1.0, "v": 1.0}, input_weights={"u": 1.0}, reference={"x": "10 + 0*t"})
    run = dr.simulate(model, 20.0, inputs=law, start={"x": 0.0})
    assert run["x"][-1] == pytest.approx(10.0, abs=1e-4)
    watcher = dr.control.kalman(law.linear, measured={"angle": 1e-6}, noise={"u": 1.0})
    seen = dr.control.with_observer(law, watcher).on(model)
    assert dr.simulate(seen, 20.0, start={"x": 0.0})["x"][-1] == pytest.approx(10.0, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_sampled_laws_follow_without_lag(seed: int) -> None:
    """An oscillation at a random frequency and period: the samples lie on the reference; solved by iteration of the sampled
    plant."""
    rng = np.random.default_rng(seed)
    period, rate = float(rng.uniform(0.05, 0.4)), float(rng.uniform(0.5, 3.0))
    model = dr.first_order("swing", {X: V, V: -2 * X - sp.Rational(3, 10) * V + U}, inputs=[U])
    law = dr.lqr(model, weights={"x": 5.0, "v": 1.0}, input_weights={"u": 0.1}, period=period).following("x", 1.0, rate)
    count = round(60.0 / period)
    run = dr.simulate(model, count * period, control=law.sampled(), start={"x": 0.3}, samples=count + 1)
    late = run.time > 40.0
    np.testing.assert_allclose(run["x"][late], np.sin(rate * run.time[late]), atol=1e-6)


def test_continuous_laws_follow_as_before() -> None:
    model = dr.first_order("swing", {X: V, V: -2 * X + U}, inputs=[U])
    law = dr.lqr(model, weights={"x": 5.0, "v": 1.0}, input_weights={"u": 0.1}).following("x", 1.0, 1.7)
    run = dr.simulate(model, 30.0, inputs=law, samples=301)
    np.testing.assert_allclose(run["x"][200:], np.sin(1.7 * run.time[200:]), atol=1e-6)


def test_schedules_interpolate_limits() -> None:
    """Limits of 2, 4 and 10 at k = 1, 2, 4: linear between the nodes, constant beyond; those of the input that runs."""
    k = sp.symbols("k")
    model = dr.first_order("spring", {X: V, V: k * X + U}, inputs=[U], parameters={k: 1.0})

    def at(value: float) -> dr.control.Feedback:
        limit = {1.0: 2.0, 2.0: 4.0, 4.0: 10.0}[value]
        return dr.lqr(
            model,
            weights={"x": 1.0, "v": 1.0},
            input_weights={"u": 1.0},
            parameters={"k": value},
            limits={"u": (-limit, 2 * limit)},
        )

    law = dr.control.gain_schedule(at, over={"k": [1.0, 2.0, 4.0]})
    for value in (0.5, 1.0, 1.3, 2.0, 3.3, 4.0, 6.0):
        limit = np.interp(value, [1, 2, 4], [2, 4, 10])
        for x in (-50.0, 50.0):
            run = dr.simulate(model, 1e-6, inputs=law, start={"x": x}, parameters={"k": value}, samples=2)
            assert run["u"][0] == pytest.approx(2 * limit if x < 0 else -limit, rel=1e-12)
    with pytest.raises(dr.errors.ArgumentError, match="has no limits of 'u'"):
        dr.control.gain_schedule(
            lambda value: at(value) if value < 4 else dr.lqr(model, weights={"x": 1.0}, input_weights={"u": 1.0}),
            over={"k": [1.0, 4.0]},
        )


@pytest.mark.parametrize("seed", range(5))
def test_collinear_controls_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    a, column = rng.standard_normal((n, n)), rng.standard_normal(n)
    b = np.column_stack([column, rng.uniform(0.5, 2.0) * column])
    names = tuple(f"z{i}" for i in range(n))
    plant = LinearModel("plant", names, ("one", "two"), (), a, b, np.zeros((0, n)), np.zeros((0, 2)))
    with pytest.raises(dr.errors.ArgumentError, match=r"the control '(one|two)' acts like (one|two).*only one of them"):
        dr.control.pole_placement(plant, poles=[-1.0 - i for i in range(n)], controls=["one", "two"], keep=names)


def test_an_observer_of_another_bicycle_is_refused() -> None:
    bike = dr.gallery.bicycle()
    weights, noise = {"lean": 1.0, "steer": 1.0}, {"push": 100.0}
    measured = {"steer": 1e-4, "roll_rate": 1e-4}
    law = dr.lqr(bike, {"speed": 2.0}, weights=weights, input_weights={"steer_torque": 0.1})
    others = [
        dr.control.kalman(bike, {"speed": 2.0}, measured=measured, noise=noise, states=law.states, parameters={"trail": 0.12}),
        dr.control.kalman(bike, {"speed": 3.0}, measured=measured, noise=noise, states=law.states),
    ]
    for other in others:
        with pytest.raises(dr.errors.ArgumentError, match="different motions or parameters"):
            dr.control.with_observer(law, other)
    same = dr.control.kalman(bike, {"speed": 2.0}, measured=measured, noise=noise, states=law.states)
    assert dr.control.with_observer(law, same).eigenvalues.real.max() < 0


@pytest.mark.parametrize("seed", range(12))
def test_kalman_of_random_systems(seed: int) -> None:
    """Several noises that enter several measurements directly: the gain is that of SciPy's Riccati equation."""
    from scipy.linalg import solve_continuous_are

    rng = np.random.default_rng(seed)
    n, inputs, outputs = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, inputs))
    c, d = rng.standard_normal((outputs, n)), rng.standard_normal((outputs, inputs))
    w, v = rng.uniform(0.1, 3.0, inputs), rng.uniform(0.1, 3.0, outputs)
    names = [tuple(f"{letter}{i}" for i in range(count)) for letter, count in (("z", n), ("u", inputs), ("y", outputs))]
    plant = LinearModel("plant", *names, a, b, c, d)
    noise, measured = dict(zip(names[1], w.tolist(), strict=True)), dict(zip(names[2], v.tolist(), strict=True))
    found = dr.control.kalman(plant, measured=measured, noise=noise)
    cross, total = b @ np.diag(w) @ d.T, d @ np.diag(w) @ d.T + np.diag(v)
    p = solve_continuous_are(a.T, c.T, b @ np.diag(w) @ b.T, (total + total.T) / 2, s=cross)
    np.testing.assert_allclose(found.L, (p @ c.T + cross) @ np.linalg.inv(total), rtol=1e-6, atol=1e-8)
    sampled = dr.control.kalman(plant, measured=dict(zip(names[0], [0.1] * n, strict=True)), noise=noise, period=0.1)
    assert np.abs(np.linalg.eigvals(sampled.transition)).max() < 1.0
