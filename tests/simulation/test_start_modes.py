"""The solver of starts on random linkages with random targets: as Python reads it, as machine code for one start, over a batch.

Numbers agree bit for bit. (Pages are compared in `studio/test_runtime.py`.)
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.errors import StartError
from draisine.program.equations import Equations, Kind
from draisine.simulation.initial import solver, tasks
from draisine.simulation.initial.batch import Asked, Begun, begin_all, refusal
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


def drawn(problem: StartProblem, random: np.random.Generator) -> Asked:
    """Random targets of random quantities, some of which no member can have."""
    e = problem.equations
    names = [n for n in problem.kinds if problem.kinds[n] != "states"]
    chosen = random.choice(names, int(random.integers(0, 4)), replace=False)
    targets = {str(name): random.uniform(-1.5, 1.5, MEMBERS) for name in chosen}
    parameters = random.uniform(0.5, 1.5, (MEMBERS, len(e.parameters)))
    return Asked(targets, {}, np.zeros((MEMBERS, 0)), parameters)


def check_same(one: Begun, other: Begun) -> None:
    np.testing.assert_array_equal(one.settled, other.settled)
    np.testing.assert_array_equal(one.refused, other.refused)
    np.testing.assert_array_equal(one.q[one.settled], other.q[one.settled])
    np.testing.assert_array_equal(one.v[one.settled], other.v[one.settled])


@pytest.mark.parametrize("seed", range(16))
def test_all_forms_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    problem = StartProblem(linkage(random), compiled=False)
    asked = drawn(problem, random)
    begun = begin_all(problem, asked)
    for member in range(MEMBERS):
        try:
            start = consistent_start(problem, asked.of(member), asked.parameters[member])
        except StartError as why:
            assert begun.refused[member]
            assert str(refusal(problem, asked, member)) == str(why)
        else:
            assert not begun.refused[member]
            if begun.settled[member]:  # else a single start was left to look for rows that only the report knows
                np.testing.assert_array_equal(begun.q[member], start.q)
                np.testing.assert_array_equal(begun.v[member], start.v)
    few = asked.rows(np.array([0, 1]))
    compiled = begin_all(problem, few)
    check_same(compiled, Begun(*(numbers[:2] for numbers in (begun.q, begun.v, begun.extra, begun.settled, begun.refused))))
    monkeypatch.setattr(solver, "solver_code", lambda: tasks.run)
    check_same(begin_all(problem, few), compiled)


def test_both_outcomes_are_met() -> None:
    """The draws above have starts and have none, and some are found only far from the references."""
    settled = refused = 0
    for seed in range(16):
        random = np.random.default_rng(seed)
        problem = StartProblem(linkage(random), compiled=False)
        begun = begin_all(problem, drawn(problem, random))
        settled, refused = settled + int(begun.settled.sum()), refused + int(begun.refused.sum())
    assert settled > 20
    assert refused > 10
