"""SymPy matrices: equal to the programs, and for textbook systems to the textbook formulas."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import draisine as dr
from draisine.dynamics.lagrangian.energies import Energies, derive_by_energies
from draisine.errors import ModelError
from draisine.model.model import Model
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.symbolic.rendering.reactions import reactions
from draisine.symbolic.rendering.simplify import reduced

BY_ENERGIES = ("M", "C", "g", "Q", "D", "b")


def pendulum() -> Model:
    m = Model("pendulum")
    mass, length = m.parameter("m", 1.3, "kg"), m.parameter("l", 0.7, "m")
    m.gravity(m.parameter("g", 9.81, "m/s^2"))
    bob = m.body("bob", mass=mass, center_of_mass=(0, 0, -length))
    m.revolute("theta", "ground", bob, axis="y")
    return m


def double_pendulum() -> Model:
    m = Model("double_pendulum")
    m1, m2 = m.parameter("m1", 1.3, "kg"), m.parameter("m2", 0.6, "kg")
    l1, l2 = m.parameter("l1", 0.7, "m"), m.parameter("l2", 0.9, "m")
    m.gravity(m.parameter("g", 9.81, "m/s^2"))
    upper = m.body("upper", mass=m1, center_of_mass=(0, 0, -l1))
    lower = m.body("lower", mass=m2, center_of_mass=(0, 0, -l2))
    m.revolute("theta1", "ground", upper, axis="y")
    m.revolute("theta2", upper, lower, axis="y", at=(0, 0, -l1))
    return m


def cart_pole() -> Model:
    m = Model("cart_pole")
    cart_mass, pole_mass, length = m.parameter("M", 2.0, "kg"), m.parameter("m", 0.3, "kg"), m.parameter("l", 0.5, "m")
    m.gravity(9.81)
    cart = m.body("cart", mass=cart_mass)
    pole = m.body("pole", mass=pole_mass, center_of_mass=(0, 0, length))
    m.prismatic("x", "ground", cart, axis="x")
    m.revolute("theta", cart, pole, axis="y")
    m.generalized_force("x", m.input("F", "N"))
    m.generalized_force("theta", "-0.05*theta_rate")
    return m


MODELS = {"pendulum": pendulum, "cart_pole": cart_pole, "disk": dr.gallery.rolling_disk, "sleigh": dr.gallery.chaplygin_sleigh}


def state(model: Model, seed: int = 3) -> tuple[Energies, dict[str, np.ndarray]]:
    energies = Energies(model.freeze())
    rng = np.random.default_rng(seed)
    sizes = {"t": 1, "q": energies.q.numel(), "v": energies.v.numel(), "u": energies.u.numel()}
    values = {name: rng.uniform(-0.9, 0.9, size) for name, size in sizes.items()}
    return energies, values | {"p": rng.uniform(0.4, 1.6, energies.p.numel())}


def numbers(matrix, known: dict) -> np.ndarray:
    symbols = sorted(matrix.free_symbols, key=str)
    assert set(symbols) <= set(known)
    return np.array(sympy.lambdify(symbols, matrix, "numpy", cse=True)(*[known[s] for s in symbols]), dtype=float)


def known_by_energies(found, values) -> dict:
    known = {sympy.Symbol("t", real=True): values["t"][0]}
    groups = ((found.coordinates, "q"), (found.velocities, "v"), (found.inputs, "u"), (found.parameters, "p"))
    for symbols, slot in groups:
        known |= dict(zip(symbols, values[slot], strict=True))
    return known


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("neat", [False, True], ids=["plain", "simplified"])
def test_matrices_are_the_programs_numbers(name, neat):
    model = MODELS[name]()
    energies, values = state(model)
    found = dr.symbolic.symbolic_equations(model).simplified() if neat else dr.symbolic.symbolic_equations(model)
    known = known_by_energies(found, values)
    for matrix, wanted in zip(BY_ENERGIES, energies.matrices()(*values.values()), strict=True):
        got = numbers(getattr(found, matrix), known)
        assert got.reshape(wanted.shape) == pytest.approx(wanted, rel=1e-12, abs=1e-12), matrix


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("neat", [False, True], ids=["plain", "simplified"])
def test_reduced_equations_are_the_dynamics(name, neat):
    model = MODELS[name]()
    found = dr.symbolic.symbolic_equations(model).simplified() if neat else dr.symbolic.symbolic_equations(model)
    equations = dr.derive(model, work=False)
    rng = np.random.default_rng(5)
    x, u = rng.uniform(-0.9, 0.9, len(equations.states)), rng.uniform(-1, 1, len(equations.inputs))
    p = rng.uniform(0.4, 1.6, len(equations.parameters))
    known = dict(zip((*found.reduced_coordinates, *found.independent), x, strict=True))
    known |= dict(zip((*found.inputs, *found.parameters), (*u, *p), strict=True))
    accelerations = np.linalg.solve(numbers(found.reduced_mass, known), numbers(found.reduced_force, known))[:, 0]
    n = len(equations.independent)
    assert accelerations == pytest.approx(equations.dynamics([0.0], x, u, p)[0][-n:], rel=1e-12, abs=1e-12)
    kernel = numbers(found.H, known)
    everything = equations.report([0.0], x, u, p)[0]
    assert kernel @ x[-n:] == pytest.approx(everything, rel=1e-12, abs=1e-12)
    if found.A.rows:
        assert np.abs(numbers(found.A, known) @ kernel).max() < 1e-12


@pytest.mark.parametrize("name", ["cart_pole", "sleigh"])
def test_the_first_order_system_is_complete(name):
    """coordinate_rates and reduced_motion hold all that the dynamics says."""
    model = MODELS[name]()
    found, equations = dr.symbolic.symbolic_equations(model).simplified(), dr.derive(model, work=False)
    rng = np.random.default_rng(6)
    x, u = rng.uniform(-0.9, 0.9, len(equations.states)), rng.uniform(-1, 1, len(equations.inputs))
    p = rng.uniform(0.4, 1.6, len(equations.parameters))
    slope = equations.dynamics([0.0], x, u, p)[0]
    n = len(equations.independent)
    known = dict(zip((*found.reduced_coordinates, *found.independent), x, strict=True))
    known |= dict(zip((*found.inputs, *found.parameters), (*u, *p), strict=True))
    assert numbers(found.coordinate_rates, known)[:, 0] == pytest.approx(slope[:-n], rel=1e-12, abs=1e-14)
    known |= dict(zip(found.independent_accelerations, slope[-n:], strict=True))
    assert numbers(found.reduced_motion, known)[:, 0] == pytest.approx(np.zeros(n), abs=1e-12)
    assert np.abs(slope).max() > 0.1


@pytest.mark.parametrize("name", ["cart_pole", "sleigh", "disk"])
def test_there_and_back_through_sympys_mechanics(name):
    """Energies, constraints and forces as a LagrangesMethod, derived anew from it: accelerations as by energies."""
    model = MODELS[name]()
    found = dr.symbolic.symbolic_equations(model).simplified() if name != "disk" else dr.symbolic.symbolic_equations(model)
    ours = derive_by_energies(model)
    values = {parameter.name: parameter.default for parameter in model.freeze().parameters}
    start = {c.name: c.default for c in ours.coordinates}
    again = dr.from_sympy(found.lagranges_method(), parameters=values, inputs=found.inputs, name="again", start=start, work=False)
    assert [c.name for c in again.coordinates] == [c.name for c in ours.coordinates]
    rng = np.random.default_rng(4)
    rates = [v.name for v in ours.velocities]
    targets = {c.name: rng.uniform(-0.4, 0.4) for c in ours.coordinates if c.unit == "rad"}
    targets |= {rates[k]: rng.uniform(-1, 1) for k in range(-2 if name != "disk" else -3, 0)}
    begin = consistent_start(ours, targets)
    u, n = rng.normal(size=len(ours.inputs)), len(rates)
    wanted = ours.dynamics([0.0], begin.x, u, ours.default_parameters)[0][n : 2 * n]
    at = np.concatenate([begin.q, begin.v, np.zeros(len(again.extra_states))])
    got = again.dynamics([0.0], at, u, again.default_parameters)[0][n : 2 * n]
    assert got == pytest.approx(wanted, rel=1e-10, abs=1e-10)
    assert np.abs(wanted).max() > 0.1


def test_guards_of_lengths_are_not_shown():
    """Programs ask whether a length is zero; people know that it is not."""
    m = Model("elastic")
    bob = m.body("bob", mass=m.parameter("m", 1.0, "kg"))
    m.prismatic("x", "ground", bob, axis="x")
    m.point("hook", "ground", (0, 0, m.parameter("h", 2.0, "m")))
    m.spring("distance(bob, hook)", m.parameter("k", 3.0, "N/m"))
    found = dr.symbolic.symbolic_equations(m)
    x, k = sympy.symbols("x k", real=True)
    assert not found.g.has(sympy.Piecewise)
    assert sympy.simplify(found.g[0] - k * x) == 0  # ½ k (x² + h²)


def test_multipliers_are_those_of_the_books_formula():
    model = dr.gallery.chaplygin_sleigh()
    energies, values = state(model)
    found = dr.symbolic.symbolic_equations(model)
    wanted = energies.reactions()(*values.values())[0]
    known = known_by_energies(found, values)
    assert numbers(found.multipliers, known)[:, 0] == pytest.approx(wanted, rel=1e-12)
    assert numbers(found.simplified().multipliers, known)[:, 0] == pytest.approx(wanted, rel=1e-12)


def test_multipliers_by_dependent_coordinates():
    """Rows with a unit column are solved for that coordinate; the book's formula gives the same."""
    x, r, speed = sympy.symbols("x r speed", real=True)
    mass = sympy.Matrix([[3, 0, r], [0, 2, sympy.cos(x)], [r, sympy.cos(x), 5 + r**2]])
    rows = sympy.Matrix([[1, 0, -r * sympy.sin(x)], [0, -1, r]])
    side, rest = sympy.Matrix([speed**2, x]), sympy.Matrix([sympy.sin(x), 7, r * speed])
    known = {x: 0.4, r: 0.7, speed: 1.9}
    m, d, b, f = (numbers(part, known) for part in (mass, rows, side, rest))
    book = np.linalg.solve(d @ np.linalg.solve(m, d.T), b + d @ np.linalg.solve(m, f))
    assert numbers(reactions(mass, rows, side, rest, reduced), known) == pytest.approx(book, rel=1e-12)


def test_the_pendulum_is_the_textbooks():
    found = dr.symbolic.symbolic_equations(pendulum()).simplified()
    m, l, g = sympy.symbols("m l g", real=True)
    theta, acceleration = sympy.symbols("theta theta_ddot", real=True)
    assert found.motion == sympy.Matrix([m * l**2 * acceleration + m * g * l * sympy.sin(theta)])
    assert found.coordinates == (theta,) and found.accelerations == (acceleration,)
    assert set(found.parameters) == {m, l, g}
    assert found.multipliers.shape == (0, 1) and found.reactions == ()


def test_the_double_pendulum_has_the_textbooks_mass_matrix():
    m1, m2, l1, l2 = sympy.symbols("m1 m2 l1 l2", real=True)
    angle = sympy.Symbol("theta2", real=True)
    coupling = m2 * l2 * (l2 + l1 * sympy.cos(angle))
    textbook = sympy.Matrix(
        [[(m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * sympy.cos(angle), coupling], [coupling, m2 * l2**2]]
    )
    found = dr.symbolic.symbolic_equations(double_pendulum()).simplified()
    assert found.M.expand() == textbook.expand()
    first, second = found.velocities
    rate = found.M.diff(angle) * second
    skew = rate - 2 * found.C
    assert (skew + skew.T).applyfunc(sympy.simplify) == sympy.zeros(2, 2)
    assert found.C.has(first) and found.C.has(second)


def test_the_cart_pole_is_the_textbooks():
    found = dr.symbolic.symbolic_equations(cart_pole()).simplified()
    cart, pole, length = sympy.symbols("M m l", real=True)
    theta, rate, force = sympy.symbols("theta theta_rate F", real=True)
    sine, cosine = sympy.sin(theta), sympy.cos(theta)
    textbook = sympy.Matrix([[cart + pole, pole * length * cosine], [pole * length * cosine, pole * length**2]])
    assert textbook == found.M
    assert found.C * sympy.Matrix(found.velocities) == sympy.Matrix([-pole * length * rate**2 * sine, 0])
    assert found.Q[0] == force
    assert found.Q[1].coeff(rate) == pytest.approx(-0.05)


def test_symbols_are_set_as_people_write_them():
    found = dr.symbolic.symbolic_equations(double_pendulum()).simplified()
    text = found._repr_latex_()
    for part in (r"\theta_{1}", r"\dot{\theta}_{2}", r"M \ddot{q} + C \dot{q} + g = Q", "m_{2}"):
        assert part in text
    assert r"\lambda" not in text
    disk = dr.symbolic.symbolic_equations(dr.gallery.rolling_disk())
    assert r"Q + D^{T} \lambda,\quad D \ddot{q} = b" in disk._repr_latex_()
    assert disk.latex_names[disk.reactions[0]].startswith(r"\lambda_{")
    sleigh = dr.symbolic.symbolic_equations(dr.gallery.chaplygin_sleigh()).simplified()._repr_latex_()
    assert r"v = H v_{r},\quad M_{r} \dot{v}_{r} = F_{r}" in sleigh
    assert sleigh.count(r"\begin{matrix}") == 9 and r"\ddot" in sleigh


def test_long_systems_are_refused_kindly_unless_asked():
    found = dr.symbolic.symbolic_equations(dr.gallery.bicycle())
    with pytest.raises(ModelError, match=r"'bicycle': its mass matrix M would have [\d,]+ operations.*draisine equations"):
        found.M  # noqa: B018
    assert "too long to read" in found._repr_latex_()
    assert found.g.shape == (9, 1)
    assert dr.symbolic.symbolic_equations(dr.gallery.bicycle(), limit=None).D.shape == (6, 9)
    with pytest.raises(ModelError, match=r"simplified\(\)\.multipliers"):
        dr.symbolic.symbolic_equations(dr.gallery.rolling_disk()).multipliers  # noqa: B018


def test_only_models_are_taken():
    with pytest.raises(TypeError, match="takes a Model, got Equations"):
        dr.symbolic.symbolic_equations(dr.derive(pendulum()))
