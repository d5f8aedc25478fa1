"""Certificates of equations with a single derivation, and what they cannot decide."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.verify.single_derivation import DERIVATION, DerivativeCheck
from draisine.program.equations import Equations, Quantity
from draisine.program.program import DaeResidual, Program

m, g, l, c = sp.symbols("m g l c")
x, y, theta = dynamicsymbols("x y theta")
t = dynamicsymbols._t


def rod(**options) -> Equations:
    return dr.lagrangian(
        "rod", [x, y], kinetic=m * (x.diff() ** 2 + y.diff() ** 2) / 2, potential=m * g * y,
        holonomic={"rod": (x**2 + y**2 - l**2) / (2 * l)}, parameters={m: 1.3, g: 9.81, l: 0.7}, start={x: 0.7}, **options,
    )  # fmt: skip


def failing(certificate) -> list[str]:
    return [line.what for line in certificate.lines if not line.holds]


def test_a_typed_lagrangian_has_one_derivation():
    certificate = dr.certify(rod(), count=5)
    assert certificate.passed, str(certificate)
    assert certificate.derivations == ("as typed",) and certificate.states == 5
    assert {line.what: line.allowed for line in certificate.lines} == {
        "Jacobian against complex step": 1e-10,
        "Jacobian against differences": 1e-6,
        "mass matrix is symmetric": 1e-10,
        "reactions act along constraints": 1e-10,
        "constraints' derivatives": 1e-10,
        "power balance": 1e-10,
    }
    assert certificate.verdict == "all checks of a single derivation hold"
    assert certificate.undecided == (DERIVATION,)
    assert "cannot be decided: whether these are the equations of the mechanism: there is a single derivation" in str(certificate)


def test_baumgarte_terms_vanish_where_the_constraints_hold():
    assert dr.certify(rod(stabilization=dr.stabilization.Baumgarte())).passed


def test_equations_that_were_derived_are_certified_alone_too():
    certificate = dr.certify(dr.derive(dr.gallery.bicycle()), count=4)
    assert certificate.passed, str(certificate)
    assert {line.what for line in certificate.lines} >= {"power balance", "constraints' derivatives"}
    assert "the independent velocities" not in str(certificate.undecided)


# ---------------------------------------------------------------- energies


def damped(**options) -> Equations:
    kinetic, potential = m * l**2 * theta.diff() ** 2 / 2, -m * g * l * sp.cos(theta)
    parameters = {m: 1.0, g: 9.81, l: 0.7, c: 0.3}
    return dr.lagrangian(
        "damped", [theta], kinetic=kinetic, potential=potential, dissipation=c * theta.diff() ** 2 / 2, parameters=parameters,
        **options,
    )  # fmt: skip


def test_work_that_nobody_tells_is_not_judged():
    reported = dr.certify(damped(work=True))
    assert reported.passed and "power balance" in [line.what for line in reported.lines]
    silent = dr.certify(damped(work=False))
    assert silent.passed and "power balance" not in [line.what for line in silent.lines]
    assert silent.undecided[1] == (
        "the power balance: forces do work that is neither potential energy nor an input's; pass work=True to track it"
    )


@pytest.mark.parametrize(
    ("kinetic", "potential", "said"),
    [
        (m * (theta.diff() ** 2 + theta.diff() * sp.cos(3 * t)), m * g * sp.cos(theta), "not a quadratic form of the velocities"),
        (m * (2 + sp.cos(t)) * theta.diff() ** 2, m * g * sp.cos(theta), "the energies depend on time explicitly"),
        (m * theta.diff() ** 2, m * g * sp.cos(theta) * (1 + t), "the energies depend on time explicitly"),
    ],
)
def test_energies_that_need_not_be_kept_are_not_judged(kinetic, potential, said):
    e = dr.lagrangian("shaken", [theta], kinetic=kinetic, potential=potential, parameters={m: 1.0, g: 9.81}, work=True)
    certificate = dr.certify(e)
    assert certificate.passed and said in certificate.undecided[1]


# ---------------------------------------------------------------- faults


def pendulum(fault: str = "") -> Equations:
    """x, y of a bob on a rod, assembled by hand, with one thing wrong."""
    q, v, now, none = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t"), ca.SX(0, 1)
    mass = ca.SX([[1.3, 0.2 if fault == "mass" else 0.0], [0.0, 1.3]])
    system = SecondOrder(
        name="assembled",
        **{"t": now, "q": q, "v": v, "u": none, "p": none},
        coordinates=(Quantity("x", default=0.7), Quantity("y")),
        velocities=(Quantity("x_rate"), Quantity("y_rate")),
        inputs=(),
        parameters=(),
        q_rate=v,
        mass=mass,
        force=ca.vertcat(0, 1.3 * 9.81 * (1 if fault == "sign" else -1)),
        driven=ca.SX.zeros(2),
        kinetic=ca.dot(v, mass @ v) / 2,
        potential=1.3 * 9.81 * q[1],
        holonomic=[("rod", (ca.sumsqr(q) - 0.49) / 2)],
    )
    e = augmented(system, work=True)
    return _spoilt(e, fault) if fault in ("bias", "reactions") else e


def _spoilt(e: Equations, fault: str) -> Equations:
    """The same with the constraint's bias dropped from the right side, or its reaction along x halved."""
    solved = e.explicit
    arguments = solved.system.symbols()
    entries, side = solved.system.function.call(arguments)
    matrix = ca.densify(ca.SX(solved.entry_pattern.sparsity, ca.vec(entries)))
    if fault == "bias":
        side[2] = 0.0
    else:
        matrix[0, 2] *= 0.5
    slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(solved.system.inputs, arguments, strict=True)}
    system = Program.build("spoilt", slots, {"matrix": matrix, "side": side})
    return replace(
        e,
        dynamics=replace(solved, system=system, pattern=None),
        report=replace(e.report, system=system, pattern=None),
    )


def test_without_a_fault_they_pass():
    assert dr.certify(pendulum()).passed


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("mass", ["mass matrix is symmetric", "power balance"]),
        ("sign", ["power balance"]),
        ("bias", ["constraints' derivatives"]),
        ("reactions", ["reactions act along constraints"]),
    ],
)
def test_equations_that_contradict_themselves_are_caught(fault, seen):
    certificate = dr.certify(pendulum(fault))
    assert set(seen) <= set(failing(certificate))
    assert certificate.verdict == f"the equations are inconsistent: {', '.join(failing(certificate))}"


# ---------------------------------------------------------------- other kinds


def test_a_first_order_system_has_its_derivatives():
    a, b, mu = sp.symbols("a b mu")
    certificate = dr.certify(dr.first_order("oscillator", {a: b, b: mu * (1 - a**2) * b - a}, parameters={mu: 5.0}))
    assert certificate.passed, str(certificate)
    assert [line.what for line in certificate.lines] == ["Jacobian against complex step", "Jacobian against differences"]
    assert certificate.undecided == (DERIVATION,)


def test_an_implicit_residual_has_its_derivatives():
    now, state, rate, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 2), ("xdot", 2), ("u", 1), ("p", 0)))
    slots = {"t": now, "x": (state, ["a", "b"]), "xdot": rate, "u": (u, ["push"]), "p": p}
    residual = ca.vertcat(ca.sin(state[0]) * rate[0] + state[1] ** 3 - u[0], state[0] ** 2 + ca.exp(state[1]) - 1)
    plain = dr.first_order("plain", {sp.Symbol("a"): 0, sp.Symbol("b"): 0}, inputs=[sp.Symbol("push")])
    e = replace(plain, dynamics=DaeResidual("circle", Program.build("circle", slots, {"residual": residual})))
    certificate = dr.certify(e)
    assert certificate.passed and len(certificate.lines) == 2
    assert max(line.worst for line in certificate.lines) < 1e-9


def test_large_systems_are_looked_at_in_some_columns():
    """A chain of 60 masses: its Jacobian has 120 columns."""
    symbols = sp.symbols("a:60")
    rates = sp.symbols("b:60")
    forces = [symbols[max(i - 1, 0)] - 2 * symbols[i] + symbols[min(i + 1, 59)] - symbols[i] ** 3 for i in range(60)]
    e = dr.first_order("chain", {**dict(zip(symbols, rates, strict=True)), **dict(zip(rates, forces, strict=True))})
    assert dr.certify(e, count=2).passed


# ---------------------------------------------------------------- singular positions


def hanging(polar_at: float) -> Equations:
    """An azimuth without inertia at the pole, where that vanishes faster than a pendulum's would."""
    polar, azimuth = dynamicsymbols("polar azimuth")
    kinetic = m * (polar.diff() ** 2 + sp.sin(polar) ** 6 * azimuth.diff() ** 2) / 2
    return dr.lagrangian("hanging", [polar, azimuth], kinetic=kinetic, parameters={m: 1.0}, start={polar: polar_at})


def test_states_keep_away_from_where_nothing_is_determined():
    certificate = dr.certify(hanging(0.0), count=12)
    assert certificate.passed, str(certificate)
    (avoided,) = certificate.avoided
    assert avoided.what == "where the equations do not determine azimuth_rate" and avoided.states > 0
    assert f"avoided: {avoided.what} (states rejected: {avoided.states})" in str(certificate)
    assert dr.certify(hanging(1.2)).avoided == ()


def test_a_start_far_from_the_constraints_is_refused():
    far = dr.lagrangian("far", [x], x.diff() ** 2, holonomic={"nowhere": x**2 + 1})
    with pytest.raises(
        dr.errors.ModelError, match="far: no admissible state was found near the defaults; give the coordinates defaults"
    ):
        dr.certify(far)


def test_no_states_are_refused():
    with pytest.raises(ValueError, match="one or more"):
        dr.certify(rod(), count=0)


def test_limits_can_fail():
    """The worst of a line is divided by the condition of its state: a line that holds by that alone would be no evidence."""
    certificate = dr.certify(rod(), count=5)
    assert max(line.worst for line in certificate.lines if "differences" not in line.what) < 1e-14
    assert np.isfinite([line.worst for line in certificate.lines]).all()


def test_differences_that_agree_by_chance_are_not_taken():
    """Drag that grows as exp(−500 h): two differences over tiny steps agree now and then, within their rounding errors."""
    check = DerivativeCheck(dr.gallery.goddard_rocket().dynamics)
    for point in np.random.default_rng(0).uniform([0.9, -0.1, 0.6, 0.0], [1.05, 0.1, 1.1, 3.0], (100, 4)):
        assert check.against_differences([0.0, point[:3], point[3:], []]) < 1e-7, point
