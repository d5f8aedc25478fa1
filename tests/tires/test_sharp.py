"""Sharp's motorcycle (1971) with linear tires, camber thrust and relaxation, against his equations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tires.sharp import REFERENCE, SET_A, motorcycle, published

import draisine as dr


@pytest.fixture(scope="module")
def equations() -> dr.Equations:
    return dr.derive(motorcycle(), work=False)


def test_the_equations_typed_here_give_the_reference_eigenvalues() -> None:
    for speed, listed in REFERENCE["sharp1971"]["front_load_from_statics"]["eigenvalues"].items():
        found = published(SET_A, float(speed))
        for eigenvalue in (complex(*pair) for pair in listed):
            assert np.abs(found - eigenvalue).min() < 1e-9 * max(1.0, abs(eigenvalue))


@pytest.mark.parametrize("speed", [2.0, 3.7, 6.0, 11.0, 19.0, 31.0, 45.0, 60.0])
def test_eigenvalues_of_the_machine_are_those_of_the_published_equations(equations: dr.Equations, speed: float) -> None:
    straight = dr.steady(equations, {"speed": speed, "lean": 0.0, "steer": 0.0})
    found = np.linalg.eigvals(straight.linearize().A)
    for eigenvalue in published(SET_A, speed):
        assert np.abs(found - eigenvalue).min() < 1e-9 * max(1.0, abs(eigenvalue)), eigenvalue
