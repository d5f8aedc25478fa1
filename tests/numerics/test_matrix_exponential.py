"""Exponentials of stacks of matrices against mpmath and SciPy."""

import numpy as np
import pytest

from draisine.numerics.matrix_exponential import matrix_exponentials


@pytest.mark.parametrize("seed", range(8))
def test_random_stacks_agree_with_fifty_digits(seed):
    import mpmath

    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    stack = rng.normal(size=(3, n, n)) * 10.0 ** rng.uniform(-6, 1.2, (3, 1, 1))
    found = matrix_exponentials(stack)
    with mpmath.workdps(50):
        exact = np.array([np.array(mpmath.expm(mpmath.matrix(a.tolist())).tolist(), dtype=float) for a in stack])
    sizes = np.abs(exact).max(axis=(1, 2))
    norms = np.abs(stack).sum(axis=1).max(axis=1)
    # a relative change ε of a matrix changes its exponential by ε times its norm, at least
    assert (np.abs(found - exact).max(axis=(1, 2)) <= 1e-14 * sizes * np.maximum(norms, 1.0) * 10).all()


def test_stacks_of_any_shape_and_size():
    from scipy.linalg import expm

    rng = np.random.default_rng(1)
    stack = rng.normal(size=(2, 5, 4, 4))
    assert np.allclose(matrix_exponentials(stack), expm(stack), rtol=1e-12, atol=1e-13)
    assert matrix_exponentials(np.zeros((0, 3, 3))).shape == (0, 3, 3)
    assert np.abs(matrix_exponentials(np.zeros((2, 3, 3))) - np.eye(3)).max() < 2.3e-16
    assert matrix_exponentials(np.zeros((2, 0, 0))).shape == (2, 0, 0)


def test_decay_and_rotation_have_closed_forms():
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]])
    angles = np.array([1e-9, 0.5, 20.0, 300.0])
    found = matrix_exponentials(angles[:, None, None] * rotation)
    exact = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])
    assert np.abs(found - exact).max() < 1e-12
    assert matrix_exponentials(np.array([[[-700.0]]])) == pytest.approx(np.exp(-700.0), rel=1e-11)
