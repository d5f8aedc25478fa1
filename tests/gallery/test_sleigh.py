"""The Chaplygin sleigh against its equations by hand, its closed form, and other descriptions of the same sleigh."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.gallery.entries.sleigh import ClosedForm, chaplygin_sleigh, sleigh_turns_round
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model

PARAMETERS = {"mass_ahead": 0.25, "gyration_radius": 0.35, "m_sleigh": 2.0}
EXACT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


def _report(equations: dr.Equations, x: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Every velocity, acceleration and output at a state, by name."""
    reported = zip(equations.report.outputs, equations.report([0.0], x, [], p), strict=True)
    return {label: float(value) for slot, values in reported for label, value in zip(slot.labels, values, strict=True)}


@pytest.mark.parametrize("mass_ahead", [0.25, -0.4])
@pytest.mark.parametrize("heading", [0.0, 0.7, math.pi / 2, -2.8])
def test_accelerations_are_those_by_hand(mass_ahead: float, heading: float) -> None:
    equations = dr.derive(chaplygin_sleigh())
    a, k, m = mass_ahead, 0.35, 2.0
    v, w = -0.8, 1.3
    speeds = {"sleigh_vx": v, "sleigh_vy": a * w, "sleigh_heading_rate": w}  # of the center of mass, in the sleigh's axes
    x = np.array([0.1, -0.2, heading, *(speeds[name] for name in equations.independent)])
    reported = _report(equations, x, np.array([{**PARAMETERS, "mass_ahead": a}[p.name] for p in equations.parameters]))

    assert reported["speed"] == pytest.approx(v, abs=1e-13) and reported["turn_rate"] == pytest.approx(w, abs=1e-13)
    turning = -a * v * w / (a**2 + k**2)
    assert reported["dsleigh_heading_rate/dt"] == pytest.approx(turning, abs=1e-12)
    assert reported["dsleigh_vx/dt"] == pytest.approx(a * w**2, abs=1e-12)
    assert reported["dsleigh_vy/dt"] == pytest.approx(a * turning, abs=1e-12)
    assert reported["blade_force_across"] == pytest.approx(m * v * w * k**2 / (a**2 + k**2), abs=1e-12)


def test_study_holds() -> None:
    study = sleigh_turns_round()
    assert set(study.figures) == {"path", "speeds_and_force", "ellipses"}


def test_the_track_is_the_integral_of_the_closed_form() -> None:
    from scipy.integrate import quad

    run = dr.simulate(chaplygin_sleigh(), 5.0, start={"speed": -0.7, "turn_rate": 0.3, "sleigh_heading": 2.0}, method=EXACT)
    exact = ClosedForm(0.25, 0.35, 2.0, speed=-0.7, turn_rate=0.3)

    def velocity(t: float, axis: int) -> float:
        at = exact.at(np.array([t]))
        heading = 2.0 + at["sleigh_heading"][0]
        return float(at["speed"][0] * (math.cos(heading), math.sin(heading))[axis])

    for axis, name in enumerate(("blade_x", "blade_y")):
        way = quad(velocity, 0.0, 5.0, args=(axis,), epsabs=1e-12, epsrel=1e-12, limit=200)[0]
        assert run[name][-1] - run[name][0] == pytest.approx(way, abs=1e-9)


def test_with_the_mass_behind_it_runs_backwards() -> None:
    """A change of sign of the parameter turns the preferred direction round; nothing is derived again."""
    run = dr.simulate(
        chaplygin_sleigh(), 12.0, start={"speed": 0.9, "turn_rate": 0.1}, parameters={"mass_ahead": -0.25}, method=EXACT
    )
    top = math.hypot(0.9, math.hypot(0.25, 0.35) * 0.1)
    assert run["speed"][-1] == pytest.approx(-top, abs=1e-5)


def _sleigh_by_its_blade() -> Model:
    """The same sleigh with its origin at the blade."""
    m = Model("sleigh_by_its_blade")
    m.gravity(0)
    sleigh = m.body("sleigh", mass=2.0, center_of_mass=(0.25, 0, 0), inertia=(0.245, 0.245, 0.245))
    m.planar(sleigh)
    m.knife_edge(sleigh, name="blade")
    m.output("speed", "body_velocity_x(sleigh)", "m/s")
    m.output("turn_rate", "rate_z(sleigh)", "rad/s")
    return m


def _sleigh_by_world_velocities() -> Model:
    """The same sleigh with velocities of its blade along the world's axes: neither is good at every heading."""
    m = Model("sleigh_by_world_velocities")
    m.gravity(0)
    sleigh = m.body("sleigh", mass=2.0, center_of_mass=(0.25, 0, 0), inertia=(0.245, 0.245, 0.245))
    x, y = Coordinate("x", "x_rate", "m"), Coordinate("y", "y_rate", "m")
    heading = Coordinate("sleigh_heading", "sleigh_heading_rate", "rad", low=-math.pi / 2, high=math.pi / 2)
    chain = (Translate((Name("x"), Name("y"), Number(0.0))), Rotate("z", Name("sleigh_heading")))
    m.joint("motion", "ground", sleigh, chain, (x, y, heading))
    m.knife_edge(sleigh, name="blade")
    m.output("speed", "body_velocity_x(sleigh)", "m/s")
    m.output("turn_rate", "rate_z(sleigh)", "rad/s")
    return m


def _sleigh_in_space() -> Model:
    """The same sleigh as a free body in space, its blade kept on the ground; a motion that begins level stays level."""
    m = Model("sleigh_in_space")
    m.gravity(0)
    sleigh = m.body("sleigh", mass=2.0, center_of_mass=(0.25, 0, 0), inertia=(0.2, 0.3, 0.245))
    m.free(sleigh)
    m.knife_edge(sleigh, name="blade", on_ground=True)
    m.output("speed", "body_velocity_x(sleigh)", "m/s")
    m.output("turn_rate", "rate_z(sleigh)", "rad/s")
    m.output("sleigh_heading", "heading(sleigh)", "rad")
    return m


@pytest.mark.parametrize("model", [_sleigh_by_its_blade, _sleigh_by_world_velocities, _sleigh_in_space])
def test_other_descriptions_move_alike(model: Callable[[], Model]) -> None:
    """Through headings of 90° and 180°; by world velocities the choice of independent ones must change hands there."""
    start = {"speed": -1.0, "turn_rate": 0.1}
    run = dr.simulate(model(), 6.0, start=start, method=EXACT)
    exact = ClosedForm(0.25, 0.35, 2.0, **start).at(run.time)
    assert run.status.complete, run.status
    for name in ("speed", "turn_rate", "blade_force_across"):
        assert run[name] == pytest.approx(exact[name], abs=1e-8), name
    turned = np.unwrap(run["sleigh_heading"]) - exact["sleigh_heading"]
    assert turned == pytest.approx(np.zeros_like(turned), abs=1e-8)
    assert run["sleigh_heading"].max() > 2.0
    assert (len(run.segments) > 1) == (model is _sleigh_by_world_velocities)
