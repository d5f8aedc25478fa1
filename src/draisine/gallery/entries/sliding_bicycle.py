"""A bicycle with creep and friction limits in place of ideal rolling (attempted in Thomsen 2005, section 6.6).

What it shows: the benchmark bicycle with a creep law at its wheels. The tangential force is proportional to creep and bounded
by friction times the normal force; the normal forces are multipliers, and Newton's method solves for both at every step.

What you should see: the motion tends to that of ideal rolling with growing tire stiffness, with a difference of one over the
stiffness. Disturbed at 4.6 m/s it needs a friction coefficient of 0.14 to recover: a dry road has that; on ice the wheels slide
sideways and it falls. Contact is persistent: a run reports a wheel that would lift.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact.laws import Creep
from draisine.model.items import Parameter
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

STIFFNESSES = (1e4, 3e4, 1e5)  # N per unit of creep


@live(start={"speed": 4.6, "roll_rate": 0.5})
def sliding_bicycle() -> Model:
    """The benchmark bicycle with creep and sliding tires."""
    ideal = bicycle().freeze()
    own = (
        Parameter("tire_stiffness", 2e4, "N", "force per unit of creep, along and across"),
        Parameter("grip", 0.8, "", "bound of the force along the ground, per normal force"),
    )
    law = Creep("tire_stiffness", "tire_stiffness", friction="grip")
    wheels = tuple(wheel._replace(contact=law) for wheel in ideal.wheels)
    description = "Whipple–Carvallo bicycle, benchmark of Meijaard et al. 2007, on tires that slip"
    named = replace(ideal, name="sliding_bicycle", description=description, independent=())
    return Model.of(replace(named, parameters=(*ideal.parameters, *own), wheels=wheels))


def rolling_start(**targets: float) -> dict[str, float]:
    """Coordinates and velocities of the ideally rolling bicycle that meet the targets."""
    first = dr.simulate(bicycle(), 1e-3, start=targets)
    return {name: float(first[name][0]) for group in ("coordinates", "velocities") for name in first.names(group)}


@entry(level="Intermediate", film="ice", charts=("lean",))
def bicycle_slides(until: float = 2.0) -> Study:
    """A bicycle with creep and sliding: it tends to ideal rolling with stiff tires, and falls on ice."""
    method = dr.methods.DOP853(rtol=1e-9, atol=1e-11)
    model, knock = sliding_bicycle(), {"speed": 4.6, "roll_rate": 0.5}
    ideal = dr.simulate(bicycle(), until, start=knock, method=method, samples=201)
    start, runs, apart = rolling_start(**knock), {"ideal": ideal}, []
    for stiffness in STIFFNESSES:
        parameters = {"tire_stiffness": stiffness, "grip": 1.0}
        run = dr.simulate(model, until, start=start, parameters=parameters, method=method, samples=201)
        assert run.status.complete, run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-8
        apart.append(float(np.max(np.abs(run["lean"] - ideal["lean"]))))
        runs[f"stiffness_{stiffness:.0e}".replace("+", "")] = run
    falls = np.diff(np.log(apart)) / np.diff(np.log(STIFFNESSES))
    assert np.all(np.abs(falls + 1) < 0.1), falls  # as one over the stiffness

    for name, grip in (("dry", 0.8), ("ice", 0.12)):
        runs[name] = dr.simulate(model, 5.0, start=start, parameters={"grip": grip}, method=method)
        used = max(runs[name][f"{wheel}_friction_needed"].max() for wheel in ("rear_wheel", "front_wheel"))
        assert used <= grip * (1 + 1e-9)
    dry, ice = runs["dry"], runs["ice"]
    assert dry.status.complete, dry.status
    assert np.max(np.abs(dry["roll_rate"][dry.time > 4.0])) < 0.3 * 0.5
    assert ice.status.kind == "EVENT", ice.status  # it fell over
    assert min(ice[f"{wheel}_normal_force"].min() for wheel in ("rear_wheel", "front_wheel")) > 0
    up = np.abs(ice["lean"]) < 0.25 * np.pi
    aside = float(np.max(np.abs(ice["rear_wheel_slip_across"][up])))
    assert 0.3 < aside < 0.5 * float(np.min(ice["speed"][up]))

    figures = {
        "lean": _leans({n: r for n, r in runs.items() if n not in ("dry", "ice")}),
        "dry": channel_figure(dry, "lean", "steer", "rear_wheel_slip_across"),
        "ice": channel_figure(ice, "lean", "steer", "rear_wheel_slip_across", "front_wheel_slip_across"),
    }
    findings = (
        *(f"stiffness {c:g} N: lean within {a:.1e} rad of ideal rolling" for c, a in zip(STIFFNESSES, apart, strict=True)),
        f"dry: lean {dry['lean'][-1]:+.3f} rad after 5 s; ice: fell over after {ice.time[-1]:.2f} s",
        f"on ice the rear wheel slides aside with up to {aside:.2f} m/s before the lean passes 45°",
    )
    return Study("A bicycle that slides", runs, figures, findings)


def _leans(runs: dict[str, dr.Trajectory]) -> Any:
    with single_panel("time [s]", "lean [rad]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        for name, run in runs.items():
            label = "ideal rolling" if name == "ideal" else f"{float(name.removeprefix('stiffness_')):g} N"
            axes.plot(*run.curve("lean"), "--" if name == "ideal" else "-", label=label)
    return drawing
