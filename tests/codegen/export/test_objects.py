"""Programs as objects of CasADi and JAX."""

from __future__ import annotations

import sys

import casadi as ca
import export_samples as samples
import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine as dr
from draisine.codegen.export.casadi_and_jax import as_casadi, as_jax
from draisine.errors import ExportError

PROGRAMS = [samples.sample, samples.tables, samples.calling, samples.solved, samples.several_sides]
every_program = pytest.mark.parametrize("make", PROGRAMS, ids=lambda f: f.__name__)


def arguments(program) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=slot.shape if slot.shape[1] != 1 else slot.size) for slot in program.inputs]


def assert_same(mine, theirs) -> None:
    for a, b in zip(mine, theirs, strict=True):
        assert_allclose(np.asarray(a).ravel(order="F"), np.ravel(b, order="F"), rtol=1e-12, atol=1e-13)


@every_program
def test_casadi(make):
    program = make()
    function, given = as_casadi(program), arguments(program)
    assert function.name_in() == [s.name for s in program.inputs]
    assert_same([r.full() for r in function.call([ca.DM(g) for g in given])], program(*given))


@pytest.fixture
def jax():
    import jax as module  # takes a second

    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", False)


@every_program
def test_jax(make, jax):
    program = make()
    given = arguments(program)
    assert_same(jax.jit(as_jax(program))(*given), program(*given))


def assert_differentiated(jax, equations, x, u) -> None:
    """Values and Jacobians of the dynamics in operations of JAX, at several states."""
    p = equations.default_parameters
    slope = lambda x: as_jax(equations.dynamics)(0.0, x, u, p)[0]  # noqa: E731
    many = jax.jit(jax.vmap(slope))(x)
    assert_same([many], [np.array([equations.dynamics(0.0, row, u, p)[0] for row in x])])
    exact = equations.dynamics.jacobian("xdot", "x")(0.0, x[0], u, p)[0]
    assert_allclose(jax.jit(jax.jacfwd(slope))(x[0]), exact, rtol=1e-11, atol=1e-11)


def test_jax_differentiates_and_maps(jax):
    equations = dr.derive(dr.gallery.cart_pole_graph())
    states, inputs = len(equations.states), len(equations.inputs)
    assert_differentiated(jax, equations, np.random.default_rng(8).normal(size=(5, states)), np.ones(inputs))
    table = samples.tables()
    at = np.array([0.3, 0.4])
    assert_allclose(jax.jit(jax.jacrev(lambda x: as_jax(table)(x)[0]))(at), table(at)[1], rtol=1e-12, atol=1e-13)


def test_jax_differentiates_the_bicycle(jax):
    x = np.random.default_rng(8).normal(size=(5, 13)) * 0.2
    x[:, 3] += 1.0
    assert_differentiated(jax, dr.derive(dr.gallery.bicycle()), x, np.ones(3))


def test_jax_complains_by_name(jax):
    function = as_jax(samples.sample())
    with pytest.raises(TypeError, match=r"'sample' takes 4 arguments \(t, x, m, e\), got 1"):
        function(1.0)
    with pytest.raises(ValueError, match="argument 'x' needs 3 numbers, got 2"):
        function(1.0, np.ones(2), np.ones((2, 3)), np.ones(0))
    jax.config.update("jax_enable_x64", False)
    with pytest.warns(UserWarning, match="single precision"):
        as_jax(samples.sample())


def test_without_jax_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ExportError, match="need JAX, which is not installed: pip install jax"):
        as_jax(samples.sample())
