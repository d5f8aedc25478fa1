"""The shuttle's errors against the step: methods have the orders of the theory at each index.

E. Hairer, C. Lubich and M. Roche, The Numerical Solution of Differential-Algebraic Systems by Runge–Kutta Methods (1989):
Radau IIA with s stages has order 2s − 1 for differential and s for algebraic unknowns at index 2, and 2s − 1 for both at index 1.
Gauss with s stages, s even, has order 2s and s at index 1, since its last update does not contract (R(∞) = 1).
"""

from __future__ import annotations

import pytest

import draisine as dr
from draisine.gallery.entries.shuttle import METHODS, errors_against_step, orders, shuttle, shuttle_along_exponentials

STATES, CONTROLS = ("altitude", "speed"), ("attack", "bank")


@pytest.fixture(scope="module")
def exponentials() -> dict[str, dict[float, dict[str, float]]]:
    return errors_against_step(shuttle_along_exponentials())


@pytest.mark.parametrize(
    ("treatment", "states", "controls"),
    [
        ("RK4, reduced", 4, 4),
        ("Radau, index 2", 5, 3),
        ("Radau, index 1", 5, 5),
        ("Gauss, index 1", 4, 2),
        ("ESDIRK23, index 2", 2, 2),
        ("ESDIRK23, index 1", 2, 2),
    ],
)
def test_order(exponentials, treatment: str, states: int, controls: int) -> None:
    measured = orders(exponentials[treatment])
    assert [measured[name] for name in STATES] == pytest.approx([states] * 2, abs=0.25)
    assert [measured[name] for name in CONTROLS] == pytest.approx([controls] * 2, abs=0.25)


def test_parabolas_hide_the_index() -> None:
    """Three stages differentiate a parabola exactly: the hidden constraint holds at the stages, as if it had been posed."""
    found = errors_against_step(shuttle())
    posed, reduced = (found[f"Radau, index {index}"] for index in (2, 1))
    assert list(orders(posed).values()) == pytest.approx([5] * 4, abs=0.2)
    for h in METHODS["Radau, index 2"].steps[:2]:
        assert list(posed[h].values()) == pytest.approx(list(reduced[h].values()), rel=1e-2)


def test_gauss_refuses_the_system_as_posed() -> None:
    with pytest.raises(ValueError, match="unknowns of index 2; Gauss takes index 1 at most"):
        dr.simulate(shuttle(), 10.0, method=dr.methods.Gauss(step=5.0))
