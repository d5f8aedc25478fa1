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
    pole = m.body("pole_body", mass=0.5, center_of_mass=(0, 0, rod))
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
    assert "cannot decide which of them is wrong" in certificate.verdict


def test_constraints_put_in_before_differentiating_are_seen():
    """The classic mistake: the rolling condition substituted into the kinetic energy loses reactions."""
    x, y, turn = dynamicsymbols("sled_x sled_y sled_heading")
    m, inertia, a = 2.0, 0.5, 0.3
    model = dr.Model("sled")
    body = model.body("sled", mass=m, center_of_mass=(a, 0, 0), inertia=(0.25, 0.25, inertia))
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
    line = {line.what.partition(" (")[0]: line.holds for line in certificate.lines}
    assert line["kinetic energy"] and not line["accelerations"]  # the energy is right where the blade holds, and only there


# ---------------------------------------------------------------- names


def renamed(sign: str = "") -> dr.Equations:
    """The cart and pole with other names, the pole counted the other way."""
    (way, angle), force = dynamicsymbols("way angle"), sp.Symbol("force")
    l, g = sp.symbols("l g")
    kinetic = 2.5 * way.diff() ** 2 / 2 - 0.5 * l * way.diff() * angle.diff() * sp.cos(angle) + 0.5 * l**2 * angle.diff() ** 2 / 2
    return dr.lagrangian(
        "renamed", [way, angle], kinetic=kinetic, potential=0.5 * g * l * sp.cos(angle),
        forces={way: -force if sign else force}, inputs=[force], parameters={l: 0.7, g: 9.81},
    )  # fmt: skip


NAMES = {"cart": "way", "cart_rate": "way_rate", "pole": "-angle", "pole_rate": "-angle_rate", "push": "force"}


def pushed() -> dr.Model:
    m = graph()
    m.generalized_force("cart", m.input("push", "N"))
    return m


def test_names_map_one_description_onto_the_other():
    certificate = dr.certify(pushed(), against=renamed(), names=NAMES)
    assert certificate.passed, str(certificate)
    assert certificate.verdict == "the two descriptions agree on the accelerations of cart_rate, pole_rate"
    assert [line.what for line in certificate.lines] == [
        "velocities", "accelerations", "power of inputs", "kinetic energy", "potential energy",
    ]  # fmt: skip
    assert certificate.undecided == ("an error that both descriptions have",)


def test_the_sign_of_an_input_is_seen():
    certificate = dr.certify(pushed(), against=renamed(sign="-"), names=NAMES)
    failing = [line.what for line in certificate.lines if not line.holds]
    assert failing == ["accelerations (cart_rate)", "power of inputs (push)"]
    assert dr.certify(pushed(), against=renamed(sign="-"), names={**NAMES, "push": "-force"}).passed


def test_the_wrong_sign_of_a_name_is_seen():
    assert not dr.certify(pushed(), against=renamed(), names={**NAMES, "pole": "angle", "pole_rate": "angle_rate"}).passed


def test_parameters_that_differ_are_pointed_at():
    certificate = dr.certify(graph(length=0.71), against=by_hand())
    assert "parameter 'l' is 0.71 in the first and 0.7 in the second" in certificate.verdict


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"cartt": "way"}, "graph has no coordinate, velocity, output, multiplier or input 'cartt'; did you mean 'cart'"),
        ({"cart": "wy"}, "renamed has no coordinate, velocity, output, multiplier or input 'wy'"),
        ({"cart": "force"}, "in one description it is a quantity of motion, in the other a force or an input"),
        ({k: v for k, v in NAMES.items() if k != "pole_rate"}, "do not determine angle_rate of the second"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, said):
    with pytest.raises(dr.errors.ArgumentError, match=said):
        dr.certify(pushed(), against=renamed(), names=names)


def test_states_that_do_not_match_are_said():
    """The same names for places that cannot coincide."""
    x, y = dynamicsymbols("cart pole")
    held = dr.lagrangian("held", [x, y], x.diff() ** 2 + y.diff() ** 2, holonomic={"wire": x - 2 * y})
    certificate = dr.certify(graph(), against=held)
    assert not certificate.passed and certificate.verdict.startswith("no state of held matches one of graph: held:")
    assert "'wire'" in certificate.verdict


def test_nothing_in_common_is_said():
    other = dr.lagrangian("other", [dynamicsymbols("z")], dynamicsymbols("z").diff() ** 2)
    with pytest.raises(ValueError, match="no velocity of the same name"):
        dr.certify(graph(), against=other)
