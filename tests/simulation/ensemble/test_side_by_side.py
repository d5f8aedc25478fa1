"""Lanes side by side: wide kernels against scalar ones, and groups of lanes against lanes one after the other, bit by bit."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.codegen.host import lane_count
from draisine.codegen.jit.kernel import compile_hoisted
from draisine.codegen.passes import parameter_slot
from draisine.codegen.passes.pipeline import hoisted_parts
from draisine.codegen.simd import compile_vector
from draisine.expr.tables import Table
from draisine.program.program import Program
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.ensemble import batch_stepper as stepping
from draisine.simulation.ensemble.batch import BEGIN, SKIP, UNFINISHED, advance_groups, advance_samples
from draisine.simulation.ensemble.batch_stepper import LEFT, BatchState, BatchStepper, wide_dynamics
from draisine.simulation.ensemble.block import Finished, Shared, Worker
from draisine.simulation.ensemble.outputs import Reporter
from draisine.simulation.initial.batch import BatchTargets
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.methods.selection import Method, select_method


@pytest.fixture(params=[2, 4, 8], ids="{} lanes".format, autouse=True)
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Every width, whatever this machine's registers hold."""
    monkeypatch.setenv("DRAISINE_LANES", str(request.param))
    assert lane_count() == request.param
    return int(request.param)


@pytest.fixture(scope="module")
def bicycle() -> dr.Equations:
    return dr.derive(dr.gallery.bicycle())


def of_lanes(program: Program, *arguments: np.ndarray) -> list[np.ndarray]:
    """Call the wide kernel; arguments and results (entries, lanes)."""
    kernel = compile_vector(program)
    lanes = arguments[0].shape[1]
    assert kernel.lanes == lanes
    given = [np.ascontiguousarray(a, dtype=float) for a in arguments]
    taken = [np.zeros((slot.size, lanes)) for slot in program.outputs]
    tables = [(ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays]) for arrays in (given, taken)]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)(*(ctypes.addressof(table) for table in tables))
    return taken


def same_as_scalar(program: Program, *columns: np.ndarray) -> None:
    """Samples in columns, in as many calls as it takes; the last ones again where lanes are left."""
    lanes, count = lane_count(), columns[0].shape[1]
    for first in range(0, count, lanes):
        chosen = np.minimum(np.arange(first, first + lanes), count - 1)
        same_in_each_lane(program, *(a[:, chosen] for a in columns))


def same_in_each_lane(program: Program, *arguments: np.ndarray) -> None:
    kernel, slot = compile_hoisted(program), parameter_slot(program)
    extended = [kernel.extended(a.T).T if k == slot else a for k, a in enumerate(arguments)]
    wide = of_lanes(program, *extended)
    for lane in range(arguments[0].shape[1]):
        for expected, found in zip(kernel.kernel(*(a[:, lane] for a in extended)), wide, strict=True):
            np.testing.assert_array_equal(found[:, lane], expected.reshape(-1, order="F"))


def test_the_bicycle_in_lanes(bicycle: dr.Equations, lanes: int) -> None:
    random = np.random.default_rng(2)
    upright = dr.consistent_start(bicycle, {"speed": 5.0}).x
    x = upright[:, None] + 0.2 * random.standard_normal((len(upright), lanes))
    u = random.standard_normal((len(bicycle.inputs), lanes))
    p = bicycle.default_parameters[:, None] * random.uniform(0.9, 1.1, (len(bicycle.parameters), lanes))
    assert isinstance(bicycle.dynamics, Program)
    same_as_scalar(bicycle.dynamics, np.zeros((1, lanes)), x, u, p)


def test_operations_and_angles_of_every_size() -> None:
    """Branches, roots, extremes and signs; angles in every quarter, NaN, and such as only the C library reduces."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    results = [
        ca.sin(x),
        ca.cos(x),
        ca.sqrt(ca.fabs(x)),
        ca.fmin(x, y),
        ca.fmax(x, y),
        ca.copysign(x, y),
        ca.sign(x),
        ca.floor(x),
    ]
    results += [
        ca.if_else(x < y, x * y, x / y),
        ca.logic_and(x > 0, y > 0),
        ca.logic_not(x <= y),
        ca.if_else(x == y, 1, 0),
        -x,
        1 / y,
    ]
    program = Program.build("operations", {"x": x, "y": y}, {"all": ca.vertcat(*results)})
    for angles in (
        [0.1, 1.7, 3.3, 5.0],
        [-0.5, -2.0, -4.0, -6.1],
        [1e3, 2e5, -7e5, 0.0],
        [1e6, 0.3, -1e12, 3e8],
        [np.nan, 1.0, 2.0, 3.0],
    ):
        same_as_scalar(program, np.array([angles]), np.array([[2.0, -1.0, 3.3, 0.25]]))


def test_functions_of_the_library_are_called_lane_by_lane() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    results = [x**2.5, ca.atan2(x, y), ca.tanh(x), ca.exp(y), ca.log(x), ca.fmod(x, y)]
    program = Program.build("library", {"x": x, "y": y}, {"all": ca.vertcat(*results)})
    same_as_scalar(program, np.array([[0.3, 1.7, 2.5, 9.0]]), np.array([[2.0, -1.0, 3.3, 0.25]]))


def test_tables_are_looked_up_lane_by_lane() -> None:
    """Curves and a surface with their derivatives; every lane in another cell, on knots, outside, and nowhere (NaN)."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    knots, random = np.array([0.0, 0.5, 1.0, 2.0, 3.5, 4.0]), np.random.default_rng(3)
    curves = [Table("hill", knots, random.uniform(size=6), kind) for kind in ("linear", "spline")]
    surface = Table("land", (knots, knots[:5]), random.uniform(size=(6, 5)))
    found = ca.vertcat(*(curve(x) for curve in curves), surface(x, y))
    program = Program.build("tables", {"x": x, "y": y}, {"found": found, "jacobian": ca.jacobian(found, ca.vertcat(x, y))})
    for at in ([0.2, 0.7, 2.2, 3.9], [0.0, 1.0, 4.0, 3.5], [-1.0, 9.0, -1e300, 1e300], [np.nan, 1.0, np.inf, -np.inf]):
        same_as_scalar(program, np.array([at]), np.array([at[::-1]]))


@pytest.fixture(scope="module")
def long_chain() -> Program:
    """Longer than what is compiled in one piece."""
    dynamics = dr.derive(dr.gallery.link_chain(50)).dynamics
    assert isinstance(dynamics, Program)
    return dynamics


def test_a_long_chain_in_lanes(long_chain: Program, lanes: int) -> None:
    random = np.random.default_rng(4)
    arguments = [random.uniform(0.1, 1.0, (slot.size, lanes)) for slot in long_chain.inputs]
    assert len(hoisted_parts(long_chain).evaluation.values) > 4000
    same_as_scalar(long_chain, *arguments)


@pytest.mark.parametrize(
    "method", [dr.methods.DOP853(rtol=1e-6, atol=1e-6), dr.methods.RK4(step=0.001)], ids=["adaptive", "fixed step"]
)
def test_groups_make_the_same_steps(bicycle: dr.Equations, method: Method) -> None:
    """Lanes that go on, fall at different times and change velocities, in numbers that do not fill the last group."""
    count = 22
    random = np.random.default_rng(1)
    targets = {"roll_rate": random.uniform(-3, 3, count), "speed": random.uniform(2, 8, count)}
    parameters = bicycle.default_parameters * random.uniform(0.99, 1.01, (count, len(bicycle.parameters)))
    requested = BatchTargets(targets, {}, np.zeros((count, len(bicycle.inputs))), parameters)
    choices, starts, samples = prepare(bicycle), StartProblem(bicycle), np.linspace(0.0, 2.0, 9)
    reporter, stop = Reporter.of(bicycle, ["lean", "steer"]), np.zeros(1, dtype=np.int64)

    def run(side_by_side: bool) -> Finished:
        shared = Shared(
            choices, starts, method, select_method(method, bicycle), 2.0, samples, reporter, stop, side_by_side=side_by_side
        )
        shared.ready(requested.rows(np.array([0])))
        assert all((kernel is not None) == side_by_side for kernel in shared.wide.values())
        finished = Worker(shared)(requested, np.ones(count, dtype=bool))
        assert finished is not None
        return finished

    single, grouped = run(False), run(True)
    assert grouped.status.tolist() == single.status.tolist() and set(single.status) == {"EVENT", "FINISHED"}
    for name in ("values", "ended", "first", "count", "steps", "evaluations"):
        np.testing.assert_array_equal(getattr(grouped, name), getattr(single, name))


@pytest.mark.parametrize("side_by_side", [False, True], ids=["one after the other", "side by side"])
def test_compiled_as_it_reads(side_by_side: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop as Python runs it leaves what its machine code leaves, to the bit."""
    angle, rate = sp.symbols("angle rate")
    length = sp.Symbol("length")
    equations = dr.first_order("pendulum", {angle: rate, rate: -9.81 / length * sp.sin(angle)}, parameters={length: 1.0})
    compiled, method = prepare(equations).compiled(equations.independent), dr.methods.RK4(step=0.05)
    wide = wide_dynamics(equations, select_method(method, equations)) if side_by_side else None
    x = np.random.default_rng(2).uniform(-1.0, 1.0, (6, 2))
    left = []
    for interpreted in (False, True):
        if interpreted:
            monkeypatch.setattr(stepping, "batch_code", lambda wide: advance_groups if wide else advance_samples)
        moved = BatchState.of(x, np.zeros((6, 0)), np.linspace(0.5, 2.0, 6)[:, None], 3, 0)
        step = BatchStepper(
            compiled, select_method(method, equations), 0.4, np.array([0.1, 0.2, 0.3]), np.zeros(1, dtype=np.int64), wide
        )
        step(moved, np.array([BEGIN, SKIP, BEGIN, BEGIN, BEGIN, BEGIN]))
        left.append(moved)
    assert (left[0].reason != UNFINISHED).tolist() == [True, False, True, True, True, True]
    for name in LEFT:
        np.testing.assert_array_equal(getattr(left[0], name), getattr(left[1], name))
