"""What makes contacts quick gives what the plain way gives: directions from three solutions, margins at few points, methods that
the loop changes."""

from __future__ import annotations

import numpy as np
import pytest
from test_bicycle_falls import falling_bicycle
from test_planar_slip import G, block

import draisine as dr
from draisine.codegen.restricted.types import Record
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.initial.batch import BatchTargets, consistent_starts
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.stepper.contact_directions import at_angle, know_turning, turn
from draisine.simulation.stepper.contact_laws import solve_choice
from draisine.simulation.stepper.contact_layout import SLIP, STICK, ContactModes
from draisine.simulation.stepper.layout import MARGIN_GRID, Stepper
from draisine.simulation.stepper.memory import Memory, no_switches
from draisine.simulation.stepper.method_change import FIRST_PRODUCTS, PRODUCTS, spectral_radius
from draisine.simulation.stepper.switch_location import stays_straight


def memory_of(model: dr.Model) -> Memory:
    e = dr.derive(model)
    kernels = prepare(e, quick=True).compiled(e.choice).kernels()
    x, p = np.zeros(len(e.states)), np.zeros(len(e.parameters) + len(e.mode_parameters))
    return Memory(
        kernels, dr.methods.DOP853(), x, np.zeros(len(e.inputs)), p, (0.0, 1.0), np.array([0.0]), switches=no_switches()
    )


def random_contacts(rng: np.random.Generator) -> ContactModes:
    """Two wheels and a point of a bicycle that are closed, with a random mass matrix behind their rows."""
    c: ContactModes = memory_of(falling_bicycle(0.6)).stepper.modes
    half = rng.normal(size=(c.rows, c.rows + 3))
    c.delassus[:] = half @ half.T
    c.target[:] = rng.normal(size=c.rows)
    c.coefficient[:] = 0.3
    c.active[:], c.choice[:] = 0, 0
    for i, choice in enumerate((SLIP, STICK, SLIP)):
        c.active[i], c.choice[i] = 1, choice
        angle = rng.uniform(0, 2 * np.pi)
        c.direction[i] = np.cos(angle), np.sin(angle)
        c.target[int(c.normal[i])] = -rng.uniform(1.0, 9.0)
    return c


@pytest.mark.parametrize("seed", range(10))
def test_three_solutions_give_those_of_all_directions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = random_contacts(rng)
    assert know_turning(c, 0)
    for angle in rng.uniform(0, 2 * np.pi, 8):
        quick, plain = at_angle(c, 0, float(angle), True), at_angle(c, 0, float(angle), False)
        assert quick == pytest.approx(plain, rel=1e-8, abs=1e-8 * float(np.abs(c.target).max()))


@pytest.mark.parametrize("seed", range(10))
def test_a_turned_slip_accelerates_along_its_direction(seed: int) -> None:
    c = random_contacts(np.random.default_rng(100 + seed))
    assert solve_choice(c)
    if turn(c, 0):  # else there is no such direction before a pole
        t = int(c.tangential[0])
        across = c.direction[0, 0] * c.result[t + 1] - c.direction[0, 1] * c.result[t]
        assert abs(across) < 1e-8 * float(np.hypot(c.result[t], c.result[t + 1]) + 1.0)


def test_margins_that_stay_straight_do_not_end() -> None:
    """Random polynomials of degree 4, those that an error-controlled step may have."""
    rng, memory, shown = np.random.default_rng(20), memory_of(block(0.5)), 0
    theta, s = np.linspace(0, 1, MARGIN_GRID + 1), memory.stepper
    for _ in range(2000):
        decay = 10.0 ** -rng.uniform(0.3, 1.5)
        coefficients = rng.normal(size=5) * decay ** np.arange(5)
        coefficients[0] = abs(coefficients[0]) * rng.choice([0.0, 0.1, 1.0])
        s.margin[:, s.modes.first_margin] = np.polynomial.polynomial.polyval(theta, coefficients)
        if stays_straight(s, s.modes.first_margin, MARGIN_GRID // 4):
            shown += 1
            assert np.polynomial.polynomial.polyval(np.linspace(1e-6, 1, 400), coefficients).min() >= 0.0
    assert shown > 500


def test_margins_on_lines_need_few_points() -> None:
    theta = np.linspace(0, 1, MARGIN_GRID + 1)
    for values, stays in (
        (1.0 - 0.9 * theta, True),
        (2.0 * theta, True),
        (1.0 - 1.1 * theta, False),
        ((theta - 0.5) ** 2, False),
    ):
        memory = memory_of(block(0.5))
        s = memory.stepper
        s.margin[:, s.modes.first_margin] = values
        assert bool(stays_straight(s, s.modes.first_margin, MARGIN_GRID // 4)) is stays


@pytest.mark.parametrize("seed", range(10))
def test_spectral_radius_of_stiff_jacobians(seed: int) -> None:
    """One eigenvalue far from the others, as that of a slow slip: to a few percent, which is what a limit of steps needs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    basis = rng.normal(size=(n, n))
    values = np.append(rng.uniform(-30, 0, n - 1), -(10.0 ** rng.uniform(3, 6)))
    matrix = basis @ np.diag(values) @ np.linalg.inv(basis)
    s = Stepper()
    s.states, s.width, s.entries = n, n, n * n
    rows, columns = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    s.entry_row, s.entry_column = rows.ravel().astype(np.int64), columns.ravel().astype(np.int64)
    s.by_state, s.rate, s.rhs = np.ascontiguousarray(matrix.ravel()), np.zeros(n), np.zeros(n)
    assert PRODUCTS > FIRST_PRODUCTS
    assert spectral_radius(s) == pytest.approx(np.abs(np.linalg.eigvals(matrix)).max(), rel=0.05)


def test_the_loop_changes_methods_and_the_motion_is_that_of_one() -> None:
    """A force that turns slowly begins a slip that is stiff: both methods in turn, the motion of Radau alone."""
    model = block(0.3)
    tight = {"rtol": 1e-10, "atol": 1e-12}
    start = {"z": 0.0, "x_rate": 0.0, "y_rate": 0.0}
    pull = {"pull_x": f"{0.3 * G}*(0.9 + 0.4*t)", "pull_y": f"{0.2 * G}*sin(3*t)"}
    runs = [
        dr.simulate(model, 1.0, start=start, method=method(**tight), samples=11, inputs=pull)
        for method in (dr.methods.Auto, dr.methods.Radau)
    ]
    first, second = runs
    assert "Radau" in str(first.status) and "DOP853" in str(first.status)
    for name in ("x", "y", "x_rate", "y_rate"):
        np.testing.assert_allclose(first[name], second[name], atol=1e-7)


def test_records_are_cloned_with_their_arrays() -> None:
    c = memory_of(block(0.5)).stepper.modes
    assert isinstance(c, Record)
    one = c.clone()
    assert one.rows == c.rows and one.normal.tolist() == c.normal.tolist()
    one.delassus[0, 0] = 7.0
    assert c.delassus[0, 0] == 0.0


def test_starts_in_batches_are_those_of_single_runs() -> None:
    """Bit for bit where wheels roll and nothing else touches; members that must slip or touch are left to the search of modes."""
    e, rng, count = dr.derive(falling_bicycle(0.6)), np.random.default_rng(5), 12
    problem = StartProblem(e)
    names = {"speed": (0.5, 8.0), "roll_rate": (-2.0, 2.0), "steer": (-0.3, 0.3), "lean": (-0.4, 0.4)}
    drawn = {name: rng.uniform(*between, count) for name, between in names.items()}
    drawn["lean"][-2:] = 1.5  # a grip or a pedal is below the ground
    p = np.tile([q.default for q in (*e.parameters, *e.mode_parameters)], (count, 1))
    requested = BatchTargets(drawn, {}, np.zeros((count, len(e.inputs))), p)
    found = consistent_starts(problem, requested)
    assert found.solved.tolist() == [True] * (count - 2) + [False] * 2
    assert not found.refused.any()
    x = found.states(e)
    for i in range(count - 2):
        single = consistent_start(problem, requested.of(i), parameters=p[i])
        assert x[i].tobytes() == single.x.tobytes()
        assert found.parameters[i].tobytes() == single.given[2].tobytes()
    assert found.parameters[-1].tobytes() == p[-1].tobytes()
