"""Functions run on memory of ours say what CasADi says of matrices of its own."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.program.casadi_functions import evaluate


@pytest.fixture(scope="module")
def function() -> ca.Function:
    x, m, none = ca.SX.sym("x", 3), ca.SX.sym("m", 2, 3), ca.SX.sym("none", 0)
    return ca.Function("f", [x, m, none], [m @ x, ca.densify(ca.sin(m) * x[0]), ca.SX(0, 1), ca.log(x[1] - x[2])])


def test_every_bit_and_every_shape(function):
    x, m = np.linspace(0.1, 0.7, 6)[::2], np.arange(6.0).reshape(2, 3)  # neither lies as CasADi's columns do
    x.flags.writeable = False
    found = evaluate(function, [x, m, []])
    theirs = [r.full() for r in function.call([ca.DM(x), ca.DM(m), ca.DM(0, 1)])]
    assert [r.shape for r in found] == [r.shape for r in theirs] == [(2, 1), (2, 3), (0, 1), (1, 1)]
    assert np.isnan(theirs[3]).all()
    for one, other in zip(found, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_results_are_nobody_elses(function):
    first, second = (evaluate(function, [[k, 2, 1], np.ones((2, 3)), []])[0] for k in (1.0, 5.0))
    assert first[:, 0].tolist() == [4.0, 4.0] and second[:, 0].tolist() == [8.0, 8.0]


@pytest.mark.parametrize("short", [[1.0, 2.0], []])
def test_too_few_numbers_are_refused(function, short):
    with pytest.raises(RuntimeError, match="not large enough"):
        evaluate(function, [short, np.ones((2, 3)), []])
