"""A binary tree of up to a thousand bodies, with hinges about all three axes.

What it shows: derivation, compilation and evaluation of a tree whose mass matrix would have a million entries. The recursive
formulation takes some hundreds of operations per body.

What you should see: a tree released under gravity oscillates about its springs and conserves energy; its accelerations satisfy
the Newton–Euler equations of every single body, and agree with those of Pinocchio where that is installed.
"""

from __future__ import annotations

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.model.model import Model

SHRINKS = 0.8  # length of a branch, relative to its parent


def big_tree(bodies: int = 7) -> Model:
    """A binary tree of branches on hinges with springs; hinge axes alternate from parent to child."""
    if bodies < 1:
        raise dr.errors.ArgumentError(f"a tree needs a trunk, got {bodies} bodies")
    m = Model(f"tree_of_{bodies}", "branches on springy hinges")
    for k in range(bodies):
        level = (k + 1).bit_length() - 1
        length = SHRINKS**level
        mass = length**2
        side = 0.0 if k == 0 else (0.3 if k % 2 else -0.3) * length
        body = m.body(
            f"branch{k}",
            mass,
            (side, 0.1 * length, length / 2),
            {
                "xx": 0.1 * mass * length**2,
                "yy": 0.11 * mass * length**2,
                "zz": 0.03 * mass * length**2,
                "xy": 0.002 * mass * length**2,
            },
        )
        bearer, at = ("ground", (0.0, 0.0, 0.0)) if k == 0 else (f"branch{(k - 1) // 2}", (side, 0.0, length / SHRINKS))
        m.revolute(f"hinge{k}", bearer, body, axis="xyz"[(level + k) % 3], at=at, span=(-1.0, 1.0))
        m.spring(f"hinge{k}", 40.0 * mass * length, name=f"spring{k}")
    return m


@entry(level="Advanced")
def tree_flails(bodies: int = 63, until: float = 2.0) -> Study:
    """A tree of many bodies released from rest: its energy, and its accelerations against the Newton–Euler equations."""
    model = big_tree(bodies)
    equations = dr.derive(model)
    bent = {f"hinge{k}": 0.3 * float(np.sin(1.7 * k)) for k in range(bodies)}
    run = dr.simulate(model, until, start=bent, method=dr.methods.DOP853(rtol=1e-9, atol=1e-9))
    assert run.status.complete, run.status
    drift, left = run.energy_drift, inverse_dynamics_residual_with_springs(equations)
    assert drift is not None and drift < 1e-7, drift
    assert left < 1e-10, left
    findings = (
        f"{bodies} bodies, {until:g} s at 1e-9: energy within {drift:.1e} of what is in play",
        f"{equations.explicit.operations / bodies:.0f} operations per body; inverse dynamics misses {left:.1e} of the springs",
    )
    return Study("A tree flails", {"tree": run}, {"hinges": run.plot("hinge0", "hinge1", f"hinge{bodies - 1}")}, findings)


def inverse_dynamics_residual_with_springs(equations: dr.Equations, states: int = 3, seed: int = 0) -> float:
    """Difference between the inverse dynamics of the accelerations and the moments of the springs, relative to these."""
    rng = np.random.default_rng(seed)
    n, worst = len(equations.coordinates), 0.0
    inverse = equations.inverse_dynamics
    assert inverse is not None  # every mechanism has one
    levels = np.array([(k + 1).bit_length() - 1 for k in range(n)])
    stiffness = 40.0 * SHRINKS ** (3 * levels)
    for _ in range(states):
        x = rng.uniform(-0.7, 0.7, 2 * n)
        slope = equations.explicit([0.0], x, [], equations.default_parameters)[0]
        needed = inverse(x[:n], x[n:], slope[n:], equations.default_parameters)[0]
        moments = -stiffness * x[:n]
        worst = max(worst, float((np.abs(needed - moments) / np.abs(moments).max()).max()))
    return worst
