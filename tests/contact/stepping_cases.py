"""The reference cases by the time-stepping judge: scenes, starts and times at which it must converge to the event-driven one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from judge_stepping import Solver
from rigid_scene import Scene
from scenes import (
    GRAVITY,
    ball_on_sphere,
    cradle,
    cue_ball,
    oscillator,
    particle_on_slope,
    particle_on_sphere,
    pulled_block,
    relay,
    rimless_wheel,
    rocking_block,
    rod,
    rod_on_supports,
    rolling_on_sphere,
    smooth_disc,
    sphere_on_slope,
    standing_rod,
)

from reference import cases


@dataclass(frozen=True)
class Start:
    """A scene, where it starts, and the time at which both judges are compared; `steps` of the coarsest run."""

    scene: Scene
    q: Any
    v: Any
    until: float
    steps: int = 24
    solver: Solver = "exact"


def starts() -> dict[str, Callable[[], Start]]:
    """By id of the case."""
    C = cases()
    slope = np.radians(20)
    block = {i: (C[i].given("mu"), s * C[i].given("v0")) for i, s in (("C02a", 1), ("C02b", -1), ("C02c", -1))}

    def cue(i: str) -> Start:
        v = [*C[i].given("v0"), 0, *C[i].given("omega0")]
        return Start(cue_ball(C[i].given("R"), C[i].given("mu")), np.zeros(6), v, 0.8, solver="gauss_seidel")

    def disc() -> Start:
        turn = 0.5 / np.cos(0.3)
        q, v = [0, 0, 0.3 * np.cos(0.3), 0, 0.3, 0], [1, 0, 0, turn, 0, -1 - turn * np.sin(0.3)]
        return Start(smooth_disc(2.0, 0.3), q, v, 0.25)

    def rocking() -> Start:
        b, h, a = 0.15, 0.6, 0.1
        q = [b * np.cos(a) - h * np.sin(a), b * np.sin(a) + h * np.cos(a), a]
        return Start(rocking_block(0.3, 1.2, 0.6), q, [0, 0, 0], 1.1, 40)

    def wheel() -> Start:
        a, omega = np.pi / 8, C["C08b"]["omega_after_impact"]
        v = [np.cos(a) * omega, np.sin(a) * omega, omega]
        return Start(rimless_wheel(8, 0.08, 0.25, 2.0), [-np.sin(a), np.cos(a), -a], v, 1.2, 40)

    def off_sphere() -> Start:
        return Start(particle_on_sphere(1.0), [np.sin(0.1), 1 + np.cos(0.1)], [0, 0], 1.2)

    def ball(mu: float, until: float) -> Start:
        return Start(ball_on_sphere(1.0, 0.25, mu), *rolling_on_sphere(1.25, 0.25, 0.1, 0.0), until)

    def supports(at: list[float], e: float, v: list[float]) -> Start:
        return Start(rod_on_supports(1.0, 1.0, at, e, g=1.0), [0, 0], v, 0.1, 4)

    def swinging() -> Start:
        return Start(rod(0.0), [0, 0.5 * np.cos(1.0), 1.0], [0, 2.5 * np.sin(1.0), -5.0], 0.4)

    def superball(mu: float) -> Start:
        return Start(sphere_on_slope(0.0, 0.05, mu, 0.9, 0.6), [0, 0, 0], [3.0, -4.0, -20.0], 0.2)

    return {
        "C01a": lambda: Start(particle_on_slope(0.0, 0.0, 0.8), [0, 1.0], [0, 0], 1.0),
        "C01b": lambda: Start(particle_on_slope(0.0, 0.0, 0.5), [0, 1.0], [0, 1.0], 1.7),
        "C01c": lambda: Start(particle_on_slope(slope, 0.0, 0.7), [0, 0.5], [0, 0], 1.0),
        "C01d": lambda: Start(particle_on_slope(slope, 0.2, 0.7), [0, 0.5], [0, 0], 2.2),
        "C01f": lambda: Start(sphere_on_slope(slope, 0.1, 0.2, 0.7), [0, 0.5, 0], [0, 0, 0], 2.2),
        "C01h": lambda: Start(sphere_on_slope(0.0, 0.1, 0.1, 0.8), [0, 1.0, 0], [3.0, 0, 0], 1.5),
        **{
            i: lambda mu=mu, speed=speed: Start(particle_on_slope(slope, mu), [0, 0], [speed, 0], 1.7)
            for i, (mu, speed) in block.items()
        },
        "C02d": lambda: Start(pulled_block(2.0, 5.0, 0.6, 0.4), [0, 0], [0, 0], 3.0),
        "C02f": lambda: Start(oscillator(1.0, 100.0, 0.4, 0.25, 0.2), [0, 0], [0.2, 0], 1.0),
        "C02g": lambda: Start(oscillator(1.0, 50.0, 0.3, 0.3), [0.5, 0], [0, 0], 2.0),
        "C02h": lambda: Start(relay(1.0, 1.0), [0.5, 0], [0, 0], 1.0),
        **{i: lambda i=i: cue(i) for i in ("C03a", "C03b", "C03c", "C03d")},
        "C03e": disc,
        "C04a": lambda: Start(rod(0.3), *standing_rod(0.2, np.sqrt(3 * GRAVITY * (1 - np.cos(0.2)))), 0.4),
        "C04e": lambda: Start(rod(0.0), [0.5 * np.sin(0.1), 0.5 * np.cos(0.1), 0.1], [0, 0, 0], 0.55),
        "C04f": swinging,
        "C05b": off_sphere,
        "C05d": lambda: ball(100.0, 1.0),
        "C05f": lambda: ball(0.3, 1.2),
        "C06b": rocking,
        "C08b": wheel,
        "C10a": lambda: superball(10.0),
        "C10b": lambda: superball(0.1),
        "C10c": lambda: Start(
            sphere_on_slope(0.0, 0.05, 10.0, 1.0, 1.0, g=0.0, ceiling=1.0), [0, 0.503, 0], [1.0, -1.0, 0.0], 3.0
        ),
        "C10d": lambda: Start(sphere_on_slope(0.0, 0.05, 10.0, 1.0, 1.0), [0, 1.0, 0], [2.0, 0, 0], 1.5),
        "C10e": lambda: Start(cradle([1.0, 1.0, 1.0], 1.0), [0, 0, 0], [1, 0, 0], 0.1, 4),
        "C10g": lambda: Start(cradle([1.0, 2.0, 3.0], 1.0), [0, 0, 0], [1, 0, 0], 0.1, 4),
        "C10i": lambda: supports([0.3], 0.5, [-1.0, 0.0]),
        "C10j": lambda: supports([-0.2, 0.4], 0.5, [-1.0, 0.0]),
        "C10k": lambda: supports([-0.2, 0.2], 0.0, [-0.2, -1.0]),
        "C10l": lambda: supports([-0.4, 0.4], 0.0, [-0.4, -1.0]),
    }
