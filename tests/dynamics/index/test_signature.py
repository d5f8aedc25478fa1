"""The Σ-method, against published offsets."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.dynamics.dae.signature_method import ABSENT, coupled, offsets
from draisine.errors import ModelError

_ = ABSENT


def found(rows, least=None):
    matrix = np.array(rows, dtype=float)
    names = [f"f{i}" for i in range(len(rows))], [f"x{j}" for j in range(len(rows))]
    return offsets(matrix, *names, "test", least)


def test_pendulum_of_pryce():
    """Pryce 2001, example 2.1: offsets c = (0, 0, 2), d = (2, 2, 0), index 3, two degrees of freedom."""
    o = found([[2, _, 0], [_, 2, 0], [0, 0, _]])
    assert (o.equations, o.unknowns, o.index, o.freedoms) == ((0, 0, 2), (2, 2, 0), 3, 2)


def test_two_pendula_of_pryce():
    """Two pendula, the force in the first rod the length of the second (Nedialkov & Pryce 2005): index 5.

    The second length, differentiated twice, holds λ̈; so the first pendulum is differentiated twice more than when alone.
    """
    rows = [
        [2, _, 0, _, _, _],
        [_, 2, 0, _, _, _],
        [0, 0, _, _, _, _],
        [_, _, _, 2, _, 0],
        [_, _, _, _, 2, 0],
        [_, _, 0, 0, 0, _],
    ]
    o = found(rows)
    assert (o.equations, o.unknowns) == ((2, 2, 4, 0, 0, 2), (4, 4, 2, 2, 2, 0))
    assert (o.index, o.freedoms) == (5, 4)


def test_entries_below_zero_are_differentiations_through_states():
    """The pendulum with its states put in: the force enters the length after two differentiations."""
    o = found([[-2]])
    assert (o.equations, o.unknowns, o.index) == ((2,), (0,), 3)


def test_more_differentiations_can_be_asked_for():
    o = found([[2, _, 0], [_, 2, 0], [0, 0, _]], least=[0, 0, 3])
    assert (o.equations, o.unknowns) == ((1, 1, 3), (3, 3, 1))


def test_who_takes_part_in_finding_whom():
    """ẋ = z, 0 = x − s(t), 0 = w − z: x alone by the second, z by the first two, w by all three."""
    rows = np.array([[1, 0, _], [0, _, _], [_, 0, 0]], dtype=float)
    o = offsets(rows, ["rate", "path", "copy"], ["x", "z", "w"], "test")
    assert o.equations == (0, 1, 0) and o.unknowns == (1, 0, 0)
    assert coupled(rows, o).tolist() == [[False, True, False], [True, True, False], [True, True, True]]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_chain_of_differentiators(count):
    """x₁ = s, x₂ = ẋ₁, … : index = length of the chain."""
    rows = np.full((count, count), ABSENT)
    rows[0, 0] = 0
    for i in range(1, count):
        rows[i, i - 1], rows[i, i] = 1, 0
    o = found(rows)
    assert o.index == count and o.equations == tuple(range(count - 1, -1, -1)) and o.freedoms == 0


def test_too_few_unknowns_are_named():
    with pytest.raises(
        ModelError, match="'f0', 'f1' contain only 'x0', too few for them; and 'x1', 'x2' are to be found from only"
    ):
        found([[0, _, _], [1, _, _], [0, 0, 0]])
    with pytest.raises(ModelError, match="'f1' contain nothing"):
        found([[0, 0], [_, _]])
