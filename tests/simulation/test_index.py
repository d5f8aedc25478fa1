"""Radau IIA at the order it has at each index, on a pendulum in Cartesian coordinates posed at index 1, 2 and 3.

E. Hairer, C. Lubich and M. Roche, The Numerical Solution of Differential-Algebraic Systems by Runge–Kutta Methods (1989): with
three stages 5 throughout at index 1; 5 for the differential unknowns and 3 for the multiplier at index 2; 4 or more, 3 and 2
for positions, velocities and the multiplier at index 3.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest

from draisine.results.status import Ending
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.radau import Radau
from draisine.simulation.run import integrate
from simulation.systems import GRAVITY, cartesian_pendulum, first_order, implicit_system, pendulum_state, start_of


@cache
def exact(samples: int) -> np.ndarray:
    """By the angle, at the limit of double precision."""
    angle = first_order("angle", {"a": np.pi / 2, "w": 0.0}, lambda t, x, u, p: [x[1], -GRAVITY * ca.sin(x[0])])
    tight = DOP853(rtol=1e-14, atol=1e-14)
    run = integrate(angle, [np.pi / 2, 0.0], 1.0, method=tight, samples=np.linspace(0.0, 1.0, samples + 1)[1:])
    return pendulum_state(*run.states.T)


def errors(index: int, method: object, samples: int = 1) -> np.ndarray:
    """Largest errors of position, velocity and rod force at equally spaced times up to 1 s, of which there is one or more."""
    equations = cartesian_pendulum(index)
    times = np.linspace(0.0, 1.0, samples + 1)[1:]
    run = integrate(equations, start_of(equations), 1.0, method=method, samples=times)  # type: ignore[arg-type]
    assert run.status.kind == Ending.FINISHED
    e = np.abs(run.states - exact(samples)).max(axis=0)
    return np.array([e[:2].max(), e[2:4].max(), e[4]])


@pytest.mark.parametrize(("index", "orders"), [(1, [5, 5, 5]), (2, [5, 5, 3]), (3, [5, 3, 2])])
def test_radau_has_its_order(index: int, orders: list[int]) -> None:
    e = [errors(index, Radau(step=1 / n)) for n in (40, 80, 160)]
    assert np.log2(e[0] / e[1]) == pytest.approx(orders, abs=0.15)
    assert np.log2(e[1] / e[2]) == pytest.approx(orders, abs=0.1)


def test_five_stages_at_index_2() -> None:
    e = [errors(2, Radau(stages=5, step=1 / n)) for n in (14, 28)]
    assert np.log2(e[0] / e[1]) == pytest.approx([9, 9, 5], abs=0.3)


@pytest.mark.parametrize(
    ("method", "orders"),
    [
        (lambda n: ESDIRK23(step=1 / n), [2, 2, 2]),
        (lambda n: Gauss(1 / n, 2), [4, 4, 2]),
        (lambda n: Gauss(1 / n, 3), [6, 6, 4]),
    ],
)
def test_other_methods_at_index_1(method: object, orders: list[int]) -> None:
    """Of Gauss methods the theory promises order s or s + 1 for algebraic unknowns; they may have more."""
    e = [errors(1, method(n)) for n in (40, 80)]  # type: ignore[operator]
    measured = np.log2(e[0] / e[1])
    assert measured[:2] == pytest.approx(orders[:2], abs=0.4)
    assert measured[2] > orders[2] - 0.4


@pytest.mark.parametrize(("index", "reach"), [(1, [10, 10, 300]), (2, [10, 300]), (3, [30])])
def test_tolerance_rules_the_error(index: int, reach: list[float]) -> None:
    """What is not of a higher index stays near the tolerance; velocities and forces of index 2 and 3 fall with it."""
    found = [errors(index, Radau(rtol=tolerance, atol=tolerance), 20) for tolerance in (1e-6, 1e-8, 1e-10)]
    for e, tolerance in zip(found, (1e-6, 1e-8, 1e-10), strict=True):
        assert np.all(e[: len(reach)] < np.array(reach) * tolerance)
    assert np.all(found[2] < 0.3 * found[0])


@pytest.mark.parametrize("index", [2, 3])
def test_the_multiplier_at_the_start_follows_from_the_constraints(index: int) -> None:
    """From a swing with some speed, with a rod force that is no more than a guess: v² − g y is right."""
    equations = cartesian_pendulum(index)
    angle, speed = 0.4, 1.3
    right = pendulum_state(np.array([angle]), np.array([speed]))[0]
    guess = [*right[:4], 77.0]
    run = integrate(equations, guess, 0.1, method=Radau(), samples=[0.0, 0.1])
    assert run.states[0] == pytest.approx(right, abs=1e-12)


def test_algebraic_unknowns_of_index_1_are_made_consistent() -> None:
    equations = cartesian_pendulum(1)
    right = pendulum_state(np.array([0.4]), np.array([1.3]))[0]
    run = integrate(equations, [*right[:4], -5.0], 0.1, samples=[0.0, 0.1])
    assert run.states[0] == pytest.approx(right, abs=1e-13)
    assert run.method.startswith("Radau of order 5: the equations are given as 0 = F(t, x, ẋ), with r algebraic")


@pytest.mark.parametrize(("index", "who"), [(2, "'rod'"), (3, "'x rate' and .*'rod', differentiated once,")])
def test_a_start_against_a_hidden_constraint_is_refused(index: int, who: str) -> None:
    """A velocity along the rod, which the rod forbids."""
    equations = cartesian_pendulum(index)
    with pytest.raises(ValueError, match=rf"pendulum_\d: the start contradicts its constraints: no rates .* satisfy {who}"):
        integrate(equations, [1.0, 0.0, 0.5, 0.0, 0.0], 0.1, method=Radau())


def test_an_index_that_is_not_declared_is_found() -> None:
    equations = cartesian_pendulum(2)
    silent = replace(equations, dynamics=replace(equations.dynamics, index=()))
    with pytest.raises(ValueError, match=r"pendulum_2: r is not determined by the equations.*index=…"):
        integrate(silent, start_of(equations), 1.0)


def test_an_index_that_is_not_declared_is_found_in_sparse_equations_too() -> None:
    """Forty cells that cool, and a force that makes the first of them follow a sine."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        rates = [rate[i] + x[i] - (x[i - 1] if i else x[40]) for i in range(40)]
        return [*rates, x[0] - ca.sin(t)]

    chain = implicit_system("chain", {**{f"cell{i}": 0.0 for i in range(40)}, "force": 0.0}, residual)
    assert prepare(chain).compiled(()).form.plan is not None
    with pytest.raises(ValueError, match="chain: the rate of cell0 is not determined by the equations"):
        integrate(chain, np.zeros(41), 1.0)
    declared = replace(chain, dynamics=replace(chain.dynamics, index=(1,) * 40 + (2,)))
    run = integrate(declared, np.zeros(41), 1.0, method=Radau(), samples=[0.0, 1.0])
    assert run.states[:, 40] == pytest.approx([1.0, np.sin(1.0) + np.cos(1.0)], abs=1e-5)
    assert run.states[:, 0] == pytest.approx([0.0, np.sin(1.0)], abs=1e-9)


def test_methods_refuse_an_index_beyond_them() -> None:
    x0 = start_of(cartesian_pendulum(3))
    with pytest.raises(
        ValueError, match=r"pendulum_3 has unknowns of index 3; ESDIRK23 takes index 2 at most. Radau takes index 3"
    ):
        integrate(cartesian_pendulum(3), x0, 1.0, method=ESDIRK23())
    with pytest.raises(ValueError, match="Gauss takes index 1 at most"):
        integrate(cartesian_pendulum(2), x0, 1.0, method=Gauss(0.01))


def test_explicit_methods_refuse_implicit_equations() -> None:
    message = (
        r"pendulum_1 is given as 0 = F\(t, x, ẋ\), with r algebraic; DOP853 needs ẋ = f. Methods that work are Radau, ESDIRK23"
    )
    with pytest.raises(ValueError, match=message):
        integrate(cartesian_pendulum(1), start_of(cartesian_pendulum(1)), 1.0, method=DOP853())
    with pytest.raises(ValueError, match=r"and an index of 3; DOP853 needs ẋ = f. Methods that work are Radau or Auto$"):
        integrate(cartesian_pendulum(3), start_of(cartesian_pendulum(3)), 1.0, method=DOP853())


def test_rates_that_enter_nonlinearly() -> None:
    """ẋ³ + ẋ = 2 cos t: the rate is the root of a cubic, and x its integral by quadrature."""
    cubic = implicit_system("cubic", {"x": 0.0}, lambda t, x, rate, u, p: [rate[0] ** 3 + rate[0] - 2.0 * ca.cos(t)])
    run = integrate(cubic, [0.0], 2.0, method=Radau(rtol=1e-11, atol=1e-12))
    from scipy.integrate import quad

    def rate(t: float) -> float:
        roots = np.roots([1.0, 0.0, 1.0, -2.0 * np.cos(t)])
        return float(roots[np.argmin(np.abs(roots.imag))].real)

    assert run.final_state[0] == pytest.approx(quad(rate, 0.0, 2.0, epsabs=1e-13)[0], abs=1e-10)
