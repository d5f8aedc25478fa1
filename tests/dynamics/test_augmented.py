"""Second-order systems with constraints: errors name their cause for any size, and sparsity is kept."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.codegen.jit.kernel import compile
from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.gallery.entries.delebecque_bicycle import delebecque_bicycle
from draisine.program.equations import Quantity
from draisine.program.linear_solve import Solver


def masses_on_springs(n: int, constraints: dict[str, object], massless: tuple[int, ...] = ()) -> SecondOrder:
    """n masses in a row; `constraints` are functions of q."""
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    weights = np.array([0.0 if k in massless else 1.0 + 0.01 * k for k in range(n)])
    pull = -q + ca.vertcat(q[1:], 0)
    return SecondOrder(
        name="row",
        t=ca.SX.sym("t"),
        q=q,
        v=v,
        u=ca.SX(0, 1),
        p=ca.SX(0, 1),
        coordinates=tuple(Quantity(f"q{k}", "m") for k in range(n)),
        velocities=tuple(Quantity(f"v{k}", "m/s") for k in range(n)),
        inputs=(),
        parameters=(),
        q_rate=v,
        mass=ca.sparsify(ca.diag(ca.SX(weights))),
        force=pull,
        driven=ca.SX(n, 1),
        kinetic=ca.dot(weights, v**2) / 2,
        potential=ca.sumsqr(q) / 2,
        holonomic=[(name, f(q)) for name, f in constraints.items()],
    )


@pytest.mark.parametrize("n", [6, 600])
def test_dependent_constraints_are_named(n):
    fine = {f"equal{k}": lambda q, k=k: q[k] - q[k + 1] for k in range(0, n - 2)}
    augmented(masses_on_springs(n, fine))
    with pytest.raises(dr.errors.ModelError, match="the constraints 'equal1', 'equal2', 'twice' depend on each other"):
        augmented(masses_on_springs(n, {**fine, "twice": lambda q: 1e3 * (q[1] - q[3])}))
    two = {"twice": lambda q: 1e3 * (q[1] - q[3]), "again": lambda q: q[0] - q[1]}
    with pytest.raises(dr.errors.ModelError, match="'equal0', 'equal1', 'equal2', 'twice', 'again' depend on each other"):
        augmented(masses_on_springs(n, {**fine, **two}))


@pytest.mark.parametrize("n", [6, 600])
def test_what_has_no_mass_must_be_held(n):
    with pytest.raises(dr.errors.ModelError, match="determine the acceleration of 'v2'"):
        augmented(masses_on_springs(n, {}, massless=(2,)))
    with pytest.raises(dr.errors.ModelError, match="determine the acceleration of 'v2', 'v4'"):
        augmented(masses_on_springs(n, {"tied": lambda q: q[2] + q[4]}, massless=(2, 4)))
    held = augmented(masses_on_springs(n, {"held": lambda q: q[2] - q[3]}, massless=(2,)))
    assert held.dynamics([0.0], np.zeros(2 * n), [], [])[0] == pytest.approx(np.zeros(2 * n), abs=1e-12)


def test_wild_scales_are_no_fault():
    """Masses from 1e-6 to 1e6 and rows of micrometers beside kilometers are regular."""
    system = masses_on_springs(5, {"small": lambda q: 1e-6 * (q[0] - q[1]), "large": lambda q: 1e6 * (q[2] - q[3])})
    system.mass = ca.diag(ca.SX([1e-6, 1.0, 1e6, 1e-3, 1e3]))
    augmented(system)


def test_a_configuration_that_cannot_be_computed_is_said():
    with pytest.raises(dr.errors.ModelError, match="not finite near the default configuration"):
        augmented(masses_on_springs(3, {"far": lambda q: ca.sqrt(q[0] - 5) - 1}))


def test_bicycle_dense_and_sparse():
    """43 unknowns: both solvers give the interpreter's accelerations; neither computes zeros."""
    equations = delebecque_bicycle()
    dynamics = equations.dynamics
    assert dynamics.entry_pattern.nnz() < 250 and dynamics.size == 43
    rng = np.random.default_rng(0)
    state = np.array([s.default for s in equations.states]) + rng.normal(scale=0.05, size=len(equations.states))
    given = ([0.0], state, [1.0, -2.0], equations.default_parameters)
    expected = dynamics(*given)[0]
    scale = np.abs(expected).max()
    for solver in (Solver.DENSE, Solver.SPARSE):
        forced = delebecque_bicycle(solver)
        assert forced.dynamics.sparse == forced.report.sparse == (solver == Solver.SPARSE)
        assert compile(forced.dynamics)(*given)[0] == pytest.approx(expected, rel=1e-9, abs=1e-10 * scale)


def test_units_of_reactions():
    x, y = dynamicsymbols("x y")
    m = sp.Symbol("m")
    e = dr.lagrangian(
        "slider", [x, y], m * (x.diff() ** 2 + y.diff() ** 2) / 2, parameters={m: 2.0},
        holonomic={"rail": y - x / 2}, units={x: "m", "rail": "m"},
    )  # fmt: skip
    assert [q.unit for q in e.multipliers] == ["N"]
    assert [c.unit for c in e.constraints] == ["m", "m/s"]
    with pytest.raises(dr.errors.ModelError, match="unit is given for 'rial'"):
        dr.lagrangian("s", [x], m * x.diff() ** 2, parameters={m: 2.0}, holonomic={"rail": x}, units={"rial": "m"})
