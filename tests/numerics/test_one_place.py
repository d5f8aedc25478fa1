"""Numerical methods are written once: no loop outside `numerics` takes steps of Newton's method, no pool of threads is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import house

import draisine

SOURCE = Path(draisine.__file__).parent
SOLVES = {"lstsq", "solve", "pinv", "splu", "lu_solve", "spsolve"}

# loops that solve linear equations and are no iteration towards a root, or stay with a reason
LOOPS = {
    "dynamics/reduced/independent_velocities.py": "eliminates blocks of velocities, one after the other",
    "estimation/filters/methods.py": "one update of a filter for each sample",
    "estimation/initial_guess.py": "an iterated Kalman update, each of which costs a run",
    "optimal/adjoint/descent.py": "first multipliers, with the bounds that hold",
    "dynamics/dae/mechanical_index.py": "one admissible velocity for each configuration",
    "estimation/filters/filter_result.py": "a consistency statistic for each sample",
    "estimation/window_chain.py": "eliminates windows, one after the other",
    "simulation/initial/result.py": "rates of 0 = F, in a module that every run loads; its head says why",
    "symbolic/kane.py": "what a row has beside others, for each state",
}


def loops_that_solve(path: Path) -> Iterator[int]:
    text = path.read_text()
    if "linalg" not in text:  # most files: parsing them all takes seconds
        return
    for node in ast.walk(house.parsed(path)):
        if isinstance(node, ast.For | ast.While):
            for inner in ast.walk(node):
                if (
                    isinstance(inner, ast.Call)
                    and isinstance(inner.func, ast.Attribute)
                    and inner.func.attr in SOLVES
                    and isinstance(inner.func.value, ast.Attribute)
                    and inner.func.value.attr == "linalg"
                ):
                    yield node.lineno


def files() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path


def test_loops_that_solve_linear_equations_are_known() -> None:
    found = {name for name, path in files() if not name.startswith(("numerics/", "gallery/")) and list(loops_that_solve(path))}
    assert found <= set(LOOPS), f"use numerics.newton, or say here what else it is: {sorted(found - set(LOOPS))}"


def test_a_planted_loop_is_seen(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("for _ in range(9):\n    x = x - np.linalg.solve(j(x), f(x))\n")
    assert list(loops_that_solve(planted)) == [1]


@pytest.mark.parametrize("word", ["ThreadPoolExecutor(", "brentq", "leggauss"])
def test_what_has_one_place(word: str) -> None:
    allowed = ("numerics/", "gallery/")
    assert not [name for name, path in files() if word in path.read_text() and not name.startswith(allowed)]
