"""Models as functions of JAX: values and derivatives from kernels, against Jacobians and sensitivities of the package."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import draisine as dr
from draisine.codegen.derivative_maps import ProgramMap, RunMap, StepMap, as_maps
from draisine.program.variational import Direction
from draisine.simulation.run import integrate
from draisine.simulation.sensitivity import integrate_varied

STEP = 0.01
START = {"speed": 4.6, "roll_rate": 0.1}


@pytest.fixture(scope="module")
def bicycle():
    return dr.derive(dr.gallery.bicycle(), work=False)


@pytest.fixture(scope="module")
def x(bicycle):
    return dr.consistent_start(bicycle, START).x


@pytest.fixture
def jax():
    import jax as module  # takes a second

    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", False)


def every_slot(random, what):
    return [random.normal(size=(3, *shape)) for shape in what.argument_shapes]


def assert_derivatives(what, arguments, random, step=1e-6):
    """Forward by central differences, reverse by the scalar product ⟨λ, J d⟩ = ⟨Jᵀλ, d⟩."""
    changes, weights = every_slot(random, what), random.normal(size=(3, *what.result_shape))
    ahead, behind = (what.value(*(a + s * step * d for a, d in zip(arguments, changes, strict=True))) for s in (1, -1))
    forward = what.forward(arguments, changes)
    size = np.abs(forward).max()
    assert_allclose(forward, (ahead - behind) / (2 * step), rtol=0, atol=2e-6 * size)
    reverse = what.reverse(arguments, weights)
    left = np.sum(forward * weights, axis=tuple(range(1, weights.ndim)))
    right = sum(np.sum(r * d, axis=tuple(range(1, d.ndim))) for r, d in zip(reverse, changes, strict=True))
    assert_allclose(left, right, rtol=1e-11, atol=1e-11 * size)


@pytest.mark.parametrize("name", ["bicycle", "cartesian_double_pendulum"])
def test_derivatives_of_dynamics_and_steps(name):
    """The second one solves a linear system at every evaluation, and its state is projected."""
    random, model = np.random.default_rng(3), dr.gallery.model(name)
    equations = model if isinstance(model, dr.Equations) else dr.derive(model, work=False)
    start = dr.consistent_start(equations, START if name == "bicycle" else {}).x
    given = [np.tile(a, (3, 1)) for a in ([0.3], start, np.full(len(equations.inputs), 0.2), equations.default_parameters)]
    assert_derivatives(ProgramMap(equations.explicit), given, random)
    # away from the constraint, so that projections take part
    given[1] = given[1] + 1e-9 * random.normal(size=given[1].shape)
    step = StepMap(equations, STEP)
    assert step.traced(given)[1].projections
    assert_derivatives(step, given, random)


@pytest.mark.parametrize("projected", [False, True])
def test_a_run_is_that_of_simulate_and_so_are_its_gradients(jax, bicycle, projected):
    """Gradients are projected in every step, sensitivities of `simulate` where they have drifted by the limit of the residual,
    1e-11; where this limit is zero both are the same."""
    if projected:
        bicycle = replace(bicycle, limits=bicycle.limits._replace(residual=1e-17))
    begin = {**START, "roll_rate": 0.4, "lean": 0.1} if projected else START
    f, x = dr.as_jax(bicycle, step=STEP), dr.consistent_start(bicycle, begin).x
    u, p, steps = np.array([0.1, 0.0, 1.0]), f.p, 50
    states = np.asarray(f.run(x, np.tile(u, (steps, 1)), p))
    single = integrate(bicycle, x, steps * STEP, inputs=u, method=dr.methods.RK4(STEP))
    assert_allclose(states[-1], single.final_state, rtol=0, atol=1e-14)

    names = [*f.p_names]
    directions = [Direction(n, "p", names.index(n)) for n in ("trail", "m_frame", "r_rear_wheel")] + [
        Direction("steer_torque", "u", 0)
    ]
    ours = integrate_varied(bicycle, x, np.zeros((13, 4)), steps * STEP, directions, inputs=u, method=dr.methods.RK4(STEP)).final[
        1
    ]
    weights = np.random.default_rng(1).normal(size=13)

    def loss(x, u, p):
        return f.run(x, u, p)[-1] @ weights

    by_x, by_u, by_p = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(x, np.tile(u, (steps, 1)), p)
    found = [*(float(by_p[d.place]) for d in directions[:3]), float(by_u[:, 0].sum())]
    apart = 1e-12 if projected else 5e-11
    assert_allclose(found, weights @ ours, rtol=1e-12, atol=apart)
    change = np.random.default_rng(2).normal(size=13)
    _, along = jax.jvp(lambda x: loss(x, np.tile(u, (steps, 1)), p), (x,), (change,))
    assert_allclose(float(along), float(by_x @ change), rtol=1e-12)


def test_gradients_by_all_parameters_and_the_whole_start_are_those_of_the_run_itself(jax, bicycle):
    """Also by those that move the constraints, a radius or the height of the frame: the run projects its states onto them.

    Differences of the fourth order with two spans; a projection that a residual below 1e-11 leaves out moves them by 1e-11 per
    span.
    """
    f, x = dr.as_jax(bicycle, step=STEP), dr.consistent_start(bicycle, {**START, "roll_rate": 0.4, "lean": 0.1, "steer": 0.05}).x
    u, n, run = np.tile([0.1, 0.0, 1.0], (50, 1)), len(x), as_maps(bicycle, STEP).run(50)
    start, around = np.concatenate([x, f.p]), np.diag(np.maximum(np.abs(np.concatenate([x, f.p])), 0.1))

    def difference(span):
        rows = np.concatenate([start + span * around, start - span * around])
        ends = run.value(rows[:, :n], np.tile(u, (len(rows), 1, 1)), rows[:, n:])[:, -1]
        ahead, behind = np.split(ends, 2)
        return (ahead - behind) / (2 * span * np.diag(around)[:, None])

    expected = (4 * difference(1e-4) - difference(2e-4)) / 3
    by_x, by_p = jax.jit(jax.jacrev(lambda x, p: f.run(x, u, p)[-1], argnums=(0, 1)))(x, f.p)
    found = np.concatenate([by_x, by_p], axis=1).T
    size = np.abs(expected).max(axis=1, keepdims=True)
    assert_allclose(found / size, expected / size, rtol=0, atol=1e-6)
    along = jax.jacfwd(lambda x, p: f.run(x, u, p)[-1], argnums=(0, 1))(x, f.p)
    assert_allclose(np.concatenate(along, axis=1).T, found, rtol=0, atol=1e-11 * size.max())
    height, radius = f.x_names.index("frame_z"), n + f.p_names.index("r_rear_wheel")
    assert abs(found[height, height]) < 0.1 and 0.9 < found[radius, height] < 1.1


def test_jacobians_forward_and_reverse_single_and_mapped(jax, bicycle, x):
    f = dr.as_jax(bicycle, step=STEP)
    u, p = np.array([0.1, 0.2, 0.3]), f.p
    exact = bicycle.dynamics.jacobian("xdot", "p")(0.0, x, u, p)[0]
    for differentiate in (jax.jacfwd, jax.jacrev):
        assert_allclose(jax.jit(differentiate(lambda p: f.dynamics(0.0, x, u, p)))(p), exact, rtol=1e-12, atol=1e-12)
    many = x + 1e-3 * np.random.default_rng(5).normal(size=(6, 13))
    mapped = jax.jit(jax.vmap(jax.jacrev(lambda x: f.step(0.0, x, u, p))))(many)
    one = jax.jit(jax.jacfwd(lambda x: f.step(0.0, x, u, p)))
    single = np.array([one(row) for row in many])
    assert mapped.shape == (6, 13, 13)
    assert_allclose(mapped, single, rtol=1e-12, atol=1e-12)
    # two axes, one of them of the inputs
    values = jax.jit(jax.vmap(lambda u: jax.vmap(lambda x: f.dynamics(0.0, x, u, p))(many)))(np.stack([u, 2 * u]))
    expected = [[bicycle.dynamics(0.0, row, v, p)[0] for row in many] for v in (u, 2 * u)]
    assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def test_what_is_refused(jax, bicycle, x):
    f = dr.as_jax(bicycle)
    u, p = np.zeros(3), f.p
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        jax.jit(jax.grad(lambda x: jax.grad(lambda x: f.dynamics(0.0, x, u, p)[10])(x)[0]))(x)
    with pytest.raises(ValueError, match=r"dynamics: argument 2 needs the shape \(13,\), got \(2,\)"):
        f.dynamics(0.0, np.zeros(2), u, p)
    with pytest.raises(ValueError, match=r"u needs one row of inputs per step"):
        f.run(x, u, p)
    with pytest.raises(ValueError, match="step is that of the method in seconds"):
        dr.as_jax(bicycle, step=-1.0)
    y, v = sp.symbols("y v")
    friction = dr.as_jax(dr.first_order("dry_friction", {y: v, v: -y - 0.1 * sp.sign(v)}))
    assert friction.dynamics(0.0, [1.0, 2.0], [], []).tolist() == [2.0, -1.1]
    with pytest.raises(ValueError, match="the state derivative of 'dry_friction' switches"):
        friction.step(0.0, [1.0, 2.0], [], [])
    jax.config.update("jax_enable_x64", False)
    with pytest.warns(UserWarning, match="single precision"):
        dr.as_jax(bicycle)


def test_a_state_of_ill_conditioned_velocities_is_no_number(bicycle, x):
    """`simulate` changes its independent velocities there; a differentiable step does not pretend."""
    lying = dr.consistent_start(bicycle, {"speed": 1.0, "steer": 1.45}).x
    given = [np.atleast_2d(a) for a in ([0.0], lying, np.zeros(3), bicycle.default_parameters)]
    condition = bicycle.monitor(0.0, lying, np.zeros(3), bicycle.default_parameters)[0]
    found = RunMap(StepMap(bicycle, STEP), 2).value(given[1], np.zeros((1, 2, 3)), given[3])
    assert (condition > bicycle.limits.condition) == bool(np.isnan(found[0, -1]).all())


def test_without_jax_the_message_says_what_to_do(monkeypatch, bicycle):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"as_jax needs jax, which is not available .* pip install jax"):
        dr.as_jax(bicycle)
