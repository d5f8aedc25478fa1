"""A pendulum of n links as a peer would make it: Kane's method in SymPy, code by PyDy through Cython.

Point masses on rods of no mass in a plane, each by its angle with the vertical, as in PyDy's own example of an n-link pendulum,
without its cart. Angles between the links, as ours are, would make its equations many times longer.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRAVITY = 9.81


def derive(links: int) -> tuple[Any, list[Any]]:
    """Kane's equations of equal masses on equal rods, and the symbols of mass, length and gravity."""
    from sympy import symbols
    from sympy.physics.mechanics import KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

    mass, length, gravity = symbols("m l g")
    q, u = dynamicsymbols(f"q:{links}"), dynamicsymbols(f"u:{links}")
    space, point = ReferenceFrame("N"), Point("O")
    point.set_vel(space, 0)
    particles, forces, kinematics = [], [], []
    for k in range(links):
        turned = space.orientnew(f"A{k}", "Axis", [q[k], space.y])
        turned.set_ang_vel(space, u[k] * space.y)
        tip = point.locatenew(f"P{k}", -length * turned.z)
        tip.v2pt_theory(point, space, turned)
        particles.append(Particle(f"m{k}", tip, mass))
        forces.append((tip, -mass * gravity * space.z))
        kinematics.append(q[k].diff() - u[k])
        point = tip
    kane = KanesMethod(space, q_ind=q, u_ind=u, kd_eqs=kinematics)
    kane.kanes_equations(particles, forces)
    return kane, [mass, length, gravity]


def timed(links: int) -> tuple[float, float, Any]:
    """Seconds to derive, seconds to generate and compile, and the right-hand side rhs(x, t, constants)."""
    from pydy.codegen.ode_function_generators import generate_ode_function

    began = time.perf_counter()
    kane, constants = derive(links)
    mass, forcing = kane.mass_matrix_full, kane.forcing_full
    derived = time.perf_counter()
    rhs = generate_ode_function(forcing, kane.q, kane.u, constants, mass_matrix=mass, generator="cython")
    return derived - began, time.perf_counter() - derived, rhs


def accelerations(rhs: Any, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of angles between the links."""
    reported = np.asarray(rhs(np.concatenate([q.cumsum(), v.cumsum()]), 0.0, np.array([1.0, 1.0, GRAVITY])))[len(q) :]
    return np.diff(reported, prepend=0.0)
