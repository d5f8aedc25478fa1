"""Motorcycles of the gallery over a bump, on ice and through a corner in the least time."""

from __future__ import annotations

import numpy as np
import pytest

from draisine import gallery
from draisine.gallery.entries import motorcycle_kick_back, motorcycle_low_side, motorcycle_optimal_corner
from draisine.model.files import from_toml, to_toml


@pytest.mark.parametrize("name", ["motorcycle_over_bump", "motorcycle_on_ice", "cornering_motorcycle"])
def test_models_are_files(name: str) -> None:
    model = gallery.model(name)
    assert from_toml(to_toml(model)).freeze() == model.freeze()


def test_the_pencil_finds_exponents() -> None:
    """Of random sums of decaying oscillations, to rounding."""
    rng = np.random.default_rng(1990)
    times = np.linspace(0.0, 2.0, 201)
    for _ in range(5):
        roots = -rng.uniform(0.5, 4.0, 2) + 1j * rng.uniform(5.0, 50.0, 2)
        values = sum((rng.normal() * np.exp(z * times + 1j * rng.uniform(0, 6))).real for z in roots)
        found = motorcycle_kick_back.decaying_modes(times, values, 4)
        for root in roots:
            assert np.abs(found - root).min() < 1e-8 * abs(root)


def test_kick_back() -> None:
    """The study asserts that the wobble in the run is that of the eigenvalue, to 1e-3."""
    study = motorcycle_kick_back.kick_back()
    assert study.findings[-1] == "wobble from the run: -2.921+41.788j 1/s; eigenvalue of the turn: -2.922+41.787j 1/s"


def test_low_side() -> None:
    """The study asserts that the mass center goes straight on within the impulse of what friction is left."""
    study = motorcycle_low_side.low_side()
    assert "lies after 0.82 s" in study.findings[0] and "lies after 0.58 s" in study.findings[1]
    assert study.runs["brake"]["front_spin"][0] > 60.0 > 1.0 > study.runs["brake"]["front_spin"].min()


@pytest.mark.long
def test_the_quickest_corner() -> None:
    """On a coarse mesh, which the simulated motion leaves by a few thousandths; the study itself refines it."""
    found = motorcycle_optimal_corner.quickest(intervals=30, seconds=0.0)
    assert motorcycle_optimal_corner.least_time(found, 5e-3) == pytest.approx(2.0387, abs=1e-4)
    assert found.duration == pytest.approx(2.673, abs=0.03)
