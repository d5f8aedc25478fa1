"""Events that watch contact forces and multipliers, against closed forms of lifting off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.formulations import Augmented, Reduced
from draisine.dynamics.stabilization import Projection
from draisine.errors import ModelError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import prepared

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
LIFT_OFF = dr.Event("lift_off", "rim_normal_force", "stop")


def ball(share: float, radius: float) -> dr.Model:
    """A ball with the moment share·m r² on a sphere of radius R, whose top is the origin."""
    m = dr.Model("ball")
    m.parameter("R", 1.0)
    r = m.parameter("r", radius)
    moment = m.parameter("share", share) * 2.0 * r**2
    m.body("wheel", mass=2.0, inertia=(moment, moment, moment))
    m.free("wheel")
    m.wheel("rim", "wheel", radius=0.0, tube=r)
    m.ground(height="sqrt(R^2 - x^2 - y^2) - R")
    return m


def lifts_at(share: float, length: float, speed: float) -> float:
    """cos φ at which a body that rolls from the top leaves a sphere: m g cos φ = m v²/(R + r), with the energy of rolling."""
    return (2.0 / (1.0 + share) + speed**2 / (G * length)) / (1.0 + 2.0 / (1.0 + share))


@pytest.mark.parametrize("formulation", [None, Augmented()])
@pytest.mark.parametrize("seed", range(4))
def test_a_ball_rolls_over_the_top_of_a_sphere_and_lifts_off(seed: int, formulation: Augmented | None) -> None:
    """From below the speed √(g (R + r)) at which it would lift off at the crest; 10/17 for a solid ball from rest."""
    rng = np.random.default_rng(seed)
    share, radius, size = rng.uniform(0.1, 0.66), rng.uniform(0.05, 0.3), rng.uniform(0.5, 2.0)
    speed = np.sqrt(G * (size + radius)) * rng.uniform(0.3, 0.999)
    start = {"wheel_x": 0.0, "wheel_y": 0.0, "wheel_wy": speed / radius}
    given = {"R": size, "r": radius, "share": share}
    run = dr.simulate(
        ball(0.4, 0.1), 5.0, start=start, parameters=given, events=[LIFT_OFF], method=TIGHT, formulation=formulation
    )
    assert run.status.kind == Ending.EVENT
    assert (run.final["wheel_z"] + size) / (size + radius) == pytest.approx(lifts_at(share, size + radius, speed), abs=1e-8)
    assert run["rim_normal_force"][-1] == pytest.approx(0.0, abs=1e-7)


def test_ensembles_stop_where_single_runs_do() -> None:
    model, radius = ball(0.4, 0.1), 0.1
    sizes = np.array([0.6, 1.0, 1.7])
    given = {"start": {"wheel_x": 0.0, "wheel_y": 0.0, "wheel_wy": 5.0}, "events": [LIFT_OFF], "method": TIGHT}
    table = dr.ensemble(model, 5.0, {"R": sizes}, outputs=["wheel_z"], **given)  # type: ignore[arg-type]
    assert set(table["event"]) == {"lift_off"}
    expected = [(size + radius) * lifts_at(0.4, size + radius, 0.5) - size for size in sizes]
    np.testing.assert_allclose(table["wheel_z.end"], expected, atol=1e-8)
    single = dr.simulate(model, 5.0, parameters={"R": 1.0}, **given)  # type: ignore[arg-type]
    assert table["ended"][1] == single.time[-1]


def test_an_event_of_the_model_goes_through_a_file(tmp_path: Path) -> None:
    model = ball(0.4, 0.1)
    model.event("lift_off", "rim_normal_force", "stop", description="the ball leaves the ground")
    model.event("away", "rim_contact_x - 0.3", "record")
    dr.write_model(model, tmp_path / "ball.toml")
    run = dr.simulate(
        dr.read_model(tmp_path / "ball.toml"), 5.0, start={"wheel_x": 0.0, "wheel_y": 0.0, "wheel_wy": 5.0}, method=TIGHT
    )
    assert run.status.message.startswith("lift_off: the ball leaves the ground")
    assert (run.final["wheel_z"] + 1.0) / 1.1 == pytest.approx(lifts_at(0.4, 1.1, 0.5), abs=1e-8)
    (away, _) = run.events
    assert run.at(away.time)["rim_contact_x"] == pytest.approx(0.3, abs=1e-4)


def particle() -> dr.Equations:
    """A particle on a circle by Cartesian coordinates; the multiplier times 2 R is the normal force."""
    x, z = dynamicsymbols("x z")
    m, g, radius, push = sp.symbols("m g R push")
    return dr.lagrangian(
        "particle",
        [x, z],
        kinetic=m * (x.diff() ** 2 + z.diff() ** 2) / 2,
        potential=m * g * z,
        holonomic={"circle": x**2 + z**2 - radius**2},
        parameters={m: 1.0, g: G, radius: 1.0},
        inputs=[push],
        forces={x: push},
        start={x: 0.0, z: 1.0},
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_particle_leaves_a_sphere_at_two_thirds(seed: int) -> None:
    """From the top with a small speed: cos φ = 2/3 + v²/(3 g R)."""
    rng = np.random.default_rng(seed)
    mass, radius, gravity, speed = rng.uniform(0.2, 5.0), rng.uniform(0.3, 3.0), rng.uniform(1.0, 20.0), rng.uniform(0.01, 0.3)
    run = dr.simulate(
        particle(),
        20.0,
        start={"x": 0.0, "z": radius, "x_rate": speed},
        parameters={"m": mass, "R": radius, "g": gravity},
        events=[dr.Event("leaves", "circle_multiplier", "stop")],
        method=TIGHT,
    )
    assert run.status.kind == Ending.EVENT
    assert run.final["z"] / radius == pytest.approx(2.0 / 3.0 + speed**2 / (3.0 * gravity * radius), abs=1e-8)


def test_with_a_law_of_an_input_and_with_sensitivities() -> None:
    """A push −k x along x does the work −k x²/2; the normal force is m g cos φ + k x sin φ − m v²/R."""
    given = {"start": {"x": 0.0, "z": 1.0, "x_rate": 0.2}, "events": [dr.Event("leaves", "circle_multiplier", "stop")]}
    run = dr.simulate(particle(), 20.0, inputs={"push": "-2*x"}, method=TIGHT, **given)  # type: ignore[arg-type]
    z = run.final["z"]
    assert run.status.kind == Ending.EVENT
    assert G * z + 2 * (1 - z * z) - (0.04 + 2 * G * (1 - z) - 2 * (1 - z * z)) == pytest.approx(0.0, abs=1e-7)
    varied = dr.simulate(particle(), 20.0, method=TIGHT, sensitivity=["g"], **given)  # type: ignore[arg-type]
    plain = dr.simulate(particle(), 20.0, method=TIGHT, **given)  # type: ignore[arg-type]
    assert varied.events[0].time == pytest.approx(plain.events[0].time, abs=1e-8)


@pytest.mark.parametrize("method", [dr.methods.Radau(rtol=1e-9, atol=1e-11), dr.methods.RK4(0.001)])
def test_other_methods_and_backwards(method: dr.methods.Radau | dr.methods.RK4) -> None:
    events = [dr.Event("leaves", "circle_multiplier")]
    run = dr.simulate(particle(), 1.5, start={"x": 0.0, "z": 1.0, "x_rate": 0.3}, events=events, method=method)
    back = dr.simulate(particle(), -1.5, start={"x": 0.0, "z": 1.0, "x_rate": 0.3}, events=events, method=method)
    heights = [r.at(r.events[0].time)["z"] for r in (run, back)]
    assert heights == pytest.approx([2 / 3 + 0.09 / (3 * G)] * 2, abs=1e-4)


def test_formulations_agree_on_a_wheel_that_becomes_light() -> None:
    """The gallery's bicycle, with a threshold of the normal force of its front wheel, and with stabilized drift."""
    bicycle = dr.gallery.bicycle()
    given = {"start": {"speed": 4.0, "roll_rate": 0.5}, "method": TIGHT}
    events = [dr.Event("light", "front_wheel_normal_force - 309.5"), dr.Event("side", "front_wheel_lateral_force*speed - 20")]
    found = []
    for how in ({}, {"formulation": Reduced()}, {"formulation": Augmented()}, {"drift": Projection()}):
        run = dr.simulate(bicycle, 1.0, events=events, **given, **how)  # type: ignore[arg-type]
        found.append([(e.name, round(e.time, 6)) for e in run.events])
    assert found[0] and {name for name, _ in found[0]} == {"light", "side"}
    assert all(other == found[0] for other in found[1:])


def test_the_cost_is_paid_only_where_a_force_is_watched() -> None:
    watched = dr.derive(ball(0.4, 0.1), events=(LIFT_OFF,), formulation=Augmented())
    plain = dr.derive(ball(0.4, 0.1), events=(dr.Event("far", "wheel_x - 1"),), formulation=Augmented())
    assert isinstance(watched.events, LinearSolveProgram) and not isinstance(plain.events, LinearSolveProgram)
    assert watched.dynamics.digest == plain.dynamics.digest  # type: ignore[union-attr]
    assert prepared(plain).choices.compiled(plain.independent).event_degrees[0] == 1
    reduced = dr.derive(dr.gallery.bicycle(), events=(dr.Event("light", "front_wheel_normal_force"),))
    assert reduced.dynamics.operations == dr.derive(dr.gallery.bicycle()).dynamics.operations


def test_names_that_no_report_has_are_refused() -> None:
    with pytest.raises(ModelError, match="event 'e': unknown name 'rim_normal_forc'; did you mean 'rim_normal_force'"):
        dr.simulate(ball(0.4, 0.1), 1.0, events=[dr.Event("e", "rim_normal_forc")])
    with pytest.raises(ModelError, match="unknown name 'circle_multiplie'"):
        dr.simulate(particle(), 1.0, events=[dr.Event("e", "circle_multiplie")])
