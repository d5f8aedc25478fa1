"""Chains of hinged links in Pinocchio and MuJoCo: engines for trees of bodies, with compiled recursions and no symbols.

What they cannot model: wheels that roll without slip as exact constraints (MuJoCo has soft contacts with friction, Pinocchio
bilateral constraints at points), symbolic parameters, exact derivatives by any parameter (Pinocchio has those by q, v and τ).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Accelerations = Callable[[Vector, Vector], Vector]

MASS, LENGTH, GRAVITY = 1.0, 1.0, 9.81
MOMENT = MASS * LENGTH**2 / 12  # of a thin rod about its middle


def pinocchio_chain(links: int) -> Accelerations:
    """Joint accelerations by the articulated-body algorithm."""
    import pinocchio as pin

    model = _pinocchio(links)
    data, torque = model.createData(), np.zeros(links)
    return lambda q, v: pin.aba(model, data, q, v, torque)


def pinocchio_jacobian(links: int) -> Accelerations:
    """Derivatives of the joint accelerations by angles and by rates, (links, 2 links), by its analytical recursion."""
    import pinocchio as pin

    model = _pinocchio(links)
    data, torque = model.createData(), np.zeros(links)

    def jacobian(q: Vector, v: Vector) -> Vector:
        pin.computeABADerivatives(model, data, q, v, torque)
        return np.hstack([data.ddq_dq, data.ddq_dv])

    return jacobian


def _pinocchio(links: int) -> Any:
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    inertia = pin.Inertia(MASS, np.array([0.0, 0.0, -LENGTH / 2]), np.diag([MOMENT, MOMENT, 0.0]))
    parent = 0
    for k in range(links):
        place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.0 if k == 0 else -LENGTH]))
        parent = model.addJoint(parent, pin.JointModelRY(), place, f"hinge_{k}")
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def mujoco_chain(links: int) -> Accelerations:
    """Joint accelerations by MuJoCo's forward dynamics."""
    import mujoco

    model = _mujoco(links)
    data = mujoco.MjData(model)

    def accelerations(q: Vector, v: Vector) -> Vector:
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        return np.array(data.qacc)

    return accelerations


def mujoco_fall(links: int, start: Vector, until: float, steps: float) -> Callable[[], Vector]:
    """A run from rest by its Runge–Kutta method of order 4 with so many equal steps, all in one call; angles at the end."""
    import mujoco

    model = _mujoco(links)
    model.opt.timestep, model.opt.integrator = until / round(steps), mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)

    def run() -> Vector:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = start
        mujoco.mj_step(model, data, nstep=round(steps))
        return np.array(data.qpos)

    return run


def pinocchio_fall(links: int, start: Vector, until: float, tolerance: float) -> Callable[[], Vector]:
    """A run from rest by SciPy's DOP853 on its accelerations; angles at the end."""
    from scipy.integrate import solve_ivp

    accelerations, begin = pinocchio_chain(links), np.concatenate([start, np.zeros(links)])

    def rates(t: float, x: Vector) -> Vector:
        return np.concatenate([x[links:], accelerations(x[:links], x[links:])])

    solve: Callable[..., Any] = partial(solve_ivp, rates, (0.0, until), begin, method="DOP853", rtol=tolerance, atol=tolerance)
    return lambda: np.asarray(solve().y[:links, -1])


def _mujoco(links: int) -> Any:
    """Contacts are switched off; there are no limits."""
    import mujoco

    body = "".join(
        f'<body pos="0 0 {0 if k == 0 else -LENGTH}"><joint type="hinge" axis="0 1 0"/>'
        f'<inertial pos="0 0 {-LENGTH / 2}" mass="{MASS}" diaginertia="{MOMENT} {MOMENT} 1e-12"/>'
        for k in range(links)
    )
    options = f'<compiler balanceinertia="true"/><option gravity="0 0 {-GRAVITY}"><flag contact="disable"/></option>'
    text = f"<mujoco>{options}<worldbody>{body}{'</body>' * links}</worldbody></mujoco>"
    return mujoco.MjModel.from_xml_string(text)


def clock(accelerations: Accelerations, states: list[tuple[Vector, Vector]]) -> Callable[[], float]:
    """Seconds of one evaluation, called from Python, averaged over states."""

    def seconds() -> float:
        start = time.perf_counter()
        for q, v in states:
            accelerations(q, v)
        return (time.perf_counter() - start) / len(states)

    return seconds
