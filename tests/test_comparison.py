"""Two descriptions of one mechanism, the graph and a Lagrangian by hand."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr


def graph(length: float = 0.7) -> dr.Model:
    m = dr.Model("graph")
    rod = m.parameter("l", length, "m")
    cart = m.body("cart_body", mass=2.0)
    pole = m.body("pole_body", mass=0.5, centre=(0, 0, rod))
    m.prismatic("cart", "ground", cart, axis="x")
    m.revolute("pole", cart, pole, axis="y")
    return m


def by_hand(sign: int = 1) -> dr.Equations:
    cart, pole = dynamicsymbols("cart pole")
    l, g = sp.symbols("l g")
    kinetic = 2.5 * cart.diff() ** 2 / 2 + 0.5 * l * cart.diff() * pole.diff() * sp.cos(pole) + 0.5 * l**2 * pole.diff() ** 2 / 2
    return dr.lagrangian(
        "by_hand", [cart, pole], kinetic=kinetic, potential=sign * 0.5 * g * l * sp.cos(pole), parameters={l: 0.7, g: 9.81}
    )


def test_two_descriptions_agree():
    certificate = dr.certify(graph(), against=by_hand())
    assert certificate.passed, str(certificate)
    assert "agree on the accelerations of cart_rate, pole_rate" in certificate.verdict


@pytest.mark.parametrize(("a", "b"), [(graph(), by_hand(sign=-1)), (graph(length=0.71), by_hand())], ids=["sign", "length"])
def test_an_error_in_a_description_is_seen(a, b):
    certificate = dr.certify(a, against=b)
    assert not certificate.passed
    assert "which is wrong cannot be decided" in certificate.verdict


def test_constraints_put_in_before_differentiating_are_seen():
    """The classic mistake: the rolling condition substituted into the kinetic energy loses reactions."""
    x, y, turn = dynamicsymbols("sled_x sled_y sled_heading")
    m, inertia, a = 2.0, 0.5, 0.3
    model = dr.Model("sled")
    body = model.body("sled", mass=m, centre=(a, 0, 0), inertia=(0.25, 0.25, inertia))
    model.planar(body)
    model.knife_edge(body)
    model.output("sled_x_rate", "velocity_x(sled)")
    model.output("sled_y_rate", "velocity_y(sled)")

    def energy(vx, vy):
        along, across = vx * sp.cos(turn) + vy * sp.sin(turn), -vx * sp.sin(turn) + vy * sp.cos(turn)
        return m * (along**2 + (across + a * turn.diff()) ** 2) / 2 + inertia * turn.diff() ** 2 / 2

    blade = {"blade": -sp.sin(turn) * x.diff() + sp.cos(turn) * y.diff()}
    right = dr.lagrangian("right", [x, y, turn], energy(x.diff(), y.diff()), nonholonomic=blade)
    assert dr.certify(model, against=right).passed
    # with the blade's condition already used, the velocity across vanishes from the energy
    along = x.diff() * sp.cos(turn) + y.diff() * sp.sin(turn)
    wrong = (
        m * (along**2 + (a * turn.diff()) ** 2) / 2
        + inertia * turn.diff() ** 2 / 2
        + 1e-3 * (x.diff() ** 2 + y.diff() ** 2 - along**2)
    )
    certificate = dr.certify(model, against=dr.lagrangian("wrong", [x, y, turn], wrong, nonholonomic=blade))
    assert not certificate.passed


def test_nothing_in_common_is_said():
    other = dr.lagrangian("other", [dynamicsymbols("z")], dynamicsymbols("z").diff() ** 2)
    with pytest.raises(ValueError, match="no velocity of the same name"):
        dr.certify(graph(), against=other)
