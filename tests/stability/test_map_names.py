"""Maps of machines with more modes than a rigid bicycle, and of modes of very different speeds: which modes grow, how many."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr

STATES = ("lean", "steer")


@pytest.fixture(scope="module")
def flexible() -> dr.Equations:
    return dr.derive(dr.gallery.flexible_frame(), work=False)


@pytest.fixture(scope="module")
def sharp() -> dr.Equations:
    return dr.derive(dr.gallery.sharp_motorcycle(), work=False)


def compare(model: dr.Equations, over: dict[str, tuple[float, float, int]]) -> set[str]:
    """Every point against the modes of a sweep: their number and their names."""
    found = dr.stability.stability_map(model, over, states=STATES)
    first, second = found.over
    for j, value in enumerate(found.values[second]):
        swept = dr.modes(model, {first: found.values[first]}, states=STATES, parameters={second: float(value)})
        np.testing.assert_array_equal(found.unstable[:, j], (swept.eigenvalues.real > 0).sum(axis=1))
        np.testing.assert_array_equal(found.stable[:, j], swept.stable)
    return set(found.share)


def test_a_wobble_is_no_weave(flexible) -> None:
    """From 1.905 to 12.595 m/s the wobble grows, below 4.434 m/s the weave, above 5.924 m/s the capsize."""
    kinds = compare(flexible, {"speed": (1.0, 14.5, 28), "head_damping": (4.0, 20.0, 3)})
    assert {"weave", "wobble", "weave and wobble", "capsize and wobble", "capsize"} <= kinds
    found = dr.stability.stability_map(flexible, {"speed": (1.0, 14.0, 27), "head_damping": (5.0, 6.0, 2)}, states=STATES)
    for speed, kind in (
        (1.5, "weave"),
        (3.0, "weave and wobble"),
        (5.0, "wobble"),
        (8.0, "capsize and wobble"),
        (14.0, "capsize"),
    ):
        assert found.at(speed=speed, head_damping=5.0) == kind


def test_the_modes_of_sharps_motorcycle(sharp) -> None:
    """Weave below 5.968 m/s, capsize above 11.106, and wobble above 58.445 m/s; slips along are far faster."""
    kinds = compare(sharp, {"speed": (2.0, 70.0, 18), "damper_damping": (6.77, 14.0, 2)})
    assert kinds <= {"weave", "stable", "capsize", "capsize and wobble"}
    found = dr.stability.stability_map(sharp, {"speed": (2.0, 70.0, 35), "damper_damping": (6.77, 6.771, 2)}, states=STATES)
    for speed, kind in ((4.0, "weave"), (8.0, "stable"), (30.0, "capsize"), (66.0, "capsize and wobble")):
        assert found.at(speed=speed, damper_damping=6.77) == kind
    names = {name: np.sort(points[:, 0]) for name, points in found.boundaries.items()}
    assert names["an oscillation grows"][[0, -1]] == pytest.approx([5.968, 58.445], abs=0.7)
    assert names["a mode grows"] == pytest.approx([11.106] * 2, abs=0.3)
    assert found.constant == 1
    pytest.importorskip("matplotlib")
    (axes,) = found.plot().axes
    assert {text.get_text() for text in axes.texts} >= {"weave", "stable", "capsize", "capsize and wobble"}


@pytest.mark.parametrize("seed", range(6))
def test_slow_modes_beside_fast_ones(seed: int) -> None:
    """Rates up to 1e6 1/s beside slow modes with s − a and p − b, and modes that are always neutral, in mixed coordinates: the
    coefficients of the characteristic polynomial have no digits."""
    rng = np.random.default_rng(seed)
    fast, zeros = -(10.0 ** rng.uniform(3, 6, int(rng.integers(2, 5)))), int(rng.integers(0, 2))
    (a, b), w = rng.uniform(0.2, 0.8, 2).round(3), float(rng.uniform(1, 4))
    s, p = sp.symbols("s p")
    n = 3 + len(fast) + zeros
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    own = sp.zeros(n, n)
    own[0, 0], own[1, 1], own[2, 2] = s - a, p - b, p - b
    own[1, 2], own[2, 1] = w, -w
    for k, rate in enumerate(fast):
        own[3 + k, 3 + k] = float(rate)
    matrix = sp.Matrix(turn.tolist()) * own * sp.Matrix(turn.T.tolist())
    states = sp.symbols(f"z0:{n}")
    rates = dict(zip(states, matrix * sp.Matrix(states), strict=True))
    model = dr.first_order("mixed", rates, parameters={s: 0.5, p: 0.5})
    found = dr.stability.stability_map(model, {"s": (0.0, 1.0, 12), "p": (0.0, 1.0, 13)}, states=[str(z) for z in states])
    x, y = np.meshgrid(found.values["s"], found.values["p"], indexing="ij")
    np.testing.assert_array_equal(found.unstable, (x > a) * 1 + (y > b) * 2)
    assert found.constant == zeros
    assert {name: points.mean(axis=0)[i] for i, (name, points) in enumerate(found.boundaries.items())} == {
        "a mode grows": pytest.approx(a, abs=1e-2),
        "an oscillation grows": pytest.approx(b, abs=1e-2),
    }
