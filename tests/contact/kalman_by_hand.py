"""Kalman filters through changes of modes, written by hand: motions in closed form, saltation matrices, and the smoother of
Rauch, Tung and Striebel."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

G = 9.81
Reals = NDArray[np.float64]


class Motion(Protocol):
    """A mechanism of two states whose modes change."""

    def advance(self, x: Reals, mode: str, duration: float) -> tuple[Reals, str, Reals, Reals]:
        """State and mode after a time, the derivative by the state before it, and the covariance that noise adds."""

    def admitted(self, x: Reals, covariance: Reals, mode: str) -> tuple[Reals, str]:
        """A corrected state without penetration, and its mode."""


@dataclass
class Filtered:
    """Estimates after every sample."""

    x: list[Reals] = field(default_factory=list)
    covariance: list[Reals] = field(default_factory=list)
    mode: list[str] = field(default_factory=list)
    predicted: list[tuple[Reals, Reals, Reals]] = field(default_factory=list)

    def deviation(self, i: int) -> Reals:
        return np.sqrt([max(c[i, i], 0.0) for c in self.covariance])

    def smoothed(self) -> tuple[Reals, Reals]:
        """States and variances given all samples; covariances must not be singular."""
        x, c = [self.x[-1]], [self.covariance[-1]]
        for k in range(len(self.x) - 2, -1, -1):
            ahead, spread, matrix = self.predicted[k + 1]
            gain = self.covariance[k] @ matrix.T @ np.linalg.inv(spread)
            x.insert(0, self.x[k] + gain @ (x[0] - ahead))
            c.insert(0, self.covariance[k] + gain @ (c[0] - spread) @ gain.T)
        return np.array(x), np.array([np.diag(one) for one in c])


def filtered(motion: Motion, x: Reals, spread: Reals, mode: str, times: Reals, measured: Reals, noise: float) -> Filtered:
    """The extended Kalman filter of measurements of the first state."""
    found, p, now = Filtered(), np.diag(spread**2), 0.0
    for t, y in zip(times, measured, strict=True):
        x, mode, matrix, added = motion.advance(x, mode, t - now)
        p, now = matrix @ p @ matrix.T + added, t
        found.predicted.append((x.copy(), p.copy(), matrix))
        gain = p[:, 0] / (p[0, 0] + noise**2)
        left = np.eye(2) - np.outer(gain, [1.0, 0.0])
        x, p = x + gain * (y - x[0]), left @ p @ left.T + np.outer(gain, gain) * noise**2
        x, mode = motion.admitted(x, p, mode)
        found.x.append(x.copy())
        found.covariance.append(p.copy())
        found.mode.append(mode)
    return found


@dataclass(frozen=True)
class Ball:
    """A particle that bounces: height and speed, with white noise on the speed."""

    restitution: float
    noise: float

    def advance(self, x: Reals, mode: str, duration: float) -> tuple[Reals, str, Reals, Reals]:
        whole, added = np.eye(2), np.zeros((2, 2))
        for _ in range(50):  # infinitely many bounces are not followed
            lands = (x[1] + np.sqrt(x[1] ** 2 + 2 * G * max(x[0], 0.0))) / G
            h = min(lands, duration)
            matrix = np.array([[1.0, h], [0.0, 1.0]])
            x = np.array([x[0] + x[1] * h - G * h**2 / 2, x[1] - G * h])
            whole = matrix @ whole
            added = matrix @ added @ matrix.T + self.noise**2 * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
            if lands >= duration:
                return x, mode, whole, added
            reset, duration = np.diag([1.0, -self.restitution]), duration - h
            before, x = np.array([x[1], -G]), np.array([0.0, -self.restitution * x[1]])
            jump = reset + np.outer(np.array([x[1], -G]) - reset @ before, [1.0, 0.0]) / before[0]
            whole, added = jump @ whole, jump @ added @ jump.T
        raise AssertionError("too many bounces")

    def admitted(self, x: Reals, covariance: Reals, mode: str) -> tuple[Reals, str]:
        """Where it would be below the ground, the most probable state on it."""
        return (x - covariance[:, 0] / covariance[0, 0] * x[0] if x[0] < 0.0 else x), mode


@dataclass(frozen=True)
class OnBelt:
    """A mass on a spring, on a belt: position and speed, with white noise on a force."""

    mass: float
    stiffness: float
    static: float
    kinetic: float
    belt: float
    noise: float

    def _moved(self, x: Reals, mode: str, h: float) -> tuple[Reals, Reals, Reals]:
        if mode == "stick":
            return np.array([x[0] + self.belt * h, self.belt]), np.eye(2), np.zeros((2, 2))
        w, rest = np.sqrt(self.stiffness / self.mass), np.array([self._rest(mode), 0.0])
        c, s = np.cos(w * h), np.sin(w * h)
        matrix = np.array([[c, s / w], [-w * s, c]])
        twice, across = np.sin(2 * w * h) / (4 * w), s**2 / (2 * w**2)
        added = (self.noise / self.mass) ** 2 * np.array([[(h / 2 - twice) / w**2, across], [across, h / 2 + twice]])
        return rest + matrix @ (x - rest), matrix, added

    def _rest(self, mode: str) -> float:
        """Where spring and friction are in balance."""
        return {"slip+": -1.0, "slip-": 1.0}[mode] * self.kinetic * self.mass * G / self.stiffness

    def _rate(self, x: Reals, mode: str) -> Reals:
        if mode == "stick":
            return np.array([self.belt, 0.0])
        return np.array([x[1], -self.stiffness / self.mass * (x[0] - self._rest(mode))])

    @property
    def _most(self) -> float:
        """The extension that static friction holds."""
        return self.static * self.mass * G / self.stiffness

    def _slips_from(self, x: Reals) -> str:
        return "slip-" if x[0] > 0.0 else "slip+"

    def _ends(self, x: Reals, mode: str, duration: float) -> float | None:
        """When the mode ends, if it does in this time."""
        if mode == "stick":
            end = (self._most - x[0]) / self.belt
            return end if end < duration else None
        sign = 1.0 if mode == "slip+" else -1.0

        def slip(h: float) -> float:
            return sign * (self._moved(x, mode, h)[0][1] - self.belt)

        grid = np.linspace(0.0, duration, 41)
        for a, b in pairwise(grid):
            if slip(b) < 0.0:
                return float(brentq(slip, max(a, 1e-12), b, xtol=1e-15, rtol=1e-14))
        return None

    def advance(self, x: Reals, mode: str, duration: float) -> tuple[Reals, str, Reals, Reals]:
        whole, noise = np.eye(2), np.zeros((2, 2))
        if mode == "stick" and abs(x[0]) > self._most:
            mode = self._slips_from(x)
        while True:
            end = self._ends(x, mode, duration)
            h = duration if end is None else end
            x, matrix, added = self._moved(x, mode, h)
            whole, noise = matrix @ whole, matrix @ noise @ matrix.T + added
            if end is None:
                return x, mode, whole, noise
            by_state = np.array([1.0, 0.0] if mode == "stick" else [0.0, 1.0])
            new = self._slips_from(x) if mode == "stick" or abs(x[0]) > self._most else "stick"
            before, after = self._rate(x, mode), self._rate(x, new)
            jump = np.eye(2) + np.outer(after - before, by_state) / (by_state @ before)
            whole, noise, mode, duration = jump @ whole, jump @ noise @ jump.T, new, duration - h
            x = np.array([x[0], self.belt]) if new == "stick" else x

    def admitted(self, x: Reals, covariance: Reals, mode: str) -> tuple[Reals, str]:
        """Any velocity is possible; the direction of the slip is its own."""
        return x, mode if mode == "stick" else "slip+" if x[1] > self.belt else "slip-"
