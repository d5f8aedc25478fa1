"""Energies, momenta and moving ground that jump are refused; kinks are taken, with the motion of closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import ModelError

x, y = dynamicsymbols("x y")
TIME = dynamicsymbols._t
KINETIC = x.diff() ** 2 / 2
BOTH = KINETIC + y.diff() ** 2 / 2


def slider():
    m = dr.Model("slider")
    m.gravity(0.0)
    m.body("b", 1.0, inertia=(0.1, 0.1, 0.1))
    m.prismatic("x", "ground", "b", axis="x")
    m.table("ramp", [0, 1, 1.1, 3], [0, 0, 5, 5], kind="linear", outside="hold")
    return m


def with_potential(energy):
    m = slider()
    m.potential("field", energy)
    return m


def test_a_step_of_a_potential_is_refused_with_the_cure():
    """0.5 J would be reflected by a step of 5 J, in no time."""
    with pytest.raises(
        ModelError, match=r"potential 'field' jumps at x > 1: velocities .* impact and not modeled; smooth .* tanh"
    ):
        dr.simulate(with_potential("where(x > 1, 5, 0)"), 3.0, start={"x_rate": 1.0})
    smooth = dr.simulate(with_potential("2.5*(1 + tanh((x - 1)/0.01))"), 3.0, start={"x_rate": 1.0})
    assert smooth["x_rate"][-1] == pytest.approx(-1.0, abs=1e-6) and not smooth.status.warnings


@pytest.mark.parametrize(
    "energy",
    [
        "5*floor(x)",
        "5*sign(x - 1)",
        "where(x > t, 1, 0)",
        "x - floor(x)",
        "floor(x)*(x - 1)",  # continuous at 1, not at 2
        "where(x > 1, 2*x, x + 1.001)",
        "abs(where(x > 0, x - 1, x + 2))",
        "max(x, floor(x) + 0.5)",
    ],
)
def test_other_potentials_that_jump(energy):
    with pytest.raises(ModelError, match="potential 'field' jumps at"):
        derive(with_potential(energy))


@pytest.mark.parametrize(
    "energy",
    [
        "5*abs(x - 1)",
        "ramp(x)",
        "5*max(x - 1, 0)^1.5",
        "200*where(x > 1, (x - 1)^2.5, 0)",
        "where(x > 1, 2*x, x + 1)",
        "abs(x - 2*floor(x/2) - 1)",  # a triangular wave: abs changes its branch with floor
        "(x - floor(x))*(1 - x + floor(x))",
        "floor(x) + clip(2*(x - floor(x)), 0, 1)",
        "abs(where(x > 0, x - 1, x + 1))",
        "sqrt(max(x - 1, 0))",
    ],
)
def test_kinks_of_potentials_are_taken(energy):
    assert not derive(with_potential(energy)).warnings


def test_motion_over_periodic_bumps():
    """V = s (1 - s), s = x - ⌊x⌋: (s - ½)¨ = 2 (s - ½), so that every period takes √2 artanh(1/(√2 v)), v at its begin."""
    run = dr.simulate(with_potential("(x - floor(x))*(1 - x + floor(x))"), 4.0, start={"x_rate": 1.5})
    lasts = np.sqrt(2) * np.arctanh(1 / (np.sqrt(2) * 1.5))
    left = np.sqrt(2) * (4.0 % lasts)
    expected = 4.0 // lasts + 0.5 - 0.5 * np.cosh(left) + 1.5 / np.sqrt(2) * np.sinh(left)
    assert run["x"][-1] == pytest.approx(expected, abs=1e-7)
    assert run.energy_drift < 1e-6 and not run.status.warnings


def test_springs_and_places_of_forces():
    m = slider()
    m.spring("where(x > 1, x + 1, 0)", 10.0)
    with pytest.raises(ModelError, match=r"potential 'spring_on.* jumps at x > 1"):
        derive(m)
    m = slider()
    m.generalized_force("where(x > 1, 2*x, x)", 1.0)
    with pytest.raises(ModelError, match=r"the measure of generalized force .* jumps at x > 1"):
        derive(m)
    m = slider()
    m.spring("where(x > 1, x - 1, 0)", 10.0)  # one-sided: after half a period back with the opposite velocity
    run = dr.simulate(m, 3.0, start={"x_rate": 1.0}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-13))
    assert run["x_rate"][-1] == pytest.approx(-1.0, abs=1e-11)


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_of_potentials(seed):
    """c₀ + c₁ s + c₂ s² behind the edge, before it a random smooth function with the same or another value there."""
    rng = np.random.default_rng(seed)
    edge, jump = float(rng.uniform(-2, 2)), bool(rng.integers(2))
    step = float(rng.uniform(0.01, 1.0)) * jump
    s = f"(x - ({edge!r}))"
    before, slope, curve = (float(c) for c in rng.uniform(-1, 1, 3))
    shapes = [f"where({s} > 0, {step + before!r} + ({slope!r})*{s} + ({curve!r})*{s}^2, {before!r}*cos({s}))"]
    shapes.append(f"({step!r})*sign({s}) + ({slope!r})*abs({s}) + sin(x)")
    shapes.append(f"({step!r})*floor({s}/2) + ({slope!r})*abs({s} - 2*floor({s}/2) - 1)")
    for shape in shapes:
        if jump:
            with pytest.raises(ModelError, match="potential 'field' jumps"):
                derive(with_potential(shape))
        else:
            assert derive(with_potential(shape)).dynamics


def test_a_jump_in_time_moves_as_computed_and_says_that_its_work_is_not_counted():
    """V = 5 x from t = 1 on: x = t - 5 (t - 1)²/2, and the energy changes by 5 J at x = 1."""
    for model in (
        with_potential("5*x*where(t > 1, 1, 0)"),
        dr.lagrangian("fall", [x], kinetic=KINETIC, potential=5 * x * sp.Heaviside(TIME - 1)),
    ):
        run = dr.simulate(model, 3.0, start={"x_rate": 1.0})
        assert run["x"][-1] == pytest.approx(-7.0, abs=1e-9)
        assert run.energy_balance[-1] == pytest.approx(5.0, abs=1e-8)
        assert any("work that is not counted in the energy balance" in w for w in run.status.warnings)
        assert any("the energy balance is off by 5 J" in w for w in run.status.warnings)


def test_energies_of_typed_lagrangians():
    refused = {
        "the energy jumps": [
            {"kinetic": sp.Piecewise((1, x < 1), (4, True)) * KINETIC},
            {"kinetic": KINETIC, "potential": 5 * sp.Heaviside(x - 1)},
            {"kinetic": KINETIC, "potential": sp.Mod(x, 1)},
            {"lagrangian": KINETIC - sp.sign(x - 1)},
        ],
        "the momentum jumps": [{"kinetic": sp.Piecewise((1, TIME < 1), (4, True)) * KINETIC}],
        "the dissipation jumps": [{"kinetic": KINETIC, "dissipation": sp.Heaviside(x.diff() - 1)}],
    }
    for words, every in refused.items():
        for energies in every:
            with pytest.raises(ModelError, match=rf"l: {words} at .* not modeled; smooth"):
                dr.lagrangian("l", [x], **energies)
    for energies in (
        {"kinetic": (1 + sp.Abs(x - 1)) * KINETIC},
        {"kinetic": KINETIC, "potential": sp.Max(x - 1, 0)},
        {"kinetic": KINETIC, "dissipation": sp.Abs(x.diff()) + sp.Heaviside(x - 1) * x.diff() ** 2},
    ):
        assert not dr.lagrangian("l", [x], **energies).warnings


def test_a_mass_with_a_kink_conserves_its_energy():
    """(1 + |x - 1|) ẋ² is constant: with s = x - 1 from 0 on, (1 + s)^(3/2) = 1 + 3/2 √2 (t - t₁)."""
    run = dr.simulate(dr.lagrangian("l", [x], kinetic=(1 + sp.Abs(x - 1)) * KINETIC), 3.0, start={"x_rate": 1.0})
    reached = (2**1.5 - 1) / (1.5 * np.sqrt(2))
    assert run["x"][-1] == pytest.approx((1 + 1.5 * np.sqrt(2) * (3 - reached)) ** (2 / 3), abs=1e-8)


def test_constraints_of_typed_lagrangians():
    jumps = [sp.Piecewise((0, x < 1), (sp.Rational(1, 2), True)), sp.Heaviside(TIME - 1), sp.Mod(TIME, 1)]
    kinks = [sp.Abs(x), sp.Max(x - 1, 0), sp.Max(TIME - 1, 0), sp.sqrt((x - 1) ** 2)]
    for law in jumps:
        with pytest.raises(ModelError, match=r"l: constraint 'c' jumps at .* a body would have to move in no time"):
            dr.lagrangian("l", [x, y], kinetic=BOTH, holonomic={"c": y - law})
        with pytest.raises(ModelError, match="l: constraint 'c' jumps at"):
            dr.lagrangian("l", [x, y], kinetic=BOTH, nonholonomic={"c": y.diff() - law * x.diff()})
        with pytest.raises(ModelError, match="l: constraint 'c' jumps at"):
            dr.lagrangian("l", [x, y], kinetic=BOTH, nonholonomic={"c": y.diff() - law})
    for law in (*kinks, (x - 1) / sp.Abs(x - 1)):  # the quotient has no value at 1, like the contact of a disk that lies flat
        assert dr.lagrangian("l", [x, y], kinetic=BOTH, nonholonomic={"c": y.diff() - law * x.diff()})
        assert dr.lagrangian("l", [x, y], kinetic=BOTH, holonomic={"c": y - law})  # away from the kink it is regular
        assert dr.lagrangian("l", [x, y], kinetic=BOTH, holonomic={"c": y - law**2})


def knife(velocity):
    m = dr.Model("knife")
    b = m.body("b", mass=2.0, center_of_mass=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.planar(b)
    m.knife_edge(b, along="x")
    m.ground(velocity=velocity)
    return m


def ball(velocity, contact=None):
    m = dr.Model("ball")
    b = m.body("b", mass=2.0, inertia=(0.008, 0.008, 0.008))
    m.free(b)
    m.wheel("w", b, radius=0.0, tube=0.1, **({} if contact is None else {"contact": contact}))
    m.ground(velocity=velocity)
    m.output("vx", "velocity_x(b)", "m/s")
    return m


@pytest.mark.parametrize("law", ["where(t > 1, 1, 0)", "where(x > 0.5, 1, 0)", "floor(t)", "sign(y)"])
def test_ground_whose_velocity_jumps(law):
    for model in (knife((0.0, law)), ball((law, 0.0))):
        with pytest.raises(ModelError, match=r"the velocity of the ground jumps at .* smooth it over a length or a time"):
            derive(model)
    assert derive(ball((law, 0.0), dr.contact.Creep(100.0, 100.0))).dynamics  # it slips: only its force jumps


def test_a_ball_on_a_belt_that_starts_with_a_kink():
    """A solid ball follows 2/7 of the change of the belt's velocity."""
    tight = dr.methods.DOP853(rtol=1e-12, atol=1e-12)
    run = dr.simulate(ball(("max(t - 1, 0)", 0.0)), 2.0, start={"vx": 1.0}, method=tight)
    assert run["vx"][-1] == pytest.approx(1.0 + 2 / 7, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_absolute_values_and_roots_that_do_not_vanish(seed):
    """√z² and |z| of quantities without a zero are smooth: (x + a)/|x + a| is one number for x² + c, and a pendulum's height
    L √cos² is that of L cos while it swings below the horizontal."""
    rng = np.random.default_rng(seed)
    c, stiffness = (float(n) for n in rng.uniform(0.5, 2.0, 2))
    start = {"x": float(rng.uniform(0.2, 1.0)), "x_rate": float(rng.uniform(-1.0, 1.0))}
    tight = dr.methods.DOP853(rtol=1e-11, atol=1e-11)
    s = f"(x^2 + {c!r})"
    for shape in (
        f"0.5*{stiffness!r}*x^2*abs({s})/{s}",
        f"0.5*{stiffness!r}*x^2*sqrt({s}^2)/{s}",
        f"0.5*{stiffness!r}*x^2*sign({s})",
    ):
        run = dr.simulate(with_potential(shape), 5.0, start=start, method=tight)
        w = np.sqrt(stiffness)
        expected = start["x"] * np.cos(5 * w) + start["x_rate"] / w * np.sin(5 * w)
        assert run["x"][-1] == pytest.approx(expected, abs=1e-8) and not run.status.warnings
    angle = x  # with SymPy's root of a square, as from its mechanics
    found = []
    for height in (sp.cos(angle), sp.sqrt(sp.cos(angle) ** 2), sp.Abs(sp.cos(angle))):
        swing = dr.lagrangian("swing", [x], kinetic=KINETIC, potential=-stiffness * height)
        found.append(dr.simulate(swing, 5.0, start={"x": start["x"]}, method=tight)["x"][-1])
    assert found[1:] == pytest.approx([found[0]] * 2, abs=1e-9)


def test_the_status_mentions_an_energy_drift_that_the_tolerance_does_not_explain():
    m = dr.Model("pendulum")
    m.body("b", mass=1.0, center_of_mass=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    m.revolute("q", "ground", "b", axis="y")
    assert not dr.simulate(m, 20.0, start={"q": 1.0}).status.warnings
    assert not dr.simulate(m, 5.0).status.warnings  # at rest
    coarse = dr.simulate(m, 20.0, start={"q": 1.0}, method=dr.methods.Heun(0.2))
    assert coarse.energy_drift > 0.1 and any("the energy balance is off" in w for w in coarse.status.warnings)
