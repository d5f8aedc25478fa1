"""Ensembles against closed forms, against single runs, against themselves in another order, and after an interruption."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.results.status import Progress
from draisine.simulation.ensemble.result import Ensemble

TOLERANCE = dr.methods.DOP853(rtol=1e-6, atol=1e-6)
KNOCKS = {"roll_rate": dr.distributions.Uniform(-2.0, 2.0), "speed": dr.distributions.Uniform(2.0, 8.0)}


@pytest.fixture(scope="module")
def oscillator() -> dr.Equations:
    """ẍ = −k x + f, from x = 1 at rest: x = f/k + (1 − f/k) cos √k t."""
    x, v = dynamicsymbols("x v")
    k, f = sp.symbols("k f")
    return dr.first_order("oscillator", {x: v, v: -k * x + f}, parameters={k: 1.0}, inputs=[f], start={x: 1.0})


@pytest.fixture(scope="module")
def bicycle() -> dr.Model:
    return dr.gallery.bicycle()


@pytest.fixture(scope="module")
def knocked(bicycle: dr.Model) -> Ensemble:
    keep = [dr.reductions.Final(), dr.reductions.Snapshots(0.5, 2.0), dr.reductions.Extremes(20), dr.reductions.EventCounts()]
    return dr.ensemble(bicycle, 2.0, cases=KNOCKS, runs=60, seed=3, outputs=["lean", "steer"], method=TOLERANCE, keep=keep)


# ------------------------------------------------------------------------------------------------------ closed forms


def test_oscillators_over_parameters_inputs_and_starts(oscillator: dr.Equations) -> None:
    over = {"k": (1.0, 9.0, 5), "f": [0.0, 0.7], "start.x": [1.0, -2.0, 0.5]}
    keep = [dr.reductions.Final(), dr.reductions.Snapshots(1.0)]
    found = dr.ensemble(oscillator, 3.0, over, outputs=["x", "v"], tolerance=1e-10, keep=keep)
    k, f, x0 = (found[name] for name in over)
    assert found.shape == (5, 2, 3) and len(found) == 30 and found.complete
    assert found.grid("k")[3, 0, 0] == 7.0 and found.grid("start.x")[0, 1, 2] == 0.5
    for column, t in (("x.end", 3.0), ("x@1", 1.0)):
        np.testing.assert_allclose(found[column], f / k + (x0 - f / k) * np.cos(np.sqrt(k) * t), atol=3e-9)
    np.testing.assert_allclose(found["v.end"], -(x0 - f / k) * np.sqrt(k) * np.sin(np.sqrt(k) * 3.0), atol=1e-8)
    assert found.statuses == {"FINISHED": 30}


def test_laws_of_inputs_have_parameters_that_runs_differ_in(oscillator: dr.Equations) -> None:
    """x″ = −x + a(k) with the law f = k − 1 + x (1 − k) … so that x″ = −(2k − 1) x + k − 1."""
    found = dr.ensemble(
        oscillator, 1.5, {"k": [1.0, 2.0, 3.0]}, inputs={"f": "k - 1 + x*(1 - k)"}, outputs=["x"], tolerance=1e-10
    )
    square, push = 2 * found["k"] - 1, found["k"] - 1
    np.testing.assert_allclose(found["x.end"], push / square + (1 - push / square) * np.cos(np.sqrt(square) * 1.5), atol=1e-9)


def test_extremes_and_statistics(oscillator: dr.Equations) -> None:
    found = dr.ensemble(
        oscillator, np.pi, {"k": [4.0, 1.0]}, outputs=["x"], tolerance=1e-10, keep=[dr.reductions.Extremes(64)], chunk=1
    )
    np.testing.assert_allclose(found["x.min"], [-1.0, -1.0], atol=1e-8)
    np.testing.assert_allclose(found["x.max"], [1.0, 1.0], atol=1e-8)
    k = found.statistics["k"]
    assert (k.count, k.mean, k.least, k.greatest) == (2, 2.5, 1.0, 4.0)
    assert k.deviation == pytest.approx(np.std([4.0, 1.0], ddof=1), rel=1e-15)


# ------------------------------------------------------------------------------------------------------- single runs


def test_samples_equal_single_runs(bicycle: dr.Model, knocked: Ensemble) -> None:
    """Starts, steps, events and changes of velocities: to rounding where nothing falls, to tolerance where it does."""
    assert set(knocked.statuses) == {"FINISHED", "EVENT"}
    fallen = np.flatnonzero(knocked["status"] == "EVENT")[:4]
    upright = np.flatnonzero(knocked["status"] == "FINISHED")[:8]
    for run in (*upright, *fallen):
        start = {name: float(knocked[name][run]) for name in KNOCKS}
        single = dr.simulate(bicycle, 2.0, start=start, method=TOLERANCE, samples=[0.0, 0.5, 2.0])
        assert single.status.kind == knocked["status"][run]
        near = 1e-9 if run in upright else 1e-4
        for name in ("lean", "steer"):
            assert knocked[f"{name}.end"][run] == pytest.approx(single[name][-1], abs=near)
            assert knocked[f"{name}@0.5"][run] == pytest.approx(single[name][1], abs=1e-9)
        assert knocked["ended"][run] == pytest.approx(single.time[-1], abs=1e-5)
        if run in fallen:
            assert knocked["event"][run] == "fell_over"
            assert knocked["fell_over.first"][run] == knocked["ended"][run]
            assert abs(knocked["lean.end"][run]) == pytest.approx(np.radians(80.0), abs=1e-9)
            assert np.isnan(knocked["lean@2"][run])


def test_starts_with_leaning_bicycles_and_other_geometry(bicycle: dr.Model) -> None:
    """Positions solved for lane by lane: wheels on the ground at any lean, steer and trail."""
    samples = {"lean": [-0.4, 0.1, 0.5], "steer": [0.2, -0.3, 0.0], "trail": [0.05, 0.08, 0.11], "start.speed": [5.0, 6.0, 4.0]}
    outputs = ["lean", "steer", "speed", "pitch", "front_wheel_contact_z"]
    found = dr.ensemble(bicycle, 0.2, cases=samples, outputs=outputs, keep=[dr.reductions.Snapshots(0.0), dr.reductions.Final()])
    for run in range(3):
        targets = {name.removeprefix("start."): column[run] for name, column in samples.items() if name != "trail"}
        single = dr.simulate(bicycle, 0.2, start=targets, parameters={"trail": samples["trail"][run]})
        for name in outputs:
            assert found[f"{name}@0"][run] == pytest.approx(single[name][0], abs=1e-8)
            assert found[f"{name}.end"][run] == pytest.approx(single[name][-1], abs=1e-6)
    np.testing.assert_allclose(found["lean@0"], samples["lean"], atol=1e-12)
    np.testing.assert_allclose(found["front_wheel_contact_z@0"], 0.0, atol=1e-12)


def test_implicit_methods_run_sample_by_sample(oscillator: dr.Equations) -> None:
    found = dr.ensemble(
        oscillator,
        1.0,
        {"k": [1.0, 4.0]},
        outputs=["x"],
        method=dr.methods.Radau(rtol=1e-9, atol=1e-11),
        keep=[dr.reductions.Final(), dr.reductions.Snapshots(0.5)],
    )
    np.testing.assert_allclose(found["x.end"], np.cos(np.sqrt(found["k"])), atol=1e-7)
    np.testing.assert_allclose(found["x@0.5"], np.cos(0.5 * np.sqrt(found["k"])), atol=1e-7)


# ---------------------------------------------------------------------------------------------- what fails, is noted


def test_a_failing_sample_is_recorded_and_never_fatal() -> None:
    """ẋ = x² − a reaches infinity at t = 1/x₀ where a = 0, and √(1 − t b) ends at t = 1/b."""
    x, t = dynamicsymbols("x"), dynamicsymbols._t
    b = sp.Symbol("b")
    pole = dr.first_order("pole", {x: -sp.sqrt(1 - b * t)}, parameters={b: 0.0}, start={x: 1.0})
    found = dr.ensemble(
        pole,
        1.0,
        {"b": [0.0, 2.0, 0.5, -1.0]},
        outputs=["x"],
        tolerance=1e-8,
        keep=[dr.reductions.Final(), dr.reductions.Snapshots(1.0)],
    )
    assert found["status"].tolist() == ["FINISHED", "NOT_FINITE", "FINISHED", "FINISHED"]
    assert found["ended"][1] == pytest.approx(0.5, abs=1e-3) and np.isnan(found["x@1"][1])
    exact = [0.0, 1.0 - 2.0 / 1.5 * (1.0 - 0.5**1.5), 1.0 - 2.0 / 3.0 * (2.0**1.5 - 1.0)]
    np.testing.assert_allclose(found["x.end"][[0, 2, 3]], exact, atol=1e-7)
    assert found.statistics["x@1"].count == 3


WRONG = {  # by parameter: a value that no bicycle has, and what is said about it
    "m_frame": (
        -1.0,
        "mass of body 'frame' must be positive",
        r"run 1: mass of body 'frame' is -1 \(from 'm_frame' at the .*given\) kg",
    ),
    "r_front_wheel": (0.0, "radius of wheel 'front_wheel' must be positive", "run 2: radius of wheel 'front_wheel' is 0 "),
    "iyy_rear_wheel": (5.0, "inertia of body 'rear_wheel' is not that of a rigid body", "run 3: .*triangle inequality"),
    "trail": (np.nan, "'trail' must be a finite number", "run 4: 'trail' must be a finite number, got nan"),
    "speed": (np.inf, "'speed' must be a finite number", "run 5: 'speed' must be a finite number, got inf"),
}


def test_values_that_make_no_sense_are_recorded_and_not_run(bicycle: dr.Model) -> None:
    """Between good runs, which are what they are without the others, bit by bit."""
    right = {parameter.name: parameter.default for parameter in bicycle.freeze().parameters} | {"speed": 5.0}
    samples = {name: np.full(7, right[name]) for name in WRONG}
    for run, (name, (value, _, _)) in enumerate(WRONG.items(), 1):
        samples[name][run] = value
    samples["m_frame"][6] = 80.0
    problem = {"until": 0.5, "outputs": ["lean", "steer"], "method": TOLERANCE, "start": {"roll_rate": 0.3}}
    found = dr.ensemble(bicycle, cases=samples, **problem)
    assert found["status"].tolist() == ["FINISHED", *["BAD_VALUES"] * 5, "FINISHED"]
    assert found["reason"].tolist() == ["", *(reason for _, reason, _ in WRONG.values()), ""]
    assert np.isnan(found["lean.end"][1:6]).all() and not found["ended"][1:6].any() and not found["steps"][1:6].any()
    assert re.match(WRONG["m_frame"][2], found.complaint) and found.complaint in str(found)
    good = dr.ensemble(bicycle, cases={name: column[[0, 6]] for name, column in samples.items()}, **problem)
    assert good.complaint == ""
    for column in ("lean.end", "steer.end", "steps"):
        np.testing.assert_array_equal(good[column], found[column][[0, 6]])
    assert good["steer.end"][0] != good["steer.end"][1]
    for run, name in ((3, "iyy_rear_wheel"), (4, "trail")):
        reported = WRONG[name][2]
        with pytest.raises(
            dr.errors.ArgumentError, match=f"values of all 1 runs are invalid; {reported.replace(f'run {run}', 'run 0')}"
        ):
            dr.ensemble(bicycle, cases={name: column[[run]] for name, column in samples.items()}, **problem)


def test_only_what_runs_cannot_mend_is_refused(bicycle: dr.Model) -> None:
    """A moment that breaks the triangle inequality beside the defaults of others, which the runs replace."""
    over = {"ixx_rear_wheel": [0.0603, 3.0]}
    found = dr.ensemble(bicycle, 0.01, over, parameters={"iyy_rear_wheel": 5.0}, start={"speed": 5.0})
    assert found["status"].tolist() == ["BAD_VALUES", "FINISHED"]


def test_a_start_that_cannot_be_is_recorded(bicycle: dr.Model) -> None:
    """A wheel that stands on the ground touches it at no other height."""
    samples = {"rear_wheel_contact_z": [0.0, 3.0]}
    found = dr.ensemble(bicycle, 0.1, cases=samples, outputs=["lean"], start={"speed": 5.0})
    assert found["status"].tolist() == ["FINISHED", "NO_START"]
    assert np.isnan(found["lean.end"][1]) and found["ended"][1] == 0.0


# ------------------------------------------------------------------------------------------ order, threads, resuming


def test_results_depend_on_no_neighbor(bicycle: dr.Model, knocked: Ensemble) -> None:
    """Another order, other chunks and one thread: the same bits."""
    order = np.random.default_rng(5).permutation(60)
    samples = {name: knocked[name][order] for name in KNOCKS}
    keep = [dr.reductions.Final(), dr.reductions.Extremes(20)]
    again = dr.ensemble(bicycle, 2.0, cases=samples, outputs=["lean", "steer"], method=TOLERANCE, keep=keep, threads=1, chunk=7)
    for column in ("lean.end", "steer.end", "lean.min", "steer.max", "ended", "steps"):
        np.testing.assert_array_equal(again[column], knocked[column][order])


def test_draws_depend_on_seed_and_name_alone(oscillator: dr.Equations) -> None:
    def drawn(seed: int, chunk: int, **more: dr.distributions.Uniform) -> np.ndarray:
        samples = {"k": dr.distributions.Normal(4.0, 0.1), **more}
        return dr.ensemble(oscillator, 0.01, cases=samples, runs=1500, seed=seed, tolerance=1e-4, chunk=chunk)["k"]

    first = drawn(1, 4096)
    np.testing.assert_array_equal(first, drawn(1, 400, f=dr.distributions.Uniform(0.0, 1.0)))
    assert not np.any(first == drawn(2, 4096))
    assert abs(first.mean() - 4.0) < 4 * 0.1 / np.sqrt(1500) and abs(first.std() / 0.1 - 1.0) < 0.08


@pytest.mark.parametrize("form", ["", ".zarr"])
def test_interrupted_and_resumed_is_the_same(oscillator: dr.Equations, tmp_path: Path, form: str) -> None:
    problem = {
        "cases": {"k": dr.distributions.Uniform(1.0, 9.0)},
        "runs": 50,
        "seed": 4,
        "until": 1.0,
        "outputs": ["x"],
        "chunk": 10,
    }
    seen: list[Progress] = []

    def impatient(progress: Progress) -> None:
        seen.append(progress)
        if progress.values["done"] >= 20:
            raise KeyboardInterrupt

    whole = dr.ensemble(oscillator, **problem, out=tmp_path / f"whole{form}")
    part = dr.ensemble(oscillator, **problem, out=tmp_path / f"part{form}", progress=impatient)
    assert not part.complete and len(part) == 20 == len(part["x.end"])
    with pytest.raises(ValueError, match="interrupted after 20 runs"):
        part.grid("x.end")
    seen.clear()
    resumed = dr.ensemble(oscillator, **problem, out=tmp_path / f"part{form}", progress=seen.append)
    assert resumed.complete and [p.values["done"] for p in seen] == [30, 40, 50] and seen[0].values["resumed"] == 20
    assert resumed.to_pandas().equals(whole.to_pandas())
    assert resumed.statistics == whole.statistics and resumed.statuses == whole.statuses
    in_memory = dr.ensemble(oscillator, **problem)
    assert in_memory.to_pandas().equals(whole.to_pandas()) and in_memory.statistics == whole.statistics


@pytest.mark.parametrize("form", ["", ".zarr"])
def test_a_folder_of_another_problem_is_refused(
    oscillator: dr.Equations, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dr.ensemble(oscillator, 0.1, {"k": [1.0]}, outputs=["x"], out=tmp_path / f"a{form}")
    with pytest.raises(ValueError, match=r"another problem \(they differ in until\)"):
        dr.ensemble(oscillator, 0.2, {"k": [1.0]}, outputs=["x"], out=tmp_path / f"a{form}")
    with pytest.raises(ValueError, match="another problem"):
        dr.ensemble(oscillator, 0.1, {"k": [2.0]}, outputs=["x"], out=tmp_path / f"a{form}")
    monkeypatch.setattr("draisine.simulation.ensemble.storage.FORMAT", 99)
    with pytest.raises(ValueError, match="an ensemble of another version"):
        dr.ensemble(oscillator, 0.1, {"k": [1.0]}, outputs=["x"], out=tmp_path / f"a{form}")
    (tmp_path / f"b{form}").mkdir()
    (tmp_path / f"b{form}" / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match=r"no ensemble \(it contains letter.txt\)"):
        dr.ensemble(oscillator, 0.1, {"k": [1.0]}, out=tmp_path / f"b{form}")


@pytest.mark.parametrize("form", ["", ".zarr"])
def test_statistics_alone_need_no_rows(oscillator: dr.Equations, tmp_path: Path, form: str) -> None:
    problem = {"over": {"k": (1.0, 9.0, 40)}, "until": 1.0, "outputs": ["x"], "chunk": 15}
    single = dr.ensemble(oscillator, **problem, rows=False, out=tmp_path / f"alone{form}")
    assert len(single) == 40 and len(single["x.end"]) == 0
    assert single.statistics == dr.ensemble(oscillator, **problem).statistics


def test_memory_stays_bounded(oscillator: dr.Equations) -> None:
    """64 chunks of runs, 500 samples each, would be 130 MB; kept are statistics, and little else is ever held."""
    import tracemalloc

    def peak(runs: int) -> int:
        tracemalloc.start()
        samples = {"k": dr.distributions.Uniform(1.0, 2.0)}
        keep = [dr.reductions.Extremes(500)]
        dr.ensemble(
            oscillator, 1.0, cases=samples, runs=runs, outputs=["x", "v"], tolerance=1e-3, keep=keep, rows=False, chunk=256
        )
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = peak(4_096), peak(16_384)  # so many that as many chunks are under way in both, also where other work takes turns
    assert many < 1.3 * few and many < 60e6


# ------------------------------------------------------------------------------------------------- what is refused


def test_mistakes_are_named(oscillator: dr.Equations) -> None:
    with pytest.raises(KeyError, match="no parameter, input or start target of oscillator is called 'kk'"):
        dr.ensemble(oscillator, 1.0, {"kk": [1.0]})
    with pytest.raises(KeyError, match="no output of oscillator is called 'y'"):
        dr.ensemble(oscillator, 1.0, {"k": [1.0]}, outputs=["y"])
    with pytest.raises(ValueError, match="'k' is given both for all runs and for each run"):
        dr.ensemble(oscillator, 1.0, {"k": [1.0]}, parameters={"k": 2.0})
    with pytest.raises(ValueError, match=r"over=.* or cases="):
        dr.ensemble(oscillator, 1.0)
    with pytest.raises(ValueError, match="number of draws is missing"):
        dr.ensemble(oscillator, 1.0, cases={"k": dr.distributions.Normal(1, 1)})
    with pytest.raises(ValueError, match="t = 3 does not lie between 0 and until = 1"):
        dr.ensemble(oscillator, 1.0, {"k": [1.0]}, keep=[dr.reductions.Snapshots(3.0)])
    with pytest.raises(ValueError, match="increase"):
        dr.reductions.Snapshots(2.0, 1.0)
    with pytest.raises(dr.errors.ModelError, match="mass of body 'frame' is -1"):
        dr.ensemble(dr.gallery.bicycle(), 1.0, {"speed": [5.0]}, parameters={"m_frame": -1.0})
