"""Periodic motions against closed forms, figures to thirty digits, Liouville's formula, and plain runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from scipy.special import ellipk, mathieu_a, mathieu_b

import draisine as dr
from draisine.errors import SolverError
from draisine.simulation.run import integrate

X, V, T = sp.symbols("x v t")
EXACT = dr.methods.DOP853(rtol=1e-13, atol=1e-15)
# μ = 1, by Taylor series of degree 40 in 30 digits and Newton's method on half a period, x(T/2) = −x(0)
VAN_DER_POL_PERIOD = 6.66328685932313018969968203
VAN_DER_POL_EXPONENT = -1.059376994841854892700404
VAN_DER_POL_AMPLITUDE = 2.00861986087484313650964


@pytest.fixture(scope="module")
def van_der_pol():
    mu = sp.Symbol("mu")
    return dr.first_order("van_der_pol", {X: V, V: mu * (1 - X**2) * V - X}, parameters={mu: 1.0})


@pytest.fixture(scope="module")
def pendulum():
    return dr.first_order("pendulum", {X: V, V: -sp.sin(X)})


@pytest.fixture(scope="module")
def normal_form():
    """ṙ = μ r + r³ − r⁵, one turn in 2π: a cycle of r² = (1 + √(1 + 4μ))/2 and, for −1/4 < μ < 0, one of the other root."""
    y, mu = sp.symbols("y mu")
    square = X**2 + y**2
    rates = {X: mu * X - y + X * square - X * square**2, y: mu * y + X + y * square - y * square**2}
    return dr.first_order("normal_form", rates, parameters={mu: 0.1})


@pytest.mark.parametrize("nodes", [1, 5])
def test_van_der_pol(van_der_pol, nodes):
    cycle = dr.stability.limit_cycle(
        van_der_pol, start={"x": 2.0}, period=6.6, fixed={"v": 0.0}, nodes=nodes, method=EXACT, accuracy=1e-12
    )
    assert cycle.period == pytest.approx(VAN_DER_POL_PERIOD, rel=1e-12)
    assert cycle.exponents[0].real == pytest.approx(VAN_DER_POL_EXPONENT, rel=1e-9)
    assert cycle.values["x"] == pytest.approx(VAN_DER_POL_AMPLITUDE, rel=1e-12)
    assert cycle.stable is True and cycle.floquet.digits > 11
    assert cycle.floquet.trivial == pytest.approx(1.0, abs=1e-11)


def test_multiplier_by_liouville(van_der_pol):
    """In the plane the multiplier is exp ∮ div f."""
    cycle = dr.stability.limit_cycle(van_der_pol, start={"x": 1.0}, settle=40.0, parameters={"mu": 0.3})
    run = cycle.run(samples=2001)
    divergence = 0.3 * (1 - run["x"][:-1] ** 2)  # the trapezoidal rule, which is exact for periodic functions
    assert cycle.multipliers[0].real == pytest.approx(math.exp(divergence.mean() * cycle.period), rel=1e-9)
    assert cycle.stable is True


def test_a_motion_that_does_not_return_while_it_settles_is_told(van_der_pol):
    with pytest.raises(
        dr.errors.ArgumentError, match=r"no oscillation in the second half of settle=30: settle longer, or give period"
    ):
        dr.stability.limit_cycle(van_der_pol, start={"x": 2.0}, settle=30.0, parameters={"mu": 40.0})


def test_pendulum_conserves(pendulum):
    """Period 4 K(sin²(θ/2)); both multipliers are one, and the matrix is a shear by dT/dE."""
    cycle = dr.stability.limit_cycle(pendulum, start={"x": 1.0}, period=6.5, fixed={"x": 1.0})
    assert cycle.period == pytest.approx(4 * ellipk(math.sin(0.5) ** 2), rel=1e-11)
    assert cycle.multipliers[0] == pytest.approx(1.0, abs=1e-9)
    assert cycle.stable is None and cycle.floquet.neutral == 1 and cycle.floquet.attracts
    step = 1e-4
    slope = (4 * ellipk(math.sin(0.5 + step / 2) ** 2) - 4 * ellipk(math.sin(0.5 - step / 2) ** 2)) / (2 * step)
    assert cycle.monodromy[1, 0] == pytest.approx(math.sin(1.0) * slope, rel=1e-6)  # later by δT: v lags by θ̈ δT


def test_one_of_a_family_by_its_period(pendulum):
    cycle = dr.stability.limit_cycle(pendulum, start={"x": 1.0}, period=6.6, fixed={"period": 7.0})
    top = float(cycle.trajectory["x"].max())
    assert 4 * ellipk(math.sin(top / 2) ** 2) == pytest.approx(7.0, rel=1e-6)


def test_pendulum_turns_over(pendulum):
    cycle = dr.stability.limit_cycle(
        pendulum, start={"x": 0.0, "v": 2.5}, period=3.0, fixed={"v": 2.5, "x": 0.0}, advance={"x": 2 * math.pi}
    )
    assert cycle.period == pytest.approx(4 / 2.5 * ellipk(4 / 2.5**2), rel=1e-11)


def test_duffing_closed_form():
    """x″ + x + x³ = 0 from x = A: T = 4 K(m)/√(1 + A²), m = A²/(2 (1 + A²))."""
    duffing = dr.first_order("duffing", {X: V, V: -X - X**3})
    for amplitude in (0.5, 3.0):
        cycle = dr.stability.limit_cycle(
            duffing, start={"x": amplitude}, period=6.0 / math.sqrt(1 + amplitude**2), fixed={"x": amplitude, "v": 0.0}
        )
        square = amplitude**2
        expected = 4 * ellipk(square / (2 * (1 + square))) / math.sqrt(1 + square)
        assert cycle.period == pytest.approx(expected, rel=1e-11)


def test_forced_oscillator_closed_form():
    """The answer is Re e^{3it}/(4 − 9 + 1.2 i), multipliers are exp(λ T)."""
    forced = dr.first_order("forced", {X: V, V: sp.cos(3 * T) - 4 * X - sp.Rational(2, 5) * V})
    cycle = dr.stability.limit_cycle(forced, start={}, period=2 * math.pi / 3, nodes=3)
    answer = 1 / complex(4 - 9, 1.2)
    np.testing.assert_allclose(cycle.shot.nodes[0].values, [answer.real, (3j * answer).real], atol=1e-11)
    expected = np.exp(np.roots([1.0, 0.4, 4.0]) * cycle.period)
    np.testing.assert_allclose(sorted(cycle.multipliers, key=np.imag), sorted(expected, key=np.imag), rtol=1e-9)
    assert cycle.floquet.trivial is None and cycle.stable is True


def test_mathieu_on_its_characteristic_curves():
    """On a_r(q) and b_r(q) a solution has period π (r even) or 2π (r odd): multipliers over π are 1, −1; between, unstable."""
    a, q = sp.symbols("a q")
    mathieu = dr.first_order("mathieu", {X: V, V: -(a - 2 * q * sp.cos(2 * T)) * X}, parameters={a: 1.0, q: 0.5})
    for value, multiplier in (
        (mathieu_a(2, 0.5), 1.0),
        (mathieu_b(2, 0.5), 1.0),
        (mathieu_a(1, 0.5), -1.0),
        (mathieu_b(1, 0.5), -1.0),
    ):
        cycle = dr.stability.limit_cycle(mathieu, start={}, period=math.pi, parameters={"a": float(value)}, method=EXACT)
        assert float(cycle.multipliers.sum().real) == pytest.approx(2 * multiplier, abs=1e-10)
        assert np.prod(cycle.multipliers).real == pytest.approx(1.0, abs=1e-10)  # no damping
    inside = 0.5 * float(mathieu_a(1, 0.5) + mathieu_b(1, 0.5))
    assert dr.stability.limit_cycle(mathieu, start={}, period=math.pi, parameters={"a": inside}).stable is False


def test_family_round_its_fold(normal_form):
    cycle = dr.stability.limit_cycle(normal_form, start={"x": 1.0}, period=6.2)
    branch = dr.stability.follow_cycle(cycle, "mu", -1.0, largest=0.05)
    square = branch.amplitudes("x") ** 2
    values = branch.values
    np.testing.assert_allclose(values, square**2 - square, rtol=0.0, atol=1e-7)
    assert branch.folds == pytest.approx([-0.25], abs=1e-3)
    assert "shrinks to an equilibrium" in branch.ending
    for found, value, size in zip(branch.cycles, values, square, strict=True):
        radial = math.exp(2 * math.pi * (value + 3 * size - 5 * size**2))
        assert found.multipliers[0].real == pytest.approx(radial, rel=1e-5)
        assert found.period == pytest.approx(2 * math.pi, rel=1e-8)
        if abs(value + 0.25) > 1e-3:
            assert found.stable is bool(size > 0.5)
    assert "turns back at mu" in str(branch)


def test_transition_is_the_exponential_of_the_linear_model():
    """Straight running: quaternion, wheels on the ground, and yet exp(A t) in lean, steer and their rates."""
    bike = dr.derive(dr.gallery.bicycle(), work=False)
    names = ("lean", "steer", "frame_wx", "steer_rate")
    linear = dr.linearize(bike, {"speed": 5.0}, states=("lean", "steer")).essential()
    assert linear.states == names
    found = dr.stability.state_transition(bike, 0.8, start={"speed": 5.0}, states=("lean", "steer"))
    matrix = np.array([[found[a, b] for b in names] for a in names])
    np.testing.assert_allclose(matrix, expm(0.8 * linear.A), rtol=1e-8, atol=1e-8)
    with pytest.raises(KeyError, match="no deviation 'wheel'"):
        found["lean", "wheel"]


@pytest.fixture(scope="module")
def weave():
    """The benchmark bicycle near its weave speed, begun along the mode."""
    bike = dr.derive(dr.gallery.bicycle(), work=False)
    linear = dr.linearize(bike, {"speed": 4.2923825363}, states=("lean", "steer")).essential()
    values, vectors = np.linalg.eig(linear.A)
    place = int(np.argmax(values.imag))
    shape = (vectors[:, place] / vectors[0, place]).real

    def at(lean):
        start = {**dict(zip(linear.states, (lean * shape).tolist(), strict=True)), "speed": 4.29}
        return dr.stability.limit_cycle(
            bike,
            start=start,
            period=2 * math.pi / float(values.imag[place]),
            fixed={"lean": lean, "frame_wx": 0.0},
            states=("lean", "steer"),
            nodes=2,
        )

    return at, float(values.imag[place])


def test_weave_of_the_bicycle(weave):
    """Below the weave speed there is a cycle that attracts within its energy; as it shrinks it becomes the weave mode."""
    at, frequency = weave
    cycles = {lean: at(lean) for lean in (0.02, 0.04, 0.1)}
    for cycle in cycles.values():
        run = cycle.trajectory
        assert abs(run["heading"][-1] - run["heading"][0]) < 1e-9  # it rides straight on
        assert np.ptp(run["total_energy"]) < 1e-7
        assert cycle.floquet.neutral == 1 and cycle.floquet.attracts  # energy is kept
        assert set(cycle.ignorable) == {"rear_wheel_angle", "front_wheel_angle", "frame_heading", "frame_x", "frame_y"}
    late = {lean: cycle.period - 2 * math.pi / frequency for lean, cycle in cycles.items()}
    assert 0.0 < late[0.02] < 0.003
    sizes = {lean: cycle.amplitude("lean") for lean, cycle in cycles.items()}
    assert late[0.04] / late[0.02] == pytest.approx((sizes[0.04] / sizes[0.02]) ** 2, rel=0.01)  # as in any Hopf bifurcation
    assert 4.15 < float(cycles[0.1].trajectory["speed"].mean()) < 4.25
    assert cycles[0.1].multipliers[1].real == pytest.approx(0.65421, abs=1e-5)
    assert cycles[0.1].amplitude("lean") == pytest.approx(0.1, rel=1e-5)  # it begins at its largest lean


def test_what_a_period_makes_of_small_changes(weave):
    """The monodromy matrix against plain runs from changed starts."""
    cycle = weave[0](0.1)
    e, shot = cycle.equations, cycle.shot
    change, step = np.zeros(len(cycle.names)), 1e-4
    change[cycle.names.index("steer")] = 1.0
    node, ends = shot.nodes[0], []
    for sign in (-2, -1, 1, 2):
        begun = shot.flow.moved(0.0, node, sign * step * change, shot.p)
        exact = shot.flow.moved(0.0, begun, node.values + sign * step * change - begun.values, shot.p)
        run = integrate(e, exact.x, cycle.period, parameters=shot.p, method=shot.flow.method)
        ends.append(shot.flow.node(cycle.period, run.final_state, shot.p).values)
    a, b, c, d = ends
    found = (8 * (c - b) - (d - a)) / (12 * step)
    np.testing.assert_allclose(found, cycle.monodromy @ change, rtol=1e-5, atol=1e-5)


def test_refusals(van_der_pol, pendulum):
    with pytest.raises(dr.errors.ArgumentError, match="guess of the period"):
        dr.stability.limit_cycle(van_der_pol, start={"x": 2.0})
    with pytest.raises(dr.errors.SolverError, match="in an equilibrium"):
        dr.stability.limit_cycle(van_der_pol, start={"x": 0.01}, period=6.3, parameters={"mu": -0.5})
    with pytest.raises(SolverError, match="no periodic motion was found"):
        dr.stability.limit_cycle(pendulum, start={"x": 0.0, "v": 2.5}, period=5.0, fixed={"v": 2.5}, rounds=4)
    with pytest.raises(dr.errors.ArgumentError, match="has no state or output of motion 'y'"):
        dr.stability.limit_cycle(pendulum, start={"x": 1.0}, period=6.0, fixed={"y": 1.0})
    with pytest.raises(dr.errors.ArgumentError, match="depends on time"):
        dr.stability.limit_cycle(dr.first_order("driven", {X: sp.cos(T) - X}), start={"x": 1.0})
    cycle = dr.stability.limit_cycle(van_der_pol, start={"x": 2.0}, period=6.6)
    with pytest.raises(dr.errors.ArgumentError, match="has no parameter 'nu'"):
        dr.stability.follow_cycle(cycle, "nu", 2.0)
    with pytest.raises(dr.errors.ArgumentError, match="already"):
        dr.stability.follow_cycle(cycle, "mu", 1.0)
