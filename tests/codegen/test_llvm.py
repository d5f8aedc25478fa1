"""Machine code against the interpreter, operation by operation and over random programs."""

from __future__ import annotations

from itertools import product

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from draisine.codegen.jit.engine import compile_ir
from draisine.codegen.jit.kernel import compile
from draisine.codegen.jit.modules import module_text
from draisine.program import opcodes as op
from draisine.program.interpreter import interpret
from draisine.program.program import Program
from every_operation import BINARY, ORDINARY, SPECIAL, UNARY

# The C library's functions and NumPy's may differ in the last digits.
LAST_DIGITS = {"rtol": 3e-15, "atol": 1e-320, "equal_nan": True}


def test_every_operation_of_one_argument():
    x = ca.SX.sym("x")
    program = Program.build("unary", {"x": x}, {name: f(x) for name, f in UNARY.items()})
    kernel = compile(program)
    for value in (*SPECIAL, *ORDINARY):
        for slot, mine, oracle in zip(program.outputs, kernel(value), interpret(program, value), strict=True):
            loose = {"rtol": 1e-13} if slot.name == "erfinv" else {}
            assert_allclose(mine, oracle, **(LAST_DIGITS | loose), err_msg=f"{slot.name}({value})")
            if oracle == 0 and slot.name != "sign":
                assert_array_equal(np.signbit(mine), np.signbit(oracle), err_msg=f"sign of zero of {slot.name}({value})")


@pytest.mark.parametrize("numbers", [SPECIAL, ORDINARY], ids=["special", "ordinary"])
def test_every_operation_of_two_arguments(numbers):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    program = Program.build("binary", {"x": x, "y": y}, {name: f(x, y) for name, f in BINARY.items()})
    kernel = compile(program)
    for a, b in product(numbers, numbers):
        for slot, mine, oracle in zip(program.outputs, kernel(a, b), interpret(program, a, b), strict=True):
            assert_allclose(mine, oracle, **LAST_DIGITS, err_msg=f"{slot.name}({a}, {b})")


def test_inverse_error_function():
    from scipy.special import erfinv

    x = ca.SX.sym("x")
    kernel = compile(Program.build("one", {"x": x}, {"f": ca.erfinv(x)}))
    points = np.array([1e-12, 0.3, -0.69, 0.71, -0.9, 0.99])
    assert_allclose(kernel.map(points)[0][:, 0], erfinv(points), rtol=1e-14)


def test_no_operation_is_forgotten():
    """All operations of the two tables together, read from tapes, are all that CasADi's SX nodes can be."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    program = Program.build(
        "all", {"x": x, "y": y}, {"r": ca.vertcat(*[f(x) for f in UNARY.values()], *[f(x, y) for f in BINARY.values()])}
    )
    met = {getattr(ca, f"OP_{op.NAMES[line.operation]}") for line in program.tape}
    matrix_operations = set(range(ca.OP_CALL, ca.OP_HORZREPSUM + 1)) | {
        ca.OP_EINSTEIN,
        ca.OP_BSPLINE,
        ca.OP_CONVEXIFY,
        ca.OP_SPARSITY_CAST,
    }
    matrix_operations |= {ca.OP_LOGSUMEXP, ca.OP_DUMP, getattr(ca, "OP_KRON", -1), getattr(ca, "OP_KRON_CONTRACT", -1)}
    transparent = {ca.OP_ASSIGN, ca.OP_LIFT, ca.OP_PRINTME, ca.OP_PARAMETER}
    every = {getattr(ca, name) for name in dir(ca) if name.startswith("OP_")}
    assert every - met - matrix_operations - transparent == set()


# ------------------------------------------------------------------------------------------------- random programs

TAME = {
    name: UNARY[name]
    for name in ("neg", "sq", "twice", "inv", "sin", "cos", "tanh", "atan", "asinh", "fabs", "exp", "erf", "sign")
}
TAME_PAIRS = {name: BINARY[name] for name in BINARY if name not in ("pow", "fmod", "remainder", "eq", "ne")}


@st.composite
def random_programs(draw):
    inputs = draw(st.integers(1, 4))
    x = ca.SX.sym("x", inputs)
    values = [x[k] for k in range(inputs)]
    for name in draw(st.lists(st.sampled_from([*TAME, *TAME_PAIRS]), min_size=1, max_size=15)):
        pick = st.integers(0, len(values) - 1)
        if name in TAME:
            values.append(TAME[name](values[draw(pick)]))
        else:
            values.append(TAME_PAIRS[name](values[draw(pick)], values[draw(pick)]))
    return Program.build("random", {"x": x}, {"y": ca.vertcat(*values)})


@settings(max_examples=60)
@given(random_programs(), st.integers(0, 2**32 - 1))
def test_random_programs(program, seed):
    point = np.random.default_rng(seed).uniform(0.5, 2.0, program.inputs[0].size)
    oracle = interpret(program, point)[0]
    sizes = np.abs(oracle[np.isfinite(oracle) & (oracle != 0.0)])
    assume(np.isfinite(oracle).all() and (sizes > 1e-2).all() and (sizes < 1e2).all())  # no cancellation that magnifies rounding
    assert_allclose(compile(program)(point)[0], oracle, rtol=1e-10, atol=1e-12)
    assert_allclose(program(point)[0], oracle, rtol=1e-10, atol=1e-12)  # CasADi's own interpreter: the third evaluation


# --------------------------------------------------------------------------------------------------- long programs


def tangle(operations: int, reach: int = 60) -> Program:
    """Means and products of recent values, which neither die out nor grow."""
    rng = np.random.default_rng(3)
    x = ca.SX.sym("x", 20)
    values = [x[k] for k in range(20)]
    for _ in range(operations // 3):
        a, b = (values[-1 - k] for k in rng.integers(0, min(reach, len(values)), 2))
        r = rng.uniform(0.2, 0.9)
        values.append((a + b * r) / (1 + r) if rng.random() < 0.6 else ca.cos(a * b + 6 * r))
    return Program.build(
        "tangle", {"x": x}, {"y": ca.vertcat(*values[-reach:]), "first": values[20], "input": x[3], "number": ca.SX(2.5)}
    )


@pytest.mark.parametrize("operations", [3000, 7000, 13000], ids=["one block", "pieces", "pieces line by line"])
def test_programs_in_one_block_and_in_pieces(operations):
    program = tangle(operations)
    point = np.random.default_rng(1).uniform(-1.0, 1.0, 20)
    text = module_text(program)
    assert ("kernel_3" in text) == (operations > 4000)
    assert ("optnone" in text) == (operations > 10000)
    oracles = interpret(program, point)
    assert np.abs(oracles[0]).max() > 0.1
    for mine, oracle in zip(compile(program)(point), oracles, strict=True):
        assert_allclose(mine, oracle, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("operations", [7000, 13000], ids=["pieces", "pieces line by line"])
def test_truth_values_and_cells_cross_pieces(operations):
    """A comparison made in the first piece and used in the last one travels as a number; a number may be taken as truth."""
    base = tangle(operations)
    x = ca.SX.sym("x", 20)
    early, number = x[0] < x[1], ca.sin(3.0 * x[2])
    late = base.function(ca.vertcat(number, early, x[2:]))[0]  # which has both computed first
    chosen = ca.if_else(early, late, -late) + ca.if_else(number, late**2, 0.0) + number * late
    program = Program.build("crossing", {"x": x}, {"y": chosen, "early": early, "number": number})
    kernel = compile(program)
    for point in np.random.default_rng(2).uniform(-1.0, 1.0, (4, 20)):
        for mine, oracle in zip(kernel(point), interpret(program, point), strict=True):
            assert_allclose(mine, oracle, rtol=1e-11, atol=1e-13)


# ----------------------------------------------------------------------------------------------------------- calls


def inner(length: int, name: str = "inner") -> ca.Function:
    a, b = ca.SX.sym("a", 2, 2), ca.SX.sym("b")
    c = a
    for k in range(length):
        c = ca.sin(c @ a) + b / (k + 2)
    sparse = ca.SX(2, 2)
    sparse[0, 1] = b * b
    return ca.Function(name, [a, b], [c, sparse, c[0, 0] + b], {"never_inline": True})


@pytest.mark.parametrize("length", [1, 30], ids=["opened in place", "a function of its own"])
def test_calls_of_other_functions(length):
    function = inner(length)
    x = ca.SX.sym("x", 5)
    first = function(ca.reshape(x[:4], 2, 2), x[4])
    second = function(first[0], first[2])  # only some of its results are used
    program = Program.build("calling", {"x": x}, {"y": second[0][1, 0], "z": first[1], "w": second[2] * first[2]})
    assert any(line.operation == op.CALL for line in program.tape)
    assert ("callee_0" in module_text(program)) == (length > 1)
    point = [0.1, 0.4, -0.3, 0.7, 0.2]
    for mine, oracle, third in zip(compile(program)(point), interpret(program, point), program(point), strict=True):
        assert_allclose(mine, oracle, rtol=1e-12)
        assert_allclose(third, oracle, rtol=1e-12)


def test_a_callee_may_call_and_be_shared():
    function = inner(30)
    a, b = ca.SX.sym("a", 2, 2), ca.SX.sym("b")
    deeper = function(a, b)
    for _ in range(40):
        deeper = [ca.cos(deeper[0]) * b, deeper[1], deeper[2]]
    outer = ca.Function("outer", [a, b], [deeper[0]], {"never_inline": True})
    x = ca.SX.sym("x", 5)
    grid = ca.reshape(x[:4], 2, 2)
    program = Program.build("nest", {"x": x}, {"y": outer(grid, x[4]) + function(grid, x[4])[0]})
    assert module_text(program).count("define internal void @callee_") == 2
    point = [0.1, 0.4, -0.3, 0.7, 0.2]
    assert_allclose(compile(program)(point)[0], interpret(program, point)[0], rtol=1e-12)


def test_two_callees_of_one_name_are_two():
    x = ca.SX.sym("x")
    one = ca.Function("twin", [x], [x + 1], {"never_inline": True})
    two = ca.Function("twin", [x], [x * 5], {"never_inline": True})
    first = Program.build("p", {"x": x}, {"y": one(x)})
    second = Program.build("p", {"x": x}, {"y": two(x)})
    assert first.digest != second.digest
    assert [float(compile(p)(2.0)[0][0]) for p in (first, second)] == [3.0, 10.0]


def test_the_text_is_the_same_every_time():
    """The cache would serve either, but equal programs should give equal objects."""
    texts = [module_text(tangle(4500)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert compile_ir(texts[0], 1) == compile_ir(texts[1], 1)
