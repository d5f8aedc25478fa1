"""The solver of starts on random linkages with random targets: as Python reads it, as machine code for one start, over a batch.

Numbers agree bit for bit. (Pages are compared in `studio/test_runtime.py`.)
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.errors import StartError
from draisine.program.equations import Equations, Kind
from draisine.simulation.initial import search, solver
from draisine.simulation.initial.batch import BatchStart, BatchTargets, consistent_starts, refusal
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from simulation.start_systems import mechanism

MEMBERS = 5


def linkage(random: np.random.Generator) -> Equations:
    """Points in a plane on rods to the origin and to each other, now and then one rod twice, and blades that forbid sliding."""
    count = int(random.integers(1, 4))
    q, v, lengths = ca.SX.sym("q", 2 * count), ca.SX.sym("v", 2 * count), ca.SX.sym("l", count)
    rows = {}
    for i in range(count):
        before = q[2 * i - 2 : 2 * i] if i and random.random() < 0.7 else ca.SX.zeros(2)
        rod = ca.sumsqr(q[2 * i : 2 * i + 2] - before) - lengths[i] ** 2
        if random.random() < 0.8:
            rows[f"rod{i}"] = (Kind.HOLONOMIC, rod)
            rows[f"rod{i}_rate"] = (Kind.HOLONOMIC, ca.jtimes(rod, q, v))
            if random.random() < 0.2:
                rows[f"rod{i}_again"] = (Kind.HOLONOMIC, -3.0 * rod)
        elif random.random() < 0.5:
            rows[f"blade{i}"] = (Kind.NONHOLONOMIC, v[2 * i] * ca.sin(q[2 * i + 1]) - v[2 * i + 1] * ca.cos(q[2 * i + 1]))
    outputs = {
        "sum": ca.sum1(q),
        "turn": ca.atan2(q[1], q[0]),
        "far": ca.sumsqr(q),
        "fast": ca.dot(q, v),
        "speed": ca.sqrt(ca.sumsqr(v[:2])),
    }
    defaults = random.uniform(-1.2, 1.2, 2 * count)
    return mechanism(
        "random_linkage",
        {f"q{i}": float(x) for i, x in enumerate(defaults)},
        [f"v{i}" for i in range(2 * count)],
        rows,
        outputs,
        q,
        v,
        p=lengths,
        parameters={f"l{i}": 1.0 for i in range(count)},
    )


def drawn(problem: StartProblem, random: np.random.Generator) -> BatchTargets:
    """Random targets of random quantities, some of which no member can have."""
    e = problem.equations
    names = [n for n in problem.kinds if problem.kinds[n] != "states"]
    chosen = random.choice(names, int(random.integers(0, 4)), replace=False)
    targets = {str(name): random.uniform(-1.5, 1.5, MEMBERS) for name in chosen}
    parameters = random.uniform(0.5, 1.5, (MEMBERS, len(e.parameters)))
    return BatchTargets(targets, {}, np.zeros((MEMBERS, 0)), parameters)


def check_same(one: BatchStart, other: BatchStart) -> None:
    np.testing.assert_array_equal(one.solved, other.solved)
    np.testing.assert_array_equal(one.refused, other.refused)
    np.testing.assert_array_equal(one.q[one.solved], other.q[one.solved])
    np.testing.assert_array_equal(one.v[one.solved], other.v[one.solved])


@pytest.mark.parametrize("seed", range(16))
def test_all_forms_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    problem = StartProblem(linkage(random), compiled=False)
    requested = drawn(problem, random)
    begun = consistent_starts(problem, requested)
    for member in range(MEMBERS):
        try:
            start = consistent_start(problem, requested.of(member), parameters=requested.parameters[member])
        except StartError as why:
            assert begun.refused[member]
            assert str(refusal(problem, requested, member)) == str(why)
        else:
            assert not begun.refused[member]
            if begun.solved[member]:  # else a single start was left to look for rows that only the report knows
                np.testing.assert_array_equal(begun.q[member], start.q)
                np.testing.assert_array_equal(begun.v[member], start.v)
    few = requested.rows(np.array([0, 1]))
    compiled = consistent_starts(problem, few)
    parts = (begun.q, begun.v, begun.extra, begun.solved, begun.refused, begun.parameters)
    check_same(compiled, BatchStart(*(numbers[:2] for numbers in parts)))
    monkeypatch.setattr(solver, "solver_code", lambda: search.run)
    check_same(consistent_starts(problem, few), compiled)


def test_both_outcomes_are_met() -> None:
    """The draws above have starts and have none, and some are found only far from the references."""
    settled = refused = 0
    for seed in range(16):
        random = np.random.default_rng(seed)
        problem = StartProblem(linkage(random), compiled=False)
        begun = consistent_starts(problem, drawn(problem, random))
        settled, refused = settled + int(begun.solved.sum()), refused + int(begun.refused.sum())
    assert settled > 20
    assert refused > 10
