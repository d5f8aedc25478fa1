"""A pendulum of n links as a peer would make it: Kane's method in SymPy, code by PyDy through Cython.

Point masses on rods of no mass in relative angles of a plane, as in PyDy's own example of an n-link pendulum, without its cart.
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
    frame, point = ReferenceFrame("N"), Point("O")
    space = frame
    point.set_vel(space, 0)
    particles, forces, kinematics = [], [], []
    for k in range(links):
        turned = frame.orientnew(f"A{k}", "Axis", [q[k], frame.y])
        turned.set_ang_vel(frame, u[k] * frame.y)
        tip = point.locatenew(f"P{k}", -length * turned.z)
        tip.v2pt_theory(point, space, turned)
        particles.append(Particle(f"m{k}", tip, mass))
        forces.append((tip, -mass * gravity * space.z))
        kinematics.append(q[k].diff() - u[k])
        frame, point = turned, tip
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
    return np.asarray(rhs(np.concatenate([q, v]), 0.0, np.array([1.0, 1.0, GRAVITY])))[len(q) :]
