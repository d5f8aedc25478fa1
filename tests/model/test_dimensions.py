"""Declared units are checked where a parameter is used, through expressions too."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import parse
from draisine.expr.units import Dimension, parse_unit
from draisine.model.dimensions import Dimensions
from draisine.model.files import from_toml


def _model() -> dr.Model:
    m = dr.Model("m")
    for name, unit in (("mass", "kg"), ("length", "m"), ("moment", "kg*m^2"), ("k", "N/m"), ("torsion", "N*m/rad")):
        m.parameter(name, 1.0, unit)
    m.parameter("damping", 1.0, "N*s/m")
    m.parameter("force", 1.0, "N")
    m.parameter("plain", 1.0)
    m.parameter("angle", "20 deg")
    m.input("torque", "N*m")
    return m


PLACES = {
    "mass of body 'b'": (lambda m, x: m.body("b", x), "kg"),
    "center_of_mass of body 'b' along x": (lambda m, x: m.body("b", 1, (x, 0, 0)), "m"),
    "inertia yy of body 'b'": (lambda m, x: m.body("b", 1, inertia={"xx": 1, "yy": x, "zz": 1}), "kg*m^2"),
    "stiffness of spring 'spring_on_slide'": (
        lambda m, x: (m.body("b", 1), m.prismatic("slide", "ground", "b"), m.spring("slide", x)),
        "N/m",
    ),
    "damping of spring 'spring_on_slide'": (
        lambda m, x: (m.body("b", 1), m.prismatic("slide", "ground", "b"), m.spring("slide", "2 N/m", damping=x)),
        "N*s/m",
    ),
    "amount of generalized force 'push'": (
        lambda m, x: (m.body("b", 1), m.prismatic("slide", "ground", "b"), m.generalized_force("slide", x, "push")),
        "N",
    ),
    "force of wrench 'w' along y": (lambda m, x: (m.body("b", 1), m.wrench("b", force=(0, x, 0), name="w")), "N"),
    "torque of wrench 'w' along z": (lambda m, x: (m.body("b", 1), m.wrench("b", torque=(0, 0, x), name="w")), "N*m"),
    "point 'p' along z": (lambda m, x: (m.body("b", 1), m.point("p", "b", (0, 0, x))), "m"),
    "displacement of joint 'j'": (lambda m, x: (m.body("b", 1), m.revolute("j", "ground", "b", at=(x, 0, 0))), "m"),
    "gravity": (lambda m, x: (m.gravity(x), m.body("b", 1)), "m/s^2"),
    "slope of the ground": (lambda m, x: (m.ground(slope=x), m.body("b", 1)), "rad"),
    "height of the ground": (lambda m, x: (m.ground(height=x), m.body("b", 1)), "m"),
    "energy of potential 'v'": (lambda m, x: (m.potential("v", x), m.body("b", 1)), "J"),
    "output 'o'": (lambda m, x: (m.output("o", x, "m/s"), m.body("b", 1)), "m/s"),
}
UNITS = {
    "mass": "kg", "length": "m", "moment": "kg*m^2", "k": "N/m", "damping": "N*s/m", "force": "N", "angle": "rad",
    "torsion": "N*m",
    "0.5*mass*length^2": "kg*m^2", "sqrt(k/mass)*length": "m/s", "k*length": "N", "force*length*sin(angle)": "J",
    "moment/mass/length + 0.1": "m", "-length": "m", "max(length, 0.3)": "m", "where(angle > 0.1, force, 2)": "N",
}  # fmt: skip


def _finish(m: dr.Model) -> None:
    if not m._items["joints"]:
        m.free("b")
    m.freeze()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", UNITS)
def test_every_place_takes_what_fits_and_refuses_what_does_not(place: str, text: str) -> None:
    add, expected = PLACES[place]
    m = _model()
    if parse_unit(UNITS[text]).dimension == parse_unit(expected).dimension:
        add(m, text)
        _finish(m)
        return
    with pytest.raises(dr.errors.ModelError) as caught:
        add(m, text)
        _finish(m)
    message = str(caught.value)
    assert message.startswith(f"{place}: '") and "expected" in message and " in " in message
    if text in ("mass", "length", "k"):
        assert f"'{text}' in {UNITS[text]}" in message


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", ["plain", "plain*length", "1.2*length*mass", "1.01*mass", "0.3", "0"])
def test_what_is_not_known_is_not_refused(place: str, text: str) -> None:
    m = _model()
    PLACES[place][0](m, text)
    if text != "0" or place != "inertia yy of body 'b'":
        _finish(m)


def test_message() -> None:
    m = _model()
    m.free(m.body("frame", "2*length"))
    with pytest.raises(dr.errors.ModelError) as caught:
        m.freeze()
    assert str(caught.value) == (
        "mass of body 'frame': '2*length' is a length (with 'length' in m), expected a mass such as 'kg'; "
        "correct the expression or the unit"
    )


def test_sums_of_different_quantities_are_refused() -> None:
    m = _model()
    m.free(m.body("frame", 1.0, ("length + mass", 0, 0)))
    with pytest.raises(
        dr.errors.ModelError, match=r"combines a length 'length' with a mass 'mass' \(with 'mass' in kg, 'length' in m\)"
    ):
        m.freeze()


def test_in_model_files_with_the_line() -> None:
    text = 'name = "m"\n[parameters]\nsize = { value = 1, unit = "m" }\n[bodies.b]\nmass = "size"\n'
    text += '[joints.j]\nkind = "free"\nchild = "b"\n'
    with pytest.raises(dr.errors.ModelError, match=r"line 5: mass of body 'b': 'size' is a length"):
        from_toml(text)


def test_random_products_have_the_dimension_of_their_units() -> None:
    """Random monomials and sums: the dimension by the parser of units, an independent implementation."""
    rng = np.random.default_rng(3)
    units = {"a": "kg", "b": "m", "c": "s", "d": "N", "e": "rad", "f": "W"}
    dimensions = Dimensions({}, units)
    for _ in range(300):
        chosen = [(str(rng.choice(list(units))), int(rng.integers(-3, 4))) for _ in range(rng.integers(1, 5))]
        text = "*".join(f"{name}^({power})" for name, power in chosen)
        unit = "*".join(f"({units[name]})^{power}" for name, power in chosen)
        expected = parse_unit(unit).dimension
        assert dimensions.of_expression(parse(text), "x") == expected
        assert dimensions.of_expression(parse(f"2*({text}) + 0.7 - sqrt(({text})^2)/pi"), "x") == expected
    assert Dimensions({}, units, law=True).of_expression(parse("2*b"), "x") is None
    assert dimensions.of_expression(parse("a*g"), "x") is None
    assert dimensions.of_expression(parse("atan2(b, 2)"), "x") == Dimension()


@pytest.mark.parametrize("stiffness", [1, 2, 100, "3 N/m", "k", "2*k"])
@pytest.mark.parametrize("rest", [0.2, "length", "2*length", "length/pi"])
def test_springs_with_numbers_and_parameters_are_accepted(stiffness, rest) -> None:
    m = _model()
    m.body("b", 1)
    m.prismatic("slide", "ground", "b")
    m.spring("slide", stiffness, rest, damping=2)
    m.generalized_force("slide", "-2*slide_rate + force - 3*(slide - length)", "law")
    m.freeze()
