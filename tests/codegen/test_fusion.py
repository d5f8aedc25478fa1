"""Fused products: the kernel decides what is rounded once, so that numbers do not depend on LLVM's level of optimization."""

from __future__ import annotations

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from draisine.codegen.host import has_fma
from draisine.codegen.jit.engine import compile_ir, load_object
from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.jit.modules import text_of
from draisine.program.program import Program

needs_fma = pytest.mark.skipif(not has_fma(), reason="this processor rounds products before sums")


def at_level(program: Program, level: int) -> Kernel:
    code = load_object(compile_ir(text_of(program, "plain"), level), "kernel", "kernel_map", "kernel_flat")
    return Kernel(program.name, program.inputs, program.outputs, code.address, code)


def random_program(rng: np.random.Generator, length: int = 80) -> Program:
    """Sums, products, squares, quotients, branches and sines of earlier values, each of them read once or more."""
    x = ca.SX.sym("x", 6)
    values = [*ca.vertsplit(x), ca.SX(2.0), ca.SX(-0.3), ca.SX(-1.0)]
    for _ in range(length):
        a, b, c = (values[k] for k in rng.integers(max(0, len(values) - 25), len(values), 3))
        values.append(
            [
                a * b + c,
                a - b * c,
                a * b - c,
                a * b,
                a - b,
                -(a * b) + c,
                a * a + b * b,
                -a * b - c,
                a / (2 + b * b),
                ca.sin(a) + ca.cos(a) * b,
                ca.if_else(a > b, a * c, b * c) + a,
                ca.fmin(a * b, c) + ca.fabs(c) * a,
            ][rng.integers(12)]
        )
        values[-1] = values[-1] / (1 + values[-1] ** 2) if rng.integers(2) else values[-1]  # bounds rounding errors
    return Program.build("random", {"x": x}, {"y": ca.vertcat(*values[-40:])})


@pytest.mark.parametrize("seed", range(12))
def test_all_levels_and_vectors_give_the_same_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    samples = rng.uniform(-1.5, 1.5, (9, 6))
    (quick,), (optimized,), (more,) = (at_level(program, level).map(samples) for level in (0, 1, 2))
    (vectors,) = compile(program, vectorized=True).map(samples)
    np.testing.assert_array_equal(quick, optimized)
    np.testing.assert_array_equal(more, optimized)
    np.testing.assert_array_equal(vectors, optimized)
    np.testing.assert_allclose(optimized, np.array([program(s)[0] for s in samples]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("level", [0, 1])
def test_a_product_that_is_read_again_is_rounded(level: int) -> None:
    a, b, c = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("c")
    kernel = at_level(Program.build("f", {"a": a, "b": b, "c": c}, {"y": ca.vertcat(a * b + c, c - a * b, a * b)}), level)
    for x, y in np.random.default_rng(7).uniform(0.5, 2.0, (50, 2)).tolist():
        z = -x * y * (1.0 + 1e-12)  # what remains shows how the product was rounded
        assert kernel([x], [y], [z])[0].tolist() == [x * y + z, z - x * y, x * y]


@needs_fma
@pytest.mark.parametrize("kind", ["sum", "difference", "negative"])
def test_a_fused_product_is_that_of_exact_arithmetic(kind: str) -> None:
    a, b, c = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("c")
    formula = {"sum": a * b + c, "difference": a * b - c, "negative": c - a * b}[kind]
    levels = [at_level(Program.build(kind, {"a": a, "b": b, "c": c}, {"y": formula}), level) for level in (0, 1)]
    rng = np.random.default_rng(8)
    for x, y in rng.uniform(0.5, 2.0, (200, 2)).tolist():
        z = x * y * (1.0 + 1e-12)
        product = Fraction(x) * Fraction(y)
        exact = {"sum": product + Fraction(z), "difference": product - Fraction(z), "negative": Fraction(z) - product}[kind]
        assert [kernel([x], [y], [z])[0][0] for kernel in levels] == [float(exact)] * 2
