"""Critical values of modes with given real parts, next to each other: crossings of first and third order, modes that touch the
axis, and windows of instability, of which each mode that crosses is listed and no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from draisine.stability.critical import Critical, critical_values
from draisine.stability.mode_names import PAIR, ZERO

Crossing = tuple[float, int, int]  # value, change, order


class Mixed:
    """Modes with real parts c Π (s − root)^order and frequencies, in mixed coordinates, in place of a family of motions."""

    def __init__(self, modes: list[tuple[float, dict[float, int], float]], turn: Any) -> None:
        self.modes, self.turn = modes, turn

    def matrices(self, points: Any) -> Any:
        s = np.asarray(points, dtype=float).reshape(-1)
        a, k = np.zeros((len(s), len(self.turn), len(self.turn))), 0
        for size, roots, rate in self.modes:
            real = size * np.prod([(s - root) ** order for root, order in roots.items()], axis=0)
            n = 2 if rate else 1
            a[:, range(k, k + n), range(k, k + n)] = real[:, None]
            if rate:
                a[:, k, k + 1], a[:, k + 1, k] = rate, -rate
            k += n
        return SimpleNamespace(A=self.turn @ a @ self.turn.T, found=np.ones(len(s), dtype=bool))


class Unnamed:
    def crossing(self, ends: Any, eigenvalue: complex) -> str:
        return PAIR if eigenvalue else ZERO


def member(seed: int) -> tuple[Mixed, list[Crossing]]:
    """Two to four modes with roots at one value, or at a small distance from it, and what is to be found."""
    rng = np.random.default_rng([seed, 4])
    distance = 10.0 ** rng.uniform(-6, -1)
    at = float(rng.uniform(-0.6, 0.6)) if rng.random() < 0.7 else float(rng.choice([0.5, -0.25]))
    modes: list[tuple[float, dict[float, int], float]] = []
    for _ in range(int(rng.integers(2, 5))):
        choices = [{at: 1}, {at: 2}, {at: 3}, {at + distance: 1}, {at: 1, at + distance: 1}, {float(rng.uniform(-0.9, 0.9)): 1}]
        roots, rate = choices[int(rng.integers(6))], float(rng.choice([0.0, 1.0, rng.uniform(0.5, 3)]))
        modes.append((float(rng.uniform(0.3, 2) * rng.choice([-1, 1])), roots, rate))
    modes.append((-1.0, {-7.0: 1}, 0.0))  # one that decays
    expected = []
    for size, roots, rate in modes:
        for root, order in roots.items():
            later = sum(o for other, o in roots.items() if other > root)
            if order % 2 and root > -1:
                expected.append((root, int(np.sign(size)) * (-1) ** later * (2 if rate else 1), order))
    n = sum(2 if rate else 1 for _, _, rate in modes)
    return Mixed(modes, np.linalg.qr(rng.normal(size=(n, n)))[0]), expected


def fits(one: Critical, crossing: Crossing) -> bool:
    value, change, order = crossing
    return one.change == change and abs(one.value - value) <= max(1e-8, 1.5 * one.uncertainty, 1e-4 * (order > 1))


@pytest.mark.parametrize("seed", range(40))
def test_crossings_next_to_each_other(seed: int) -> None:
    mixed, left = member(seed)
    values = np.linspace(-1, 1, (2, 11, 41)[seed % 3])
    for one in critical_values(mixed, "s", values, Unnamed()):  # type: ignore[arg-type]
        some = [crossing for crossing in left if fits(one, crossing)]
        assert some, (one, left)
        left.remove(min(some, key=lambda crossing: abs(crossing[0] - one.value)))
    assert not left
