"""The Python of the pages on equations, on SymPy and on starts runs, page by page, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    "page",
    [
        "equations",
        "interop",
        "starts",
        "steady",
        "stability",
        "periodic",
        "bicycles",
        "optimal",
        "estimation",
        "filtering",
        "animation",
    ],
)
def test_its_python_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), names)  # our own page, never text from elsewhere


def test_its_commands_are_commands(tmp_path, monkeypatch, capsys):
    """Each line of shell on the page, but for PDF, which needs LaTeX."""
    from draisine.cli import main

    monkeypatch.chdir(tmp_path)
    text = (DOCS / "equations.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL) for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        _, *words = line.partition("#")[0].split()
        if not words[-1].endswith(".pdf"):
            assert main(words) == 0, line
    assert {p.name for p in tmp_path.iterdir()} == {
        *("bicycle.svg", "bicycle.html", "bicycle.tex", "bicycle-picture.pdf", "bicycle.py"),
    }
