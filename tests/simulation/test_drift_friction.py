"""Drift control, implicit methods and paths where forces depend on multipliers, so that Newton's method solves every step."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.model.items import Coordinate, Translate
from draisine.model.model import Model
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual

MU, MASS, G = 0.6, 3.0, 9.81
UNTIL = 0.5


def slider() -> Model:
    """A locked wheel that slides on the ground: its speed falls by μ g t, along a straight line."""
    m = Model("slider")
    m.body("wheel", mass=MASS, inertia=(0.1, 0.2, 0.1))
    ways = tuple(Coordinate(n, f"{n}_rate", "m", d, -1.0, 1.0) for n, d in (("along", 0.0), ("aside", 0.0), ("up", 0.4)))
    m.joint("motion", "ground", "wheel", (Translate((Name("along"), Name("aside"), Name("up"))),), ways)
    m.wheel("rim", "wheel", radius=0.4, contact=dr.contact.Coulomb(MU, speed=1e-6))
    m.input("push", "N")
    m.generalized_force("along", "push")
    return m


START = {"along_rate": 4.0, "aside_rate": 3.0}
CONTROLS = [
    dr.stabilization.NoControl(),
    dr.stabilization.Baumgarte(),
    dr.stabilization.Projection(),
    dr.stabilization.VelocityProjection(),
    dr.stabilization.InvariantStabilization(),
    dr.stabilization.Projection(invariants=("energy",)),
    dr.stabilization.Minimal(),
    dr.formulations.Augmented(),
    dr.stabilization.GGL(),
]


def check_sliding(run: dr.Trajectory, tolerance: float) -> None:
    way = 5.0 * UNTIL - MU * G * UNTIL**2 / 2
    np.testing.assert_allclose([run["along"][-1], run["aside"][-1]], [0.8 * way, 0.6 * way], atol=tolerance)
    np.testing.assert_allclose(run["along_rate"][-1], 0.8 * (5.0 - MU * G * UNTIL), atol=tolerance)


def test_it_is_solved_by_newtons_method() -> None:
    dynamics = dr.derive(slider()).dynamics
    assert isinstance(dynamics, LinearSolveProgram) and dynamics.iterates


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: type(c).__name__)
def test_every_control_slides_as_the_closed_form(control: object) -> None:
    check_sliding(dr.simulate(slider(), UNTIL, start=START, drift=control), 1e-7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "method",
    [
        dr.methods.Radau(),
        dr.methods.Gauss(),
        dr.methods.ESDIRK23(rtol=1e-7),
        dr.methods.IDA(),
        dr.methods.CVODE(),
        dr.methods.Auto(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_every_implicit_method_slides_as_the_closed_form(method: object) -> None:
    check_sliding(dr.simulate(slider(), UNTIL, start=START, method=method), 1e-5)  # type: ignore[arg-type]


def test_posed_with_its_multipliers_the_normal_force_is_an_unknown() -> None:
    form = dr.dae.as_dae(slider())
    assert isinstance(form.dynamics, DaeResidual)
    run = dr.simulate(form, UNTIL, start=START, method=dr.methods.Radau())
    check_sliding(run, 1e-7)
    np.testing.assert_allclose(run["rim_normal_multiplier"][1:], MASS * G, rtol=1e-6)


def test_what_needs_energies_alone_is_refused() -> None:
    with pytest.raises(dr.errors.ModelError, match=r"depend on the multipliers of constraints .* use Projection\(\)"):
        dr.simulate(slider(), UNTIL, drift=dr.stabilization.Rattle(1e-2))
    with pytest.raises(dr.errors.ModelError, match="depend on the multipliers of rim_normal"):
        dr.simulate(slider(), UNTIL, drift=dr.formulations.Reduced())


def rubbing(share: float) -> Model:
    """A bead on a straight wire that rubs in proportion to the signed force of the wire: linear in the multiplier."""
    m = Model("bead")
    m.body("bead", mass=2.0, inertia=(1.0, 1.0, 1.0))
    ways = tuple(Coordinate(n, f"{n}_rate", "m", 0.0, -1.0, 1.0) for n in ("along", "up"))
    m.joint("motion", "ground", "bead", (Translate((Name("along"), Number(0.0), Name("up"))),), ways)
    m.constrain("wire", "up - 0.5*along", unit="m")
    if share:
        m.generalized_force("along", f"-{share}*wire_multiplier")
    return m


def test_rattle_refuses_linear_dependence_too_and_takes_the_rest() -> None:
    with pytest.raises(dr.errors.ModelError, match="depend on the multipliers"):
        dr.simulate(rubbing(0.2), 0.3, drift=dr.stabilization.Rattle(1e-2))
    run = dr.simulate(rubbing(0.0), 0.3, drift=dr.stabilization.Rattle(1e-2))
    # down an incline of slope ½: the acceleration along x is −g/2 / (1 + 1/4)
    assert float(run["along"][-1]) == pytest.approx(-G / 2 / 1.25 * 0.3**2 / 2, rel=1e-9)


def test_rubbing_in_proportion_slows_it_down_in_every_form() -> None:
    """M ẍ = −λ/2 − s λ, M z̈ = λ − M g, z = x/2: λ = M g/(1 + ¼ + s/2), and x falls with −(½ + s) λ/M."""
    share = 0.2
    rate = -(0.5 + share) * G / (1.25 + share / 2)
    for control in (
        dr.stabilization.Projection(),
        dr.stabilization.Baumgarte(),
        dr.stabilization.GGL(),
        dr.stabilization.Minimal(),
    ):
        run = dr.simulate(rubbing(share), 0.4, drift=control)
        assert float(run["along"][-1]) == pytest.approx(rate * 0.4**2 / 2, rel=1e-6), control


def test_a_path_through_iterated_forces_is_refused_with_a_cure() -> None:
    with pytest.raises(dr.errors.ModelError, match=r"depend nonlinearly .* remove the bound of the law"):
        dr.control.follow(slider(), 1.0, {"ride": "along = 0.1*t^2"}, ["push"])


def test_a_path_without_the_bound_is_followed() -> None:
    """Creep in proportion to slip: a locked wheel slips as fast as its hub goes, so that push = m a + C."""
    m = Model("crept")
    m.body("wheel", mass=MASS, inertia=(0.1, 0.2, 0.1))
    ways = tuple(Coordinate(n, f"{n}_rate", "m", d, -1.0, 1.0) for n, d in (("along", 0.0), ("up", 0.4)))
    m.joint("motion", "ground", "wheel", (Translate((Name("along"), Number(0.0), Name("up"))),), ways)
    m.wheel("rim", "wheel", radius=0.4, contact=dr.contact.Creep(longitudinal=50.0, lateral=50.0, speed=1e-6))
    m.input("push", "N")
    m.generalized_force("along", "push")
    ride = dr.control.follow(m, 1.0, {"ride": "along = t + 0.1*t^2"}, ["push"])
    np.testing.assert_allclose(ride["push"], MASS * 0.2 + 50.0, rtol=1e-6)


@pytest.mark.parametrize("start", [{"speed": 4.25}, {"speed": 6.0}, {"speed": 6.0, "roll_rate": 0.1}])
def test_implicit_runs_start_at_loaded_tires_without_slip(start: dict[str, float]) -> None:
    """The friction of a loaded tire has no value at a normal force of zero: Newton's method starts at the reactions."""
    model = dr.gallery.sliding_bicycle()
    exact = dr.simulate(model, 0.5, start=start, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12), samples=20)
    for method in (None, dr.methods.Radau()):
        run = dr.simulate(model, 0.5, start=start, method=method, samples=20)
        assert run.status.complete, run.status
        for name in ("lean", "steer", "speed"):
            assert run[name] == pytest.approx(exact[name], abs=1e-6)
