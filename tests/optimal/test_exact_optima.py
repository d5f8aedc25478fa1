"""Problems whose optimum is known in closed form."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.guess import LinearGuess, PerturbedGuess
from draisine.optimal.maneuver import maneuver


@pytest.fixture(scope="module")
def mass():
    x, v, force = sp.symbols("x v force")
    return dr.first_order("mass", {x: v, v: force}, inputs=[force])


@pytest.fixture(scope="module")
def bead():
    """A bead on a wire whose slope is the control, at speed v = √(2 g y) below its start."""
    x, y, v, angle = sp.symbols("x y v angle")
    return dr.first_order("bead", {x: v * sp.cos(angle), y: v * sp.sin(angle), v: 9.81 * sp.sin(angle)}, inputs=[angle])


SCHEMES = [
    (Collocation("radau", 3, 20), 1e-6),
    (Collocation("radau", 3, 20, constant_controls=True), 1e-6),
    (Collocation("gauss", 2, 20), 1e-6),
    (Collocation("hermite-simpson", intervals=20), 1e-6),
    (MultipleShooting(20, steps=2), 1e-6),
]


@pytest.mark.parametrize(
    ("scheme", "accuracy"), SCHEMES, ids=lambda s: getattr(s, "scheme", type(s).__name__) if not isinstance(s, float) else ""
)
def test_double_integrator_takes_two_roots_of_the_distance(mass, scheme, accuracy):
    distance = 1.7
    found = maneuver(mass).start(x=0, v=0).finish(x=distance, v=0).bounds(force=(-1, 1)).minimize("time").solve(scheme)
    assert found.converged
    assert found.duration == pytest.approx(2 * math.sqrt(distance), rel=accuracy)
    assert found.discrepancy < 1e-6
    u = found.only.input("force")
    assert u[0] == pytest.approx(1, abs=1e-5)
    assert u[-1] == pytest.approx(-1, abs=1e-5)


def test_trapezoidal_rule_converges_with_its_order(mass):
    """With an even number of intervals the switch lies on a node that both sides share: the error is of order h."""
    stated = maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize("time")
    errors = [stated.solve(Collocation("trapezoidal", intervals=n)).duration - 2.0 for n in (10, 20, 40)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2.0, 2.0], abs=0.1)


@pytest.mark.parametrize("scheme", [s for s, _ in SCHEMES if not getattr(s, "constant_controls", True)], ids=lambda s: s.scheme)
def test_least_effort_in_fixed_time(mass, scheme):
    """min ∫u² from rest to rest over d in T: u = 6 d/T² (1 − 2 t/T), cost 12 d²/T³; costates p_x = −24 d/T³, p_v = −2 u."""
    d, end = 2.0, 3.0
    found = maneuver(mass).start(x=0, v=0).finish(x=d, v=0).duration(end).minimize(integral="force**2").solve(scheme)
    assert found.objective == pytest.approx(12 * d**2 / end**3, rel=1e-9)
    only = found.only
    exact = 6 * d / end**2 * (1 - 2 * only.input_times / end)
    assert only.input("force") == pytest.approx(exact, abs=1e-7)
    assert only.costate("x") == pytest.approx(np.full(len(only.costate_times), -24 * d / end**3), abs=1e-6)
    inner = 6 * d / end**2 * (1 - 2 * only.costate_times / end)
    assert only.costate("v") == pytest.approx(-2 * inner, abs=1e-6)
    assert found["x"] == pytest.approx(d * (3 * (found.time / end) ** 2 - 2 * (found.time / end) ** 3), abs=1e-7)


def test_least_effort_by_shooting_is_the_exact_discrete_one(mass):
    """With controls constant in n intervals of h the least ∑u²h under both end conditions follows from two linear equations."""
    n, end, d = 12, 3.0, 2.0
    h = end / n
    t = (np.arange(n) + 0.5) * h
    rows = np.vstack([np.full(n, h), h * (end - t)])  # v and x at the end, of each u
    u = rows.T @ np.linalg.solve(rows @ rows.T, [0.0, d])
    found = (
        maneuver(mass).start(x=0, v=0).finish(x=d, v=0).duration(end).minimize(integral="force**2").solve(MultipleShooting(n, 3))
    )
    assert found.objective == pytest.approx(h * float(u @ u), rel=1e-9)
    assert found.only.input("force") == pytest.approx(u, abs=1e-7)
    # the cost is quadratic in d, and a push δ of the position on the way is as good as a distance shorter by δ
    assert found.only.costate("x") == pytest.approx(np.full(n, -2 * found.objective / d), rel=1e-6)


def test_brachistochrone_is_the_cycloid(bead):
    """x = r(θ − sin θ), y = r(1 − cos θ), reached at T = θ √(r/g)."""
    x1, y1 = 2.0, 1.5
    from scipy.optimize import brentq

    theta = brentq(lambda a: (a - math.sin(a)) / (1 - math.cos(a)) - x1 / y1, 1e-3, 2 * math.pi - 1e-3)
    r = y1 / (1 - math.cos(theta))
    exact = theta * math.sqrt(r / 9.81)
    stated = maneuver(bead).start(x=0, y=0, v=0).finish(x=x1, y=y1).bounds(angle=(-1.5, 1.6)).duration(0.1, 5).minimize("time")
    found = stated.solve(Collocation("radau", 4, 20), guess=LinearGuess(duration=1.0, inputs={"angle": 0.7}))
    assert found.duration == pytest.approx(exact, rel=1e-7)
    assert found.discrepancy < 1e-6
    along = found.time / found.duration * theta
    assert found["x"] == pytest.approx(r * (along - np.sin(along)), abs=1e-5)
    assert found["y"] == pytest.approx(r * (1 - np.cos(along)), abs=1e-5)
    other = stated.solve(MultipleShooting(200, 4), guess=found)
    assert other.duration == pytest.approx(exact, rel=1e-5)  # the slope is constant in each interval
    assert other.duration > exact


def test_free_final_time_has_no_hamiltonian(mass):
    """min ∫(1 + u²): T⁴ = 36 d², and H = 1 + u² + p_x v + p_v u vanishes all the way."""
    d = 2.0
    found = maneuver(mass).start(x=0, v=0).finish(x=d, v=0).minimize(integral="force**2", time=1).solve(Collocation(intervals=10))
    assert found.duration == pytest.approx((36 * d**2) ** 0.25, rel=1e-7)
    only = found.only
    u, v = only.input("force"), only.states_at(only.costate_times)[:, 1]
    hamiltonian = 1 + u**2 + only.costate("x") * v + only.costate("v") * u
    assert hamiltonian == pytest.approx(np.zeros(len(hamiltonian)), abs=1e-6)


def test_singular_linear_guess_is_perturbed():
    """Brockett's integrator goes round a circle of area 1/2 in one second: ∫(u² + v²) = 2π."""
    x, y, z, u, v = sp.symbols("x y z u v")
    brockett = dr.first_order("brockett", {x: u, y: v, z: x * v - y * u}, inputs=[u, v])
    stated = maneuver(brockett).start(x=0, y=0, z=0).finish(x=0, y=0, z=1).duration(1).minimize(integral="u**2 + v**2")
    found = stated.solve(Collocation(degree=4, intervals=10))
    assert found.converged
    assert found.objective == pytest.approx(2 * math.pi, rel=1e-6)
    assert any("PerturbedGuess" in note for note in found.notes)
    other = stated.solve(Collocation(degree=4, intervals=10), guess=PerturbedGuess(seed=5))
    assert other.objective == pytest.approx(2 * math.pi, rel=1e-6)
    assert other["x"] != pytest.approx(found["x"], abs=1e-2)  # the circle may lie in any direction
