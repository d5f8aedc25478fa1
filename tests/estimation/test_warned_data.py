"""What data lack is said: inputs beyond their record, cells that are no numbers, masked entries, repeated columns."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError, DataError
from draisine.estimation.data import Experiment

y, g, u, a = sp.symbols("y g u a")
INTEGRATOR = dr.first_order("integrator", {y: g * u}, inputs=[u], parameters={g: 1.0})
LINE = dr.first_order("line", {y: a}, parameters={a: 1.0})


def integrated(begin, first, last, end, step=0.5):
    """Measurements from `begin` to `end`, an input recorded from `first` to `last`."""
    t = np.arange(begin, end + step / 2, step)
    known = (t >= first - 1e-9) & (t <= last + 1e-9)
    return {"time": t, "y": 2 * (t - begin), "u": np.where(known, 1.0, np.nan)}


def fit_of(data, **options):
    return dr.estimate(INTEGRATOR, data, ["g"], {"y": ("y", 0.1)}, start={"y": 0.0}, inputs={"u": "u"}, **options)


def filter_of(data, **options):
    return dr.filter(INTEGRATOR, data, measured={"y": 0.1}, process={"y": 0.1}, start={"y": 0.0}, inputs={"u": "u"}, **options)


@pytest.mark.parametrize("verb", [fit_of, filter_of])
def test_inputs_beyond_their_record(verb):
    rng = np.random.default_rng(1)
    for _ in range(6):
        begin, before, after = float(rng.integers(-9, 9)), int(rng.integers(0, 4)), int(rng.integers(0, 4))
        end = begin + 10.0
        first, last = begin + before / 2, end - after / 2
        found = verb(integrated(begin, first, last, end), start_time=begin)
        held = [text for text in found.warnings if "'u' is recorded" in text]
        assert len(held) == (before > 1) + (after > 1), (before, after, held)  # an interval is no longer than others
        assert any(f"start_time={first:.9g}" in text for text in held) == (before > 1)
        assert all(text in str(found) or text in repr(found) for text in held)


def test_a_start_on_another_clock_is_warned_of():
    found = fit_of(integrated(10.0, 10.0, 15.0, 15.0))
    assert found["g"] < 1.0 and "the start holds at t = 0 s" in str(found)
    status = filter_of(integrated(10.0, 10.0, 15.0, 15.0)).filtered.run.status
    assert any("start_time=10" in text for text in status.warnings)


def line_fit(data):
    return dr.estimate(LINE, data, ["a"], {"y": ("y", 0.3)}, start={"y": 0.0})


def test_masked_samples_are_missing():
    """The same fit as without the masked rows, whatever is behind the mask, in every type of number."""
    rng = np.random.default_rng(4)
    for kind in (float, np.float32, int, np.int16):
        mask = rng.random(8) < 0.4
        mask[:2] = True, False
        values = np.arange(8).astype(kind)
        hidden = np.where(mask, rng.integers(50, 99, 8), values).astype(kind)
        found = line_fit({"time": np.arange(8.0), "y": np.ma.masked_array(hidden, mask=mask)})
        left = line_fit({"time": np.arange(8.0)[~mask], "y": values[~mask].astype(float)})
        assert found["a"] == pytest.approx(left["a"]) and found.problem.samples == left.problem.samples
        assert found.deviations["a"] == pytest.approx(left.deviations["a"])
    with pytest.raises(DataError, match="1 time stamps are missing"):
        line_fit({"time": np.ma.masked_array(np.arange(3.0), mask=[0, 1, 0]), "y": [0.0, 1.0, 2.0]})
    made = Experiment("made", np.arange(3.0), {"y": np.ma.masked_array([1.0, 99.0, 2.0], mask=[0, 1, 0])})
    assert np.isnan(made.columns["y"][1])


def test_masked_arguments_are_refused():
    x, k = sp.symbols("x k")
    hidden = np.ma.masked_array([1.0, 99.0], mask=[False, True])
    kernel = dr.codegen.compile(sp.Matrix([x**2]), [x])
    assert float(kernel(np.ma.masked_array(3.0))[0][0]) == 9.0
    decay = dr.first_order("decay", {x: -k * x}, parameters={k: 1.0}, start={x: 1.0})
    for call in (
        lambda: kernel(np.ma.masked_array(99.0, mask=True)),
        lambda: kernel.map(hidden),
        lambda: decay.dynamics(0.0, np.ma.masked_array([99.0], mask=True), [], [1.0]),
        lambda: dr.modes(decay, over={"k": hidden}),
        lambda: dr.ensemble(decay, 1.0, {"k": hidden}),
        lambda: dr.simulate(decay, 1.0, parameters={"k": np.ma.masked_array(2.0, mask=True)}),
    ):
        with pytest.raises(ArgumentError, match=r"1 of [12] entries are masked"):
            call()


def csv(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_cells_that_are_no_numbers(tmp_path):
    found = line_fit(csv(tmp_path, "time,y\n0,0\n1,1\n# remark\n2,err\n3,3\n4,inf\n5,5\n"))
    assert found.problem.samples == 4
    assert "1 that is no number, 'err' in line 5" in found.warnings[0] and "1 infinite, the first at t = 4 s" in found.warnings[1]
    clean = line_fit(csv(tmp_path, "time,y,note\n0,0,\n1,1,late\n2,,\n3,NaN,\n4,n/a,early\n5,5,\n"))
    assert clean.warnings == () and clean.problem.samples == 3  # notes are not used, and empty cells say what they are
    assert "infinite" in line_fit({"time": [0.0, 1.0, 2.0], "y": [0.0, np.inf, 2.0]}).warnings[0]


def test_decimal_commas_beside_a_text(tmp_path):
    found = line_fit(csv(tmp_path, "time;y\n0;0\n0,5;0,5\n1;1\n2;err\n2,5;2,5\n"))
    assert found["a"] == pytest.approx(1.0) and found.problem.samples == 4 and "'err' in line 5" in found.warnings[0]


@pytest.mark.parametrize("header", ["time,y,y", "time, y ,y", "time,y [m],y [mm]", "time,y,time", "# log\ntime,y,y"])
def test_repeated_columns_are_refused(tmp_path, header):
    with pytest.raises(DataError, match=r"two columns are called '(y|time)'"):
        line_fit(csv(tmp_path, f"{header}\n0,0,9\n1,1,9\n2,2,9\n"))


def test_tables_with_objects_and_texts():
    """Numbers as objects or texts are numbers, also in the column of time, where '2000' is no year."""
    pd = pytest.importorskip("pandas")
    for kind in (object, str):
        table = pd.DataFrame({"time": [2000.0, 2001.0, 2002.0], "y": [0.0, 3.0, 6.0]}).astype(kind)
        fit = dr.estimate(LINE, table, ["a"], {"y": ("y", 0.3)}, start={"y": 0.0}, start_time=2000.0)
        assert fit["a"] == pytest.approx(3.0) and fit.warnings == ()
    stamps = pd.DataFrame({"time": ["2024-01-01T00:00:00", "2024-01-01T00:00:01", "2024-01-01T00:00:02"], "y": [0.0, 3.0, 6.0]})
    assert line_fit(stamps)["a"] == pytest.approx(3.0)
    for names in (["time", "y", "y"], ["time", "y", "time"]):
        with pytest.raises(DataError, match="two columns are called"):
            line_fit(pd.DataFrame([[0, 0, 1], [1, 2, 1], [2, 4, 1]], columns=names))
