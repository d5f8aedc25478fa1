"""The unit of an output is a statement about its values: it is checked wherever the unit of the formula follows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ModelError
from draisine.expr.units import parse_unit, si_text

STATE = {"x": 0.7, "x_rate": 1.3}


def car(*outputs: tuple[str, str, str]) -> dr.Model:
    m = dr.Model("car")
    m.parameter("length", 0.5, "m")
    m.parameter("mass", 3.0, "kg")
    m.body("b", mass="mass")
    m.prismatic("x", "ground", "b")
    m.generalized_force("x", m.input("F", "N"))
    for output in outputs:
        m.output(*output)
    return m


# formulas with the SI unit of their values, and other units of that dimension
LEAVES = {
    "x": "m", "-x": "m", "abs(x)": "m", "x + length": "m", "max(x, 0)": "m", "sqrt(x^2)": "m", "position_x(b)": "m",
    "length*sin(x/length)": "m", "where(x > 0, x, length)": "m", "x_rate": "m/s", "rate(x)": "m/s", "abs(x_rate)": "m/s",
    "hypot(velocity_x(b), velocity_y(b))": "m/s", "clip(x_rate, -1, 1)": "m/s", "atan2(x, length)": "rad", "heading(b)": "rad",
    "x/length": "rad", "asin(x/length/2)": "rad", "F": "N", "-F": "N", "mass*x_rate^2/x": "N", "F*x_rate": "W",
    "0.5*mass*x_rate^2": "J", "F*x": "J", "x^2": "m^2", "t": "s", "x/x_rate": "s", "mass": "kg",
}  # fmt: skip
OTHERS = {
    "m": ("cm", "mm", "km", "in"), "m/s": ("km/h", "cm/s", "mph"), "rad": ("deg", "rev", "%"), "N": ("kN", "lbf"),
    "W": ("kW",), "J": ("kJ",), "m^2": ("cm^2",), "s": ("ms", "min", "h"), "kg": ("g", "t"),
}  # fmt: skip


def grown(rng: np.random.Generator) -> tuple[str, str]:
    """A random formula with its SI unit."""
    text = str(rng.choice(list(LEAVES)))
    unit = LEAVES[text]
    for _ in range(int(rng.integers(0, 3))):
        same = [other for other in LEAVES if LEAVES[other] == unit]
        other = str(rng.choice(same))
        forms = ("-({a})", "abs({a})", "({a}) + ({b})", "max({a}, {b})", "hypot({a}, {b})", "sqrt(({a})^2)", "({a})*({b})/({b})")
        text = str(rng.choice(forms)).format(a=text, b=other)
    return text, unit


def test_random_formulas_take_their_unit_and_no_other() -> None:
    rng = np.random.default_rng(22)
    for _ in range(150):
        text, unit = grown(rng)
        car(("o", text, unit)).freeze()
        other = str(rng.choice(OTHERS[unit]))
        with pytest.raises(ModelError, match=r"output 'o': .* is in .*, its unit is .*; give the unit"):
            car(("o", text, other))
        wrong = str(rng.choice([u for u in OTHERS if u != unit]))
        with pytest.raises(ModelError, match=r"output 'o': .* expected .*correct the expression or the unit"):
            car(("o", text, wrong))


@pytest.mark.parametrize("text", ["x_rate", "abs(x_rate)", "hypot(velocity_x(b), velocity_y(b))", "rate(x)"])
def test_the_proposed_formula_is_taken_and_is_right(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        car(("v", text, "km/h"))
    cure = str(caught.value).partition("such as '")[2].rstrip("'")
    run = dr.simulate(car(("v", cure, "km/h")), 0.01, start=STATE)
    assert run["v"][0] == pytest.approx(1.3 * 3.6, rel=1e-14)


def test_proposals_convert_by_the_scale_of_the_unit() -> None:
    for si, units in OTHERS.items():
        text = next(leaf for leaf in LEAVES if LEAVES[leaf] == si)
        for unit in units:
            with pytest.raises(ModelError) as caught:
                car(("o", text, unit))
            factor = str(caught.value).partition("such as '")[2].split("*(")[0]
            assert eval(factor, {"pi": math.pi}) == pytest.approx(1 / parse_unit(unit).scale, rel=1e-14)
            assert f"give the unit '{si_text(unit)}'" in str(caught.value)


def test_numbers_too_plain_to_convert() -> None:
    for text, unit in (("2*x", "cm"), ("x/2", "cm"), ("3*abs(x_rate)", "km/h"), ("2*atan2(x, length)", "deg")):
        with pytest.raises(ModelError, match="its unit is"):
            car(("o", text, unit))
    for text, unit in (
        ("100*x", "cm"),
        ("3.6*x_rate", "km/h"),
        ("x/length*180/pi", "deg"),
        ("x/length/(2*pi)", "rev"),
        ("F/1000", "kN"),
    ):
        car(("o", text, unit)).freeze()


def test_outputs_of_outputs_keep_their_scale() -> None:
    degrees = ("turned", "x/length*180/pi", "deg")
    car(degrees, ("twice", "turned + turned", "deg"), ("less", "90 - turned", "deg")).freeze()
    for text, unit in (
        ("turned", "rad"),
        ("-turned", "rad"),
        ("turned + x/length", "deg"),
        ("sin(turned)", ""),
        ("cos(turned)", "1"),
    ):
        with pytest.raises(ModelError, match=r"'?o'?: "):
            car(degrees, ("o", text, unit)).freeze()


def test_rates_are_not_hertz() -> None:
    m = dr.Model("wheel")
    m.body("w", mass=1.0, inertia=(1, 1, 1))
    m.revolute("turn", "ground", "w", axis="z")
    with pytest.raises(ModelError, match="is in rad/s, its unit is 'Hz'"):
        m.output("f", "turn_rate", "Hz")
    m.output("f", "turn_rate/(2*pi)", "Hz")


def test_what_is_defined_later_is_checked_by_freeze() -> None:
    m = dr.Model("late")
    m.output("v", "-x", "cm")
    m.body("b", mass=1.0)
    m.prismatic("x", "ground", "b")
    with pytest.raises(ModelError, match="is in m, its unit is 'cm'"):
        m.freeze()
