"""Shortest paths of a car with a minimum turning radius: forward only (Dubins), and with reverse (Reeds & Shepp).

What it shows: phases. The shortest path is a word of full left, full right and straight; with one phase for each letter the
lengths of the arcs are the only unknowns, and the length is found to 1e-6 or better. As one phase with bounded curvature the
same path is found to 1e-3 from a rough guess, since switches of the control fall inside intervals. The exact lengths come from
all words in closed form (`shortest_words.py`).

What you should see: on the left a car that returns beside its start in the opposite direction: right, left for most of a
circle, right; and one that goes right, straight, left. On the right the same car with reverse parks sideways by one radius with
two cusps, and makes a three-point turn of length π. Lines are the words, dots the one-phase solution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy as sp

import draisine as dr
from draisine.gallery.entries.shortest_words import TURN, Word, dubins, length, reeds_shepp
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

Goal = tuple[float, float, float]  # m, m, rad; the least radius is 1 m, the speed 1 m/s

_x, _y, _heading, _turn, _speed, _curvature = sp.symbols("x y heading turn speed curvature")
_UNITS = {_x: "m", _y: "m", _heading: "rad", _turn: "rad/s", _speed: "m/s", _curvature: "1/m"}


def dubins_car() -> dr.Equations:
    """A car at 1 m/s, forward only, with bounded turn rate."""
    rates = {_x: sp.cos(_heading), _y: sp.sin(_heading), _heading: _turn}
    return dr.first_order("dubins_car", rates, inputs=[_turn], units={s: _UNITS[s] for s in (_x, _y, _heading, _turn)})


def reeds_shepp_car() -> dr.Equations:
    """A car that drives forward and backward with bounded curvature."""
    rates = {_x: _speed * sp.cos(_heading), _y: _speed * sp.sin(_heading), _heading: _speed * _curvature}
    units = {s: _UNITS[s] for s in (_x, _y, _heading, _speed, _curvature)}
    return dr.first_order("reeds_shepp_car", rates, inputs=[_speed, _curvature], units=units)


@dataclass(frozen=True)
class Drive:
    """A drive from the origin, heading along x, to a goal."""

    goal: Goal
    reverse: bool

    @property
    def word(self) -> Word:
        """The shortest word, in closed form."""
        return (reeds_shepp if self.reverse else dubins)(*self.goal)

    @property
    def name(self) -> str:
        return "".join(kind + ("⁻" if piece < 0 else "") for kind, piece in self.word)

    @property
    def model(self) -> dr.Equations:
        return reeds_shepp_car() if self.reverse else dubins_car()

    def constant_inputs(self, kind: str, piece: float) -> dict[str, float]:
        """Controls of a letter, at their bounds."""
        turn = float(TURN[kind])
        return {"speed": math.copysign(1.0, piece), "curvature": turn} if self.reverse else {"turn": turn}

    def rough(self) -> list[dr.Trajectory]:
        """The word with every arc a fifth too long: an initial guess near the solution."""
        runs: list[dr.Trajectory] = []
        place = {"x": 0.0, "y": 0.0, "heading": 0.0}
        for kind, piece in self.word:
            runs.append(dr.simulate(self.model, 1.2 * abs(piece), start=place, inputs=self.constant_inputs(kind, piece)))
            place = {name: float(runs[-1][name][-1]) for name in place}
        return runs

    def finish(self) -> dict[str, float]:
        """The goal, with the full turns of the word in its heading."""
        return {"x": self.goal[0], "y": self.goal[1], "heading": sum(TURN[kind] * piece for kind, piece in self.word)}

    def rough_in_one(self) -> dr.Trajectory:
        """The rough drive as one run, its controls as functions of time."""
        ends = [1.2 * abs(piece) for _, piece in self.word]
        constant_inputs = [self.constant_inputs(kind, piece) for kind, piece in self.word]
        laws = {name: str(values) for name, values in constant_inputs[-1].items()}
        for k in reversed(range(len(ends) - 1)):
            laws = {name: f"where(t < {sum(ends[: k + 1])!r}, {constant_inputs[k][name]!r}, {law})" for name, law in laws.items()}
        return dr.simulate(self.model, sum(ends), inputs=laws, samples=401)


@cache
def by_arcs(drive: Drive) -> dr.optimal.Solution:
    """One phase for each letter; only the durations are unknown."""
    model = drive.model
    phases = [
        dr.maneuver(model).inputs(**drive.constant_inputs(kind, piece)).duration(1e-3, 7).minimize("time")
        for kind, piece in drive.word
    ]
    phases[0], phases[-1] = phases[0].start(x=0, y=0, heading=0), phases[-1].finish(**drive.finish())
    whole = phases[0]
    for phase in phases[1:]:
        whole = whole.then(phase)
    return whole.solve(dr.optimal.Collocation("gauss", 5, 3), guess=drive.rough())


@cache
def plainly(drive: Drive) -> dr.optimal.Solution:
    """One phase with bounded controls, from the rough drive as initial guess."""
    stated = dr.maneuver(drive.model).start(x=0, y=0, heading=0).finish(**drive.finish())
    bounds = {"speed": (-1, 1), "curvature": (-1, 1)} if drive.reverse else {"turn": (-1, 1)}
    stated = stated.bounds(**bounds).duration(0.5, 20).minimize("time")
    return stated.solve(dr.optimal.Collocation(intervals=60), guess=drive.rough_in_one())


HOME = Drive((0.5, 0.5, math.pi), reverse=False)
ROUND = Drive((1.0, -3.0, -1.0), reverse=False)
SIDEWAYS = Drive((0.0, 1.0, 0.0), reverse=True)
ABOUT = Drive((0.0, 0.0, math.pi), reverse=True)
DRIVES = {"home": HOME, "round": ROUND, "sideways": SIDEWAYS, "about": ABOUT}


@entry(level="Intermediate")
def shortest_cars() -> Study:
    """Shortest paths of cars with a minimum turning radius, forward only and with reverse, against all words in closed form."""
    findings, runs = [], {}
    for name, drive in DRIVES.items():
        arcs, plain, exact = by_arcs(drive), plainly(drive), length(drive.word)
        assert arcs.converged and abs(arcs.duration / exact - 1) < 1e-6 and arcs.discrepancy < 1e-8, (name, arcs)
        assert plain.converged and abs(plain.duration / exact - 1) < 1e-3 and plain.discrepancy < 1e-3, (name, plain)
        for phase, (_, piece) in zip(arcs.phases, drive.word, strict=True):
            assert abs(phase.duration - abs(piece)) < 1e-5, (name, phase.duration, piece)
        findings.append(
            f"{name}: {drive.name} of {exact:.7f} m; by its arcs {arcs.duration:.7f} m, plainly {plain.duration:.5f} m "
            f"({plain.duration / exact - 1:+.1e})"
        )
        runs[name], runs[f"{name}_plainly"] = arcs.trajectory, plain.trajectory
    return Study("Shortest paths of cars", runs, {"paths": _paths(runs)}, tuple(findings))


def _paths(runs: dict[str, dr.Trajectory]) -> Any:
    with style():
        drawing = new_figure(PAGE, 0.62 * PAGE)
        panels = drawing.subplots(1, 2)
        for axes, names, title in zip(
            panels, (("home", "round"), ("sideways", "about")), ("forward only", "with reverse"), strict=True
        ):
            for k, name in enumerate(names):
                run, dots = runs[name], runs[f"{name}_plainly"]
                label = f"{DRIVES[name].name}, {length(DRIVES[name].word):.4f} m"
                axes.plot(run["x"], run["y"], color=COLORS[k], label=label)
                axes.plot(dots["x"][::10], dots["y"][::10], ".", color=COLORS[k], ms=4)
                x, y, heading = DRIVES[name].goal
                arrow = {"angles": "xy", "width": 0.008, "scale": 12, "zorder": 3}
                axes.quiver(x, y, math.cos(heading), math.sin(heading), color=COLORS[k], **arrow)
            axes.quiver(0, 0, 1, 0, color=FAINT, **arrow)
            axes.margins(0.12)  # with the arrow at the goal
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_xlabel("x [m]")
            rows = legend_above(axes, 3.4)
            axes.set_title(title, pad=6.0 + 14.0 * rows)  # above the legend
        panels[0].set_ylabel("y [m]")
    return drawing
