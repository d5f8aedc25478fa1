"""Modes and critical values against the published table."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

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


def test_gradient_of_the_capsize_speed():
    """det(g K₀ + v² K₂) = 0 at capsize; its gradient by differences of the canonical matrices, for three parameters."""
    bike = dr.gallery.bicycle()
    critical = dr.modes(bike, speed=np.linspace(5.0, 7.0, 5), states=("lean", "steer")).critical()[0]
    assert critical.kind == "capsize"
    defaults = {p.name: p.default for p in bike.freeze().parameters}

    def speed(name, value):
        c = dr.canonical(bike, parameters={name: value})
        # det(g K₀ + v² K₂) is linear in v², since the first column of K₂ vanishes
        at = [np.linalg.det(c.gravity * c.K0 + s * c.K2) for s in (0.0, 1.0)]
        return math.sqrt(at[0] / (at[0] - at[1]))

    from draisine.stability.critical import _slope

    for name in ("trail", "wheelbase", "iyy_front_wheel"):
        h = 1e-4 * defaults[name]
        slope = (speed(name, defaults[name] + h) - speed(name, defaults[name] - h)) / (2 * h)
        assert _slope(critical, name) == pytest.approx(slope, rel=1e-6)


def test_what_cannot_be_swept():
    bike = dr.gallery.bicycle()
    with pytest.raises(dr.ModelError, match=r"no parameter, input, state or output of motion 'sped'.*speed"):
        dr.modes(bike, sped=[1.0, 2.0])
    with pytest.raises(dr.ModelError, match="finite numbers"):
        dr.modes(bike, speed=[1.0, math.nan])
    with pytest.raises(dr.ModelError, match="sweeps one quantity"):
        dr.modes(bike)
