"""Steady motions at speed on roads that change along the way: there are none, which is said before anything is derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.stability import linearization

roads = dr.contact.roads


def rough(m: dr.Model, rng: np.random.Generator) -> Any:
    return roads.rough(m, "surface", str(rng.choice(list("ABCD"))), length=50.0, seed=int(rng.integers(99)))


def rough_path(m: dr.Model, rng: np.random.Generator) -> Any:
    path = m.path("track", segments=[(40, 0), (20, 0, 0.02), (40, 0.02)])
    return roads.rough(m, "surface", "B", length=60.0, seed=int(rng.integers(99)), along=path.along)


def waves(m: dr.Model, rng: np.random.Generator) -> Any:
    return roads.waves(float(rng.uniform(2.0, 9.0)), float(rng.uniform(0.002, 0.02)))


def bump(m: dr.Model, rng: np.random.Generator) -> Any:
    return roads.bump(float(rng.uniform(-0.3, 0.0)), float(rng.uniform(0.4, 1.0)), 0.03)


def twisted(m: dr.Model, rng: np.random.Generator) -> Any:
    return f"{rng.uniform(0.01, 0.05)}*x*y"  # a bank that grows along the way


ROADS: tuple[Callable[[dr.Model, np.random.Generator], Any], ...] = (rough, rough_path, waves, bump, twisted)


def verbs(m: dr.Model, speed: float) -> tuple[Callable[[], Any], ...]:
    return (
        lambda: dr.steady(m, {"speed": speed}, free=("pedal_torque",)),
        lambda: dr.steady(m, {"frame_vx": speed}),
        lambda: dr.modes(m, speed=np.linspace(0.0, speed, 5)),
        lambda: dr.modes(m, speed=np.linspace(0.0, speed, 5), near={"lean": 0.0}),
        lambda: dr.modes(m, frame_mass=np.linspace(80.0, 90.0, 3), fixed={"speed": speed}),
        lambda: dr.stability.stability_map(m, {"speed": (1.0, speed, 3), "frame_mass": (80.0, 90.0, 3)}),
        lambda: dr.stability.continuation(m, "speed", start={"speed": speed}, between=(0.0, 9.0)),
    )


@pytest.mark.parametrize("seed", range(10))
def test_motions_at_speed_are_refused_before_a_derivation(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object, **named: object) -> None:
        raise AssertionError("derived")

    monkeypatch.setattr(linearization, "derive", never)
    rng = np.random.default_rng(seed)
    m = dr.gallery.bicycle()
    m.parameter("frame_mass", 85.0, "kg") if "frame_mass" not in {p.name for p in m.freeze().parameters} else None
    m.ground(height=ROADS[seed % len(ROADS)](m, rng))
    for verb in verbs(m, float(rng.uniform(2.0, 9.0))):
        with pytest.raises(dr.errors.ModelError, match=r"speed|frame_vx.*the road changes along the way.*simulate"):
            verb()


def test_equations_that_are_derived_already_are_refused_too() -> None:
    m = dr.gallery.bicycle()
    m.ground(height=roads.waves(4.0, 0.01))
    with pytest.raises(dr.errors.ModelError, match="the road changes along the way"):
        dr.steady(dr.derive(m), {"speed": 5.0})


def test_a_bank_around_a_point_is_told_from_a_change() -> None:
    m = dr.gallery.bicycle()
    m.ground(height=roads.bank("5 deg", across=roads.circle(50.0)[1]))
    with pytest.raises(dr.errors.ModelError, match=r"banked around \([-+.\de]+ m, 50 m\)"):
        dr.steady(m, {"speed": 5.0})


def ridden(height: Any, near: dict[str, float] | None = None) -> np.ndarray:
    m = dr.gallery.bicycle()
    if height is not None:
        m.ground(height=height)
    targets = {"speed": 5.0, "lean": 0.0, "steer": 0.0}
    motion = dr.steady(m, targets, free=("steer_torque", "pedal_torque"), near={**targets, **near} if near else None)
    return np.sort_complex(dr.linearize(motion).essential().eigenvalues)


@pytest.mark.parametrize(
    ("height", "near"),
    [
        (roads.bump(10.0, 0.5, 0.03), None),  # farther on
        (roads.bump(0.0, 0.5, 0.03), {"frame_x": 4.0}),  # behind
        (roads.waves(6.0, 0.01), {"frame_x": 1.5, "heading": np.pi / 2}),  # along a crest
    ],
)
def test_motions_beside_obstacles_and_along_crests_stay(height: Any, near: dict[str, float] | None) -> None:
    """On the flat part the motion is that on a plane; along a crest it is one too."""
    values = ridden(height, near)
    if near is None or "heading" not in near:
        np.testing.assert_allclose(values, ridden(None), atol=1e-7)
    assert np.isfinite(values).all() and len(values) >= 4


def test_rest_stays() -> None:
    m = dr.gallery.bicycle()
    m.ground(height=roads.waves(4.0, 0.01))
    assert abs(dr.steady(m, {"speed": 0.0, "lean": 0.0, "steer": 0.0}, free=("steer_torque", "pedal_torque"))["speed"]) < 1e-12
