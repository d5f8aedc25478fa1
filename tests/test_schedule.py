"""The schedule of cases names tests that exist, and is what measured times give."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import schedule

HERE = Path(__file__).parent.parent


@pytest.mark.parametrize("file", schedule.read())
def test_names_exist(file: str) -> None:
    """A test that is renamed would run all its cases; one that is gone would stay in the list."""
    names = {
        node.name for node in ast.walk(ast.parse((HERE / file).read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }
    for name in schedule.read()[file]:
        last = re.split(r"::|\.", name)[-1]
        assert last in names, name


def test_counts_follow_the_measured_times(tmp_path: Path) -> None:
    """Cheap tests and those marked by hand are not named; one slow case runs in no quick run, of a class the first ones."""
    costs = [
        ("tests/a.py::test_cheap[1]", 0.1, False),
        ("tests/a.py::test_slow", 1.5, False),
        ("tests/a.py::test_long", 9.0, True),
    ]
    costs += [(f"tests/b.py::Group::test_class[{k}]", 0.19, False) for k in range(20)]
    counts = schedule.planned(costs)
    assert counts == {"tests/a.py": {"test_slow": 0}, "tests/b.py": {"Group::test_class": 2}}
    schedule.write(counts, tmp_path / "schedule.toml")
    assert schedule.read(tmp_path / "schedule.toml") == counts


class Case:
    """What the schedule asks of a collected case."""

    def __init__(self, nodeid: str, *marks: pytest.MarkDecorator) -> None:
        self.nodeid, self.marks = nodeid, list(marks)

    def get_closest_marker(self, name: str) -> pytest.MarkDecorator | None:
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark)


def test_cases_behind_the_first_ones_are_marked() -> None:
    """Those of tests that are marked by hand stay as they are."""
    cases = [Case(f"tests/a.py::test_class[{k}]") for k in range(4)] + [Case("tests/a.py::test_other")]
    cases += [Case(f"tests/a.py::test_long[{k}]", pytest.mark.long) for k in range(2)]
    schedule.mark(cases, {"tests/a.py": {"test_class": 2, "test_long": 0}})  # type: ignore[arg-type]
    assert [[mark.name for mark in case.marks] for case in cases] == [[], [], ["further"], ["further"], [], ["long"], ["long"]]
    assert [schedule.by_hand(case) for case in cases] == [False] * 5 + [True] * 2  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [2, 3])
def test_every_worker_begins_with_what_is_dear(workers: int) -> None:
    """Shares of equal numbers, as `worksteal` hands them out; the dear cases of a file stay together, and none is lost."""
    cases = [Case(f"tests/a.py::test_cheap[{k}]") for k in range(20)]
    cases += [Case(f"tests/{file}.py::test_dear[{k}]") for file in "abcd" for k in range(2)]
    cases += [Case("tests/e.py::test_browser", pytest.mark.long), Case("tests/e.py::test_cheap")]
    counts = {f"tests/{file}.py": {"test_dear": 0} for file in "abcd"}
    ordered = schedule.dear_first(cases, counts, workers)  # type: ignore[arg-type]
    assert sorted(ordered, key=id) == sorted(cases, key=id)
    size, held = len(cases) // workers, list[set[str]]()
    for k in range(workers):
        dear = ["cheap" not in case.nodeid for case in ordered[k * size : (k + 1) * size]]
        assert any(dear) and dear == sorted(dear, reverse=True)
        held.append({case.nodeid.partition("::")[0] for case in ordered[k * size : k * size + sum(dear)]})
    assert set.union(*held) == {f"tests/{file}.py" for file in "abcde"} and sum(map(len, held)) == 5
