"""Which cases run when: `schedule.toml` names tests that cost more than a moment, and how many of their cases `make test` tries.

The cases that follow are marked `further`: `make test-all` runs them, `make test` does not. Their kernels are compiled at LLVM's
lowest level, as those of all quick tests: what they try is a class of problems, not the code. Processor times decide, so that a
test says what it tries and nothing about when. Tests that are marked `long` or `further` by hand are not scheduled.
`make schedule` measures them anew:

    python -m pytest -n auto --dist worksteal -p schedule --costs costs.jsonl
    python tests/schedule.py costs.jsonl
"""

from __future__ import annotations

import json
import resource
import sys
import tomllib
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("schedule.toml")
CASE = 0.5  # processor seconds of a case that `make test` runs at most
CLASS = 0.4  # of all cases of one test that it runs, but for the first, about
AT_LEAST = {
    ("tests/contact/test_random_scenes.py", "test_random_scene"): 10,  # two scenes of every kind
    # gates: what every change must keep, and nothing else tries
    ("tests/test_house.py", "test_a_first_order_system_loads_no_mechanics"): 1,
    ("tests/test_house.py", "test_no_modules_import_each_other_in_a_circle"): 1,
    ("tests/test_house.py", "test_the_house_grows_only_on_purpose"): 1,
    ("tests/test_names.py", "test_no_name_of_a_namespace_is_hidden_by_a_module_of_that_name"): 1,
    ("tests/test_words.py", "test_docstrings_and_messages_have_no_retired_phrases"): 1,
    ("tests/test_words.py", "test_identifiers_have_no_retired_words"): 1,
}
HEADER = """\
# How many cases of a test `make test` tries; `make test-all` tries all. Written by `make schedule` from measured times.
"""

Counts = Mapping[str, Mapping[str, int]]  # file, test: cases


def read(path: Path = FILE) -> Counts:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def mark(items: Iterable[pytest.Item], counts: Counts) -> None:
    """Mark the cases of `items` behind the first ones."""
    seen: dict[tuple[str, str], int] = {}
    for item in items:
        test = _test(item.nodeid)
        first = counts.get(test[0], {}).get(test[1])
        if first is None:
            continue
        seen[test] = seen.get(test, 0) + 1
        if seen[test] > first and not by_hand(item):
            item.add_marker(pytest.mark.further(kernels="quick"))


def by_hand(item: pytest.Item) -> bool:
    """Whether a test is marked `long` or `further` where it is written."""
    marks = (item.get_closest_marker("long"), item.get_closest_marker("further"))
    return any(mark is not None and not mark.kwargs for mark in marks)


def dear_first(items: Sequence[pytest.Item], counts: Counts, workers: int) -> list[pytest.Item]:
    """The items in as many shares as there are workers, each with the dear ones of its files first.

    `--dist worksteal` gives each worker a share and lets one that has finished take from the ends of the others, where nothing
    should last long: a dear test begun last keeps one processor busy and leaves the rest idle.
    """

    def dear(item: pytest.Item) -> bool:
        file, name = _test(item.nodeid)
        return by_hand(item) or counts.get(file, {}).get(name) == 0

    files = list(dict.fromkeys(_test(item.nodeid)[0] for item in items if dear(item)))
    share_of = {file: number % workers for number, file in enumerate(files)}
    first = [[item for item in items if dear(item) and share_of[_test(item.nodeid)[0]] == k] for k in range(workers)]
    others = [item for item in items if not dear(item)]
    found: list[pytest.Item] = []
    for k, begun in enumerate(first):
        wanted = len(items) * (k + 1) // workers - len(found) - len(begun)  # shares are equal in number
        count = len(others) if k == workers - 1 else max(0, wanted)
        found += [*begun, *others[:count]]
        others = others[count:]
    return found


def _test(nodeid: str) -> tuple[str, str]:
    file, _, name = nodeid.split("[")[0].partition("::")
    return file, name


# ------------------------------------------------------------------------------------------------------- measuring


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", metavar="FILE", help="append name and processor seconds of every case to FILE")


def _spent() -> float:
    own, of_processes = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + of_processes.ru_utime + of_processes.ru_stime


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    begun = _spent()
    try:
        return (yield)
    finally:
        with open(item.config.getoption("--costs"), "a", encoding="utf-8") as file:
            file.write(json.dumps([item.nodeid, round(_spent() - begun, 4), by_hand(item)]) + "\n")


def planned(costs: Iterable[tuple[str, float, bool]]) -> dict[str, dict[str, int]]:
    """The counts for measured costs; cheap tests and those marked by hand have none."""
    tests: dict[tuple[str, str], list[float]] = {}
    for nodeid, seconds, marked in costs:
        if not marked:
            tests.setdefault(_test(nodeid), []).append(seconds)
    counts: dict[str, dict[str, int]] = {}
    for (file, name), seconds in sorted(tests.items()):
        mean = sum(seconds) / len(seconds)
        first = max(0 if mean > CASE else 1, int(CLASS / max(mean, 1e-9)), AT_LEAST.get((file, name), 0))
        if first < len(seconds):
            counts.setdefault(file, {})[name] = first
    return counts


def write(counts: Counts, path: Path = FILE) -> None:
    parts = [HEADER]
    for file, tests in counts.items():
        parts.append(f'\n["{file}"]\n' + "".join(f'"{name}" = {first}\n' for name, first in tests.items()))
    path.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    write(planned(json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
