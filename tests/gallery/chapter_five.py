"""The wheelset of Thomsen 2005, chapter 5, typed from its pages in NumPy: contact in the plane across the track, creep by its
approximations, λ by fixed-point iteration. Nothing of the package is used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
MASS, IXX, IYY, IZZ, R0, RAIL, G0 = 1032.0, 529.8, 89.9, 529.8, 0.46, 0.21, 9.81
Y0 = {"11": 0.75, "12": -0.75, "21": 0.79, "32": -0.79}
KF, YF = 14.60e6, 0.0091
A0, B0, N0, C11, C22, C23, SHEAR, MU = 2.8134e-3, 1.6745e-3, 5073.0, 4.8530, 4.5548, 2.2666, 8.27e10, 0.30


def _hat(v: Reals) -> Reals:
    return np.array([-v[1], v[0]])


def _profiles(s: Reals, delta: float) -> tuple[list[Reals], list[Reals], list[Reals], list[Reals]]:
    """Points and tangents of wheels and rails, left then right; s = (s11, s21, s12, s32)."""
    wheels = [np.array([Y0["11"] + s[0], -R0 + s[0] * np.tan(delta)]), np.array([Y0["12"] + s[2], -R0 - s[2] * np.tan(delta)])]
    slopes = [np.array([1.0, np.tan(delta)]), np.array([1.0, -np.tan(delta)])]
    rails = [np.array([Y0[k] - RAIL * np.sin(a), RAIL * (np.cos(a) - 1)]) for k, a in (("21", s[1]), ("32", s[3]))]
    ways = [np.array([-RAIL * np.cos(a), -RAIL * np.sin(a)]) for a in (s[1], s[3])]
    return wheels, slopes, rails, ways


def _constraint(q: Reals, s: Reals, delta: float) -> Reals:
    """(5.4.1)."""
    wheels, slopes, rails, ways = _profiles(s, delta)
    turn = np.array([[np.cos(q[2]), -np.sin(q[2])], [np.sin(q[2]), np.cos(q[2])]])
    at = np.array([q[0], R0 + q[1]])
    touch = [at + turn @ w - r for w, r in zip(wheels, rails, strict=True)]
    level = [_hat(w) @ turn @ t for w, t in zip(ways, slopes, strict=True)]
    return np.array([*touch[0], *touch[1], *level])


def _jacobian(x: Reals, delta: float) -> Reals:
    """∂C/∂(q, s), by central differences of complex steps' accuracy: C is analytic, so imaginary steps are exact."""
    columns = []
    for k in range(7):
        moved = x.astype(complex)
        moved[k] += 1e-30j
        columns.append(np.imag(_constraint(moved[:3], moved[3:], delta)) / 1e-30)
    return np.array(columns).T


def placed(y: float, delta: float) -> Reals:
    """(q, s) of the wheelset at y, by Newton (5.7, step 1)."""
    sine = RAIL * np.sin(delta)
    x = np.array([y, 0.0, 0.0, 0.04 - sine, delta, -0.04 + sine, -delta])
    for _ in range(20):
        x[1:] -= np.linalg.solve(_jacobian(x, delta)[:, 1:], _constraint(x[:3], x[3:], delta))
    return x


def _creep(normal: float, creep: Reals) -> tuple[float, float]:
    """Shen, Hedrick and Elkins, 5.6; creep = (ξ_x, ξ_y, ξ_s)."""
    area = A0 * B0 * (normal / N0) ** (2 / 3)
    linear = -area * SHEAR * np.array([C11 * creep[0], C22 * creep[1] + np.sqrt(area) * C23 * creep[2]])
    size = float(np.hypot(*linear))
    if size == 0.0:
        return 0.0, 0.0
    u = size / (MU * normal)
    force = MU * normal * (u - u**2 / 3 + u**3 / 27 if u < 3 else 1.0)
    return float(force / size * linear[0]), float(force / size * linear[1])


def _about_x(angle: float) -> Reals:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rates(state: Reals, speed: float, delta: float, springs: float) -> Reals:
    """d/dt of (y, ψ, ẏ, ψ̇, β), (5.5.6) and (5.3.1)."""
    y, yaw, y_rate, yaw_rate, beta = state
    x = placed(y, delta)
    slopes = _jacobian(x, delta)
    moving = np.concatenate([[y_rate], np.linalg.solve(slopes[:, 1:], -slopes[:, 0] * y_rate)])
    h = 1e-4  # Q_d = −d(C_x ẋ)/dt with ẋ held, by differences along the motion
    bent = (_jacobian(x + h * moving, delta) - _jacobian(x - h * moving, delta)) @ moving / (2 * h)
    wheels, _, _, _ = _profiles(x[3:], delta)
    roll, roll_rate, spin = x[2], moving[2], speed / R0 + beta
    big = np.zeros((13, 13))
    big[:3, :3] = np.diag([MASS, MASS, IXX])
    big[:7, 7:], big[7:, :7] = slopes.T, slopes
    tan = np.tan(delta)
    multipliers = np.array([tan, -1.0, -tan, -1.0, 0.0, 0.0]) * MASS * G0 / 2
    turned = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    for _ in range(100):
        force, moment = np.array([0.0, -springs * y, -MASS * G0]), np.zeros(3)
        for k, (u, sign) in enumerate(zip(wheels, (1.0, -1.0), strict=True)):
            creep = np.array(
                [
                    1 + (spin * u[1] - yaw_rate * u[0]) / speed,
                    (-yaw * speed + y_rate - roll_rate * u[1]) / (speed * np.cos(delta)),
                    (yaw_rate * np.cos(delta) - sign * spin * np.sin(delta)) / speed,
                ]
            )
            along, across = _creep(float(np.hypot(multipliers[2 * k], multipliers[2 * k + 1])), creep)
            flange = np.array([0.0, -KF * max(sign * y - YF, 0.0) * sign, 0.0])
            arm = np.array([0.0, *u])
            tangent = np.array([along, across, 0.0])
            force += turned @ (_about_x(roll) @ flange + _about_x(roll + sign * delta) @ tangent)
            moment += np.cross(arm, _about_x(sign * delta) @ tangent + flange)
        side = np.concatenate([[force[1], force[2], IYY * yaw_rate * speed / R0 + moment[0]], np.zeros(4), -bent])
        solved = np.linalg.solve(big, side)
        change, multipliers = np.abs(solved[7:] - multipliers).max(), solved[7:]
        if change < 1e-9 * MASS * G0:
            break
    turning = (-IYY * roll_rate * speed / R0 + moment[2]) / IZZ
    return np.array([y_rate, yaw_rate, solved[0], turning, moment[1] / IYY])


def eigenvalues(speed: float, delta: float, springs: float) -> NDArray[np.complex128]:
    """Of small motions about the centerd run."""
    circle = R0 - (0.04 - RAIL * np.sin(delta)) * np.tan(delta)
    center = np.array([0.0, 0.0, 0.0, 0.0, speed / circle - speed / R0])
    columns = []
    for k, h in enumerate((1e-6, 1e-6, 1e-5, 1e-5, 1e-5)):
        step = np.zeros(5)
        step[k] = h
        columns.append((rates(center + step, speed, delta, springs) - rates(center - step, speed, delta, springs)) / (2 * h))
    return np.sort_complex(np.linalg.eigvals(np.array(columns).T))
