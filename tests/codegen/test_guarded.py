"""Kernels that compute some results under conditions: random programs and conditions against kernels of all results."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile, compile_guarded
from draisine.codegen.passes import Guards
from draisine.codegen.passes.guarded import guarded_parts
from draisine.program.program import Program
from draisine.program.ssa import live_values

Reals = NDArray[np.float64]
RESULTS, CONDITIONS, UNTOUCHED = 12, 3, 7.25


def by_address(kernel: Kernel, arguments: list[Reals], result: Reals) -> None:
    """One call as compiled code makes it."""
    given = (ctypes.c_void_p * len(arguments))(*[a.ctypes.data for a in arguments])
    results = (ctypes.c_void_p * 1)(result.ctypes.data)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)(given, results)


def random_program(rng: np.random.Generator) -> Program:
    """Sums and products of earlier values, some of them sines and cosines of one angle."""
    x, p = ca.SX.sym("x", 4), ca.SX.sym("p", CONDITIONS)
    values = [x[i] for i in range(4)]
    for _ in range(300):
        a, b = (values[int(i)] for i in rng.integers(0, len(values), 2))
        kind = int(rng.integers(0, 4))
        values.append(ca.sin(a) if kind == 0 else ca.cos(a) if kind == 1 else a * b if kind == 2 else 0.5 * (a + b))
    chosen = [values[int(i)] for i in rng.integers(4, len(values), RESULTS - 2)]
    return Program.build("random", {"x": x, "p": p}, {"y": ca.vertcat(*chosen, 3.0, x[1])})


@pytest.mark.parametrize("seed", range(6))
def test_results_are_those_of_all_where_they_are_wanted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    condition = [int(k) for k in rng.integers(-1, CONDITIONS, RESULTS)]  # −1: always
    guards = Guards(tuple(((0, i), (1, k)) for i, k in enumerate(condition) if k >= 0))
    guarded, plain = compile_guarded(program, guards), compile(program)
    for bits in range(2**CONDITIONS):
        satisfied = np.array([float(bits >> k & 1) for k in range(CONDITIONS)])
        x, all_of_them, found = rng.normal(size=4), np.zeros(RESULTS), np.full(RESULTS, UNTOUCHED)
        by_address(plain, [x, satisfied], all_of_them)
        by_address(guarded, [x, satisfied], found)
        wanted = np.array([k < 0 or satisfied[k] != 0.0 for k in condition])
        assert found[wanted] == pytest.approx(all_of_them[wanted], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_optimized_code_gives_the_same_bits(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs change from quick to optimized code, whose branches have passed LLVM's passes."""
    rng = np.random.default_rng(100 + seed)
    program = random_program(rng)
    condition = [int(k) for k in rng.integers(-1, CONDITIONS, RESULTS)]
    guards = Guards(tuple(((0, i), (1, k)) for i, k in enumerate(condition) if k >= 0))
    kernels = [compile_guarded(program, guards, quick=True)]
    for level in ("0", "2"):
        monkeypatch.setenv("DRAISINE_KERNEL_LEVEL", level)
        kernels.append(compile_guarded(program, guards))
    for _ in range(200):
        x, satisfied = rng.normal(size=4), rng.integers(0, 2, CONDITIONS).astype(float)
        found = np.full((len(kernels), RESULTS), UNTOUCHED)
        for kernel, row in zip(kernels, found, strict=True):
            by_address(kernel, [x, satisfied], row)
        assert found[1].tobytes() == found[0].tobytes() == found[2].tobytes()


def test_what_no_condition_wants_is_not_computed() -> None:
    x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    shared = ca.exp(ca.sin(x))
    program = Program.build("two", {"x": x, "p": p}, {"y": ca.vertcat(ca.log(shared + 2), ca.tan(shared), x)})
    guards = Guards((((0, 0), (1, 0)), ((0, 1), (1, 1))))
    parts = guarded_parts(program, guards)
    assert [(group.conditions, len(live_values(group.ssa))) for group in parts.groups] == [
        ((), 2),  # the sine and the exponential, which both need
        (((1, 0),), 2),
        (((1, 1),), 1),
    ]
    found = np.full(3, UNTOUCHED)
    by_address(compile_guarded(program, guards), [np.array([0.3]), np.array([0.0, 1.0])], found)
    assert found.tolist() == pytest.approx([UNTOUCHED, np.tan(np.exp(np.sin(0.3))), 0.3], rel=1e-14)
