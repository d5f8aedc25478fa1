"""Recorded data: every way in gives the same experiment, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import DataError
from draisine.estimation.data import Experiment, experiments_of

TIME = np.array([0.0, 0.1, 0.25, 0.3])
LEAN = np.array([1.0, np.nan, 3.0, -2.0])


@pytest.fixture(scope="module")
def decay() -> dr.Equations:
    x, k, idle, u = sp.symbols("x k idle u")
    return dr.first_order(
        "decay",
        {x: -k * x + u + 0 * idle},
        parameters={k: 1.0, idle: 2.0},
        inputs=[u],
        start={x: 1.0},
        outputs={"level": x},
        units={x: "m", "level": "m"},
    )


def _same(found: Experiment) -> None:
    np.testing.assert_allclose(found.time - found.time[0], TIME, atol=1e-12)
    np.testing.assert_allclose(found.columns["lean"], np.radians(LEAN))


def test_every_table_gives_the_same_experiment(tmp_path):
    frame = pd.DataFrame({"time [s]": TIME + 5.0, "lean [deg]": LEAN, "remark": ["a", "b", "c", "d"]})
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    stamped = pd.DataFrame({"timestamp": pd.Timestamp("2024-03-01T12:00:00Z") + pd.to_timedelta(TIME, "s"), "lean (deg)": LEAN})
    stamped.to_csv(tmp_path / "stamped.csv", index=False)
    (tmp_path / "german.csv").write_text("time [ms]; lean [deg]\n0,0;1\n1e2;\n250,0;3,0\n300;-2,0\n", encoding="utf-8")
    indexed = pd.DataFrame({"lean": LEAN}, index=pd.Index(TIME, name="time"))
    indexed.attrs["units"] = {"lean": "deg"}
    labeled = indexed.to_xarray()
    labeled["lean"].attrs["units"] = "deg"
    plain = {"t": TIME, "lean [deg]": LEAN}
    files = [tmp_path / f for f in ("log.csv", "log.parquet", "stamped.csv", "german.csv")]
    for data in (frame, stamped, indexed, labeled, plain, *files):
        _same(Experiment.of(data))
    assert Experiment.of(frame).time[0] == 5.0 and Experiment.of(stamped).time[0] == 0.0  # stamps count from the first


def test_stamps_of_several_time_zones_are_compared_in_utc(tmp_path):
    """A log through the night in which clocks are set to summer time, 1 s apart; and one that changes its zone."""
    nights = (
        ["2024-03-31T01:59:58+01:00", "2024-03-31T01:59:59+01:00", "2024-03-31T03:00:00.000+02:00", "2024-03-31 03:00:01+02:00"],
        ["2024-10-27T02:59:58+02:00", "2024-10-27T02:59:59+02:00", "2024-10-27T02:00:00+01:00", "2024-10-27T01:00:01Z"],
    )
    for stamps in nights:
        path = tmp_path / "night.csv"
        path.write_text("time,x\n" + "".join(f"{stamp},{k}\n" for k, stamp in enumerate(stamps)), encoding="utf-8")
        for data in (path, {"time": stamps, "x": range(4)}):
            assert Experiment.of(data).time.tolist() == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(DataError, match="some stamps in the column of time 'time' have a time zone and others have none"):
        Experiment.of({"time": [nights[0][0], "2024-03-31T03:00:00"], "x": [0, 1]})


def test_netcdf_files(tmp_path):
    pytest.importorskip("h5py")
    labeled = pd.DataFrame({"lean": LEAN}, index=pd.Index(TIME, name="time")).to_xarray()
    labeled["lean"].attrs["units"] = "deg"
    labeled.to_netcdf(tmp_path / "log.nc", engine="h5netcdf")
    _same(Experiment.of(tmp_path / "log.nc"))


def test_trajectories_and_several_experiments(decay, tmp_path):
    run = dr.simulate(decay, 1.0, samples=11)
    (one,) = experiments_of(run)
    np.testing.assert_array_equal(one.columns["level"], run["level"])
    run.save(tmp_path / "run.csv")
    np.testing.assert_array_equal(experiments_of(tmp_path / "run.csv")[0].columns["level"], run["level"])
    assert [e.name for e in experiments_of([run, run])] == ["experiment 1", "experiment 2"]
    assert [e.name for e in experiments_of({"wet": run, "dry": {"time": TIME, "level": TIME}})] == ["wet", "dry"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"time": [0.0, 2.0, 1.0], "x": [1, 2, 3]}, "time decreases after sample 2: 2 s is followed by 1 s"),
        ({"time": [0.0, 1.0, 1.0], "x": [1, 2, 3]}, "time does not increase"),
        ({"x": [1, 2, 3], "y": [1, 2, 3]}, "no column of time among x, y"),
        ({"time [m]": [0.0, 1.0], "x": [1, 2]}, "is in m, which is not a unit of time"),
        ({"time": [0.0, 1.0], "x [furlongs]": [1, 2]}, "unit of column 'x' is unknown"),
        ({"time": [0.0, np.nan], "x": [1, 2]}, "1 time stamps are missing"),
        ({"time": [0.0, 1.0], "x": [1, 2, 3]}, "column 'x' has 3 samples, time has 2"),
    ],
)
def test_bad_tables_are_named(columns, said):
    with pytest.raises(DataError, match=said):
        Experiment.of(columns).column("x")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "log.csv: no table of columns with a header"),
        (b"# by hand\ntime,x\n0,1\n\n1,2\n1,3\n", "log.csv, line 6: time does not increase after sample 2"),
        (b"time,x\n0,1\n,2\n", "log.csv, line 3: 1 time stamps are missing"),
        (b"time,x\n", "there are no samples; an experiment needs two or more"),
        (b"time,x\n0,1\n1,2,3\n", r"log.csv, line 3: no table of columns with a header \(Expected 2 fields in line 3, saw 3"),
        ("time,x\n0,1\n".encode("utf-16"), "log.csv, line 1: not UTF-8 text; save it in that encoding"),
    ],
)
def test_bad_files_are_named(tmp_path, content, said):
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(DataError, match=said):
        Experiment.of(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("data", "given", "error", "said"),
    [
        ({"levl": TIME}, {}, DataError, "no column 'level'; did you mean 'levl'"),
        ({"level [kg]": TIME}, {}, DataError, "column 'level' is in kg, but 'level' is in m"),
        ({"level": np.full(4, np.nan)}, {}, DataError, "column 'level' has no numeric sample"),
        ({"level": TIME}, {"measured": {"level": "lvel"}}, dr.errors.ArgumentError, "no quantity 'lvel'; did you mean 'level'"),
        ({"level": TIME}, {"unknown": ["kk"]}, dr.errors.ArgumentError, "no parameter 'kk'"),
        ({"level": TIME}, {"unknown": ["k", "idle"]}, DataError, "idle: the measurements .level. do not depend on it"),
        ({"level": TIME}, {"unknown": {"k": (2.0, 1.0)}}, dr.errors.ArgumentError, "bounds must be .low, high."),
        ({"level": TIME}, {"inputs": {"v": "level"}}, dr.errors.ArgumentError, "no input 'v'"),
        ({"level": TIME}, {"inputs": {"u": "torque"}}, DataError, "'torque', which is neither a column of the data"),
        ({"level": ["high", "low", "high", "low"]}, {}, DataError, "column 'level' has no numeric sample"),
        ({"level": TIME}, {"priors": {"x": (1.0, 1.0)}}, dr.errors.ArgumentError, "priors: 'x' is not among the unknowns"),
        ({"level": TIME}, {"relations": {"k": "2*idle"}}, dr.errors.ArgumentError, "'k' follows from a relation"),
        ({"level": TIME}, {"unknown": ["start.x", "k"]}, dr.errors.ArgumentError, "does not contain 'x'"),
        ({"level": TIME}, {"measured": {"level": ("level", "3 kg")}}, DataError, "noise of column 'level'"),
        ({"level": TIME}, {"measured": {"level": ("level", -1.0)}}, DataError, "give a positive standard deviation"),
        ({"level": [1.0, np.nan, np.nan, np.nan]}, {"unknown": ["k", "start.x"], "start": {"x": 1.0}}, DataError, "2 unknowns"),
    ],
)
def test_bad_targets_are_named(decay, data, given, error, said):
    wanted = {"unknown": ["k"], "measured": {"level": "level"}, **given}
    with pytest.raises(error, match=said):
        dr.estimate(decay, {"time": TIME, **data}, **wanted)
