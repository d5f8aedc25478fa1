"""Estimations from files: the study, the command line, and the gallery's small studies end to end."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import draisine as dr
from draisine.cli import main
from draisine.estimation.study import read_study
from draisine.gallery.entries.double_pendulum_tracked import double_pendulum_tracked
from draisine.gallery.entries.draining_tank import THETA, experiment, tank_outlet_found
from draisine.gallery.entries.logger_file import DATA, TRUTH, logger_file_fitted


def test_command_line_fits_a_logger_file(capsys, tmp_path):
    file = str(DATA / "swing_logger.csv")
    assert main(["estimate", "swing_logger", "--data", file, "--json", "--profile", "length", "--out", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    for name, value in TRUTH.items():
        low, high = told["unknowns"][name]["interval"]
        assert low < value < high
    assert told["unknowns"]["length"]["unit"] == "m" and not told["noise_given"]
    assert [round(t, 2) for _, _, t in told["outliers"]] == [2.74]
    low, high = told["profiles"]["length"]
    assert low < TRUTH["length"] < high
    assert {p.name for p in tmp_path.iterdir()} == {"fit.png", "intervals.png", "profile_length.png"}


def test_command_line_with_several_files_and_windows(capsys, tmp_path):
    files = []
    for k in (1, 2):
        files += ["--data", str(tmp_path / f"run{k}.csv")]
        pd.DataFrame(experiment(1e-3, seed=k)).to_csv(tmp_path / f"run{k}.csv", index=False)
    assert main(["estimate", "draining_tank", *files, "--window", "2"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("draining_tank: 1 unknowns from 202 samples")
    assert abs(float(text.split("theta = ")[1].split()[0]) - THETA) < 3e-4


def test_command_line_names_what_is_wrong(capsys, tmp_path):
    assert main(["estimate", "swing_loger", "--data", "x.csv"]) == 2
    assert "did you mean 'swing_logger'" in capsys.readouterr().err
    assert main(["estimate", "swing_logger", "--data", str(tmp_path / "none.csv")]) == 2
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('model = "bicycle"\n', "'unknown' is missing"),
        ('model = "bicycle"\nwindw = 1\n', "nothing is called 'windw' in an estimation; did you mean 'window'"),
        ('model = "b"\nloss = "l2"\n[unknown]\ntrail = []\n[measured]\na = "b"\n', "loss 'l2' is none of huber"),
        ("model = ", "study.toml: Invalid value"),
    ],
)
def test_bad_studies_are_named(tmp_path, text, said):
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(dr.ModelError, match=said):
        read_study(tmp_path / "study.toml")


def test_tank_of_chapter_seven():
    study = tank_outlet_found(3)
    assert len(study.findings) == 4 and set(study.figures) == {"fit", "intervals"}


def test_logger_file():
    assert "length" in logger_file_fitted().findings[0]


def test_double_pendulum_from_markers():
    assert "not at all" in double_pendulum_tracked().findings[0]
