"""Numbers given as text convert like numbers, and start values of outputs like their values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ModelError

# SI units in one of each, by their definitions
SCALES = {
    "deg": math.pi / 180,
    "rev": 2 * math.pi,
    "cm": 1e-2,
    "km/h": 1 / 3.6,
    "g": 1e-3,
    "kN": 1e3,
    "min": 60.0,
    "in": 0.0254,
    "rpm": 2 * math.pi / 60,
    "m": 1.0,
    "rad": 1.0,
}


def default_of(default: object, unit: str) -> tuple[float, str]:
    model = dr.Model("one")
    model.parameter("it", default, unit)  # type: ignore[arg-type]
    body = model.body("body", mass=1.0)
    model.prismatic("x", "ground", body)
    (parameter,) = model.freeze().parameters
    return parameter.default, parameter.unit


def test_five_degrees_as_text() -> None:
    assert default_of("5", "deg") == default_of(5, "deg") == default_of("5 deg", "") == (math.radians(5), "rad")


def test_numbers_as_text_convert_like_numbers() -> None:
    random = np.random.default_rng(5)
    for _ in range(60):
        unit = str(random.choice(list(SCALES)))
        number = float(f"{random.normal() * 10.0 ** random.uniform(-4, 4):.6g}")
        value, _ = default_of(number, unit)
        assert value == pytest.approx(number * SCALES[unit], rel=1e-15)
        for text in (repr(number), f" {number!r} ", f"{number:.12e}", np.float64(number)):
            assert default_of(text, unit) == default_of(number, unit)
        assert default_of(f"{number!r} {unit}", unit) == default_of(number, unit)
    assert default_of(np.int64(5), "deg") == default_of(5, "deg")
    with pytest.raises(ModelError, match="parameter 'it': the default 'five' is no number"):
        default_of("five", "deg")


def turntable() -> dr.Equations:
    """A turning body; two outputs repeat its angle and its rate in other units."""
    model = dr.Model("turntable")
    table = model.body("table", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.revolute("turn", "ground", table, axis="z")
    model.output("hd", "turn*180/pi", "deg")
    model.output("pace", "turn_rate*30/pi", "rpm")
    return dr.derive(model)


def test_start_values_of_an_output_convert_like_its_values() -> None:
    run = dr.simulate(turntable(), 1.0, start={"hd": "10 deg", "pace": "0.5 rev/s"})
    assert run["hd"][0] == pytest.approx(10.0, abs=1e-12)
    assert run["turn"][0] == pytest.approx(math.radians(10.0), abs=1e-14)
    assert run["pace"][0] == pytest.approx(30.0, abs=1e-12)
    assert run["turn_rate"][0] == pytest.approx(math.pi, abs=1e-13)


def test_any_unit_of_the_dimension_gives_the_same_start() -> None:
    random, table = np.random.default_rng(6), turntable()
    for _ in range(10):
        angle = float(random.uniform(-3, 3))
        for unit in ("rad", "deg", "rev"):
            start = dr.consistent_start(table, {"hd": f"{angle / SCALES[unit]!r} {unit}"})
            assert start.coordinates["turn"] == pytest.approx(angle, abs=1e-13)
        assert dr.consistent_start(table, {"hd": math.degrees(angle)}).coordinates["turn"] == pytest.approx(angle, abs=1e-13)
        assert dr.consistent_start(table, {"turn": f"{math.degrees(angle)!r} deg"}).coordinates["turn"] == pytest.approx(angle)


def test_a_quantity_in_si_units_is_not_labeled_with_another_unit() -> None:
    """Values of outputs are those of their expressions: "deg" on an angle in rad would be a wrong number without a word."""
    m = dr.Model("rod")
    m.body("rod", mass=1.0, center_of_mass=(0, 0, -1), inertia=(0, 0, 0))
    m.revolute("swing", "ground", "rod", axis="y")
    for expression, unit in (("swing", "deg"), ("swing_rate", "rpm"), ("position_x(rod)", "mm"), ("velocity_x(rod)", "km/h")):
        with pytest.raises(dr.errors.ModelError, match=rf"output 'seen': .* its unit is '{unit}'; give the unit"):
            m.output("seen", expression, unit)
    m.output("degrees", "swing*180/pi", "deg")
    m.output("angle", "swing", "rad")
    assert dr.simulate(m, 0.1, start={"degrees": "30 deg"})["angle"][0] == pytest.approx(math.pi / 6, abs=1e-15)
