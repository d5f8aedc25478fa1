"""Stability maps against published critical speeds, against sweeps, and against eigenvalues at random points."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.stability.classification import NOT_REACHED
from draisine.stability.routh import characteristic, pairs_on_the_axis, positive_real_roots, unstable_roots

MEIJAARD = json.loads((Path(__file__).parents[1] / "reference" / "meijaard2007.json").read_text())
OVER = {"speed": (0, 10, 101), "trail": (-0.04, 0.2, 61)}


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


@pytest.fixture(scope="module")
def trails(bike):
    return dr.stability.stability_map(bike, OVER, states=("lean", "steer"), growth=True)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
def test_counts_without_roots(n):
    """Routh's and Sturm's counts are those of the eigenvalues, at random matrices of which many are stable."""
    a = np.random.default_rng(n).standard_normal((2000, n, n)) - 0.7 * np.eye(n)
    eigenvalues = np.linalg.eigvals(a)
    coefficients = characteristic(a)
    np.testing.assert_allclose(coefficients[0], np.poly(a[0])[1:], rtol=1e-10)
    unstable, sure = unstable_roots(coefficients)
    assert sure.all()
    np.testing.assert_array_equal(unstable, np.sum(eigenvalues.real > 0, axis=1))
    np.testing.assert_array_equal(
        positive_real_roots(coefficients), np.sum((eigenvalues.imag == 0) & (eigenvalues.real > 0), axis=1)
    )
    product = np.ones(len(a), dtype=complex)
    for i in range(n):
        for j in range(i):
            product *= -(eigenvalues[:, i] + eigenvalues[:, j])
    np.testing.assert_allclose(pairs_on_the_axis(coefficients), product.real, rtol=1e-6)


def test_boundaries_pass_through_the_published_speeds(trails):
    """At the benchmark's trail of 0.08 m; the grid has a line there, and linear interpolation is off by its square."""
    published = MEIJAARD["critical_speeds"]
    for kind, name in (("weave", "v_weave"), ("capsize", "v_capsize")):
        points = trails.boundaries[kind]
        here = points[np.abs(points[:, 1] - 0.08) < 1e-12]
        assert np.abs(here[:, 0] - float(published[name])).min() < 0.005  # cells are 0.1 m/s wide
    assert trails.at(speed=5.0, trail=0.08) == "stable"
    assert trails.at(speed=0.5, trail=0.08) == "falls without oscillation"  # the double root is at 0.684 m/s


def test_values_that_a_map_has_not(trails):
    assert trails.at(speed="18 km/h", trail="8 cm") == "stable"
    with pytest.raises(dr.errors.ArgumentError, match=r"speed from 0 to 10; speed = 10\.0000001 is outside"):
        trails.at(speed=10.0000001, trail=0.08)
    for value in ("fast", "5 kg", np.nan, None, 10**400):
        with pytest.raises(dr.errors.DraisineError, match="speed"):
            trails.at(speed=value, trail=0.08)


def test_points_agree_with_sweeps(bike, trails):
    for trail in (0.0, 0.08, 0.16):
        j = int(np.argmin(np.abs(trails.values["trail"] - trail)))
        swept = dr.modes(
            bike, speed=trails.values["speed"], states=("lean", "steer"), parameters={"trail": trails.values["trail"][j]}
        )
        np.testing.assert_allclose(trails.growth[:, j], swept.eigenvalues.real.max(axis=1), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(trails.unstable[:, j], np.sum(swept.eigenvalues.real > 0, axis=1))
        np.testing.assert_array_equal(trails.stable[:, j], swept.stable)


def test_with_and_without_eigenvalues(bike, trails):
    plain = dr.stability.stability_map(bike, OVER, states=("lean", "steer"))
    assert plain.growth is None
    np.testing.assert_array_equal(plain.kind, trails.kind)
    np.testing.assert_array_equal(plain.unstable, trails.unstable)


def test_motions_that_need_newtons_method(bike):
    """Held turns over lean and speed, against the linear model at two of them."""
    hold = ("steer_torque", "pedal_torque")
    turns = dr.stability.stability_map(
        bike, {"speed": (4.0, 7.0, 7), "lean": (0.05, 0.35, 4)}, free=hold, states=("lean", "steer"), growth=True
    )
    assert np.all(turns.unstable >= 0)
    for i, j in ((1, 0), (5, 3)):
        fixed = {"speed": turns.values["speed"][i], "lean": turns.values["lean"][j]}
        eigenvalues = dr.steady(bike, fixed, free=hold).linearize(("lean", "steer")).essential().eigenvalues
        assert np.abs(eigenvalues).min() < 1e-9  # at constant torques the turns form a family
        moving = eigenvalues[np.abs(eigenvalues) > 1e-9]
        assert turns.growth[i, j] == pytest.approx(moving.real.max(), abs=1e-8)
        assert turns.unstable[i, j] == np.sum(moving.real > 0)
    assert turns.constant == 1
    assert 0.1 < turns.share["stable"] < 0.9


def test_a_conservative_system_is_neutral():
    """A double pendulum that hangs neither grows nor decays; with its lower arm upright one mode grows, with both up two."""
    over = {"l_upper": (1.0, 2.0, 3), "l_lower": (1.0, 2.0, 2)}
    for bent, kind in (((0.0, 0.0), "neutral"), ((0.0, np.pi), "a mode grows"), ((np.pi, 0.0), "several modes grow")):
        at = dict(zip(("upper", "elbow"), bent, strict=True))
        assert set(dr.stability.stability_map(dr.gallery.double_pendulum_graph(), over, near=at).share) == {kind}


def test_as_data_and_xarray(trails):
    pytest.importorskip("xarray")
    data = json.loads(json.dumps(trails.as_data()))
    assert data["kinds"][data["kind"][50][30]] == trails.at(speed=5.0, trail=0.08)
    table = trails.to_xarray()
    assert table["growth"].sel(speed=5.0, trail=0.08, method="nearest").item() == pytest.approx(trails.growth[50, 30])
    assert table["trail"].attrs["units"] == "m"


def test_picture_names_its_regions_and_boundaries(trails):
    pytest.importorskip("matplotlib")
    (axes,) = trails.plot().axes
    assert {t.get_text() for t in axes.texts} == {"stable", "weave", "capsize", "falls without oscillation"}
    assert {line.get_label() for line in axes.get_lines()} == {"capsize boundary", "weave boundary"}
    assert axes.get_xlabel() == "speed [m/s]"


def test_progress_and_interrupt(bike):
    """What was done before an interrupt is kept, and the rest is marked."""
    reported = []

    def progress(now):
        reported.append(now.share)
        if len(reported) == 3:
            raise KeyboardInterrupt

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        part = dr.stability.stability_map(bike, {"speed": (0, 10, 10), "trail": (0.02, 0.1, 10)}, chunk=10, progress=progress)
    assert reported == [0.1, 0.2, 0.3]
    assert not part.complete
    assert "interrupted" in str(said[-1].message)
    assert np.mean(part.kind == NOT_REACHED) == pytest.approx(0.7)


def test_what_cannot_be_mapped(bike):
    with pytest.raises(dr.errors.ArgumentError, match="over two quantities"):
        dr.stability.stability_map(bike, {"speed": (0, 10, 5)})
    with pytest.raises(dr.errors.ArgumentError, match=r"no parameter, input, state or output of motion 'trial'.*trail"):
        dr.stability.stability_map(bike, {"speed": (0, 10, 5), "trial": (0, 1, 5)})
    with pytest.raises(dr.errors.ArgumentError, match=r"'trail' to sweep must be finite real numbers"):
        dr.stability.stability_map(bike, {"speed": (0, 10, 5), "trail": [0.1, float("nan")]})


def test_the_command(tmp_path, capsys):
    from draisine.cli.main import main

    words = ["map", "bicycle", "--over", "speed=0:10:21", "--over", "trail=0:0.2:11"]
    assert main([*words, "--plot", str(tmp_path / "map.svg")]) == 0
    assert "speed 0 … 10 (21), trail 0 … 0.2 (11): stable" in capsys.readouterr().out
    assert (tmp_path / "map.svg").stat().st_size > 10_000
    assert main([*words, "--json", "--growth"]) == 0
    assert len(json.loads(capsys.readouterr().out)["growth"]) == 21
    assert main(["map", "bicycle", "--over", "speed=0:10:21"]) != 0
    assert "over two quantities" in capsys.readouterr().err


def test_compiled_on_two_threads(bike, trails, monkeypatch):
    """Many points are compiled and shared out among threads: the same map, and the same corrected motions."""
    from draisine.stability import batch_evaluation as points

    for name, value in (("POINTS_WORTH_COMPILING", 1), ("LEAST_WORK_WORTH_COMPILING", 0), ("POINTS_PER_THREAD", 8)):
        monkeypatch.setattr(points, name, value)
    again = dr.stability.stability_map(bike, OVER, states=("lean", "steer"), growth=True)
    np.testing.assert_array_equal(again.kind, trails.kind)
    np.testing.assert_allclose(again.growth, trails.growth, rtol=0, atol=1e-9)
    hold = ("steer_torque", "pedal_torque")
    turns = dr.stability.stability_map(bike, {"speed": (4.0, 7.0, 5), "lean": (0.05, 0.3, 5)}, free=hold, growth=True)
    monkeypatch.undo()
    plain = dr.stability.stability_map(bike, {"speed": (4.0, 7.0, 5), "lean": (0.05, 0.3, 5)}, free=hold, growth=True)
    np.testing.assert_allclose(turns.growth, plain.growth, rtol=0, atol=1e-9)
