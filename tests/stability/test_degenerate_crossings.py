"""Critical values at which a whole matrix, or the stiffness of all modes, vanishes: against closed forms of what each mode does
there, and against the numbers of growing modes on both sides by eigenvalues of 40 digits."""

from __future__ import annotations

from math import comb
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.linalg import matrix_balance

import draisine as dr
from draisine.stability.critical import critical_values
from draisine.stability.mode_names import PAIR, ZERO

EPS = np.finfo(float).eps


class Family:
    """Matrices Σ (s − c)ʲ Aⱼ, evaluated as they stand or as polynomials of s, whose terms cancel about c."""

    def __init__(self, parts: list[Any], at: float, expanded: bool) -> None:
        self.parts, self.at = parts, at
        n = len(parts)
        powers = [sum(comb(j, k) * (-at) ** (j - k) * parts[j] for j in range(k, n)) for k in range(n)]
        self.origin, self.evaluated = (0.0, powers) if expanded else (at, parts)

    def matrices(self, points: Any) -> Any:
        x = np.asarray(points, dtype=float).reshape(-1, 1, 1) - self.origin
        return SimpleNamespace(A=sum(x**j * part for j, part in enumerate(self.evaluated)), found=np.ones(len(x), dtype=bool))

    def growing(self, s: float, neutral: float) -> int:
        """How many modes grow faster than a share of the fastest: by doubles where rounding cannot change it, else by mpmath."""
        found = self._growing_within_rounding(s, neutral)
        if found is not None:
            return found
        with mpmath.workdps(40):
            x = mpmath.mpf(s) - mpmath.mpf(self.at)
            a = mpmath.zeros(len(self.parts[0]))
            for j, part in enumerate(self.parts):
                a += x**j * mpmath.matrix(part.tolist())
            values = mpmath.eig(a, left=False, right=False) if len(a) > 1 else [a[0, 0]]
            return sum(1 for z in values if z.real > neutral * max(abs(v) for v in values))

    def _growing_within_rounding(self, s: float, neutral: float) -> int | None:
        """None where an eigenvalue is as near to the limit as rounding errors may move it. With A = V Λ V⁻¹ + R V⁻¹ and an error
        E of A, those of A + E lie in discs about Λ of the radius |V⁻¹| |R + E V| (Bauer and Fike), as many in each group."""
        x = s - self.at
        a = sum(x**j * part for j, part in enumerate(self.parts))
        sizes = sum(abs(x) ** j * abs(part) for j, part in enumerate(self.parts))
        balanced, turn = matrix_balance(a, permute=False)  # by powers of two, which round nothing
        sizes = sizes * np.diag(turn) / np.diag(turn)[:, None]
        values, vectors = np.linalg.eig(balanced)
        if not np.linalg.cond(vectors) < 1e12:
            return None
        residual = abs(balanced @ vectors - vectors * values) + len(a) * EPS * (sizes + abs(balanced)) @ abs(vectors)
        radius = 4.0 * float(np.linalg.norm(np.linalg.inv(vectors), 2) * np.linalg.norm(residual))
        beyond = values.real - neutral * abs(values).max()
        return int(np.sum(beyond > 0)) if (abs(beyond) > (1 + neutral) * radius).all() else None


class Unnamed:
    def crossing(self, ends: Any, eigenvalue: complex) -> str:
        return PAIR if eigenvalue else ZERO


def second_order(mass: Any, damping: list[Any], stiffness: list[Any]) -> list[Any]:
    """M q̈ + Σ xʲ Dⱼ q̇ + Σ xʲ Kⱼ q = 0 in first order."""
    n, parts = len(mass), []
    none = np.zeros((n, n))
    for j in range(max(len(damping), len(stiffness))):
        d, k = (part[j] if j < len(part) else none for part in (damping, stiffness))
        below = -np.linalg.solve(mass, np.hstack([k, d]))
        parts.append(np.vstack([np.hstack([none, none if j else np.eye(n)]), below]))
    return parts


def modes_of(matrix: Any) -> list[int]:
    """What the modes of x A do at x = 0."""
    return [(2 if z.imag else 1) * int(np.sign(z.real)) for z in np.linalg.eigvals(matrix) if z.imag >= 0 and abs(z) > 1e-9]


KINDS = ("whole", "pairs", "stiffness", "damped", "half damped", "gyroscopic", "all gyroscopic", "both", "third order", "chain")
KINDS += ("rank one", "flutter", "damping", "equal damping", "skew", "cyclic")


def drawn(kind: str, rng: np.random.Generator) -> tuple[list[Any], list[int] | None]:
    """The parts of a family, and what its modes do at x = 0, where a closed form says it."""
    n = int(rng.integers(2 if "gyro" in kind or kind == "both" else 1, 5))
    square, none = rng.standard_normal((5, n, n)), np.zeros((n, n))
    mass, positive = (b @ b.T + 0.3 * np.eye(n) for b in square[:2])
    symmetric, skew = square[2] + square[2].T, square[3] - square[3].T
    signs = [-int(np.sign(k)) for k in np.linalg.eigvalsh(symmetric)]
    column = square[4][:, :1]
    if kind == "whole":
        return [none, square[0]], modes_of(square[0])
    if kind == "pairs":  # that pass zero itself
        blocks = [np.array([[a, b], [-b, a]]) for a, b in rng.standard_normal((n, 2))]
        every = np.zeros((2 * n, 2 * n))
        for i, block in enumerate(blocks):
            every[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
        return [0.0 * every, every], modes_of(every)
    if kind == "chain":  # λᵐ = ± x
        m = int(rng.integers(2, 6))
        corner = np.zeros((m, m))
        corner[-1, 0] = rng.uniform(0.4, 2) * rng.choice([-1, 1])
        return [np.diag(np.ones(m - 1), 1), corner], None
    if kind == "skew":  # modes that touch the axis at zero
        return [none, skew, symmetric], [] if n > 1 else None
    if kind == "equal damping":
        return second_order(mass, [none, symmetric], [2.0 * mass]), [2 * s for s in signs]
    if kind == "cyclic":  # machines twice, in mixed coordinates
        return [np.kron(np.eye(2), part) for part in second_order(mass, [none], [none, symmetric])], 2 * signs
    families = {
        "stiffness": ([none], [none, symmetric]),
        "damped": ([positive], [none, symmetric]),
        "half damped": ([column @ column.T], [none, symmetric]),
        "gyroscopic": ([skew], [none, symmetric]),
        "all gyroscopic": ([none, skew], [none, none, symmetric]),
        "both": ([none, skew], [none, symmetric]),
        "third order": ([none], [none, none, none, symmetric]),
        "rank one": ([none], [none, column @ column.T * rng.choice([-1, 1])]),
        "flutter": ([none], [none, square[4]]),
        "damping": ([none, symmetric], [positive]),
    }
    known = signs if kind in ("stiffness", "damped", "third order") else None
    if kind == "gyroscopic" and n == 2:  # λ² = −x² det K/g²: one mode begins to grow where the other ceases to
        known = [] if np.linalg.det(symmetric) > 0 else [-1, 1]
    return second_order(mass, *families[kind]), known


def check(seed: int) -> None:
    rng = np.random.default_rng([seed, 12])
    kind = KINDS[seed % len(KINDS)]
    parts, wanted = drawn(kind, rng)
    if kind in ("whole", "pairs", "cyclic") or rng.random() < 0.4:
        turn = np.linalg.qr(rng.standard_normal((len(parts[0]), len(parts[0]))))[0] * 10.0 ** rng.uniform(-1, 1, len(parts[0]))
        parts = [turn @ part @ np.linalg.inv(turn) for part in parts]
    at = float(rng.choice([0.0, 0.5, 0.25, rng.uniform(-0.8, 0.8)]))
    family = Family(parts, at, bool(rng.random() < 0.5))
    values = np.linspace(-1 - rng.random(), 1 + rng.random(), int(rng.choice([2, 3, 11, 40, 41, 200])))
    found = critical_values(family, "s", values, Unnamed())  # type: ignore[arg-type]
    near = [c for c in found if c.change and abs(c.value - at) <= max(1e-8, c.uncertainty)]
    assert all(c.uncertainty < 3e-3 for c in near), near
    if wanted is not None:
        assert sorted(c.change for c in near) == sorted(wanted)
    rough = kind in ("rank one", "third order", "chain", "all gyroscopic")  # defective: the rounding of their parts is seen
    neutral, least = (1e-6, 5e-4) if rough else (1e-9, 1e-4)
    points = [*np.linspace(values[0], values[-1], 7).tolist(), *(at + d for d in (-1e-2, -1e-3, 1e-3, 1e-2))]
    # each other value is shown by the numbers around it
    beside = [(c.value, min(1e-3, 0.2 * abs(c.value - at))) for c in found if c not in near]
    points += [value + side * distance for value, distance in beside for side in (-1, 1)]
    inside = sorted(s for s in set(points) if values[0] <= s <= values[-1] and abs(s - at) > least)
    numbers = [family.growing(s, neutral) for s in inside]
    for low, high, before, after in zip(inside, inside[1:], numbers, numbers[1:], strict=False):
        assert sum(c.change for c in found if low < c.value <= high) == after - before, (low, high, before, after, found)


@pytest.mark.parametrize("seed", range(2 * len(KINDS)))
def test_what_vanishes_together_is_listed_mode_by_mode(seed: int) -> None:
    check(seed)


@pytest.mark.further
@pytest.mark.parametrize("hundred", range(5))
def test_five_hundred_families(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        check(seed)


@pytest.mark.parametrize("up", [(1, 1, -1), (1, -1), (-1, -1, -1, 1)])
@pytest.mark.parametrize("points", [11, 40])
def test_bars_up_and_down_without_gravity(up: tuple[int, ...], points: int) -> None:
    """J λ² = ± m g l: each bar that stands begins to fall where gravity begins, and each that hangs ceases to."""
    m = dr.Model(f"bars{len(up)}_{up.count(1)}")
    m.parameter("g", 1.0, "m/s^2")
    m.gravity("g")
    for i, sign in enumerate(up):
        m.body(f"bar{i}", mass=1.0 + 0.3 * i, inertia=(0.1, 0.1, 1e-3), center_of_mass=(0, 0, 0.5 * sign))
        m.revolute(f"a{i}", "ground", f"bar{i}", axis="y")
    found = dr.modes(m, g=np.linspace(-9.81, 9.81, points)).critical()
    assert sorted(c.change for c in found) == sorted(up)
    assert [c.value for c in found] == pytest.approx([0.0] * len(up), abs=1e-9)
