"""Unknowns on which no other equation depends, in implicit methods: they follow from the others, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import draisine as dr
from draisine.model.contact.dry_friction import dry_friction
from draisine.model.contact_items import MODE_ENTRIES
from draisine.program.equations import Equations
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.radau import Radau
from draisine.simulation.run import integrate
from draisine.simulation.stepper.memory import Memory
from simulation.systems import first_order, start_of

Rates = Callable[[np.ndarray], np.ndarray]


def random_system(rng: np.random.Generator) -> tuple[Equations, Rates, np.ndarray]:
    """Stiff oscillators that know only each other, and others that are led by them and by themselves, in any order; which is
    isolated."""
    core, led = int(rng.integers(0, 5)), int(rng.integers(1, 5))
    n = core + led
    order = rng.permutation(n)
    inner, outer = order[:core], order[core:]
    coupling = rng.normal(size=(core, core)) - np.diag(10.0 ** rng.uniform(0, 4, core))
    lead, own = rng.normal(size=(led, core)), -rng.choice([0.0, 1.0, 300.0], led)

    def rates(x: np.ndarray, sin: Callable[[np.ndarray], np.ndarray] = np.sin) -> list[object]:
        found: list[object] = [0.0] * n
        for k, i in enumerate(inner):
            found[i] = sum(coupling[k, l] * x[j] for l, j in enumerate(inner)) + sin(x[inner[0]])
        for k, i in enumerate(outer):
            found[i] = sum((lead[k, l] * sin(x[j]) for l, j in enumerate(inner)), 0.0) + own[k] * x[i] + 0.5
        return found

    start = dict(zip([f"x{i}" for i in range(n)], rng.normal(size=n).tolist(), strict=True))
    made = first_order("led", start, lambda t, x, u, p: ca.vertcat(*rates(x, ca.sin)))  # type: ignore[arg-type]
    return made, lambda x: np.array(rates(x), dtype=float), np.isin(np.arange(n), outer)


@pytest.mark.parametrize("method", [Radau(rtol=1e-9, atol=1e-11), Radau(rtol=1e-9, atol=1e-11, stages=5), ESDIRK23(rtol=1e-7)])
@pytest.mark.parametrize("seed", range(8))
def test_motions_against_scipy(method: Radau | ESDIRK23, seed: int) -> None:
    e, rates, isolated = random_system(np.random.default_rng(seed))
    compiled, x = prepare(e).compiled(e.choice), start_of(e)
    memory = Memory(compiled.kernels(0, True), method, x, np.zeros(0), np.zeros(0), (0.0, 1.0), np.array([0.0, 1.0]))
    assert memory.stepper.core == np.count_nonzero(~isolated)
    times = np.linspace(0.0, 1.0, 5)
    run = integrate(e, x, 1.0, method=method, samples=times)
    judge = solve_ivp(lambda t, y: rates(y), (0.0, 1.0), x, "Radau", t_eval=times, rtol=1e-10, atol=1e-12)
    room = 1e-5 if isinstance(method, ESDIRK23) else 1e-7
    np.testing.assert_allclose(run.states, judge.y.T, rtol=room, atol=room)


def falling_bicycle() -> dr.Model:
    m = dr.gallery.bicycle()
    for name, wheel in m._items["wheels"].items():
        m._items["wheels"][name] = wheel._replace(friction=dry_friction(0.6, 0.0, "energetic", name))
    m.contact("saddle", m.point("top", "frame", (0.3, 0.0, 0.6)), friction=0.6)
    return m


def test_nothing_depends_on_cyclic_coordinates() -> None:
    """The filled entries are those of the Jacobian by differences, in random states and modes; neither the place of a bicycle nor
    the angles of its wheels nor the work enter its motion."""
    e = dr.derive(falling_bicycle())
    form = prepare(e, quick=True).compiled(e.choice).form.form
    rows, columns = form.pattern
    filled = np.zeros((form.size, form.size), dtype=bool)
    filled[rows, columns] = True
    names = [q.name for q in e.states]
    cyclic = {name for name, alone in zip(names, form.isolated.tolist(), strict=True) if alone}
    assert cyclic - {"frame_z"} == {"frame_x", "frame_y", "rear_wheel_angle", "front_wheel_angle", "work"}
    rng, n, u = np.random.default_rng(3), len(names), np.zeros(len(e.inputs))
    found = np.zeros((n, n), dtype=bool)
    for closed in ((), (0,), (0, 1), (1, 2)):
        x, p = rng.uniform(0.2, 0.6, n), e.default_parameters.copy()
        entries = p[-MODE_ENTRIES * len(e.unilateral) :].reshape(-1, MODE_ENTRIES)
        for k in range(len(e.unilateral)):
            entries[k, :4] = k in closed, k == 0, 0.6, 0.8  # the rear wheel sticks, others slip
        still = np.asarray(e.dynamics([0.1], x, u, p)[0]).ravel()
        for j in range(n):
            moved = x.copy()
            moved[j] += 0.1
            change = np.abs(np.asarray(e.dynamics([0.1], moved, u, p)[0]).ravel() - still)
            found[:, j] |= change > 1e-9 * (1.0 + np.abs(still).max())
    assert not (found & ~filled).any()
    assert not found[:, form.isolated].any() and found[:, ~form.isolated].any(axis=0).all()
