"""Kernels for many samples against those of one at a time, on programs of every length and kind."""

import casadi as ca
import numpy as np
import pytest

from draisine.codegen.host import lane_count
from draisine.codegen.jit.kernel import compile
from draisine.codegen.jit.modules import module_text
from draisine.codegen.simd import batch_text
from draisine.expr.tables import Table
from draisine.program.program import Program


@pytest.fixture(params=[2, 4, 8], ids="{} lanes".format, autouse=True)
def lanes(request, monkeypatch):
    """Every width, whatever this machine's registers hold."""
    monkeypatch.setenv("DRAISINE_LANES", str(request.param))
    return request.param


def program_of(rounds):
    """Every kind of operation on vectors, functions of the C library too, then many rounds of sums and products."""
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    a, b, c = x[0], x[1], x[2]
    d = ca.if_else(ca.logic_and(a * c > 0, ca.logic_not(b == 1)), ca.fabs(c), -b) / (2 + a**2) + ca.fmod(c, 1.5) * ca.sign(b)
    e = (
        ca.atan2(a + 0.1, 1 + c**2)
        - ca.sqrt(1 + b * b)
        + ca.tanh(a * b)
        + ca.floor(c)
        + ca.exp(-(a**2))
        + ca.erfinv(0.3 * ca.cos(c))
    )
    for k in range(rounds):
        r = 0.2 + 0.7 * ((k * 0.618) % 1)
        d, e = (d + e * p[0] * r) / (1 + r * p[0]), 0.5 * e - (d * c + e * a) * r * (1 / (3 + d * d)) * p[1]
        if k % 50 == 0:
            d = d + 0.1 * ca.sin(b + e)
    return Program.build(f"chain_{rounds}", {"x": (x, ("a", "b", "c")), "p": p}, {"y": ca.vertcat(d, e, a), "z": d * p})


@pytest.mark.parametrize(("rounds", "names"), [(2, ()), (400, ("kernel_3",)), (750, ("kernel_3", "optnone"))])
def test_samples_side_by_side_are_those_one_by_one(rounds, names, lanes):
    program = program_of(rounds)
    text = module_text(program)
    assert [name for name in ("kernel_3", "optnone") if name in text] == list(names)  # one block; pieces; pieces line by line
    one_by_one, together = compile(program), compile(program, vectorized=True)
    rng = np.random.default_rng(1)
    x, p = rng.uniform(-2, 2, (4 * lanes + 3, 3)), rng.uniform(0.5, 1.5, (4 * lanes + 3, 2))
    x[5, 1] = 1e7  # so far that one lane asks the library for its sine
    expected, found = one_by_one.map(x, p), together.map(x, p)
    for one, other in zip(expected, found, strict=True):
        assert np.isfinite(one).all()
        assert np.array_equal(other, one)
    for count in (1, lanes - 1, lanes, len(x)):
        for part, whole in zip(together.map(x[:count], p[:count]), found, strict=True):
            assert np.array_equal(part, whole[:count])  # whatever the neighbors are
    for one, other in zip(together(x[7], p[7]), found, strict=True):
        assert np.array_equal(one, other[7])
    same = together.map(x, p[0])  # parameters that all samples share
    assert np.array_equal(same[0][0], found[0][0])
    assert same[1] == pytest.approx(same[0][:, :1] * p[0], rel=1e-15)


def test_functions_within_programs_go_along(lanes):
    a = ca.SX.sym("a", 2)
    b = a
    for _ in range(40):
        b = ca.vertcat(ca.sin(b[0]) + 0.3 * b[1], b[0] / (2 + b[1] ** 2))
    inner = ca.Function("inner", [a], [b], {"never_inline": True})
    x = ca.SX.sym("x", 2)
    program = Program.build("outer", {"x": x}, {"y": inner(inner(x) + x)})
    text = batch_text(program)
    assert f"@wide_callee_0_{lanes}(" in text and f"<{lanes} x double>" in text
    points = np.random.default_rng(2).uniform(-1, 1, (7, 2))
    assert np.array_equal(compile(program, vectorized=True).map(points)[0], compile(program).map(points)[0])


def test_every_lane_looks_up_tables_for_itself():
    x = ca.SX.sym("x")
    program = Program.build("looked_up", {"x": x}, {"y": Table("curve", (0.0, 1.0, 3.0), (1.0, 2.0, 0.0))(x)})
    points = [[0.5], [2.0], [-1.0], [4.0], [1.0]]
    found = compile(program, vectorized=True).map(points)[0]
    assert found.ravel() == pytest.approx([1.5, 1.0, 0.0, -1.0, 2.0])
    assert np.array_equal(found, compile(program).map(points)[0])


def test_the_number_of_lanes_is_that_of_the_registers_or_the_one_given(monkeypatch, lanes):
    program = program_of(1)
    assert f"<{lanes} x double>" in batch_text(program)
    for wrong in ("1", "3", "16", "wide"):
        monkeypatch.setenv("DRAISINE_LANES", wrong)
        with pytest.raises(ValueError, match=f"DRAISINE_LANES is '{wrong}', but vectors have 2, 4 or 8 lanes"):
            lane_count()
    monkeypatch.delenv("DRAISINE_LANES")
    assert lane_count() in (2, 4, 8)
