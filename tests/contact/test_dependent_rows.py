"""Contacts of one body whose rows depend on each other: forces along their line are not determined, and the motion is."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

RADII, PLACES = (0.1, 0.06), (-0.15, 0.2)


def dumbbell(friction: float = 0.9) -> dr.Model:
    """Two spheres of different radii on a bar: they roll as a cone does, about the point in which the bar meets the plane."""
    m = dr.Model("dumbbell")
    m.gravity(9.81)
    bar = m.body("bar", mass=0.7, inertia=(0.002, 0.011, 0.011))
    m.free(bar)
    for name, radius, place in zip("ab", RADII, PLACES, strict=True):
        m.point(f"center_{name}", bar, (place, 0, 0))
        m.contact(name, f"center_{name}", radius=radius, friction=friction)
    return m


@pytest.mark.parametrize(
    "method", [dr.methods.DOP853(rtol=1e-11, atol=1e-13), dr.methods.Radau(rtol=1e-9, atol=1e-11), dr.methods.Auto(rtol=1e-9)]
)
def test_two_spheres_of_a_body_roll_on_a_circle(method: dr.methods.Method) -> None:
    """Slips at the stages of a step contradict each other along the line of the contacts; steps are long nevertheless."""
    first, second = RADII
    tilt = np.arcsin((first - second) / (PLACES[1] - PLACES[0]))  # of the bar, downwards along x
    apex = PLACES[0] + first / np.sin(tilt)  # along the bar
    height, distance, spin = apex * np.sin(tilt), apex * np.cos(tilt), 3.0  # spin about the line of the contacts
    start = {"bar_x": 0.0, "bar_y": 0.0, "bar_z": height, "bar_qx": 0.0, "bar_qy": np.sin(tilt / 2), "bar_qz": 0.0}
    start |= {"bar_vx": 0.0, "bar_vy": -spin * height, "bar_vz": 0.0}
    start |= {"bar_wx": spin * np.cos(tilt), "bar_wy": 0.0, "bar_wz": spin * np.sin(tilt)}
    run = dr.simulate(dumbbell(), 2.0, start=start, method=method, samples=41)
    assert [list(c.modes.values()) for c in run.modes] == [["stick", "stick"]]
    rate = spin * height / distance
    place = run["bar_x"] + 1j * run["bar_y"] - distance
    np.testing.assert_allclose(np.abs(place), distance, atol=1e-8)
    np.testing.assert_allclose(np.unwrap(np.angle(-place)), rate * run.time, atol=1e-7)
    assert run.statistics.evaluations < 3000
    assert np.isfinite(run["a_normal_force"]).all()
    weight = run["a_normal_force"] + run["b_normal_force"]
    np.testing.assert_allclose(weight, 0.7 * 9.81, rtol=1e-7)


def stool() -> tuple[dr.Model, dict[str, float]]:
    """A body that lands on three feet, and for a while sticks on two of them."""
    m = dr.Model("stool")
    m.gravity(9.81)
    inertia = {"xx": 0.044, "yy": 0.048, "zz": 0.024}
    m.free(m.body("seat", mass=2.077, inertia=inertia, center_of_mass=(0.029, -0.005, -0.023)))
    m.point("end_a", "seat", (0.072, -0.191, -0.177))
    m.contact("a", "end_a", radius=0.036, friction=(1.261, 0.854), restitution=0.306)
    m.point("end_b", "seat", (0.039, -0.147, 0.0))
    m.contact("b", "end_b", friction=0.593)
    m.point("end_c", "seat", (-0.127, 0.109, 0.056))
    m.contact("c", "end_c", radius=0.035, friction=0.283)
    start = {"seat_z": 0.356, "seat_vx": 0.986, "seat_vy": -0.34, "seat_vz": 0.85}
    return m, start | {"seat_wx": -5.171, "seat_wy": -1.442, "seat_wz": -6.824}


def test_modes_and_forces_agree_where_forces_are_not_determined() -> None:
    """What sticks by the decision of a change sticks by the forces of the run, and modes do not depend on the tolerance."""
    m, start = stool()
    found = []
    for tolerance in (1e-8, 1e-9):
        method = dr.methods.Auto(rtol=tolerance, atol=1e-2 * tolerance)
        run = dr.simulate(m, 0.7, start=start, method=method, samples=1401)
        assert run.status.kind == "FINISHED"
        found.append(run.modes)
        for name, friction in (("a", 1.261), ("b", 0.593), ("c", 0.283)):
            size = np.hypot(run[f"{name}_longitudinal_force"], run[f"{name}_lateral_force"])
            assert np.isfinite(size).all()
            room = friction * run[f"{name}_normal_force"] - size
            assert room[run[f"{name}_mode"] == 2].min(initial=0.0) > -1e-6
    assert [c.modes for c in found[0]] == [c.modes for c in found[1]]
    assert sum(c.modes["b"] == c.modes["c"] == "stick" for c in found[0]) == 1
    np.testing.assert_allclose([c.time for c in found[0]], [c.time for c in found[1]], atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_a_body_on_two_points_does_not_feel_one_beside_it(seed: int) -> None:
    """Two free bodies are at one place by default, where a contact between their centers has no direction. All the same the
    points of each are known to depend on each other, and while they do not touch one moves as it does alone."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-0.2, 0.2, (2, 3))
    inertia, friction = rng.uniform(0.02, 0.03, 3), rng.uniform(0.1, 0.6, 2)
    start = {"stone_z": 0.45, "stone_vx": rng.normal(), "stone_vy": 0.5 * rng.normal(), "stone_vz": 0.0}
    start |= dict(zip(("stone_wx", "stone_wy", "stone_wz"), 2 * rng.normal(size=3), strict=True))

    def stone(m: dr.Model) -> dr.Model:
        m.gravity(9.81)
        body = m.body("stone", mass=0.64, inertia=tuple(inertia))
        m.free(body)
        for k, place in enumerate(places):
            m.contact(f"end{k}", m.point(f"p{k}", body, tuple(place)), friction=friction[k])
        return m

    alone, both = stone(dr.Model("alone")), stone(dr.Model("both"))
    ball = both.body("ball", mass=1.0, inertia=(0.02, 0.02, 0.02))
    both.free(ball)
    both.contact("floor", ball, radius=0.1, friction=0.3)
    both.contact("between", ball, radius=0.1, on="stone", on_radius=0.1, friction=0.5)
    apart = {"ball_x": 20.0, "ball_y": 0.0, "ball_z": 10.0, "ball_vx": 0.0, "ball_vy": 0.0, "ball_vz": 0.0}
    tight = dr.methods.Auto(rtol=1e-10, atol=1e-12)
    one = dr.simulate(alone, 1.2, start=start, method=tight, samples=40)
    other = dr.simulate(
        both, 1.2, start=start | apart | {"ball_wx": 3.0, "ball_wy": 0.0, "ball_wz": 0.0}, method=tight, samples=40
    )
    assert one.status.kind == other.status.kind, (one.status, other.status)
    shown = min(one.time[-1], other.time[-1])
    assert [c.modes["end0"] + c.modes["end1"] for c in one.modes] == [c.modes["end0"] + c.modes["end1"] for c in other.modes]
    for name in ("stone_x", "stone_y", "stone_z", "stone_wx", "stone_wy", "stone_wz"):
        np.testing.assert_allclose(one[name][one.time < shown], other[name][other.time < shown], rtol=0, atol=1e-6, err_msg=name)
