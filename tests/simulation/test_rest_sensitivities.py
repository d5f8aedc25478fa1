"""Derivatives of the velocities of starts against extrapolated differences of whole starts (Richardson), for random members."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import draisine as dr
from draisine.program.variational import Direction
from draisine.simulation.initial import sensitivities
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.sensitivities import start_jacobian
from simulation.test_expected_starts import balancing_robot, car, castor_cart, skateboard


def pace() -> dr.Model:
    """A speed that is not linear in the velocities, of a car with a front wheel to steer."""
    m = car()
    m.output("pace", "sqrt(body_velocity_x(body)^2 + (2*rate_z(body))^2)", "m/s")
    return m


def extrapolated(value: Callable[[float], np.ndarray], step: float) -> np.ndarray:
    """The derivative by central differences of halved steps, extrapolated; the two results that agree best decide."""
    table: list[list[np.ndarray]] = []
    for k in range(6):
        h = step / 2**k
        row = [(value(h) - value(-h)) / (2 * h)]
        for j, before in enumerate(table[-1] if table else []):
            row.append(row[j] + (row[j] - before) / (4 ** (j + 1) - 1))
        table.append(row)
    ends = [row[-1] for row in table]
    errors = [float(np.abs(b - a).max()) for a, b in pairwise(ends)]
    return ends[int(np.argmin(errors)) + 1]


MEMBERS: list[tuple[Callable[[], dr.Model], dict[str, tuple[float, float]]]] = [
    (dr.gallery.bicycle, {"speed": (1.0, 8.0), "steer": (-0.5, 0.5), "lean": (-0.4, 0.4), "heading": (-3.0, 3.0)}),
    (dr.gallery.bicycle, {"speed": (1.0, 8.0), "roll_rate": (-1.0, 1.0), "steer": (-0.5, 0.5)}),
    (dr.gallery.sliding_bicycle, {"speed": (1.0, 8.0), "steer": (-0.4, 0.4), "lean": (-0.3, 0.3)}),
    (dr.gallery.rolling_torus, {"lean": (0.2, 0.5), "spin": (1.0, 6.0), "turn_rate": (-1.0, 1.0)}),
    (dr.gallery.snakeboard, {"speed": (0.5, 2.0), "front_steer": (0.1, 0.5), "board_heading": (-3.0, 3.0)}),
    (dr.gallery.four_bar, {"crank_angle": (0.6, 1.2), "crank_angle_rate": (1.0, 4.0)}),
    (balancing_robot, {"speed": (0.5, 2.0), "yaw_rate": (-1.0, 1.0), "pitch": (-0.3, 0.3)}),
    (skateboard, {"speed": (1.0, 4.0), "lean": (-0.2, 0.2)}),
    (castor_cart, {"speed": (0.5, 2.0), "fl_swivel": (-0.5, 0.5)}),
    (pace, {"pace": (2.0, 6.0), "steer": (0.1, 0.5)}),
]


@pytest.mark.parametrize(("model", "ranges"), MEMBERS)
def test_velocities_of_starts_are_differentiated_exactly(model, ranges, monkeypatch) -> None:
    problem, random = StartProblem(dr.derive(model())), np.random.default_rng(4)
    e = problem.equations
    monkeypatch.setattr(sensitivities, "velocity_differences", None)  # not needed for any of them
    for _ in range(3):
        targets = {name: float(random.uniform(*within)) for name, within in ranges.items() if name in problem.kinds}
        start = consistent_start(problem, targets)
        lengths = [i for i, p in enumerate(e.parameters) if p.unit in ("m", "rad") and p.default != 0.0]
        chosen = [int(i) for i in random.permutation(lengths)[:2]]
        directions = [Direction(e.parameters[i].name, "p", i) for i in chosen] + [Direction(name, "x", 0) for name in targets]
        _, dv, _ = start_jacobian(problem, targets, start, directions)
        for j, direction in enumerate(directions):

            def moved(by: float, direction: Direction = direction, targets: dict[str, float] = targets) -> np.ndarray:
                p, named = e.default_parameters.copy(), dict(targets)
                if direction.slot == "p":
                    p[direction.place] += by
                else:
                    named[direction.name] += by
                return consistent_start(problem, named, parameters=p).v

            size = abs(e.default_parameters[direction.place]) if direction.slot == "p" else abs(targets[direction.name])
            expected = extrapolated(moved, 0.03 * size)
            error = np.abs(dv[:, j] - expected).max() * size
            # of the reference: positions nearest to the defaults are iterated to 1e-10
            assert error <= 2e-10 * np.abs(start.v).max(), (targets, direction.name)


@pytest.mark.parametrize(("model", "ranges"), [MEMBERS[4], MEMBERS[5], MEMBERS[7]])
def test_starts_with_multipliers_as_unknowns_have_the_same_derivatives(model, ranges) -> None:
    described, random = model(), np.random.default_rng(5)
    problem, posed = StartProblem(dr.derive(described)), StartProblem(dr.dae.as_dae(described))
    targets = {name: float(random.uniform(*within)) for name, within in ranges.items()}
    lengths = [p.name for p in problem.equations.parameters if p.unit == "m" and p.default != 0.0][:2]
    found = []
    for one in (problem, posed):
        places = [[p.name for p in one.equations.parameters].index(name) for name in lengths]
        directions = [Direction(name, "p", place) for name, place in zip(lengths, places, strict=True)]
        directions += [Direction(name, "x", 0) for name in targets]
        found.append(start_jacobian(one, targets, consistent_start(one, targets), directions))
    velocities, unknowns = problem.unknowns[1], posed.unknowns[0]
    shared = [name for name in velocities if name in unknowns]
    assert shared
    expected = found[0][1][[velocities.index(name) for name in shared]]
    np.testing.assert_allclose(found[1][0][[unknowns.index(name) for name in shared]], expected, rtol=1e-7, atol=1e-7)
