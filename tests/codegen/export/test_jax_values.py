"""Long programs for JAX: loops over rows of independent values give what the list gives, and their size does not grow with it."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import casadi as ca
import export_samples as samples
import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_parts import random_program

import draisine as dr
from draisine.codegen.export.casadi_and_jax import as_jax
from draisine.codegen.export.source import program_to_ssa
from draisine.codegen.export.stages import Group, Loop, in_stages
from draisine.gallery.entries.delebecque_bicycle import delebecque_bicycle
from draisine.gallery.entries.link_chain import link_chain
from draisine.program import opcodes as op
from draisine.program.interpreter import complex_step
from draisine.program.program import Program
from draisine.program.ssa import live_values

STEEP = {"sqrt": ca.sqrt, "div": lambda x: 1 / x}


@pytest.fixture
def jax():
    import jax as module  # takes a second

    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", False)


def arguments(program, seed: int = 7) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=slot.shape if slot.shape[1] != 1 else slot.size) for slot in program.inputs]


def equations_of(jax, function, given) -> int:
    """The number of operations, those inside of loops and calls counted once."""

    def count(jaxpr) -> int:
        inner = (p for e in jaxpr.eqns for p in e.params.values())
        return len(jaxpr.eqns) + sum(count(p.jaxpr) for p in inner if hasattr(p, "jaxpr"))

    return count(jax.make_jaxpr(function)(*given).jaxpr)


@pytest.mark.parametrize("seed", range(6))
def test_every_value_is_in_one_stage_after_its_operands(seed: int):
    ssa = program_to_ssa(random_program(np.random.default_rng(seed)))
    kinds = {op.SIN, op.DIV}
    live, done = live_values(ssa), set[int]()
    made = in_stages(ssa, live, lambda v: ssa.values[v].kind if ssa.values[v].kind in kinds else None)
    for stage in made:
        for row in stage.rows if isinstance(stage, Loop) else [stage.values]:
            for v in row:
                assert not set(ssa.values[v].operands) & set(live) - done
            assert not done & set(row)
            done |= set(row)
        if isinstance(stage, Group):
            assert {ssa.values[v].kind for v in stage.values} == {stage.key}
    assert sorted(done) == live
    assert not any(isinstance(a, Loop) and isinstance(b, Loop) for a, b in pairwise(made))


@pytest.mark.parametrize("make", [samples.sample, samples.tables, samples.calling, samples.solved, samples.several_sides])
def test_samples_in_loops(make, jax):
    program = make()
    given = arguments(program)
    for found, expected in zip(jax.jit(as_jax(program, loops=True))(*given), program(*given), strict=True):
        assert_allclose(np.ravel(found, order="F"), np.ravel(expected, order="F"), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_and_their_derivatives_in_loops(seed: int, jax):
    program = random_program(np.random.default_rng(seed))
    looped, listed = (as_jax(program, loops=loops) for loops in (True, False))
    given = arguments(program, seed)
    for found, expected in zip(jax.jit(looped)(*given), program(*given), strict=True):
        assert_allclose(found, expected, rtol=1e-15, atol=0.0)
    exact = jax.tree.leaves(jax.jit(jax.jacfwd(listed, (0, 1)))(*given))
    for derivative in (jax.jacfwd, jax.jacrev):
        for found, expected in zip(jax.tree.leaves(jax.jit(derivative(looped, (0, 1)))(*given)), exact, strict=True):
            assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    many = [np.stack([g, 2 * g, -g]) for g in given]
    for found, *row in zip(zip(*jax.jit(jax.vmap(looped))(*many), strict=True), *many, strict=True):
        for a, b in zip(found, program(*row), strict=True):
            assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("steep", STEEP)
def test_derivatives_that_are_infinite_elsewhere_do_not_spoil_gradients(steep: str, jax):
    """Sums of zeros stand beside a root and a quotient, which a loop computes of zeros, too: their slopes are infinite there."""
    x = ca.SX.sym("x", 4)
    value = x[0] * x[1] + STEEP[steep](x[2]) + (x[3] - x[0]) + (x[0] + x[1])
    program = Program.build("steep", {"x": x}, {"y": value})
    at = np.array([0.0, 0.0, 4.0, -1.0])
    expected = np.array(ca.Function("g", [x], [ca.gradient(value, x)])(at)).ravel()
    function = lambda x: as_jax(program, loops=True)(x)[0]  # noqa: E731
    for derivative in (jax.grad, jax.jacfwd):
        assert_allclose(jax.jit(derivative(function))(at), expected, rtol=1e-15)
    curvature = np.array(ca.Function("h", [x], [ca.hessian(value, x)[0]])(at))
    for second in (jax.hessian(function), jax.jacrev(jax.grad(function))):
        assert_allclose(jax.jit(second)(at), curvature, rtol=1e-15)


KINKS = {
    "abs": (lambda a, b: ca.fabs(a) + 2 * b, [0.0, 1.0]),
    "copysign": (ca.copysign, [0.0, -1.0]),
    "min": (ca.fmin, [0.7, 0.7]),
    "max": (ca.fmax, [-0.7, -0.7]),
    "clip at its bound": (lambda a, b: ca.fmin(ca.fmax(a, -0.4), 0.9) * b, [-0.4, 3.0]),
}


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("kink", KINKS)
def test_slopes_at_a_kink_are_the_mean_of_both_sides(kink: str, loops: bool, jax):
    """The mean is the symmetric difference, which is exact where both sides are straight."""
    function, point = KINKS[kink]
    x = ca.SX.sym("x", 2)
    program = Program.build("kink", {"x": x}, {"y": function(x[0], x[1])})
    at, h = np.array(point), 2.0**-10
    mean = [(program(at + h * e)[0][0] - program(at - h * e)[0][0]) / (2 * h) for e in np.eye(2)]
    for derivative in (jax.jacfwd, jax.jacrev):
        found = jax.jit(derivative(lambda x: as_jax(program, loops=loops)(x)[0]))(at)
        assert_allclose(np.ravel(found), mean, rtol=1e-12, atol=1e-15)


def test_slopes_by_other_arguments_may_be_infinite(jax):
    """Functions of parameters that have no derivative where they are, √0, asin 1, and powers of negative numbers: derivatives by
    the state do not depend on them."""
    x, p = ca.SX.sym("x", 2), ca.SX.sym("p", 3)
    value = ca.vertcat(x[0] * ca.sqrt(p[0]) + x[0] ** p[1], x[1] * ca.asin(p[2]) * ca.sqrt(p[0] * p[1]) + ca.sin(x[0] * p[2]))
    program = Program.build("singular", {"x": x, "p": p}, {"y": value})
    given = [np.array([-1.3, 0.4]), np.array([0.0, 2.0, 1.0])]
    expected = complex_step(program, "y", "x", given)
    assert np.isfinite(expected).all() and abs(expected).max() > 1
    for derivative in (jax.jacfwd, jax.jacrev):
        found = jax.jit(derivative(lambda x: as_jax(program, loops=True)(x, given[1])[0]))(given[0])
        assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


def test_second_derivatives_in_loops(jax):
    x = ca.SX.sym("x", 3)
    value = ca.sqrt(1 + x[0] ** 2) / (2 + x[1] * x[2]) + x[0] * x[1] ** 2
    program = Program.build("curved", {"x": x}, {"y": value})
    at = np.array([0.3, -0.4, 0.7])
    exact = ca.Function("h", [x], [ca.hessian(value, x)[0]])(at).full()
    for second in (jax.hessian, lambda f: jax.jacrev(jax.grad(f)), lambda f: jax.jacfwd(jax.jacfwd(f))):
        found = jax.jit(second(lambda x: as_jax(program, loops=True)(x)[0]))(at)
        assert_allclose(found, exact, rtol=1e-13, atol=1e-14)


def test_the_size_for_xla_does_not_grow_with_the_program(jax):
    """Value and gradient of chains of bodies, and of the bicycle of 23 coordinates with its 43 linear equations."""
    sizes, gradients = [], []
    for equations in (dr.derive(link_chain(16)), dr.derive(link_chain(64)), delebecque_bicycle()):
        program, p = equations.dynamics, equations.default_parameters
        x, u = np.array([s.default for s in equations.states]), np.zeros(len(equations.inputs))
        x += 0.01 * np.random.default_rng(3).normal(size=x.size)
        slope = partial(lambda function, u, p, x: function(0.0, x, u, p)[0], as_jax(program), u, p)
        assert len(live_values(program_to_ssa(program))) > 600
        sizes.append(equations_of(jax, slope, [x]))
        gradients.append(equations_of(jax, jax.grad(partial(lambda slope, x: slope(x).sum(), slope)), [x]))
        expected = program(0.0, x, u, p)[0]
        assert_allclose(jax.jit(slope)(x), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert sizes[1] < 1.5 * sizes[0] and max(sizes) < 150, sizes
    assert gradients[1] < 1.5 * gradients[0] and max(gradients) < 400, gradients


def test_short_programs_are_lists(jax):
    program = samples.sample()
    given = arguments(program)
    operations = {str(e.primitive) for e in jax.make_jaxpr(as_jax(program))(*given).jaxpr.eqns}
    assert "scan" not in operations
    assert "scan" in {str(e.primitive) for e in jax.make_jaxpr(as_jax(program, loops=True))(*given).jaxpr.eqns}
