"""Modes and critical values against the published table."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import draisine as dr

REFERENCE = Path(__file__).parents[1] / "reference"
MEIJAARD = json.loads((REFERENCE / "meijaard2007.json").read_text())
SCHWAB = json.loads((REFERENCE / "schwab2005.json").read_text())


@pytest.fixture(scope="module")
def swept():
    return dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"))


def test_eigenvalues_of_the_sweep(swept):
    for speed in range(11):
        table = MEIJAARD["eigenvalues"]["table"][str(speed)]
        found = swept.eigenvalues[10 * speed]
        for z in table:
            assert np.abs(found - complex(float(z["re"]), float(z["im"]))).min() < 1e-11


def test_critical_speeds(swept):
    begins, weave, capsize = swept.critical()
    published = {k: float(v) for k, v in MEIJAARD["critical_speeds"].items() if k != "unit"}
    assert begins.value == pytest.approx(published["v_double_root"], abs=1e-11)
    assert begins.eigenvalue.real == pytest.approx(published["lambda_double_root"], abs=1e-11)
    assert weave.value == pytest.approx(published["v_weave"], abs=1e-11)
    assert weave.eigenvalue.imag == pytest.approx(published["weave_frequency_at_v_weave"], abs=1e-11)
    assert capsize.value == pytest.approx(published["v_capsize"], abs=1e-11)
    assert [c.kind for c in (begins, weave, capsize)] == ["oscillation begins", "weave", "capsize"]


def test_critical_values_on_a_point_of_the_sweep():
    """ẍ = −4 x + k ẋ: the pair passes the axis at k = 0, met once, whichever way the sweep goes."""
    x, v, k = sp.symbols("x v k")
    swing = dr.first_order("swing", {x: v, v: -4 * x + k * v}, parameters={k: 0.5})
    for values in ([-1.0, 0.0, 0.5, 1.0], [1.0, 0.5, 0.0, -1.0], [-1.0, -0.3, 1.0]):
        (found,) = dr.modes(swing, k=np.array(values)).critical()
        assert abs(found.value) < 1e-12 and found.eigenvalue.imag == pytest.approx(2.0, abs=1e-12)


def test_critical_speeds_of_the_earlier_benchmark():
    given = SCHWAB["parameters"]
    values = {
        "steer_axis_tilt": math.pi / 2 - math.atan(3.0),
        "ixx_rear_wheel": given["IRxx"],
        "ixx_fork": given["IHxx"],
        "izz_fork": given["IHzz"],
        "ixz_fork": -given["IHxz"],
        "ixx_front_wheel": given["IFxx"],
    }
    found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 41), states=("lean", "steer"), parameters=values).critical()
    published = SCHWAB["critical_speeds"]
    names = ("v_double_root", "v_weave", "v_capsize")
    for critical, name in zip(found, names, strict=True):
        assert critical.value == pytest.approx(float(published[name]), abs=1e-9)  # its matrices are printed to 13 digits


def test_modes_are_followed_through_the_sweep(swept):
    """Every column changes little from point to point, and the columns are named by what they are at 10 m/s."""
    assert swept.names == ("castering", "weave", "weave*", "capsize")
    castering, weave, capsize = (swept.eigenvalues[:, swept.names.index(n)] for n in ("castering", "weave", "capsize"))
    assert np.all(np.diff(castering.real) < 0)
    assert np.abs(np.diff(capsize.real)).max() < 0.3
    assert np.abs(np.diff(weave)).max() < 0.8
    stable = swept.values[swept.stable]
    assert stable.min() > 4.29
    assert stable.max() < 6.03


def test_gradient_of_the_capsize_speed(swept):
    """det(g K₀ + v² K₂) = 0 at capsize; its gradient by differences of the canonical matrices, for three parameters."""
    bike = dr.gallery.bicycle()
    critical = swept.critical()[2]
    assert critical.kind == "capsize"
    defaults = {p.name: p.default for p in bike.freeze().parameters}

    def speed(name, value):
        c = dr.bicycle.whipple_matrices(bike, parameters={name: value})
        # det(g K₀ + v² K₂) is linear in v², since the first column of K₂ vanishes
        at = [np.linalg.det(c.gravity * c.K0 + s * c.K2) for s in (0.0, 1.0)]
        return math.sqrt(at[0] / (at[0] - at[1]))

    gradient = critical.gradient()
    for name in ("trail", "wheelbase", "iyy_front_wheel"):
        h = 1e-4 * defaults[name]
        slope = (speed(name, defaults[name] + h) - speed(name, defaults[name] - h)) / (2 * h)
        assert gradient[name] == pytest.approx(slope, rel=1e-6)


def test_gradients_obey_the_laws_of_dimension(swept):
    """Speeds go with √(g l): g ∂v/∂g = v/2, all masses and moments together leave v alone, and so do all lengths but for √l."""
    bike = dr.gallery.bicycle().freeze()
    for critical in swept.critical():
        gradient = critical.gradient()
        weighted = {p.name: (p.default * gradient[p.name], p.unit.replace(" ", "")) for p in bike.parameters}
        assert weighted["gravity"][0] == pytest.approx(critical.value / 2, rel=1e-10)
        masses = sum(value for value, unit in weighted.values() if unit.startswith("kg"))
        lengths = sum(
            value * (2 if "m^2" in unit or "m**2" in unit else 1) for n, (value, unit) in weighted.items() if _long(n, unit)
        )
        assert abs(masses) < 1e-9
        assert lengths == pytest.approx(critical.value / 2, rel=1e-9)


def _long(name, unit):
    return name != "gravity" and (unit == "m" or unit.startswith("kg*m"))


def test_gradients_of_one_surface(swept):
    """Swept over trail at the capsize speed, the same bicycle is critical, and the surface of critical bicycles has one normal:
    dt/dp = −(∂v/∂p)/(∂v/∂t)."""
    capsize = swept.critical()[2]
    over_trail = dr.modes(dr.gallery.bicycle(), trail=[0.07, 0.09], fixed={"speed": capsize.value}, states=("lean", "steer"))
    (here,) = over_trail.critical()
    assert here.value == pytest.approx(0.08, abs=1e-12)
    by_speed, by_trail = capsize.gradient(), here.gradient()
    assert by_trail["trail"] == 0.0
    for name in ("gravity", "wheelbase", "z_frame", "m_fork", "iyy_rear_wheel"):
        assert by_trail[name] == pytest.approx(-by_speed[name] / by_speed["trail"], rel=1e-9)


@pytest.mark.parametrize("place", [0, 1])
def test_gradient_against_differences(swept, place):
    """The double root and the weave, each solved anew with trail a little smaller and larger; fourth order in the step."""
    critical = swept.critical()[place]
    near = np.linspace(critical.value - 0.05, critical.value + 0.05, 3)

    def value(trail):
        found = dr.modes(dr.gallery.bicycle(), speed=near, states=("lean", "steer"), parameters={"trail": trail}).critical()
        return next(c.value for c in found if c.kind == critical.kind)

    h = 2e-4
    coarse, fine = ((value(0.08 + s) - value(0.08 - s)) / (2 * s) for s in (h, h / 2))
    assert critical.gradient()["trail"] == pytest.approx((4 * fine - coarse) / 3, rel=1e-8)


def test_slope_of_the_matrix_against_complex_steps(swept):
    """dA/dspeed and dA/dtrail, the motion following, against the imaginary part of the same program at a complex place."""
    from draisine.program.interpreter import interpret
    from draisine.stability.steady_family import Family

    family = Family(dr.gallery.bicycle(), {"speed": 5.0, "trail": 0.08}, states=("lean", "steer"))
    a, over, _ = family.derivatives(np.array([4.6, 0.07]))
    program = family.closed_form._matrix.program
    for k, slope in enumerate(over):
        at = np.array([4.6, 0.07], dtype=complex)
        at[k] += 1e-30j
        complex_a = np.reshape(interpret(program, at)[0], a.shape, order="F")
        np.testing.assert_allclose(complex_a.imag / 1e-30, slope, rtol=0, atol=1e-10 * np.abs(slope).max())


def test_the_short_program_is_the_long_one():
    """Straight running as one short program, and point by point by Newton's method on the whole system; turns have none."""
    from draisine.stability.steady_family import Family

    bike = dr.gallery.bicycle()
    family = Family(bike, {"speed": 5.0, "r_front_wheel": 0.35}, states=("lean", "steer"))
    points = np.random.default_rng(1).uniform([0.0, 0.25], [10.0, 0.4], (20, 2))
    short, found = family.closed_form.matrices(points)
    assert found.all()
    np.testing.assert_allclose(short, family._corrected(points).A, rtol=0, atol=1e-11)
    turn = Family(bike, {"lean": 0.2}, fixed={"speed": 5.0}, free=("steer_torque", "pedal_torque"), states=("lean", "steer"))
    assert turn.closed_form is None
    for lean in (0.1, 0.35):
        steady = dr.steady(bike, {"speed": 5.0, "lean": lean}, free=("steer_torque", "pedal_torque"))
        whole = dr.linearize(steady, states=("lean", "steer"))
        places = [whole.states.index(n) for n in turn.states]
        np.testing.assert_allclose(turn.matrices([[lean]]).A[0], whole.A[np.ix_(places, places)], rtol=0, atol=1e-10)


def test_hunting_speed_of_a_wheelset():
    """Multipliers solved for at run time, forces that depend on them: the critical speed the gallery finds by halving intervals,
    and its exact gradient against differences."""
    from draisine.gallery.entries.wheelset import SPRINGS, centerd, critical_speed, wheelset

    given = {"conicity": 0.05, "suspension": SPRINGS}
    swept = dr.modes(wheelset(), speed=[105.0, 113.0, 121.0], near=centerd(113.0, 0.05), parameters=given)
    (critical,) = swept.critical()
    assert critical.value == pytest.approx(critical_speed(wheelset(), 0.05), rel=1e-4)
    gradient = critical.gradient()
    stiffer = dr.modes(
        wheelset(), speed=[105.0, 113.0, 121.0], near=centerd(113.0, 0.05), parameters={**given, "suspension": SPRINGS * 1.001}
    )
    slope = (stiffer.critical()[0].value - critical.value) / (0.001 * SPRINGS)
    assert gradient["suspension"] == pytest.approx(slope, rel=2e-3)


def test_what_cannot_be_swept():
    bike = dr.gallery.bicycle()
    with pytest.raises(dr.errors.ArgumentError, match=r"no parameter, input, state or output of motion 'sped'.*speed"):
        dr.modes(bike, sped=[1.0, 2.0])
    with pytest.raises(dr.errors.ArgumentError, match="finite real numbers"):
        dr.modes(bike, speed=[1.0, math.nan])
    with pytest.raises(dr.errors.ArgumentError, match="'speed' to sweep must be finite real numbers"):
        dr.modes(bike, speed=[1.0, 2.0 + 1.0j])
    with pytest.raises(dr.errors.ArgumentError, match="sweeps one quantity"):
        dr.modes(bike)


@pytest.mark.parametrize("leans", [[0.6, 0.9, 1.2, math.pi / 2], np.linspace(0.3, 1.7, 8)])
def test_sweep_through_a_singular_configuration(leans):
    """A disk that leans by a right angle lies flat: at that value, and on the way past it."""
    near = {"lean": 0.9, "heading_rate": -2.0, "spin": 4.0}
    with pytest.warns(UserWarning, match=r"rolling_disk: .*wheel 'disk' lies flat and has no contact point"):
        swept = dr.modes(dr.gallery.rolling_disk(), lean=leans, fixed={"heading_rate": -2.0}, near=near)
    assert np.isfinite(swept.eigenvalues[:3]).all()
    # between neighbors no mode crosses the real axis: a column is one mode
    swings = swept.eigenvalues[:3, swept.names.index("heading_rate oscillation")]
    assert np.all(swings.imag > 0) or np.all(swings.imag < 0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_sweeps(count: int) -> None:
    speeds = np.linspace(5.0, 6.0, count)
    found = dr.modes(dr.gallery.bicycle(), speed=speeds, states=("lean", "steer"))
    first = dr.linearize(dr.gallery.bicycle(), at={"speed": 5.0}, states=("lean", "steer")).essential().eigenvalues
    assert np.sort(found.eigenvalues[0].real) == pytest.approx(np.sort(first.real), rel=1e-9)


@pytest.mark.parametrize("at", [sp.Rational(9, 20), sp.Rational(455, 1000), sp.Rational(1, 2)])
@pytest.mark.parametrize("points", [2, 3, 11, 200, 201])
def test_columns_follow_shapes_through_a_crossing(at: sp.Rational, points: int) -> None:
    """Two real modes with constant shapes cross zero in opposite directions: straight lines, and two critical values."""
    p, *x = sp.symbols("p x y z")
    turn = sp.Matrix([[1, 2, 0], [0, 1, 1], [1, 0, -1]])
    rates = turn * sp.diag(p - at, at - p, -1) * turn.inv() * sp.Matrix(x)
    found = dr.modes(dr.first_order("two", dict(zip(x, rates, strict=True)), parameters={p: 0.4}), p=np.linspace(0, 1, points))
    lines = {tuple(np.round(column, 9)) for column in found.eigenvalues.real.T}
    assert lines == {
        tuple(np.round(line, 9)) for line in (found.values - float(at), float(at) - found.values, -1 + 0 * found.values)
    }
    assert sorted(c.change for c in found.critical()) == [-1, 1]
    np.testing.assert_allclose([c.value for c in found.critical()], float(at), rtol=0, atol=1e-12)
    assert all(c.uncertainty == 0.0 for c in found.critical())


def test_the_summary_says_between_which_values_which_modes_grow():
    bicycle = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 50), states=("lean", "steer")).summary()
    assert bicycle.splitlines()[-3:] == [
        "  0 to 4.29238 m/s: unstable, weave grows",
        "  4.29238 to 6.02426 m/s: stable, all modes decay",
        "  6.02426 to 10 m/s: unstable, capsize grows",
    ]
    x, v, k, c = sp.symbols("x v k c")
    oscillator = dr.first_order("oscillator", {x: v, v: -k * x - c * v}, parameters={k: 1.0, c: 0.0})
    undamped = dr.modes(oscillator, k=np.linspace(1, 4, 4)).summary()
    assert undamped.splitlines()[1:] == ["  1 to 4: no mode grows, some neither grow nor decay"]
    repelled = dr.modes(oscillator, c=[-1.0, -0.5, 0.5, 1.0]).summary()
    assert repelled.splitlines()[-2:] == ["  -1 to 0: unstable, x oscillation grows", "  0 to 1: stable, all modes decay"]


@pytest.mark.parametrize("seed", range(4))
def test_a_sweep_through_a_motion_where_the_heading_does_not_matter(seed: int) -> None:
    """A bicycle leans against a push from the side, of a fixed direction; without it the heading may turn. Beside each motion by
    itself."""
    random = np.random.default_rng(seed)
    fixed = {"speed": random.uniform(4.5, 5.8), "heading": 0.0}
    most, free = random.uniform(20.0, 60.0), ("steer_torque", "pedal_torque")
    bike = dr.gallery.bicycle()
    swept = dr.modes(bike, over={"push": np.linspace(-most, most, 5)}, fixed=fixed, free=free, states=("lean", "steer"))
    for push, row in zip(swept.values, swept.eigenvalues, strict=True):
        alone = dr.steady(bike, {**fixed, "push": float(push) or 1e-9}, free=free).linearize(("lean", "steer")).essential()
        np.testing.assert_allclose(np.sort_complex(row), np.sort_complex(alone.eigenvalues), rtol=0, atol=1e-8)
    assert not swept.critical()
