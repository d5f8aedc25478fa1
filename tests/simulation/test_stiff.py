"""Stiff problems with published or independently computed answers, and the method that is chosen by itself."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest

from draisine.program.equations import Equations, Event
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.selection import Auto
from draisine.simulation.run import integrate
from simulation.systems import first_order, implicit_system, oscillator, robertson, start_of, van_der_pol

# Made for these tests by Radau IIA in mpmath with 32 digits, Newton's method to 27, steps chosen by the collocation polynomial of
# the step before: once with 8 stages (310 steps), once with 6 and a tighter tolerance (610 steps). At t = 4e10 and 1e11 both
# agree to all of 22 digits, at t = 40 to 1e-15. What is published, e.g. for ODEPACK and RADAU5, agrees to the digits it has.
ROBERTSON = {
    40.0: [0.71582706871940509, 9.1855347645577635e-6, 0.28416374574583035],
    4e10: [5.208345176799239e-8, 2.083338177925489e-13, 0.99999994791633990],
}
ROBERTSON_LATE = [2.0833401497012942e-8, 8.3333607703347834e-14, 0.99999997916651517]  # t = 1e11
# ε = 1e-6, from (2, 0), at t = 1 and 2, in the same way with 7 stages (427 steps) and 8 (455 steps), which agree to 5e-17.
VAN_DER_POL = {1.0: [-1.8636462548081339, 0.75354308654354336], 2.0: [1.7061677321704650, -0.89280970102481655]}


@pytest.mark.parametrize("time", ROBERTSON)
def test_robertson_early_and_late(time: float) -> None:
    run = integrate(robertson(), [1.0, 0.0, 0.0], time, method=Radau(rtol=1e-10, atol=1e-16))
    assert run.final_state == pytest.approx(ROBERTSON[time], rel=2e-8)
    assert run.final_state.sum() == pytest.approx(1.0, abs=1e-14)


def test_robertson_to_the_last_digit() -> None:
    # c is what the others leave of 1, and no more exact than that
    run = integrate(robertson(), [1.0, 0.0, 0.0], 1e11, method=Radau(rtol=1e-12, atol=[1e-20, 1e-22, 1e-13]))
    assert run.final_state == pytest.approx(ROBERTSON_LATE, rel=1e-9)
    assert run.accepted < 5000  # the last step is longer than the first by fourteen orders of magnitude


@pytest.mark.parametrize("method", [Radau(rtol=1e-11, atol=1e-12), Radau(rtol=1e-11, atol=1e-12, stages=5)])
def test_van_der_pol_as_in_many_digits(method: Radau) -> None:
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
    account = "DOP853: the equations have the form ẋ = f and are not stiff"
    assert run.method == account
    assert str(run.status) == f"FINISHED: reached t = 50 s; {account}"


def test_no_method_is_auto_and_says_nothing_unless_it_changes() -> None:
    run = integrate(oscillator(), [1.0, 0.0], 5.0)
    assert str(run.status) == "FINISHED: reached t = 5 s"
    assert run.method.startswith("DOP853: ")
    stiff = integrate(van_der_pol(1e3), start_of(van_der_pol(1e3)), 0.5)  # before its first turn
    assert "s, then Radau of order 5: the equations are stiff" in stiff.status.message


@pytest.mark.parametrize("sampled", [True, False])
def test_auto_changes_over_to_radau(sampled: bool) -> None:
    """Both parts of the run are one: records, samples and events go on."""
    equations = van_der_pol(1e3)
    samples = np.linspace(0.0, 2.0, 401) if sampled else None
    run = integrate(equations, start_of(equations), 2.0, method=Auto(rtol=1e-9), samples=samples)
    direct = integrate(equations, start_of(equations), 2.0, method=Radau(rtol=1e-9), samples=np.linspace(0.0, 2.0, 401))
    assert run.status.kind == Ending.FINISHED
    assert run.method.startswith("DOP853 and Radau of order 5 in turn, ")
    assert run.accepted < 5000
    assert np.all(np.diff(run.steps) > 0.0)
    assert len(run.segments) == 1
    if sampled:
        quiet = np.abs(direct.states[:, 1]) < 3.0
        assert run.states[quiet] == pytest.approx(direct.states[quiet], rel=1e-5)
    else:
        assert run.times[-1] == 2.0


def stiff_for_a_while(low: float = 1.0, high: float = 1e5) -> Equations:
    """y follows cos t at the rate k(t), which is high between t = 1 and t = 2 only; beside it a harmonic oscillator. y = cos t is
    a solution whatever k is, and the oscillator's is known too."""

    def rates(t: ca.SX, x: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        k = low + high / (1 + ca.exp(-40 * (t - 1))) / (1 + ca.exp(40 * (t - 2)))
        return [-k * (x[0] - ca.cos(t)) - ca.sin(t), 20 * x[2], -20 * x[1]]

    return first_order("stiff_for_a_while", {"y": 1.0, "a": 1.0, "b": 0.0}, rates)


def test_auto_goes_back_when_stiffness_has_passed() -> None:
    equations, end = stiff_for_a_while(), 20.0
    run = integrate(equations, [1.0, 1.0, 0.0], end, method=Auto(rtol=1e-9))
    assert run.final_state == pytest.approx([np.cos(end), np.cos(20 * end), -np.sin(20 * end)], abs=2e-7)
    assert run.method.startswith("DOP853 up to t = ") and "Radau of order 5 up to t = 2." in run.method
    assert "then DOP853 again: the equations are stiff in between" in run.method
    assert str(run.status).endswith(run.method)
    # with either method alone it would cost more than twice as much
    for single in (Radau(rtol=1e-9), DOP853(rtol=1e-9)):
        assert integrate(equations, [1.0, 1.0, 0.0], end, method=single).evaluations > 2 * run.evaluations


def test_auto_is_the_same_however_the_loop_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are made after counted steps, never by the clock."""
    equations = stiff_for_a_while()
    whole = integrate(equations, [1.0, 1.0, 0.0], 4.0, method=Auto())
    monkeypatch.setattr("draisine.simulation.run.FIRST_BUDGET", 1)
    monkeypatch.setattr("draisine.simulation.run.CHUNK", 0.0)
    parts = integrate(equations, [1.0, 1.0, 0.0], 4.0, method=Auto())
    assert np.array_equal(whole.final_state, parts.final_state) and whole.method == parts.method


def test_auto_on_van_der_pol_takes_turns_and_saves_work() -> None:
    equations = van_der_pol(1e3)
    run, radau = (integrate(equations, [2.0, 0.0], 2.0, method=m) for m in (Auto(rtol=1e-9), Radau(rtol=1e-9)))
    assert run.final_state == pytest.approx(VAN_DER_POL[2.0], rel=1e-5)
    assert "DOP853 and Radau of order 5 in turn" in run.method
    assert run.evaluations < 0.8 * radau.evaluations


def test_the_fastest_rate_is_the_spectral_radius() -> None:
    from draisine.simulation.methods.selection import spectral_radius

    form = prepare(van_der_pol(1e2)).compiled(()).form
    x, y, eps = 1.5, -0.4, 1e-4
    matrix = np.array([[0.0, 1.0], [(-2 * x * y - 1) / eps, (1 - x * x) / eps]])
    reported = spectral_radius(form, 0.0, np.array([x, y]), np.zeros(0), np.array([eps]))
    assert reported == pytest.approx(np.abs(np.linalg.eigvals(matrix)).max(), rel=1e-12)


def test_returns_that_do_not_last_ask_for_more_nonstiff_checks() -> None:
    from draisine.simulation.methods.selection import CHECKS_NEEDED, NONSTIFF_LIMIT, WORTHWHILE_STEPS, NonstiffChecks

    calm = NonstiffChecks()
    assert [calm.check(0.1, 10.0) for _ in range(CHECKS_NEEDED)] == [False] * (CHECKS_NEEDED - 1) + [True]
    assert not calm.check(0.1, 1e3) and not calm.check(0.1, 10.0)  # one stiff look, and it begins again
    calm.returned(100)
    calm.left(100 + WORTHWHILE_STEPS - 1)
    assert calm.limit == NONSTIFF_LIMIT / 2
    calm.returned(300)
    calm.left(300 + WORTHWHILE_STEPS)
    assert calm.limit == NONSTIFF_LIMIT


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
    assert run.method == "DOP853, as given"
    assert len(run.status.warnings) == 1
    assert run.status.warnings[0].startswith("the equations are stiff from t = ")
    assert "limits the steps of DOP853; Radau() makes longer ones" in run.status.warnings[0]
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
    named = re.match(r"the derivative of b is not a finite number at t = (\S+) s", run.status.message)
    assert named is not None and 1.5 <= float(named[1]) < 1.5002  # the stage of the shortest step that leaves the domain
