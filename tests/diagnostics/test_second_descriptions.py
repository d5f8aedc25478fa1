"""certify(graph, against=typed): correct pairs pass, whatever the digits of a start and whoever has gravity as a load; wrong ones
are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    Particle,
    Point,
    ReferenceFrame,
    dynamicsymbols,
)

import draisine as dr
from dynamics import ivp_problems as ivp

G = 9.81


# ---------------------------------------------------------------- closed loops: more values than freedoms


@pytest.mark.parametrize("digits", [16, 4])
@pytest.mark.parametrize("graph_first", [True, False])
def test_andrews_mechanism_agrees_with_its_typed_form(digits: int, graph_first: bool) -> None:
    start = {name: round(value, digits) for name, value in ivp.ANDREWS_START.items()}
    pair = [ivp.andrews_graph(start=start), ivp.andrews_typed()]
    first, second = pair if graph_first else pair[::-1]
    found = dr.certify(first, against=second)
    assert found.passed and found.states == 12, found


@pytest.mark.parametrize("body", range(7))
def test_a_mass_one_percent_off_is_found(body: int) -> None:
    mass = tuple(m * (1.01 if k == body else 1.0) for k, m in enumerate(ivp.MASS))
    assert not dr.certify(ivp.andrews_graph(), against=ivp.andrews_typed(mass=mass), count=6).passed


def test_the_sign_of_a_load_on_the_loop_is_found() -> None:
    assert not dr.certify(ivp.andrews_graph(), against=ivp.andrews_typed(moment=-ivp.MOMENT), count=6).passed


def test_another_length_of_the_loop_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ivp.andrews_graph()
    monkeypatch.setattr(ivp, "ZT", ivp.ZT * (1 + 1e-6))
    found = dr.certify(graph, against=ivp.andrews_typed(), count=6)
    assert not found.passed


# ---------------------------------------------------------------- gravity as a load


def graph(mass: float = 0.4, gravity: str = "own", sign: float = 1.0) -> dr.Model:
    m = dr.Model("graph")
    cart = m.body("cart", mass=1.3)
    bob = m.body("bob", mass=mass, center_of_mass=(0, 0, -0.7))
    m.prismatic("x", "ground", cart, axis="x")
    m.revolute("a", cart, bob, axis="y")
    m.potential("spring", "1.5*x^2")
    if gravity == "wrench":
        m.gravity(0.0)
        center = m.point("center", bob, (0, 0, -0.7))
        m.wrench(center, force=(0, 0, -sign * mass * G))
    return m


x, a = dynamicsymbols("x a")


def kinetic(mass: float) -> Any:
    """The bob is at x − 0.7 sin a, −0.7 cos a: a hinge about y turns z towards x."""
    px, pz = x - sp.Rational(7, 10) * sp.sin(a), -sp.Rational(7, 10) * sp.cos(a)
    t = dynamicsymbols._t
    return sp.Rational(13, 20) * x.diff() ** 2 + mass * (sp.diff(px, t) ** 2 + sp.diff(pz, t) ** 2) / 2


def typed(mass: float = 0.4, gravity: str = "own", sign: float = 1.0, spring: float = 3.0) -> dr.Equations:
    height = -sp.Rational(7, 10) * sp.cos(a)
    potential, forces = spring * x**2 / 2, {}
    if gravity == "own":
        potential += sign * mass * G * height
    elif gravity == "load":
        forces = {a: -sign * mass * G * sp.diff(height, a)}
    elif gravity == "all loads":
        potential, forces = 0, {a: -sign * mass * G * sp.diff(height, a), x: -spring * x}
    return dr.lagrangian("typed", [x, a], kinetic=kinetic(mass), potential=potential, forces=forces)


def by_kane(mass: float = 0.4, sign: float = 1.0, potential: float | None = None) -> dr.Equations:
    """The same from SymPy's bodies; loads without potential energies unless a factor of them is given."""
    xr, ar = dynamicsymbols("x_rate a_rate")
    ground, hinge, bob = ReferenceFrame("N"), Point("hinge"), Point("bob")
    arm = ground.orientnew("A", "Axis", [a, ground.y])
    arm.set_ang_vel(ground, ar * ground.y)
    hinge.set_vel(ground, xr * ground.x)
    bob.set_pos(hinge, -sp.Rational(7, 10) * arm.z)
    bob.v2pt_theory(hinge, ground, arm)
    bodies = [Particle("cart", hinge, sp.Rational(13, 10)), Particle("bob", bob, mass)]
    if potential is not None:
        bodies[0].potential_energy = 3 * potential * x**2 / 2
        bodies[1].potential_energy = -potential * mass * G * sp.Rational(7, 10) * sp.cos(a)
    method = KanesMethod(ground, [x, a], [xr, ar], kd_eqs=[x.diff() - xr, a.diff() - ar])
    method.kanes_equations(bodies, [(bob, -sign * mass * G * ground.z), (hinge, -3 * x * ground.x)])
    return dr.from_sympy(method, name="kane")


CORRECT = {
    "own gravity in both": (lambda **o: graph(**o), lambda **o: typed(**o), ""),
    "a wrench in the graph": (lambda **o: graph(gravity="wrench", **o), lambda **o: typed(**o), "different forces as loads"),
    "a force in the Lagrangian": (
        lambda **o: graph(**o), lambda **o: typed(gravity="load", **o), "different forces as loads"
    ),
    "loads in both": (lambda **o: graph(gravity="wrench", **o), lambda **o: typed(gravity="load", **o), ""),
    "no potential at all": (lambda **o: graph(**o), lambda **o: typed(gravity="all loads", **o), "typed has none"),
    "Kane without potentials": (lambda **o: graph(**o), lambda **o: by_kane(**o), "kane has none"),
    "Kane with potentials": (lambda **o: graph(**o), lambda **o: by_kane(potential=1.0, **o), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("swapped", [False, True])
def test_correct_pairs_pass_and_name_what_is_not_comparable(name: str, swapped: bool) -> None:
    first, second, reason = CORRECT[name]
    pair = (second(), first()) if swapped else (first(), second())
    found = dr.certify(pair[0], against=pair[1])
    assert found.passed, found
    assert any(reason in text for text in found.undecided)
    assert ("not comparable" in str(found)) == bool(reason)
    assert ("potential energy" in [line.what for line in found.lines]) == (not reason)


@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("error", [{"mass": 0.404}, {"sign": -1.0}], ids=["mass", "sign"])
def test_wrong_pairs_are_found(name: str, error: dict[str, float]) -> None:
    first, second, _ = CORRECT[name]
    assert not dr.certify(first(), against=second(**error)).passed


@pytest.mark.parametrize("factor", [-1.0, 1.01])
def test_a_wrong_potential_energy_of_correct_loads_is_found(factor: float) -> None:
    found = dr.certify(graph(), against=by_kane(potential=factor))
    assert [line.what for line in found.lines if not line.holds] == ["potential energy"]


def test_random_chains_with_gravity_as_load() -> None:
    """Chains of one to three point masses: Newton–Euler with wrenches against a Lagrangian with a potential, and with one mass
    or force changed."""
    random = np.random.default_rng(5)
    for _ in range(4):
        count = int(random.integers(1, 4))
        masses, lengths = random.uniform(0.3, 2.0, count), random.uniform(0.2, 1.5, count)
        q = dynamicsymbols(f"q1:{count + 1}")
        m = dr.Model("chain")
        m.gravity(0.0)
        parent, at = "ground", (0.0, 0.0, 0.0)
        px, pz, energy, height = 0, 0, 0, 0
        t = dynamicsymbols._t
        for k in range(count):
            body = m.body(f"B{k}", mass=masses[k], center_of_mass=(0, 0, -lengths[k]))
            m.revolute(f"q{k + 1}", parent, body, axis="y", at=at)
            tip = m.point(f"tip{k}", body, (0, 0, -lengths[k]))
            m.wrench(tip, force=(0, 0, -masses[k] * G))
            parent, at = body, (0, 0, -lengths[k])
            turn = sum(q[: k + 1])
            px, pz = px - lengths[k] * sp.sin(turn), pz - lengths[k] * sp.cos(turn)
            energy += masses[k] * (sp.diff(px, t) ** 2 + sp.diff(pz, t) ** 2) / 2
            height += masses[k] * G * pz
        found = dr.certify(m, against=dr.lagrangian("typed", q, kinetic=energy, potential=height), count=6)
        assert found.passed and "chain has none" in str(found), found
        lighter = dr.lagrangian("typed", q, kinetic=energy, potential=sp.Rational(99, 100) * height)
        assert not dr.certify(m, against=lighter, count=6).passed
