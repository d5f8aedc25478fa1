"""Estimations from files: the study, the command line, and the gallery's small studies end to end."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import draisine as dr
from draisine.cli.main import main
from draisine.estimation.study_file import read_study
from draisine.gallery.entries.double_pendulum_tracked import double_pendulum_tracked
from draisine.gallery.entries.draining_tank import THETA, experiment, tank_outlet_found
from draisine.gallery.entries.friction_pendulum import pendulum_friction_found
from draisine.gallery.entries.logger_file import DATA, TRUTH, logger_file_fitted
from draisine.gallery.entries.state_estimation import PROCESS_NOISE, SENSORS, SPREAD, ride


def test_command_line_fits_a_logger_file(capsys, tmp_path):
    file = str(DATA / "swing_logger.csv")
    assert main(["estimate", "swing_logger", "--data", file, "--json", "--profile", "length", "--out", str(tmp_path)]) == 0
    reported = json.loads(capsys.readouterr().out)
    for name, value in TRUTH.items():
        low, high = reported["unknowns"][name]["interval"]
        assert low < value < high
    assert reported["unknowns"]["length"]["unit"] == "m" and not reported["noise_given"]
    assert [round(t, 2) for _, _, t in reported["outliers"]] == [2.74]
    low, high = reported["profiles"]["length"]
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
    assert main(["estimate", "draining_tank", *files, "--intervals", "20"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == text.splitlines()[1]  # the same minimum and interval
    assert main(["estimate", "draining_tank", *files, "--intervals", "20", "--window", "2"]) == 2
    assert "two methods; give one of them" in capsys.readouterr().err


def test_command_line_filters(capsys, tmp_path):
    """The study of the gallery, and the same said on the line: lean and steer, which no column has."""
    truth, data = ride(0.6, 1)
    pd.DataFrame(data).to_csv(tmp_path / "ride.csv", index=False)
    file = ["--data", str(tmp_path / "ride.csv"), "--json"]
    assert main(["filter", "bicycle_gyroscope", *file, "--out", str(tmp_path / "figures")]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["model"] == "bicycle" and set(reported["estimates"]) == {"lean", "steer", "roll_rate"}
    for name, found in reported["estimates"].items():
        assert abs(found["last"] - truth[name][-1]) < 3.5 * found["deviation"]
    written = pd.read_csv(tmp_path / "figures" / "estimates.csv")
    assert list(written)[:3] == ["time", "lean", "lean_deviation"] and len(written) == len(truth.time)
    assert (tmp_path / "figures" / "estimates.png").exists()
    words = [f"--measured={n}={s}" for n, s in SENSORS.items()] + [f"--process={n}={s}" for n, s in PROCESS_NOISE.items()]
    words += [f"--spread={n}={s}" for n, s in (SPREAD | {"lean": "3 deg", "steer": "3 deg"}).items()]
    assert main(["filter", "bicycle", *file, *words, "--start=speed=4.6", "--show=lean", "--smooth"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["estimates"]["lean"] == pytest.approx(reported["estimates"]["lean"], rel=1e-9)
    assert main(["filter", "bicycle", *file]) == 2
    assert "--measured is missing" in capsys.readouterr().err


def test_command_line_names_what_is_wrong(capsys, tmp_path):
    assert main(["estimate", "swing_loger", "--data", "x.csv"]) == 2
    assert "did you mean 'swing_logger'" in capsys.readouterr().err
    assert main(["estimate", "swing_logger", "--data", str(tmp_path / "none.csv")]) == 2
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('model = "bicycle"\n', "'unknown' is missing"),
        ('model = "bicycle"\nwindw = 1\n', "unknown key 'windw' in an estimation; did you mean 'window'"),
        ('model = "b"\nwindow = 1\nintervals = 9\n[unknown]\na = []\n[measured]\na = "b"\n', "are two methods; give one"),
        ('model = "b"\nloss = "l2"\n[unknown]\ntrail = []\n[measured]\na = "b"\n', "loss 'l2' is none of huber"),
        ("model = ", "study.toml, line 1: not valid TOML: Invalid value"),
    ],
)
def test_bad_studies_are_named(tmp_path, text, said):
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(dr.errors.DataError, match=said):
        read_study(tmp_path / "study.toml")


def test_tank_of_chapter_seven():
    study = tank_outlet_found(3)
    assert len(study.findings) == 4 and set(study.figures) == {"fit", "intervals"}


def test_logger_file():
    assert "length" in logger_file_fitted().findings[0]


def test_pendulum_with_its_tension():
    assert pendulum_friction_found(3.0).findings[2].startswith("collocation: length 1.")


def test_double_pendulum_from_markers():
    assert "not at all" in double_pendulum_tracked().findings[0]


def test_study_files_have_sensors_and_the_time_of_the_start(tmp_path):
    import numpy as np

    from draisine.estimation.filters.study_file import read_filter
    from draisine.estimation.sensors import Sensor
    from draisine.estimation.study_file import read_study

    sensor = 'pot = {quantity = "-q", noise = "1 mm", bias = "unknown", delay = [0, 1]}'
    text = f'model = "tank"\nstart_time = "2 s"\n[measured]\n{sensor}\n'
    (tmp_path / "study.toml").write_text(text + "[unknown]\ntheta = []\n")
    study = read_study(tmp_path / "study.toml")
    assert study.measured["pot"] == Sensor("-q", "1 mm", bias="unknown", delay=(0, 1)) and study.given["start_time"] == 2.0
    (tmp_path / "wrong.toml").write_text(text.replace("bias", "bais") + "[unknown]\ntheta = []\n")
    with pytest.raises(dr.errors.DataError, match="unknown property 'bais' of a sensor; did you mean 'bias'"):
        read_study(tmp_path / "wrong.toml")
    (tmp_path / "filter.toml").write_text(text.replace('"unknown"', "0.5").replace("[0, 1]", "0.1"))
    filtering = read_filter(tmp_path / "filter.toml")
    assert filtering.start_time == 2.0 and np.isclose(filtering.measured["pot"].bias, 0.5)
