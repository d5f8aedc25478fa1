"""`draisine continue`, `turns` and `atlas` on the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from draisine.cli.main import main

PAGE = Path(__file__).parents[1] / "docs" / "steady.md"


LINES = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    for line in block.splitlines()
]
REPORTED = {
    "steady": "steer_torque",
    "continue": "branch point at speed = 6.0242620153",
    "turns": "straight, bar reversed: bicycle",
    "atlas": "neither slip on ground of friction 0.8 nor lift a wheel",
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split()[1])
def test_commands_of_the_page(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = line.split()
    assert main(words[1:]) == 0
    assert REPORTED[words[1]] in capsys.readouterr().out
    drawn = {words[words.index("--plot") + 1]} if "--plot" in words else set()
    assert {p.name for p in tmp_path.iterdir()} == drawn


def test_branch_as_json(capsys):
    call = "continue rolling_disk --over lean=0.1:0.5 --fix heading-rate=-2 --lean 0.3 --heading-rate -2 --spin 4 --json"
    assert main(call.split()) == 0
    data = json.loads(capsys.readouterr().out)["rolling_disk"]
    assert data["ended"] == ["lean reached 0.1", "lean reached 0.5"]
    assert data["neutral"] == 2 and len(data["columns"]["spin"]) == len(data["unstable"])


@pytest.mark.parametrize(
    ("call", "reported"),
    [
        ("continue bicycle --over speed=0-10", "write FROM:TO, e.g. 0:10"),
        ("continue bicycle --over sped", "did you mean 'speed'"),
        ("continue bicycle --over speed --fix lean", "--fix 'lean': write NAME=VALUE"),
        ("continue bicycle --over speed --bound lean", "--bound 'lean': write NAME=FROM:TO"),
        ("turns bicycle --lean 3", "takes no initial conditions; leave out --lean"),
        ("atlas bicycle --over lean=0:0.8:5", "give two axes"),
    ],
)
def test_wrong_calls_say_what_to_write(call, reported, capsys):
    assert main(call.split()) == 2
    assert reported in capsys.readouterr().err
