"""Every Python block of the README runs, in order, in a folder of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_blocks():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.splitlines()[2][:30])
def test_block_runs(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)  # our own README, never text from elsewhere
    run = names["run"]
    assert run.status.complete, run.status  # type: ignore[attr-defined]
    if "dr.manoeuvre" in block:
        printed = capsys.readouterr().out
        assert "('weave', 4.2924), ('capsize', 6.0243)" in printed
        assert "steers away first" in printed


def test_first_block_says_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0], "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "FINISHED: reached t = 5 s" in printed
    assert "4.622 m/s" in printed
    assert (tmp_path / "ride.nc").is_file()
