"""A block that rocks from one edge to the other and loses energy at every impact (Housner, 1963).

What it shows: impacts with several contacts. When the block lands on one edge, the other edge is in contact too; the impulses
of both follow from complementarity, and the edge on which it stood lifts.

What you should see: rocking with a period that shrinks with the amplitude. Every impact keeps the share 1 − 3/2 sin² α of the
angular velocity, whatever the amplitude, if friction suffices.

By hand, for a uniform block with the half diagonal R at the angle α from its side, p² = 3g/(4R):

    θ̈ = p² sin(θ − α),   first impact after  ∫ dψ/√(2p² (cos ψ₀ − cos ψ)),
    amplitudes  cos(α − θₙ) − cos α = r (cos(α − θₙ₋₁) − cos α)
    with r = (1 − 3/2 sin² α)².  Housner's linear equation has the first impact after acosh(1/(1 − θ₀/α))/p.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.contact_modes import mode_figure
from draisine.view.plots.trajectories import channel_figure

WIDTH, HEIGHT = 0.3, 1.2


@live(start={"tilt": 0.1})
def rocking_block() -> Model:
    """A uniform block on two edges that rocks in the vertical plane."""
    m = Model("rocking_block", "a block that rocks from edge to edge")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass = m.parameter("mass", 10.0, "kg")
    w, h = m.parameter("width", WIDTH, "m"), m.parameter("height", HEIGHT, "m")
    m.parameter("friction", 0.6, "", "coefficient between block and floor")
    moment = mass * (w**2 + h**2) / 12
    shape = {"kind": "box", "size": (w, w, h), "at": (0, 0, h / 2)}
    body = m.body("block", mass=mass, center_of_mass=(0, 0, h / 2), inertia=(moment, moment, moment), shapes=[shape])
    in_vertical_plane(m, body, turn="tilt")
    for name, side in (("right", 0.5), ("left", -0.5)):
        m.contact(name, m.point(f"{name}_edge", body, (side * w, 0, 0)), friction="friction")
    return m


def tilted(tilt: float) -> dict[str, float]:
    """At rest on the right edge, which stays where it is when the block lands."""
    return {"tilt": tilt, "tilt_rate": 0.0, "x": WIDTH / 2 * (1 - math.cos(tilt)), "z": WIDTH / 2 * math.sin(tilt)}


def impacts_of(tilt: float, count: int, g: float = 9.81) -> tuple[np.ndarray, np.ndarray]:
    """Times of the first impacts, and amplitudes after them, by quadrature.

    >>> times, amplitudes = impacts_of(0.1, 2)
    >>> times.round(6).tolist(), amplitudes.round(6).tolist()
    ([0.324206, 0.870672], [0.078909, 0.063215])
    """
    from scipy.integrate import quad

    alpha, half = math.atan2(WIDTH, HEIGHT), math.hypot(WIDTH, HEIGHT) / 2
    p2, kept = 0.75 * g / half, (1 - 1.5 * math.sin(alpha) ** 2) ** 2
    quarters, amplitudes = [], [tilt]
    for _ in range(count):
        first = alpha - amplitudes[-1]

        def rate(s: float, first: float = first) -> float:  # ψ = first + s² takes the root at the turning point away
            fallen = 2 * math.sin(first + s * s / 2) * math.sin(s * s / 2)  # cos ψ₀ − cos ψ
            return 2 * s / math.sqrt(2 * p2 * fallen)

        quarters.append(quad(rate, 0.0, math.sqrt(alpha - first), epsabs=0, epsrel=1e-13)[0])
        lift = kept * (math.cos(first) - math.cos(alpha))
        amplitudes.append(alpha - math.acos(math.cos(alpha) + lift))
    lasting = 2 * np.array(quarters)
    lasting[0] /= 2
    return np.cumsum(lasting), np.array(amplitudes[1:])


@entry(level="Intermediate", film="rocks", charts=("tilt",))
def block_rocks(until: float = 3.0) -> Study:
    """A block rocks from edge to edge: times of impacts by quadrature, and Housner's share of velocity that each keeps."""
    run = dr.simulate(rocking_block(), until, start=tilted(0.1), method=dr.methods.DOP853(rtol=1e-12, atol=1e-13))
    assert run.status.kind == "FINISHED", run.status
    assert run.energy_drift is not None and run.energy_drift < 1e-9
    found = np.array([change.time for change in modes_of(run).impacts])
    times, _ = impacts_of(0.1, len(found))
    error = float(np.max(np.abs(found - times)))
    assert len(found) >= 5 and error < 1e-9
    before, after = (abs(run.at(t)["tilt_rate"]) for t in (found, np.nextafter(found, np.inf)))
    share = 1 - 1.5 * math.sin(math.atan2(WIDTH, HEIGHT)) ** 2
    assert np.max(np.abs(after / before - share)) < 1e-9
    used = [abs(p[1]) / p[0] for change in modes_of(run).impacts for p in change.impulse.values()]
    linear = math.acosh(1 / (1 - 0.1 / math.atan2(WIDTH, HEIGHT))) / math.sqrt(0.75 * 9.81 / (math.hypot(WIDTH, HEIGHT) / 2))
    findings = (
        f"{len(found)} impacts within {until:g} s, times within {error:.0e} s of the quadrature",
        f"every impact keeps {share:.9f} of the angular velocity and takes friction of {max(used):.6f}",
        f"first impact at {found[0]:.6f} s; Housner's linear equation has {linear:.6f} s",
    )
    figures = {
        "rocks": channel_figure(run, "tilt", "right_normal_force", "left_normal_force"),
        "modes": mode_figure(modes_of(run)),
    }
    return Study("A rocking block", {"rocks": run}, figures, findings)
