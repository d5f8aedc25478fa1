"""The scoreboard: parts are merged, resumed and reported unchanged; nothing in a name becomes markup. Times decide no test."""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from extensions import scoreboard

FOLDER = Path(__file__).parents[1] / "benchmarks"
NAMES = ("figure", "board", "tables", "parts", "run")
HERE = {"processor": "P", "cores": "2", "draisine": "0.0"}


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The benchmark's modules, which are programs beside the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield SimpleNamespace(**{name: import_module(name) for name in NAMES})
        for name in NAMES:
            sys.modules.pop(name)


def part(bench: Any, *figures: Any, title: str = "Import", load: float = 1.0, failure: str = "") -> Any:
    return bench.board.Part(title, "what is measured", list(figures), "abc", "2026-11-16", 3.0, load, failure)


@pytest.fixture
def rows(bench: Any) -> list[Any]:
    f = bench.figure
    return [
        f.Figure("import draisine, beside CasADi", 0.02, "s", f.Faster(3), 0.5),
        f.Figure("turn, beside a slow one", 2.0, "s", f.Faster(15), 20.0, peer_at_least=True),
        f.Figure("chain of 8 rods, called from Python, beside <Pinocchio> & Co.", 2e-6, "s", None, 5e-7),
        f.Figure("energy |H| < 0", 1e-9, "", f.AtMost(1e-10)),
        f.Figure("times real time", 1e4, "", f.AtLeast(1e3)),
    ]


def test_figures_say_who_wins_and_what_is_undecided(rows: list[Any]) -> None:
    assert [figure.beside for figure in rows] == ["CasADi", "a slow one", "<Pinocchio> & Co.", "", ""]
    assert rows[0].what == "import draisine"
    assert [figure.loses for figure in rows] == [False, False, True, False, False]
    assert [figure.met for figure in rows] == [True, None, None, False, True]


def test_a_peer_stopped_late_enough_decides(bench: Any) -> None:
    f = bench.figure
    assert f.Figure("turn", 1.0, "s", f.Faster(15), 20.0, peer_at_least=True).met is True
    assert not f.Figure("turn", 30.0, "s", None, 20.0, peer_at_least=True).loses


def test_what_is_kept_is_read_again(bench: Any, rows: list[Any], tmp_path: Path) -> None:
    board = bench.board.Board(HERE, {"imports": part(bench, *rows, failure="OSError: no disk")})
    board.write(tmp_path / "results" / "0.0")
    again = bench.board.kept(tmp_path / "results" / "0.0", HERE)
    assert again == board
    assert sorted(file.name for file in (tmp_path / "results").iterdir()) == ["0.0.html", "0.0.json", "0.0.md"]


def test_figures_of_two_machines_never_share_a_table(bench: Any, tmp_path: Path) -> None:
    bench.board.Board(HERE, {}).write(tmp_path / "0.0")
    with pytest.raises(bench.board.OtherMachine, match="processor: P, now Q"):
        bench.board.kept(tmp_path / "0.0", {**HERE, "processor": "Q"})


def test_the_source_has_a_name_that_changes_with_it(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    before = bench.board.source([tmp_path])
    (tmp_path / "notes.md").write_text("nothing\n")
    assert bench.board.source([tmp_path]) == before
    (tmp_path / "a.py").write_text("x = 2\n")
    assert bench.board.source([tmp_path]) != before


def test_losses_come_first_and_names_are_no_markup(bench: Any, rows: list[Any]) -> None:
    sly = part(bench, *rows, title="<script>alert(1)</script>", failure="<b>no</b>")
    board = bench.board.Board({**HERE, "processor": "<i>P</i>"}, {"a&b": sly})
    page = bench.tables.page(board)
    assert "<script>" not in page and "<b>" not in page and "<i>" not in page
    assert "&lt;Pinocchio&gt; &amp; Co." in page and 'id="a&amp;b"' in page
    assert page.index("Where draisine loses") < page.index("Targets that are not met") < page.index('id="a&amp;b"')
    assert page.count('<tr class="lost">') == 2  # at the head, and in its part
    text = bench.tables.markdown(board)
    assert r"energy \|H\| < 0" in text
    assert "| 0.25 × loses |" in text and "| > 20 s | > 10 × |" in text
    assert "3 figures stand beside a peer's; draisine loses 1 of them." in text
    assert "4 figures have a target: 2 are met, 1 are not, 1 are undecided for want of a peer." in text


def test_what_was_measured_on_a_busy_machine_is_reported(bench: Any, rows: list[Any]) -> None:
    parts = {"imports": part(bench, *rows), "speed": part(bench, *rows, title="Evaluate", load=2.5)}
    (reported,) = [line for line in bench.tables.summary(bench.board.Board(HERE, parts)) if "busy" in line]
    assert reported.endswith(": Evaluate.")
    meanwhile = replace(part(bench, *rows, title="Chains"), others=0.5)
    (reported,) = [line for line in bench.tables.summary(bench.board.Board(HERE, {"chains": meanwhile})) if "busy" in line]
    assert reported.endswith(": Chains.")
    assert "0.50 cores used by others" in bench.tables.measured(meanwhile)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system does not report it")
def test_work_of_others_is_told_from_ours(bench: Any) -> None:
    """A process that this one waits for is ours; both clocks only grow."""
    worked, own = bench.board.busy_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(5_000_000))"], check=True)
    worked_then, own_then = bench.board.busy_seconds()
    assert own_then - own > 0.02
    assert worked_then - worked >= own_then - own - 0.1  # counted in ticks


# ------------------------------------------------------------------------------------------------ runs


@pytest.fixture
def run(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`run.py` with three quick parts: run("--only", "one") gives the parts in the file, counting what was measured."""
    figure, measured = bench.figure.Figure, []

    def works(name: str) -> Iterator[Any]:
        measured.append(name)
        yield figure(f"{name}, first", 1.0)
        if name == "two" and measured.count("two") == 1:
            raise RuntimeError("a peer fell over")
        yield figure(f"{name}, second", 2.0)

    quick = {
        name: SimpleNamespace(title=name, about="", measure=lambda peers, name=name: works(name))
        for name in ("one", "two", "three")
    }
    monkeypatch.setattr(bench.run, "PARTS", quick)
    monkeypatch.setattr(bench.run, "source", lambda folders: "this")
    file = tmp_path / f"{bench.run.dr.__version__}.json"

    def call(*arguments: str) -> dict[str, int]:
        measured_before = len(measured)
        monkeypatch.setattr(sys, "argv", ["run.py", "--no-peers", "--json", "--keep", str(tmp_path), *arguments])
        try:
            bench.run.main()
        except SystemExit as why:
            call.said = str(why)
        call.measured = measured[measured_before:]
        return {name: len(found["figures"]) for name, found in json.loads(file.read_text())["parts"].items()}

    return call


def test_a_part_that_fails_is_reported_and_measured_again(run: Any) -> None:
    assert run() == {"one": 2, "two": 1, "three": 2}
    assert run.said == "not measured as a whole: two (RuntimeError: a peer fell over)"
    assert run("--resume") == {"one": 2, "two": 2, "three": 2}
    assert run.measured == ["two"]
    run("--resume")
    assert run.measured == []


def test_parts_are_added_to_those_kept_in_their_order(run: Any, bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("--only", "three")
    assert list(run("--only", "one")) == ["one", "three"]
    monkeypatch.setattr(bench.run, "source", lambda folders: "changed since")
    assert list(run("--resume", "--only", "one")) == ["one", "three"]
    assert run.measured == ["one"]  # the code is another one
    assert list(run()) == ["one", "two", "three"]
    assert run.measured == ["one", "two", "three"]  # all of it anew


def test_a_part_without_end_is_stopped_and_keeps_its_rows(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(bench.run.signal, "setitimer"):
        pytest.skip("this system has no such clock")

    def endless(peers: Any) -> Iterator[Any]:
        yield bench.figure.Figure("before", 1.0)
        for _ in itertools.count():
            pass

    monkeypatch.setattr(bench.run, "PARTS", {"slow": SimpleNamespace(title="slow", about="", measure=endless)})
    board = bench.board.Board(HERE)
    bench.run.measure(board, ["slow"], None, "this", None, limit=0.05)
    assert [figure.name for figure in board.parts["slow"].figures] == ["before"]
    assert board.failures == {"slow": "TimeoutError: not finished within 0.05 s"}


def test_every_part_has_its_module(bench: Any) -> None:
    for one in bench.parts.PARTS.values():
        assert "def figures(" in (FOLDER / f"{one.module}.py").read_text(encoding="utf-8"), one.title
        assert one.title and one.about.endswith(".")


def test_programs_that_parts_start_find_what_they_import(tmp_path: Path) -> None:
    """Deriving in a process of its own reports two times; what scripts in the text of a module import is there."""
    surroundings = {**os.environ, "DRAISINE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, FOLDER / "cold.py"], env=surroundings, capture_output=True, text=True, check=True)
    assert len([float(word) for word in done.stdout.split()]) == 2
    imported = re.compile(r"^(?:from \S+ import .+|import .+)$", re.MULTILINE)
    for path in FOLDER.glob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        scripts = [
            n.value
            for n in ast.walk(module)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and "\nimport " in n.value
        ]
        for script in scripts:
            subprocess.run([sys.executable, "-c", "\n".join(imported.findall(script))], cwd=FOLDER, check=True)


# ------------------------------------------------------------------------------------------------ the site


def test_the_site_shows_what_is_kept_for_its_release_or_says_that_there_is_nothing(
    bench: Any, rows: list[Any], tmp_path: Path
) -> None:
    page = scoreboard.PAGE.read_text(encoding="utf-8")
    assert "**No figures are kept for draisine 0.0.**" in scoreboard.shown(page, tmp_path, "0.0")
    bench.board.Board(HERE, {"imports": part(bench, *rows)}).write(tmp_path / "0.0")
    shown = scoreboard.shown(page, tmp_path, "0.0")
    assert "No figures are kept" not in shown
    headings = [line for line in shown.splitlines() if line.startswith("#")]
    assert headings[:3] == ["# Scoreboard", "## draisine 0.0 beside its peers", "### Where draisine loses"]
    assert "### Import" in headings and shown.count("| 0.25 × loses |") == 2
