"""A walking machine without motors: the compass gait (Goswami, Thuilot & Espiau 1998).

What it shows: the limit cycle of a mechanism that steps from foot to foot, its Floquet multipliers by exact derivatives across
the impacts, and how it is lost. Two legs swing about a hip; the swinging foot lands ahead of the other one without slip, and the
trailing leg leaves without an impulse. Legs without knees pass below the ground as they swing forward (`lands_where`).

What you should see: down a slope of 3° the compass walks with steps of 0.7347 s and returns to them after a disturbance. On
steeper slopes a long and a short step alternate: the period doubles at 4.391°.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.stability.periodic.branch import CycleBranch
from draisine.stability.periodic.cycle import Cycle
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

G, SIDES = 9.8, (("left", "right"), ("right", "left"))
DOUBLING = 0.076635631575634  # rad, by the return map in minimal coordinates of the tests
STEP = 0.7347209621553588  # s, the same
STATES = ("x", "z", *(f"{side}_leg" for side, _ in SIDES))
STATES = (*STATES, *(f"{name}_rate" for name in STATES))
MULTIPLIERS = (-0.19972612683 + 0.544476062095j, -0.19972612683 - 0.544476062095j, 0.131572624077 + 0j)


@live(start={"left_leg": -0.27, "right_leg": 0.27, "left_leg_rate": 1.09, "right_leg_rate": 0.38})
def compass_gait() -> Model:
    """Two legs of 1 m with masses at half of their length on a slope; x along it, z normal to it."""
    m = Model("compass_gait", "two legs that walk down a slope")
    m.parameter("slope", math.radians(3.0), "rad")
    m.gravity((f"{G}*sin(slope)", 0, f"-{G}*cos(slope)"))
    m.parameter("hip_mass", 10.0, "kg")
    m.parameter("leg_mass", 5.0, "kg", "of each leg")
    m.parameter("friction", 2.0, "", "coefficient between feet and ground")
    hip = m.body("hip", mass="hip_mass", shapes=[{"kind": "sphere", "radius": 0.06}])
    in_vertical_plane(m, hip, height=math.cos(0.27))
    for side, _ in SIDES:
        tube = {"kind": "tube", "path": [(0, 0, 0), (0, 0, -1)], "radius": 0.015}
        mass = {"kind": "sphere", "radius": 0.04, "at": (0, 0, -0.5)}
        leg = m.body(side, mass="leg_mass", center_of_mass=(0, 0, -0.5), shapes=[tube, mass])
        m.revolute(f"{side}_leg", hip, leg, axis="y")
        m.point(f"{side}_tip", leg, (0, 0, -1))
    for side, other in SIDES:
        ahead = f"position_x({side}_tip) - position_x({other}_tip) - 0.1"
        m.contact(f"{side}_foot", f"{side}_tip", friction="friction", lands_where=ahead)
    return m


def stance(angle: float, rate: float, swing: float) -> dict[str, float]:
    """Just after a heel strike: the left foot stands ahead of the hip by an angle; rates of the legs."""
    legs = {"left_leg": -angle, "right_leg": angle, "left_leg_rate": rate, "right_leg_rate": swing}
    hip = {"x": -math.sin(angle), "z": math.cos(angle), "x_rate": math.cos(angle) * rate, "z_rate": math.sin(angle) * rate}
    return legs | hip


def gait(model: Any, start: dict[str, float], period: float, **options: Any) -> Cycle:
    """The periodic motion by the step."""
    return dr.stability.limit_cycle(model, start=start, period=period, exchange={"left": "right"}, **options)


@entry(level="Advanced", film="disturbed", charts=("left_leg", "right_leg"))
def compass_gait_walks(until: float = 8.0) -> Study:
    """Two legs walk down a slope; multipliers of a step, and the slope at which steps alternate."""
    model = compass_gait()
    steady = gait(model, stance(0.271, 1.0918, 0.3772), 0.7347)
    assert abs(steady.period - STEP) < 1e-10 and steady.stable
    apart = max(min(abs(z - known) for known in MULTIPLIERS) for z in steady.multipliers)
    assert apart < 1e-9, apart
    branch = dr.stability.follow_cycle(steady, "slope", math.radians(4.6))
    (doubling,) = branch.special
    assert doubling.kind == "period doubling" and abs(doubling.value - DOUBLING) < 1e-9
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    steep = branch.cycles[-1].parameters["slope"]
    state = branch.cycles[-3].as_start()  # the gait on a slope that is less steep
    runs = {
        "disturbed": dr.simulate(model, until, start=stance(0.271, 1.0918 * 1.04, 0.3772), method=method),
        "steep": dr.simulate(
            model, 3 * until, start={name: state[name] for name in STATES}, parameters={"slope": steep}, method=method
        ),
    }
    steps = {name: np.diff([change.time for change in modes_of(run).impacts]) for name, run in runs.items()}
    for run in runs.values():
        assert run.status.kind == "FINISHED", run.status
    assert abs(steps["disturbed"][-1] - STEP) < 1e-2 * abs(steps["disturbed"][0] - STEP) + 1e-4
    late = steps["steep"][-4:]
    assert abs(late[0] - late[2]) < 0.1 * abs(late[0] - late[1])  # long and short steps alternate
    figures = {
        "steps": _steps(steps),
        "multipliers": _multipliers(branch),
        "legs": channel_figure(runs["disturbed"], "left_leg", "right_leg"),
    }
    pair, third = steady.multipliers[0], steady.multipliers[2].real
    findings = (
        f"at 3° a step takes {steady.period:.9f} s; multipliers {pair.real:.6f} ± {abs(pair.imag):.6f}i and {third:.6f}",
        f"the period doubles at a slope of {math.degrees(doubling.value):.6f}°",
        f"at 4.6° steps of {late[-2]:.4f} and {late[-1]:.4f} s alternate",
    )
    return Study("The compass gait", runs, figures, findings)


def _steps(steps: dict[str, Any]) -> Any:
    with single_panel("step [–]", "duration [s]", width=0.7 * PAGE, height=0.4 * PAGE) as (drawing, axes):
        for name, label in (("disturbed", "3°, disturbed"), ("steep", "4.6°")):
            axes.plot(np.arange(1, len(steps[name]) + 1), steps[name], "o-", markersize=3, label=label)
        axes.axhline(STEP, linestyle=":", color="black", label="limit cycle at 3°")
        axes.legend()
    return drawing


def _multipliers(branch: CycleBranch) -> Any:
    with single_panel("slope [°]", "modulus of multipliers [–]", width=0.7 * PAGE, height=0.4 * PAGE) as (drawing, axes):
        sizes = np.array([np.sort(np.abs(cycle.multipliers)) for cycle in branch.cycles])
        for k in range(sizes.shape[1]):
            axes.plot(np.degrees(branch.values), sizes[:, k], "o-", color="tab:blue", markersize=3)
        axes.axhline(1.0, linestyle=":", color="black")
        axes.axvline(math.degrees(branch.special[0].value), linestyle="--", color="tab:red", label="period doubling")
        axes.legend()
    return drawing
