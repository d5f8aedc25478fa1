"""Kernels as people use them: calls, batches, help, and the second process."""

from __future__ import annotations

import ctypes
import os
import pydoc
import subprocess
import sys
import threading
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import draisine.codegen.jit
from draisine.codegen.compile import begin_compiling
from draisine.codegen.jit import modules
from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.program import LazyProgram, Program


def mixed() -> Program:
    """A column, a scalar, a matrix and an empty argument; a column, a scalar and a matrix as results."""
    x, s, m, e = ca.SX.sym("x", 3), ca.SX.sym("s"), ca.SX.sym("m", 2, 3), ca.SX.sym("e", 0)
    return Program.build(
        "mixed",
        {"x": (x, ("lean", "steer", "speed")), "s": s, "m": m, "e": e},
        {"column": (m @ x, ("force", "moment")), "scalar": s * ca.dot(x, x), "matrix": s * m.T},
        {"lean": "rad", "steer": "rad", "speed": "m/s", "force": "N"},
    )


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return compile(mixed())


X, S, M, E = np.array([1.0, 2.0, 3.0]), 2.0, np.arange(6.0).reshape(2, 3), np.zeros(0)


def test_call_agrees_with_the_program(kernel):
    results, expected = kernel(X, S, M, E), mixed()(X, S, M, E)
    assert [r.shape for r in results] == [(2,), (1,), (3, 2)]
    for mine, theirs in zip(results, expected, strict=True):
        assert_array_equal(mine, theirs)


def test_any_array_like_will_do(kernel):
    expected = kernel(X, S, M, E)
    ways = [
        ([1, 2, 3], 2, M.tolist(), []),
        (np.array([1, 2, 3], dtype=np.int32), np.float32(2.0), np.asfortranarray(M), E),
        (np.arange(10.0)[1:4], np.array([[2.0]]), np.repeat(M, 2, axis=1)[:, ::2], E),
        (X[::-1][::-1], np.array(2.0), M.ravel(order="F"), E),
        (X[:, None], [2.0], M.astype(">f8"), E),
    ]
    for way in ways:
        for mine, theirs in zip(kernel(*way), expected, strict=True):
            assert_array_equal(mine, theirs)


def test_results_are_fresh_and_arguments_untouched(kernel):
    x = X.copy()
    x.flags.writeable = False
    first = kernel(x, S, M, E)
    second = kernel(2 * x, S, M, E)
    assert_array_equal(second[0], 2 * first[0])
    assert_array_equal(x, X)


def test_complaints_name_the_argument(kernel):
    with pytest.raises(TypeError, match=r"kernel 'mixed' takes 4 arguments \(x, s, m, e\), got 1"):
        kernel(X)
    with pytest.raises(ValueError, match="argument 'x' needs 3 numbers, got 2"):
        kernel(X[:2], S, M, E)
    with pytest.raises(TypeError, match="argument 's' needs 1 numbers, got str"):
        kernel(X, "two", M, E)
    with pytest.raises(ValueError, match=r"argument 'm' needs shape \(2, 3\).*got \(3, 2\)"):
        kernel.map(np.ones((4, 3)), S, M.T, E)
    with pytest.raises(ValueError, match=r"argument 'x' needs shape \(3,\).*got \(4, 2\)"):
        kernel.map(np.ones((4, 2)), S, M, E)
    with pytest.raises(ValueError, match=r"differ in their number of samples .*'x' 4, 's' 5"):
        kernel.map(np.ones((4, 3)), np.ones(5), M, E)
    with pytest.raises(ValueError, match="no argument has an axis of samples"):
        kernel.map(X, S, M, E)
    with pytest.raises(TypeError, match="takes 4 arguments"):
        kernel.map(X)


@pytest.mark.parametrize("batched", ["x", "s", "m", "xsm"])
def test_map_is_a_loop_of_calls(kernel, batched):
    rng = np.random.default_rng(5)
    xs, ss, ms = rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=(7, 2, 3))
    arguments = [xs if "x" in batched else X, ss if "s" in batched else S, ms if "m" in batched else M, E]
    results = kernel.map(*arguments)
    assert [r.shape for r in results] == [(7, 2), (7, 1), (7, 3, 2)]
    for k in range(7):
        one = kernel(*(a[k] if name in batched else a for name, a in zip("xsme", arguments, strict=True)))
        for mine, theirs in zip(results, one, strict=True):
            assert_array_equal(mine[k], theirs)


def test_map_over_views_and_nothing(kernel):
    wide = np.random.default_rng(6).normal(size=(10, 8))
    expected = kernel.map(np.ascontiguousarray(wide[::2, 1:4]), S, M, E)
    for view in (wide[::2, 1:4], np.asfortranarray(wide[::2, 1:4]), wide[::-1][1::2, 1:4][::-1]):
        for mine, theirs in zip(kernel.map(view, S, M, E), expected, strict=True):
            assert_array_equal(mine, theirs)
    assert [r.shape for r in kernel.map(np.zeros((0, 3)), S, M, E)] == [(0, 2), (0, 1), (0, 3, 2)]


def test_address_has_the_fixed_calling_convention(kernel):
    given = [X.copy(), np.array([S]), M.ravel(order="F"), np.zeros(1)]
    taken = [np.empty(2), np.empty(1), np.empty(6)]
    arg = (ctypes.c_void_p * 4)(*[a.ctypes.data for a in given])
    res = (ctypes.c_void_p * 3)(*[a.ctypes.data for a in taken])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)(arg, res)
    expected = kernel(X, S, M, E)
    assert_array_equal(taken[0], expected[0])
    assert_array_equal(taken[2].reshape((3, 2), order="F"), expected[2])


def test_help_tells_every_slot(kernel):
    reported = pydoc.plain(pydoc.render_doc(kernel))
    for part in ("mixed", "lean [rad]", "speed [m/s]", "m (2 × 3)", "force [N], moment", "matrix (3 × 2)"):
        assert part in reported, reported
    assert "leading axis" in reported


def test_kernels_are_frozen(kernel):
    with pytest.raises(AttributeError):
        kernel.address = 0


def test_threads_may_share_a_kernel(kernel):
    wrong = []

    def work(factor: float) -> None:
        for _ in range(300):
            if not np.array_equal(kernel(factor * X, S, M, E)[0], factor * (M @ X)):
                wrong.append(factor)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_once(monkeypatch):
    x = ca.SX.sym("x")
    compile(Program.build("once", {"x": x}, {"y": x * 1.25}))
    monkeypatch.setattr(modules, "text_of", lambda *given: pytest.fail("compiled again"))
    again = compile(Program.build("once", {"x": x}, {"y": x * 1.25}))
    assert float(again(4.0)[0][0]) == 5.0


def test_several_at_once():
    x = ca.SX.sym("x")
    known, new, recipe = (Program.build(name, {"x": x}, {"y": x * k}) for k, name in enumerate(("known", "new", "recipe"), 2))
    compile(known)
    made = begin_compiling(LazyProgram("recipe", recipe.inputs, recipe.outputs, "a digest", lambda: recipe), known, new)()
    assert [kernel.program_name for kernel in made] == ["recipe", "known", "new"]
    assert [float(kernel(3.0)[0][0]) for kernel in made] == [12.0, 6.0, 9.0]
    assert begin_compiling()() == ()


def test_what_cannot_be_written_is_reported():
    def fails() -> Program:
        raise ZeroDivisionError("no derivative")

    x = ca.SX.sym("x")
    fine = Program.build("fine", {"x": x}, {"y": x + 0.125})
    with pytest.raises(ZeroDivisionError, match="no derivative"):
        begin_compiling(fine, LazyProgram("bad", fine.inputs, fine.outputs, "bad digest", fails))


def test_an_empty_program():
    kernel = compile(Program.build("nothing", {}, {"one": ca.SX(1.0)}))
    assert float(kernel()[0][0]) == 1.0


SECOND_PROCESS = """
import sys
import casadi as ca
from draisine.codegen.jit.kernel import compile
from draisine.program.program import Program
from draisine.program.program import LazyProgram
x = ca.SX.sym("x", 2)
kernel = compile(Program.build("shared", {"x": x}, {"y": ca.sin(x[0]) * x[1]}))
assert abs(float(kernel([0.5, 2.0])[0][0]) - 0.958851077208406) < 1e-15
assert ("draisine.codegen.jit.llvm" in sys.modules) == (sys.argv[1] == "first"), "the cache was not used as expected"
assert "sympy" not in sys.modules and "scipy" not in sys.modules and "numba" not in sys.modules
"""


def test_a_second_process_takes_the_code_from_the_disk(tmp_path):
    path = os.pathsep.join([str(Path(draisine.codegen.jit.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "DRAISINE_CACHE_DIR": str(tmp_path / "store")}
    for which in ("first", "second"):
        done = subprocess.run(
            [sys.executable, "-c", SECOND_PROCESS, which], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr


def test_making_an_array_of_an_argument_may_call_the_kernel():
    a, b = ca.SX.sym("a", 2), ca.SX.sym("b", 2)
    kernel = compile(Program.build("difference", {"a": a, "b": b}, {"y": a - b}))

    class Called:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return kernel(np.array([5.0, 5.0]), np.array([1.0, 2.0]))[0]

    assert kernel(np.array([10.0, 20.0]), Called())[0].tolist() == [6.0, 17.0]
