"""Newton's iteration of implicit steps while slips are slow: its linear systems, with the Jacobian of another slip."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from test_mode_equations import bicycle, random_state, with_modes

import draisine as dr
from draisine.program.equations import Equations
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.stepper.contact_field import contact_field
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES
from draisine.simulation.stepper.contact_slip import load_terms
from draisine.simulation.stepper.layout import Stepper
from draisine.simulation.stepper.memory import Memory, no_switches
from draisine.simulation.stepper.slow_slips import match_slips, note_slips, slip_size

Reals = NDArray[np.float64]


def with_slips(e: Equations, s: Stepper, x: Reals, slips: dict[str, Reals]) -> Reals:
    """The nearest state in which contacts slip so, and the rows of the others are at rest as far as they were."""
    s.x[: len(x)] = x
    load_terms(s)
    c, n = s.modes, s.modes.velocities
    rows, wanted = [], []
    for contact in e.unilateral:
        if contact.name in slips:
            first = contact.tangential
            rows += [c.row[k * n : (k + 1) * n].copy() for k in (first, first + 1)]
            wanted += [slips[contact.name][w] - c.speed[first + w] for w in range(2)]
    moved = x.copy()
    moved[c.first_velocity : c.first_velocity + n] += np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    return moved


def jacobian(s: Stepper, x: Reals) -> Reals:
    """∂f/∂v of the accelerations, by differences."""
    c, found = s.modes, []
    velocities = range(c.first_velocity, c.first_velocity + c.velocities)
    for j in velocities:
        sides = []
        for sign in (1, -1):
            s.point[: len(x)] = x
            s.point[j] += sign * 1e-9
            contact_field(s, s.k[0])
            sides.append(s.k[0, list(velocities)].copy())
        found.append((sides[0] - sides[1]) / 2e-9)
    s.point[: len(x)] = x
    contact_field(s, s.k[0])  # what is noted of a point is that of the last derivative
    return np.array(found).T


@pytest.mark.parametrize("slipping", [["front_wheel"], ["rear_wheel", "front_wheel"], ["front_wheel", "saddle"]])
@pytest.mark.parametrize("growth", [0.3, 4.0])
def test_the_jacobian_of_another_slip_does(slipping: list[str], growth: float) -> None:
    """Of x₀ with the slips s₀ the iteration has λ/h − J₀, of x₁ with slips that are larger by far the residual has λ/h − J₁. With
    residuals as they are it diverges."""
    e, rng = dr.derive(bicycle()), np.random.default_rng(7)
    compiled, u = prepare(e, quick=True).compiled(e.choice), np.zeros(len(e.inputs))
    span, tried = (0.0, 1.0), 0
    while tried < 4:
        x, by_rate = random_state(e, rng), 10.0 ** rng.uniform(3.0, 4.5)
        kinds = {c.name: "slip" if c.name in slipping else "stick" if c.name != "saddle" else "open" for c in e.unilateral}
        p = with_modes(e, kinds, rng)
        modes = dict(zip([c.name for c in e.unilateral], p[len(e.parameters) :].reshape(-1, MODE_ENTRIES), strict=True))
        directions = {name: modes[name][2:4] for name in slipping}
        memory = Memory(compiled.kernels(), dr.methods.DOP853(), x, u, p, span, np.array(span), switches=no_switches())
        s = memory.stepper
        c, n = s.modes, s.modes.velocities
        slow = with_slips(e, s, x, {name: 1e-4 * d for name, d in directions.items()})
        other = with_slips(e, s, slow, {name: growth * 1e-4 * d for name, d in directions.items()})
        before = by_rate * np.eye(n) - jacobian(s, slow)
        note_slips(s)
        assert slip_size(c, [q.name for q in e.unilateral].index(slipping[0])) == pytest.approx(1e-4)
        if any(c.multiplier[q.normal] <= 0.0 for q in e.unilateral if q.name in slipping):
            continue  # the ground would pull
        tried += 1
        after = by_rate * np.eye(n) - jacobian(s, other)
        matched = np.zeros((n, n))
        for j in range(n):
            target = np.zeros(s.width)
            target[c.first_velocity : c.first_velocity + n] = after[:, j]
            match_slips(s, by_rate, target)
            matched[:, j] = target[c.first_velocity : c.first_velocity + n]
        plain, rate = (np.abs(np.linalg.eigvals(np.eye(n) - np.linalg.solve(before, m))).max() for m in (after, matched))
        assert rate < 0.01 < 0.5 < plain
