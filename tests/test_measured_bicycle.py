"""Parameter files of measured bicycles: what is read, what is refused, and how far uncertainties carry."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import draisine as dr
from draisine.bicycle.parameter_file import NAMES, parse_text
from draisine.bicycle.uncertainty import UncertainModes
from draisine.errors import ModelError

REFERENCE = Path(__file__).parent / "reference"
BROWSER, BENCHMARK = (REFERENCE / "bicycles" / f"{name}Benchmark.txt" for name in ("Browser", "Benchmark"))
SPEEDS = np.linspace(0, 10, 101)


@pytest.fixture(scope="module")
def browser() -> dr.bicycle.MeasuredBicycle:
    return dr.bicycle.read_bicycle(BROWSER)


@pytest.fixture(scope="module")
def found(browser: dr.bicycle.MeasuredBicycle) -> UncertainModes:
    with pytest.warns(UserWarning, match=r"iyy_frame = 1\.3164 .* impossible for a rigid body .* 1\.2864 is used"):
        return browser.modes(SPEEDS, runs=1500)


def test_the_benchmark_file_is_the_gallerys_bicycle() -> None:
    read = dr.bicycle.read_bicycle(BENCHMARK)
    assert read.name == "Benchmark" and not read.deviations and read.text.others == {"IRzz": 0.0603, "yB": 0.0, "v": 5.0}
    gallery = {p.name: p.default for p in dr.gallery.bicycle().freeze().parameters}
    assert read.parameters == pytest.approx(gallery, rel=1e-15)
    data = json.loads((REFERENCE / "meijaard2007.json").read_text())
    table = dr.modes(read.model(), speed=np.arange(11.0), states=("lean", "steer"))
    for v, row in data["eigenvalues"]["table"].items():
        wanted = np.sort_complex([complex(float(z["re"]), float(z["im"])) for z in row])
        np.testing.assert_allclose(np.sort_complex(table.eigenvalues[int(float(v))]), wanted, rtol=0, atol=1e-11)


def test_values_and_deviations_come_in_our_axes(browser: dr.bicycle.MeasuredBicycle) -> None:
    p, sigma = browser.parameters, browser.deviations
    assert (p["z_frame"], p["ixz_frame"], p["ixz_fork"], p["x_fork"]) == (0.538, 0.1163, 0.0720, 0.867)
    assert len(sigma) == 26 and sigma["z_frame"] == 0.00265022978777 and sigma["steer_axis_tilt"] == 0.00349065850399


def test_several_values_are_averaged_as_independent_ones() -> None:
    text = BENCHMARK.read_text().replace("mH = 4.0", "mH = 3.9+/-0.3, 4.1 +/- 0.4")
    read = parse_text(text)
    assert read.values["mH"] == 4.0 and read.deviations["mH"] == pytest.approx(0.25)
    assert parse_text(text.replace("3.9+/-0.3, 4.1 +/- 0.4", "(4.2±0.1)e-01")).deviations["mH"] == pytest.approx(0.01)


def test_what_is_written_reads_back_to_the_last_digit(browser: dr.bicycle.MeasuredBicycle, tmp_path: Path) -> None:
    browser.write(tmp_path / "BrowserBenchmark.txt")
    assert dr.bicycle.read_bicycle(tmp_path / "BrowserBenchmark.txt") == browser
    mine = dr.bicycle.MeasuredBicycle.of("Mine", {"trail": 0.07, "z_fork": 0.71}, {"z_fork": 0.01})
    mine.write(tmp_path / "mine.txt")
    again = dr.bicycle.read_bicycle(tmp_path / "mine.txt")
    assert again.parameters == mine.parameters and again.deviations == {"z_fork": 0.01} and again.text.values["zH"] == -0.71


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("c = 0.08", "c 0.08", r"line 3: 'c 0.08' has no '='; write name = value"),
        ("c = 0.08", "trial = 0.08", r"line 3: unknown parameter 'trial'"),
        ("c = 0.08", "c = 0.08\nc = 0.09", r"line 4: 'c' is given twice, first in line 3"),
        ("c = 0.08", "c = __import__('os')", r"line 3: c = .* is not a number; write value"),
        ("c = 0.08", "c = 80 mm", r"line 3: c = '80 mm' is not a number; remove the unit"),
        ("c = 0.08", "c = nan", r"line 3: c = 'nan' is not a number"),
        ("c = 0.08", "c = 1e999", r"line 3: c = '1e999' is too large"),
        ("c = 0.08", "c =", r"line 3: c = '' is not a number"),
        ("c = 0.08", "c = 80", r"line 3: c = 80: lengths are in meters; if it is in millimeters, write 0.08"),
        ("c = 0.08", "c = 0.08+/--0.01", r"line 3: c has the deviation -0.01; a standard deviation is not negative"),
        ("c = 0.08\n", "", r"1 of 26 parameters are missing: c"),
        ("lambda = 0.314159265358979323846", "lam = 18", r"line 4: lam = 18: .* radians, .* if it is in degrees, write 0.314159"),
        ("zB = -0.9", "zB = 0.9", r"line 14: zB = 0.9: z points down"),
        ("rF = 0.35", "rF = 0.0", r"line 27: rF = 0 is a skate, but rR = 0.3"),
        ("rF = 0.35", "rF = -0.35", r"line 27: rF = -0.35: must be positive"),
        ("mH = 4.0", "mH = -4.0", r"line 22: mH = -4: must not be negative"),
        ("IHyy = 0.06", "IHyy = -0.06", r"line 24: IHyy = -0.06: a moment of inertia is not negative"),
        ("IRzz = 0.0603", "IRzz = 0.07", r"line 11: IRzz = 0.07, but IRxx = 0.0603; a wheel"),
        ("yB = 0.0", "yB = 0.1", r"line 13: yB = 0.1: the bicycle is symmetric"),
        ("v = 5.0", "TcB1 = 1.5", r"line 31: unknown parameter 'TcB1'.*raw measurements"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, said: str) -> None:
    text = BENCHMARK.read_text()
    assert old in text
    with pytest.raises(ModelError, match=said):
        parse_text(text.replace(old, new, 1), "mine.txt")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.txt: cannot be read"):
        dr.bicycle.read_bicycle(tmp_path / "absent.txt")
    (tmp_path / "latin.txt").write_bytes(b"w = 1.02\nc = \xb1")
    with pytest.raises(ModelError, match=r"latin\.txt, line 2: not UTF-8 text"):
        dr.bicycle.read_bicycle(tmp_path / "latin.txt")
    with pytest.raises(dr.errors.ArgumentError, match="no parameter 'trial'"):
        dr.bicycle.MeasuredBicycle.of("Mine", {"trial": 0.1})


def test_a_wheel_no_body_has_is_refused() -> None:
    text = BENCHMARK.read_text().replace("IFyy = 0.28", "IFyy = 0.5")
    with pytest.raises(dr.errors.ModelError, match=r"'front_wheel': principal moments .* triangle inequality"):
        dr.bicycle.MeasuredBicycle("wrong", parse_text(text)).model()


@pytest.mark.filterwarnings("ignore:Browser")
def test_jacobian_are_those_of_the_eigenvalues(browser: dr.bicycle.MeasuredBicycle) -> None:
    """Against central differences of eigenvalues of the whole model, one uncertain parameter at a time."""
    model, at = dr.derive(browser.model(), work=False), [2.5, 5.0, 9.0]
    for name in ("trail", "steer_axis_tilt", "x_fork", "iyy_front_wheel", "gravity", "ixz_frame"):
        linear = dr.bicycle.uncertainty(model, {name: 1.0}, at)
        step = 1e-4 * abs(browser.parameters[name])
        ahead, behind = (
            dr.modes(model, speed=at, parameters={name: browser.parameters[name] + s}, states=("lean", "steer")).eigenvalues
            for s in (step, -step)
        )
        slope = (np.sort_complex(ahead) - np.sort_complex(behind)) / (2 * step)
        order = np.argsort(linear.eigenvalues, axis=1)
        apart = np.take_along_axis(linear.deviations, order, axis=1)
        np.testing.assert_allclose(apart.real, np.abs(slope.real), rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(apart.imag, np.abs(slope.imag), rtol=2e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Browser")
def test_shares_are_the_critical_speeds_gradient(browser: dr.bicycle.MeasuredBicycle, found: UncertainModes) -> None:
    """Against the values solved for anew at shifted parameters; weave, capsize and a double root."""
    model, speeds = dr.derive(browser.model(), work=False), np.linspace(0, 10, 101)
    name, sigma = "trail", browser.deviations["trail"]
    step = 1e-5
    ahead, behind = (
        dr.modes(model, speed=speeds, parameters={name: browser.parameters[name] + s}, states=("lean", "steer")).critical()
        for s in (step, -step)
    )
    assert len(found.critical) == len(ahead) == len(behind) == 5
    for c, more, less in zip(found.critical, ahead, behind, strict=True):
        assert c.shares[name] == pytest.approx(sigma * (more.value - less.value) / (2 * step), rel=1e-5), c.kind


def test_samples_agree_with_linear_propagation(found: UncertainModes) -> None:
    """1,500 samples know a standard deviation to about 2 %; four of these are a sign that something is wrong."""
    for c in found.critical:
        assert c.sampled == pytest.approx(c.deviation, rel=0.08) and c.lost == 0, c
    assert found.sampled is not None
    far = SPEEDS > 3.0  # from double roots
    np.testing.assert_allclose(found.sampled[far].real, found.deviations[far].real, rtol=0.08)
    np.testing.assert_allclose(found.sampled[far].imag, found.deviations[far].imag, rtol=0.08, atol=1e-12)


def test_the_browsers_speeds(found: UncertainModes) -> None:
    """Stable for a tenth of a meter per second, and not even that is certain."""
    weave, capsize = found.critical[-2:]
    assert (weave.value, weave.deviation) == (pytest.approx(4.2147, abs=1e-4), pytest.approx(0.0633, abs=1e-4))
    assert (capsize.value, capsize.deviation) == (pytest.approx(4.3358, abs=1e-4), pytest.approx(0.0915, abs=1e-4))
    assert found.names == ("castering", "weave", "weave*", "capsize")
    assert "independent" in str(found) and len(found.as_data()["modes"]) == len(SPEEDS)


def test_wrong_deviations_are_refused() -> None:
    bike = dr.gallery.bicycle()
    with pytest.raises(dr.errors.ArgumentError, match="no parameter 'trial'"):
        dr.bicycle.uncertainty(bike, {"trial": 0.1}, [5.0])
    with pytest.raises(dr.errors.ArgumentError, match="standard deviation of 'trail' is -1"):
        dr.bicycle.uncertainty(bike, {"trail": -1.0}, [5.0])
    with pytest.raises(dr.errors.ArgumentError, match="runs=3 are too few"):
        dr.bicycle.uncertainty(bike, {"trail": 0.1}, [5.0], runs=3)


@pytest.mark.filterwarnings("ignore:Browser")
def test_the_figure_has_bands(browser: dr.bicycle.MeasuredBicycle) -> None:
    axes = browser.figure(np.linspace(0, 10, 21)).axes[0]
    assert len(axes.collections) >= 5


def test_names_are_those_of_the_paper() -> None:
    assert len(NAMES) == len(set(NAMES)) == 26


def test_the_command_line_takes_a_parameter_file(capsys: pytest.CaptureFixture[str]) -> None:
    from draisine.cli.main import main

    assert main(["critical", str(BENCHMARK), "--over", "speed=0:10:41", "--json"]) == 0
    found = {c["kind"]: c["speed"] for c in json.loads(capsys.readouterr().out)}
    assert found["weave"] == pytest.approx(4.292382536341, abs=1e-11)
    assert main(["modes", "absent.txt", "--over", "speed=0:10:41"]) == 2
    assert "absent.txt: cannot be read" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Browser")
def test_the_command_gives_deviations(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from draisine.cli.main import main

    assert main(["uncertainty", str(BROWSER), "--over", "speed=0:10:41", "--plot", str(tmp_path / "bands.png")]) == 0
    reported = capsys.readouterr().out
    assert (
        "weave: 4.2147 ± 0.0633 m/s" in reported and "independent" in reported and (tmp_path / "bands.png").stat().st_size > 1000
    )
    assert main(["uncertainty", str(BROWSER), "--over", "speed=0:10:41", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["critical"][-1]["deviation"] == pytest.approx(0.0915, abs=1e-4)
    assert main(["uncertainty", str(BROWSER), "--over", "trail=0:1:10"]) == 2
    assert "this command sweeps the speed" in capsys.readouterr().err


@given(st.text(alphabet="wcrRmIx =+-/±.0123456789e,#()\n\t", max_size=200), st.integers(0, 40))
@settings(max_examples=300)
def test_any_text_is_read_or_refused_with_a_reason(noise: str, line: int) -> None:
    """Noise in the middle of a good file: either a bicycle or an error that names the file, never anything else."""
    lines = BENCHMARK.read_text().splitlines()
    text = "\n".join([*lines[:line], noise, *lines[line:]])
    try:
        assert set(parse_text(text, "mine.txt").values) == set(NAMES)
    except ModelError as problem:
        assert str(problem).startswith("mine.txt")
