"""A railway wheelset: cones on round rails, creep forces that depend on the normal forces, hunting (Thomsen 2005, chapter 5).

What it shows: persistent contact of two bodies along parametrized surfaces in three dimensions; normal forces as multipliers;
creep forces by Shen, Hedrick and Elkins, which are nonlinear in these multipliers, so that Newton's method solves for both at
every step. The reference frame moves along the track.

What you should see: without suspension the centerd run is unstable at 20 m/s, and the flanges limit the hunting; with
suspension it is stable at 100 m/s with a conicity of 0.05 and unstable with 0.08. The critical speed falls with the conicity.

Differences from the chapter: the contact is three-dimensional (there without yaw), creep follows from the velocities at the
contact (there from first-order approximations), and the flanges act at the nominal rolling circle. The stability results are
the same.

By hand: a wheelset of conicity γ that rolls freely goes along a sine of wave number √(γ/(r b)) (Klingel), b half its base.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact.laws import ShenHedrickElkins
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model
from draisine.numerics.root_finding import bracketed_root
from draisine.view.plots.canvas import panels
from draisine.view.plots.style import PAGE, style

SPRINGS = 1.823e6  # N/m
RUNS = {  # speed, suspension, conicity, seconds
    "hunting": (20.0, 0.0, 0.05, 10.0),
    "stable": (100.0, SPRINGS, 0.05, 2.0),
    "unstable": (100.0, SPRINGS, 0.08, 2.0),
}
STEEL = ShenHedrickElkins(
    friction=0.30,
    a="2.8134 mm",
    b="1.6745 mm",
    reference="5073 N",
    shear=8.27e10,
    c11=4.8530,
    c22=4.5548,
    c23=2.2666,
)


@live(start={"turn_rate": 20.0, "lateral": 0.003})
def wheelset() -> Model:
    """A wheelset with conical wheels on rails of circular profile, in a frame that moves along the track."""
    m = Model("wheelset", "conical wheels on rails of circular profile; the rails run past")
    speed = m.parameter("speed", 20.0, "m/s", "along the track")
    m.parameter("conicity", 0.05, "rad")
    radius = m.parameter("radius", 0.46, "m", "of the wheels at half_base")
    m.parameter("half_base", 0.75, "m")
    m.parameter("half_gauge", 0.79, "m", "to the crowns of the rails")
    m.parameter("rail_radius", 0.21, "m")
    m.parameter("suspension", 0.0, "N/m", "sideways")
    m.parameter("flange_stiffness", 14.60e6, "N/m")
    m.parameter("flange_gap", 0.0091, "m")
    # 1032 kg with moments 529.8, 89.9, 529.8 kg·m² in all, of which a part spins
    m.body("axle", mass=1000.0, inertia=(529.8 - 89.9 / 2, 0.0, 529.8 - 89.9 / 2), shapes=_boxes())
    m.body("wheels", mass=32.0, inertia=(89.9 / 2, 89.9, 89.9 / 2), shapes=[*_wheel(1), *_wheel(-1), AXLE])
    m.ground(shapes=[*_rail(1), *_rail(-1)])
    chain = (
        Translate((Number(0.0), Number(0.0), radius)),
        Translate((Number(0.0), Name("lateral"), Name("height"))),
        Rotate("z", Name("yaw")),
        Rotate("x", Name("roll")),
    )
    sizes = {"lateral": ("m", 0.01), "height": ("m", 0.01), "yaw": ("rad", 0.02), "roll": ("rad", 0.02)}
    ways = [Coordinate(name, f"{name}_rate", unit, 0.0, -most, most) for name, (unit, most) in sizes.items()]
    m.joint("motion", "ground", "axle", chain, ways)
    m.revolute("turn", "axle", "wheels", axis="y")
    for side, sign in (("left", "+"), ("right", "-")):
        _contact(m, side, sign, speed)
    m.spring("lateral", "suspension")
    return m


def _contact(m: Model, side: str, sign: str, speed: Any) -> None:
    """One wheel on its rail, and its flange."""
    outward = 1.0 if sign == "+" else -1.0
    s, around = m.surface_parameter(f"{side}_wheel_place", "m", outward * 0.03), m.surface_parameter(f"{side}_wheel_angle", "rad")
    a, x = m.surface_parameter(f"{side}_rail_angle", "rad", outward * 0.05), m.surface_parameter(f"{side}_rail_place", "m")
    circle = f"(radius - {outward}*{s}*tan(conicity))"
    wheel = (f"{circle}*sin({around})", f"{outward}*half_base + {s}", f"-{circle}*cos({around})")
    rail = (x, f"{outward}*half_gauge - rail_radius*sin({a})", f"rail_radius*(cos({a}) - 1)")
    m.touch(side, "axle", wheel, (s, around), "ground", rail, (a, x), STEEL, "wheels", velocity=(-speed, 0, 0))
    m.point(f"{side}_flange", "axle", (0, f"{outward}*half_base", "-radius"))
    m.wrench(f"{side}_flange", (0, f"-{outward}*flange_stiffness*max({outward}*lateral - flange_gap, 0)", 0), axes="body")


# ---------------------------------------------------------------- how it looks

STEEL_GRAY, RAIL_GRAY, PAINT = "#7C858D", "#6B5F56", "#D55E00"
AXLE = {"kind": "cylinder", "radius": 0.08, "length": "2*half_base + 0.5", "axis": "y", "color": STEEL_GRAY}


def _wheel(side: int) -> list[dict[str, Any]]:
    """Hub, web, rim with flange and coned tread, as solids of revolution, and a mark that shows the rotation."""
    # from half_base outwards, and the radius there
    outline = [
        (-0.09, 0.08), (-0.09, 0.14), (-0.02, 0.17), (-0.015, "radius - 0.075"), (-0.065, "radius - 0.07"),
        (-0.065, "radius + 0.015"), (-0.056, "radius + 0.028"), (-0.044, "radius + 0.02"), (-0.03, "radius + 0.03*tan(conicity)"),
        (0.07, "radius - 0.07*tan(conicity)"), (0.07, "radius - 0.075"), (0.015, "radius - 0.075"), (0.02, 0.17), (0.09, 0.14),
        (0.09, 0.08),
    ]  # fmt: skip
    profile = [(f"{side}*(half_base + {out})", radius) for out, radius in outline]
    mark = {"kind": "box", "size": (0.05, 0.03, 0.12), "at": (0, f"{side}*(half_base + 0.02)", 0.27), "color": PAINT}
    return [{"kind": "revolved", "profile": profile, "axis": "y", "color": STEEL_GRAY}, mark]


def _rail(side: int) -> list[dict[str, Any]]:
    """Head with its crown, web and foot."""
    arc = [(f"rail_radius*sin({a})", f"rail_radius*(cos({a}) - 1)") for a in np.linspace(0.17, -0.17, 9).round(4).tolist()]
    head = [*arc, ("-rail_radius*sin(0.17)", -0.04), ("rail_radius*sin(0.17)", -0.04)]
    place = f"{side}*half_gauge"
    return [
        {"kind": "prism", "profile": head, "length": 2.4, "axis": "x", "at": (0, place, 0), "color": RAIL_GRAY},
        {"kind": "box", "size": (2.4, 0.016, 0.1), "at": (0, place, -0.09), "color": RAIL_GRAY},
        {"kind": "box", "size": (2.4, 0.14, 0.015), "at": (0, place, -0.147), "color": RAIL_GRAY},
    ]


def _boxes() -> list[dict[str, Any]]:
    """Axle boxes, which do not rotate."""
    at = "half_base + 0.22"
    return [{"kind": "box", "size": (0.24, 0.16, 0.24), "at": (0, f"{side}*({at})", 0), "color": "#0072B2"} for side in (1, -1)]


def centerd(speed: float, conicity: float) -> dict[str, float]:
    """Initial conditions of the centerd run with rolling at the nominal contact circles."""
    circle = 0.46 - (0.04 - 0.21 * math.sin(conicity)) * math.tan(conicity)
    still = dict.fromkeys(("lateral", "yaw", "lateral_rate", "yaw_rate"), 0.0)
    return {**still, "turn_rate": speed / circle}


def growth(model: Model, speed: float, conicity: float, suspension: float) -> complex:
    """The eigenvalue with the largest real part of small motions about the centerd run, but for the angle of the spin."""
    parameters = {"speed": speed, "conicity": conicity, "suspension": suspension}
    found = np.linalg.eigvals(dr.linearize(model, centerd(speed, conicity), parameters=parameters).A)
    moving = found[np.abs(found) > 1e-6 * np.abs(found).max()]
    return complex(moving[np.argmax(moving.real)])


def critical_speed(model: Model, conicity: float, suspension: float = SPRINGS, most: float = 400.0) -> float:
    """The speed at which the centerd run loses its stability; NaN if it does not below `most`."""
    return bracketed_root(lambda speed: growth(model, speed, conicity, suspension).real, 5.0, most, rtol=1e-9)


@entry(level="Advanced", film="hunting")
def wheelset_hunts(conicities: Sequence[float] = (0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1)) -> Study:
    """The three runs of the chapter, bounded hunting, stable and unstable, and the critical speed against the conicity."""
    model = wheelset()
    runs, rates = {}, {}
    for name, (speed, suspension, conicity, until) in RUNS.items():
        parameters = {"speed": speed, "conicity": conicity, "suspension": suspension}
        start = {**centerd(speed, conicity), "lateral": 0.002}
        method = dr.methods.DOP853(rtol=1e-8, atol=1e-10)
        runs[name] = dr.simulate(model, until, start=start, parameters=parameters, method=method, samples=int(200 * until) + 1)
        rates[name] = growth(model, speed, conicity, suspension)
        assert runs[name].status.complete, runs[name].status
        assert min(runs[name][f"{side}_normal_force"].min() for side in ("left", "right")) > 0  # no wheel lifts
        assert max(runs[name].constraint_residual.values()) < 1e-8

    first, last = {n: _amplitude(r, 0) for n, r in runs.items()}, {n: _amplitude(r, 7) for n, r in runs.items()}
    assert rates["hunting"].real > 0 and 0.0091 < last["hunting"] < 0.0105  # against the flanges, and not beyond
    assert abs(last["hunting"] / _amplitude(runs["hunting"], 6) - 1) < 0.01  # bounded
    assert rates["stable"].real < 0 and last["stable"] < 0.05 * first["stable"]
    assert rates["unstable"].real > 0 and last["unstable"] > 1.5 * first["unstable"]
    klingel = 20.0 * math.sqrt(0.05 / (0.46 * 0.78))
    assert abs(abs(rates["hunting"].imag) / klingel - 1) < 0.03
    speeds = np.array([critical_speed(model, c) for c in conicities])
    assert np.all(np.diff(speeds) < 0)

    figures = {"lateral": _lateral(runs), "critical_speed": _curve(np.array(conicities), speeds)}
    findings = (
        *(
            f"{n}: eigenvalue {rates[n]:.3f} 1/s, amplitude {1e3 * first[n]:.2f} mm at first, {1e3 * last[n]:.3f} mm at last"
            for n in runs
        ),
        f"critical speed {speeds[0]:.1f} m/s at a conicity of {conicities[0]:g}, {speeds[-1]:.1f} m/s at {conicities[-1]:g}",
    )
    return Study("A wheelset hunts", runs, figures, findings)


def _amplitude(run: dr.Trajectory, eighth: int) -> float:
    lateral = np.abs(run["lateral"])
    size = len(lateral) // 8
    return float(lateral[eighth * size : (eighth + 1) * size].max())


def _lateral(runs: dict[str, dr.Trajectory]) -> Any:
    with style():
        drawing, all_axes = panels(len(runs), PAGE, 0.3 * PAGE * len(runs))
        for axes, (name, run) in zip(all_axes, runs.items(), strict=True):
            speed, suspension, conicity, _ = RUNS[name]
            axes.plot(speed * run.time, 1e3 * run["lateral"])
            axes.set_ylabel("lateral [mm]")
            axes.set_title(f"{name}: {speed:g} m/s, {'springs' if suspension else 'no springs'}, conicity {conicity:g}")
        all_axes[-1].set_xlabel("way [m]")
    return drawing


def _curve(conicities: NDArray[np.float64], speeds: NDArray[np.float64]) -> Any:
    with style():
        drawing, (axes,) = panels(1, 0.8 * PAGE, 0.45 * PAGE)
        axes.plot(conicities, speeds, "o-")
        axes.plot([0.05, 0.08], [100.0, 100.0], "s", label="runs at 100 m/s")
        axes.set_xlabel("conicity [rad]")
        axes.set_ylabel("critical speed [m/s]")
        axes.legend()
    return drawing
