"""The car on tires by the Magic Formula: loads by statics, and the study at reduced size."""

from __future__ import annotations

import pytest

import draisine as dr
from draisine.gallery.entries import handling


def test_the_car_understeers_as_by_the_linear_theory_and_reaches_its_limit() -> None:
    study = handling.handling_diagram(count=30)
    assert study.findings[0].startswith("understeer gradient 0.49")


def test_steady_turns_near_another_take_the_parameters_that_are_given() -> None:
    equations = dr.derive(handling.car_on_tires(), work=False)
    first = dr.steady(
        equations, {"speed": 25.0}, free=("drive",), near={"speed": 25.0, "hull_z": -0.016}, parameters={"steer": 0.01}
    )
    second = dr.steady(equations, {"speed": 25.0}, free=("drive",), near=first, parameters={"steer": 0.02})
    alone = dr.steady(
        equations, {"speed": 25.0}, free=("drive",), near={"speed": 25.0, "hull_z": -0.016}, parameters={"steer": 0.02}
    )
    assert second["yaw_rate"] == pytest.approx(alone["yaw_rate"], rel=1e-9)
    assert second["yaw_rate"] > 1.5 * first["yaw_rate"]
    whole = sum(first[f"{name}_tire_normal_force"] for name in handling.WHEELS)
    assert whole == pytest.approx(handling.MASS * 9.81, rel=1e-4)
