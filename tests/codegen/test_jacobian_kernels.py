"""Jacobians by forward accumulation in vector registers, against complex steps in the interpreter and CasADi's expressions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import draisine as dr
from draisine.codegen.jit.jacobian import compile_jacobian, jacobian_text
from draisine.codegen.jit.kernel import compile
from draisine.errors import UnknownNameError
from draisine.expr.tables import Table
from draisine.gallery.entries.link_chain import link_chain, spatial_chain
from draisine.gallery.entries.trailers import trailers
from draisine.program.interpreter import complex_step
from draisine.program.program import Program

SMOOTH = [
    lambda a, b: a + b,
    lambda a, b: a - 2 * b,
    lambda a, b: a * b,
    lambda a, b: a / (2 + b**2),
    lambda a, b: ca.sin(a) * ca.cos(b),
    lambda a, b: ca.sqrt(1 + a**2) - b,
    lambda a, b: ca.exp(-(a**2)) * b,
    lambda a, b: ca.atan2(a, 2 + b**2),
    lambda a, b: ca.tanh(a) + ca.log(2 + b**2),
    lambda a, b: ca.if_else(a < b, a * b, ca.sin(a)),
    lambda a, b: ca.fmax(a, b) * ca.fabs(a - 0.5),
    lambda a, b: (2 + a**2) ** 1.7 + b,
]


def drawn(seed: int) -> tuple[Program, list[np.ndarray]]:
    """A random program with one argument to differentiate by, between two others, and a point."""
    rng = np.random.default_rng(seed)
    n, rows, length = int(rng.integers(1, 21)), int(rng.integers(1, 12)), int(rng.integers(3, 80))
    s, x, p = ca.SX.sym("s"), ca.SX.sym("x", n), ca.SX.sym("p", 2, 2)
    values = [s, *ca.vertsplit(x), *ca.vertsplit(ca.vec(p))]
    for _ in range(length):
        a, b = (values[int(rng.integers(max(0, len(values) - 25), len(values)))] for _ in range(2))
        values.append(SMOOTH[int(rng.integers(len(SMOOTH)))](a, b))
    chosen = [values[int(rng.integers(len(values)))] for _ in range(rows)]
    program = Program.build(f"drawn{seed}", {"s": s, "x": x, "p": p}, {"other": s * 2, "y": ca.vertcat(*chosen)})
    return program, [rng.normal(size=1), rng.normal(size=n), rng.normal(size=(2, 2))]


@pytest.mark.parametrize("seed", [*range(14), 564])
def test_random_programs(seed, monkeypatch):
    program, point = drawn(seed)
    found = []
    for lanes in ("2", "4", "8"):
        monkeypatch.setenv("DRAISINE_LANES", lanes)
        assert f"<{lanes} x double>" in jacobian_text(program, "y", "x")
        found.append(compile_jacobian(program, "y", "x")(*point)[0])
    exact = complex_step(program, "y", "x", point)
    assert found[0].shape == (exact.shape if exact.shape[1] > 1 else exact.shape[:1])  # columns have one dimension
    found = [one.reshape(exact.shape) for one in found]
    assert found[0] == pytest.approx(exact, rel=1e-11, abs=1e-11 * max(1.0, np.abs(exact).max()))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    by_p = compile_jacobian(program, "y", "p")(*point)[0]
    assert by_p == pytest.approx(complex_step(program, "y", "p", point), rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("model", [link_chain(9), spatial_chain(4), trailers(3)], ids=["plane", "space", "trailers"])
def test_chains(model):
    equations = dr.derive(model)
    program = equations.explicit
    assert isinstance(program, Program)
    kernel = compile_jacobian(program, "xdot", "x")
    rng, u, p = np.random.default_rng(3), np.zeros(len(equations.inputs)), equations.default_parameters
    states = rng.uniform(-0.6, 0.6, (5, len(equations.states)))
    for x in states:
        exact = complex_step(program, "xdot", "x", [0.0, x, u, p])
        assert kernel(0.0, x, u, p)[0] == pytest.approx(exact, rel=1e-10, abs=1e-11 * np.abs(exact).max())
    together = kernel.map(0.0, states, u, p, threads=2)[0]
    for x, one in zip(states, together, strict=True):
        assert np.array_equal(kernel(0.0, x, u, p)[0], one)
    out = np.empty(one.shape)
    kernel(0.0, states[-1], u, p, out=out)
    assert np.array_equal(out, one)


def test_tables_functions_and_long_programs(monkeypatch):
    """Functions that are called, tables, and memory beyond the stack; against CasADi's expressions."""
    a = ca.SX.sym("a", 2)
    b = a
    for _ in range(40):
        b = ca.vertcat(ca.sin(b[0]) + 0.3 * b[1], b[0] / (2 + b[1] ** 2))
    inner = ca.Function("inner", [a], [b], {"never_inline": True})
    x = ca.SX.sym("x", 300)
    curve = Table("curve", (0.0, 0.5, 1.0, 2.0), (1.0, 2.0, 0.0, 1.0), "spline")
    rows = [inner(x[:2]), inner(inner(x[2:4]) * x[5])]
    rows += [curve(x[k]) * ca.sin(x[k + 1] * x[(7 * k) % 300]) / (1 + x[k] ** 2) for k in range(8)]
    rows += [x[k] * x[(7 * k) % 300] for k in range(290)]
    program = Program.build("long", {"x": x}, {"y": ca.vertcat(*rows)})
    point = np.random.default_rng(5).uniform(0.1, 0.9, 300)
    monkeypatch.setenv("DRAISINE_LANES", "8")  # narrow vectors need less memory
    assert "@malloc" in jacobian_text(program, "y", "x")
    expected = program.jacobian("y", "x")(point)[0]
    assert compile_jacobian(program, "y", "x")(point)[0] == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_constant_empty_and_wrong():
    x, e, m = ca.SX.sym("x", 3), ca.SX.sym("e", 0), ca.SX.sym("m", 2, 2)
    program = Program.build(
        "odd", {"x": x, "e": e, "m": m}, {"c": ca.SX([1.0, 2.0]), "y": x[::-1], "n": ca.SX(0, 1), "m2": m @ m}
    )
    given = np.ones(3), np.zeros(0), np.eye(2)
    assert np.array_equal(compile_jacobian(program, "c", "x")(*given)[0], np.zeros((2, 3)))
    assert np.array_equal(compile_jacobian(program, "y", "x")(*given)[0], np.eye(3)[::-1])
    for of, wrt, shape in (("y", "e", (3, 0)), ("n", "x", (0, 3)), ("n", "e", (0, 0))):
        assert compile_jacobian(program, of, wrt)(*given)[0].shape == shape
    with pytest.raises(UnknownNameError, match="has no output 'z'"):
        compile_jacobian(program, "z", "x")
    with pytest.raises(UnknownNameError, match="has no input 'z'"):
        compile_jacobian(program, "y", "z")
    with pytest.raises(ValueError, match=r"'m2' of 'odd' is a matrix .* but a column is needed"):
        compile_jacobian(program, "m2", "x")
    solved = dr.derive(dr.gallery.bicycle(), formulation=dr.formulations.Augmented()).explicit
    with pytest.raises(ValueError, match="solves linear systems at run time"):
        compile_jacobian(solved, "xdot", "x")


def test_values_that_are_not_finite_stay_in_their_columns():
    x = ca.SX.sym("x", 3)
    program = Program.build("poles", {"x": x}, {"y": ca.vertcat(1 / x[0], ca.sqrt(x[1]), x[2] * x[0])})
    found = compile_jacobian(program, "y", "x")([0.0, -1.0, 2.0])[0]
    expected = compile(program.jacobian("y", "x"))([0.0, -1.0, 2.0])[0]
    assert np.isfinite(found[2]).all() and np.array_equal(found[2], expected[2])
    assert not np.isfinite(found[0, 0]) and np.isnan(found[1, 1])
