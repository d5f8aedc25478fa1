"""Kick-back: a motorcycle in a fast turn meets a bump, and the bar is struck.

What it shows: roads, tires and vibration together. The machine on tires by the Magic Formula turns steadily at 35 m/s with a lean
of 29°. A bump of 1 cm on a length of 1 m doubles the load of the front wheel for a moment; at lean its side force has another
moment about the steering axis. The torque at the bar is constant: no hands hold it.

What you should see: the bar is kicked within 20 ms, and then oscillates in the wobble mode until its damping has consumed it. Its
frequency and damping are read from the run alone, by a matrix pencil, and are those of the eigenvalue of the linearized turn.
With a weaker steering damper the kick is larger and lasts longer. The kick grows faster than the bump: on 1 cm the wheel nearly
leaves the ground, and half of that kicks the bar by a quarter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.motorcycle import FREE_INPUTS, SETTLED, STATES, motorcycle_on_magic_formula
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact import roads
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import PAGE, style

SPEED, LEAN = 35.0, -0.5
AT = 10.0  # m, where the bump begins
WEAKER = 2.0  # N·m·s/rad, of the steering damper; that of the machine is 5
QUIET = 0.7  # s, from where on only wobble, weave and slow motions are left


@live(start={"speed": SPEED, **SETTLED})
def motorcycle_over_bump() -> Model:
    """The motorcycle on tires by the Magic Formula, on a road with a bump across it."""
    m = motorcycle_on_magic_formula()
    m.name, m.description = "motorcycle_over_bump", "sport motorcycle on a road with a bump"
    height = m.parameter("bump_height", 0.01, "m", "of the bump, in its middle")
    length = m.parameter("bump_length", 1.0, "m", "of the bump, along the road")
    m.ground(height=roads.bump(AT, length, height))
    return m


def over_bump(
    uneven: dr.Equations, turn: Any, height: float = 0.01, until: float = 2.0, parameters: dict[str, float] | None = None
) -> dr.Trajectory:
    """From a steady turn on level ground over a bump, with constant torques."""
    own = {q.name for q in (*uneven.coordinates, *uneven.velocities, *uneven.extra_states)}
    start = {name: float(turn[name]) for name in own if not name.startswith(("front_place", "rear_place"))}
    inputs = {name: turn[name] for name in FREE_INPUTS}
    given = {"bump_height": height, **(parameters or {})}
    return dr.simulate(uneven, until, start=start, inputs=inputs, parameters=given, samples=round(1000 * until) + 1)


def decaying_modes(times: NDArray[np.float64], values: NDArray[np.float64], order: int) -> NDArray[np.complex128]:
    """Exponents λ of a sum of `order` terms exp(λ t) that passes through equidistant values: a matrix pencil (Hua & Sarkar 1990).

    Rows of the matrix of shifted values span the space of the exponentials; the shift by one sample acts on it with the
    eigenvalues exp(λ Δt).
    """
    shifted = np.lib.stride_tricks.sliding_window_view(values, len(values) // 2)
    space = np.linalg.svd(shifted, full_matrices=False)[2][:order].T
    steps = np.linalg.eigvals(np.linalg.lstsq(space[:-1], space[1:], rcond=None)[0])
    return np.asarray(np.log(steps.astype(complex)) / (times[1] - times[0]))


def wobble_in(run: dr.Trajectory, near: complex) -> complex:
    """The exponent of the oscillation of the bar after the bump that is nearest to an eigenvalue."""
    late = run.time >= QUIET
    found = decaying_modes(run.time[late][::5], run["steer"][late][::5], order=6)
    return complex(found[np.argmin(np.abs(found - near))])


@entry(level="Advanced", film="kicked", charts=("steer", "front_normal_force"))
def kick_back() -> Study:
    """A bump in a fast turn kicks the bar of a motorcycle, which wobbles; a steering damper calms it."""
    level, uneven = (dr.derive(m, work=False) for m in (motorcycle_on_magic_formula(), motorcycle_over_bump()))
    runs, wobbles = {}, {}
    for name, damping in (("kicked", 5.0), ("weaker damper", WEAKER)):
        given = {"damper_damping": damping}
        turn = dr.steady(level, {"speed": SPEED, "lean": LEAN}, free=FREE_INPUTS, parameters=given)
        runs[name] = over_bump(uneven, turn, parameters=given)
        roots = turn.linearize(STATES).eigenvalues
        inside = roots[(roots.imag > 30) & (roots.imag < 60)]
        root = complex(inside[np.argmax(inside.real)])
        wobbles[name] = root, wobble_in(runs[name], root)
        assert runs[name].status.complete, runs[name].status
        assert abs(wobbles[name][1] - root) < 1e-3 * abs(root), wobbles[name]
        if name == "kicked":
            half = over_bump(uneven, turn, 0.005)
            assert np.ptp(half["steer"]) < 0.3 * np.ptp(runs[name]["steer"])
    kicks = {name: float(np.degrees(np.ptp(run["steer"]))) for name, run in runs.items()}
    assert kicks["weaker damper"] > 1.05 * kicks["kicked"]
    loads = runs["kicked"]["front_normal_force"]
    root, found = wobbles["kicked"]
    findings = (
        f"front load {loads[0]:.0f} N in the turn, up to {loads.max():.0f} N on a bump of 1 cm",
        f"the bar is kicked by {kicks['kicked']:.2f}°, by {kicks['weaker damper']:.2f}° with a damper of {WEAKER:g} N·m·s/rad",
        f"wobble from the run: {found:.3f} 1/s; eigenvalue of the turn: {root:.3f} 1/s",
    )
    return Study("Kick-back over a bump", runs, {"steer": _drawn(runs)}, findings)


def _drawn(runs: dict[str, dr.Trajectory]) -> Any:
    with style():
        drawing, (steer, load) = panels(2, 0.9 * PAGE, 0.7 * PAGE)
        for name, run in runs.items():
            steer.plot(run.time, np.degrees(run["steer"]), label={"kicked": "damper of 5 N·m·s/rad"}.get(name, name))
            load.plot(*run.curve("front_normal_force"))
        steer.set_ylabel("steer [°]")
        load.set_ylabel("front load [N]")
        load.set_xlabel("time [s]")
        legend_above(steer, 0.9 * PAGE)
    return drawing
