"""Surfaces that touch in any orientation: directions of the tangent plane follow by themselves, degenerate ones are refused."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import draisine as dr
from draisine.errors import StartError
from draisine.model.contact.laws import TangentialLaw
from draisine.model.model import Model
from draisine.program.equations import Equations

RADIUS, GRAVITY = 0.3, 9.81
FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


@lru_cache
def ball_on_plate(law: TangentialLaw | None, along: str | None = None) -> Equations:
    """A solid ball on a plate turned about z, x and y by parameters; its own surface is turned likewise."""
    m = Model("ball_on_plate")
    moment = 0.4 * 2.0 * RADIUS**2
    m.body("ball", 2.0, inertia=(moment, moment, moment))
    m.free("ball", at=(0, 0, RADIUS))
    turns = [(axis, m.parameter(f"turn_{axis}", 0.0, "rad")) for axis in "zxy"]
    m.frame("plate", "ground", orientation=turns)
    m.frame("skin", "ball", orientation=turns)
    u, v = (m.surface_parameter(name, "rad") for name in ("u", "v"))
    a, b = (m.surface_parameter(name, "m") for name in ("a", "b"))
    own = (f"{RADIUS}*sin({u})", f"{RADIUS}*cos({u})*sin({v})", f"-{RADIUS}*cos({u})*cos({v})")
    m.touch("kiss", "skin", own, (u, v), "plate", (a, b, 0), (a, b), law, along=along)
    return dr.derive(m)


def rotation(turns: dict[str, float]) -> np.ndarray:
    found = np.eye(3)
    for name, angle in turns.items():
        c, s, i = np.cos(angle), np.sin(angle), "xyz".index(name[-1])
        turn = np.eye(3)
        j, k = (i + 1) % 3, (i + 2) % 3
        turn[j, j], turn[k, k], turn[j, k], turn[k, j] = c, c, -s, s
        found = found @ turn
    return found


def orientations() -> list[dict[str, float]]:
    """Plates with normals along all axes, and at random."""
    rng = np.random.default_rng(8)
    square = [{"turn_y": sign * np.pi / 2} for sign in (1, -1)] + [{"turn_x": sign * np.pi / 2} for sign in (1, -1)]
    return [*square, *({f"turn_{axis}": float(rng.uniform(-3, 3)) for axis in "zxy"} for _ in range(3))]


@pytest.mark.parametrize(("law", "share"), [(None, 1.0), (dr.contact.Rolling(), 5 / 7)], ids=["smooth", "rolling"])
def test_a_ball_on_any_plate_moves_with_the_gravity_along_it(law: TangentialLaw | None, share: float) -> None:
    """Center at one radius from the plate, and the acceleration g − (g·n) n of a point mass, 5/7 of it for a rolling ball."""
    e, gravity = ball_on_plate(law), np.array([0.0, 0.0, -GRAVITY])
    for turns in orientations():
        normal = rotation(turns)[:, 2]
        start = dr.consistent_start(e, {"a": 0.0, "b": 0.0, "u": 0.0, "v": 0.0, "ball_qw": 1.0}, parameters=turns)
        at = np.array([start.coordinates[f"ball_{axis}"] for axis in "xyz"])
        np.testing.assert_allclose(at, RADIUS * normal, atol=1e-12)
        assert start.report.largest_residual < 1e-12
        run = dr.simulate(e, 0.1, start=start, parameters=turns, method=FINE)
        assert run.status.kind == "FINISHED"
        expected = share * (gravity - (gravity @ normal) * normal)
        end = np.array([run[f"ball_{axis}"][-1] for axis in "xyz"])
        np.testing.assert_allclose(end - at, 0.5 * expected * 0.1**2, atol=1e-9)
        np.testing.assert_allclose(run["kiss_normal_force"], -2.0 * gravity @ normal, atol=1e-7)


def test_a_ball_rolls_on_through_a_quarter_turn() -> None:
    """The direction does not turn with the ball: it rolls down a slope for one meter, half a turn and more."""
    law = dr.contact.Rolling()
    model = Model("rolling_far")
    moment = 0.4 * 2.0 * RADIUS**2
    model.body("ball", 2.0, inertia=(moment, moment, moment))
    model.free("ball", at=(0, 0, RADIUS))
    u, v = (model.surface_parameter(name, "rad", 0.0, -9, 9) for name in ("u", "v"))
    a, b = (model.surface_parameter(name, "m", 0.0, -9, 9) for name in ("a", "b"))
    own = (f"{RADIUS}*cos({v})*sin({u})", f"{RADIUS}*sin({v})", f"-{RADIUS}*cos({v})*cos({u})")
    model.touch("kiss", "ball", own, (u, v), "ground", (a, b, 0), (a, b), law)
    run = dr.simulate(model, 1.0, start={"ball_vx": 1.0, "ball_vy": 0.0, "ball_wz": 0.0}, method=FINE)
    assert run.status.kind == "FINISHED"
    assert run["ball_x"][-1] == pytest.approx(1.0, abs=1e-8)
    assert abs(run["u"][-1]) == pytest.approx(1.0 / RADIUS, abs=1e-7)  # the contact went round the ball by 3.3 rad


@pytest.mark.parametrize("law", [None, dr.contact.Rolling()], ids=["smooth", "rolling"])
def test_an_axis_normal_to_the_surfaces_gives_no_wrong_start(law: TangentialLaw | None) -> None:
    """The axis z of the skin is normal to the plate, without a direction in the tangent plane: a start is refused, or right."""
    e, refused = ball_on_plate(law, along="z"), 0
    for turns in ({"turn_y": 0.0}, *orientations()):
        try:
            found = dr.consistent_start(e, {"a": 0.2, "b": 0.1}, parameters=turns)
        except StartError as error:
            assert "is degenerate" in str(error) or "no start was found" in str(error)
            refused += 1
            continue
        axes = rotation(turns)
        at = np.array([found.coordinates[f"ball_{axis}"] for axis in "xyz"])
        np.testing.assert_allclose(at, axes @ [0.2, 0.1, RADIUS], atol=1e-6)
    assert refused
