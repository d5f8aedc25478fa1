"""What is necessary for a minimum: against closed forms, and on the bicycle's turn."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr

DISTANCE = 1.7


@pytest.fixture(scope="module")
def mass():
    x, v, force = sp.symbols("x v force")
    return dr.first_order("mass", {x: v, v: force}, inputs=[force])


@pytest.fixture(scope="module")
def sprint(mass):
    return dr.maneuver(mass).start(x=0, v=0).finish(x=DISTANCE, v=0).bounds(force=(-1, 1)).minimize("time")


@pytest.mark.parametrize(
    "method",
    [
        dr.optimal.Collocation("gauss", 2, 20),
        dr.optimal.Collocation("radau", 3, 20, constant_controls=True),
        dr.optimal.MultipleShooting(20),
    ],
    ids=["gauss", "held", "shooting"],
)
def test_double_integrator_against_the_closed_form(sprint, method):
    """T = 2√d, p_x = −1/√d, ∂H/∂u = p_v = t/√d − 1 with its zero in the middle, H = −1."""
    reported = sprint.solve(method).optimality
    (force,) = reported.switching
    half = math.sqrt(DISTANCE)
    assert force.values == pytest.approx(force.times / half - 1, abs=1e-6)
    assert force.crossings == pytest.approx([half], abs=1e-6)
    assert force.switches == pytest.approx([half], abs=1e-6)
    assert (force.bounded, force.agreement) == (1.0, 1.0)
    (hamiltonian,) = reported.hamiltonian
    assert hamiltonian.constant
    assert hamiltonian.expected == -1.0
    assert hamiltonian.values == pytest.approx(np.full(len(hamiltonian.values), -1.0), abs=1e-6)
    assert max(reported.kkt.violation, reported.kkt.stationarity, reported.kkt.complementarity) < 1e-7


def test_a_goal_that_moves(mass):
    """x = 1 + t/2 is met at T = 2 with all force; H + 1 = p_x/2 there, and p_x v = H: p_x = −2/3, H = −4/3, and not −1."""
    chase = dr.maneuver(mass).start(x=0, v=0).finish("x - 0.5*t = 1").bounds(force=(-1, 1)).duration(1, 4).minimize("time")
    found = chase.solve(dr.optimal.Collocation("gauss", 2, 10))
    (hamiltonian,) = found.optimality.hamiltonian
    assert found.duration == pytest.approx(2.0, abs=1e-6)
    assert hamiltonian.constant and hamiltonian.expected is None
    assert hamiltonian.values == pytest.approx(np.full(len(hamiltonian.values), -4 / 3), abs=1e-5)


def test_integrand_counts_in_the_hamiltonian(mass):
    """min ∫u² in fixed time: u = 6 d/T² (1 − 2 t/T), p_v = −2 u, p_x = −24 d/T³; H = −u² + p_x v is −36 d²/T⁴ all the way."""
    d, end = 2.0, 3.0
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=d, v=0).bounds(force=(-9, 9)).duration(end).minimize(integral="force**2")
    reported = stated.solve(dr.optimal.Collocation(intervals=10)).optimality
    (hamiltonian,) = reported.hamiltonian
    assert hamiltonian.expected is None  # the duration is given
    assert hamiltonian.mean == pytest.approx(-36 * d**2 / end**4, rel=1e-6)
    assert hamiltonian.spread < 1e-5
    assert reported["force"].values == pytest.approx(np.zeros(30), abs=1e-6)
    assert reported["force"].bounded == 0.0


def test_a_path_condition_holds_back(mass):
    """|v| ≤ 0.5 as a path condition: reached at 0.5 s and kept until T − 0.5, the force between its bounds meanwhile."""
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).along(limit="v <= 0.5").minimize("time")
    found = stated.solve(dr.optimal.Collocation(intervals=25, constant_controls=True))
    assert found.duration == pytest.approx(2.5, rel=1e-6)
    (active,) = found.optimality.active
    assert (active.name, active.side) == ("limit", "upper")
    assert (active.begin, active.end) == pytest.approx((0.5, 2.0), abs=1e-6)
    assert (found.only.pontryagin.path_multipliers >= -1e-6).all()  # an upper side pushes down
    assert "limit: at its upper bound" in str(found.optimality)


def test_what_depends_on_time_has_no_constant_hamiltonian():
    t, x, u = sp.symbols("t x u")
    wind = dr.first_order("wind", {x: u + sp.sin(t)}, inputs=[u])
    found = (
        dr.maneuver(wind).start(x=0).finish(x=1).duration(2).minimize(integral="u**2").solve(dr.optimal.Collocation(intervals=8))
    )
    (hamiltonian,) = found.optimality.hamiltonian
    assert not hamiltonian.constant
    p = -2 * found.only.input("u")[0]  # x does not enter: its costate is constant
    u_of = found.only.input("u")
    assert hamiltonian.values == pytest.approx(u_of**2 + p * (u_of + np.sin(hamiltonian.times)), abs=1e-6)


def test_the_bicycles_torques_switch_where_the_switching_functions_vanish():
    stated = (
        dr.maneuver(dr.gallery.bicycle())
        .start(speed=8)
        .finish(heading=math.pi / 4, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-30, 30), lean=(-1, 1))
        .duration(0.3, 5)
        .minimize("time")
    )
    found = stated.solve(dr.optimal.Collocation(intervals=60))
    reported = found.optimality
    for name in ("steer_torque", "pedal_torque"):
        each = reported[name]
        assert each.agreement > 0.98
        assert each.bounded > 0.9
        assert len(each.switches) == len(each.crossings)
        assert each.apart < each.resolution
    (hamiltonian,) = reported.hamiltonian
    assert hamiltonian.mean == pytest.approx(-1.0, abs=0.01)  # it jumps where a switch falls within an interval
    assert {s["input"] for s in reported.as_data()["switching"]} == {"steer_torque", "pedal_torque"}
    figure = found.plot()
    assert len(figure.axes) == 5  # two controls with two scales each, and H
    assert len(found.plot("lean", "steer").axes) >= 1


def test_who_asks_for_another_input_is_reported(sprint):
    reported = sprint.solve(dr.optimal.Collocation(intervals=6)).optimality
    with pytest.raises(KeyError, match="inputs between bounds: force"):
        reported["torque"]


@pytest.mark.parametrize(
    "method",
    [dr.optimal.Collocation(intervals=6, constant_controls=True), dr.optimal.MultipleShooting(6)],
    ids=["held", "shooting"],
)
def test_held_controls_are_drawn_as_steps(sprint, method):
    found = sprint.solve(method)
    line = found.plot().axes[0].lines[0]
    times, values = line.get_xdata(), line.get_ydata()
    middles = found.duration * (np.arange(6) + 0.5) / 6
    assert np.interp(middles, times, values) == pytest.approx([1, 1, 1, -1, -1, -1], abs=1e-6)
    changes = np.abs(np.diff(values)) > 0.1
    assert np.diff(times)[changes] == pytest.approx(0.0, abs=1e-12)  # upright
    assert times[1:][changes] == pytest.approx([0.5 * found.duration])


def test_other_controls_are_drawn_through_their_nodes(sprint):
    found = sprint.solve(dr.optimal.Collocation("gauss", 2, 6))
    line = found.plot().axes[0].lines[0]
    assert line.get_drawstyle() == "default"
    times = found.optimality["force"].times
    assert len(line.get_xdata()) > len(times)  # between them, too
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == pytest.approx((0.0, found.duration), abs=1e-9)
