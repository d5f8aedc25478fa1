"""Critical values of machines made of different parts, of which each does something known at its own value: crossings, modes that
meet at zero, flutter, whirl, Jordan blocks; at one value, at values next to each other, or apart, beside neutral oscillations."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from draisine.stability.critical import critical_values
from draisine.stability.mode_names import AT_ZERO, PAIR, ZERO

Crossing = tuple[float, int, float]  # value, change, frequency
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
NONE, ONE = np.zeros((2, 2)), np.eye(2)


def part(kind: str, rng: np.random.Generator) -> tuple[list[Any], list[Crossing]]:
    """Coefficients of a polynomial of x, lowest first, and what its modes do about x = 0."""
    a, b, w, d = (float(v) for v in rng.uniform(0.3, 2, 4))
    up, other = (int(s) for s in rng.choice([-1, 1], 2))
    near = 10.0 ** rng.uniform(-9, -1)
    whirl = w * (1 + d / b)
    meet = [(0.0, -up, 0.0)]  # λ² + b x λ + a x: a real mode becomes a pair that grows or decays
    if up > 0 > other or up < 0 < other:
        meet.append((0.0, 2 * up, 0.0))
    return {
        "real": ([[[0]], [[up * a]]], [(0.0, up, 0.0)]),
        "pair": ([w * TURN, up * a * ONE], [(0.0, 2 * up, w)]),
        "pair at zero": ([NONE, up * a * ONE + b * TURN], [(0.0, 2 * up, 0.0)]),
        "stiffness": ([[[0, 1], [0, 0]], [[0, 0], [-up * a, 0]]], [(0.0, -up, 0.0)]),
        "damped": ([[[0, 1], [0, -d]], [[0, 0], [-up * a, 0]]], [(0.0, -up, 0.0)]),
        "driven": ([[[0, 1], [0, d]], [[0, 0], [-up * a, 0]]], [(0.0, up, 0.0)]),
        "damping": ([[[0, 1], [-w * w, 0]], [[0, 0], [0, -up * a]]], [(0.0, -2 * up, w)]),
        "stiffness and damping": ([[[0, 1], [0, 0]], [[0, 0], [-up * a, -other * b]]], meet),
        "Jordan": ([[[0, 1], [0, 0]], [[up * a, 0], [0, up * b]]], [(0.0, up, 0.0)] * 2),
        "nearly Jordan": ([[[0, 1], [0, -near]], [[up * a, 0], [0, 0]]], [(0.0, up, 0.0)]),
        "third order": (
            [np.diag([1.0, 1.0], 1), [[0] * 3, [0] * 3, [up * a, 0, 0]]],
            [(0.0, up, 0.0), (0.0, -2 * up, 0.0)],
        ),  # λ³ = ± a x
        # q̈ + 2 Ω J q̇ − w q = 0 with Ω = √w + x: gyroscopic stability ends where frequencies meet
        "gyroscopic": (
            [np.block([[NONE, ONE], [w * ONE, 2 * np.sqrt(w) * TURN]]), np.block([[NONE, NONE], [NONE, 2 * TURN]])],
            [(0.0, -2, np.sqrt(w)), (-2 * np.sqrt(w), 2, np.sqrt(w))],
        ),
        # q̈ + (b + d) q̇ + w² q − b Ω J q = 0: internal damping b drives the whirl above Ω = w (1 + d/b)
        "rotor": (
            [
                np.block([[NONE, ONE], [-w * w * ONE + b * whirl * TURN, -(b + d) * ONE]]),
                np.block([[NONE, NONE], [b * TURN, NONE]]),
            ],
            [(0.0, 2, w), (-2 * whirl, -2, w)],
        ),
        "decay": ([[[-d]]], []),
        "growth": ([[[d]]], []),
        "decaying pair": ([w * TURN - d * ONE], []),
        "neutral pair": ([w * TURN], []),
        "zero": ([[[0]]], []),
    }[kind]


KINDS = ("real", "pair", "pair at zero", "stiffness", "damped", "driven", "damping", "stiffness and damping", "Jordan")
KINDS += ("nearly Jordan", "third order", "gyroscopic", "rotor", "decay", "growth", "decaying pair", "neutral pair", "zero")
WARPS: tuple[Callable[[Any], Any], ...] = (lambda x: x, np.tanh, np.expm1, np.arctan)


class Machine:
    """Parts side by side in mixed coordinates, each a polynomial of x = warp(s − its value)."""

    def __init__(self, parts: list[tuple[list[Any], float]], warp: Callable[[Any], Any], turn: Any) -> None:
        self.parts, self.warp, self.turn = parts, warp, turn

    def matrices(self, points: Any) -> Any:
        s = np.asarray(points, dtype=float).reshape(-1, 1, 1)
        a, k = np.zeros((len(s), *self.turn.shape)), 0
        for coefficients, at in self.parts:
            n = len(coefficients[0])
            a[:, k : k + n, k : k + n] = sum(self.warp(s - at) ** j * np.array(c, float) for j, c in enumerate(coefficients))
            k += n
        return SimpleNamespace(A=self.turn @ a @ np.linalg.inv(self.turn), found=np.ones(len(s), dtype=bool))


class Unnamed:
    def crossing(self, ends: Any, eigenvalue: complex) -> str:
        return PAIR if eigenvalue else ZERO


def inverse(warp: Callable[[Any], Any], x: float) -> float:
    """Where warp(s) = x; infinite where it is nowhere."""
    grid = np.linspace(-3.0, 3.0, 2)
    if not warp(grid[0]) < x < warp(grid[1]):
        return np.inf
    low, high = grid.tolist()
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if warp(middle) < x else (low, middle)
    return low


def check(seed: int) -> None:
    rng = np.random.default_rng([seed, 21])
    kinds = rng.choice(KINDS, int(rng.integers(1, 5))).tolist()
    copies = 2 if len(kinds) < 3 and rng.random() < 0.3 else 1
    center, places = float(rng.choice([0.0, 0.5, 0.25, rng.uniform(-0.8, 0.8)])), seed % 3
    warp = WARPS[int(rng.integers(len(WARPS)))]
    parts, left = [], []
    for kind in kinds:
        coefficients, crossings = part(kind, rng)
        beside = float(rng.choice([0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2]) * rng.choice([-1, 1])) if parts else 0.0
        at = (center, center + beside, float(rng.uniform(-0.9, 0.9)))[places]
        parts += [(coefficients, at)] * copies
        left += [(at + inverse(warp, x) if x else at, change, rate) for x, change, rate in crossings] * copies
    values = np.linspace(-1.3, 1.2, int(rng.choice([2, 3, 11, 40, 41, 200])))
    n = sum(len(coefficients[0]) for coefficients, _ in parts)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0] * 10.0 ** rng.uniform(-1, 1, n)
    left = [crossing for crossing in left if values[0] <= crossing[0] <= values[-1]]
    found = critical_values(Machine(parts, warp, turn), "s", values, Unnamed())  # type: ignore[arg-type]
    for one in (c for c in found if c.change):
        fits = [
            (value, change, rate)
            for value, change, rate in left
            if change == one.change
            and abs(value - one.value) <= max(1e-8, 1.5 * one.uncertainty)
            and abs(rate - one.eigenvalue.imag) <= 1e-4 + 3.0 * one.uncertainty**0.5
        ]
        assert fits, (kinds, one, left)
        assert one.uncertainty < 1e-2
        left.remove(min(fits, key=lambda crossing: abs(crossing[0] - one.value)))
    assert not left, (kinds, found)


@pytest.mark.parametrize("seed", range(30))
def test_every_part_of_a_machine_is_listed(seed: int) -> None:
    check(seed)


@pytest.mark.further
@pytest.mark.parametrize("hundred", range(1, 4))
def test_hundreds_of_machines(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        check(seed)


def test_the_frequency_of_flutter_is_not_that_of_a_neutral_mode_beside_it() -> None:
    """A gyroscopic machine beside an undamped oscillator, whose eigenvalues are nearer to the axis by rounding."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        (coefficients, crossings), w = part("gyroscopic", rng), float(rng.uniform(2, 4))
        parts = [(coefficients, 0.1), ([w * TURN], 0.0)]
        turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        (found,) = critical_values(Machine(parts, np.tanh, turn), "s", np.linspace(-0.3, 0.4, 11), Unnamed())  # type: ignore[arg-type]
        assert found.change == -2 and found.value == pytest.approx(0.1, abs=1e-8)
        assert found.eigenvalue.imag == pytest.approx(crossings[0][2], abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_a_flat_crossing_where_a_stiffness_vanishes_is_one_value(seed: int) -> None:
    """λ = a x³, below rounding within 1e-4 or so, and λ² = −b x at one value: each once, with what is known of its value."""
    rng = np.random.default_rng([seed, 22])
    (stiffness, crossings), up = part("stiffness", rng), int(rng.choice([-1, 1]))
    flat = [[[0]], [[0]], [[0]], [[up * rng.uniform(0.3, 2)]]]
    at = float(rng.uniform(-0.5, 0.5))
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    machine = Machine([(flat, at), (stiffness, at), ([[[-1.0]]], 0.0)], WARPS[seed % 4], turn)
    found = critical_values(machine, "s", np.linspace(-1.2, 1.3, (2, 11, 200)[seed % 3]), Unnamed())  # type: ignore[arg-type]
    assert sorted(c.change for c in found if c.change) == sorted([up, crossings[0][1]])
    assert all(abs(c.value - at) <= max(1e-8, c.uncertainty) and c.uncertainty < 1e-3 for c in found)


@pytest.mark.parametrize("seed", range(24))
def test_values_that_rounding_moves_say_so(seed: int) -> None:
    """Two modes, or pairs, of which one crosses and the other decays with a rate that is nearly zero, with nearly one shape:
    det A = −a e x hardly depends on x. As do their errors, by which no mode ceases to decay elsewhere."""
    rng = np.random.default_rng([seed, 23])
    a, w = float(rng.uniform(0.3, 2) * rng.choice([-1, 1])), float(rng.uniform(0.3, 2))
    e, at = 10.0 ** float(rng.uniform(-9.5, -5)), float(rng.choice([0.0, 0.25, rng.uniform(-0.8, 0.8)]))
    own, pair = np.array([[0.0, 1.0], [0.0, -e]]), seed % 2
    constant = np.kron(own, ONE) + np.kron(ONE, w * TURN) if pair else own
    moving = np.kron(np.diag([a, 0.0]), ONE) if pair else np.diag([a, 0.0])
    n = len(constant) + 1
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0] * 10.0 ** rng.uniform(-1, 1, n)
    machine = Machine([([constant, moving], at), ([[[-1.0]]], 0.0)], WARPS[seed % 4], turn)
    (found,) = critical_values(machine, "s", np.linspace(-1.3, 1.2, (2, 11, 40, 200)[seed % 4]), Unnamed())  # type: ignore[arg-type]
    assert found.change == (2 if pair else 1) * np.sign(a)
    assert abs(found.value - at) <= max(4e-9, found.uncertainty) and found.uncertainty < 1e-2


@pytest.mark.parametrize("seed", range(8))
def test_values_that_are_known_though_eigenvalues_are_not(seed: int) -> None:
    """λ² + e λ = a x: nearly defective at x = 0, where det A has all digits."""
    rng = np.random.default_rng([seed, 24])
    a, e = float(rng.uniform(0.3, 2) * rng.choice([-1, 1])), 10.0 ** float(rng.uniform(-7, -5))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0] * 10.0 ** rng.uniform(-1, 1, 3)
    at = float(rng.uniform(-0.8, 0.8))
    machine = Machine([([[[0, 1], [0, -e]], [[0, 0], [a, 0]]], at), ([[[-1.0]]], 0.0)], WARPS[seed % 4], turn)
    (found,) = [c for c in critical_values(machine, "s", np.linspace(-1.3, 1.2, 11), Unnamed()) if c.change]  # type: ignore[arg-type]
    assert found.value == pytest.approx(at, abs=1e-12) and found.uncertainty == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_a_pair_that_meets_at_zero_is_no_single_mode(seed: int) -> None:
    """λ = x (a ± i b), alone and beside others at the same value: the frequency vanishes where the real part does."""
    rng = np.random.default_rng([seed, 25])
    kinds = ["pair at zero", *(("real", "damped", "pair")[seed % 3 : seed % 3 + 1] if seed >= 3 else ())]
    members = [part(kind, rng) for kind in kinds]
    at = float(rng.uniform(-0.8, 0.8))
    n = sum(len(coefficients[0]) for coefficients, _ in members)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    machine = Machine([(coefficients, at) for coefficients, _ in members], WARPS[seed % 4], turn)
    found = critical_values(machine, "s", np.linspace(-1.3, 1.2, 11), Unnamed())  # type: ignore[arg-type]
    kind_of = {(1, False): ZERO, (2, False): AT_ZERO, (2, True): PAIR}
    expected = sorted((kind_of[abs(change), rate > 0], change) for _, crossings in members for _, change, rate in crossings)
    assert sorted((c.kind, c.change) for c in found if c.change) == expected
