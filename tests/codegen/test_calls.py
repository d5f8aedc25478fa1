"""Quick calls of kernels from Python: the same results and messages as the way through conversions, for arrays of every kind."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from draisine.codegen.jit import kernel as kernel_module
from draisine.codegen.jit import python_call
from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.jit.python_call import MOST_SLOTS, ROOM, quick_call
from draisine.program.program import Program


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Quick from the first call on."""
    monkeypatch.setattr(kernel_module, "_CALLS_BEFORE_COMPILING", 0)


def program_of(shapes: list[tuple[int, int]], results: list[tuple[int, int]], name: str = "drawn") -> Program:
    """Every result has the sums of its index and of all arguments, weighted so that any other order of numbers shows."""
    symbols = [ca.SX.sym(f"a{k}", *shape) for k, shape in enumerate(shapes)]
    numbers = ca.vertcat(*[ca.vec(s) for s in symbols]) if symbols else ca.SX(0, 1)
    weights = ca.DM(np.sqrt(np.arange(2.0, numbers.numel() + 2.0)))
    total = ca.dot(weights, numbers) if numbers.numel() else ca.SX(0)
    made = {}
    for k, (rows, columns) in enumerate(results):
        offsets = ca.reshape(ca.SX(ca.DM(np.arange(float(rows * columns)) + 100.0 * k)), rows, columns)
        made[f"r{k}"] = offsets + total * offsets
    return Program.build(name, {f"a{k}": s for k, s in enumerate(symbols)}, made)


KINDS = (
    "plain",
    "fortran",
    "every other",
    "backwards",
    "read only",
    "list",
    "float32",
    "big endian",
    "unaligned",
    "subclass",
    "flat",
)


class Own(np.ndarray):
    """A subclass of arrays."""


def as_kind(kind: str, a: np.ndarray) -> object:
    """The same numbers in another form; (n, 1) also as one dimension."""
    if a.shape == (1, 1) and kind in ("list", "plain", "flat"):
        return {"list": float(a[0, 0]), "plain": np.float64(a[0, 0]), "flat": np.array(a[0, 0])}[kind]
    if kind == "flat":
        return a.ravel(order="F")
    if kind == "fortran":
        return np.asfortranarray(a)
    if kind == "every other":
        wide = np.full((2 * a.shape[0], 3 * a.shape[1]), np.nan)
        wide[::2, ::3] = a
        return wide[::2, ::3]
    if kind == "backwards":
        return np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]
    if kind == "read only":
        b = a[:, 0].copy() if a.shape[1] == 1 else a.copy()
        b.flags.writeable = False
        return b
    if kind == "list":
        return a.tolist()
    if kind == "float32":
        return a.astype(np.float32)  # the numbers drawn are exact in it
    if kind == "big endian":
        return a.astype(">f8")
    if kind == "unaligned":
        raw = np.zeros(a.nbytes + 4, dtype=np.uint8)
        b = raw[4:].view(np.float64).reshape(a.shape)
        b[...] = a
        return b
    return a.view(Own) if kind == "subclass" else a


def converted(kernel: Kernel, *arguments: object) -> tuple[np.ndarray, ...]:
    """The way without quick calls."""
    return kernel._call_any(arguments, None)


@pytest.mark.parametrize("seed", range(12))
def test_any_kind_of_argument_and_result(seed):
    rng = np.random.default_rng(seed)
    shapes = [
        tuple(rng.integers(0 if k else 1, 5, 2).tolist()) if rng.random() < 0.4 else (int(rng.integers(1, 6)), 1)
        for k in range(rng.integers(1, 6))
    ]
    results = [
        tuple(rng.integers(1, 5, 2).tolist()) if rng.random() < 0.5 else (int(rng.integers(1, 6)), 1)
        for _ in range(rng.integers(1, 4))
    ]
    program = program_of(shapes, results, f"drawn{seed}")
    kernel = compile(program)
    for _ in range(40):
        plain = [rng.integers(-50, 50, shape) / 8.0 for shape in shapes]
        expected = program(*plain)
        given = [as_kind(KINDS[rng.integers(len(KINDS))], a) for a in plain]
        for found in (kernel(*given), converted(kernel, *given), kernel(*given, out=tuple(results_of(rng, results)))):
            for mine, theirs in zip(found, expected, strict=True):
                assert mine.shape == theirs.shape
                assert_array_equal(mine, converted_to(theirs, mine))
        assert_array_equal(kernel(*given)[0], converted(kernel, *given)[0])


def converted_to(theirs: np.ndarray, mine: np.ndarray) -> np.ndarray:
    """The interpreter adds in another order: equal to rounding, which is then taken for equal."""
    assert mine == pytest.approx(theirs, rel=1e-13, abs=1e-12)
    return mine


def results_of(rng: np.random.Generator, shapes: list[tuple[int, int]]) -> list[np.ndarray]:
    """Arrays that receive results: C order, Fortran order, parts of others."""
    made = []
    for rows, columns in shapes:
        wide = np.full((2 * rows, 3 * columns), np.nan)
        one = [np.empty((rows, columns)), np.empty((rows, columns), order="F"), wide[::2, ::3], wide[::2, ::3][::-1]][
            rng.integers(4)
        ]
        made.append(one[:, 0] if columns == 1 else one)
    return made


def test_out_is_returned_and_may_overlap_arguments():
    x = ca.SX.sym("x", 3)
    kernel = compile(Program.build("turned", {"x": x}, {"y": ca.vertcat(x[2], x[0], x[1])}))
    x = np.array([1.0, 2.0, 3.0, 4.0])
    out = np.empty(3)
    (found,) = kernel(x[:3], out=out)
    assert found is out
    both = (out,)
    assert kernel(x[:3], out=both) is both
    kernel(x[:3], out=x[:3])
    assert_array_equal(x, [3.0, 1.0, 2.0, 4.0])
    kernel(x[:3], out=x[1:])
    assert_array_equal(x, [3.0, 2.0, 3.0, 1.0])


def test_results_that_do_not_fit_are_refused_and_left_alone():
    kernel = compile(program_of([(2, 1), (1, 1)], [(2, 1), (2, 3)]))
    x, y, m = np.ones(2), np.zeros(2), np.zeros((2, 3))
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    complaints = [
        (y, r"gives 2 results \(r0, r1\), got 1 in out"),
        ((y, m, m), "got 3 in out"),
        ((y, m.T), r"out for 'r1' needs shape \(2, 3\), got \(3, 2\)"),
        ((y[:, None], m), r"out for 'r0' needs shape \(2,\), got \(2, 1\)"),
        ((y.astype(np.float32), m), "out for 'r0' needs an array of doubles .float64., got float32"),
        ((y.astype(">f8"), m), "out for 'r0' needs an array of doubles"),
        (([0.0, 0.0], m), "out for 'r0' needs an array of doubles, got list"),
        ((frozen, m), "out for 'r0' is read-only"),
        ((m[0, :2], m), "out for 'r0' and 'r1' overlap in memory"),
        ((y, None), "out for 'r1' needs an array of doubles, got NoneType"),
        ("no", "got 1 in out"),
    ]
    for out, complaint in complaints:
        with pytest.raises((ValueError, TypeError), match=complaint):
            kernel(x, 1.0, out=out)
    assert not y.any() and not m.any() and not frozen.any()
    with pytest.raises(TypeError, match="unexpected keyword"):
        kernel(x, 1.0, into=y)


def test_wrong_arguments_have_messages():
    kernel = compile(program_of([(2, 1), (1, 1)], [(2, 1)]))
    x = np.ones(2)
    for given, complaint in [
        ((x,), "takes 2 arguments"),
        ((x, 1.0, 2.0), "takes 2 arguments"),
        ((x[:1], 1.0), "argument 'a0' needs 2 numbers, got 1"),
        ((np.ones((2, 2)), 1.0), "argument 'a0' needs 2 numbers, got 4"),
        ((x, x), "argument 'a1' needs 1 numbers, got 2"),
        ((x, "one"), "argument 'a1' needs 1 numbers, got str"),
        ((x, None), "argument 'a1' needs 1 numbers, got NoneType"),
        ((x, 1j), "argument 'a1' needs 1 numbers, got complex"),
        ((x + 0j, 1.0), "argument 'a0' needs 2 numbers, got complex128"),
        (([1.0, None], 1.0), "argument 'a0' needs 2 numbers, got list"),
        ((["1", "2"], 1.0), "argument 'a0' needs 2 numbers, got list"),
        (([[1.0], [1.0, 2.0]], 1.0), "argument 'a0' needs 2 numbers, got list"),
        ((x, "1"), "argument 'a1' needs 1 numbers, got str"),
        ((x.astype("m8[s]"), 1.0), "argument 'a0' needs 2 numbers, got timedelta64"),
        ((1.0, x), "argument 'a0' needs 2 numbers, got 1"),
    ]:
        with pytest.raises((ValueError, TypeError), match=complaint):
            kernel(*given)
    with pytest.raises(ValueError, match="argument 'a1' needs 1 numbers, got int"):
        kernel(x, 10**400)
    exact = [Fraction(1, 4), Fraction(1, 2)]
    assert_array_equal(kernel(exact, 1.0)[0], kernel([0.25, 0.5], 1.0)[0])
    assert_array_equal(kernel(x, True)[0], kernel(x, 1)[0])
    assert_array_equal(kernel(x, -1)[0], kernel(x, -1.0)[0])  # −1 is what a failed conversion gives, too


def test_nothing_is_kept_and_nothing_is_lost():
    kernel = compile(program_of([(3, 1), (2, 2)], [(3, 1), (2, 3)]))
    x, m, out = np.ones(3), np.ones((2, 2)), (np.empty(3), np.empty((2, 3)))
    counted = [x, m, out, *out, None, 1.0, np.empty, kernel]

    def work() -> None:
        kernel(x, m)
        kernel(x, m, out=out)
        kernel(x[::2][:0].sum() + x, m.T)
        for bad in ((x, x), (m, m), (x,)):
            with pytest.raises((ValueError, TypeError)):
                kernel(*bad)

    for _ in range(3):
        work()
    gc.collect()
    before = [sys.getrefcount(one) for one in counted]
    for _ in range(200):
        work()
    gc.collect()
    after = [sys.getrefcount(one) for one in counted]
    assert [abs(b - a) < 50 for a, b in zip(before, after, strict=True)] == [True] * len(counted), (before, after)


def test_out_allocates_nothing():
    kernel = compile(program_of([(30, 1), (1, 1)], [(300, 1), (20, 20)]))
    x, t, out = np.ones(30), 0.5, (np.empty(300), np.empty((20, 20), order="F"))
    kernel(x, t, out=out)
    tracemalloc.start()
    try:
        for _ in range(3):
            kernel(x, t, out=out)
        tracemalloc.reset_peak()
        begin = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            kernel(x, t, out=out)
        peak = tracemalloc.get_traced_memory()[1]
        kernel(x, t)
        assert tracemalloc.get_traced_memory()[1] > begin + 5000  # a call without shows that it is measured
    finally:
        tracemalloc.stop()
    assert peak - begin < 500


def test_arrays_beyond_the_room_on_the_stack():
    n = ROOM + 1
    kernel = compile(program_of([(n, 1), (1, 1)], [(n, 1), (1, 1)]))
    x = np.arange(2.0 * n)
    expected = converted(kernel, x[::2].copy(), 2.0)
    wide = np.zeros(2 * n)
    for found in (kernel(x[::2], 2.0), kernel(x[::2].copy(), 2), kernel(x[::2], 2.0, out=(wide[::2], np.empty(1)))):
        for mine, theirs in zip(found, expected, strict=True):
            assert_array_equal(mine, theirs)


def test_more_slots_than_a_quick_call_takes():
    kernel = compile(program_of([(1, 1)] * (MOST_SLOTS + 1), [(2, 1)]))
    given = [float(k) for k in range(MOST_SLOTS + 1)]
    for _ in range(2):
        assert_array_equal(kernel(*given)[0], converted(kernel, *given)[0])
    many = compile(program_of([(2, 1)], [(1, 1)] * (MOST_SLOTS + 1)))
    assert len(many(np.ones(2))) == MOST_SLOTS + 1
    assert len(many.map(np.ones((3, 2)))) == MOST_SLOTS + 1


def test_without_a_known_layout_calls_go_the_other_way(monkeypatch):
    monkeypatch.setattr(python_call, "_is_layout", lambda head: False)
    python_call._quick_call.cache_clear()
    try:
        kernel = compile(program_of([(2, 1)], [(2, 1)]))
        assert kernel._quick((np.ones(2),), None) is None
        assert_array_equal(kernel(np.ones(2))[0], converted(kernel, np.ones(2))[0])
        assert_array_equal(kernel.map(np.ones((3, 2)))[0][1], kernel(np.ones(2))[0])
    finally:
        python_call._quick_call.cache_clear()


def test_the_layout_is_checked():
    head = object.__basicsize__
    assert python_call._is_layout(head)
    assert python_call._quick_call() is not None
    assert type(compile(program_of([(2, 1)], [(2, 1)]))._quick) is not type(len)  # until it is called


def test_a_function_outlives_its_kernel():
    kernel = compile(program_of([(2, 1)], [(2, 1)]))
    expected = kernel(np.ones(2))[0]
    quick = kernel._quick
    assert type(quick) is type(len)
    del kernel
    gc.collect()
    assert_array_equal(quick((np.ones(2),), None)[0], expected)
    for given in ((), (1,), ([np.ones(2)], None), (None, None), ((np.ones(2),), None, 1)):
        assert quick(*given) is None


def test_threads_with_and_without_the_lock():
    kernel = compile(program_of([(3, 1), (1, 1)], [(3, 1), (2, 2)]))
    unlocked = quick_call(kernel.address, kernel.inputs, kernel.outputs, kernel.code, True)
    wrong = []

    def work(factor: float) -> None:
        x = factor * np.ones(3)
        expected = converted(kernel, x, factor)
        out = (np.empty(3), np.empty((2, 2)))
        for _ in range(300):
            for found in (kernel(x, factor), unlocked((x, factor), None), kernel(x, factor, out=out)):
                if not all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)):
                    wrong.append(factor)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_a_batch_into_given_arrays(threads):
    kernel = compile(program_of([(3, 1), (2, 2), (1, 1)], [(2, 1), (2, 3)]), vectorized=threads == 2)
    rng = np.random.default_rng(8)
    for samples in (0, 1, 2, 7):
        given = rng.normal(size=(samples, 3)), rng.normal(size=(samples, 2, 2)), 0.25
        expected = [kernel(*(a[k] for a in given[:2]), 0.25) for k in range(samples)]
        wide = np.full((samples, 2, 5), np.nan)
        layouts = (
            (np.empty((samples, 2)), np.empty((samples, 2, 3))),
            (np.empty((samples, 2), order="F"), np.empty((samples, 3, 2)).transpose(0, 2, 1)),
            (wide[:, :, 0], wide[:, :, 2:]),
            (np.empty((2 * samples, 4))[::2, 1:3], np.empty((samples, 2, 3), order="F")),
        )
        for out in layouts:
            assert kernel.map(*given, out=out, threads=threads) is out
            for found in (out, kernel.map(*given, threads=threads)):
                for k in range(samples):
                    for mine, theirs in zip(found, expected[k], strict=True):
                        assert_array_equal(mine[k], theirs)


def test_a_batch_may_overwrite_its_arguments():
    x = ca.SX.sym("x", 2)
    kernel = compile(Program.build("doubled", {"x": x}, {"y": ca.vertcat(x[1], 2 * x[0])}))
    states = np.arange(10.0).reshape(5, 2)
    expected = kernel.map(states)[0]
    kernel.map(states[:4], out=states[1:])
    assert_array_equal(states[1:], expected[:4])
    for out, complaint in ((states[:4], r"needs shape \(5, 2\), got \(4, 2\)"), (states.astype(int), "int64"), (None, None)):
        if complaint:
            with pytest.raises(ValueError, match=complaint):
                kernel.map(states, out=out)
    for threads in (0, -1, 2.0, True):
        with pytest.raises(ValueError, match="threads is a positive integer or None"):
            kernel.map(states, threads=threads)


def test_one_column_is_never_taken_for_a_batch():
    """A batch of n samples of n numbers, and a column as a matrix."""
    kernel = compile(program_of([(2, 1), (1, 1)], [(2, 1)]))
    square = np.arange(4.0).reshape(2, 2)
    assert_array_equal(kernel.map(square, 1.0)[0], [kernel(row, 1.0)[0] for row in square])
    column = np.array([[1.0], [2.0]])
    assert_array_equal(kernel.map(column, np.array([1.0, 3.0]))[0], [kernel(column, 1.0)[0], kernel(column, 3.0)[0]])
    single = compile(program_of([(1, 1), (1, 1)], [(2, 1)]))
    assert single.map(np.array([[2.0]]), np.array([1.0, 3.0]))[0].shape == (2, 2)


@pytest.mark.parametrize("quick", [False, True])
def test_batches_run_without_the_interpreters_lock(quick, monkeypatch):
    """Python goes on in this thread while another one is in the compiled loop."""
    monkeypatch.setattr(kernel_module, "_CALLS_BEFORE_QUICK", 10**9)
    monkeypatch.setattr(kernel_module, "_CALLS_BEFORE_COMPILING", 0 if quick else 10**9)
    x = ca.SX.sym("x")
    y = x
    for k in range(200):
        y = ca.sin(y) + 0.001 * k
    kernel = compile(Program.build("slow", {"x": x}, {"y": y}))
    samples = np.linspace(0.0, 1.0, 200_000)[:, None]

    def is_seen_at_work() -> bool:
        """Whether Python finds the first result written and the last one not yet."""
        out, seen = np.full((len(samples), 1), np.nan), False
        thread = threading.Thread(target=kernel.map, args=(samples,), kwargs={"out": out})
        thread.start()
        while thread.is_alive():
            seen = seen or (np.isfinite(out[0, 0]) and np.isnan(out[-1, 0]))
        assert np.isfinite(out).all()
        return bool(seen)

    assert any(is_seen_at_work() for _ in range(5))  # on a busy machine this thread may sleep through a batch
