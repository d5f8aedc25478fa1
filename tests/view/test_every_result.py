"""Every kind of result has a summary, a table, files and its standard figure, here and in another process.

Figures are drawn without arguments, labeled with units, in colors all can tell apart.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import sympy as sp
from matplotlib.colors import to_hex, to_rgb

import draisine as dr
from draisine.estimation.coverage import Coverage
from draisine.results.base import Result, html_table
from draisine.results.contact_modes import ContactHistory
from draisine.simulation.ensemble.result import Ensemble
from draisine.view.plots.style import COLORS
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import contact_angle_figure, energy_figure, friction_figure, normal_force_figure

UNIT = re.compile(r"\[[^\]]+\]")  # [m/s], [–] where there is none


@cache
def bike() -> dr.Model:
    return dr.gallery.bicycle()


@cache
def ride() -> dr.Trajectory:
    return dr.simulate(bike(), 0.5, start={"speed": 4.6, "roll_rate": 0.5})


@cache
def sweep():
    return dr.modes(bike(), speed=np.linspace(0, 10, 41), states=("lean", "steer"))


@cache
def oscillator() -> dr.Equations:
    x, v, mu = sp.symbols("x v mu")
    units = {x: "m", v: "m/s", mu: "1/s"}
    return dr.first_order(
        "van_der_pol", {x: v, v: mu * (1 - x**2) * v - x}, parameters={mu: 0.5}, start={x: 2.0, v: 0.0}, units=units
    )


@cache
def cycle() -> dr.stability.Cycle:
    return dr.stability.limit_cycle(oscillator(), start={"x": 2.0}, period=6.4)


@cache
def swing() -> dict[str, np.ndarray]:
    run = dr.simulate(dr.gallery.damped_pendulum(), 4.0, samples=81)
    return {"time": run.time, "angle": run["angle"] + 0.01 * np.random.default_rng(5).normal(size=81)}


@cache
def fit() -> dr.estimation.Fit:
    guess = {"length": 0.9, "damping": 0.2}
    return dr.estimate(dr.gallery.damped_pendulum(), swing(), list(guess), {"angle": ("angle", 0.01)}, guess=guess)


def coverage() -> Coverage:
    truth, random = np.array([1.0, 2.0]), np.random.default_rng(0)
    estimates = truth + 0.1 * random.normal(size=(50, 2))
    deviations = np.full((50, 2), 0.1)
    covered = np.abs(estimates - truth) < 1.96 * deviations
    return Coverage(("length", "damping"), 0.95, truth, estimates, deviations, covered)


@cache
def filtered() -> dr.estimation.FilterResult:
    start, spread = {"angle": 0.6, "rate": 0.0}, {"angle": 0.1, "rate": 0.1}
    return dr.filter(dr.gallery.damped_pendulum(), swing(), measured={"angle": 0.01}, start=start, spread=spread, smooth=True)


@cache
def sampled() -> Ensemble:
    laws = {"length": dr.distributions.Normal(1.0, 0.1), "damping": dr.distributions.Uniform(0.05, 0.3)}
    return dr.ensemble(dr.gallery.damped_pendulum(), 1.0, cases=laws, runs=30, outputs=["angle"])


def gridded() -> Ensemble:
    return dr.ensemble(dr.gallery.damped_pendulum(), 1.0, {"length": (0.8, 1.2, 9)}, outputs=["angle", "rate"])


@cache
def bounces() -> ContactHistory:
    return dr.simulate(dr.gallery.model("bouncing_ball"), 1.0).modes


# one of every kind that is drawn, and of those that are tables alone
RESULTS: dict[str, Callable[[], Result]] = {
    "Trajectory": ride,
    "ContactHistory": bounces,
    "ContactNeeds": lambda: bounces().needs,
    "Modes": sweep,
    "StabilityMap": lambda: dr.stability.stability_map(
        bike(), {"speed": np.linspace(3, 7, 9), "trail": np.linspace(0.04, 0.12, 5)}
    ),
    "LinearModel": lambda: dr.linearize(bike(), {"speed": 5.0}).essential(),
    "Descriptor": lambda: dr.stability.descriptor(dr.gallery.chaplygin_sleigh()),
    "SteadyMotion": lambda: dr.steady(bike(), {"speed": 5.0}),
    "Branch": lambda: dr.stability.continuation(bike(), "speed", start={"speed": 5.0}, between=(4.5, 5.5)),
    "Atlas": lambda: dr.bicycle.turning_atlas(bike(), lean=np.linspace(0.0, 0.4, 5), speed=np.linspace(3.0, 7.0, 5)),
    "Solution": lambda: dr.gallery.solution("trolley_parks"),
    "Optimality": lambda: dr.gallery.solution("trolley_parks").optimality,
    "Fit": fit,
    "Identifiability": lambda: fit().identifiability,
    "Profile": lambda: fit().profile("length"),
    "Bootstrap": lambda: fit().bootstrap(3),
    "Coverage": coverage,
    "FilterResult": filtered,
    "Ensemble": sampled,
    "Cycle": cycle,
    "CycleBranch": lambda: dr.stability.follow_cycle(cycle(), "mu", 0.7, most=4),
    "Diagnosis": lambda: dr.diagnose(dr.gallery.chaplygin_sleigh()),
    "Certificate": lambda: dr.certify(dr.gallery.damped_pendulum(), count=3),
    "IndexReport": lambda: dr.dae.index_of(dr.gallery.damped_pendulum()),
    "DriftTable": lambda: dr.compare_drift(dr.gallery.four_bar(), 0.2),
    "UncertainModes": lambda: dr.bicycle.uncertainty(bike(), {"trail": 0.001}, np.linspace(4.0, 6.0, 3)),
    "WhippleMatrices": lambda: dr.bicycle.whipple_matrices(bike()),
    "Transition": lambda: dr.stability.state_transition(oscillator(), 1.0),
    "OperationCounts": lambda: dr.codegen.operation_counts(oscillator()),
    "Start": lambda: dr.consistent_start(dr.derive(bike()), {"lean": 0.1, "steer": 0.2}),
}


@cache
def result(name: str) -> Result:
    return RESULTS[name]()


def results() -> dict[str, Result]:
    return {name: result(name) for name in RESULTS}


FIGURES = {
    "trajectory": lambda: ride().plot(),
    "residuals": lambda: ride().plot(*ride().names("residuals")),
    "path": lambda: track_figure(ride()),
    "contact angles": lambda: contact_angle_figure(ride()),
    "normal forces": lambda: normal_force_figure(ride()),
    "friction": lambda: friction_figure(ride()),
    "energy": lambda: energy_figure(ride()),
    "modes": lambda: sweep().plot(),
    "root locus": lambda: dr.view.root_locus(sweep()),
    "map": lambda: result("StabilityMap").plot(),
    "linear model": lambda: result("LinearModel").plot(),
    "branch": lambda: result("Branch").plot(),
    "descriptor": lambda: result("Descriptor").plot(),
    "atlas": lambda: result("Atlas").plot(),
    "solution": lambda: result("Solution").plot(),
    "fit": lambda: fit().plot(),
    "intervals": lambda: fit().plot_intervals(),
    "profile": lambda: result("Profile").plot(unit="m"),
    "bootstrap": lambda: result("Bootstrap").plot(),
    "uncertain modes": lambda: result("UncertainModes").plot(),
    "coverage": lambda: coverage().plot(),
    "filtered": lambda: filtered().plot(),
    "ensemble, drawn": lambda: sampled().plot(),
    "ensemble, named": lambda: sampled().plot("angle.end"),
    "ensemble, over one": lambda: gridded().plot(),
    "cycle": lambda: cycle().plot(),
    "family of cycles": lambda: result("CycleBranch").plot(),
    "diagnosis": lambda: result("Diagnosis").plot(),
    "certificate": lambda: result("Certificate").plot(),
}


@pytest.mark.parametrize("name", FIGURES)
def test_its_figure(name, tmp_path):
    figure = FIGURES[name]()
    labeled = [axes for axes in figure.axes if axes.axison]
    assert labeled
    across = [axes.get_xlabel() for axes in labeled if axes.get_xlabel()]
    assert across, "nothing says what goes to the right"
    for axes in labeled:
        for label in (axes.get_xlabel(), axes.get_ylabel()):
            assert not label or UNIT.search(label), f"{label!r} has no unit"
        if not axes.get_ylabel():  # rows by name, or a panel beside one that is labeled
            beside = any(
                other.get_ylabel() and other.get_position().y0 == pytest.approx(axes.get_position().y0) for other in labeled
            )
            assert beside or any(not _is_number(text.get_text()) for text in axes.get_yticklabels())
        lines = [line for line in axes.get_lines() if not line.get_label().startswith("_")]
        legends = [*(a.get_legend() for a in figure.axes), *figure.legends]
        assert len(lines) < 2 or any(legend is not None for legend in legends)
        for line in axes.get_lines():
            assert _is_safe(line.get_color()), f"{to_hex(line.get_color())} is not of the palette"
    for suffix in (".svg", ".pdf"):
        figure.save(tmp_path / f"figure{suffix}")
        assert (tmp_path / f"figure{suffix}").stat().st_size > 1000


def _is_number(text: str) -> bool:
    return not text or bool(re.fullmatch(r"[-−]?[\d.]+", text)) or text.startswith("$")


def _is_safe(color) -> bool:
    """Of the palette, or a gray."""
    red, green, blue = to_rgb(color)
    return to_hex(color).upper() in COLORS or max(red, green, blue) - min(red, green, blue) < 1e-6


def test_every_critical_value_of_a_sweep_is_marked():
    marked = [text.get_text() for text in sweep().plot().axes[0].texts]
    assert sorted(marked) == sorted(c.kind for c in sweep().critical())


def test_a_certificate_that_fails_shows_it():
    from draisine.view.plots.verification import disagreements

    figure = disagreements([("good", 1e-14, 1e-10), ("bad", 1e-3, 1e-10)])
    assert "beyond what is allowed" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_an_ensemble_knows_the_units_of_what_varies():
    axes = sampled().plot().axes[0]
    assert {axes.get_xlabel(), axes.get_ylabel()} == {"length [m]", "damping [1/s]"}


# ---------------------------------------------------------------- tables, files, other processes

TABLES_ALONE = {"SteadyMotion", "Optimality", "Identifiability", "IndexReport", "DriftTable"}
TABLES_ALONE |= {"WhippleMatrices", "Transition", "OperationCounts", "Start", "ContactNeeds"}


def test_every_class_of_results_is_here():
    """Those that verbs of the package give back; `Design` and `MultistartResult` take minutes and have tests of their own."""

    def below(kind: type) -> set[type]:
        return {kind, *(deeper for each in kind.__subclasses__() for deeper in below(each))}

    results()
    assert {kind.__name__ for kind in below(Result) if kind is not Result} - {"Design", "MultistartResult"} == set(results())


@pytest.mark.parametrize(
    ("module", "name"),
    [("results.trajectory", "Trajectory"), ("simulation.ensemble.result", "Ensemble"), ("estimation.fit", "Fit")],
)
def test_methods_belong_to_the_class_itself(module, name):
    """Without any other part of the package having been imported."""
    code = f"from draisine.{module} import {name}; assert {name}.plot.__module__ == 'draisine.{module}'"
    code += "; import sys; assert not [m for m in sys.modules if m.startswith('draisine.view')]"
    subprocess.run([sys.executable, "-c", code], check=True)


READER = """
import pathlib, pickle, sys
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.pickle")):
    with file.open("rb") as source:
        found = pickle.load(source)
    shown = found._repr_html_()
    assert found.summary() and "<table>" in shown and len(found.to_pandas()) > 0, file.name
    assert ("data:image/png;base64," in shown) == hasattr(found, "plot"), file.name
    if file.stem in ("Trajectory", "Ensemble", "Fit", "Solution"):
        found.plot().save(file.with_suffix(".svg"))
    found.save(file.with_suffix(".nc" if file.stem == "Solution" else ".csv"))
    print(file.stem)
run = pickle.loads((pathlib.Path(sys.argv[1]) / "Trajectory.pickle").read_bytes())
run.save(pathlib.Path(sys.argv[1]) / "ride.html")
"""


def test_a_pickled_result_works_in_another_process(tmp_path):
    for name, found in results().items():
        data = pickle.dumps(found)
        assert len(data) < 1_000_000, f"the pickle of {name} has {len(data)} bytes"
        (tmp_path / f"{name}.pickle").write_bytes(data)
    done = subprocess.run([sys.executable, "-c", READER, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(results())
    assert len(list(tmp_path.glob("*.svg"))) == 4  # the pictures of the others are in their cells
    assert {name for name, found in results().items() if not hasattr(found, "plot")} == TABLES_ALONE
    assert (tmp_path / "ride.html").stat().st_size > 100_000


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_tables_in_files_keep_complex_numbers_in_two_columns(suffix, tmp_path):
    pandas = pytest.importorskip("pandas")
    file = tmp_path / f"modes{suffix}"
    sweep().save(file)
    table = {".csv": pandas.read_csv, ".json": pandas.read_json, ".parquet": pandas.read_parquet}[suffix](file)
    np.testing.assert_allclose(table["weave.re"] + 1j * table["weave.im"], sweep().to_pandas()["weave"], rtol=1e-12)


def test_other_files_are_refused_with_those_that_there_are(tmp_path):
    with pytest.raises(dr.errors.ArgumentError, match=r"Modes cannot be saved as .*: the suffix must be one of \.csv, \.parquet"):
        sweep().save(tmp_path / "modes.docx")


def test_units_travel_with_tables():
    assert result("Branch").to_pandas().attrs["units"]["lean"] == "rad"


def test_a_notebook_shows_a_table():
    shown = ride()._repr_html_()
    assert "<td>lean</td><td>rad</td>" in shown and "more</td>" in shown and "<caption>Trajectory of bicycle" in shown
    assert "&lt;" in html_table("a < b", {"x": [1.0]})


HEADS = {
    "Modes": ["speed [m/s]", "weave [1/s]"],
    "LinearModel": ["unit", "steer [rad]", "frame_lean [rad]", "steer_torque [N*m]"],
    "Ensemble": ["unit"],
    "Descriptor": ["eigenvalue [1/s]"],
    "CycleBranch": ["mu [1/s]", "period [s]"],
    "FilterResult": ["time [s]", "angle [rad]", "angle.deviation [rad]"],
    "UncertainModes": ["speed [m/s]", "weave.deviation [1/s]"],
    "ContactNeeds": ["least_force [N]", "least_gap_at [s]"],
}


def test_tables_of_notebooks_have_units():
    for name, expected in HEADS.items():
        head = re.findall("<th>(.*?)</th>", result(name)._repr_html_())
        assert not set(expected) - set(head), (name, head)
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>", result("LinearModel")._repr_html_())
    assert ("d steer/dt", "rad/s") in rows and ("d steer_rate/dt", "rad/s^2") in rows
    assert ("angle.end", "rad") in re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>", sampled()._repr_html_())
    assert sweep().to_pandas().attrs["units"] == {"speed": "m/s", **dict.fromkeys(sweep().names, "1/s")}


def test_tables_of_unknowns_have_their_units():
    """The pendulum's length is in m."""
    profile, drawn = fit().profile("length"), fit().bootstrap(3)
    assert profile.to_pandas().attrs["units"] == {"length": "m"} and str(profile).endswith(" m by profile likelihood")
    assert profile.plot().axes[0].get_xlabel() == "length [m]"
    assert drawn.to_pandas().attrs["units"] == dict(zip(fit().names, fit().problem.units, strict=True))
    assert f"length ± {drawn.deviation('length'):.3g} m" in str(drawn) and "length [m]" in drawn._repr_html_()
    counted = dr.estimation.coverage(lambda random: fit(), {"damping": 0.1, "length": 1.0}, 2).to_pandas()
    by_name = dict(zip(fit().names, fit().problem.units, strict=True))
    assert dict(zip(counted["parameter"], counted["unit"], strict=True)) == by_name and by_name["length"] == "m"
