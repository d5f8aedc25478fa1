"""A motorcycle of eleven freedoms: suspension, flexible frame, rider, chain, brakes, aerodynamics, tires that slip.

What it shows: a machine of parts as vehicle dynamicists build it. The frame moves freely (6), the head twists against it, the
fork steers and slides, the swing arm turns, the rider's upper body leans against a spring, and both wheels spin: thirteen
coordinates, less the two contacts, which are rigid vertically. Tires have side forces by slip angle and camber that build up over
a relaxation length. The numbers are of the size of a sport motorcycle, not those of a particular one.

What you should see: trim in one call, at speed, in a turn and while braking in it: loads, travels, torques. Upright weave,
wobble and capsize over the speed, with motions in the plane apart from them; in a turn all are coupled, and the weave takes the
suspension with it (cornering weave): its damping falls with the lean. The steering damper raises the damping of the wobble and
lowers that of the weave. Braked in a turn the fork dives, the load moves to the front, and the machine stands up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact.magic_formula import MagicFormula
from draisine.model.contact.tires import LinearTire
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import PAGE, style
from draisine.view.plots.trajectories import channel_figure

STATES = ("lean", "steer", "fork_travel", "arm_angle", "twist_angle", "rider_angle")
FREE_INPUTS = ("drive_torque", "steer_torque")
TIRES = {"front": (14e3, 1250.0, 0.2), "rear": (18e3, 1500.0, 0.25)}  # cornering and camber stiffness, relaxation length


@live(start={"speed": 25.0})
def motorcycle() -> Model:
    """A sport motorcycle with rider from parts: eleven freedoms, inputs for steering, throttle and both brakes."""
    parts = dr.parts
    m = Model("motorcycle", "sport motorcycle with suspension, flexible frame, rider, chain, brakes, aerodynamics and tires")
    points = {"pivot": (0.56, 0.4), "gearbox": (0.65, 0.43), "saddle": (0.55, 0.82), "nose": (0.95, 0.8)}
    frame = parts.frame(
        m, "frame", mass=168, center_of_mass=(0.68, 0.52), inertia={"xx": 12, "yy": 30, "zz": 24, "zx": -2.5}, wheelbase=1.4,
        trail=0.1, steer_axis_tilt="24 deg", head_height=0.85, points=points,
    )  # fmt: skip
    twist = parts.flexure(m, "twist", frame["head"], axis="x", stiffness="60 kN*m/rad", damping=60, at=(1.0, 0.55))
    axle: Any = ("frame_wheelbase", "front_radius + front_tube")
    fork = parts.telescopic_fork(
        m, "fork", twist["end"], axle=axle, mass=10, center_of_mass=(1.16, 0.78), inertia=(0.5, 0.4, 0.35), lower_mass=8,
        stiffness="18 kN/m", preload="1003 N", damping=1200,
    )  # fmt: skip
    axle = (0, "rear_radius + rear_tube")
    arm = parts.swing_arm(m, "arm", frame["pivot"], axle=axle, mass=9, stiffness="16 kN*m/rad", preload="634 N*m", damping=850)
    for name, on, radius, tube, mass, inertia in (
        ("front", fork["axle"], 0.24, 0.06, 12, (0.28, 0.48)), ("rear", arm["axle"], 0.22, 0.09, 15, (0.4, 0.65)),
    ):  # fmt: skip
        cornering, camber, relaxation = TIRES[name]
        tire = LinearTire(
            m.parameter(f"{name}_cornering", cornering, "N", "side force per radian of slip angle"),
            m.parameter(f"{name}_relaxation", relaxation, "m", "way over which the force of the tire builds up"),
            m.parameter(f"{name}_slip_stiffness", 1.5 * cornering, "N", "force along the track per unit of slip"),
            camber=m.parameter(f"{name}_camber", camber, "N", "side force per radian of camber"),
        )
        parts.wheel(m, name, on, radius=radius, tube=tube, mass=mass, inertia=inertia, tire=tire)
        parts.brake(m, f"{name}_brake", name)
    parts.chain(m, "chain", frame["gearbox"], "rear", pinion=0.04, sprocket=0.1)
    parts.steering_damper(m, "damper", damping=5)
    parts.aerodynamics(m, "air", frame["nose"], drag=0.5, lift=0.05, pitching=0.02)
    rider = parts.flexure(m, "rider", frame["saddle"], axis="x", stiffness="3 kN*m/rad", damping=150)
    torso = m.body(
        "torso", mass=45, center_of_mass=(0.08, 0, 0.28), inertia=(1.9, 1.8, 0.8), shapes=[
            {"kind": "tube", "path": [(0, 0, 0.08), (0.22, 0, 0.42)], "radius": 0.13, "color": "#4A4F55"},
            {"kind": "sphere", "at": (0.36, 0, 0.58), "radius": 0.13, "color": "#D55E00"},
        ],
    )  # fmt: skip
    m.fixed("hips", rider["body"], torso)
    parts.anti_squat(m, "squat", arm["body"], chain="chain")
    return m


SETTLED = {"frame_z": -0.008}  # the tires carry the machine where they are pressed in


@live(start={"speed": 25.0, **SETTLED})
def motorcycle_on_magic_formula() -> Model:
    """The same machine on tires by the Magic Formula, motorcycle form, which are springs vertically: thirteen freedoms.

    The coefficients are made up, of the size of sport tires; read others from a file by `dr.contact.read_tir`.
    """
    m = motorcycle()
    m.name, m.description = (
        "motorcycle_on_magic_formula",
        "sport motorcycle on tires by the Magic Formula with vertical stiffness",
    )
    for name, load, cornering, camber, stiffness in (("front", 1250.0, 13.0, 0.95, 150e3), ("rear", 1350.0, 14.0, 1.0, 180e3)):
        coefficients = {
            "FNOMIN": load, "UNLOADED_RADIUS": 0.3, "VERTICAL_STIFFNESS": stiffness, "VERTICAL_DAMPING": 300.0,
            "PCX1": 1.6, "PDX1": 1.25, "PKX1": 20.0, "RBX1": 10.0, "RCX1": 1.0, "PCY1": 1.2, "PDY1": -1.3, "PCY2": 0.8,
            "PKY1": -cornering, "PKY2": 2.0, "PKY3": 1.5, "PKY4": 2.0, "PKY6": -camber, "RBY1": 10.0, "RCY1": 1.0,
            "QBZ1": 8.0, "QCZ1": 1.1, "QDZ1": 0.08, "PTX1": 0.5, "PTY1": 0.6, "PTY2": 1.0,
        }  # fmt: skip
        m = dr.parts.replace(m, name, tire=MagicFormula("motorcycle", coefficients))
    return m


def braking_turn(model: dr.Equations, until: float = 10.0, brake: float = 60.0) -> dr.Trajectory:
    """From a steady turn at 35 m/s the front brake is applied over two seconds, while the rider holds the lean by the bar."""
    return braked(model, dr.steady(model, {"speed": 35.0, "lean": -0.6}, free=FREE_INPUTS), until, brake)


def braked(model: dr.Equations, turn: Any, until: float = 10.0, brake: float = 60.0) -> dr.Trajectory:
    """The same from a given steady turn."""
    laws: dict[str, Any] = {
        "steer_torque": f"{turn['steer_torque']!r} - 60*(lean - ({turn['lean']!r})) - 25*roll_rate",
        "front_brake_torque": f"min({brake / 2!r}*t, {brake!r})",
        "drive_torque": turn["drive_torque"],
    }
    return dr.simulate(model, until, start=turn, inputs=laws, samples=201)


@entry(level="Advanced", film="braking", charts=("lean", "speed"))
def motorcycle_corners(points: int = 45, until: float = 10.0) -> Study:
    """Trim, modes upright and at lean, steering damper, and braking in a turn of a motorcycle of eleven freedoms."""
    model = dr.derive(motorcycle(), work=False)
    straight: dict[str, Any] = {"fixed": {"lean": 0.0, "steer": 0.0}, "free": ("drive_torque",), "states": STATES}
    speeds = np.linspace(5.0, 60.0, points)
    upright = dr.modes(model, speed=speeds, **straight)
    undamped = dr.modes(model, speed=speeds, **straight, parameters={"damper_damping": 0.5})
    leans = np.linspace(-0.02, -0.8, points)
    leaning = dr.modes(model, over={"lean": leans}, fixed={"speed": 35.0}, free=FREE_INPUTS, states=STATES)
    for found in (upright, undamped, leaning):
        assert {"weave", "wobble", "capsize"} <= set(found.names), found.names
    last = {
        name: [found.eigenvalues[-1, found.names.index(name)] for found in (undamped, upright)] for name in ("wobble", "weave")
    }
    damping = {name: [-z.real / abs(z) for z in pair] for name, pair in last.items()}
    assert damping["wobble"][1] > damping["wobble"][0] and damping["weave"][1] < damping["weave"][0]
    weave = leaning.eigenvalues[:, leaning.names.index("weave")]
    assert weave[-1].real > weave[0].real  # cornering weave
    trims = [_trim(model, rate) for rate in (0.0, -3.0)]
    assert (
        trims[1]["front_normal_force"] > trims[0]["front_normal_force"] + 200
        and trims[1]["fork_travel"] > trims[0]["fork_travel"]
    )
    run = braking_turn(model, until)
    assert run.status.complete, run.status
    figures = {
        "upright": _against(speeds, upright, "speed [m/s]"),
        "leaning": _against(-np.degrees(leans), leaning, "lean to the left at 35 m/s [°]"),
        "locus": dr.view.root_locus(upright, window=(-25.0, 5.0)),
        "leaning_locus": dr.view.root_locus(leaning, window=(-25.0, 5.0)),
        "trim": _trim_map(model),
        "braking": channel_figure(run, "lean", "fork_travel", "front_normal_force", "rear_normal_force"),
    }
    findings = (
        f"trim at 35 m/s on a radius of 160 m: lean {np.degrees(trims[0]['lean']):.1f}°, steer torque "
        f"{trims[0]['steer_torque']:.1f} N·m; braked with 3 m/s²: front load {trims[1]['front_normal_force']:.0f} N instead of "
        f"{trims[0]['front_normal_force']:.0f} N",
        f"weave at 35 m/s: {weave[0]:.2f} 1/s upright, {weave[-1]:.2f} 1/s at a lean of 46°",
        f"anti-squat {trims[0]['squat_anti_squat']:.2f}",
    )
    return Study("A motorcycle of eleven freedoms", {"braking": run}, figures, findings)


def _trim(model: dr.Equations, rate: float) -> Any:
    """A turn of 160 m at 35 m/s, held by throttle or brake."""
    free = FREE_INPUTS if rate == 0.0 else ("front_brake_torque", "steer_torque")
    return dr.steady(model, {"speed": 35.0, "radius": 160.0, "acceleration": rate}, free=free)


def _against(values: NDArray[np.float64], found: Any, label: str) -> Any:
    """Real parts and frequencies of the modes with names of the field."""
    with style():
        drawing, (real, frequency) = panels(2, 0.9 * PAGE, 0.7 * PAGE)
        for name in ("weave", "wobble", "capsize", "hop"):
            if name not in found.names:
                continue
            roots = found.eigenvalues[:, found.names.index(name)]
            (line,) = real.plot(values, roots.real, label=name)
            if name != "capsize":
                frequency.plot(values, np.abs(roots.imag) / (2 * np.pi), color=line.get_color())
        real.axhline(0, color="0.3", lw=0.8)
        real.set_ylabel("real part [1/s]")
        frequency.set_ylabel("frequency [Hz]")
        frequency.set_xlabel(label)
        legend_above(real, 0.9 * PAGE)
    return drawing


def _trim_map(model: dr.Equations) -> Any:
    """Steer torque and travel of the fork in turns at three speeds, as functions of the lean."""
    with style():
        drawing, (torque, travel) = panels(2, 0.9 * PAGE, 0.7 * PAGE)
        for speed in (15.0, 25.0, 35.0):
            branch = dr.stability.continuation(
                model,
                "lean",
                fixed={"speed": speed},
                free=FREE_INPUTS,
                start={"lean": -0.02, "speed": speed},
                between=(-0.8, -0.01),
            )
            order = np.argsort(branch["lean"])
            lean = -np.degrees(branch["lean"][order])
            torque.plot(lean, branch["steer_torque"][order], label=f"{speed:g} m/s")
            travel.plot(lean, 1e3 * branch["fork_travel"][order])
        torque.set_ylabel("steer torque [N·m]")
        travel.set_ylabel("fork travel [mm]")
        travel.set_xlabel("lean to the left [°]")
        legend_above(torque, 0.9 * PAGE)
    return drawing
