"""The Python of the page on feedback runs, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[3] / "docs" / "control.md"


def test_its_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 8
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)  # our own page, never text from elsewhere
    for run in ("run", "ride", "away", "blind", "moved"):
        assert str(names[run].status).startswith("FINISHED"), run
