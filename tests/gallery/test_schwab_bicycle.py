"""The bicycle of chapter 6 of Thomsen's notes: every published figure, and the study."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine import gallery

SCHWAB = json.loads((Path(__file__).parents[1] / "reference" / "schwab2005.json").read_text())


def test_its_parameters_are_the_published_ones() -> None:
    ours = dr.bicycle.MeasuredBicycle.of(
        "Schwab", {p.name: p.default for p in gallery.schwab_bicycle().freeze().parameters}
    ).text.values
    published = {**SCHWAB["parameters"], "lam": math.pi / 2 - math.atan(3.0)}
    del published["head_angle"]
    assert ours == pytest.approx(published, rel=1e-15)


def test_matrices() -> None:
    found = dr.bicycle.whipple_matrices(gallery.schwab_bicycle()).z_down()
    ours = {"M": found.M, "C1": found.C1, "K0_INCLUDING_g": found.gravity * found.K0, "K2": found.K2}
    for name, matrix in SCHWAB["matrices"].items():
        np.testing.assert_allclose(ours[name], np.array(matrix, dtype=float), rtol=0, atol=1e-11)


def test_critical_speeds() -> None:
    published = {k: float(v) for k, v in SCHWAB["critical_speeds"].items() if k != "note"}
    begins, weave, capsize = dr.modes(gallery.schwab_bicycle(), speed=np.linspace(0, 10, 41), states=("lean", "steer")).critical()
    assert begins.value == pytest.approx(published["v_double_root"], abs=1e-11)
    assert begins.eigenvalue.real == pytest.approx(published["lambda_double_root"], abs=1e-11)
    assert weave.value == pytest.approx(published["v_weave"], abs=1e-11)
    assert abs(weave.eigenvalue.imag) == pytest.approx(published["weave_frequency"], abs=1e-11)
    assert capsize.value == pytest.approx(published["v_capsize"], abs=1e-11)


def test_the_study_holds() -> None:
    study = gallery.schwab_bicycle_responds()
    assert set(study.figures) == {"eigenvalues", "root_locus", "response_to_lean", "response_to_steer"}
    assert study.runs["lean_large"].time[-1] == pytest.approx(6.31, abs=0.05)


@pytest.mark.parametrize("model", ["bicycle", "schwab_bicycle"])
def test_static_contact_forces_follow_the_lever_rule(model: str) -> None:
    """Standing upright: moments about the rear contact give the front normal force, the rest of the weight is the rear's."""
    p = {q.name: q.default for q in gallery.model(model).freeze().parameters}
    parts = {"frame": p["x_frame"], "fork": p["x_fork"], "rear_wheel": 0.0, "front_wheel": p["wheelbase"]}
    weight = p["gravity"] * sum(p[f"m_{part}"] for part in parts)
    front = p["gravity"] * sum(p[f"m_{part}"] * x for part, x in parts.items()) / p["wheelbase"]
    still = dr.steady(gallery.model(model), {"speed": 0.0, "lean": 0.0, "steer": 0.0})
    assert still["front_wheel_normal_force"] == pytest.approx(front, abs=1e-9)
    assert still["rear_wheel_normal_force"] == pytest.approx(weight - front, abs=1e-9)
