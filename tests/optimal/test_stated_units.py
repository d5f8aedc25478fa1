"""Units in the statement of a maneuver: converted, and checked wherever a number belongs to a quantity."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, DataError, UnitError
from draisine.expr.units import Measured
from draisine.optimal.maneuver import maneuver
from draisine.optimal.phase_builder import build_phases
from draisine.optimal.study_file import study_of

MESH = dr.optimal.Collocation(intervals=10)
WRONG = {"m": "3 kg", "rad": "3 m", "m/s": "3 m", "rad/s": "2 rad", "N": "3 m/s", "kg": "3 N", "s": "3 m"}
RIGHT = {  # a text, and its number in SI units
    "m": ("30 cm", 0.3),
    "rad": ("9 deg", np.pi / 20),
    "m/s": ("3.6 km/h", 1.0),
    "rad/s": ("30 rpm", np.pi),
    "N": ("0.5 kN", 500.0),
    "kg": ("2500 g", 2.5),
}


def stated():
    return maneuver(dr.gallery.cart_pole()).start(pole=0.1).bounds(push=(-9, 9)).minimize("time").duration(0.5, 3.0)


def phase_of(problem):
    return build_phases(problem, [MESH])[1][0]


def quantities():
    e = dr.gallery.cart_pole()
    return [(q.name, q.unit) for q in (*e.coordinates, *e.velocities)]


@pytest.mark.parametrize(("name", "unit"), quantities())
def test_every_quantity_in_every_place(name, unit):
    text, number = RIGHT[unit]
    plain, with_unit = (phase_of(stated().finish(**{name: v}).bounds(**{name: (-4, v)})) for v in (number, text))
    np.testing.assert_allclose([(c.low, c.high) for c in with_unit.ends], [(c.low, c.high) for c in plain.ends], rtol=1e-15)
    assert with_unit.limits[name] == pytest.approx((-4.0, number), rel=1e-15)
    for problem in (
        stated().finish(**{name: WRONG[unit]}),
        stated().finish(**{name: ("0 kg*K", None)}),
        stated().finish(pole=0).bounds(**{name: (None, WRONG[unit])}),
    ):
        with pytest.raises(UnitError, match=name):
            phase_of(problem)


def test_random_quantities_with_units():
    """Random numbers in random units of the right dimension are the same bounds as their numbers in SI units."""
    rng = np.random.default_rng(3)
    units = {
        "cart": ("m", "mm", "km", "ft"),
        "pole": ("rad", "deg", "rev"),
        "push": ("N", "kN", "lbf"),
        "cart_rate": ("m/s", "mph"),
    }
    for _ in range(30):
        name = str(rng.choice(list(units)))
        low, high = np.sort(10.0 ** rng.uniform(-3, 3, 2)).tolist()
        unit = str(rng.choice(units[name]))
        texts = (f"{-high!r} {unit}", f"{low!r} {unit}")
        scale = Measured.read(f"1 {unit}")
        found = phase_of(stated().start(pole=0.0).finish(pole=0).bounds(**{name: texts}))
        assert found.limits[name] == pytest.approx((-high * scale, low * scale), rel=1e-14)


def test_rates_durations_parameters_and_guesses():
    rates = phase_of(stated().finish(pole=0, rates="90 deg/s")).ends
    assert [c.low for c in rates if c.name == "pole rate"] == pytest.approx([np.pi / 2])
    assert stated().duration("500 ms", "0.05 min").times == pytest.approx((0.5, 3.0))
    mass = stated().finish(pole=0).optimize(m_cart=("900 g", "2 kg"))
    assert mass.unknown_parameters[0][1] == pytest.approx((0.9, 2.0))
    for problem in (stated().finish(pole=0, rates="90 deg"), stated().finish(pole=0).optimize(m_cart=("1 s", "2 kg"))):
        with pytest.raises(UnitError):
            phase_of(problem)
    with pytest.raises(UnitError, match="duration"):
        stated().duration("3 m")
    for guess in (dr.guess.LinearGuess(duration="1 kg"), dr.guess.LinearGuess(inputs={"push": "1 kg"})):
        with pytest.raises(UnitError, match="guess"):
            stated().finish(pole=0).solve(MESH, guess=guess)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.finish(pole="banana"),
        lambda m: m.finish(pole=("1 deg", "many")),
        lambda m: m.finish(pole=[1]),
        lambda m: m.finish(pole=True),
        lambda m: m.finish(pole=0, rates="fast"),
        lambda m: m.bounds(push=("weak", "strong")),
        lambda m: m.bounds(push=("3 foo", 4)),
        lambda m: m.bounds(push=({}, 4)),
        lambda m: m.duration("long"),
        lambda m: m.minimize(time="much"),
        lambda m: m.optimize(m_cart=("light", "heavy")),
    ],
)
def test_texts_that_are_no_numbers_are_refused_by_name(call):
    with pytest.raises(ArgumentError, match=r"finish|bounds|duration|minimize|optimize"):
        call(stated())


def test_weights_that_are_no_numbers():
    found = stated().finish(pole=0).solve(MESH)
    for call in (
        lambda: dr.optimal.tracking(found, weights={"pole": "much"}, input_weights={"push": 1.0}),
        lambda: dr.optimal.predictive(found, rate=20, horizon=0.5, weights={"pole": "much"}),
    ):
        with pytest.raises(ArgumentError, match="weight of 'pole'"):
            call()


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"finish": {"pole": "0.3 kg"}}, "finish.pole.*mass"),
        ({"bounds": {"push": ["-3 m", "3 N"]}}, "bounds.push.*length"),
        ({"duration": ["1 s", "3 kg"]}, "duration.*mass"),
        ({"duration": "3 kg"}, "duration.*mass"),
        ({"optimize": {"m_cart": ["1 A", "2 kg"]}}, "optimize.m_cart.*current"),
        ({"guess": {"duration": "1 m"}}, "duration.*length"),
        ({"finish": {"pole": 0, "rates": "3 kg"}}, "rates.*mass"),
    ],
)
def test_files(table, error):
    content = {"model": "cart_pole", "start": {"pole": "10 deg"}, "finish": {"pole": 0}, "bounds": {"push": [-9, 9]}}
    content |= {"minimize": {"time": 1}, "method": {"intervals": 5}, **table}
    with pytest.raises((UnitError, ArgumentError, DataError), match=error):
        study_of(content, dr.gallery.model).solve()
