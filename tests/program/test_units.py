"""Units: exact conversion, products and powers, what fits what, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draisine.errors import UnitError
from draisine.expr.units import Dimension, Unit, fits, parse_unit, quantity, quantity_in, si_text

LENGTH, MASS, TIME, NUMBER = Dimension(m=1), Dimension(kg=1), Dimension(s=1), Dimension()
TORQUE = Dimension(m=2, kg=1, s=-2)


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("102 cm", 1.02, LENGTH),
        ("85cm", 0.85, LENGTH),
        ("12 in", 0.3048, LENGTH),
        ("1 ft", 0.3048, LENGTH),
        ("1 mi", 1609.344, LENGTH),
        ("-3.5e-2 mm", -3.5e-5, LENGTH),
        ("700 mm", 0.7, LENGTH),
        ("2.5 µm", 2.5e-6, LENGTH),
        ("2.5 um", 2.5e-6, LENGTH),
        ("1.5 km", 1500.0, LENGTH),
        ("250 g", 0.25, MASS),
        ("3 kg", 3.0, MASS),
        ("2 t", 2000.0, MASS),
        ("10 lb", 4.5359237, MASS),
        ("5 min", 300.0, TIME),
        ("2 h", 7200.0, TIME),
        ("20 ms", 0.02, TIME),
        ("36 km/h", 10.0, Dimension(m=1, s=-1)),
        ("5 m/s^2", 5.0, Dimension(m=1, s=-2)),
        ("9.81 m/s²", 9.81, Dimension(m=1, s=-2)),
        ("1 kg*m^2", 1.0, Dimension(m=2, kg=1)),
        ("1 kg·m²", 1.0, Dimension(m=2, kg=1)),
        ("2 g*cm^2", 2e-7, Dimension(m=2, kg=1)),
        ("3 N*m/rad", 3.0, TORQUE),
        ("3 N m", 3.0, TORQUE),
        ("3 Nm", 3.0, TORQUE),
        ("3 J", 3.0, TORQUE),
        ("4 kN", 4000.0, Dimension(m=1, kg=1, s=-2)),
        ("1 kN/mm", 1e6, Dimension(kg=1, s=-2)),
        ("2 bar", 2e5, Dimension(m=-1, kg=1, s=-2)),
        ("3 kW", 3000.0, Dimension(m=2, kg=1, s=-3)),
        ("50 Hz", 50.0, Dimension(s=-1)),
        ("5 1/s", 5.0, Dimension(s=-1)),
        ("5 s^-1", 5.0, Dimension(s=-1)),
        ("5 s⁻¹", 5.0, Dimension(s=-1)),
        ("90 deg", math.pi / 2, NUMBER),
        ("90°", math.pi / 2, NUMBER),
        ("1 rev", 2 * math.pi, NUMBER),
        ("60 rpm", 2 * math.pi, Dimension(s=-1)),
        ("7 %", 0.07, NUMBER),
        ("2 kg/(m*s)", 2.0, Dimension(m=-1, kg=1, s=-1)),
        ("2 kg/m/s", 2.0, Dimension(m=-1, kg=1, s=-1)),
        ("2 A*K", 2.0, Dimension(A=1, K=1)),
        ("0 m", 0.0, LENGTH),
    ],
)
def test_amounts_are_converted_with_one_rounding(text: str, value: float, dimension: Dimension) -> None:
    found = quantity(text)
    assert found is not None
    assert found[0] == pytest.approx(value, rel=0 if "deg" not in text else 1e-16, abs=0)
    assert found[1] == dimension


@given(st.decimals(min_value=-1000000, max_value=1000000, places=4))
def test_a_shifted_decimal_point_is_exact(number: object) -> None:
    # the same decimal number, written in meters and in millimeters, is the same float
    meters = quantity(f"{number:f} m")
    millimeters = quantity(f"{number * 1000:f} mm")
    assert meters is not None
    assert millimeters is not None
    assert meters[0] == millimeters[0] == float(number)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["5", "r", "2*r", "5/s", "5*m", "2 - 3", "2 + m", "2 < m", "2(m)", "m 5", "", "-", "- 5 m", "٣ m", "1_0 m"]
)
def test_other_texts_are_no_amounts(text: str) -> None:
    assert quantity(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5 kgg", "'kgg' is not a unit: 'kgg' is unknown; did you mean 'kg'?"),
        ("20 °C", "'°C': °C is a scale with an offset, which is not supported; use kelvin, 'K'"),
        ("20 degF", "'degF': degF is a scale with an offset, which is not supported; use kelvin, 'K'"),
        ("3 kg*", "'kg*' is not a unit: it ends unexpectedly; write it like 'kg*m^2' or 'N*m/rad'"),
        ("4 kg//s", "'kg//s' is not a unit: unexpected '/'; write it like 'kg*m^2' or 'N*m/rad'"),
        ("5 m)", "'m)' is not a unit: unexpected ')'; write it like 'kg*m^2' or 'N*m/rad'"),
        ("5 (m", "'(m' is not a unit: a parenthesis is not closed; write it like 'kg*m^2' or 'N*m/rad'"),
        ("5 m^0.5", "'m^0.5' is not a unit: unexpected '.'; write it like 'kg*m^2' or 'N*m/rad'"),
        (
            "5 m^99",
            "'m^99' is not a unit: a power must be an integer between -12 and 12; write it like 'kg*m^2' or 'N*m/rad'",
        ),
        ("5 m²⁻", "'m²⁻' is not a unit: a power must be an integer between -12 and 12; write it like 'kg*m^2' or 'N*m/rad'"),
        ("5 m__class__", "'m__class__' is not a unit: unexpected '_'; write it like 'kg*m^2' or 'N*m/rad'"),
        ("1e400 m", "'1e400 m' is too large or too small"),
        ("1e-999999999 m", "'1e-999999999 m' is too large or too small"),
    ],
)
def test_bad_units_are_refused(text: str, message: str) -> None:
    with pytest.raises(UnitError) as caught:
        quantity(text)
    assert str(caught.value) == message


def test_unknown_units_without_a_neighbor_are_answered_with_a_list() -> None:
    with pytest.raises(UnitError, match=r"^'foo' is not a unit: 'foo' is unknown; known are %, 1, A, Hz, .*, turn, yd, °$"):
        quantity("5 foo")


def test_long_units_are_refused() -> None:
    with pytest.raises(UnitError, match="has 200000 characters; the limit is 100"):
        parse_unit("m" * 200_000)
    assert quantity("5 " + "(" * 200_000) is None
    with pytest.raises(UnitError, match="it ends unexpectedly"):
        parse_unit("(" * 100)


@given(st.text(max_size=50))
def test_any_text_is_a_unit_or_refused_in_words(text: str) -> None:
    try:
        assert isinstance(parse_unit(text), Unit)
    except UnitError as problem:
        assert "unit" in str(problem) or "offset" in str(problem)


@given(st.text(alphabet="kgmNs²*/^-123.() ", max_size=20))
def test_any_unit_like_text_is_an_amount_or_refused_in_words(text: str) -> None:
    try:
        found = quantity(text)
    except UnitError:
        return
    assert found is None or math.isfinite(found[0])


def test_units_multiply_like_their_dimensions() -> None:
    assert parse_unit("kN*m/deg") == parse_unit("kN") * parse_unit("m") / parse_unit("deg")
    assert parse_unit("m/s/s") == parse_unit("m/s^2") == parse_unit("m*s**-2")
    assert parse_unit("") == parse_unit("rad") == parse_unit("1") == Unit()
    assert parse_unit("deg").scale == math.pi / 180
    assert parse_unit("1/deg").scale == pytest.approx(180 / math.pi, rel=1e-15)


def test_what_fits() -> None:
    assert fits("N*m/rad", "N*m")
    assert fits("J", "N m")
    assert fits("deg", "rad")
    assert fits("deg", "")
    assert fits(parse_unit("lb"), "kg")
    assert not fits("deg", "m")
    assert not fits("kg", "N")
    assert not fits("m/s", "m/s^2")


def test_values_for_a_slot() -> None:
    assert quantity_in("102 cm", "m", "wheelbase") == 1.02
    assert quantity_in("18 deg", "rad", "tilt") == math.pi / 10
    assert quantity_in("18 deg", "", "tilt") == math.pi / 10
    assert quantity_in("2*r", "m", "radius") is None


@pytest.mark.parametrize(
    ("text", "slot", "where", "message"),
    [
        ("85 cm", "kg", "mass of body 'frame'", "mass of body 'frame': got '85 cm' (length), expected a mass such as 'kg'"),
        (
            "5 deg",
            "m",
            "radius of wheel 'rear'",
            "radius of wheel 'rear': got '5 deg' (angle or plain number), expected a length such as 'm'",
        ),
        ("5 m", "rad", "tilt", "tilt: got '5 m' (length), expected an angle or plain number such as 'rad'"),
        ("5 m", "", "ratio", "ratio: got '5 m' (length), expected an angle or plain number such as 'rad'"),
        ("3 m^2*kg^2", "kg*m^2", "Ixx", "Ixx: got '3 m^2*kg^2' (m^2*kg^2), expected a moment of inertia such as 'kg*m^2'"),
        ("3 m", "A*s", "charge", "charge: got '3 m' (length), expected an amount in s*A such as 'A*s'"),
        ("3 kgs", "kg", "mass", "mass: 'kgs' is not a unit: 'kgs' is unknown; did you mean 'kg'?"),
        (
            "2 Hz",
            "rad/s",
            "spin",
            "spin: got '2 Hz', but hertz is ambiguous (revolutions or radians per second); write 'rev/s' or 'rad/s'",
        ),
        ("2 m", "kgs", "x", "x: 'kgs' is not a unit: 'kgs' is unknown; did you mean 'kg'?"),
    ],
)
def test_amounts_that_do_not_fit_name_the_slot(text: str, slot: str, where: str, message: str) -> None:
    with pytest.raises(UnitError) as caught:
        quantity_in(text, slot, where)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "si"),
    [
        ("kN*m/deg", "N*m/rad"),
        ("rpm", "rad/s"),
        ("rpm^2", "(rad/s)^2"),
        ("lb/in^2", "kg/m^2"),
        ("km/h", "m/s"),
        ("kg·m²", "kg·m²"),
        ("", ""),
        ("rad", "rad"),
        ("Nm", "N*m"),
    ],
)
def test_units_are_rewritten_in_si(text: str, si: str) -> None:
    assert si_text(text) == si
    assert parse_unit(si).dimension == parse_unit(text).dimension
    assert parse_unit(si).scale == 1.0


@pytest.mark.parametrize("text", ["1e6", "-1e6*x - 1e4*x_rate", "2.5E-3*x", "1e+2"])
def test_powers_of_ten_are_part_of_the_number(text: str) -> None:
    assert quantity(text) is None


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        *(("1 Hz", slot) for slot in ("rad/s", "rpm", "deg/s", "rev/s", "rad/min")),
        *(("60 1/min", slot) for slot in ("rad/s", "rpm", "deg/s")),
        *((text, "Hz") for text in ("60 rpm", "1 rad/s", "360 deg/s", "1 rev/s")),
        ("60 rpm", "1/s"),
        ("2 kHz", "rpm"),
    ],
)
def test_rates_that_may_count_revolutions_or_radians_are_refused(text: str, slot: str) -> None:
    with pytest.raises(UnitError, match="ambiguous"):
        quantity_in(text, slot, "spin")


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("60 rpm", "rad/s", 2 * math.pi),
        ("1 rev/s", "rpm", 2 * math.pi),
        ("2 1/s", "rad/s", 2.0),
        ("120 1/min", "Hz", 2.0),
        ("2 Hz", "1/s", 2.0),
        ("3 N*m/rad", "N*m", 3.0),
    ],
)
def test_rates_of_one_meaning_are_converted_to_si(text: str, slot: str, value: float) -> None:
    assert quantity_in(text, slot, "spin") == pytest.approx(value, rel=1e-15)
