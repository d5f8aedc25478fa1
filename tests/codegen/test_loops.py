"""Functions of loops as machine code: what they may use means the same as in Python; what they may not use is named."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from numpy import conjugate

from draisine.codegen.jit.engine import load_object
from draisine.codegen.jit.loops import loops_code
from draisine.numerics.sparse_qr import Integers, Numbers

OFFSET = 2


def twice(n: int, a: Numbers) -> None:
    for i in range(n):
        a[i] *= 2.0


def everything(n: int, factor: float, index: Integers, a: Numbers, b: Numbers) -> None:
    """Each form of statement and expression once."""
    last = n - 1
    for i in range(n):
        if a[i] < 0.0:
            b[i] = -a[i] * factor
        else:
            b[i] = math.sqrt(a[i]) / factor
    for i in range(last, 0, -1):
        b[i], b[i - 1] = b[i - 1], b[i]
    for i in range(1, n):
        i = index[i]  # what the body does to its counter does not count
        b[i] += (conjugate(a[i]) * a[i]).real
    for i in range(n):
        index[i] = index[i] * 3 + OFFSET
    if last == 4:
        twice(n, b)
        if factor != 1.0:
            twice(n, b)
    if n >= 100:
        b[0] = abs(factor)


def strange(n: int, a: Numbers) -> None:
    while n:
        a[0] = 1.0


def unknown(n: int, a: Numbers) -> None:
    a[0] = math.sin(a[1])


@pytest.mark.parametrize("factor", [1.0, -3.0])
def test_machine_code_does_what_python_does(factor):
    rng = np.random.default_rng(3)
    code = load_object(loops_code(twice, everything, prefix="test_"), "test_everything")
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 3)(code.address)
    for n in (1, 2, 5, 100):
        index, a, b = rng.permutation(n).astype(np.int32), rng.normal(size=n), rng.normal(size=n)
        other = index.copy(), a.copy(), b.copy()
        everything(n, factor, index, a, b)
        run(n, factor, *(array.ctypes.data for array in other))
        for one, two in zip((index, a, b), other, strict=True):
            assert two == pytest.approx(one, rel=1e-15)


def test_what_is_not_understood_is_shown():
    with pytest.raises(SyntaxError, match="function 'strange': 'while n:"):
        loops_code(strange, prefix="")
    with pytest.raises(SyntaxError, match=r"'math.sin\(a\[1\]\)' is beyond"):
        loops_code(unknown, prefix="")
