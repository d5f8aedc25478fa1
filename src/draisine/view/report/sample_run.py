"""The sample run of a report, from a start for which the model moves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from draisine.errors import StartError
from draisine.program.program import DaeResidual
from draisine.results.channel import Group
from draisine.results.status import ProgressCallback
from draisine.results.trajectory import Trajectory
from draisine.simulation.methods.selection import Auto
from draisine.simulation.simulate import simulate
from draisine.view.film.animate import animate
from draisine.view.plots.labels import display_name
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import (
    MAIN_CHANNELS,
    channel_figure,
    contact_angle_figure,
    energy_figure,
    main_channels,
    normal_force_figure,
)
from draisine.view.report.analysis import StabilityAnalysis
from draisine.view.report.chapter import Content, count_noun, escape, figure, number, paragraph, table
from draisine.view.report.subject import Subject

DEFAULT_SPEED = 4.0  # m/s: if no speed is stable
DISTURBANCE = 0.2  # rad/s or m/s: a visible disturbance, small enough not to fall at once
PUSH = 0.5
_STILL = 1e-6  # smaller changes count as rest
_PUSHED = "the defaults with an initial velocity, since it would stay at rest"
_STEPS = 200_000  # limit of the integration


class SampleRun:
    """The sample run of one model, simulated once."""

    def __init__(self, subject: Subject, analysis: StabilityAnalysis, progress: ProgressCallback | None = None) -> None:
        self.subject, self.analysis, self.progress = subject, analysis, progress
        self.start: dict[str, float] = {}
        self.why = ""

    @cached_property
    def run(self) -> Trajectory:
        """The run from the first start that moves (with an initial velocity only if velocities change); else the first that
        moves at all, or the last consistent one."""
        steady: tuple[Trajectory, dict[str, float], str] | None = None
        found, problem = None, None
        for start, why in self._starts():
            self.start, self.why = start, why
            try:
                found = self._simulated()
            except StartError as refused:
                problem = refused
                continue
            if _moves(found) and (why != _PUSHED or _moves(found, Group.VELOCITIES)):
                return found
            if steady is None and _moves(found):
                steady = found, start, why
        if steady is not None:
            found, self.start, self.why = steady
        if found is None:
            assert problem is not None
            raise problem
        return found

    def _simulated(self) -> Trajectory:
        method = None if isinstance(self.subject.equations.dynamics, DaeResidual) else Auto(max_steps=_STEPS)
        return simulate(self.subject.model, self.subject.options.until, start=self.start, method=method, progress=self.progress)

    def _starts(self) -> Iterator[tuple[dict[str, float], str]]:
        """Candidate starts with the reason for each."""
        options = self.subject.options.start
        if options:
            yield dict(options), "as requested"
            return
        e = self.subject.equations
        names = [q.name for q in (*e.states, *e.outputs)]
        if self.subject.knows("speed") and not isinstance(self.analysis.swept, str):
            middle = self.analysis.stable_middle()
            base = {"speed": DEFAULT_SPEED if middle is None else round(middle, 3)}
            why = "in the middle of the stable speeds" if middle is not None else "at a moderate speed"
            for name in ("roll_rate", "lean_rate"):
                if name in names:
                    yield {**base, name: DISTURBANCE}, f"{why}, with a small push to one side"
            for name in e.independent:
                if name not in ("speed",):
                    yield {**base, name: DISTURBANCE}, f"{why}, with a small push"
        yield {}, "the defaults"
        for q in e.velocities:
            if not e.independent or q.name in e.independent:
                yield {q.name: PUSH}, _PUSHED
        if not e.velocities:
            for q in e.coordinates:
                value = q.default + 0.1 * max(1.0, abs(q.default))
                yield {q.name: value}, "slightly off the defaults, since it would stay at rest"


def _moves(run: Trajectory, group: Group = Group.COORDINATES) -> bool:
    values = run.table(group)
    change = np.ptp(values, axis=0)
    return bool((change > _STILL * np.maximum(1.0, np.abs(values).max(axis=0))).any())


def sample_run(sample: SampleRun) -> Content:
    """Start, end and figures of the run."""
    run = sample.run
    initial = ", ".join(f"{name} = {value:g}" for name, value in sample.start.items()) or "its defaults"
    lines = [paragraph(f"{display_name(run.model)} from {initial} ({sample.why}), for {sample.subject.options.until:g} s.")]
    lines += table(("", ""), [(a, b) for a, b in _summary_rows(run)])
    lines += _figures(run, sample.subject)
    trouble = "" if run.status.complete else f"The run ended early: {run.status.message}"
    facts = {"Sample run": f"{run.time[-1]:.4g} s, {run.status.kind.value.lower().replace('_', ' ')}"}
    if run.energy_drift is not None:
        facts["Error of the energy balance"] = f"{run.energy_drift:.1e} of the energy in play"
    return Content(tuple(lines), facts, trouble)


def film(sample: SampleRun) -> list[str]:
    """The run as an animation inside the page, folded initially."""
    run = sample.run
    charts = [name for name in MAIN_CHANNELS if name in run and float(np.ptp(run[name])) > _STILL][:3]
    animation = animate(run, charts=charts, title=display_name(run.model), show=False)
    return [
        f'<details class="film"><summary>Film of the run ({run.time[-1]:g} s), interactive</summary>'
        f'<iframe sandbox="allow-scripts" title="film of the run" data-page="{escape(animation.html(), quote=True)}"></iframe>'
        "</details>"
    ]


def _summary_rows(run: Trajectory) -> list[tuple[str, str]]:
    rows = [("ended", f"{run.status.kind.value.lower().replace('_', ' ')}: {run.status.message}")]
    if run.energy_drift is not None:
        rows.append(("error of the energy balance", f"{run.energy_drift:.1e} of {run.energy_scale:.4g} J in play"))
    rows += [(f"{kind} constraints, worst residual", f"{worst:.1e}") for kind, worst in run.constraint_residual.items()]
    rows += [("event", f"{display_name(event.name)} at {event.time:.4g} s") for event in run.events]
    rows += [("warning", text) for text in run.warnings]
    work = run.statistics
    if work.evaluations:
        rows.append(("work", f"{count_noun(work.evaluations, 'evaluation')}, {count_noun(work.accepted, 'step')} accepted"))
    names = [name for name in MAIN_CHANNELS if name in run]
    if names:
        values = [f"{display_name(name)} {number(float(run[name][-1]), run.channel(name).unit)}" for name in names]
        rows.append(("at the end", ", ".join(values)))
    return rows


def _figures(run: Trajectory, subject: Subject) -> list[str]:
    if len(run) < 2:
        return []
    names = main_channels(run)
    lines = figure(channel_figure(run, *names), f"Against time: {', '.join(display_name(n) for n in names)}.")
    system = subject.system
    if system is not None and (system.wheels or system.edges) and _has_plane_path(run):
        lines += figure(track_figure(run), "The path from above.")
    if any(name.endswith("_contact_angle") for name in run.names()):
        lines += figure(contact_angle_figure(run), "Contact angles of the wheels.")
    if any(name.endswith("_normal_force") for name in run.names()):
        lines += figure(normal_force_figure(run), "Normal forces of the wheels.")
    if run.energy_balance is not None:
        lines += figure(energy_figure(run), "Energies, their changes since the start, and the error of their balance.")
    return lines


def _has_plane_path(run: Trajectory) -> bool:
    return any(n.endswith("_x") and f"{n[:-2]}_y" in run for n in run.names()) or ("x" in run and "y" in run)
