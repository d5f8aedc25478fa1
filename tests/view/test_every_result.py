"""Every kind of result knows its standard figure: drawn without arguments, labelled with units, in colours all can tell apart."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
import sympy as sp
from matplotlib.colors import to_hex, to_rgb

import draisine as dr
from draisine import view
from draisine.estimation.coverage import Coverage
from draisine.view.plots.style import COLOURS

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
def cycle() -> dr.Cycle:
    return dr.limit_cycle(oscillator(), {"x": 2.0}, 6.4)


@cache
def swing() -> dict[str, np.ndarray]:
    run = dr.simulate(dr.gallery.damped_pendulum(), 4.0, samples=81)
    return {"time": run.time, "angle": run["angle"] + 0.01 * np.random.default_rng(5).normal(size=81)}


@cache
def fit() -> dr.Fit:
    guess = {"length": 0.9, "damping": 0.2}
    return dr.estimate(dr.gallery.damped_pendulum(), swing(), list(guess), {"angle": ("angle", 0.01)}, guess=guess)


def coverage() -> Coverage:
    truth, random = np.array([1.0, 2.0]), np.random.default_rng(0)
    estimates = truth + 0.1 * random.normal(size=(50, 2))
    deviations = np.full((50, 2), 0.1)
    held = np.abs(estimates - truth) < 1.96 * deviations
    return Coverage(("length", "damping"), 0.95, truth, estimates, deviations, held)


def filtered() -> dr.Filtered:
    start, spread = {"angle": 0.6, "rate": 0.0}, {"angle": 0.1, "rate": 0.1}
    return dr.filter(dr.gallery.damped_pendulum(), swing(), measured={"angle": 0.01}, start=start, spread=spread, smooth=True)


def sampled() -> dr.Ensemble:
    laws = {"length": dr.Normal(1.0, 0.1), "damping": dr.Uniform(0.05, 0.3)}
    return dr.ensemble(dr.gallery.damped_pendulum(), samples=laws, runs=30, until=1.0, outputs=["angle"])


def gridded() -> dr.Ensemble:
    return dr.ensemble(dr.gallery.damped_pendulum(), {"length": (0.8, 1.2, 9)}, until=1.0, outputs=["angle", "rate"])


FIGURES = {
    "trajectory": lambda: ride().plot(),
    "residuals": lambda: ride().plot(*ride().names("residuals")),
    "path": lambda: view.path(ride()),
    "contact angles": lambda: view.contact_angles(ride()),
    "normal forces": lambda: view.normal_forces(ride()),
    "friction": lambda: view.friction_needed(ride()),
    "energy": lambda: view.energy(ride()),
    "modes": lambda: sweep().plot(),
    "root locus": lambda: dr.root_locus(sweep()),
    "map": lambda: dr.stability_map(bike(), {"speed": np.linspace(3, 7, 9), "trail": np.linspace(0.04, 0.12, 5)}).plot(),
    "linear model": lambda: dr.linearize(bike(), {"speed": 5.0}).essential().plot(),
    "branch": lambda: dr.continuation(bike(), "speed", start={"speed": 5.0}, between=(4.5, 5.5)).plot(),
    "atlas": lambda: dr.turning_atlas(bike(), lean=np.linspace(0.0, 0.4, 5), speed=np.linspace(3.0, 7.0, 5)).plot(),
    "solution": lambda: dr.gallery.solution("trolley_parks").plot(),
    "fit": lambda: fit().plot(),
    "intervals": lambda: fit().plot_intervals(),
    "profile": lambda: fit().profile("length").plot(unit="m"),
    "coverage": lambda: coverage().plot(),
    "filtered": lambda: filtered().plot(),
    "ensemble, drawn": lambda: sampled().plot(),
    "ensemble, named": lambda: sampled().plot("angle.end"),
    "ensemble, over one": lambda: gridded().plot(),
    "cycle": lambda: cycle().plot(),
    "family of cycles": lambda: dr.follow_cycle(cycle(), "mu", 0.7, most=4).plot(),
    "diagnosis": lambda: dr.diagnose(dr.gallery.chaplygin_sleigh()).plot(),
    "certificate": lambda: dr.certify(dr.gallery.damped_pendulum(), states=3).plot(),
}


@pytest.mark.parametrize("name", FIGURES)
def test_its_figure(name, tmp_path):
    figure = FIGURES[name]()
    labelled = [axes for axes in figure.axes if axes.axison]
    assert labelled
    across = [axes.get_xlabel() for axes in labelled if axes.get_xlabel()]
    assert across, "nothing says what goes to the right"
    for axes in labelled:
        for label in (axes.get_xlabel(), axes.get_ylabel()):
            assert not label or UNIT.search(label), f"{label!r} has no unit"
        if not axes.get_ylabel():  # rows by name, or a panel beside one that is labelled
            beside = any(
                other.get_ylabel() and other.get_position().y0 == pytest.approx(axes.get_position().y0) for other in labelled
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


def _is_safe(colour) -> bool:
    """Of the palette, or a grey."""
    red, green, blue = to_rgb(colour)
    return to_hex(colour).upper() in COLOURS or max(red, green, blue) - min(red, green, blue) < 1e-6


def test_every_critical_value_of_a_sweep_is_marked():
    marked = [text.get_text() for text in sweep().plot().axes[0].texts]
    assert sorted(marked) == sorted(c.kind for c in sweep().critical())


def test_a_certificate_that_fails_shows_it():
    from draisine.view.plots.verdicts import disagreements

    figure = disagreements([("good", 1e-14, 1e-10), ("bad", 1e-3, 1e-10)])
    assert "beyond what is allowed" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_an_ensemble_knows_the_units_of_what_varies():
    axes = sampled().plot().axes[0]
    assert {axes.get_xlabel(), axes.get_ylabel()} == {"length [m]", "damping [1/s]"}
