"""Command lines that say something twice, or nonsense: each gets an answer, and nothing is taken silently."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from draisine.cli.main import main

TWICE = [
    ("simulate rolling_disk --until 1 --until 2", "--until is given twice"),
    ("simulate rolling_disk --speed 1 --speed 2", "--speed is given twice"),
    ("simulate rolling_disk --set m=1 --set m=2", "--set m is given twice"),
    ("simulate rolling_disk --method rk4 --method rk4", "--method is given twice"),
    ("ensemble rolling_disk --over speed=1:2:3 --over speed=1,2", "--over speed is given twice"),
    ("ensemble rolling_disk --runs 3 --sample speed=normal(0,1) --sample speed=uniform(0,1)", "--sample speed is given twice"),
    ("map bicycle --over speed=1:2:3 --over speed=1:2:3", "--over speed is given twice"),
]
SWEEPS = [
    ("ensemble rolling_disk --over speed=3:8:0", "0 values; give between 1 and"),
    ("ensemble rolling_disk --over speed=3:8:-2", "-2 values; give between 1 and"),
    ("ensemble rolling_disk --over speed=3:8:1000000000000", "1000000000000 values; give between 1 and"),
    ("ensemble rolling_disk --over speed=3:inf:3", "the ends of a sweep are finite numbers"),
    ("modes bicycle --over speed=3:8:0", "at least two values"),
    ("modes bicycle --over speed=nan:8:3", "the ends of a sweep are finite numbers"),
    ("modes bicycle --over speed=3km/h:8km/h:5", "with numbers in SI units"),
    ("ensemble rolling_disk --over speed=3m/s:8m/s:5", "with numbers in SI units"),
    (
        "atlas bicycle --over lean=0:0.8:3 --over speed=1:10:3 --friction -1",
        "--friction -1: a coefficient of friction is a positive",
    ),
    (
        "atlas bicycle --over lean=0:0.8:3 --over speed=1:10:3 --friction nan",
        "--friction nan: a coefficient of friction is a positive",
    ),
]


@pytest.mark.parametrize(("line", "answer"), TWICE + SWEEPS)
def test_each_gets_an_answer(line, answer, capsys):
    try:
        code = main(line.split())
    except SystemExit as end:  # by argparse
        code = end.code
    assert code == 2
    assert answer in capsys.readouterr().err


def test_options_that_repeat_still_do(capsys):
    assert main(["simulate", "rolling_disk", "--until", "0.1", "--set", "gravity=9.8", "--set", "mass=2"]) in (0, 2)
    assert "twice" not in capsys.readouterr().err


def test_a_closed_stdout_is_no_error():
    done = subprocess.run(
        [sys.executable, "-m", "draisine", "list"], stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1), check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interruption_while_the_program_is_loaded_leaves_no_traceback(tmp_path):
    """The module of the command line is replaced by one that is interrupted while it is imported."""
    code = (
        "import sys, builtins, runpy\n"
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'draisine.cli.main': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['draisine', 'list']\n"
        "runpy.run_module('draisine', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")
