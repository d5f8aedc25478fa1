"""SymPy matrices as kernels."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

from draisine.codegen.compile import compile_symbolic
from draisine.errors import ExpressionError

a, b, c = sp.symbols("a b c")
MATRIX = sp.Matrix([[a * b / c, sp.sin(a) ** 2, 0], [sp.sqrt(b), sp.exp(-c), sp.pi]])


def expected(x: float, y: float, z: float) -> np.ndarray:
    return np.array([[x * y / z, np.sin(x) ** 2, 0.0], [np.sqrt(y), np.exp(-z), np.pi]])


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([a, b, c], (0.3, 0.4, 0.5)),
        ([a, (b, c)], (0.3, [0.4, 0.5])),
        ([sp.Matrix([a, b]), c], ([0.3, 0.4], 0.5)),
        ({"state": (a, b), "rate": c}, ([0.3, 0.4], 0.5)),
    ],
    ids=["alone", "group", "matrix", "named"],
)
def test_arguments_may_be_grouped(arguments, values):
    (value,) = compile_symbolic(MATRIX, arguments)(*values)
    assert_allclose(value, expected(0.3, 0.4, 0.5), rtol=1e-15)


def test_scalars_functions_of_time_and_odd_names():
    t = sp.Symbol("t")
    q = sp.Function("q")(t)
    kernel = compile_symbolic(q.diff(t) ** 2 + sp.Symbol(r"\lambda_1") * q, [q, q.diff(t), sp.Symbol(r"\lambda_1")])
    assert float(kernel(2.0, 3.0, 5.0)[0][0]) == 19.0
    assert r"\lambda_1" in kernel.__doc__


def test_matrix_symbols():
    v = sp.MatrixSymbol("v", 3, 1)
    (value,) = compile_symbolic(v.T * v, [v])([1.0, 2.0, 3.0])
    assert float(np.squeeze(value)) == 14.0


def test_map_over_samples():
    kernel = compile_symbolic(MATRIX, [a, b, c])
    samples = np.linspace(0.1, 1.0, 5)
    (values,) = kernel.map(samples, 0.4, 0.5)
    assert values.shape == (5, 2, 3)
    assert_allclose(values[3], expected(samples[3], 0.4, 0.5), rtol=1e-15)


def test_complaints():
    with pytest.raises(ExpressionError, match="symbol c is not among the arguments"):
        compile_symbolic(MATRIX, [a, b])
    with pytest.raises(ValueError, match="symbol a occurs twice"):
        compile_symbolic(MATRIX, [a, (a, b), c])
    with pytest.raises(TypeError, match=r"must be a symbol.*got 3"):
        compile_symbolic(MATRIX, [a, b, c, 3])
