"""The page on exporting says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from draisine.codegen.export.exportable_programs import WHAT
from draisine.codegen.export.languages import LANGUAGES

PAGE = (Path(__file__).parents[3] / "docs" / "export.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_its_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    exec(compile(code, "export.md", "exec"), {})  # our own page, never text from elsewhere
    expected = {"bicycle_dynamics.c", "bicycle_mass_matrix.c", "bicycle_dynamics.jl", "bicycle_mass_matrix.jl"}
    expected |= {"bicycle_dynamics.rs", "bicycle.fmu", "dry_friction_dynamics.c", "dry_friction_switching.c"}
    machine = ("project", "contact_terms", "contact_system", "usual_dynamics", "usual_project", "usual_margins")
    expected |= {
        "ball_machine.h",
        "ball_machine.c",
        "ball_machine.mjs",
        "ball.fmu",
        *(f"ball_{program}.c" for program in machine),
    }
    assert {p.name for p in (tmp_path / "generated").iterdir()} == expected


def test_its_tables_are_complete():
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {*WHAT, *LANGUAGES, "casadi", "fmu"}
