"""A sample ride: the model moves, from a start at which something happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from draisine.errors import StartError
from draisine.program.dae_residual import DaeResidual
from draisine.results.channel import Group
from draisine.results.trajectory import Trajectory
from draisine.view.plots.labels import words
from draisine.view.report.analysis import Lasting
from draisine.view.report.chapter import Reported, counted, figure, number, paragraph, say, table
from draisine.view.report.subject import Subject

RIDDEN = 4.0  # m/s: where no speed is stable
NUDGE = 0.2  # rad/s or m/s: enough to see, little enough not to fall at once
PUSH = 0.5
_STILL = 1e-6  # what moves less does not move
_PUSHED = "where its description begins, with a push, since it would stay at rest"
_IDENTIFIABILITY = ("speed", "lean", "steer", "roll_rate", "steer_rate", "heading")
_MOST_CHANNELS = 12
_STEPS = 200_000  # a sample ride is no place for millions


class Riding:
    """The ride of one model, made once."""

    def __init__(self, subject: Subject, lasting: Lasting, progress: Callable[[float], None] | None = None) -> None:
        self.subject, self.lasting, self.progress = subject, lasting, progress
        self.start: dict[str, float] = {}
        self.why = ""

    @cached_property
    def run(self) -> Trajectory:
        """The first of the starts that moves, by a push only if velocities change after it; else the first that moves at all, or
        the last one that can be begun."""
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
        from draisine.simulation.methods.selection import Auto
        from draisine.simulation.simulate import simulate

        method = None if isinstance(self.subject.equations.dynamics, DaeResidual) else Auto(max_steps=_STEPS)
        return simulate(self.subject.model, self.subject.wanted.until, start=self.start, method=method, progress=self.progress)

    def _starts(self) -> Iterator[tuple[dict[str, float], str]]:
        """Starts to be tried, with the reason for each."""
        wanted = self.subject.wanted.start
        if wanted:
            yield dict(wanted), "as asked for"
            return
        e = self.subject.equations
        names = [q.name for q in (*e.states, *e.outputs)]
        if self.subject.knows("speed") and not isinstance(self.lasting.swept, str):
            middle = self.lasting.stable_middle()
            ridden = {"speed": RIDDEN if middle is None else round(middle, 3)}
            why = "in the middle of the stable speeds" if middle is not None else "at a speed to be seen"
            for name in ("roll_rate", "lean_rate"):
                if name in names:
                    yield {**ridden, name: NUDGE}, f"{why}, with a small push to one side"
            for name in e.independent:
                if name not in ("speed",):
                    yield {**ridden, name: NUDGE}, f"{why}, with a small push"
        yield {}, "where its description begins"
        for q in e.velocities:
            if not e.independent or q.name in e.independent:
                yield {q.name: PUSH}, _PUSHED
        if not e.velocities:
            for q in e.coordinates:
                value = q.default + 0.1 * max(1.0, abs(q.default))
                yield {q.name: value}, "a little beside where its description begins, since it would stay at rest"


def _moves(run: Trajectory, group: Group = Group.COORDINATES) -> bool:
    values = run.table(group)
    change = np.ptp(values, axis=0)
    return bool((change > _STILL * np.maximum(1.0, np.abs(values).max(axis=0))).any())


def ride(riding: Riding) -> Reported:
    """How it begins and ends, and figures of it."""
    run = riding.run
    begun = ", ".join(f"{name} = {value:g}" for name, value in riding.start.items()) or "its defaults"
    lines = [paragraph(f"{words(run.model)} from {begun} ({riding.why}), for {riding.subject.wanted.until:g} s.")]
    lines += table(("", ""), [(a, b) for a, b in _account(run)])
    lines += _figures(run, riding.subject)
    trouble = "" if run.status.complete else f"The ride ended early: {run.status.message}"
    facts = {"Sample ride": f"{run.time[-1]:.4g} s, {run.status.kind.value.lower().replace('_', ' ')}"}
    if run.energy_drift is not None:
        facts["Error of the energy balance"] = f"{run.energy_drift:.1e} of the energy in play"
    return Reported(tuple(lines), facts, trouble)


def film(riding: Riding) -> list[str]:
    """The ride as a film that plays inside the page, folded away until it is asked for."""
    from draisine.view.film.animate import animate

    run = riding.run
    charts = [name for name in _IDENTIFIABILITY if name in run and float(np.ptp(run[name])) > _STILL][:3]
    made = animate(run, charts=charts, title=words(run.model), show=False)
    return [
        f'<details class="film"><summary>Film of the ride ({run.time[-1]:g} s), to be looked at from all sides</summary>'
        f'<iframe sandbox="allow-scripts" title="film of the ride" data-page="{say(made.html(), quote=True)}"></iframe>'
        "</details>"
    ]


def _account(run: Trajectory) -> list[tuple[str, str]]:
    rows = [("ended", f"{run.status.kind.value.lower().replace('_', ' ')}: {run.status.message}")]
    if run.energy_drift is not None:
        rows.append(("error of the energy balance", f"{run.energy_drift:.1e} of {run.energy_scale:.4g} J in play"))
    rows += [(f"{kind} constraints, worst residual", f"{worst:.1e}") for kind, worst in run.constraint_residual.items()]
    rows += [("event", f"{words(event.name)} at {event.time:.4g} s") for event in run.events]
    rows += [("warning", text) for text in run.warnings]
    work = run.statistics
    if work.evaluations:
        rows.append(("work", f"{counted(work.evaluations, 'evaluation')}, {counted(work.accepted, 'step')} accepted"))
    names = [name for name in _IDENTIFIABILITY if name in run]
    if names:
        values = [f"{words(name)} {number(float(run[name][-1]), run.channel(name).unit)}" for name in names]
        rows.append(("at the end", ", ".join(values)))
    return rows


def _figures(run: Trajectory, subject: Subject) -> list[str]:
    from draisine.view.plots.tracks import path
    from draisine.view.plots.trajectories import contact_angles, energy, normal_forces, plot

    if len(run) < 2:
        return []
    names = _channels(run)
    lines = figure(plot(run, *names), f"Against time: {', '.join(words(n) for n in names)}.")
    system = subject.system
    if system is not None and (system.wheels or system.edges) and _goes_about(run):
        lines += figure(path(run), "The path from above.")
    if any(name.endswith("_contact_angle") for name in run.names()):
        lines += figure(contact_angles(run), "Where each wheel touches the ground, as an angle around the wheel.")
    if any(name.endswith("_normal_force") for name in run.names()):
        lines += figure(normal_forces(run), "The force with which the ground carries each wheel.")
    if run.energy_balance is not None:
        lines += figure(energy(run), "Energies, their changes since the start, and the error of their balance.")
    return lines


def _goes_about(run: Trajectory) -> bool:
    return any(n.endswith("_x") and f"{n[:-2]}_y" in run for n in run.names()) or ("x" in run and "y" in run)


def _channels(run: Trajectory) -> list[str]:
    identifiability = [name for name in _IDENTIFIABILITY if name in run]
    if len(identifiability) >= 3:
        return identifiability
    rest = [*run.names(Group.OUTPUTS), *run.names(Group.COORDINATES), *run.names(Group.VELOCITIES)]
    moving = [n for n in dict.fromkeys([*identifiability, *rest]) if float(np.ptp(np.nan_to_num(run[n]))) > _STILL]
    return (moving or list(dict.fromkeys(rest)))[:_MOST_CHANNELS]
