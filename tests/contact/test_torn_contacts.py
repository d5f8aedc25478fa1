"""Infinite friction on ground that moves: where rigid bodies cannot stick at all contacts, that is named."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

INF = float("inf")


def stool(feet: list[tuple[float, float]], velocity: tuple[str, str], friction: list[float]) -> dr.Model:
    m = dr.Model("stool")
    m.gravity(9.81)
    for name, value in {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0, "f": 0.0}.items():
        m.parameter(name, value)
    body = m.body("seat", mass=1.3, inertia=(0.1, 0.2, 0.25))
    m.free(body)
    for k, ((x, y), mu) in enumerate(zip(feet, friction, strict=True)):
        m.contact(f"foot_{k}", m.point(f"end_{k}", body, (x, y, -0.5)), friction=mu)
    m.ground(velocity=velocity)
    return m


LINEAR = ("a + c*x + d*y", "b + e*x + f*y")
REST = {"seat_x": 0.0, "seat_y": 0.0, "seat_z": 0.5}
LEVEL = {"seat_qw": 1.0, "seat_qx": 0.0, "seat_qy": 0.0, "seat_qz": 0.0, "seat_wx": 0.0, "seat_wy": 0.0, "seat_wz": 0.0}
FALL = LEVEL | {"seat_x": 0.0, "seat_y": 0.0, "seat_vx": 0.0, "seat_vy": 0.0, "seat_vz": 0.0}


@pytest.mark.parametrize("count", [2, 3])
def test_ground_that_stretches_is_named(count: int) -> None:
    """A linear field of velocities moves rigid feet if it does not change their distances, as belts and turntables do not: at the
    start, after a fall, in single runs and in ensembles."""
    rng = np.random.default_rng(count)
    turn = rng.uniform(0, 2 * np.pi) + 2 * np.pi / count * np.arange(count)
    feet = [(0.4 * float(np.cos(angle)), 0.4 * float(np.sin(angle))) for angle in turn]
    m = stool(feet, LINEAR, [INF] * count)
    cases = []
    for k in range(8):
        a, b, spin = rng.uniform(-0.3, 0.3, 3)
        stretch = rng.uniform(0.02, 0.4, 2) * rng.choice([-1, 1], 2) if k % 2 else np.zeros(2)
        cases.append({"a": a, "b": b, "c": stretch[0], "d": -spin, "e": spin, "f": stretch[0]})
    for values in cases:
        for start in (REST, FALL | {"seat_z": 0.55}):
            run = dr.simulate(m, 0.3, start=start, parameters=values, samples=4)
            if values["c"] == 0.0:
                assert run.status.kind == "FINISHED", (run.status, values)
                assert max(abs(run[f"foot_{k}_slip_along"][-1]) for k in range(count)) < 1e-6
            else:
                assert run.status.kind == "CONTACT_INCONSISTENT", (run.status, values)
                assert all(f"foot_{k}" in run.status.message for k in range(count)) and "infinite friction" in run.status.message
    columns = {name: [values[name] for values in cases] for name in cases[0]}
    found = dr.ensemble(m, 0.3, cases=columns, start=REST, outputs=["seat_x"], threads=1)
    assert list(found["status"]) == [["FINISHED", "CONTACT_INCONSISTENT"][k % 2] for k in range(8)]


def test_stretching_begins_later() -> None:
    """A stretch that grows from zero tears at once where it begins, not after slips of any size."""
    m = stool([(-0.5, 0.0), (0.5, 0.0)], ("0.1*x*where(t < 0.2, 0, t - 0.2)", "0"), [INF] * 2)
    run = dr.simulate(m, 1.0, start=REST)
    assert run.status.kind == "CONTACT_INCONSISTENT" and run.time[-1] == pytest.approx(0.2, abs=1e-4)
    assert abs(run["foot_0_slip_along"]).max() < 1e-6


@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_finite_friction_slips(mu: float) -> None:
    m = stool([(-0.5, 0.0), (0.5, 0.0)], ("0.1*x", "0"), [INF, mu])
    run = dr.simulate(m, 0.5, start=REST)
    assert run.status.kind == "FINISHED" and run.modes[-1].modes == {"foot_0": "stick", "foot_1": "slip"}
