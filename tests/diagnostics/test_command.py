"""The doctor on the command line, and its page of the documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import draisine as dr
from diagnostics.mechanisms import truss
from draisine.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_sentences_under_headings(capsys):
    code, out, _ = run(capsys, "doctor", "chaplygin_sleigh")
    assert code == 0
    assert out.startswith("diagnosis of chaplygin_sleigh\n  freedoms\n    3 freedoms of position, 2 of velocity")
    assert "growth vector (2, 3) of 3 directions" in out


def test_json_at_a_state(capsys):
    code, out, err = run(capsys, "doctor", "bicycle", "--speed", "5", "--json")
    assert (code, err) == (0, "")
    reported = json.loads(out)
    assert reported["reach"]["controllable"] == 8
    assert reported["reach"]["eigenvalues"][0].keys() == {"re", "im"}
    assert reported["growth"]["dimensions"] == [3, 5, 7]
    assert reported["singular"][0]["what"] == "a contact loses its meaning"
    assert reported["index"]["steps"][0]["said"]


def test_parameters_are_set(capsys):
    """A crank as long as its rod: there is a place where they fold."""
    code, out, _ = run(capsys, "doctor", "slider_crank", "--set", "rod_length=0.04", "--json")
    assert code == 0
    assert "constraints lose rank" in {s["what"] for s in json.loads(out)["singular"]}


def test_what_cannot_move_ends_with_one(capsys, tmp_path):
    dr.write_model(truss(), tmp_path / "truss.toml")
    code, out, _ = run(capsys, "doctor", str(tmp_path / "truss.toml"))
    assert code == 1
    assert "nothing can move" in out


def test_what_cannot_stand_ends_with_two(capsys, tmp_path):
    m = truss()
    m.constrain("too_high", "position_z(left_end) - 3", unit="m")
    dr.write_model(m, tmp_path / "truss.toml")
    code, _, err = run(capsys, "doctor", str(tmp_path / "truss.toml"))
    assert code == 2
    assert "too_high" in err


def test_names_that_do_not_exist_end_with_two(capsys):
    code, _, err = run(capsys, "doctor", "bicycle", "--sped", "5")
    assert code == 2
    assert "sped" in err


@pytest.mark.long
def test_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "doctor.md", "exec"), names)  # our own page, never text from elsewhere


@pytest.mark.long
def test_the_commands_of_the_page_run(capsys):
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 3
    for line in lines:
        _, *words = line.partition("#")[0].split()
        assert run(capsys, *words)[0] == 0, line
