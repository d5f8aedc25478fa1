"""The snakeboard: propulsion by periodic motion of a rotor and two steered wheel sets.

What it shows: a board with a wheel set at each end, each free to steer, and a rotor in the middle that stands for the rider's
body (J. Ostrowski, J. Burdick, A. Lewis & R. Murray, 1995). Wheels roll without lateral slip: two nonholonomic constraints and
no external force along the board, yet it accelerates. Rotor and wheels follow a gait, front steer = −back steer = φ₀ + A sin Ωt
and rotor = B sin Ωt, controlled by torques (compiled proportional-derivative laws).

What you should see: in phase, the gait drives straight ahead, faster with each cycle, with growing yaw of the board; the
momentum grows in steps, two per cycle. With a constant steer φ₀ the same gait drives a circle of about the radius l / tan φ₀.
Out of phase (B < 0) the board goes backwards.

By hand: in the board's axes its center moves with (v, w), it turns with ω; m is the whole mass, I the whole moment of inertia
about the center, K and k those of rotor and wheel set, l half the distance of the wheels. No lateral slip at the wheel angles
α, β:

    w + l ω = v tan α,  w − l ω = v tan β,    so  w = a v,  ω = b v  with  a = (tan α + tan β)/2,  b = (tan α − tan β)/(2 l).

The ground's forces do no work on the motion (1, a, b). So the momentum along it, p = m (v + a w) + b L with the angular
momentum L = I ω + K ψ̇ + k (α̇ + β̇), changes only as that direction changes (the nonholonomic momentum equation):

    ṗ = m ȧ w + ḃ L,    and for α = −β = φ:   ṗ = (φ̇ / (l cos² φ)) (I ω + K ψ̇).

Steering rate times rotor rate: in phase both change sign together, and p grows. For small angles and little speed the mean is
p/t = A B Ω² K / (2 l). With torques τ given instead of angles, T = τ_rotor + τ_front + τ_back, the same motion is shorter
still:

    K (ω̇ + ψ̈) = τ_rotor, k (ω̇ + α̈) = τ_front, k (ω̇ + β̈) = τ_back,   d/dt (√G v) = −b T / √G,   G = m (1 + a²) + (I − K −
    2k) b².

Singularities: with both wheel sets across the board (α = β = ±90°) the two constraints are dependent; spans of the steering
angles keep the choice of independent velocities away from there. With one wheel set across, the board can only turn about the
other: its longitudinal velocity v is then no valid independent velocity, and a run switches to the rate of turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.gallery.shapes import axle
from draisine.model.model import Model
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, energy_figure


@live(start={"speed": 0.5})
def snakeboard() -> Model:
    """A board with two steered wheel sets and a rotor that stands for the rider.

    Inputs: `rotor_torque`, `front_torque`, `back_torque`, of the board on each, positive to the left. The numbers are chosen, not
    published: a toy of 7 kg and 40 cm.
    """
    m = Model("snakeboard", "planar snakeboard after Ostrowski, Burdick, Lewis & Murray 1995")
    m.gravity(0)
    half = m.parameter("half_length", 0.2, "m", "of the board, center to wheels")
    m_board, i_board = m.parameter("m_board", 4.0, "kg"), m.parameter("i_board", 0.05, "kg*m^2")
    m_rotor, i_rotor = m.parameter("m_rotor", 2.0, "kg"), m.parameter("i_rotor", 0.08, "kg*m^2")
    m_wheels = m.parameter("m_wheels", 0.5, "kg", "of one wheel set")
    i_wheels = m.parameter("i_wheels", 0.002, "kg*m^2", "of one wheel set")

    deck = {"kind": "box", "size": (2 * half, 0.05, 0.012), "at": (0, 0, 0.075)}
    weight = [
        {"kind": "tube", "path": [(0, -0.16, 0.1), (0, 0.16, 0.1)], "radius": 0.009},
        *({"kind": "sphere", "radius": 0.03, "at": (0, side, 0.1)} for side in (-0.16, 0.16)),
    ]
    foot = {"kind": "cylinder", "radius": 0.055, "length": 0.012, "axis": "z", "at": (0, 0, 0.062)}
    board = m.body("board", mass=m_board, inertia=(i_board, i_board, i_board), shapes=[deck])
    rotor = m.body("rotor", mass=m_rotor, inertia=(i_rotor, i_rotor, i_rotor), shapes=weight)
    wheels = [foot, *axle(0.11, 0.028)]
    front = m.body("front_wheels", mass=m_wheels, inertia=(i_wheels, i_wheels, i_wheels), shapes=wheels)
    back = m.body("back_wheels", mass=m_wheels, inertia=(i_wheels, i_wheels, i_wheels), shapes=wheels)
    m.planar(board)
    m.revolute("rotor", board, rotor, axis="z")
    m.revolute("front_steer", board, front, axis="z", at=(half, 0, 0), span=(-1.0, 1.0))
    m.revolute("back_steer", board, back, axis="z", at=(-half, 0, 0), span=(-1.0, 1.0))
    # A pair of thin wheels on one axle, seen from above, is a blade: free along itself, fixed across.
    m.knife_edge(front, along="x", name="front_axle")
    m.knife_edge(back, along="x", name="back_axle")

    m.generalized_force("rotor", m.input("rotor_torque", "N*m", "of the board on the rotor"))
    m.generalized_force("front_steer", m.input("front_torque", "N*m", "of the board on the front wheel set"))
    m.generalized_force("back_steer", m.input("back_torque", "N*m", "of the board on the back wheel set"))

    m.output("speed", "body_velocity_x(board)", "m/s", "of the board along itself")
    m.output("drift", "body_velocity_y(board)", "m/s", "of the board across itself, positive to the left")
    m.output("sideways_ratio", "(tan(front_steer) + tan(back_steer))/2", "", "a of ω = b v, w = a v")
    m.output("curvature", "(tan(front_steer) - tan(back_steer))/(2*half_length)", "1/m", "b of ω = b v, w = a v")
    m.output(
        "angular_momentum",
        "(i_board + i_rotor + 2*(i_wheels + m_wheels*half_length^2))*board_heading_rate"
        " + i_rotor*rotor_rate + i_wheels*(front_steer_rate + back_steer_rate)",
        "kg*m^2/s",
        "about the center of the board",
    )
    m.output(
        "momentum",
        "(m_board + m_rotor + 2*m_wheels)*(speed + sideways_ratio*drift) + curvature*angular_momentum",
        "kg*m/s",
        "along the motion that the wheels allow",
    )
    for place in ("front_wheels", "back_wheels"):
        m.output(f"{place}_x", f"position_x({place})", "m")
        m.output(f"{place}_y", f"position_y({place})", "m")
    return m


@dataclass(frozen=True)
class Gait:
    """Front steer = −back steer = `bias` + `steer` sin Ωt, rotor = `twist` sin Ωt; angles in rad, frequency in 1/s."""

    steer: float = 0.3
    twist: float = 1.0
    frequency: float = 1.0
    bias: float = 0.0

    @property
    def omega(self) -> float:
        return 2 * math.pi * self.frequency

    @property
    def start(self) -> dict[str, float]:
        """A board at rest, wheels and rotor already in the gait."""
        return {
            "speed": 0.0,
            "front_steer": self.bias,
            "back_steer": -self.bias,
            "front_steer_rate": self.steer * self.omega,
            "back_steer_rate": -self.steer * self.omega,
            "rotor_rate": self.twist * self.omega,
        }

    def laws(self) -> dict[str, str]:
        """Torques that control the gait, as expressions to be compiled."""
        return {
            "rotor_torque": self._hold("rotor", 0.0, self.twist, stiffness=30.0, damping=2.0),
            "front_torque": self._hold("front_steer", self.bias, self.steer, stiffness=2.0, damping=0.1),
            "back_torque": self._hold("back_steer", -self.bias, -self.steer, stiffness=2.0, damping=0.1),
        }

    def _hold(self, angle: str, mean: float, swing: float, stiffness: float, damping: float) -> str:
        wanted = f"({mean!r} + ({swing!r})*sin({self.omega!r}*t))"
        rate = f"({swing * self.omega!r})*cos({self.omega!r}*t)"
        return f"{stiffness!r}*({wanted} - {angle}) + {damping!r}*({rate} - {angle}_rate)"


@entry(level="First steps", film="snakeboard_circle")
def snakeboard_drive(until: float = 6.0) -> Study:
    """A snakeboard is propelled by its gait: straight ahead, and with a constant steer in a circle."""
    model, gait, turning = snakeboard(), Gait(), Gait(bias=0.15)
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    run = dr.simulate(model, until, start=gait.start, inputs=gait.laws(), method=method)
    circle = dr.simulate(model, 1.25 * until, start=turning.start, inputs=turning.laws(), method=method)

    for each in (run, circle):
        assert each.status.complete, each.status
        assert each.energy_drift is not None and each.energy_drift < 1e-9  # energy less the work of the torques
        assert each.constraint_residual["nonholonomic"] < 1e-12
    p = run.parameters
    gain = gait.steer * gait.twist * gait.omega**2 * p["i_rotor"] / (2 * p["half_length"])  # mean of ṗ for small angles
    growth = float(np.polyfit(run.time, run["momentum"], 1)[0])
    assert 0.9 < growth / gain < 1.2, (growth, gain)
    assert run["speed"][-1] > 0 and run["board_x"][-1] > 0  # in phase drives forward
    radius = p["half_length"] / math.tan(turning.bias)

    figures = {
        "path": track_figure(run, ("back_wheels", "front_wheels")),
        "path_in_a_circle": track_figure(circle, ("back_wheels", "front_wheels")),
        "gait": channel_figure(run, "rotor", "front_steer", "back_steer", "rotor_torque"),
        "momentum_and_speed": channel_figure(run, "momentum", "speed", "board_heading"),
        "energy": energy_figure(run),
    }
    findings = (
        f"after {until:g} s: {run['board_x'][-1]:.3f} m ahead, {run['board_y'][-1]:+.3f} m aside, at {run['speed'][-1]:.3f} m/s",
        f"momentum grows by {growth:.3f} kg·m/s per second; A B Ω² K / (2 l) = {gain:.3f}",
        f"work of the torques {run['work'][-1]:.3f} J, energy balance within {run.energy_drift:.1e} of the energy in play",
        f"with a steady steer: radius {_mean_radius(circle):.2f} m (l / tan φ₀ = {radius:.2f} m)",
    )
    return Study("Snakeboard, drive gait", {"snakeboard_drive": run, "snakeboard_circle": circle}, figures, findings)


def _mean_radius(run: dr.Trajectory) -> float:
    """Length of the track per angle turned."""
    way = np.hypot(np.diff(run["board_x"]), np.diff(run["board_y"])).sum()
    return float(way / abs(run["board_heading"][-1] - run["board_heading"][0]))
