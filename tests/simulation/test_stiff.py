"""Stiff problems with published or independently computed answers, and the method that is chosen by itself."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.program.equations import Event
from draisine.results.status import Ending
from draisine.simulation import DOP853, ESDIRK23, RK4, Auto, Radau, integrate
from simulation.systems import first_order, implicit_system, oscillator, robertson, start_of, van_der_pol

# H. H. Robertson's reaction at t = 40 and 4e10 as published with LSODE (A. C. Hindmarsh, "ODEPACK", 1983).
ROBERTSON = {40.0: [7.158e-1, 9.186e-6, 2.842e-1], 4e10: [5.2083e-8, 2.0833e-13, 1.0]}
# The same to more digits: Hairer & Wanner's test set for RADAU5, problem ROBER, at t = 1e11.
ROBERTSON_LATE = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050]
# ... and problem VDPOL, ε = 1e-6, from (2, 0), at t = 1 and 2.
VAN_DER_POL = {1.0: [-0.1863646254808130e1, 0.7535430865435460e0], 2.0: [0.1706167732170483e1, -0.8928097010247975e0]}


@pytest.mark.parametrize("time", ROBERTSON)
def test_robertson_as_published(time: float) -> None:
    run = integrate(robertson(), [1.0, 0.0, 0.0], time, method=Radau(rtol=1e-10, atol=1e-16))
    assert run.final_state == pytest.approx(ROBERTSON[time], rel=2e-4)
    assert run.final_state.sum() == pytest.approx(1.0, abs=1e-14)


def test_robertson_to_the_last_digit() -> None:
    # c is what the others leave of 1, and no more exact than that
    run = integrate(robertson(), [1.0, 0.0, 0.0], 1e11, method=Radau(rtol=1e-12, atol=[1e-20, 1e-22, 1e-13]))
    assert run.final_state == pytest.approx(ROBERTSON_LATE, rel=1e-9)
    assert run.accepted < 5000  # the last step is longer than the first by fourteen orders of magnitude


@pytest.mark.parametrize("method", [Radau(rtol=1e-11, atol=1e-12), Radau(rtol=1e-11, atol=1e-12, stages=5)])
def test_van_der_pol_as_published(method: Radau) -> None:
    run = integrate(van_der_pol(1e3), [2.0, 0.0], 2.0, method=method, samples=[1.0, 2.0])
    assert run.states == pytest.approx(np.array([VAN_DER_POL[1.0], VAN_DER_POL[2.0]]), rel=3e-8)


@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e5, 1e6])
def test_van_der_pol_beside_scipy(stiffness: float) -> None:
    """Another program of the same method, with its own step control and a Jacobian by hand."""
    from scipy.integrate import solve_ivp

    epsilon = stiffness**-2

    def rates(t: float, x: np.ndarray) -> list[float]:
        return [x[1], ((1.0 - x[0] ** 2) * x[1] - x[0]) / epsilon]

    def jacobian(t: float, x: np.ndarray) -> list[list[float]]:
        return [[0.0, 1.0], [(-2.0 * x[0] * x[1] - 1.0) / epsilon, (1.0 - x[0] ** 2) / epsilon]]

    # at the very turn a difference of 1e-10 in time is one of 1e-4 in y, hence the quiet samples
    quiet = [0.4, 0.7, 1.0]
    x0 = start_of(van_der_pol(stiffness))
    peer = solve_ivp(rates, (0.0, 1.0), x0, method="Radau", rtol=1e-8, atol=1e-10, jac=jacobian, t_eval=quiet)
    run = integrate(van_der_pol(stiffness), x0, 1.0, method=Radau(rtol=1e-10, atol=1e-12), samples=quiet)
    assert run.states == pytest.approx(peer.y.T, rel=3e-7)


@pytest.mark.parametrize("stiffness", [1e3, 1e6])
def test_the_period_of_van_der_pol_is_the_asymptotic_one(stiffness: float) -> None:
    """T/μ = 3 − 2 ln 2 + 3 α μ^(−4/3) − (2/3) ln μ / μ² − 1.3246 / μ² + O(μ^(−8/3)), −α = −2.33811 the first zero of Ai.

    H. Bavinck and J. Grasman, "The method of matched asymptotic expansions for the periodic solution of the Van der Pol
    equation", Int. J. Non-Linear Mech. 9 (1974) 421–434.
    """
    falling = (Event("through zero", "x", direction=-1), lambda t, x: x[0])
    equations = van_der_pol(stiffness)
    watched = first_order(
        "van_der_pol",
        {"x": 2.0, "y": 0.0},
        lambda t, x, u, p: [x[1], ((1.0 - x[0] ** 2) * x[1] - x[0]) / p[0]],
        parameters={"epsilon": stiffness**-2},
        events=[falling],
    )
    run = integrate(watched, start_of(equations), 6.0, method=Radau(rtol=1e-10, atol=1e-11), samples=[0.0, 6.0])
    periods = np.diff([e.time for e in run.events])
    slow, turns = 3.0 - 2.0 * np.log(2.0), 3.0 * 2.338107410459767 * stiffness ** (-4 / 3)
    expected = slow + turns - (2.0 / 3.0 * np.log(stiffness) + 1.3246) / stiffness**2
    assert len(periods) == 3
    assert periods == pytest.approx([expected] * 3, abs=5.0 * stiffness ** (-8 / 3) + 2e-9)


def test_van_der_pol_at_a_million_takes_few_steps() -> None:
    run = integrate(van_der_pol(1e6), [2.0, -2.0 / 3.0], 2.0, method=Radau(rtol=1e-6, atol=1e-8), samples=[2.0])
    assert run.status.kind == Ending.FINISHED
    assert run.accepted + run.rejected < 1500
    assert run.jacobians < run.accepted  # they are kept while the iteration converges well


def test_esdirk_damps_what_is_fast() -> None:
    """Prothero & Robinson: ẋ = −10⁶ (x − cos t) − sin t has cos t as its solution; the steps look at that alone."""
    fast = first_order("fast", {"x": 1.0}, lambda t, x, u, p: [-1e6 * (x[0] - ca.cos(t)) - ca.sin(t)])
    run = integrate(fast, [1.0], 10.0, method=ESDIRK23(rtol=1e-5, atol=1e-5), samples=np.linspace(0.0, 10.0, 50))
    assert run.states[:, 0] == pytest.approx(np.cos(run.times), abs=1e-4)
    assert run.accepted < 400


# ---------------------------------------------------------------------------------------------------------------- Auto


def test_auto_takes_dop853_for_what_is_not_stiff() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 50.0, method=Auto())
    same = integrate(oscillator(), [1.0, 0.0], 50.0, method=DOP853())
    assert np.array_equal(run.final_state, same.final_state)
    account = "DOP853: the equations give ẋ = f, and did not prove stiff"
    assert run.method == account
    assert str(run.status) == f"FINISHED: reached t = 50 s; {account}"


def test_no_method_is_auto_and_says_nothing_unless_it_changes() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 5.0)
    assert str(run.status) == "FINISHED: reached t = 5 s"
    assert run.method.startswith("DOP853: ")
    stiff = integrate(van_der_pol(1e3), start_of(van_der_pol(1e3)), 2.0)
    assert "s, then Radau of order 5: the equations proved stiff" in stiff.status.message


@pytest.mark.parametrize("sampled", [True, False])
def test_auto_changes_over_to_radau(sampled: bool) -> None:
    """Both parts of the run are one: records, samples and events go on."""
    equations = van_der_pol(1e3)
    samples = np.linspace(0.0, 2.0, 401) if sampled else None
    run = integrate(equations, start_of(equations), 2.0, method=Auto(rtol=1e-9), samples=samples)
    direct = integrate(equations, start_of(equations), 2.0, method=Radau(rtol=1e-9), samples=np.linspace(0.0, 2.0, 401))
    assert run.status.kind == Ending.FINISHED
    assert run.method.startswith("DOP853 up to t = ")
    assert run.accepted < 5000
    assert np.all(np.diff(run.steps) > 0.0)
    assert len(run.segments) == 1
    if sampled:
        quiet = np.abs(direct.states[:, 1]) < 3.0
        assert run.states[quiet] == pytest.approx(direct.states[quiet], rel=1e-5)
    else:
        assert run.times[-1] == 2.0


def test_events_go_on_when_the_method_changes() -> None:
    """ẋ = −10⁵ (x − t), events when x passes 0.001, before the change, and 0.5, after it."""
    marks = [(Event(f"at {m}", "x"), lambda t, x, m=m: x[0] - m) for m in (0.001, 0.5)]
    chase = first_order("chase", {"x": 0.0}, lambda t, x, u, p: [-1e5 * (x[0] - t)], events=marks)
    run = integrate(chase, [0.0], 1.0, method=Auto(rtol=1e-10, atol=1e-12))
    assert "then Radau" in run.method
    assert [e.name for e in run.events] == ["at 0.001", "at 0.5"]
    assert [e.time for e in run.events] == pytest.approx([0.00101, 0.50001], abs=1e-8)


def test_dop853_asked_for_by_name_stays_and_warns() -> None:
    chase = first_order("chase", {"x": 0.0}, lambda t, x, u, p: [-1e5 * (x[0] - t)])
    run = integrate(chase, [0.0], 0.1, method=DOP853())
    assert run.method == "DOP853, as asked for"
    assert len(run.status.warnings) == 1
    assert run.status.warnings[0].startswith("the equations are stiff from t = ")
    assert "limits the steps of DOP853; Radau() would make longer ones" in run.status.warnings[0]
    assert not integrate(chase, [0.0], 1e-4, method=RK4(1e-6)).status.warnings


def test_auto_takes_radau_for_implicit_equations() -> None:
    run = integrate(robertson(), [1.0, 0.0, 0.0], 1.0, method=Auto())
    assert run.method == "Radau of order 5: the equations are given as 0 = F(t, x, ẋ), with c algebraic"
    assert str(run.status).endswith(run.method)


def test_tolerances_of_auto_are_handed_on() -> None:
    auto = Auto(rtol=1e-5, atol=1e-7, first_step=1e-3, max_step=0.5, max_steps=99)
    for method in (auto.explicit, auto.implicit):
        assert (method.rtol, method.atol, method.first_step, method.max_step, method.max_steps) == (1e-5, 1e-7, 1e-3, 0.5, 99)
    with pytest.raises(ValueError, match="Auto: rtol must be a positive number"):
        Auto(rtol=-1.0)


# -------------------------------------------------------------------------------------------------------------- endings


def test_a_motion_that_ends_is_named() -> None:
    """x² = 1 − t has no real solution beyond t = 1."""
    fold = implicit_system("fold", {"x": 1.0, "y": 0.0}, lambda t, x, r, u, p: [x[0] ** 2 - 1.0 + t, r[1] - x[0]])
    run = integrate(fold, [1.0, 0.0], 2.0)
    assert run.status.kind == Ending.STEP_TOO_SMALL
    assert run.final_time == pytest.approx(1.0, abs=1e-3)
    assert run.final_state[1] == pytest.approx(2.0 / 3.0, abs=1e-3)


def test_a_residual_that_is_not_finite_is_named() -> None:
    edge = implicit_system(
        "edge", {"a": 0.0, "b": 1.0}, lambda t, x, r, u, p: [r[0] - 1.0, r[1] - ca.sqrt(1.5 - x[0])], labels=("clock", "root")
    )
    run = integrate(edge, [0.0, 1.0], 5.0)
    assert run.status.kind == Ending.NOT_FINITE
    assert run.status.message.startswith("the residual of 'root' is not a finite number at t = 1.5 s; shorter steps did not help")


def test_a_fixed_step_that_is_too_long_says_so() -> None:
    """A step across the end of the solutions."""
    fold = implicit_system("fold", {"x": 1.0}, lambda t, x, r, u, p: [x[0] ** 2 - 1.0 + t])
    run = integrate(fold, [1.0], 2.0, method=Radau(step=0.3))
    assert run.status.kind == Ending.STEP_TOO_SMALL
    assert "with the fixed step of Radau; try a tenth of it" in run.status.message
    assert run.final_time == pytest.approx(0.9, abs=0.1)


def test_an_explicit_system_under_radau_names_the_derivative() -> None:
    edge = first_order("edge", {"a": 0.0, "b": 1.0}, lambda t, x, u, p: [1.0, ca.sqrt(1.5 - x[0])])
    run = integrate(edge, [0.0, 1.0], 5.0, method=Radau())
    assert run.status.message.startswith("the derivative of b is not a finite number at t = 1.5 s")
